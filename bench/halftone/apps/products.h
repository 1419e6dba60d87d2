/* products: the products of a program, site by site: a site is a place in the program, and has an accuracy of its own, by its name
 * in the handle's site table (halftone_set_site, halftone_at_site). Times are a device's between events around each call; in the
 * simulator, whose times mean nothing, what the model predicts. */
#ifndef BENCH_PRODUCTS_H
#define BENCH_PRODUCTS_H

#include "measure/baseline_cublas.h"
#include "measure/session.h"

enum { PRODUCTS_SITES = 8, LEVEL_BYTES = 72 };

struct products {
    struct session session;
    const char *const *name; /* of the sites */
    int sites;
    struct baseline *baseline; /* opened when the first level asks for it */
    int is_baseline[PRODUCTS_SITES];
    double seconds[PRODUCTS_SITES]; /* after products_finish */
    long long calls[PRODUCTS_SITES];
    int simulated;
    void **event; /* pairs */
    int *event_site, pairs, capacity;
};

int products_open(struct products *p, const char *const *name, int sites, struct cli_error *f);
void products_close(struct products *p);
/* A level is the name of an accuracy or of a scheme; a name that is both ("half") is the accuracy, LEVEL_SCHEME before it makes it
 * the scheme. LEVEL_BASELINE is the vendor's own product, to be compared with. */
#define LEVEL_SCHEME "scheme:"
#define LEVEL_BASELINE "cublas-sgemm"
const char *level_kind(const char *level); /* "accuracy" or "scheme" */
const char *level_name(const char *level); /* without LEVEL_SCHEME */
/* Whether the library has it, in any of its sets; p's handle, if p is not NULL. */
int level_is_known(struct products *p, const char *level);

/* Begins a run with level[site]. */
int products_start(struct products *p, const char *const *level, struct cli_error *f);

/* C = alpha op(A) op(B) + beta C, column-major, device memory, asynchronous. */
struct product {
    char op_a, op_b;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
};
int products_call(struct products *p, int site, const struct product *x, struct cli_error *f);
/* Waits, and fills seconds and calls. */
int products_finish(struct products *p, struct cli_error *f);

#endif
