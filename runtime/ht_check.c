/* ht_check.c: arguments of public calls, in the order of their numbers. */
#include "ht_call.h"

static bool is_op(char t) {
    return t == 'N' || t == 'n' || is_trans(t);
}

int ht_check_sizes(halftone *h, const struct gemm_call *x) {
    if (!is_op(x->transa))
        return ht_fail(h, -1, "transa has the code %d", x->transa);
    if (!is_op(x->transb))
        return ht_fail(h, -2, "transb has the code %d", x->transb);
    const int64_t size[] = {x->m, x->n, x->k};
    for (int i = 0; i < 3; i++)
        if (size[i] < 0)
            return ht_fail(h, -3 - i, "%c = %lld", "mnk"[i], (long long)size[i]);
    return HALFTONE_OK;
}

int ht_check_limits(halftone *h, const struct gemm_call *x) {
    const int64_t size[] = {x->m, x->n, x->k, x->batch};
    static const char *const name[] = {"m", "n", "k", "batch"};
    for (int i = 0; i < 4; i++)
        if (size[i] > HALFTONE_SIZE_MAX)
            return ht_fail(h, HALFTONE_TOO_LARGE, "%s = %lld is above %lld", name[i], (long long)size[i],
                           (long long)HALFTONE_SIZE_MAX);
    return HALFTONE_OK;
}

static int check_ld(halftone *h, int argument, const char *name, int64_t ld, int64_t rows) {
    int64_t least = rows > 1 ? rows : 1;
    if (ld < least)
        return ht_fail(h, -argument, "%s = %lld is smaller than %lld", name, (long long)ld, (long long)least);
    return HALFTONE_OK;
}

/* Whether the last of `batch` matrices still ends at an address that could exist. */
static int check_extent(halftone *h, const struct gemm_call *x, const char *name, int64_t ld, int64_t rows,
                        int64_t cols, int64_t stride, int64_t batch) {
    if (rows == 0 || cols == 0 || batch == 0)
        return HALFTONE_OK;
    if (ht_extent_of(ld, rows, cols, stride, batch) > PTRDIFF_MAX / (int64_t)element_bytes(x))
        return ht_fail(h, HALFTONE_TOO_LARGE, "%s spans more bytes than an address can count", name);
    return HALFTONE_OK;
}

static enum call_effect effect_of(const halftone *h, const struct gemm_call *x) {
    if (x->m == 0 || x->n == 0 || x->batch == 0)
        return EFFECT_NONE;
    if (x->k > 0 && (h->pointer_mode == HALFTONE_DEVICE || scalar_of(x, x->alpha) != 0.0))
        return EFFECT_PRODUCT;
    return h->pointer_mode == HALFTONE_HOST && scalar_of(x, x->beta) == 1.0 ? EFFECT_ZEROS : EFFECT_SCALE;
}

static bool is_bad_operand(const struct gemm_call *x, const void *plain, const char *packed, bool is_packed) {
    return is_packed ? packed == NULL || !is_aligned(packed, HALFTONE_ALIGNMENT)
                     : plain == NULL || !is_aligned(plain, element_bytes(x));
}

/* ---- whether entries of a batch overlap in C ---- */

__extension__ typedef unsigned __int128 wide;

/* The smallest x > 0 with low <= step x mod period <= high, where low > 0; 0: none. Where no multiple of step lies
 * between, one does y periods later: period y mod step lies between -high and -low. As many rounds as Euclid's
 * algorithm takes. */
static wide first_within(wide step, wide period, wide low, wide high) {
    step %= period;
    if (low > high || step == 0)
        return 0;
    const wide x = (low + step - 1) / step;
    if (x * step <= high)
        return x;
    const wide y = first_within(period, step, step - high % step, step - low % step);
    return y == 0 ? 0 : (low + period * y + step - 1) / step;
}

/* Entries x apart begin x strides apart: some columns and some rows. They meet where both are less than C has, or
 * where fewer rows than that are missing in the next column. */
static bool entries_overlap(const struct gemm_call *x) {
    const wide ld = (wide)x->ldc, stride = (wide)x->stride_c, m = (wide)x->m, n = (wide)x->n;
    wide a = stride, b = ld; /* their greatest common divisor becomes a */
    if (x->batch < 2 || m == 0 || n == 0)
        return false;
    while (b != 0) {
        const wide rest = a % b;
        a = b;
        b = rest;
    }
    const wide apart[] = {ld / a, first_within(stride, ld, 1, m - 1), first_within(stride, ld, ld - m + 1, ld - 1)};
    for (int i = 0; i < 3; i++)
        if (apart[i] > 0 && apart[i] < (wide)x->batch && apart[i] * stride / ld + (i == 2) < n)
            return true;
    return false;
}

int ht_check_gemm(halftone *h, const struct gemm_call *x, bool is_packed, enum call_effect *effect) {
    int code = ht_check_sizes(h, x);
    if (code != HALFTONE_OK)
        return code;
    bool empty = x->m == 0 || x->n == 0 || x->batch == 0;
    if (x->alpha == NULL)
        return ht_fail(h, -6, "alpha is NULL");
    bool no_product =
        empty || x->k == 0 || (h->pointer_mode == HALFTONE_HOST && scalar_of(x, x->alpha) == 0.0);
    if (!no_product && is_bad_operand(x, x->a, x->packed_a, is_packed))
        return ht_fail(h, -7, "A = %p", is_packed ? (const void *)x->packed_a : x->a);
    if (!is_packed && (code = check_ld(h, 8, "lda", x->lda, is_trans(x->transa) ? x->k : x->m)) != 0)
        return code;
    if (!no_product && is_bad_operand(x, x->b, x->packed_b, is_packed))
        return ht_fail(h, -9, "B = %p", is_packed ? (const void *)x->packed_b : x->b);
    if (!is_packed && (code = check_ld(h, 10, "ldb", x->ldb, is_trans(x->transb) ? x->n : x->k)) != 0)
        return code;
    if (x->beta == NULL)
        return ht_fail(h, -11, "beta is NULL");
    if (!empty && (x->c == NULL || !is_aligned(x->c, element_bytes(x))))
        return ht_fail(h, -12, "C = %p", x->c);
    if ((code = check_ld(h, 13, "ldc", x->ldc, x->m)) != 0)
        return code;
    if (x->stride_a < 0)
        return ht_fail(h, -14, "stride A = %lld", (long long)x->stride_a);
    if (x->stride_b < 0)
        return ht_fail(h, -15, "stride B = %lld", (long long)x->stride_b);
    if (x->stride_c < 0 || (x->batch > 1 && x->stride_c < x->m))
        return ht_fail(h, -16, "stride C = %lld for %lld rows", (long long)x->stride_c, (long long)x->m);
    if (entries_overlap(x))
        return ht_fail(h, -16, "stride C = %lld for %lld columns of ldc = %lld", (long long)x->stride_c, (long long)x->n,
                       (long long)x->ldc);
    if (x->batch < 0)
        return ht_fail(h, -17, "batch = %lld", (long long)x->batch);
    *effect = effect_of(h, x);
    return ht_check_limits(h, x);
}

int ht_check_extents(halftone *h, const struct gemm_call *x, bool is_packed, enum call_effect effect) {
    int code = check_extent(h, x, "C", x->ldc, x->m, x->n, x->stride_c, x->batch);
    if (code != HALFTONE_OK || is_packed || effect != EFFECT_PRODUCT)
        return code;
    bool ta = is_trans(x->transa), tb = is_trans(x->transb);
    code = check_extent(h, x, "A", x->lda, ta ? x->k : x->m, ta ? x->m : x->k, x->stride_a, x->batch);
    if (code == HALFTONE_OK)
        code = check_extent(h, x, "B", x->ldb, tb ? x->n : x->k, tb ? x->k : x->n, x->stride_b, x->batch);
    return code;
}

int ht_check_question(halftone *h, const struct gemm_call *x, const void *result) {
    int code = ht_check_sizes(h, x);
    if (code == HALFTONE_OK && x->batch < 0)
        code = ht_fail(h, -17, "batch = %lld", (long long)x->batch);
    if (code == HALFTONE_OK && result == NULL)
        code = ht_fail(h, -18, "the result is NULL");
    return code;
}

int ht_check_pack(halftone *h, const struct gemm_call *x, bool is_a, bool empty, const void *packed) {
    const void *src = is_a ? x->a : x->b;
    const bool trans = is_trans(is_a ? x->transa : x->transb);
    const int64_t rows = is_a ? x->m : x->n, ld = is_a ? x->lda : x->ldb;
    const int64_t stored_rows = is_a == trans ? x->k : rows, stored_cols = is_a == trans ? rows : x->k;
    if (!empty && is_bad_operand(x, src, NULL, false))
        return ht_fail(h, is_a ? -7 : -9, "%c = %p", is_a ? 'A' : 'B', src);
    int code = check_ld(h, is_a ? 8 : 10, is_a ? "lda" : "ldb", ld, stored_rows);
    if (code != HALFTONE_OK)
        return code;
    if (!empty && (packed == NULL || !is_aligned(packed, HALFTONE_ALIGNMENT)))
        return ht_fail(h, -18, "packed = %p", packed);
    code = ht_check_limits(h, x);
    return code == HALFTONE_OK ? check_extent(h, x, is_a ? "A" : "B", ld, stored_rows, stored_cols, 0, 1)
                               : code;
}

int ht_check_bytes(halftone *h, int64_t bytes) {
    if (bytes >= INT64_MAX / 2 || (uint64_t)bytes > SIZE_MAX)
        return ht_fail(h, HALFTONE_TOO_LARGE,
                       "the packed operands need more bytes than an address can count");
    return HALFTONE_OK;
}

/* Struct halftone_plan of 0.1.0, the least that is written; and far more than one will ever be. */
enum { PLAN_BYTES_LEAST = sizeof(struct halftone_plan), PLAN_BYTES_MOST = 1 << 16 };

int ht_check_plan(halftone *h, const struct halftone_plan *plan) {
    if (plan->size >= (size_t)PLAN_BYTES_LEAST && plan->size <= (size_t)PLAN_BYTES_MOST)
        return HALFTONE_OK;
    return ht_fail(h, -18,
                   "plan->size is %zu, not sizeof(struct halftone_plan): begin with HALFTONE_PLAN_INIT",
                   plan->size);
}
