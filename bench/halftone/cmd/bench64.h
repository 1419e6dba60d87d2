/* bench64: `halftone bench` of FP64 products: speed and errors beside cuBLAS DGEMM. */
#ifndef BENCH_BENCH64_H
#define BENCH_BENCH64_H

#include "accuracy/families.h"
#include "cmd/stamp.h"
#include "io/shapes.h"

struct bench64 {
    const char *out, *schemes, *accuracies;
    const struct family *family;
    const struct shape_list *shapes;
    const char *const *trans;
    int transes;
    double seconds;
    struct stamp stamp;
};

int bench64_run(const struct bench64 *what, struct session *s, struct cli_error *f);

#endif
