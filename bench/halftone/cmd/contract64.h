/* contract64: `halftone contract` of FP64 products: whether results keep the bound that halftone_dquery gives for them. */
#ifndef BENCH_CONTRACT64_H
#define BENCH_CONTRACT64_H

#include "accuracy/families.h"
#include "cmd/stamp.h"

struct contract64 {
    const char *out, *method; /* method: as session64_select has it */
    const struct family *const *family;
    const int64_t *n, *k;
    int families, ns, ks;
    int64_t rows; /* whose errors are measured */
    struct stamp stamp;
};

/* -1 also where a bound is broken. */
int contract64_run(const struct contract64 *what, struct session *s, struct cli_error *f);

#endif
