/* ht_dcheck.c: FP64 products under a bound of |A||B|: by residues where the data certify it, by FP64 arithmetic
 * where they do not, in one call. Packing counts large elements of rows, what puts residues together stores the
 * elements of C that the counts of their row and column certify, and a launch of native64 computes the others.
 * Proof: ACCURACY.md, section 18. */
#include "ht_call.h"

enum { CHECK_LAUNCHES = 2 }; /* the verdict on counts, and native64 for what they leave */

double ht_units64(const halftone *h, int64_t k) {
    const struct ht_demand *const asked = ht_asked(h, true);
    if (asked->scheme != NULL)
        return 0;
    return asked->is_auto ? (double)k : asked->accuracy.bound * 0x1p53;
}

const struct ht_scheme_desc *ht_choose_certified(const halftone *h, const struct gemm_call *x,
                                                 const struct ht_scheme_desc *native,
                                                 struct ht_certificate *certificate) {
    const struct ht_set_desc *const set = h->set64;
    const struct ht_scheme_desc *best = native;
    const double units = ht_units64(h, x->k);
    int64_t least = INT64_MAX;
    memset(certificate, 0, sizeof *certificate);
    if (h->without_workspace || units == 0 || native == NULL)
        return native;
    if (!ht_predict64(h, x, native, &least))
        return native;
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *const s = &set->scheme[i];
        const int moduli = ht_moduli_of(set, s);
        struct ht_certificate c;
        int64_t ns;
        if (moduli == 1 || !ht_crt_certify(&c, moduli, x->k, units) || !ht_predict64(h, x, s, &ns))
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
        if (moduli > 1 && moduli < least && ht_crt_certify(&c, moduli, k, ht_units64(h, k))) {
            least = moduli;
            best = &set->scheme[i];
            *certificate = c;
        }
    }
    return best;
}

/* Whether a kernel asks the counts, as tiles of native64 do, and is not another than the one that was set. */
static bool computes_rest(const halftone *h, int kernel, const struct ht_scheme_desc *native) {
    const struct ht_kernel_desc *const k = &h->set64->kernel[kernel];
    return strcmp(k->scheme, native->name) == 0 && (k->family == HT_FAMILY_FP64_MMA_TILE || k->family == HT_FAMILY_FP64_TILE) &&
           (!ht_is_forced64(h, native) || kernel == h->forced_kernel64);
}

/* The kernel for what the counts leave; k is whole. */
static struct ht_choice pick_for_rest(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *native) {
    const struct ht_set_desc *const set = h->set64;
    struct ht_choice best = {NO_KERNEL, 1, INT64_MAX};
    for (int i = 0; i < set->kernels; i++) {
        if (!computes_rest(h, i, native))
            continue;
        const struct ht_choice choice = ht_pick_splits(set, i, at_least_one(x->m), at_least_one(x->n), x->k,
                                                       at_least_one(x->batch), 0);
        best = choice.predicted_ns < best.predicted_ns ? choice : best;
    }
    return best;
}

int ht_plan_certificate(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *native,
                        struct plan *p) {
    const struct ht_choice choice = pick_for_rest(h, x, native);
    if (choice.kernel == NO_KERNEL && ht_is_forced64(h, native))
        return ht_fail(h, HALFTONE_NOT_SUPPORTED, "kernel '%s', which was set, takes vectors, and what scheme '%s' leaves takes a tile of %s",
                       h->set64->kernel[h->forced_kernel64].name, p->scheme->name, native->name);
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
    ht_add_step(p, STEP_NATIVE64, p->fallback);
    return ht_lay_out_workspace(h, p);
}

void ht_describe_certificate(const halftone *h, const struct gemm_call *x, struct halftone_plan *out) {
    const double units = ht_units64(h, x->k), native = (double)x->k + 4;
    out->bound = "(k + 4) 2^-53 |A||B|, with bits=N 2^-N |A||B|: residues where the data certify it, else FP64 arithmetic";
    out->range = "any input: packing counts the large elements of rows and columns, and elements of C for which they are too few "
                 "(or that NaN or Inf reach) are computed by native64 in the same call";
    out->bound_units = (int64_t)(units > native ? units : native);
    out->error_bound = (double)out->bound_units * 0x1p-53;
    out->fixed_point = 0;
}
