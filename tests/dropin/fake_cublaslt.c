/* fake_cublaslt: stands for libcublasLt.so.13: descriptions as lists of attributes, products as sums in FP64, epilogues, and how many
 * products there were. FAKE_LT_REFUSES=1: products 1 long are refused, so that the face's second pass over D fails. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/dropin/cublas_names.h"

#define FAKE __attribute__((visibility("default")))

enum { INVALID = 7, ATTRIBUTES = 40 };
FAKE long fake_lt_calls(void);
FAKE int cublasLtCreate(void **handle);

static long calls;

long fake_lt_calls(void) {
    return calls;
}

int cublasLtCreate(void **handle) {
    *handle = &calls;
    return CU_SUCCESS;
}

struct attributes {
    int64_t is[ATTRIBUTES];
};

static int get(const struct attributes *x, int attribute, void *value, size_t bytes, size_t *written) {
    if (attribute < 0 || attribute >= ATTRIBUTES || (bytes != 4 && bytes != 8))
        return INVALID;
    memcpy(value, &x->is[attribute], bytes);
    *written = bytes;
    return CU_SUCCESS;
}

static int set(struct attributes *x, int attribute, const void *value, size_t bytes) {
    int32_t four;
    if (attribute < 0 || attribute >= ATTRIBUTES || (bytes != 4 && bytes != 8))
        return INVALID;
    memcpy(&four, value, 4);
    x->is[attribute] = four;
    if (bytes == 8)
        memcpy(&x->is[attribute], value, 8);
    return CU_SUCCESS;
}

FAKE lt_create_desc cublasLtMatmulDescCreate;
FAKE lt_create_layout cublasLtMatrixLayoutCreate;
FAKE lt_destroy cublasLtMatmulDescDestroy, cublasLtMatrixLayoutDestroy;
FAKE lt_get_attribute cublasLtMatmulDescGetAttribute, cublasLtMatrixLayoutGetAttribute;
FAKE lt_set_attribute cublasLtMatmulDescSetAttribute, cublasLtMatrixLayoutSetAttribute;
FAKE lt_matmul cublasLtMatmul;
FAKE lt_create_preference cublasLtMatmulPreferenceCreate;
FAKE lt_destroy cublasLtMatmulPreferenceDestroy;
FAKE lt_get_heuristic cublasLtMatmulAlgoGetHeuristic;
FAKE long fake_lt_searches(void);

static long searches;

long fake_lt_searches(void) {
    return searches;
}

int cublasLtMatmulDescCreate(void **desc, int compute, int scale_type) {
    struct attributes *const x = (struct attributes *)calloc(1, sizeof *x);
    *desc = x;
    if (x == NULL)
        return 3;
    x->is[LT_COMPUTE_TYPE] = compute;
    x->is[LT_SCALE_TYPE] = scale_type;
    x->is[LT_FILL_MODE] = LT_FILL_FULL;
    x->is[LT_EPILOGUE] = LT_EPILOGUE_NONE;
    x->is[LT_BIAS_DATA_TYPE] = -1;
    return CU_SUCCESS;
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld) {
    struct attributes *const x = (struct attributes *)calloc(1, sizeof *x);
    *layout = x;
    if (x == NULL)
        return 3;
    x->is[LT_TYPE] = type;
    x->is[LT_ROWS] = (int64_t)rows;
    x->is[LT_COLS] = (int64_t)cols;
    x->is[LT_LD] = ld;
    x->is[LT_BATCH_COUNT] = 1;
    return CU_SUCCESS;
}

int cublasLtMatmulDescDestroy(void *of) {
    free(of);
    return CU_SUCCESS;
}

int cublasLtMatrixLayoutDestroy(void *of) {
    free(of);
    return CU_SUCCESS;
}

int cublasLtMatmulDescGetAttribute(void *of, int attribute, void *value, size_t bytes, size_t *written) {
    return get((const struct attributes *)of, attribute, value, bytes, written);
}

int cublasLtMatrixLayoutGetAttribute(void *of, int attribute, void *value, size_t bytes, size_t *written) {
    return get((const struct attributes *)of, attribute, value, bytes, written);
}

int cublasLtMatmulDescSetAttribute(void *of, int attribute, const void *value, size_t bytes) {
    return set((struct attributes *)of, attribute, value, bytes);
}

int cublasLtMatrixLayoutSetAttribute(void *of, int attribute, const void *value, size_t bytes) {
    return set((struct attributes *)of, attribute, value, bytes);
}

int cublasLtMatmulPreferenceCreate(void **preference) {
    *preference = calloc(1, 1);
    return *preference != NULL ? CU_SUCCESS : 3;
}

int cublasLtMatmulPreferenceDestroy(void *of) {
    free(of);
    return CU_SUCCESS;
}

/* An algorithm is of the sizes that it was searched for. */
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted, struct lt_heuristic *found,
                                   int *count) {
    const int64_t *const x = ((const struct attributes *)d)->is;
    searches++;
    if (handle == NULL || desc == NULL || a == NULL || b == NULL || c != d || preference == NULL || wanted != 1)
        return INVALID;
    memset(found, 0, sizeof *found);
    for (int i = 0; i < 3; i++)
        found->algo[i] = (uint64_t)x[i == 0 ? LT_ROWS : i == 1 ? LT_COLS : LT_LD];
    *count = getenv("FAKE_LT_FINDS_NONE") == NULL;
    return CU_SUCCESS;
}

/* Element (i, j) of a matrix as stored. */
static int64_t place(const int64_t *layout, int64_t i, int64_t j) {
    return layout[LT_ORDER] == LT_ROW ? i * layout[LT_LD] + j : i + j * layout[LT_LD];
}

static double activation(int64_t epilogue, double x) {
    if (epilogue & LT_EPILOGUE_RELU)
        return x > 0 ? x : 0;
    return epilogue & LT_EPILOGUE_GELU ? 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) : x;
}

static int is_right(const int64_t *desc, int64_t *const x[4]) {
    const int64_t m = x[3][LT_ROWS], n = x[3][LT_COLS], k = desc[LT_TRANS_A] == CU_OP_N ? x[0][LT_COLS] : x[0][LT_ROWS];
    const int64_t rows[4] = {desc[LT_TRANS_A] == CU_OP_N ? m : k, desc[LT_TRANS_B] == CU_OP_N ? k : n, m, m};
    const int64_t cols[4] = {desc[LT_TRANS_A] == CU_OP_N ? k : m, desc[LT_TRANS_B] == CU_OP_N ? n : k, n, n};
    for (int i = 0; i < 4; i++)
        if (x[i][LT_ROWS] != rows[i] || x[i][LT_COLS] != cols[i] || x[i][LT_LD] < (x[i][LT_ORDER] == LT_ROW ? cols[i] : rows[i]) || x[i][LT_BATCH_COUNT] != x[3][LT_BATCH_COUNT])
            return 0;
    return 1;
}

/* Element of an array of this type. */
static double at(int64_t type, const void *x, int64_t i) {
    return type == CU_R_64F ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Of entry e of the batch. */
static void multiply(const int64_t *desc, int64_t *const x[4], double alpha, const void *a, const void *b, double beta, const void *c, void *d, int64_t e) {
    const int64_t type = x[3][LT_TYPE], from[4] = {e * x[0][LT_BATCH_STRIDE], e * x[1][LT_BATCH_STRIDE], e * x[2][LT_BATCH_STRIDE], e * x[3][LT_BATCH_STRIDE]};
    const int64_t k = desc[LT_TRANS_A] == CU_OP_N ? x[0][LT_COLS] : x[0][LT_ROWS];
    const float *const bias = (const float *)desc[LT_BIAS_POINTER];
    for (int64_t i = 0; i < x[3][LT_ROWS]; i++)
        for (int64_t j = 0; j < x[3][LT_COLS]; j++) {
            long double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += (long double)at(type, a, from[0] + (desc[LT_TRANS_A] == CU_OP_N ? place(x[0], i, p) : place(x[0], p, i))) *
                       at(type, b, from[1] + (desc[LT_TRANS_B] == CU_OP_N ? place(x[1], p, j) : place(x[1], j, p)));
            sum = alpha * sum + (beta != 0 ? beta * at(type, c, from[2] + place(x[2], i, j)) : 0);
            sum += desc[LT_EPILOGUE] & LT_EPILOGUE_BIAS ? (double)bias[i] : 0;
            if (type == CU_R_64F)
                ((double *)d)[from[3] + place(x[3], i, j)] = (double)sum;
            else
                ((float *)d)[from[3] + place(x[3], i, j)] = (float)activation(desc[LT_EPILOGUE], (double)sum);
        }
}

int cublasLtMatmul(CUBLASLT_MATMUL_ARGS) {
    (void)workspace, (void)workspace_bytes, (void)stream;
    calls++;
    if (handle == NULL || desc == NULL || alpha == NULL || beta == NULL || a_layout == NULL || b_layout == NULL || c_layout == NULL || d_layout == NULL)
        return INVALID;
    const int64_t *const is = ((const struct attributes *)desc)->is;
    int64_t *const x[4] = {((struct attributes *)a_layout)->is, ((struct attributes *)b_layout)->is, ((struct attributes *)c_layout)->is, ((struct attributes *)d_layout)->is};
    if (!is_right(is, x))
        return INVALID;
    const uint64_t *const of = (const uint64_t *)algo;
    if (of != NULL && (of[0] != (uint64_t)x[3][LT_ROWS] || of[1] != (uint64_t)x[3][LT_COLS] || of[2] != (uint64_t)x[3][LT_LD]))
        return INVALID;
    const int64_t type = x[3][LT_TYPE], compute = is[LT_COMPUTE_TYPE];
    const int is_fp64 = compute == CU_COMPUTE_64F || compute == CU_COMPUTE_64F_PEDANTIC || compute == CU_COMPUTE_64F_EMULATED_FIXEDPOINT;
    if (type > CU_R_64F || x[0][LT_TYPE] != type || x[1][LT_TYPE] != type || x[2][LT_TYPE] != type || is[LT_SCALE_TYPE] != type || is[LT_POINTER_MODE] > 1 || compute < 64 ||
        is_fp64 != (type == CU_R_64F) || (is_fp64 && is[LT_EPILOGUE] != LT_EPILOGUE_NONE))
        return CU_NOT_SUPPORTED;
    if (getenv("FAKE_LT_REFUSES") != NULL && x[1][LT_ROWS] == 1)
        return CU_NOT_SUPPORTED;
    for (int64_t i = 0; i < x[3][LT_BATCH_COUNT]; i++)
        multiply(is, x, at(type, alpha, 0), a, b, at(type, beta, 0), c, d, i);
    return CU_SUCCESS;
}
