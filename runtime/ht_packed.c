/* ht_packed.c: operands that are packed once, of either type: what a handle knows of each that it packed,
 * and the public functions that pack. One of FP32 holds rows' absmax and panels, for `auto` the
 * certificate's sums and the matrix; one of FP64 exponents, panels of residues, measures, counts where its
 * products are certified, and the matrix where products may need more than residues. */
#include <stdlib.h>

#include "ht_call.h"

/* ---- what the handle knows ---- */

/* The first that ends behind this address: they lie in its order, and none overlaps another. */
static int first_behind(const halftone *h, const char *at) {
    int low = 0, high = h->packed_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const struct packed_operand *const p = &h->packed[middle];
        if ((uintptr_t)p->at + (uintptr_t)p->bytes > (uintptr_t)at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const struct packed_operand *find(const halftone *h, bool is_fp64, const char *at) {
    const int i = first_behind(h, at);
    return i < h->packed_count && h->packed[i].at == at && h->packed[i].is_fp64 == is_fp64 ? &h->packed[i]
                                                                                           : NULL;
}

/* Moves what is known from `from` on to `to`. */
static void shift(halftone *h, int from, int to) {
    if (from < h->packed_count)
        memmove(&h->packed[to], &h->packed[from], (size_t)(h->packed_count - from) * sizeof *h->packed);
    h->packed_count += to - from;
}

void ht_forget_packed(halftone *h, const char *at, int64_t bytes) {
    const int first = first_behind(h, at);
    int end = first;
    while (end < h->packed_count && (uintptr_t)h->packed[end].at < (uintptr_t)at + (uintptr_t)bytes)
        end++;
    shift(h, end, first);
}

void ht_forget_packed32(halftone *h) {
    int kept = 0;
    for (int i = 0; i < h->packed_count; i++)
        if (h->packed[i].is_fp64)
            h->packed[kept++] = h->packed[i];
    h->packed_count = kept;
}

/* For two more. */
static bool ensure_capacity(halftone *h) {
    if (h->packed_count + 2 <= h->packed_capacity)
        return true;
    const int capacity = 2 * h->packed_capacity + 16;
    struct packed_operand *const more =
        (struct packed_operand *)realloc(h->packed, (size_t)capacity * sizeof *more);
    if (more == NULL)
        return false;
    h->packed = more;
    h->packed_capacity = capacity;
    return true;
}

/* A graph packs whenever it is launched, unknown to the handle: FP32 products do without what it knows,
 * those of FP64 do not. */
static void remember(halftone *h, const struct packed_operand *p) {
    if (!p->is_fp64 &&
        (!ensure_capacity(h) || ht_ask_capture(h) != HALFTONE_OK || h->capture != CAPTURE_NONE))
        return;
    const int i = first_behind(h, p->at);
    shift(h, i, i + 1);
    h->packed[i] = *p;
}

/* ---- what is packed ---- */

/* So many operands of this size as the call's setting has them packed. */
static int describe_packed(const struct call *c, int side, int64_t rows, int64_t count,
                           struct packed_operand *p) {
    memset(p, 0, sizeof *p);
    p->is_fp64 = c->is_fp64;
    p->side = side;
    p->rows = rows;
    p->k = c->k;
    struct plan plan;
    const int code = ht_packing_scheme(c, &plan);
    if (code != HALFTONE_OK)
        return code;
    p->scheme = plan.scheme;
    p->certificate = plan.certificate;
    p->checked = c->is_fp64 ? p->certificate.needed > 0 : ht_has_check(c, p->scheme);
    p->has_copy = c->is_fp64 && (p->checked || ht_is_exact(c));
    p->layout = c->is_fp64 ? ht_residues_layout(ht_moduli_of(plan.set, p->scheme), &p->certificate,
                                                p->has_copy, rows, c->k)
                           : ht_slices_layout(c, p->scheme, rows, c->k);
    p->bytes = ht_mul(ht_layout_bytes(&p->layout), count);
    return ht_check_bytes(c->h, p->bytes);
}

int64_t ht_packed_operand_bytes(const struct call *c, int64_t rows) {
    struct packed_operand p;
    return describe_packed(c, 0, rows, 1, &p) == HALFTONE_OK ? p.bytes : 0;
}

HT_IN_OWN_FENV static int answer_bytes(void *of) {
    struct call *const c = (struct call *)of;
    const int side = c->of[1].packs;
    struct packed_operand p;
    int code = ht_check_question(c);
    if (AND_THEN(code, ht_check_limits(c)) != HALFTONE_OK)
        return code;
    ht_enter_site(c, true);
    ht_settle_floats(c);
    code = describe_packed(c, side, rows_of(c, side), c->batch, &p);
    if (code == HALFTONE_OK)
        *(size_t *)c->answer = (size_t)p.bytes;
    return ht_leave_site(c, false, code);
}

static int packed_bytes(halftone *h, bool is_fp64, char which, int64_t rows, int64_t k, int64_t batch,
                        size_t *bytes) {
    const bool is_a = which == 'A' || which == 'a', is_b = which == 'B' || which == 'b';
    struct call c = call_of(h, is_fp64, 'N', 'N', is_a ? rows : 0, is_b ? rows : 0, k, batch);
    const int code = ht_begin(h);
    if (code == HALFTONE_OK && !is_a && !is_b)
        return ht_fail(h, -18, "which has the code %d", which);
    c.of[1].packs = is_b;
    c.answer = bytes;
    return code == HALFTONE_OK ? ht_in_own_fenv(answer_bytes, &c) : code;
}

/* ---- packing ---- */

/* Checks one of the two sides; rows 0: nothing is packed there. */
static int open_side(const struct call *c, int side, struct packed_operand *p) {
    const int64_t rows = rows_of(c, side);
    const bool empty = rows == 0 || c->k == 0;
    int code = ht_check_pack(c, side, empty);
    AND_THEN(code, describe_packed(c, side, rows, 1, p));
    p->at = c->of[side].packed;
    p->rows = empty ? 0 : rows;
    return code;
}

/* Both in one launch. */
static int pack_slices(const struct call *c, const struct packed_operand *sides) {
    struct pack_side packed[2];
    int count = 0, code = HALFTONE_OK;
    for (int side = 0; side < 2 && code == HALFTONE_OK; side++) {
        const struct packed_operand *const p = &sides[side];
        if (p->rows == 0)
            continue;
        const struct packed_place to = ht_place_in_block(&p->layout, (char *)p->at);
        const int tiles = p->checked ? ht_kept_tiles(p->scheme, c->half->set->sms, c->k) : 0;
        const struct pack_side one = {side, &p->layout, to, tiles, NULL, NULL};
        packed[count++] = one;
        if (to.flag != NULL)
            code = ht_begin_flags(c->h, to.flag, FLAG_BYTES);
    }
    const struct ht_scheme_desc *const scheme = sides[sides[0].rows == 0].scheme;
    return code != HALFTONE_OK ? code : ht_pack_slices(c, scheme, packed, count, ht_workspace_source(c->h));
}

/* By a plan of nothing else. */
static int pack_residues_of(const struct call *of, const struct packed_operand *sides) {
    struct call packing = *of, *const c = &packing;
    const struct packed_operand *const any = &sides[sides[0].rows == 0];
    struct plan p = HT_ZERO;
    p.set = c->half->set;
    p.scheme = any->scheme;
    p.kernel =
        (int)(ht_residues_of(p.set, p.scheme) - p.set->kernel); /* there is one: the scheme has moduli */
    p.certificate = any->certificate;
    p.checked = any->checked;
    p.k_part = c->k;
    p.k_blocks = (int)ht_ceil_div(c->k, 128);
    for (int side = 0; side < 2; side++) { /* an empty side has no entries, and any place */
        const struct packed_operand *const o = sides[side].rows > 0 ? &sides[side] : any;
        c->of[side].place = ht_place_in_block(&o->layout, (char *)o->at);
        if (o == &sides[side])
            p.layout[side] = o->layout;
    }
    c->plan = &p;
    return ht_pack_residues(c);
}

/* Whether both sides are packed, and one where the other is. */
static bool sides_overlap(const struct packed_operand *sides) {
    const uintptr_t a = (uintptr_t)sides[0].at, b = (uintptr_t)sides[1].at;
    return sides[0].rows > 0 && sides[1].rows > 0 && a < b + (uintptr_t)sides[1].bytes &&
           b < a + (uintptr_t)sides[0].bytes;
}

static int pack_at_site(struct call *c) {
    halftone *const h = c->h;
    struct packed_operand sides[2] = HT_ZERO;
    int64_t bytes[2] = {0, 0};
    int code = ht_check_sizes(c);
    for (int side = 0; side < 2; side++)
        if (code == HALFTONE_OK && c->of[side].packs)
            code = open_side(c, side, &sides[side]);
    if (code == HALFTONE_OK && sides_overlap(sides))
        return ht_fail(h, -18, "packed_a = %p (%lld bytes) and packed_b = %p (%lld bytes) overlap",
                       (const void *)sides[0].at, (long long)sides[0].bytes, (const void *)sides[1].at,
                       (long long)sides[1].bytes);
    if (code != HALFTONE_OK || (sides[0].rows == 0 && sides[1].rows == 0))
        return code;
    if (c->is_fp64 && !ensure_capacity(h))
        return ht_fail(h, HALFTONE_OUT_OF_HOST_MEMORY, "no memory for what is known of %d packed operands",
                       h->packed_count + 2);
    for (int i = 0; i < 2; i++) {
        bytes[i] = sides[i].rows > 0 ? sides[i].bytes : 0;
        if (bytes[i] > 0)
            ht_forget_packed(h, sides[i].at, bytes[i]);
    }
    code = ht_lend_packing(c, bytes, false);
    if (code == HALFTONE_OK) {
        code = c->is_fp64 ? pack_residues_of(c, sides) : pack_slices(c, sides);
        (void)ht_lend_packing(c, bytes, true);
    }
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++)
        if (sides[i].rows > 0)
            remember(h, &sides[i]);
    return code;
}

HT_IN_OWN_FENV static int enter_packing(void *of) {
    struct call *const c = (struct call *)of;
    ht_enter_site(c, true);
    ht_settle_floats(c);
    return ht_leave_site(c, false, pack_at_site(c));
}

int ht_pack(struct call *c) {
    const int code = ht_begin(c->h);
    return code == HALFTONE_OK ? ht_in_own_fenv(enter_packing, c) : code;
}

/* c has sizes and transposes; a place of NULL is no reason to leave a side out. */
static int pack_of(struct call c, bool packs_a, bool packs_b, const void *a, int64_t lda, const void *b,
                   int64_t ldb, void *packed_a, void *packed_b) {
    c = with_operands(c, a, lda, 0, b, ldb, 0);
    c.of[0].packs = packs_a;
    c.of[1].packs = packs_b;
    c.of[0].packed = (const char *)packed_a;
    c.of[1].packed = (const char *)packed_b;
    return ht_pack(&c);
}

#define PACKING(bytes_of, pack_a, pack_b, pack_ab, real, is_fp64)                                            \
    int bytes_of(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {      \
        return packed_bytes(handle, is_fp64, which, rows, k, batch, bytes);                                  \
    }                                                                                                        \
    int pack_a(halftone *handle, char transa, int64_t m, int64_t k, const real *a, int64_t lda,              \
               void *packed) {                                                                               \
        const struct call sizes = call_of(handle, is_fp64, transa, 'N', m, 0, k, 1);                         \
        return pack_of(sizes, true, false, a, lda, NULL, 0, packed, NULL);                                   \
    }                                                                                                        \
    int pack_b(halftone *handle, char transb, int64_t k, int64_t n, const real *b, int64_t ldb,              \
               void *packed) {                                                                               \
        const struct call sizes = call_of(handle, is_fp64, 'N', transb, 0, n, k, 1);                         \
        return pack_of(sizes, false, true, NULL, 0, b, ldb, NULL, packed);                                   \
    }                                                                                                        \
    int pack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const real *a,  \
                int64_t lda, const real *b, int64_t ldb, void *packed_a, void *packed_b) {                   \
        const struct call sizes = call_of(handle, is_fp64, transa, transb, m, n, k, 1);                      \
        return pack_of(sizes, true, true, a, lda, b, ldb, packed_a, packed_b);                               \
    }
PACKING(halftone_packed_bytes, halftone_pack_a, halftone_pack_b, halftone_pack_ab, float, false)
PACKING(halftone_dpacked_bytes, halftone_dpack_a, halftone_dpack_b, halftone_dpack_ab, double, true)

/* ---- products ---- */

/* Whether one serves where the other is asked for: of auto under the scheme that auto starts from, too. */
static bool serves(const struct packed_operand *p, const struct packed_operand *wanted) {
    return p->scheme == wanted->scheme && p->certificate.exponent == wanted->certificate.exponent &&
           p->certificate.needed == wanted->certificate.needed && p->has_copy == wanted->has_copy &&
           (p->checked || !wanted->checked);
}

/* What is packed besides its scheme's. */
static const char *purpose_of(const struct packed_operand *p) {
    if (p->checked)
        return p->is_fp64 ? ", certified" : " of auto";
    return p->has_copy ? ", exact" : "";
}

/* Whether what the handle knows of a packed operand is what the product asks for. Of FP32 it need not know
 * any, and one of another size has come there since, by a copy or by another handle. */
static int check_side(const struct call *c, int side, const struct packed_operand *wanted) {
    halftone *const h = c->h;
    const char *const at = c->of[side].packed;
    const struct packed_operand *const p = find(h, c->is_fp64, at);
    const int argument = 7 + 2 * side;
    const char name = "AB"[side];
    if (c->is_fp64 && p == NULL)
        return ht_fail(h, -argument, "%c = %p: this handle has packed nothing there", name, (const void *)at);
    const bool fits = p != NULL && p->rows == wanted->rows && p->k == wanted->k;
    if (c->is_fp64 && !fits)
        return ht_fail(h, -argument,
                       "%c was packed as %lld rows of k = %lld, and the product has %lld of k = %lld", name,
                       (long long)p->rows, (long long)p->k, (long long)wanted->rows, (long long)wanted->k);
    if (fits && !serves(p, wanted))
        return ht_fail(h, -argument, "%c was packed for scheme %s%s, and the product asks for %s%s", name,
                       p->scheme->name, purpose_of(p), wanted->scheme->name, purpose_of(wanted));
    if (fits && p->side != side && p->scheme->scales == HT_SCALES_TILES)
        return ht_fail(h, -argument, "%c was packed as %c, whose tiles scheme %s scales otherwise", name,
                       "AB"[p->side], p -> scheme -> name);
    return HALFTONE_OK;
}

int ht_check_packed(struct call *c) {
    for (int side = 0; side < 2; side++) {
        struct call_operand *const o = &c->of[side];
        struct packed_operand wanted;
        int code = describe_packed(c, side, rows_of(c, side), 1, &wanted);
        if (AND_THEN(code, check_side(c, side, &wanted)) != HALFTONE_OK)
            return code;
        o->packed_bytes = wanted.bytes;
        o->place = ht_place_in_block(&wanted.layout, (char *)o->packed);
        o->src = o->place.copy;
        o->trans = side == 0 ? 'T' : 'N'; /* k contiguous */
        o->ld = wanted.layout.copy_ld;
    }
    return HALFTONE_OK;
}
