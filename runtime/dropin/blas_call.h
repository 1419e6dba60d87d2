/* blas_call.h: a call of the BLAS face, whatever its name; shared by blas_*.c. */
#ifndef BLAS_CALL_H
#define BLAS_CALL_H

#include "common.h"

enum blas_routine { BLAS_gemm, BLAS_syrk };
enum blas_type { BLAS_s, BLAS_d };

/* Column-major: a row-major call has A and B, m and n exchanged, or the triangle and the transpose turned. */
struct blas_call {
    enum dropin_api api;
    const char *name;
    enum blas_routine routine;
    enum blas_type type;
    const void *caller, *own; /* return address; the face's function */
    const char *alike;        /* blas_names.h */
    char uplo, op_a, op_b;    /* N or T; U or L, of SYRK; 0: none of the letters or numbers of BLAS */
    int64_t m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta; /* elements of the type */
    void *c;
};

/* A block of C. */
struct blas_block {
    int64_t row, col, rows, cols;
};

/* C = alpha op(A) op(B) + beta C of a block, by the original product `function` and column-major. */
typedef void blas_product(const struct blas_call *x, const struct blas_block *t, const void *beta, void *c, int64_t ldc,
                          void *function);

/* true: C is complete, by halftone or by what stands in for a missing BLAS. false: call *original, then blas_leave. */
bool blas_enter(const struct blas_call *x, blas_product *product, void **original);
void blas_leave(void);

/* blas_model.c: what this face alone reads, once. */
struct blas_settings {
    int64_t tile, threads;        /* HALFTONE_BLAS_TILE, HALFTONE_BLAS_THREADS; 0: the library's */
    int64_t cpu_gflops, copy_gbps; /* HALFTONE_BLAS_CPU_GFLOPS, HALFTONE_BLAS_COPY_GBPS; 0: not given */
    int64_t start_ms;              /* HALFTONE_BLAS_START_MS; -1: not given */
    int64_t cpus;                 /* that the CPU's BLAS may use */
    bool all_sizes;               /* HALFTONE_MIN or HALFTONE_STRATEGY says which sizes are served */
    bool good;                    /* else one line was said, and nothing is served */
};
const struct blas_settings *blas_settings(void);

/* Whether the copies pay. Times in ns, with a CPU's and a bus' constants, or those of the environment: never measured
 * within the program, as equal calls would then not have equal bits. */
double blas_cpu_ns(const struct blas_call *x);  /* of the CPU's BLAS */
double blas_copy_ns(const struct blas_call *x); /* of halftone's call but for the kernels */
double blas_share(const struct blas_call *x);   /* of the product that is computed: of SYRK half */

/* Whether products so far, this one among them, would have won back what the device's start costs; counts `saved_ns` in. */
bool blas_start_pays(double saved_ns);

/* blas_original.c: the function `name`, the call's own or another of the same library, that the caller would have reached
 * without the face; NULL: none. */
void *blas_original(const struct blas_call *x, const char *name);

/* blas_serve.c: whether halftone has computed C, or begun to and `product` ended it; counts the call. */
bool blas_serve(const struct blas_call *x, blas_product *product);

/* blas_plain.c: C by three loops, sums in FP64, for programs that have no BLAS behind the face. */
void blas_plain(const struct blas_call *x, const struct blas_block *t);
/* Computes a block that was left over, by `product` where the caller's library has one. */
void blas_finish(const struct blas_call *x, const struct blas_block *t, blas_product *product);
/* The number of the first wrong argument of the Fortran routine; 0: none. */
int blas_wrong_argument(const struct blas_call *x);

#endif
