/* lt_read.c: what cuBLASLt's descriptions of a product and its four matrices say, asked by the original's getters: nothing opaque is
 * taken apart. An attribute that this cuBLASLt does not know has the value that it had before there was one. */
#include <string.h>

#include "cublas_face.h"

/* Attributes that must be as they are by default. */
static const struct {
    signed char attribute, bytes, value, why; /* numbers of the enums */
} plain_rows[] = {
    {LT_TRANS_C, 4, CU_OP_N, DROPIN_LAYOUT},        {LT_FILL_MODE, 4, LT_FILL_FULL, DROPIN_LAYOUT},
    {LT_AUX_POINTER, 8, 0, DROPIN_EPILOGUE},        {LT_SM_COUNT_TARGET, 4, 0, DROPIN_SM_TARGET},
    {LT_A_SCALE_POINTER, 8, 0, DROPIN_LAYOUT},      {LT_B_SCALE_POINTER, 8, 0, DROPIN_LAYOUT},
    {LT_C_SCALE_POINTER, 8, 0, DROPIN_LAYOUT},      {LT_D_SCALE_POINTER, 8, 0, DROPIN_LAYOUT},
    {LT_AMAX_D_POINTER, 8, 0, DROPIN_LAYOUT},       {LT_A_SCALE_MODE, 4, 0, DROPIN_LAYOUT},
    {LT_B_SCALE_MODE, 4, 0, DROPIN_LAYOUT},         {LT_C_SCALE_MODE, 4, 0, DROPIN_LAYOUT},
    {LT_D_SCALE_MODE, 4, 0, DROPIN_LAYOUT},         {LT_D_OUT_SCALE_POINTER, 8, 0, DROPIN_LAYOUT},
    {LT_EMULATION_DESCRIPTOR, 8, 0, DROPIN_LAYOUT},
};

/* Epilogues that are served. */
static bool is_epilogue(int64_t epilogue) {
    const int64_t activation = epilogue & ~(int64_t)LT_EPILOGUE_BIAS;
    return epilogue == LT_EPILOGUE_NONE || epilogue == LT_EPILOGUE_BIAS || activation == LT_EPILOGUE_RELU ||
           activation == LT_EPILOGUE_GELU;
}

/* An integer of 4 bytes (signed) or 8. */
static bool get(lt_get_attribute *getter, void *of, int attribute, size_t bytes, int64_t *value) {
    int32_t four = 0;
    size_t written = 0;
    if (bytes == 8)
        return getter(of, attribute, value, 8, &written) == CU_SUCCESS;
    const bool good = getter(of, attribute, &four, 4, &written) == CU_SUCCESS;
    *value = four;
    return good;
}

static enum dropin_reason read_desc(lt_get_attribute *getter, void *desc, struct lt_problem *p) {
    static const unsigned char asked[] = {LT_COMPUTE_TYPE, LT_SCALE_TYPE, LT_POINTER_MODE, LT_TRANS_A, LT_TRANS_B, LT_EPILOGUE};
    int64_t is[LT_EPILOGUE + 1], bias = 0, bias_type = 0, value;
    for (size_t i = 0; i < sizeof asked; i++)
        if (!get(getter, desc, asked[i], 4, &is[asked[i]]))
            return DROPIN_ARGUMENTS;
    const int64_t scale = is[LT_SCALE_TYPE], pointers = is[LT_POINTER_MODE], epilogue = is[LT_EPILOGUE];
    p->gemm.compute = (int)is[LT_COMPUTE_TYPE];
    p->gemm.op_a = (int)is[LT_TRANS_A];
    p->gemm.op_b = (int)is[LT_TRANS_B];
    p->epilogue = (int)epilogue;
    p->setting.device_scalars = pointers == CU_POINTER_DEVICE;
    if (scale != p->gemm.a_type || (pointers != CU_POINTER_HOST && pointers != CU_POINTER_DEVICE))
        return DROPIN_LAYOUT;
    if (!is_epilogue(epilogue) || (scale != CU_R_32F && epilogue != LT_EPILOGUE_NONE))
        return DROPIN_EPILOGUE;
    for (size_t i = 0; i < sizeof plain_rows / sizeof *plain_rows; i++)
        if (get(getter, desc, plain_rows[i].attribute, (size_t)plain_rows[i].bytes, &value) &&
            value != plain_rows[i].value)
            return (enum dropin_reason)plain_rows[i].why;
    if (!(epilogue & LT_EPILOGUE_BIAS))
        return DROPIN_SERVED;
    if (!get(getter, desc, LT_BIAS_DATA_TYPE, 4, &bias_type)) /* -1: as D */
        bias_type = -1;
    if (!get(getter, desc, LT_BIAS_POINTER, 8, &bias) || bias == 0 ||
        (bias_type != CU_R_32F && bias_type != -1))
        return DROPIN_EPILOGUE;
    p->bias = (const void *)(uintptr_t)bias;
    return DROPIN_SERVED;
}

/* By enum lt_layout. The last two are newer than the rest. */
typedef int64_t layout[LT_BATCH_MODE + 1];

static bool read_layout(lt_get_attribute *getter, void *of, layout l) {
    for (int i = 0; i <= LT_BATCH_MODE; i++) {
        const bool is_size = (i >= LT_ROWS && i <= LT_LD) || i == LT_BATCH_STRIDE || i == LT_PLANE_OFFSET;
        if (get(getter, of, i, is_size ? 8 : 4, &l[i]))
            continue;
        if (i < LT_PLANE_OFFSET)
            return false;
        l[i] = 0;
    }
    return true;
}

/* Sizes of op(X): rows and columns as the product takes them. */
static bool has_shape(const int64_t *l, int op, int64_t rows, int64_t cols) {
    return op == CU_OP_N ? l[LT_ROWS] == rows && l[LT_COLS] == cols : l[LT_ROWS] == cols && l[LT_COLS] == rows;
}

static void exchange_operands(struct cublas_gemm *g) {
    const struct cublas_gemm was = *g;
    g->op_a = was.op_b, g->op_b = was.op_a;
    g->m = was.n, g->n = was.m;
    g->a = was.b, g->b = was.a;
    g->lda = was.ldb, g->ldb = was.lda;
    g->stride_a = was.stride_b, g->stride_b = was.stride_a;
}

static enum dropin_reason judge_layouts(layout x[4], struct lt_problem *p) {
    struct cublas_gemm *const g = &p->gemm;
    const int64_t *const a = x[0], *const b = x[1], *const c = x[2], *const d = x[3];
    for (int i = 0; i < 4; i++)
        if (x[i][LT_ORDER] != d[LT_ORDER] || x[i][LT_PLANE_OFFSET] != 0 || x[i][LT_BATCH_MODE] != 0)
            return DROPIN_LAYOUT;
    if (d[LT_ORDER] != LT_COL && d[LT_ORDER] != LT_ROW)
        return DROPIN_LAYOUT;
    g->m = d[LT_ROWS];
    g->n = d[LT_COLS];
    g->k = g->op_a == CU_OP_N ? a[LT_COLS] : a[LT_ROWS];
    if (!has_shape(a, g->op_a, g->m, g->k) || !has_shape(b, g->op_b, g->k, g->n) ||
        !has_shape(c, CU_OP_N, g->m, g->n) || a[LT_BATCH_COUNT] != d[LT_BATCH_COUNT] || b[LT_BATCH_COUNT] != d[LT_BATCH_COUNT] ||
        c[LT_BATCH_COUNT] != d[LT_BATCH_COUNT])
        return DROPIN_ARGUMENTS;
    g->lda = a[LT_LD], g->ldb = b[LT_LD], g->ldc = d[LT_LD];
    g->batch = d[LT_BATCH_COUNT];
    if (g->batch != 1)
        g->stride_a = a[LT_BATCH_STRIDE], g->stride_b = b[LT_BATCH_STRIDE], g->stride_c = d[LT_BATCH_STRIDE];
    p->c_ld = c[LT_LD];
    p->c_stride = c[LT_BATCH_STRIDE];
    p->order = (int)d[LT_ORDER];
    p->rows = d[LT_ROWS];
    p->cols = d[LT_COLS];
    if (d[LT_ORDER] == LT_ROW)
        exchange_operands(g);
    return DROPIN_SERVED;
}

enum dropin_reason lt_read(const struct cublas_origin *origin, void *desc, void *const layouts[4],
                           struct lt_problem *p) {
    lt_get_attribute *const of_desc = ORIGINAL(origin, lt_get_attribute, cublasLtMatmulDescGetAttribute);
    lt_get_attribute *const of_layout = ORIGINAL(origin, lt_get_attribute, cublasLtMatrixLayoutGetAttribute);
    layout x[4];
    if (of_desc == NULL || of_layout == NULL || desc == NULL)
        return DROPIN_ARGUMENTS;
    for (int i = 0; i < 4; i++)
        if (layouts[i] == NULL || !read_layout(of_layout, layouts[i], x[i]))
            return DROPIN_ARGUMENTS;
    const int64_t type = x[3][LT_TYPE];
    if ((type != CU_R_32F && type != CU_R_64F) || x[0][LT_TYPE] != type || x[1][LT_TYPE] != type || x[2][LT_TYPE] != type)
        return DROPIN_TYPES;
    p->gemm.a_type = p->gemm.b_type = p->gemm.c_type = (int)type;
    enum dropin_reason why = read_desc(of_desc, desc, p);
    if (why == DROPIN_SERVED)
        why = cublas_judge_form(&p->gemm, CU_MATH_DEFAULT, &p->kind);
    return why == DROPIN_SERVED ? judge_layouts(x, p) : why;
}
