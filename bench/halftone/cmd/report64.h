/* report64: `halftone report` of FP64 products: errors of every scheme on every family, beside native FP64. */
#ifndef BENCH_REPORT64_H
#define BENCH_REPORT64_H

#include "accuracy/families.h"
#include "cmd/stamp.h"

struct report64 {
    const char *out, *schemes, *accuracies; /* out: a folder, or NULL */
    const struct family *const *family;
    const int64_t *size; /* k, and m and n where outer is 0 */
    int families, sizes;
    int64_t outer, seed;
    struct stamp stamp;
};

int report64_run(const struct report64 *what, struct session *s, struct cli_error *f);

#endif
