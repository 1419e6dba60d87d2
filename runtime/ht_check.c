/* ht_check.c: arguments of public calls, in the order of their numbers. */
#include "ht_call.h"

static bool is_op(char t) {
    return t == 'N' || t == 'n' || is_trans(t);
}

int ht_check_sizes(const struct call *c) {
    for (int side = 0; side < 2; side++)
        if (!is_op(c->of[side].trans))
            return ht_fail(c->h, -1 - side, "trans%c has the code %d", "ab"[side], c -> of[side].trans);
    const int64_t size[] = {c->m, c->n, c->k};
    for (int i = 0; i < 3; i++)
        if (size[i] < 0)
            return ht_fail(c->h, -3 - i, "%c = %lld", "mnk"[i], (long long)size[i]);
    return HALFTONE_OK;
}

int ht_check_limits(const struct call *c) {
    const int64_t size[] = {SIZES_OF(c)};
    static const char *const name[] = {"m", "n", "k", "batch"};
    for (int i = 0; i < 4; i++)
        if (size[i] > HALFTONE_SIZE_MAX)
            return ht_fail(c->h, HALFTONE_TOO_LARGE, "%s = %lld is above %lld", name[i], (long long)size[i],
                           (long long)HALFTONE_SIZE_MAX);
    return HALFTONE_OK;
}

static int check_ld(halftone *h, int argument, const char *name, int64_t ld, int64_t rows) {
    return ld >= at_least_one(rows) ? HALFTONE_OK
                                    : ht_fail(h, -argument, "%s = %lld is smaller than %lld", name,
                                              (long long)ld, (long long)at_least_one(rows));
}

/* Whether the last matrix of the batch still ends at an address that could exist. */
static int check_extent(const struct call *c, const char *name, int64_t ld, int64_t rows, int64_t cols,
                        int64_t stride, size_t each) {
    const bool is_empty = rows == 0 || cols == 0 || c->batch == 0;
    if (!is_empty && ht_extent_of(ld, rows, cols, stride, c->batch) > PTRDIFF_MAX / (int64_t)each)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "%s spans more bytes than an address can count", name);
    return HALFTONE_OK;
}

static bool is_empty(const struct call *c) {
    return c->m == 0 || c->n == 0 || c->batch == 0;
}

static bool has_product(const struct call *c) {
    return !is_empty(c) && c->k > 0 &&
           (c->h->pointer_mode == HALFTONE_DEVICE || scalar_of(c, c->alpha) != 0.0);
}

static enum call_effect effect_of(const struct call *c) {
    const bool keeps_c = c->h->pointer_mode == HALFTONE_HOST && scalar_of(c, c->beta) == 1.0;
    return is_empty(c)      ? EFFECT_NONE
           : has_product(c) ? EFFECT_PRODUCT
           : keeps_c        ? EFFECT_ZEROS
                            : EFFECT_SCALE;
}

/* ---- A and B ---- */

static bool is_bad_operand(const struct call *c, const struct call_operand *o) {
    return c->is_packed ? o->packed == NULL || !is_aligned(o->packed, HALFTONE_ALIGNMENT)
                        : o->src == NULL || !is_aligned(o->src, operand_bytes(c));
}

/* Its address, where it is read, and its ld. */
static int check_operand(const struct call *c, int side, bool is_read) {
    const struct call_operand *const o = &c->of[side];
    if (is_read && is_bad_operand(c, o))
        return ht_fail(c->h, -7 - 2 * side, "%c = %p", "AB"[side],
                       c -> is_packed ? (const void *)o -> packed : o -> src);
    return c->is_packed
               ? HALFTONE_OK
               : check_ld(c->h, 8 + 2 * side, side == 0 ? "lda" : "ldb", o->ld, stored_rows(c, side));
}

static int check_operand_extent(const struct call *c, int side) {
    return check_extent(c, side == 0 ? "A" : "B", c->of[side].ld, stored_rows(c, side), stored_cols(c, side),
                        c->of[side].stride, operand_bytes(c));
}

/* ---- whether entries of a batch overlap in C ---- */

__extension__ typedef unsigned __int128 wide;

/* The smallest x > 0 with low <= step x mod period <= high, where low > 0; 0: none. Where no multiple of
 * step lies between, one does y periods later: period y mod step lies between -high and -low. As many
 * rounds as Euclid's algorithm takes. */
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

/* Entries x apart begin x strides apart: some columns and some rows. They meet where both are less than C
 * has, or where fewer rows than that are missing in the next column. */
static bool entries_overlap(const struct call *x) {
    const wide ld = (wide)x->ldc, stride = (wide)x->stride_c, m = (wide)x->m, n = (wide)x->n;
    wide a = stride, b = ld; /* their greatest common divisor becomes a */
    if (x->batch < 2 || m == 0 || n == 0)
        return false;
    while (b != 0) {
        const wide rest = a % b;
        a = b;
        b = rest;
    }
    const wide apart[] = {ld / a, first_within(stride, ld, 1, m - 1),
                          first_within(stride, ld, ld - m + 1, ld - 1)};
    for (int i = 0; i < 3; i++)
        if (apart[i] > 0 && apart[i] < (wide)x->batch && apart[i] * stride / ld + (i == 2) < n)
            return true;
    return false;
}

int ht_check_gemm(struct call *c) {
    halftone *const h = c->h;
    int code = ht_check_sizes(c);
    if (code != HALFTONE_OK)
        return code;
    if (c->alpha == NULL)
        return ht_fail(h, -6, "alpha is NULL");
    for (int side = 0; side < 2; side++)
        if ((code = check_operand(c, side, has_product(c))) != HALFTONE_OK)
            return code;
    if (c->beta == NULL)
        return ht_fail(h, -11, "beta is NULL");
    if (!is_empty(c) && (c->c == NULL || !is_aligned(c->c, element_bytes(c))))
        return ht_fail(h, -12, "C = %p", c->c);
    if ((code = check_ld(h, 13, "ldc", c->ldc, c->m)) != HALFTONE_OK)
        return code;
    for (int side = 0; side < 2; side++)
        if (c->of[side].stride < 0)
            return ht_fail(h, -14 - side, "stride %c = %lld", "AB"[side], (long long)c -> of[side].stride);
    if (c->stride_c < 0 || (c->batch > 1 && c->stride_c < c->m))
        return ht_fail(h, -16, "stride C = %lld for %lld rows", (long long)c->stride_c, (long long)c->m);
    if (entries_overlap(c))
        return ht_fail(h, -16, "stride C = %lld for %lld columns of ldc = %lld", (long long)c->stride_c,
                       (long long)c->n, (long long)c->ldc);
    if (c->batch < 0)
        return ht_fail(h, -17, "batch = %lld", (long long)c->batch);
    if (c->narrow != 0 && c->narrow != HALFTONE_BF16 && c->narrow != HALFTONE_FP16)
        return ht_fail(h, -18, "type is none of HALFTONE_BF16, HALFTONE_FP16, HALFTONE_FP32");
    c->effect = effect_of(c);
    return ht_check_limits(c);
}

int ht_check_extents(const struct call *c) {
    int code = check_extent(c, "C", c->ldc, c->m, c->n, c->stride_c, element_bytes(c));
    for (int side = 0; side < 2 && !c->is_packed && c->effect == EFFECT_PRODUCT; side++)
        AND_THEN(code, check_operand_extent(c, side));
    return code;
}

static int check_array(const struct call *c, const char *name, const void *at, size_t alignment) {
    return at != NULL && is_aligned(at, alignment) ? HALFTONE_OK : ht_fail(c->h, -18, "%s = %p", name, at);
}

int ht_check_ranks(struct call *c) {
    int code = c->ranks == RANKS_FINISH ? ht_check_gemm(c) : ht_check_sizes(c);
    const bool has_sums = c->ranks != RANKS_MAXIMA;
    for (int side = 0; side < 2 && c->ranks != RANKS_FINISH; side++)
        if (code == HALFTONE_OK && c->of[side].packs)
            code = check_operand(c, side, rows_of(c, side) > 0 && c->k > 0);
    AND_THEN(code, ht_check_limits(c));
    if (code == HALFTONE_OK && c->ranks == RANKS_FINISH)
        code = ht_check_extents(c);
    if (code == HALFTONE_OK && has_sums &&
        HALFTONE_PARTIAL_WORDS(c->m, c->n) > PTRDIFF_MAX / (int64_t)sizeof *c->partial)
        code = ht_fail(c->h, HALFTONE_TOO_LARGE, "partial spans more bytes than an address can count");
    for (int side = 0; side < 2 && code == HALFTONE_OK; side++) {
        if (c->of[side].packs)
            code = check_operand_extent(c, side);
        if (rows_of(c, side) > 0 && (has_sums ? !is_empty(c) : c->of[side].packs))
            AND_THEN(code,
                     check_array(c, side == 0 ? "rowmax" : "colmax", c->of[side].absmax, sizeof(float)));
    }
    return code == HALFTONE_OK && has_sums && !is_empty(c)
               ? check_array(c, "partial", c->partial, sizeof *c->partial)
               : code;
}

int ht_check_question(const struct call *c) {
    int code = ht_check_sizes(c);
    if (code == HALFTONE_OK && c->batch < 0)
        code = ht_fail(c->h, -17, "batch = %lld", (long long)c->batch);
    if (code == HALFTONE_OK && c->answer == NULL)
        code = ht_fail(c->h, -18, "the result is NULL");
    return code;
}

int ht_check_pack(const struct call *c, int side, bool empty) {
    const char *const packed = c->of[side].packed;
    int code = check_operand(c, side, !empty);
    if (code != HALFTONE_OK)
        return code;
    if (!empty && (packed == NULL || !is_aligned(packed, HALFTONE_ALIGNMENT)))
        return ht_fail(c->h, -18, "packed = %p", (const void *)packed);
    code = ht_check_limits(c);
    return AND_THEN(code, check_operand_extent(c, side));
}

int ht_check_bytes(halftone *h, int64_t bytes) {
    if (bytes >= INT64_MAX / 2 || (uint64_t)bytes > SIZE_MAX)
        return ht_fail(h, HALFTONE_TOO_LARGE,
                       "the packed operands need more bytes than an address can count");
    return HALFTONE_OK;
}
