/* weigh: see weigh.h. It asks the functions by which the library decides. */
#include "measure/weigh.h"
#include "../../../runtime/ht_call.h"

/* Whether a call that asks as `by` weighs kernels of s; then `by` names s, where a shape may choose another. */
static bool weighs(const struct call *c, const struct ht_scheme_desc *s, struct ht_demand *by) {
    const struct ht_set_desc *const set = c->half->set;
    const struct ht_scheme_desc *const first = ht_find_scheme(set, ht_auto_scheme(set));
    if (by->is_auto) {
        const bool checks = first != NULL && ht_checks_data(set, first, true);
        return s == first ? !checks || ht_checks_k(c, s) : checks && s == ht_scheme_of(set, HT_ROLE_FALLBACK);
    }
    if (by->scheme != NULL)
        return strcmp(by->scheme, s->name) == 0;
    const struct ht_accuracy_choice choice = ht_choose_scheme(c, &by->accuracy);
    const bool meets = ht_accuracy_meets(&by->accuracy, s, c->k);
    by->scheme = s->name;
    const struct ht_accuracy_candidate *const x =
        choice.second.scheme != NULL && strcmp(choice.second.name, "auto") == 0 ? &choice.second : &choice.first;
    by->is_auto = !meets && x->scheme == s && strcmp(x->name, "auto") == 0;
    return meets || by->is_auto;
}

static bool weighs64(const struct call *c, const struct ht_scheme_desc *s, struct ht_demand *by,
                     int64_t *added_ns) {
    struct ht_certificate certificate;
    const char *const fixed = ht_fixed_scheme64(c->h, by, false);
    if (fixed != NULL)
        return strcmp(fixed, s->name) == 0;
    const bool is_certified = ht_certifies(c, s, &certificate);
    *added_ns = is_certified ? ht_certificate64_ns(c->half->set) : 0;
    by->scheme = s->name;
    return is_certified || s == ht_scheme_of(c->half->set, HT_ROLE_NATIVE) || ht_is_fast64(c, s);
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
        !(is_fp64 ? weighs64(&c, s, &by, &added_ns) : weighs(&c, s, &by)))
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
