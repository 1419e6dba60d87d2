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
    int64_t compute = 0, scale = 0, pointers = 0, op_a = 0, op_b = 0, epilogue = 0, bias = 0, bias_type = 0,
            value;
    if (!get(getter, desc, LT_COMPUTE_TYPE, 4, &compute) || !get(getter, desc, LT_SCALE_TYPE, 4, &scale) ||
        !get(getter, desc, LT_POINTER_MODE, 4, &pointers) || !get(getter, desc, LT_TRANS_A, 4, &op_a) ||
        !get(getter, desc, LT_TRANS_B, 4, &op_b) || !get(getter, desc, LT_EPILOGUE, 4, &epilogue))
        return DROPIN_ARGUMENTS;
    p->gemm.compute = (int)compute;
    p->gemm.op_a = (int)op_a;
    p->gemm.op_b = (int)op_b;
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

struct layout {
    int64_t type, order, rows, cols, ld, batch, stride, plane, mode;
};

static bool read_layout(lt_get_attribute *getter, void *of, struct layout *l) {
    memset(l, 0, sizeof *l);
    if (!get(getter, of, LT_PLANE_OFFSET, 8, &l->plane))
        l->plane = 0;
    if (!get(getter, of, LT_BATCH_MODE, 4, &l->mode))
        l->mode = 0;
    return get(getter, of, LT_TYPE, 4, &l->type) && get(getter, of, LT_ORDER, 4, &l->order) &&
           get(getter, of, LT_ROWS, 8, &l->rows) && get(getter, of, LT_COLS, 8, &l->cols) &&
           get(getter, of, LT_LD, 8, &l->ld) && get(getter, of, LT_BATCH_COUNT, 4, &l->batch) &&
           get(getter, of, LT_BATCH_STRIDE, 8, &l->stride);
}

/* Sizes of op(X): rows and columns as the product takes them. */
static bool has_shape(const struct layout *l, int op, int64_t rows, int64_t cols) {
    return op == CU_OP_N ? l->rows == rows && l->cols == cols : l->rows == cols && l->cols == rows;
}

static void exchange_operands(struct cublas_gemm *g) {
    const struct cublas_gemm was = *g;
    g->op_a = was.op_b, g->op_b = was.op_a;
    g->m = was.n, g->n = was.m;
    g->a = was.b, g->b = was.a;
    g->lda = was.ldb, g->ldb = was.lda;
    g->stride_a = was.stride_b, g->stride_b = was.stride_a;
}

static enum dropin_reason judge_layouts(const struct layout x[4], struct lt_problem *p) {
    struct cublas_gemm *const g = &p->gemm;
    const struct layout *const a = &x[0], *const b = &x[1], *const c = &x[2], *const d = &x[3];
    for (int i = 0; i < 4; i++)
        if (x[i].order != d->order || x[i].plane != 0 || x[i].mode != 0)
            return DROPIN_LAYOUT;
    if (d->order != LT_COL && d->order != LT_ROW)
        return DROPIN_LAYOUT;
    g->m = d->rows;
    g->n = d->cols;
    g->k = g->op_a == CU_OP_N ? a->cols : a->rows;
    if (!has_shape(a, g->op_a, g->m, g->k) || !has_shape(b, g->op_b, g->k, g->n) ||
        !has_shape(c, CU_OP_N, g->m, g->n) || a->batch != d->batch || b->batch != d->batch ||
        c->batch != d->batch)
        return DROPIN_ARGUMENTS;
    g->lda = a->ld, g->ldb = b->ld, g->ldc = d->ld;
    g->batch = d->batch;
    if (g->batch != 1)
        g->stride_a = a->stride, g->stride_b = b->stride, g->stride_c = d->stride;
    p->c_ld = c->ld;
    p->c_stride = c->stride;
    p->order = (int)d->order;
    p->rows = d->rows;
    p->cols = d->cols;
    if (d->order == LT_ROW)
        exchange_operands(g);
    return DROPIN_SERVED;
}

enum dropin_reason lt_read(const struct cublas_origin *origin, void *desc, void *const layouts[4],
                           struct lt_problem *p) {
    lt_get_attribute *const of_desc = ORIGINAL(origin, lt_get_attribute, cublasLtMatmulDescGetAttribute);
    lt_get_attribute *const of_layout = ORIGINAL(origin, lt_get_attribute, cublasLtMatrixLayoutGetAttribute);
    struct layout x[4];
    if (of_desc == NULL || of_layout == NULL || desc == NULL)
        return DROPIN_ARGUMENTS;
    for (int i = 0; i < 4; i++)
        if (layouts[i] == NULL || !read_layout(of_layout, layouts[i], &x[i]))
            return DROPIN_ARGUMENTS;
    const int64_t type = x[3].type;
    if ((type != CU_R_32F && type != CU_R_64F) || x[0].type != type || x[1].type != type || x[2].type != type)
        return DROPIN_TYPES;
    p->gemm.a_type = p->gemm.b_type = p->gemm.c_type = (int)type;
    enum dropin_reason why = read_desc(of_desc, desc, p);
    if (why == DROPIN_SERVED)
        why = cublas_judge_form(&p->gemm, CU_MATH_DEFAULT, &p->kind);
    return why == DROPIN_SERVED ? judge_layouts(x, p) : why;
}
