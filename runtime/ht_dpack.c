/* ht_dpack.c: FP64 operands that are packed once: the public functions, and what a handle knows of each operand that it
 * packed. A packed operand holds exponents, panels of residues, measures, counts where its products are certified,
 * and the matrix where products may need more than residues. */
#include <stdlib.h>

#include "ht_call.h"

static bool needs_copy(const halftone *h, const struct ht_certificate *c) {
    return c->needed > 0 || ht_is_exact64(h);
}

int ht_packing_scheme64(halftone *h, int64_t k, const struct ht_scheme_desc **scheme,
                        struct ht_certificate *certificate) {
    const char *const fixed = ht_fixed_scheme64(h, true);
    int code = ht_check_bits64(h, k);
    memset(certificate, 0, sizeof *certificate);
    if (k > HT_CRT_K_MOST)
        return ht_fail(h, HALFTONE_TOO_LARGE, "k = %lld: moduli hold k up to %d", (long long)k, (int)HT_CRT_K_MOST);
    if (fixed != NULL) {
        code = ht_scheme64_named(h, fixed, h->asked->scheme64 != NULL ? HALFTONE_NOT_SUPPORTED : HALFTONE_ACCURACY, scheme);
        if (code == HALFTONE_OK && ht_moduli_of(h->set64, *scheme) == 1)
            return ht_fail(h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no packed operands: crt14 to crt20 have", fixed);
    } else if (code == HALFTONE_OK) { /* by data, the rest by native64 */
        code = ht_scheme64_named(h, "native64", HALFTONE_ACCURACY, scheme);
        *scheme = code == HALFTONE_OK ? ht_least_certified(h, at_least_one(k), certificate) : NULL;
        if (code == HALFTONE_OK && *scheme == NULL)
            return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                           "no scheme of this library can be certified at k = %lld, so nothing is packed: use halftone_dgemm",
                           (long long)k);
    }
    return code;
}

/* ---- what the handle knows ---- */

void ht_forget_packed(halftone *h, const char *at, int64_t bytes) {
    for (int i = 0; i < PACKED_KNOWN; i++)
        if (ht_do_overlap(h->packed32[i].at, h->packed32[i].bytes, at, bytes))
            h->packed32[i].bytes = 0;
    for (int i = 0; i < h->packed64_count;) {
        const struct packed64 *const p = &h->packed64[i];
        if (ht_do_overlap(p->at, p->bytes, at, bytes))
            h->packed64[i] = h->packed64[--h->packed64_count];
        else
            i++;
    }
}

/* For two more. */
static int reserve(halftone *h) {
    if (h->packed64_count + 2 <= h->packed64_capacity)
        return HALFTONE_OK;
    const int capacity = 2 * h->packed64_capacity + 16;
    struct packed64 *const more = (struct packed64 *)realloc(h->packed64, (size_t)capacity * sizeof *more);
    if (more == NULL)
        return ht_fail(h, HALFTONE_OUT_OF_HOST_MEMORY, "no memory for what is known of %d packed operands", capacity);
    h->packed64 = more;
    h->packed64_capacity = capacity;
    return HALFTONE_OK;
}

static const struct packed64 *find(const halftone *h, const char *at) {
    for (int i = 0; i < h->packed64_count; i++)
        if (h->packed64[i].at == at)
            return &h->packed64[i];
    return NULL;
}

static struct packed_layout layout_of_packed(const halftone *h, const struct packed64 *p) {
    return ht_residues_layout(ht_moduli_of(h->set64, p->scheme), &p->certificate, p->has_copy, p->rows, p->k);
}

/* ---- packing ---- */

/* The operand of this size as the handle's setting has it packed. */
static int describe(halftone *h, int64_t rows, int64_t k, struct packed64 *p) {
    memset(p, 0, sizeof *p);
    p->rows = rows;
    p->k = k;
    int code = ht_packing_scheme64(h, k, &p->scheme, &p->certificate);
    p->has_copy = needs_copy(h, &p->certificate);
    if (code != HALFTONE_OK)
        return code;
    const struct packed_layout o = layout_of_packed(h, p);
    p->bytes = ht_layout_bytes(&o);
    return ht_check_bytes(h, p->bytes);
}

/* Checks one side; rows 0: nothing is packed there. */
static int open_side(halftone *h, const struct gemm_call *x, bool is_a, void *packed, struct packed64 *p) {
    const int64_t rows = is_a ? x->m : x->n;
    const bool empty = rows == 0 || x->k == 0;
    int code = ht_check_pack(h, x, is_a, empty, packed);
    if (code == HALFTONE_OK)
        code = describe(h, rows, x->k, p);
    p->at = (const char *)packed;
    p->rows = empty ? 0 : rows;
    return code;
}

static int kernel_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    int i = 0;
    while (i < set->kernels && (strcmp(set->kernel[i].scheme, s->name) != 0 || set->kernel[i].residues == NULL))
        i++;
    return i; /* there is one: the scheme has moduli */
}

static int pack(halftone *h, struct gemm_call *x, const struct packed64 *a, const struct packed64 *b) {
    const struct packed64 *const sides[2] = {a, b}, *const any = a->rows > 0 ? a : b;
    struct plan p;
    if (a->rows == 0 && b->rows == 0)
        return HALFTONE_OK;
    memset(&p, 0, sizeof p);
    p.set = h->set64;
    p.scheme = any->scheme;
    p.kernel = kernel_of(p.set, p.scheme);
    p.certificate = any->certificate;
    p.checked = p.certificate.needed > 0;
    p.k_part = p.a.k = p.b.k = x->k;
    p.k_blocks = (int)ht_ceil_div(x->k, 128);
    int code = reserve(h);
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++) {
        struct packed_layout *const o = i == 0 ? &p.a : &p.b;
        if (sides[i]->rows == 0)
            continue;
        *o = layout_of_packed(h, sides[i]);
        *(i == 0 ? &x->packed_a : &x->packed_b) = sides[i]->at;
        ht_forget_packed(h, sides[i]->at, sides[i]->bytes);
    }
    if (code == HALFTONE_OK)
        code = ht_pack_residues(h, &p, x);
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++)
        if (sides[i]->rows > 0)
            h->packed64[h->packed64_count++] = *sides[i];
    return code;
}

static int pack_at_site(halftone *h, struct gemm_call *x, bool with_a, void *packed_a, bool with_b, void *packed_b) {
    struct packed64 a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    int code = ht_check_sizes(h, x);
    if (code == HALFTONE_OK && with_a)
        code = open_side(h, x, true, packed_a, &a);
    if (code == HALFTONE_OK && with_b)
        code = open_side(h, x, false, packed_b, &b);
    return code == HALFTONE_OK ? pack(h, x, &a, &b) : code;
}

static int pack_sides(halftone *h, struct gemm_call *x, bool with_a, void *packed_a, bool with_b, void *packed_b) {
    x->is_fp64 = true;
    const int code = ht_enter_site(h, x, true);
    return ht_leave_site(h, false, code != HALFTONE_OK ? code : pack_at_site(h, x, with_a, packed_a, with_b, packed_b));
}

int halftone_dpack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *a,
                      int64_t lda, const double *b, int64_t ldb, void *packed_a, void *packed_b) {
    const int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of(transa, transb, m, n, k, 1);
    x.a = a;
    x.lda = lda;
    x.b = b;
    x.ldb = ldb;
    return pack_sides(handle, &x, true, packed_a, true, packed_b);
}

int halftone_dpack_a(halftone *handle, char transa, int64_t m, int64_t k, const double *a, int64_t lda, void *packed) {
    const int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of(transa, 'N', m, 0, k, 1);
    x.a = a;
    x.lda = lda;
    return pack_sides(handle, &x, true, packed, false, NULL);
}

int halftone_dpack_b(halftone *handle, char transb, int64_t k, int64_t n, const double *b, int64_t ldb, void *packed) {
    const int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of('N', transb, 0, n, k, 1);
    x.b = b;
    x.ldb = ldb;
    return pack_sides(handle, &x, false, NULL, true, packed);
}

static int packed_bytes64(halftone *h, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    struct packed64 p;
    int code = describe(h, rows, k, &p);
    if (code == HALFTONE_OK)
        code = ht_check_bytes(h, ht_mul(p.bytes, batch));
    if (code == HALFTONE_OK)
        *bytes = (size_t)(p.bytes * batch);
    return code;
}

int halftone_dpacked_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    const bool is_a = which == 'A' || which == 'a', is_b = which == 'B' || which == 'b';
    if (!is_a && !is_b)
        return ht_fail(handle, -18, "which has the code %d", which);
    struct gemm_call x = gemm_call_of('N', 'N', is_a ? rows : 0, is_b ? rows : 0, k, batch);
    x.is_fp64 = true;
    code = ht_check_question(handle, &x, bytes);
    if (code == HALFTONE_OK)
        code = ht_check_limits(handle, &x);
    if (code != HALFTONE_OK)
        return code;
    code = ht_enter_site(handle, &x, true);
    return ht_leave_site(handle, false, code != HALFTONE_OK ? code : packed_bytes64(handle, rows, k, batch, bytes));
}

/* ---- products ---- */

/* Whether a packed operand is one of this product's. argument: its number, 7 or 9. */
static int check_side(halftone *h, int argument, const char *at, int64_t rows, int64_t k) {
    const char name = argument == 7 ? 'A' : 'B';
    const struct packed64 *const p = find(h, at);
    struct packed64 wanted;
    const int code = describe(h, rows, k, &wanted);
    if (code != HALFTONE_OK)
        return code;
    if (p == NULL)
        return ht_fail(h, -argument, "%c = %p: this handle has packed nothing there", name, (const void *)at);
    if (p->rows != rows || p->k != k)
        return ht_fail(h, -argument, "%c was packed as %lld rows of k = %lld, and the product has %lld of k = %lld", name,
                       (long long)p->rows, (long long)p->k, (long long)rows, (long long)k);
    if (p->scheme != wanted.scheme || p->certificate.exponent != wanted.certificate.exponent ||
        p->certificate.needed != wanted.certificate.needed || p->has_copy != wanted.has_copy)
        return ht_fail(h, -argument, "%c was packed for scheme %s%s, and the product asks for %s%s", name,
                       p->scheme->name, p->certificate.needed > 0 ? ", certified" : p->has_copy ? ", exact" : "",
                       wanted.scheme->name, wanted.certificate.needed > 0 ? ", certified" : wanted.has_copy ? ", exact" : "");
    return HALFTONE_OK;
}

struct gemm_call ht_place_packed64(halftone *h, struct gemm_run *r) {
    struct gemm_call read = *r->call;
    const struct packed_layout a = layout_of_packed(h, find(h, read.packed_a)), b = layout_of_packed(h, find(h, read.packed_b));
    r->a = ht_place_in_block(&a, (char *)read.packed_a);
    r->b = ht_place_in_block(&b, (char *)read.packed_b);
    read.a = r->a.copy;
    read.b = r->b.copy;
    read.transa = 'T'; /* k contiguous */
    read.transb = 'N';
    read.lda = read.ldb = round_up(read.k, 2);
    return read;
}

int halftone_dgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const double *alpha, const void *packed_a,
                          const void *packed_b, const double *beta, double *c, int64_t ldc) {
    enum call_effect effect = EFFECT_NONE;
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of('N', 'N', m, n, k, 1);
    x.is_fp64 = true;
    x.alpha = alpha;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.packed_a = (const char *)packed_a;
    x.packed_b = (const char *)packed_b;
    code = ht_check_gemm(handle, &x, true, &effect);
    if (code == HALFTONE_OK)
        code = ht_check_extents(handle, &x, true, effect);
    if (code != HALFTONE_OK || effect == EFFECT_NONE)
        return code;
    code = ht_enter_site(handle, &x, true);
    if (code == HALFTONE_OK && effect == EFFECT_PRODUCT)
        code = check_side(handle, 7, x.packed_a, m, k);
    if (code == HALFTONE_OK && effect == EFFECT_PRODUCT)
        code = check_side(handle, 9, x.packed_b, n, k);
    x.k = effect == EFFECT_SCALE ? 0 : x.k;
    return ht_leave_site(handle, true, code != HALFTONE_OK ? code : ht_multiply64(handle, &x));
}
