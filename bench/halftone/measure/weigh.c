/* weigh: see weigh.h. It asks the functions by which the library decides. */
#include "measure/weigh.h"
#include "../../../runtime/ht_call.h"

/* Whether a call that asks as `by` weighs kernels of s; then `by` names s, where a shape may choose another. */
static bool weighs(const struct call *c, const struct ht_scheme_desc *s, struct ht_demand *by, int64_t *added_ns) {
    const char *const fixed = ht_fixed_scheme(c, false);
    if (by->is_auto && !c->is_fp64)
        return ht_auto_weighs(c, s);
    if (fixed != NULL)
        return strcmp(fixed, s->name) == 0;
    by->scheme = s->name;
    if (c->is_fp64) {
        struct ht_certificate certificate;
        int64_t ns, alone;
        const bool is_weighed = ht_weighs64(c, s, &certificate, &ns) && ht_predict64(c, s, &alone);
        *added_ns = is_weighed ? ns - alone : 0;
        return is_weighed;
    }
    const struct ht_accuracy_choice choice = ht_choose_scheme(c, &by->accuracy);
    const bool meets = ht_accuracy_meets(&by->accuracy, s, c->k);
    const struct ht_accuracy_candidate *const x =
        choice.second.scheme != NULL && strcmp(choice.second.name, "auto") == 0 ? &choice.second : &choice.first;
    by->is_auto = !meets && x->scheme == s && strcmp(x->name, "auto") == 0;
    return meets || by->is_auto;
}

bool weigh_kernel(halftone *h, bool is_fp64, int64_t m, int64_t n, int64_t k, int kernel,
              struct halftone_plan *plan) {
    struct ht_half *const half = &h->half[is_fp64];
    const struct ht_half kept = *half;
    const struct halftone_plan none = HALFTONE_PLAN_INIT;
    const struct call c = call_of(h, is_fp64, 'N', 'N', m, n, k, 1);
    const struct ht_scheme_desc *const s = ht_find_scheme(half->set, half->set->kernel[kernel].scheme);
    struct ht_demand by = half->own;
    int64_t added_ns = 0;
    if (s == NULL || !ht_weighs_kernel(half->set, kernel, k) ||
        !weighs(&c, s, &by, &added_ns))
        return false;
    half->own = by;
    half->forced = kernel;
    *plan = none;
    const int code = (is_fp64 ? halftone_dquery : halftone_query)(h, 'N', 'N', m, n, k, 1, plan);
    *half = kept;
    plan->kernel_ns = ht_add(plan->kernel_ns, added_ns);
    plan->predicted_ns = ht_add(plan->predicted_ns, added_ns);
    return code == HALFTONE_OK;
}
