/* ht_api.c: the products and packed operands of halftone.h. */
#include "ht_call.h"

/* Where an operand at this address is known, or another one is. */
static struct packed32 *place_of(halftone *h, const char *at) {
    const uintptr_t unit = (uintptr_t)at / HALFTONE_ALIGNMENT;
    return &h->packed32[(unit ^ unit >> 8 ^ unit >> 16) % PACKED_KNOWN];
}

/* A graph packs whenever it is launched, unknown to the handle. */
static void remember(halftone *h, const struct packed32 *known) {
    if (ht_ask_capture(h) == HALFTONE_OK && h->capture == CAPTURE_NONE)
        *place_of(h, known->at) = *known;
}

/* Whether what the handle knows of a packed operand, if anything, is what the product asks for. One of another size has come there since, by a
 * copy or by another handle. */
static int check_side(halftone *h, const struct gemm_call *x, bool is_b, const struct ht_scheme_desc *scheme) {
    const char *const at = is_b ? x->packed_b : x->packed_a;
    const struct packed32 *const p = place_of(h, at);
    const int argument = is_b ? 9 : 7;
    const bool checks = ht_has_check(h, scheme);
    if (p->at != at || p->bytes == 0 || p->rows != (is_b ? x->n : x->m) || p->k != x->k)
        return HALFTONE_OK;
    if (p->scheme != scheme || (checks && !p->checked))
        return ht_fail(h, -argument, "%c was packed for scheme %s%s, and the product asks for %s%s", is_b ? 'B' : 'A', p->scheme->name,
                       p->checked ? " of auto" : "", scheme->name, checks ? " of auto" : "");
    if (p->is_b != is_b && scheme->scales == HT_SCALES_TILES)
        return ht_fail(h, -argument, "%c was packed as %c, whose tiles scheme %s scales otherwise", is_b ? 'B' : 'A', is_b ? 'A' : 'B',
                       scheme->name);
    return HALFTONE_OK;
}

/* The scheme of packed operands, of which there are none as large as no address could span. */
static int check_packed(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc **scheme) {
    int code = ht_packing_scheme(h, scheme);
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++) {
        const struct packed_layout o = ht_operand_layout(h, *scheme, i == 0 ? x->m : x->n, x->k);
        code = ht_check_bytes(h, ht_layout_bytes(&o));
        if (code == HALFTONE_OK)
            code = check_side(h, x, i == 1, *scheme);
    }
    return code;
}

static int run_gemm(halftone *h, const struct gemm_call *x, bool is_packed) {
    enum call_effect effect = EFFECT_NONE;
    const struct ht_scheme_desc *packed_for = NULL;
    int code = ht_check_gemm(h, x, is_packed, &effect);
    if (code == HALFTONE_OK)
        code = ht_check_extents(h, x, is_packed, effect);
    if (code != HALFTONE_OK || effect == EFFECT_NONE)
        return code;
    code = ht_enter_site(h, x, is_packed);
    if (code == HALFTONE_OK && is_packed && effect == EFFECT_PRODUCT)
        code = check_packed(h, x, &packed_for);
    if (code == HALFTONE_OK)
        code = effect == EFFECT_SCALE ? ht_scale(h, x) : ht_multiply(h, x, packed_for);
    return ht_leave_site(h, true, code);
}

int halftone_sgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const float *alpha, const float *a, int64_t lda,
                                   int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b,
                                   const float *beta, float *c, int64_t ldc, int64_t stride_c,
                                   int64_t batch) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of(transa, transb, m, n, k, batch);
    x.alpha = alpha;
    x.a = a;
    x.lda = lda;
    x.stride_a = stride_a;
    x.b = b;
    x.ldb = ldb;
    x.stride_b = stride_b;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.stride_c = stride_c;
    return run_gemm(handle, &x, false);
}

int halftone_sgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *beta, float *c, int64_t ldc) {
    return halftone_sgemm_strided_batched(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta,
                                          c, ldc, 0, 1);
}

int halftone_sgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const float *alpha,
                          const void *packed_a, const void *packed_b, const float *beta, float *c,
                          int64_t ldc) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of('N', 'N', m, n, k, 1);
    x.alpha = alpha;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.packed_a = (const char *)packed_a;
    x.packed_b = (const char *)packed_b;
    return run_gemm(handle, &x, true);
}

/* ---- packed operands ---- */

static int packed_bytes(halftone *h, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    const struct ht_scheme_desc *scheme = NULL;
    int code = ht_packing_scheme(h, &scheme);
    if (code != HALFTONE_OK)
        return code;
    const struct packed_layout o = ht_operand_layout(h, scheme, rows, k);
    const int64_t total = ht_mul(ht_layout_bytes(&o), batch);
    code = ht_check_bytes(h, total);
    if (code == HALFTONE_OK)
        *bytes = (size_t)total;
    return code;
}

int halftone_packed_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch,
                          size_t *bytes) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    bool is_a = which == 'A' || which == 'a', is_b = which == 'B' || which == 'b';
    if (!is_a && !is_b)
        return ht_fail(handle, -18, "which has the code %d", which);
    struct gemm_call x = gemm_call_of('N', 'N', is_a ? rows : 0, is_b ? rows : 0, k, batch);
    code = ht_check_question(handle, &x, bytes);
    if (code == HALFTONE_OK)
        code = ht_check_limits(handle, &x);
    if (code != HALFTONE_OK)
        return code;
    code = ht_enter_site(handle, &x, true);
    return ht_leave_site(handle, false, code != HALFTONE_OK ? code : packed_bytes(handle, rows, k, batch, bytes));
}

/* One side of a pack call: what is packed, and whether there is anything. */
struct packed_operand {
    struct packed_layout layout;
    struct pack_source source;
    struct packed32 known; /* from then on */
    bool empty;
};

/* Checks one side of a pack call; x holds the operand in the place of A or of B. */
static int open_operand(halftone *h, const struct gemm_call *x, bool is_a, void *packed,
                        struct packed_operand *out) {
    const int64_t rows = is_a ? x->m : x->n;
    const struct ht_scheme_desc *scheme = NULL;
    out->empty = rows == 0 || x->k == 0;
    int code = ht_check_pack(h, x, is_a, out->empty, packed);
    if (code == HALFTONE_OK)
        code = ht_packing_scheme(h, &scheme);
    if (code != HALFTONE_OK || out->empty)
        return code;
    out->layout = ht_operand_layout(h, scheme, rows, x->k);
    code = ht_check_bytes(h, ht_layout_bytes(&out->layout));
    if (code != HALFTONE_OK)
        return code;
    struct pack_source *const s = &out->source;
    memset(s, 0, sizeof *s);
    s->layout = &out->layout;
    s->src = is_a ? x->a : x->b;
    s->ld = is_a ? x->lda : x->ldb;
    s->k_contiguous = is_a == is_trans(is_a ? x->transa : x->transb);
    s->to = ht_place_in_block(&out->layout, (char *)packed);
    s->is_b = !is_a;
    s->tiles = ht_has_check(h, scheme) ? ht_kept_tiles(scheme, h->set->sms, x->k) : 0;
    const struct packed32 known = {(const char *)packed, scheme, rows, x->k, ht_layout_bytes(&out->layout), !is_a, ht_has_check(h, scheme)};
    out->known = known;
    return HALFTONE_OK;
}

/* Packs the sides that are asked for, both in one launch. */
static int pack_at_site(halftone *h, const struct gemm_call *x, bool with_a, void *packed_a, bool with_b,
                        void *packed_b) {
    struct packed_operand a, b;
    a.empty = b.empty = true;
    const struct ht_scheme_desc *scheme = NULL;
    struct pack_source sources[2];
    int count = 0, code = ht_check_sizes(h, x);
    if (code == HALFTONE_OK && with_a)
        code = open_operand(h, x, true, packed_a, &a);
    if (code == HALFTONE_OK && with_b)
        code = open_operand(h, x, false, packed_b, &b);
    if (code == HALFTONE_OK)
        code = ht_packing_scheme(h, &scheme);
    if (code != HALFTONE_OK || (a.empty && b.empty))
        return code;
    for (int i = 0; i < 2; i++) {
        const struct packed_operand *const side = i == 0 ? &a : &b;
        if (side->empty)
            continue;
        ht_forget_packed(h, side->known.at, side->known.bytes);
        sources[count++] = side->source;
    }
    code = ht_pack_operands(h, scheme, sources, count, ht_workspace_source(h));
    if (code == HALFTONE_OK && !a.empty)
        remember(h, &a.known);
    if (code == HALFTONE_OK && !b.empty)
        remember(h, &b.known);
    return code;
}

static int pack_sides(halftone *h, const struct gemm_call *x, bool with_a, void *packed_a, bool with_b, void *packed_b) {
    const int code = ht_enter_site(h, x, true);
    return ht_leave_site(h, false, code != HALFTONE_OK ? code : pack_at_site(h, x, with_a, packed_a, with_b, packed_b));
}

int halftone_pack_a(halftone *handle, char transa, int64_t m, int64_t k, const float *a, int64_t lda,
                    void *packed) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of(transa, 'N', m, 0, k, 1);
    x.a = a;
    x.lda = lda;
    return pack_sides(handle, &x, true, packed, false, NULL);
}

int halftone_pack_b(halftone *handle, char transb, int64_t k, int64_t n, const float *b, int64_t ldb,
                    void *packed) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of('N', transb, 0, n, k, 1);
    x.b = b;
    x.ldb = ldb;
    return pack_sides(handle, &x, false, NULL, true, packed);
}

int halftone_pack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, void *packed_a,
                     void *packed_b) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of(transa, transb, m, n, k, 1);
    x.a = a;
    x.lda = lda;
    x.b = b;
    x.ldb = ldb;
    return pack_sides(handle, &x, true, packed_a, true, packed_b);
}
