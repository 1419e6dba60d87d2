/* cublas_solve.c: TRSM: X of op(A) X = alpha B, or of X op(A) = alpha B, in B's place. The triangle is cut in two, again and again, down to blocks that the original solves. When one part
 * of X is known, the other's right sides become alpha B - op(A) X, by one product, or B - op(A) X where alpha has been applied: to each part of B by
 * the first that writes it. All is in order on the stream, and nothing is read by the host but alpha. */
#include <limits.h>

#include "cublas_face.h"

/* Rows of a block; parts begin at multiples, so that what a product reads is aligned where A and B are. */
enum { SOLVE_BLOCK_MOST = 512, SOLVE_BLOCK_MULTIPLE = 64 };

/* Rows of the first of the two parts of so many rows; 0: they are a block. */
static int64_t rows_of_first_part(int64_t rows) {
    return rows <= SOLVE_BLOCK_MOST ? 0 : (rows / 2 + SOLVE_BLOCK_MULTIPLE - 1) / SOLVE_BLOCK_MULTIPLE * SOLVE_BLOCK_MULTIPLE;
}

typedef int gemm(CUBLAS_GEMM_ARGS(void, int));
typedef int trsm(CUBLAS_TRSM_ARGS(void, int));

struct solve {
    const struct cublas_run *run;
    const struct cublas_gemm *g; /* its k is the triangle's rows */
    bool left, ahead;            /* op(A) is on the left; its first rows are solved first */
    bool asks;                   /* nothing is computed: the products are asked for their workspace, which one after the other uses */
    size_t bytes;                /* of the largest */
    int code;                    /* of the last product. Where one was refused the original does the rest, unless that has changed X */
};

/* Rows of the triangle, and of X or, on the right, columns. */
struct range {
    int64_t at, rows;
};

static const float one = 1, minus_one = -1;

/* Element (row, col) of op(A). */
static const void *in_a(const struct solve *s, int64_t row, int64_t col) {
    const struct cublas_gemm *const g = s->g;
    const bool is_turned = (s->left ? g->op_a : g->op_b) != CU_OP_N;
    return (const float *)g->a + (is_turned ? col + row * g->lda : row + col * g->lda);
}

static void *in_x(const struct solve *s, int64_t at) {
    return (float *)s->g->c + (s->left ? at : at * s->g->ldc);
}

static int solve_block(const struct solve *s, struct range x, const float *alpha) {
    const struct cublas_gemm *const g = s->g;
    return ORIGINAL(g->origin, trsm, cublasStrsm_v2)(g->handle, g->side, g->uplo, s->left ? g->op_a : g->op_b, g->diag,
                                                     (int)(s->left ? x.rows : g->m), (int)(s->left ? g->n : x.rows), alpha,
                                                     in_a(s, x.at, x.at), (int)g->lda, in_x(s, x.at), (int)g->ldc);
}

/* The right sides of `rest`, less what `known` adds to them. */
static int update(struct solve *s, struct range rest, struct range known, const float *alpha) {
    struct cublas_gemm p = *s->g;
    p.alpha = &minus_one, p.beta = alpha;
    p.c = in_x(s, rest.at);
    p.k = known.rows;
    if (s->left) {
        p.m = rest.rows;
        p.a = in_a(s, rest.at, known.at);
        p.b = in_x(s, known.at);
    } else {
        p.n = rest.rows;
        p.a = in_x(s, known.at), p.lda = p.ldc;
        p.b = in_a(s, known.at, rest.at), p.ldb = s->g->lda;
    }
    if (s->code == HALFTONE_OK)
        s->code = s->asks ? cublas_raise_workspace(s->run, p.m, p.n, p.k, 1, &s->bytes) : cublas_run_prepared(s->run, &p);
    return s->code == HALFTONE_OK || s->asks ? CU_SUCCESS
           : s->code == DROPIN_CODE_SPOILT   ? CU_EXECUTION_FAILED
                                           : ORIGINAL(p.origin, gemm, cublasSgemm_v2)(p.handle, p.op_a, p.op_b, (int)p.m, (int)p.n, (int)p.k, p.alpha, p.a,
                                                                             (int)p.lda, p.b, (int)p.ldb, p.beta, p.c, (int)p.ldc);
}

/* The original's status. */
static int solve(struct solve *s, struct range x, const float *alpha) {
    const int64_t first = rows_of_first_part(x.rows);
    if (first == 0)
        return s->asks ? CU_SUCCESS : solve_block(s, x, alpha);
    const struct range parts[2] = {{x.at, first}, {x.at + first, x.rows - first}};
    const struct range known = parts[!s->ahead], rest = parts[s->ahead];
    int status = solve(s, known, alpha);
    if (status == CU_SUCCESS)
        status = update(s, rest, known, alpha);
    return status == CU_SUCCESS ? solve(s, rest, &one) : status;
}

static bool is_one_of(int value, int first, int second) {
    return value == first || value == second;
}

/* Sizes that fit the original's of 32 bits; no sizes of 0, nor alpha = 0, which reads no A: then there is no product. */
static bool has_products(const struct cublas_gemm *g) {
    return g->m > 0 && g->m <= INT_MAX && g->n > 0 && g->n <= INT_MAX && rows_of_first_part(g->k) > 0 && g->lda <= INT_MAX && g->ldc <= INT_MAX &&
           *(const float *)g->alpha != 0;
}

enum dropin_reason cublas_run_solve(const struct cublas_run *run, const struct cublas_gemm *g, int *code) {
    const bool left = g->side == CU_LEFT, is_lower = (g->uplo == CU_LOWER) == (g->op_a == CU_OP_N && g->op_b == CU_OP_N);
    struct solve s = {run, g, left, is_lower == left, true, 0, HALFTONE_OK};
    const struct range all = {0, g->k};
    if (!is_one_of(g->side, CU_LEFT, CU_RIGHT) || !is_one_of(g->uplo, CU_LOWER, CU_UPPER) || !is_one_of(g->diag, CU_NON_UNIT, CU_UNIT) ||
        g->a == NULL || g->c == NULL || g->lda < g->k || g->ldc < g->m)
        return DROPIN_ARGUMENTS;
    /* a scalar on the device may be 0, which nobody knows here */
    if (run->setting->device_scalars || !has_products(g) || g->origin->function[NAME_cublasSgemm_v2] == NULL ||
        g->origin->function[NAME_cublasStrsm_v2] == NULL)
        return DROPIN_NO_FORM;
    (void)solve(&s, all, g->alpha);
    *code = s.code != HALFTONE_OK ? s.code : cublas_set_workspace(run, s.bytes);
    if (*code != HALFTONE_OK)
        return DROPIN_SERVED;
    s.asks = false;
    const int status = solve(&s, all, g->alpha);
    *code = status != CU_SUCCESS && s.code == HALFTONE_OK ? HALFTONE_DEVICE_ERROR : s.code;
    if (*code != HALFTONE_OK)
        *g->done = 1 + status;
    return DROPIN_SERVED;
}
