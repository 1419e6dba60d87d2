/* blas_failing.c: a libhalftone.so whose products of host memory fail when the first column of C, or element of a triangle, is there, and those of device
 * memory from number FAIL_PRODUCT on (0 or none: never), with FAIL_HALF=1 when half of C's columns are there: all else is the library's that HALFTONE_BEHIND names. */
#include <dlfcn.h>
#include <stdlib.h>

#include "../../runtime/dropin/common.h"

static struct dropin_library behind;
static int64_t block[2][4];
static int blocks, given, changed;
static void *library;

__attribute__((constructor)) static void open_behind(void) {
    library = dlopen(getenv("HALFTONE_BEHIND"), RTLD_NOW | RTLD_LOCAL);
#define TAKE(name)                                                                                                     \
    {                                                                                                                  \
        union {                                                                                                        \
            void *symbol;                                                                                              \
            __typeof__(behind.name) call;                                                                              \
        } found = {dlsym(library, "halftone_" #name)};                                                                 \
        behind.name = found.call;                                                                                      \
    }
    DROPIN_FUNCTIONS(TAKE)
}

/* All else is the library's. */
#define FORWARD(type, name, args, values)                                                                    \
    type halftone_##name args {                                                                              \
        return behind.name values;                                                                           \
    }
FORWARD(int, create, (halftone **h), (h))
FORWARD(int, set_stream, (halftone *h, void *stream), (h, stream))
FORWARD(int, set_workspace, (halftone *h, void *at, size_t bytes), (h, at, bytes))
FORWARD(int, set_workspace_source, (halftone *h, int source), (h, source))
FORWARD(int, set_scheme, (halftone *h, const char *name), (h, name))
FORWARD(int, set_accuracy, (halftone *h, const char *text), (h, text))
FORWARD(int, set_pointer_mode, (halftone *h, int mode), (h, mode))
FORWARD(int, query, (halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, int64_t batch,
        struct halftone_plan *plan), (h, ta, tb, m, n, k, batch, plan))
FORWARD(int, dquery, (halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, int64_t batch,
        struct halftone_plan *plan), (h, ta, tb, m, n, k, batch, plan))
FORWARD(int, workspace_bytes, (halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, int64_t batch,
        size_t *bytes), (h, ta, tb, m, n, k, batch, bytes))
FORWARD(int, dworkspace_bytes, (halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, int64_t batch,
        size_t *bytes), (h, ta, tb, m, n, k, batch, bytes))
FORWARD(const char *, last_detail, (const halftone *h), (h))
FORWARD(const char *, strerror, (int code), (code))
FORWARD(const char *, version, (void), ())
FORWARD(int, set_host_threads, (halftone *h, int threads), (h, threads))
FORWARD(int, dgemm_host, (halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, const double *alpha,
        const double *a, int64_t lda, const double *b, int64_t ldb, const double *beta, double *c, int64_t
        ldc), (h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
FORWARD(int, dsyrk_host, (halftone *h, char uplo, char trans, int64_t n, int64_t k, const double *alpha, const
        double *a, int64_t lda, const double *beta, double *c, int64_t ldc), (h, uplo, trans, n, k, alpha, a,
        lda, beta, c, ldc))

/* What programs tell a simulator. */
int ht_sim_register(void *memory, size_t bytes);
void ht_sim_unregister(void *memory);
int ht_sim_register(void *memory, size_t bytes) {
    union {
        void *symbol;
        int (*call)(void *memory, size_t bytes);
    } found = {dlsym(library, "ht_sim_register")};
    return found.call(memory, bytes);
}
void ht_sim_unregister(void *memory) {
    union {
        void *symbol;
        void (*call)(void *memory);
    } found = {dlsym(library, "ht_sim_unregister")};
    found.call(memory);
}

/* The columns that are computed; all: the product does not fail. */
static int64_t columns_of(int64_t n) {
    static int products;
    const char *const first = getenv("FAIL_PRODUCT");
    if (first == NULL || atoi(first) == 0 || ++products < atoi(first))
        return n;
    changed = getenv("FAIL_HALF") != NULL;
    return changed ? n / 2 : 0;
}
int halftone_changed_c(const halftone *h) {
    (void)h;
    return changed;
}

int halftone_sgemm_strided_batched(halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, const float *alpha, const float *a, int64_t lda,
                                   int64_t sa, const float *b, int64_t ldb, int64_t sb, const float *beta, float *c, int64_t ldc, int64_t sc,
                                   int64_t batch) {
    const int64_t some = columns_of(n);
    const int code = some > 0 ? behind.sgemm_strided_batched(h, ta, tb, m, some, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch) : HALFTONE_OK;
    return some == n ? code : HALFTONE_DEVICE_ERROR;
}
int halftone_dgemm_strided_batched(halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, const double *alpha, const double *a, int64_t lda,
                                   int64_t sa, const double *b, int64_t ldb, int64_t sb, const double *beta, double *c, int64_t ldc, int64_t sc,
                                   int64_t batch) {
    const int64_t some = columns_of(n);
    const int code = some > 0 ? behind.dgemm_strided_batched(h, ta, tb, m, some, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch) : HALFTONE_OK;
    return some == n ? code : HALFTONE_DEVICE_ERROR;
}
int halftone_set_host_tiles(halftone *h, int64_t tile, size_t bytes) {
    const char *const expected = getenv("EXPECT_TILE");
    if (expected != NULL && tile != atoll(expected))
        return HALFTONE_WORKSPACE;
    return behind.set_host_tiles(h, tile, bytes);
}

/* What is left. */
static int leave(int64_t row, int64_t col, int64_t r, int64_t c) {
    block[blocks][0] = row, block[blocks][1] = col, block[blocks][2] = r, block[blocks][3] = c;
    blocks++;
    return HALFTONE_DEVICE_ERROR;
}

/* The first column is there; the rest is two blocks. */
int halftone_sgemm_host(halftone *h, char ta, char tb, int64_t m, int64_t n, int64_t k, const float *alpha, const float *a, int64_t lda,
                        const float *b, int64_t ldb, const float *beta, float *c, int64_t ldc) {
    const int code = behind.sgemm_host(h, ta, tb, m, n < 3 || m < 1 ? n : 1, k, alpha, a, lda, b, ldb, beta, c, ldc);
    blocks = given = 0;
    if (code != HALFTONE_OK || n < 3 || m < 1)
        return code;
    (void)leave(0, 1, m, n - 2);
    return leave(0, n - 1, m, 1);
}

/* The first element is there. */
int halftone_ssyrk_host(halftone *h, char uplo, char trans, int64_t n, int64_t k, const float *alpha, const float *a, int64_t lda, const float *beta,
                        float *c, int64_t ldc) {
    const int code = behind.ssyrk_host(h, uplo, trans, n < 2 ? n : 1, k, alpha, a, lda, beta, c, ldc);
    blocks = given = 0;
    if (code != HALFTONE_OK || n < 2)
        return code;
    (void)leave(1, 0, n - 1, 1);
    return leave(0, 1, n, n - 1);
}

int halftone_host_left(halftone *h, int64_t *row, int64_t *col, int64_t *r, int64_t *c) {
    (void)h;
    if (given == blocks)
        return 0;
    *row = block[given][0], *col = block[given][1], *r = block[given][2], *c = block[given][3];
    given++;
    return 1;
}
