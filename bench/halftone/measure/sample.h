/* sample: one product of an input family, ready to be multiplied: matrices on host and device, and the truth about it. Knows
 * nothing of schemes. */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include "io/args.h"
#include "io/shapes.h"
#include "measure/session.h"
#include "accuracy/families.h"
#include "accuracy/reference.h"

struct sample {
    const struct family *family;
    void *a, *b, *whole; /* numbers of the problem's type; whole: m * n, the last result that was judged */
    float *rows;         /* FP32: of it those that the reference has */
    struct reference reference;
    struct metrics_truth truth; /* FP32 */
    struct session_problem problem;
};

/* trans: "NN" and the like. Leading dimensions are the extents and `pad` more. rows_most: as reference_make. What was made is the caller's
 * to close, also after a failure. */
int sample_open(struct sample *t, int type, const struct family *family, uint64_t seed, const char *trans,
                const struct shape *shape, int64_t pad, int64_t rows_most, struct cli_error *f);
void sample_close(struct sample *t);
/* Errors of what is in problem.c, when the device is done with it. */
int sample_judge(struct sample *t, struct metrics *out, struct cli_error *f);

/* The families of --families a,b, or all (text "all", or NULL); `names` holds what was split and is the caller's to free. */
enum { SAMPLE_FAMILIES_MOST = 64 };
int sample_families(const char *text, struct name_list *names, const struct family *out[SAMPLE_FAMILIES_MOST], int *count, struct cli_error *f);

#endif
