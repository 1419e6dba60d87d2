/* sample_problem: one input family at one size, ready to be multiplied: matrices on host and device, and the reference. Products are
 * n x k times k x n. Knows nothing of schemes. */
#ifndef BENCH_SAMPLE_PROBLEM_H
#define BENCH_SAMPLE_PROBLEM_H

#include "io/args.h"
#include "measure/session.h"
#include "accuracy/families.h"
#include "accuracy/reference.h"

struct sample_problem {
    const struct family *family;
    int64_t n, k;
    float *a, *b, *whole, *sample; /* whole: n * n, sample: as many as the reference has */
    struct reference reference;
    struct metrics_truth truth;
    struct session_problem problem;
};

/* rows_most: as reference_make. Odd n: leading dimensions are two more than the extents, so that columns are not aligned. */
int sample_problem_open(struct sample_problem *t, const struct family *family, int64_t n, int64_t k, uint64_t seed,
               int64_t rows_most, struct cli_error *f);
void sample_problem_close(struct sample_problem *t);

/* The families of --families a,b, or all (text "all", or NULL); `names` holds what was split and is the caller's to free. */
enum { SAMPLE_FAMILIES_MOST = 64 };
int sample_problem_families(const char *text, struct name_list *names, const struct family *out[SAMPLE_FAMILIES_MOST],
                   int *count, struct cli_error *f);

#endif
