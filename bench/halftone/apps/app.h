/* app: the programs of bench/halftone/apps: what each is asked for, and what a run of it says. A program keeps its data on the device
 * between runs; a run with the same levels gives the same bits. */
#ifndef BENCH_APP_H
#define BENCH_APP_H

#include "apps/products.h"
#include "io/npy.h"

struct app_options {
    int64_t n;           /* 0: the program's own for this device */
    int64_t block;       /* 0: the program's own */
    const char *data;    /* folder of app_data.py; NULL: made here, synthetic */
    double diagonal;     /* cholesky: what is added to the diagonal; 0: 1 */
};

struct app_run {
    double error;
    int64_t changed, compared; /* classes; compared 0: the program has none */
    double seconds[PRODUCTS_SITES]; /* of the products of each site */
    long long calls[PRODUCTS_SITES];
    double other_seconds; /* a program's: of all of it, wall clock; app_execute's: of what is no product; 0 in the simulator */
    double flop;          /* of all products */
    uint64_t digest; /* of the result's bits */
};

/* What a program writes down about its data, for people. */
enum { APP_TEXT = 256 };

struct app {
    const char *name, *summary, *error; /* error: what the number is */
    const char *const *site;
    int sites;
    /* 0, or -1; *state is NULL then. */
    int (*open)(const struct app_options *o, void **state, char text[APP_TEXT], struct cli_error *f);
    /* With `level[site]`; fills seconds of *p. digest 0: not asked for. */
    int (*run)(void *state, struct products *p, struct app_run *out, int digest, struct cli_error *f);
    /* Of the last run: column-major; npy_free. */
    int (*result)(void *state, struct npy_matrix *out, struct cli_error *f);
    void (*close)(void *state);
};

extern const struct app app_cholesky, app_mlp;

/* One run, or the one of `repeats` that took least time; level[site] as products_start has it. */
int app_execute(const struct app *app, void *state, struct products *p, const char *const *level, int repeats, int digest,
                struct app_run *out, struct cli_error *f);
double app_seconds(const struct app *app, const struct app_run *run); /* of all products */

/* ---- for the programs ---- */

/* Device memory; *memory NULL on failure. */
int app_alloc(void *memory, double bytes, struct cli_error *f);
int app_launched(int code, const char *what, struct cli_error *f);
/* A column-major matrix of the device. */
int app_download(const float *device, int64_t rows, int64_t cols, struct npy_matrix *out, struct cli_error *f);
/* FNV-1a of `bytes` bytes on the device, continued from *digest. */
int app_digest(const void *device, size_t bytes, uint64_t *digest, struct cli_error *f);
/* data/name as a matrix; a line that names app_data.py where it is not there. */
int app_read(const char *data, const char *name, int64_t rows_least, int64_t cols, struct npy_matrix *out, struct cli_error *f);

#endif
