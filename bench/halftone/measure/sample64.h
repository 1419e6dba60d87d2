/* sample64: one FP64 product of an input family, ready to be multiplied: matrices on host and device, and the truth about it. Knows
 * nothing of schemes. */
#ifndef BENCH_SAMPLE64_H
#define BENCH_SAMPLE64_H

#include "accuracy/families64.h"
#include "accuracy/reference64.h"
#include "measure/session64.h"

struct sample64 {
    double *a, *b, *whole; /* whole: m * n, the last result that was judged */
    struct reference64 reference;
    struct session64_problem problem;
};

/* trans: "NN" and the like; rows_most: as reference64_make. What was made is the caller's to close, also after a failure. */
int sample64_open(struct sample64 *t, const struct family *family, uint64_t seed, const char *trans, int64_t m, int64_t n, int64_t k,
                  int64_t rows_most, struct cli_error *f);
void sample64_close(struct sample64 *t);
/* Errors of what is in problem.c, when the device is done with it. */
int sample64_judge(struct sample64 *t, struct metrics64 *out, struct cli_error *f);

#endif
