/* ht_packed.c: operands that are packed once, of either type: what a handle knows of each that it packed, and the public functions that
 * pack. One of FP32 holds rows' absmax and panels, for `auto` the certificate's sums and the matrix; one of FP64 exponents, panels of
 * residues, measures, counts where its products are certified, and the matrix where products may need more than residues. */
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
    return i < h->packed_count && h->packed[i].at == at && h->packed[i].is_fp64 == is_fp64 ? &h->packed[i] : NULL;
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
    struct packed_operand *const more = (struct packed_operand *)realloc(h->packed, (size_t)capacity * sizeof *more);
    if (more == NULL)
        return false;
    h->packed = more;
    h->packed_capacity = capacity;
    return true;
}

/* A graph packs whenever it is launched, unknown to the handle: FP32 products do without what it knows, those of FP64 do not. */
static void remember(halftone *h, const struct packed_operand *p) {
    if (!p->is_fp64 && (!ensure_capacity(h) || ht_ask_capture(h) != HALFTONE_OK || h->capture != CAPTURE_NONE))
        return;
    const int i = first_behind(h, p->at);
    shift(h, i, i + 1);
    h->packed[i] = *p;
}

/* ---- what is packed ---- */

static struct packed_layout layout_of_packed(const halftone *h, const struct packed_operand *p) {
    return p->is_fp64 ? ht_residues_layout(ht_moduli_of(h->set64, p->scheme), &p->certificate, p->has_copy, p->rows, p->k)
                      : ht_operand_layout(h, p->scheme, p->rows, p->k);
}

/* So many operands of this size as the handle's setting has them packed. */
static int describe(halftone *h, bool is_fp64, int64_t rows, int64_t k, int64_t batch, struct packed_operand *p) {
    memset(p, 0, sizeof *p);
    p->is_fp64 = is_fp64;
    p->rows = rows;
    p->k = k;
    const int code = is_fp64 ? ht_packing_scheme64(h, k, &p->scheme, &p->certificate) : ht_packing_scheme(h, &p->scheme);
    if (code != HALFTONE_OK)
        return code;
    p->checked = is_fp64 ? p->certificate.needed > 0 : ht_has_check(h, p->scheme);
    p->has_copy = is_fp64 && (p->checked || ht_is_exact64(h));
    const struct packed_layout o = layout_of_packed(h, p);
    p->bytes = ht_mul(ht_layout_bytes(&o), batch);
    return ht_check_bytes(h, p->bytes);
}

HT_IN_OWN_FENV static int packed_bytes(halftone *h, bool is_fp64, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    const bool is_a = which == 'A' || which == 'a', is_b = which == 'B' || which == 'b';
    struct packed_operand p;
    int code = ht_begin(h);
    if (code != HALFTONE_OK)
        return code;
    if (!is_a && !is_b)
        return ht_fail(h, -18, "which has the code %d", which);
    struct gemm_call x = gemm_call_of('N', 'N', is_a ? rows : 0, is_b ? rows : 0, k, batch);
    x.is_fp64 = is_fp64;
    code = ht_check_question(h, &x, bytes);
    if (code == HALFTONE_OK)
        code = ht_check_limits(h, &x);
    if (code != HALFTONE_OK)
        return code;
    ht_enter_site(h, &x, true);
    code = describe(h, is_fp64, rows, k, batch, &p);
    if (code == HALFTONE_OK)
        *bytes = (size_t)p.bytes;
    return ht_leave_site(h, false, code);
}

static int packed_bytes_in_own_fenv(halftone *h, bool is_fp64, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    const struct ht_fenv callers = ht_fenv_enter();
    const int code = packed_bytes(h, is_fp64, which, rows, k, batch, bytes);
    ht_fenv_leave(callers);
    return code;
}

int halftone_packed_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    return packed_bytes_in_own_fenv(handle, false, which, rows, k, batch, bytes);
}

int halftone_dpacked_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    return packed_bytes_in_own_fenv(handle, true, which, rows, k, batch, bytes);
}

/* ---- packing ---- */

enum { PACK_A = 1, PACK_B = 2 }; /* what a call packs */

/* Checks one of the two sides, A and B; rows 0: nothing is packed there. */
static int open_side(halftone *h, const struct gemm_call *x, bool is_b, struct packed_operand *p) {
    const int64_t rows = is_b ? x->n : x->m;
    const bool empty = rows == 0 || x->k == 0;
    const char *const at = is_b ? x->packed_b : x->packed_a;
    int code = ht_check_pack(h, x, !is_b, empty, at);
    if (code == HALFTONE_OK)
        code = describe(h, x->is_fp64, rows, x->k, 1, p);
    p->at = at;
    p->is_b = is_b;
    p->rows = empty ? 0 : rows;
    return code;
}

static const struct packed_operand *any_side(const struct packed_operand *sides) {
    return sides[0].rows > 0 ? &sides[0] : &sides[1];
}

static struct pack_source source_of(const halftone *h, const struct gemm_call *x, const struct packed_operand *p,
                                    const struct packed_layout *layout) {
    struct pack_source s;
    memset(&s, 0, sizeof s);
    s.layout = layout;
    s.src = p->is_b ? x->b : x->a;
    s.ld = p->is_b ? x->ldb : x->lda;
    s.k_contiguous = p->is_b != is_trans(p->is_b ? x->transb : x->transa);
    s.to = ht_place_in_block(layout, (char *)p->at);
    s.is_b = p->is_b;
    s.tiles = p->checked ? ht_kept_tiles(p->scheme, h->set->sms, x->k) : 0;
    return s;
}

/* Both in one launch. */
static int pack32(halftone *h, const struct gemm_call *x, const struct packed_operand *sides) {
    struct packed_layout layouts[2];
    struct pack_source sources[2];
    int count = 0, code = HALFTONE_OK;
    for (int i = 0; i < 2; i++) {
        if (sides[i].rows == 0)
            continue;
        layouts[count] = layout_of_packed(h, &sides[i]);
        sources[count] = source_of(h, x, &sides[i], &layouts[count]);
        if (code == HALFTONE_OK && sources[count].to.flag != NULL)
            code = ht_begin_flags(h, sources[count].to.flag, FLAG_BYTES);
        count++;
    }
    return code != HALFTONE_OK ? code : ht_pack_operands(h, any_side(sides)->scheme, sources, count, ht_workspace_source(h));
}

static int pack64(halftone *h, const struct gemm_call *x, const struct packed_operand *sides) {
    const struct packed_operand *const any = any_side(sides);
    struct gemm_call packed = *x;
    struct plan p;
    memset(&p, 0, sizeof p);
    p.set = h->set64;
    p.scheme = any->scheme;
    p.kernel = ht_residues_kernel(p.set, p.scheme); /* there is one: the scheme has moduli */
    p.certificate = any->certificate;
    p.checked = any->checked;
    p.k_part = p.a.k = p.b.k = x->k;
    p.k_blocks = (int)ht_ceil_div(x->k, 128);
    if (sides[0].rows > 0)
        p.a = layout_of_packed(h, &sides[0]);
    else
        packed.packed_a = NULL;
    if (sides[1].rows > 0)
        p.b = layout_of_packed(h, &sides[1]);
    else
        packed.packed_b = NULL;
    return ht_pack_residues(h, &p, &packed);
}

/* Whether both sides are packed, and one where the other is. */
static bool sides_overlap(const struct packed_operand *sides) {
    const uintptr_t a = (uintptr_t)sides[0].at, b = (uintptr_t)sides[1].at;
    return sides[0].rows > 0 && sides[1].rows > 0 && a < b + (uintptr_t)sides[1].bytes && b < a + (uintptr_t)sides[0].bytes;
}

HT_IN_OWN_FENV static int pack_at_site(halftone *h, const struct gemm_call *x, int which) {
    struct packed_operand sides[2];
    memset(sides, 0, sizeof sides);
    int code = ht_check_sizes(h, x);
    if (code == HALFTONE_OK && (which & PACK_A) != 0)
        code = open_side(h, x, false, &sides[0]);
    if (code == HALFTONE_OK && (which & PACK_B) != 0)
        code = open_side(h, x, true, &sides[1]);
    if (code == HALFTONE_OK && sides_overlap(sides))
        return ht_fail(h, -18, "packed_a = %p (%lld bytes) and packed_b = %p (%lld bytes) overlap", (const void *)sides[0].at,
                       (long long)sides[0].bytes, (const void *)sides[1].at, (long long)sides[1].bytes);
    if (code != HALFTONE_OK || (sides[0].rows == 0 && sides[1].rows == 0))
        return code;
    if (x->is_fp64 && !ensure_capacity(h))
        return ht_fail(h, HALFTONE_OUT_OF_HOST_MEMORY, "no memory for what is known of %d packed operands", h->packed_count + 2);
    for (int i = 0; i < 2; i++)
        if (sides[i].rows > 0)
            ht_forget_packed(h, sides[i].at, sides[i].bytes);
    const int64_t a_bytes = sides[0].rows > 0 ? sides[0].bytes : 0, b_bytes = sides[1].rows > 0 ? sides[1].bytes : 0;
    code = ht_lend_packing(h, x, a_bytes, b_bytes, false);
    if (code == HALFTONE_OK)
        code = x->is_fp64 ? pack64(h, x, sides) : pack32(h, x, sides);
    (void)ht_lend_packing(h, x, a_bytes, b_bytes, true);
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++)
        if (sides[i].rows > 0)
            remember(h, &sides[i]);
    return code;
}

/* x has sizes and transposes. */
static int pack(halftone *h, bool is_fp64, int which, struct gemm_call x, const void *a, int64_t lda, const void *b, int64_t ldb,
                void *packed_a, void *packed_b) {
    int code = ht_begin(h);
    if (code != HALFTONE_OK)
        return code;
    x.is_fp64 = is_fp64;
    x.a = a;
    x.lda = lda;
    x.b = b;
    x.ldb = ldb;
    x.packed_a = (const char *)packed_a;
    x.packed_b = (const char *)packed_b;
    const struct ht_fenv callers = ht_fenv_enter();
    ht_enter_site(h, &x, true);
    const int packed = ht_leave_site(h, false, pack_at_site(h, &x, which));
    ht_fenv_leave(callers);
    return packed;
}

int halftone_pack_a(halftone *handle, char transa, int64_t m, int64_t k, const float *a, int64_t lda, void *packed) {
    return pack(handle, false, PACK_A, gemm_call_of(transa, 'N', m, 0, k, 1), a, lda, NULL, 0, packed, NULL);
}

int halftone_dpack_a(halftone *handle, char transa, int64_t m, int64_t k, const double *a, int64_t lda, void *packed) {
    return pack(handle, true, PACK_A, gemm_call_of(transa, 'N', m, 0, k, 1), a, lda, NULL, 0, packed, NULL);
}

int halftone_pack_b(halftone *handle, char transb, int64_t k, int64_t n, const float *b, int64_t ldb, void *packed) {
    return pack(handle, false, PACK_B, gemm_call_of('N', transb, 0, n, k, 1), NULL, 0, b, ldb, NULL, packed);
}

int halftone_dpack_b(halftone *handle, char transb, int64_t k, int64_t n, const double *b, int64_t ldb, void *packed) {
    return pack(handle, true, PACK_B, gemm_call_of('N', transb, 0, n, k, 1), NULL, 0, b, ldb, NULL, packed);
}

int halftone_pack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb, void *packed_a, void *packed_b) {
    return pack(handle, false, PACK_A | PACK_B, gemm_call_of(transa, transb, m, n, k, 1), a, lda, b, ldb, packed_a, packed_b);
}

int halftone_dpack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                      const double *b, int64_t ldb, void *packed_a, void *packed_b) {
    return pack(handle, true, PACK_A | PACK_B, gemm_call_of(transa, transb, m, n, k, 1), a, lda, b, ldb, packed_a, packed_b);
}

/* ---- products ---- */

/* Whether one serves where the other is asked for: of auto under the scheme that auto starts from, too. */
static bool serves(const struct packed_operand *p, const struct packed_operand *wanted) {
    return p->scheme == wanted->scheme && p->certificate.exponent == wanted->certificate.exponent &&
           p->certificate.needed == wanted->certificate.needed && p->has_copy == wanted->has_copy && (p->checked || !wanted->checked);
}

/* What is packed besides its scheme's. */
static const char *purpose_of(const struct packed_operand *p) {
    if (p->checked)
        return p->is_fp64 ? ", certified" : " of auto";
    return p->has_copy ? ", exact" : "";
}

/* Whether what the handle knows of a packed operand is what the product asks for. Of FP32 it need not know any, and one of another size has
 * come there since, by a copy or by another handle. */
static int check_side(halftone *h, struct gemm_call *x, bool is_b, const struct ht_scheme_desc **scheme) {
    const char *const at = is_b ? x->packed_b : x->packed_a;
    const int argument = is_b ? 9 : 7;
    const char name = is_b ? 'B' : 'A';
    struct packed_operand wanted;
    const int code = describe(h, x->is_fp64, is_b ? x->n : x->m, x->k, 1, &wanted);
    const struct packed_operand *const p = find(h, x->is_fp64, at);
    *scheme = wanted.scheme;
    x->packed_bytes[is_b] = wanted.bytes;
    if (code != HALFTONE_OK)
        return code;
    if (x->is_fp64 && p == NULL)
        return ht_fail(h, -argument, "%c = %p: this handle has packed nothing there", name, (const void *)at);
    const bool fits = p != NULL && p->rows == wanted.rows && p->k == wanted.k;
    if (x->is_fp64 && !fits)
        return ht_fail(h, -argument, "%c was packed as %lld rows of k = %lld, and the product has %lld of k = %lld", name,
                       (long long)p->rows, (long long)p->k, (long long)wanted.rows, (long long)wanted.k);
    if (fits && !serves(p, &wanted))
        return ht_fail(h, -argument, "%c was packed for scheme %s%s, and the product asks for %s%s", name, p->scheme->name, purpose_of(p),
                       wanted.scheme->name, purpose_of(&wanted));
    if (fits && p->is_b != is_b && p->scheme->scales == HT_SCALES_TILES)
        return ht_fail(h, -argument, "%c was packed as %c, whose tiles scheme %s scales otherwise", name, is_b ? 'A' : 'B', p->scheme->name);
    return HALFTONE_OK;
}

int ht_check_packed(halftone *h, struct gemm_call *x, const struct ht_scheme_desc **scheme) {
    const int code = check_side(h, x, false, scheme);
    return code != HALFTONE_OK ? code : check_side(h, x, true, scheme);
}

struct gemm_call ht_place_packed64(const halftone *h, struct gemm_run *r) {
    struct gemm_call read = *r->call;
    const struct packed_layout a = layout_of_packed(h, find(h, true, read.packed_a)), b = layout_of_packed(h, find(h, true, read.packed_b));
    r->a = ht_place_in_block(&a, (char *)read.packed_a);
    r->b = ht_place_in_block(&b, (char *)read.packed_b);
    read.a = r->a.copy;
    read.b = r->b.copy;
    read.transa = 'T'; /* k contiguous */
    read.transb = 'N';
    read.lda = read.ldb = round_up(read.k, 2);
    return read;
}
