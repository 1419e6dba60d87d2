/* special_values: NaN, infinities, the largest numbers and zeros at every place of small products, against native FP32: whether NaN
 * and Inf stand at the same places (ACCURACY.md, section 13). */
#ifndef BENCH_SPECIAL_VALUES_H
#define BENCH_SPECIAL_VALUES_H

#include "measure/session.h"
#include "io/tsv.h"
#include "measure/baseline_cublas.h"

struct special_values {
    struct session *session;
    struct baseline *baseline; /* NULL: native FP32 is the CPU's loop */
    int64_t
        cases_most; /* of one pattern and pair of alpha and beta at 3 x 3 x 3, a tenth of it at larger sizes; more: a sample */
    int64_t single_every; /* each case runs in a batch; one in this many also by itself */
    struct tsv table;
    int64_t cases, differences, overflows, native_overflows; /* results; see special_values_judge */
};

/* What went into one result (element `at` of C, m rows): whether all of it is finite, and what comes out with no rounding on
 * the way, which FP64 holds to far more digits than a class needs. A and B are not there where alpha is 0, C where beta is 0. */
struct special_inputs {
    int finite;
    double exact;
};
struct special_inputs special_inputs_of(int64_t m, int64_t k, int64_t at, float alpha, const float *a, const float *b,
                                        float beta, const float *c);

/* 0, or the sum of: NaN or Inf went in and the result is of another class than native FP32's; finite numbers went in and its
 * class is neither native's nor that of the exact result rounded to FP32; that native's is not that of the exact result (an
 * overflow on the way: cuBLAS scales by alpha before it adds). */
enum { SPECIAL_DIFFERS = 1, SPECIAL_OVERFLOWS = 2, SPECIAL_NATIVE_OVERFLOWS = 4 };
int special_values_judge(const struct special_inputs *in, float native, float ours);

/* Runs everything for the scheme that is selected in the session, and fills table, cases, differences. */
int special_values_run(struct special_values *s, struct cli_error *f);
void special_values_free(struct special_values *s);

#endif
