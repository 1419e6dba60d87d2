/* bench_operands: `halftone bench --operands`: speed and errors of methods on stored operand pairs. */
#ifndef BENCH_BENCH_OPERANDS_H
#define BENCH_BENCH_OPERANDS_H

#include "measure/session.h"
#include "cmd/stamp.h"

struct bench_operands {
    const char *folder, *out;
    const char *schemes, *accuracies; /* both NULL: auto, bf16x6u, f16x3; of FP64 fp64, native64, as far as the library has them */
    int type; /* HALFTONE_FP32 or HALFTONE_FP64 */
    double seconds;
    struct stamp stamp;
};

int bench_operands_run(const struct bench_operands *what, struct session *session, struct cli_error *f);

#endif
