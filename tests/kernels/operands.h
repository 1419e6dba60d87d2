/* operands.h: matrices of REAL, float or double, on the host and on the device, for the programs that hold the library's products to others. */
#ifndef TESTS_OPERANDS_H
#define TESTS_OPERANDS_H
#include <math.h>

#include "handle.h"

typedef REAL real;
#define GEMM _Generic((real)0, float: halftone_sgemm, double: halftone_dgemm)
#define GEMM_BATCHED _Generic((real)0, float: halftone_sgemm_strided_batched, double: halftone_dgemm_strided_batched)

/* Element (row, k) of entry is at[entry * stride + (k_contiguous ? row * ld + k : k * ld + row)]; C's columns are its k. */
struct operand {
    real *at, *device;
    int64_t ld, stride, count; /* stride 0: all entries are one; count: of the memory */
    bool k_contiguous;
};

static inline real *place(const struct operand *x, int64_t entry, int64_t row, int64_t k) {
    return x->at + entry * x->stride + (x->k_contiguous ? row * x->ld + k : k * x->ld + row);
}

/* So many numbers of the host, NaN. */
static inline real *allocated(int64_t count) {
    real *x = kept((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++)
        x[i] = NAN;
    return x;
}

static inline void upload(real *to, const real *from, int64_t count) {
    OK(ht_dev_upload(to, from, (size_t)count * sizeof *from));
}

static inline real *download(real *to, const real *from, int64_t count) {
    OK(ht_dev_download(to, from, (size_t)count * sizeof *to));
    return to;
}

/* `offset` numbers behind where an allocation begins. */
static inline real *on_device_at(const real *x, int64_t count, int64_t offset) {
    real *const p = (real *)kept_on_device((size_t)(count + offset) * sizeof *x) + offset;
    upload(p, x, count);
    return p;
}

static inline real *on_device(const real *x, int64_t count) {
    return on_device_at(x, count, 0);
}

/* On the host, NaN all over: `pad` numbers between lines, and entries that follow one another. */
static inline struct operand operand_made(int64_t rows, int64_t k, bool k_contiguous, int64_t pad, int64_t batch) {
    struct operand x = {.ld = (k_contiguous ? k : rows) + pad, .k_contiguous = k_contiguous};
    x.stride = x.ld * (k_contiguous ? rows : k);
    x.count = x.stride * batch;
    x.at = allocated(x.count);
    return x;
}

/* C = alpha op(A) op(B) + beta C. */
static inline void multiply(char ta, char tb, int64_t m, int64_t n, int64_t k, int64_t batch, const real *alpha, const struct operand *a,
                            const struct operand *b, const real *beta, const struct operand *c, const char *what) {
    check_code(batch == 1 ? GEMM(handle, ta, tb, m, n, k, alpha, a->device, a->ld, b->device, b->ld, beta, c->device, c->ld)
                          : GEMM_BATCHED(handle, ta, tb, m, n, k, alpha, a->device, a->ld, a->stride, b->device, b->ld, b->stride, beta,
                                         c->device, c->ld, c->stride, batch),
               what);
}

static inline bool same_bits(real x, real y) {
    return memcmp(&x, &y, sizeof x) == 0;
}

static inline bool same_or_nan(real x, real y) {
    return same_bits(x, y) || (isnan(x) && isnan(y));
}

static inline void expect_bits(const char *what, const real *want, const real *got, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!same_bits(want[i], got[i]))
            fail_msg("%s: element %lld is %a, not %a", what, (long long)i, (double)got[i], (double)want[i]);
}

/* C as the device has it, of which what lies between the columns must be as it was. */
static inline real *result_of(const struct operand *c, int64_t rows) {
    real *const got = download(allocated(c->count), c->device, c->count);
    for (int64_t i = 0; i < c->count; i++)
        if (i % c->ld >= rows && !same_bits(got[i], c->at[i]))
            fail_msg("%a between two columns of C, number %lld", (double)got[i], (long long)i);
    return got;
}
#endif
