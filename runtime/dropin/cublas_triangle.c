/* cublas_triangle.c: SYRK and SYRKX: one triangle of C = alpha op(A) op(B)^T + beta C, where B is A in SYRK; the other is neither read nor written. C's diagonal has
 * 2^levels blocks of `block` rows and one of what is left. What lies between the first and the second half of a range is a square; those of all
 * ranges of a length lie evenly apart, so each level is one batch by strides. Blocks of the diagonal are multiplied whole, into
 * memory of their own, and cuBLAS' TRTTP and TPTTR, which copy, put their triangles in place: n n k (1 + 2^-levels)
 * multiplications, of n n k (1 + 1/n) in the triangle. */
#include <limits.h>

#include "cublas_face.h"

enum { TO_PACKED, FROM_PACKED, GEMM, FUNCTIONS };
enum { LEVELS_MOST = 3, BLOCK_LEAST = 256, BLOCK_MULTIPLE = 4 };

typedef int to_packed(void *handle, int uplo, int n, const void *a, int lda, void *packed);
typedef int from_packed(void *handle, int uplo, int n, const void *packed, void *a, int lda);
typedef int gemm(CUBLAS_GEMM_ARGS(void, int));

struct triangle {
    const struct cublas_run *run;
    const struct cublas_gemm *g;
    int levels;
    int64_t block, whole, rest; /* rows: of a block, of all, of the last one */
    int64_t step_a, step_b;     /* elements from one row of op(A), op(B), to the next */
    size_t size;
    char *work, *packed;
    void (*function[FUNCTIONS])(void); /* the original's */
};

/* Rows [row, row + m) and columns [col, col + n) of the product, `batch` of them, `apart` rows and columns from each other. */
struct part {
    int64_t row, col, m, n, apart, batch;
};

static void *in_c(const struct triangle *t, int64_t row, int64_t col) {
    return (char *)t->g->c + (size_t)(row + col * t->g->ldc) * t->size;
}

static const void *in_a(const struct triangle *t, int64_t row) {
    return (const char *)t->g->a + (size_t)(row * t->step_a) * t->size;
}

static const void *in_b(const struct triangle *t, int64_t row) {
    return (const char *)t->g->b + (size_t)(row * t->step_b) * t->size;
}

static int64_t blocks_of(const struct triangle *t) {
    return (INT64_C(1) << t->levels) + (t->rest > 0);
}

/* Rows of block i of the diagonal, which begins at i * block. */
static int64_t rows_of(const struct triangle *t, int64_t i) {
    return i < INT64_C(1) << t->levels ? t->block : t->rest;
}

static char *in_work(const struct triangle *t, int64_t i) {
    return t->work + (size_t)(i * t->block * t->block) * t->size;
}

/* Parts from 0 on are squares below the diagonal, or above it: level i, and behind the levels what the last block's rows have. Those before are
 * of the diagonal: the last block, and all others. */
enum { LAST_BLOCK = -2, BLOCKS = -1 };

static int first_part(const struct triangle *t) {
    return t->rest > 0 ? LAST_BLOCK : BLOCKS;
}

static int end_of_parts(const struct triangle *t) {
    return t->levels + (t->rest > 0);
}

__attribute__((noinline)) static struct part part_of(const struct triangle *t, int i) {
    const int64_t h = t->block << (i < 0 ? 0 : i);
    struct part x = {h, 0, h, h, 2 * h, 1};
    if (i == BLOCKS)
        x.row = 0, x.apart = h, x.batch = INT64_C(1) << t->levels;
    else if (i >= 0 && i < t->levels)
        x.batch = INT64_C(1) << (t->levels - 1 - i);
    else
        x.row = x.n = t->whole, x.m = t->rest;
    if (i == LAST_BLOCK)
        x.col = t->whole, x.n = t->rest;
    if (t->g->uplo == CU_UPPER && i >= 0) {
        const struct part lower = x;
        x.row = lower.col, x.col = lower.row, x.m = lower.n, x.n = lower.m;
    }
    return x;
}

/* ---- by halftone ---- */

/* Blocks of the diagonal to memory of their own. */
static int multiply(const struct triangle *t, int i) {
    const struct part x = part_of(t, i);
    struct cublas_gemm one = *t->g;
    one.a = in_a(t, x.row);
    one.b = in_b(t, x.col);
    one.c = in_c(t, x.row, x.col);
    one.m = x.m, one.n = x.n, one.batch = x.batch;
    one.stride_a = x.apart * t->step_a, one.stride_b = x.apart * t->step_b;
    one.stride_c = x.apart * (one.ldc + 1);
    if (i < 0) {
        one.c = in_work(t, x.row / t->block);
        one.ldc = x.m, one.stride_c = x.m * x.m;
        one.keeps_c = true;
    }
    return cublas_run_prepared(t->run, &one);
}

/* One product after the other uses it. */
static int set_workspace(const struct triangle *t) {
    size_t needed = 0;
    int code = HALFTONE_OK;
    for (int i = first_part(t); code == HALFTONE_OK && i < end_of_parts(t); i++) {
        const struct part x = part_of(t, i);
        code = cublas_raise_workspace(t->run, x.m, x.n, t->g->k, x.batch, &needed);
    }
    return code != HALFTONE_OK ? code : cublas_set_workspace(t->run, needed);
}

/* cuBLAS' status. */
static int put_triangle(const struct triangle *t, int64_t i) {
    const struct cublas_gemm *const g = t->g;
    const int n = (int)rows_of(t, i);
    const int status = ((to_packed *)t->function[TO_PACKED])(g->handle, g->uplo, n, in_work(t, i), n, t->packed);
    return status != CU_SUCCESS ? status
                                : ((from_packed *)t->function[FROM_PACKED])(g->handle, g->uplo, n, t->packed, in_c(t, i * t->block, i * t->block), (int)g->ldc);
}

/* By the original, where a product was refused. */
static int original_square(const struct triangle *t, int i) {
    const struct cublas_gemm *const g = t->g;
    struct part x = part_of(t, i);
    int status = CU_SUCCESS;
    for (; status == CU_SUCCESS && x.batch > 0; x.batch--, x.row += x.apart, x.col += x.apart)
        status = ((gemm *)t->function[GEMM])(g->handle, g->op_a, g->op_b, (int)x.m, (int)x.n, (int)g->k, g->alpha,
                                             in_a(t, x.row), (int)g->lda, in_b(t, x.col), (int)g->ldb, g->beta,
                                             in_c(t, x.row, x.col), (int)g->ldc);
    return status;
}

/* The triangle, with the diagonal's blocks computed. Where a product is refused the original does it and the rest, unless the product is spoilt;
 * where the original itself refuses to put a block in place the call ends so, but for the first, before which C is untouched. */
static int put_together(const struct triangle *t) {
    int code = HALFTONE_OK, status = CU_SUCCESS;
    for (int64_t i = 0; status == CU_SUCCESS && i < blocks_of(t); i++) {
        status = put_triangle(t, i);
        if (status != CU_SUCCESS && i == 0)
            return HALFTONE_DEVICE_ERROR;
    }
    for (int i = 0; status == CU_SUCCESS && i < end_of_parts(t); i++) {
        if (code == HALFTONE_OK)
            code = multiply(t, i);
        if (code != HALFTONE_OK)
            status = code == DROPIN_CODE_SPOILT ? CU_EXECUTION_FAILED : original_square(t, i);
    }
    if (code == HALFTONE_OK && status != CU_SUCCESS)
        code = HALFTONE_DEVICE_ERROR;
    if (code != HALFTONE_OK)
        *t->g->done = 1 + status;
    return code;
}

/* ---- */

/* Of this cuBLAS, by type; they take sizes of 32 bits. */
static bool find_originals(struct triangle *t) {
    static const unsigned char names[2][FUNCTIONS] = {{NAME_cublasStrttp, NAME_cublasStpttr, NAME_cublasSgemm_v2},
                                                      {NAME_cublasDtrttp, NAME_cublasDtpttr, NAME_cublasDgemm_v2}};
    const struct cublas_gemm *const g = t->g;
    for (int i = 0; i < FUNCTIONS; i++) {
        t->function[i] = g->origin->function[names[t->run->call->kind != DROPIN_KIND_FP32][i]];
        if (t->function[i] == NULL)
            return false;
    }
    return g->n <= INT_MAX && g->k <= INT_MAX && g->lda <= INT_MAX && g->ldb <= INT_MAX && g->ldc <= INT_MAX;
}

static bool copy_diagonal(const struct triangle *t) {
    bool good = true;
    for (int64_t i = 0; good && i < blocks_of(t); i++) {
        const size_t rows = (size_t)rows_of(t, i), width = rows * t->size;
        good = cublas_copy_rows(in_work(t, i), width, in_c(t, i * t->block, i * t->block), (size_t)t->g->ldc * t->size, width, rows,
                                t->run->setting->stream);
    }
    return good;
}

static enum dropin_reason run(struct triangle *t, int *code) {
    const int64_t elements = t->whole * t->block + t->rest * t->rest, packed = t->block * (t->block + 1) / 2;
    *code = set_workspace(t);
    if (*code != HALFTONE_OK)
        return DROPIN_SERVED;
    t->work = (char *)cublas_allocate((size_t)(elements + packed) * t->size, t->run->setting->stream);
    if (t->work == NULL)
        return DROPIN_WORKSPACE;
    t->packed = t->work + (size_t)elements * t->size;
    const bool good = !cublas_reads_c(t->run->call->kind, t->g->beta, t->run->setting) || copy_diagonal(t);
    for (int i = first_part(t); good && *code == HALFTONE_OK && i < 0; i++)
        *code = multiply(t, i);
    if (good && *code == HALFTONE_OK)
        *code = put_together(t);
    cublas_free(t->work, t->run->setting->stream);
    return good ? DROPIN_SERVED : DROPIN_NO_DRIVER;
}

enum dropin_reason cublas_run_triangle(const struct cublas_run *by, const struct cublas_gemm *g, int *code) {
    struct triangle t = {.run = by, .g = g, .size = cublas_element_bytes(by->call->kind)};
    const int64_t rows = g->op_a == CU_OP_N ? g->n : g->k;
    if ((g->uplo != CU_LOWER && g->uplo != CU_UPPER) || g->a == NULL || g->b == NULL || g->c == NULL || g->ldc < g->n || g->lda < rows || g->ldb < rows)
        return DROPIN_ARGUMENTS;
    while (t.levels < LEVELS_MOST && g->n >> (t.levels + 1) >= BLOCK_LEAST)
        t.levels++;
    if (t.levels == 0 || g->k == 0 || !find_originals(&t))
        return DROPIN_NO_FORM;
    t.block = (g->n >> t.levels) / BLOCK_MULTIPLE * BLOCK_MULTIPLE;
    t.whole = t.block << t.levels;
    t.rest = g->n - t.whole;
    t.step_a = g->op_a == CU_OP_N ? 1 : g->lda;
    t.step_b = g->op_a == CU_OP_N ? 1 : g->ldb;
    return run(&t, code);
}
