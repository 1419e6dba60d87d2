/* product32.h: products of FP32: dense matrices on the host, as they lie on the device, and the library's result. */
#ifndef TESTS_PRODUCT32_H
#define TESTS_PRODUCT32_H
#define REAL float
#include "operands.h"

#include "../../bench/halftone/accuracy/families.h"

struct product {
    char ta, tb;
    int64_t m, n, k, pad; /* pad: numbers between columns */
    float alpha, beta;
    const char *family;
    int64_t offset;    /* of each matrix from the beginning of its allocation */
    float *a, *b, *c;  /* column-major, dense: m x k, k x n, and C before, m x n */
    size_t before;     /* of what is kept */
};

/* A row of a table, to be filled. */
#define PRODUCT(op_a, op_b, rows, columns, depth, apart, times, with_c, numbers)                             \
    {                                                                                                        \
        .ta = op_a, .tb = op_b, .m = rows, .n = columns, .k = depth, .pad = apart, .alpha = times,           \
        .beta = with_c, .family = numbers                                                                    \
    }

static inline float *host_floats(int64_t count) {
    return keep(calloc((size_t)count + 1, sizeof(float)), free);
}

/* The family's numbers, whatever the transposes, and some in C; family NULL: zeros. */
static inline void product_fill(struct product *p) {
    p->before = kept_count;
    p->a = host_floats(p->m * p->k);
    p->b = host_floats(p->k * p->n);
    p->c = host_floats(p->m * p->n);
    if (p->family != NULL) {
        family_fill(family_find(p->family), 5, 'A', p->m, p->n, p->k, p->a, p->m);
        family_fill(family_find(p->family), 5, 'B', p->m, p->n, p->k, p->b, p->k);
    }
    for (int64_t i = 0; i < p->m * p->n; i++)
        p->c[i] = (float)(i % 11 - 5) * 0.375f;
}

static inline struct product product_of(char ta, char tb, int64_t m, int64_t n, int64_t k, const char *family) {
    struct product p = PRODUCT(ta, tb, m, n, k, 0, 1, 0, family);
    product_fill(&p);
    return p;
}

static inline void product_free(const struct product *p) {
    drop_kept(p->before);
}

/* op(X) on the device, transposed or not, NaN between its columns. */
static inline struct operand stored(const struct product *p, char side, char trans) {
    const bool is_a = side == 'A';
    const int64_t rows = is_a ? p->m : p->n;
    struct operand x = operand_made(rows, p->k, is_a == (trans != 'N'), p->pad, 1);
    for (int64_t i = 0; i < rows * p->k; i++)
        *place(&x, 0, i % rows, i / rows) = is_a ? p->a[i] : p->b[i % rows * p->k + i / rows];
    x.device = on_device_at(x.at, x.count, p->offset);
    return x;
}

static inline uint16_t bits_of(int type, float x) {
    const int exponent = x != 0 && isfinite(x) && ilogbf(x) > -14 ? ilogbf(x) : -14;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (type == HALFTONE_BF16)
        return (uint16_t)(bits >> 16);
    if (!isfinite(x))
        return (uint16_t)((isnan(x) ? 0x7e00 : 0x7c00) | (bits >> 16 & 0x8000));
    const uint32_t steps = (uint32_t)ldexpf(fabsf(x), 10 - exponent);
    return (uint16_t)((steps < 1024 ? steps : (uint32_t)(exponent + 15) << 10 | (steps - 1024)) | (bits >> 16 & 0x8000));
}

/* The same matrix on the device in 16 bits, `offset` elements behind where an allocation begins. */
static inline void *narrow_copy(int type, const struct operand *x, int64_t offset) {
    uint16_t *const bits = kept((size_t)(x->count + offset) * sizeof *bits), *const at = kept_on_device((size_t)(x->count + offset) * sizeof *bits);
    for (int64_t i = 0; i < x->count + offset; i++)
        bits[i] = i < offset ? 0x7fff : bits_of(type, x->at[i - offset]);
    OK(ht_dev_upload(at, bits, (size_t)(x->count + offset) * sizeof *bits));
    return at + offset;
}

/* C before; where beta is 0 nobody reads it, and it is NaN. */
static inline struct operand stored_c(const struct product *p) {
    struct operand x = operand_made(p->m, p->n, false, p->pad, 1);
    for (int64_t i = 0; p->beta != 0.0f && i < p->m * p->n; i++)
        *place(&x, 0, i % p->m, i / p->m) = p->c[i];
    x.device = on_device_at(x.at, x.count, p->offset);
    return x;
}

static inline void multiply_stored(const struct product *p, const struct operand *a, const struct operand *b, const struct operand *c,
                                   const char *what) {
    multiply(p->ta, p->tb, p->m, p->n, p->k, 1, &p->alpha, a, b, &p->beta, c, what);
}

/* What C is now, dense. */
static inline float *dense_result(const struct product *p, const struct operand *c) {
    float *const got = result_of(c, p->m), *const dense = host_floats(p->m * p->n);
    for (int64_t j = 0; j < p->n; j++)
        memcpy(dense + j * p->m, got + j * c->ld, (size_t)p->m * sizeof *got);
    return dense;
}

/* The product by what the handle is set to. */
static inline float *run(const struct product *p, const char *what) {
    const struct operand a = stored(p, 'A', p->ta), b = stored(p, 'B', p->tb), c = stored_c(p);
    multiply_stored(p, &a, &b, &c, what);
    return dense_result(p, &c);
}

static inline struct halftone_plan plan_of(const struct product *p) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    check_code(halftone_query(handle, p->ta, p->tb, p->m, p->n, p->k, 1, &plan), "query");
    return plan;
}
#endif
