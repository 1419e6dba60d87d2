/* ht_dcheck.c: FP64 products under a bound of |A||B|: by residues where the data certify it, by FP64 arithmetic
 * where they do not, in one call. Packing counts large elements of rows, what puts residues together stores the
 * elements of C that the counts of their row and column certify, or their own size, and a launch of native64 computes the others.
 * Proof: the notes on error bounds, section 18. */
#include "ht_call.h"
#include "ht_crt.h"

enum {
    CHECK_LAUNCHES = 2, /* the verdict on counts, and native64 for what they leave */
    COUNT_BINADES = 3   /* from a row's root mean square down to what counts, at least: normal data pass */
};

double ht_units64(const halftone *h, int64_t k) {
    const char *const text = h->asked->accuracy64.text;
    double units = 0x1p53;
    if (h->asked->scheme64 != NULL || (text != NULL && strcmp(text, HT_FP64) != 0))
        return 0;
    for (int i = 0; i < h->asked->accuracy64.bits; i++)
        units /= 2;
    return h->asked->accuracy64.bits > 0 ? units : (double)k;
}

/* An upper bound of T, up to which sums of squares of scaled rows may go (ht_crt.h, limit_mantissa). */
static double certificate_limit(int moduli) {
    double limit = 0.5 * (1 + 0x1p-40);
    for (int l = 0; l < moduli; l++)
        limit *= ht_crt_moduli[l];
    return limit;
}

/* |X| >= E Q, Q = 1 + (1 + 2^-53) 2^53 / (units - 1), certifies X. Half of Q, by which the sum of a row is multiplied: in units of
 * X's top word, and of parts, which are 14 binades below the row's largest. */
static void make_threshold(int moduli, double units, struct ht_certificate *c) {
    struct ht_crt x;
    (void)ht_crt_make(&x, moduli);
    const int words = 32 * x.value_words, top = words - 32 - (words - x.product_bits) / 8 * 8;
    double factor = (1 + 0x1p53 * (1 + 0x1p-40) / (units - 1)) * (1 + 0x1p-40);
    c->threshold_exponent = -1 - 14 - top;
    for (; factor >= 0x1p31; c->threshold_exponent++)
        factor /= 2;
    for (; factor < 0x1p30; c->threshold_exponent--)
        factor *= 2;
    c->threshold_factor = (uint32_t)factor + 1;
}

/* Elements that count are at least 2^e scaled, e the least integer with
 * 2^4e >= 2^110 T (1 + 2^-30) / (k (units - 1)^2). False: of ordinary rows too few are so large. */
static bool make_certificate(int moduli, int64_t k, double units, struct ht_certificate *c) {
    const double limit = certificate_limit(moduli), terms = (double)k;
    double left = 0x1p110 * (1 + 0x1p-29) * limit / terms, large = 1; /* 2^2e */
    if (units < 2)
        return false;
    left = left / (units - 1) / (units - 1);
    for (c->exponent = 0; left > 1; c->exponent++) {
        left /= 16;
        large *= 4;
    }
    for (int i = 0; i < COUNT_BINADES; i++)
        large *= 4;
    c->needed = (int)(k + (k + 3) / 4);
    make_threshold(moduli, units, c);
    return large * terms <= limit;
}

const struct ht_scheme_desc *ht_choose_certified(const halftone *h, const struct gemm_call *x,
                                                 const struct ht_scheme_desc *native,
                                                 struct ht_certificate *certificate) {
    const struct ht_set_desc *const set = h->set64;
    const struct ht_scheme_desc *best = native;
    const double units = ht_units64(h, x->k);
    int64_t least = INT64_MAX;
    memset(certificate, 0, sizeof *certificate);
    if (h->without_workspace || units == 0 || native == NULL || x->k < 1 || x->k > HT_CRT_K_MOST)
        return native;
    if (!ht_predict64(h, x, native, &least))
        return native;
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *const s = &set->scheme[i];
        const int moduli = ht_moduli_of(set, s);
        struct ht_certificate c;
        int64_t ns;
        if (moduli == 1 || !make_certificate(moduli, x->k, units, &c) || !ht_predict64(h, x, s, &ns))
            continue;
        ns = ht_add(ns, CHECK_LAUNCHES * (int64_t)set->launch_ns);
        if (ns < least) {
            least = ns;
            best = s;
            *certificate = c;
        }
    }
    return best;
}

const struct ht_scheme_desc *ht_least_certified(const halftone *h, int64_t k, struct ht_certificate *certificate) {
    const struct ht_set_desc *const set = h->set64;
    const struct ht_scheme_desc *best = NULL;
    int least = HT_CRT_MOST + 1;
    for (int i = 0; set != NULL && i < set->schemes; i++) {
        const int moduli = ht_moduli_of(set, &set->scheme[i]);
        struct ht_certificate c;
        if (moduli > 1 && moduli < least && make_certificate(moduli, k, ht_units64(h, k), &c)) {
            least = moduli;
            best = &set->scheme[i];
            *certificate = c;
        }
    }
    return best;
}

void ht_add_counts(struct packed_layout *o) {
    const int64_t each = ht_ceil_div(o->k, 2 * HT_CRT_SEGMENT) + 2; /* of tiles, and of rows with their thresholds */
    o->count_stride =
        ht_add(ht_mul(ht_mul(ht_ceil_div(o->rows, HT_ATOM_ROWS), HT_ATOM_ROWS), each), HT_CRT_COUNTS_AT);
    o->count_bytes = round_up(ht_mul(ht_mul(o->count_stride, (int64_t)sizeof(int)), o->entries), WS_ALIGNMENT);
}

/* The kernel for what the counts leave: of those that ask them, which are tiles; k is whole. */
static struct ht_choice pick_for_rest(const struct ht_set_desc *set, const struct gemm_call *x,
                                      const struct ht_scheme_desc *native) {
    struct ht_choice best = {NO_KERNEL, 1, INT64_MAX};
    for (int i = 0; i < set->kernels; i++) {
        const int family = set->kernel[i].family;
        if (strcmp(set->kernel[i].scheme, native->name) != 0 ||
            (family != HT_FAMILY_FP64_MMA_TILE && family != HT_FAMILY_FP64_TILE))
            continue;
        const struct ht_choice choice = ht_pick_splits(set, i, at_least_one(x->m), at_least_one(x->n), x->k,
                                                       at_least_one(x->batch), 0);
        best = choice.predicted_ns < best.predicted_ns ? choice : best;
    }
    return best;
}

/* Of a column of bytes that say what residues leave. */
static int64_t left_rows(int64_t m) {
    return ht_mul(ht_ceil_div(m, 4), 4);
}

int ht_plan_certificate(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *native,
                        struct plan *p) {
    const struct ht_choice choice = pick_for_rest(h->set64, x, native);
    if (choice.kernel == NO_KERNEL)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no tile that fits the shared memory of this GPU",
                       native->name);
    p->checked = true;
    p->fallback = choice.kernel;
    p->kernel_ns = ht_add(p->kernel_ns, CHECK_LAUNCHES * (int64_t)p->set->launch_ns);
    p->bytes = 0;
    ht_add_counts(&p->a);
    ht_add_counts(&p->b);
    p->step[0].needs[WS_A_COUNTS] = p->a.count_bytes; /* of packing */
    p->step[0].needs[WS_B_COUNTS] = p->b.count_bytes;
    ht_add_step(p, STEP_NATIVE64, p->fallback)->needs[WS_LEFT] =
        round_up(ht_mul(ht_mul(left_rows(x->m), x->n), x->batch), WS_ALIGNMENT);
    return ht_lay_out_workspace(h, p);
}

void ht_describe_certificate(const halftone *h, const struct gemm_call *x, struct halftone_plan *out) {
    const double units = ht_units64(h, x->k), native = (double)x->k + 4;
    out->bound = "(k + 4) 2^-53 |A||B|, with bits=N 2^-N |A||B|: residues where the data certify it, else FP64 arithmetic";
    out->range = "any input: packing counts the large elements of rows and columns, and elements of C for which they are too few and that do not "
                 "certify themselves by their own size "
                 "(or that NaN or Inf reach) are computed by native64 in the same call";
    out->bound_units = (int64_t)(units > native ? units : native);
    out->error_bound = (double)out->bound_units * 0x1p-53;
    out->fixed_point = 0;
}

struct ht_crt_counts ht_counts_of(const struct gemm_run *r, int64_t entry) {
    const struct plan *const p = r->plan;
    struct ht_crt_counts counts;
    memset(&counts, 0, sizeof counts);
    if (!p->checked)
        return counts;
    counts.a_stride = p->a.entries > 1 ? p->a.count_stride : 0;
    counts.b_stride = p->b.entries > 1 ? p->b.count_stride : 0;
    counts.a = (int *)(void *)r->a.counts + entry * counts.a_stride;
    counts.b = (int *)(void *)r->b.counts + entry * counts.b_stride;
    counts.left_stride = left_rows(r->call->m) * r->call->n;
    counts.left = (unsigned char *)r->workspace.at + p->at[WS_LEFT] + entry * counts.left_stride;
    counts.needed = p->certificate.needed;
    return counts;
}
