/* ht_select64.c: FP64 products: their scheme and kernel, predicted times, and which run by residues under
 * a bound of |A||B|, certified by their data. Then packing counts large elements of rows, what puts
 * residues together stores the elements of C that the counts of their row and column certify, and a launch
 * of native64 computes the others. Proof: ACCURACY.md, section 18. */
#include "ht_call.h"
#include "ht_bound.h"
#include "ht_cost.h"

enum { CHECK_LAUNCHES = 2 }; /* the verdict on counts, and FP64 arithmetic for what they leave */

static const char *native_name(const halftone *h) {
    return h->half[0].set->role[HT_ROLE_NATIVE];
}

/* ---- kernels and times ---- */

static bool is_forced(const struct call *c, const struct ht_scheme_desc *s) {
    return c->half->forced != NO_KERNEL && strcmp(c->half->set->kernel[c->half->forced].scheme, s->name) == 0;
}

/* A kernel that was set by name and that the call would leave out is an error. */
static int check_forced(const struct call *c, const struct plan *p, const struct ht_scheme_desc *rest) {
    if (c->half->forced == NO_KERNEL || is_forced(c, p->scheme) || (rest != NULL && is_forced(c, rest)))
        return HALFTONE_OK;
    const struct ht_kernel_desc *const forced = &c->half->set->kernel[c->half->forced];
    return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                   "kernel '%s', which was set, is of scheme '%s', and this product runs '%s'", forced->name,
                   forced->scheme, p->scheme->name);
}

/* Products of a scheme that one launch makes: one for each modulus or pair of slices; 1 of the others. */
static int64_t products_of(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].recipe == HT_RECIPE_OZAKI)
            return ht_ozaki_products(&c->asked->ozaki, c->k);
    return ht_moduli_of(set, s);
}

/* A scheme's kernel for a shape; all moduli are products of one launch. */
static struct ht_choice pick64(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    const int64_t partial_bytes = c->without_workspace ? 0 : HT_PARTIAL_LIMIT_BYTES,
                  batch = at_least_one(c->batch), products = products_of(c, s), m = at_least_one(c->m),
                  n = at_least_one(c->n);
    if (is_forced(c, s))
        return ht_pick_splits(set, c->half->forced, m, n, c->k, ht_mul(batch, products), partial_bytes);
    return ht_pick_products(set, s->name, m, n, c->k, batch, products, partial_bytes);
}

/* Whether a scheme's integer sums, whose k FP64 products do not split, could overflow. */
static bool exceeds_exact_k(const struct ht_scheme_desc *s, int64_t k) {
    return s->exact_k > 0 && k > s->exact_k;
}

bool ht_predict64(const struct call *c, const struct ht_scheme_desc *s, int64_t *ns) {
    const struct ht_choice choice = pick64(c, s);
    const struct ht_kernel_desc *const by = ht_residues_of(c->half->set, s);
    *ns = by != NULL ? ht_add(choice.predicted_ns, ht_residues_ns(c, by)) : choice.predicted_ns;
    return choice.kernel >= 0 && !exceeds_exact_k(s, c->k) && (by == NULL || c->k <= HT_CRT_K_MOST);
}

/* other: NULL, or one that is there already. */
static bool is_faster(const struct call *c, const struct ht_scheme_desc *one,
                      const struct ht_scheme_desc *other) {
    int64_t ns, others;
    return ht_predict64(c, one, &ns) && (other == NULL || !ht_predict64(c, other, &others) || ns < others);
}

/* ---- the certificate ---- */

double ht_units64(const struct call *c) {
    return c->asked->scheme != NULL ? 0
           : c->asked->is_auto      ? (double)c->k
                                    : c->asked->accuracy.bound * 0x1p53;
}

bool ht_certifies(const struct call *c, const struct ht_scheme_desc *s,
                  struct ht_certificate *certificate) {
    const int moduli = ht_moduli_of(c->half->set, s);
    return moduli > 1 && ht_crt_certify(certificate, moduli, c->k, ht_units64(c));
}

int64_t ht_certificate64_ns(const struct ht_set_desc *set) {
    return CHECK_LAUNCHES * (int64_t)set->launch_ns;
}

/* The cheapest scheme of residues whose certificate ordinary data pass, if it is predicted faster than
 * `native` (NULL: the set lacks it); else `native`, and nothing is needed of the certificate. */
static const struct ht_scheme_desc *choose_certified(const struct call *c,
                                                     const struct ht_scheme_desc *native,
                                                     struct ht_certificate *certificate) {
    const struct ht_set_desc *const set = c->half->set;
    const struct ht_scheme_desc *best = native;
    int64_t least;
    if (c->without_workspace || ht_units64(c) == 0 || native == NULL || !ht_predict64(c, native, &least))
        return native;
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *const s = &set->scheme[i];
        struct ht_certificate one;
        int64_t ns;
        if (!ht_certifies(c, s, &one) || !ht_predict64(c, s, &ns))
            continue;
        ns = ht_add(ns, ht_certificate64_ns(set));
        if (ns < least) {
            least = ns;
            best = s;
            *certificate = one;
        }
    }
    return best;
}

/* The fewest moduli whose certificate ordinary data pass at this k; NULL: none. */
static const struct ht_scheme_desc *least_certified(const struct call *c,
                                                    struct ht_certificate *certificate) {
    const struct ht_set_desc *const set = c->half->set;
    const struct ht_scheme_desc *best = NULL;
    struct call one = *c;
    one.k = at_least_one(c->k);
    for (int i = 0, least = HT_CRT_MOST + 1; i < set->schemes; i++) {
        const int moduli = ht_moduli_of(set, &set->scheme[i]);
        struct ht_certificate found;
        if (moduli < least && ht_certifies(&one, &set->scheme[i], &found)) {
            least = moduli;
            best = &set->scheme[i];
            *certificate = found;
        }
    }
    return best;
}

/* Whether a kernel asks the counts, as tiles of native64 do, and is not another than the one that was set. */
static bool computes_rest(const struct call *c, int kernel, const struct ht_scheme_desc *native) {
    const struct ht_kernel_desc *const k = &c->half->set->kernel[kernel];
    return strcmp(k->scheme, native->name) == 0 && k->takes_counts &&
           (!is_forced(c, native) || kernel == c->half->forced);
}

/* The kernel for what the counts leave; k is whole. */
static int pick_for_rest(const struct call *c, const struct ht_scheme_desc *native) {
    const struct ht_set_desc *const set = c->half->set;
    struct ht_choice best = {NO_KERNEL, 1, INT64_MAX};
    for (int i = 0; i < set->kernels; i++) {
        if (!computes_rest(c, i, native))
            continue;
        const struct ht_choice choice = ht_pick_splits(set, i, SIZES_OF(c), 0);
        best = choice.predicted_ns < best.predicted_ns ? choice : best;
    }
    return best.kernel;
}

static int plan_certificate(const struct call *c, const struct ht_scheme_desc *native, struct plan *p) {
    p->checked = true;
    p->fallback = pick_for_rest(c, native);
    p->kernel_ns = ht_add(p->kernel_ns, ht_certificate64_ns(p->set));
    if (p->fallback != NO_KERNEL)
        return HALFTONE_OK;
    if (!is_forced(c, native))
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' has no tile that fits the shared memory of this GPU", native->name);
    return ht_fail(
        c->h, HALFTONE_NOT_SUPPORTED,
        "kernel '%s', which was set, takes vectors, and what scheme '%s' leaves takes a tile of %s",
        p->set->kernel[c->half->forced].name, p->scheme->name, native->name);
}

/* ---- the scheme ---- */

bool ht_is_fast64(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    if (s == NULL || c->asked->accuracy.role64 != HT_ROLE_FAST || c->k == 0 || c->without_workspace)
        return false;
    return s == ht_scheme_of(set, HT_ROLE_FAST) ||
           (s == ht_scheme_of(set, HT_ROLE_FAST_DIGITS) &&
            (double)ht_bound_units(s, c->k) * 0x1p-53 <= ht_moduli_bound(set->fast_moduli, c->k));
}

/* The fastest under one scheme's bound, relative to the largest of a row and a column. */
static void choose_fast(const struct call *c, const struct ht_scheme_desc **scheme) {
    static const enum ht_role roles[] = {HT_ROLE_FAST, HT_ROLE_FAST_DIGITS};
    for (int i = 0; i < 2; i++) {
        const struct ht_scheme_desc *const s = ht_scheme_of(c->half->set, roles[i]);
        if (ht_is_fast64(c, s) && is_faster(c, s, *scheme))
            *scheme = s;
    }
}

int ht_scheme64_named(halftone *h, const char *name, int code, const struct ht_scheme_desc **scheme) {
    *scheme = h->half[1].set != NULL ? ht_find_scheme(h->half[1].set, name) : NULL;
    return *scheme != NULL
               ? HALFTONE_OK
               : ht_fail(h, code,
                         "this library was generated without scheme '%s', which FP64 products need%s", name,
                         code == HALFTONE_ACCURACY ? " for this accuracy" : "");
}

bool ht_is_exact64(const struct call *c) {
    return c->asked->scheme == NULL && c->asked->accuracy.role64 == HT_ROLE_EXACT;
}

const char *ht_fixed_scheme64(const halftone *h, const struct ht_demand *d, bool is_packed) {
    const int role = d->accuracy.role64;
    const bool is_by_shape = role == 0 || (role == HT_ROLE_FAST && !is_packed);
    return d->scheme != NULL ? d->scheme : is_by_shape ? NULL : h->half[0].set->role[role];
}

/* Bits of |A||B| that FP64 arithmetic keeps: (k + 4) 2^-53. */
static int bits_of_native(int64_t k) {
    int lost = 0;
    while (lost < 62 && INT64_C(1) << lost < ht_add(k, 4))
        lost++;
    return 53 - lost;
}

int ht_check_bound64(halftone *h, const struct ht_accuracy *accuracy, int64_t k) {
    const double native = ((double)at_least_one(k) + 4) * 0x1p-53;
    if (accuracy->bound == 0 ||
        native <= accuracy->bound * (1 + 0x1p-40)) /* as a bound that query told with twelve decimals */
        return HALFTONE_OK;
    const bool is_exact_enough =
        accuracy->bound >= 0x1p-53 && ht_scheme_of(h->half[1].set, HT_ROLE_EXACT) != NULL;
    return ht_fail(h, HALFTONE_ACCURACY, "%s: at k = %lld scheme %s keeps bits=%d%s", accuracy->text,
                   (long long)k, native_name(h), bits_of_native(at_least_one(k)),
                   is_exact_enough ? ", accuracy fp64-exact bits=53" : "");
}

int ht_packing_scheme64(const struct call *c, const struct ht_scheme_desc **scheme,
                        struct ht_certificate *certificate) {
    const char *const fixed = ht_fixed_scheme64(c->h, c->asked, true);
    int code = ht_check_bound64(c->h, &c->asked->accuracy, c->k);
    memset(certificate, 0, sizeof *certificate);
    if (c->k > HT_CRT_K_MOST)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: moduli hold k up to %d", (long long)c->k,
                       (int)HT_CRT_K_MOST);
    if (fixed != NULL) {
        code = ht_scheme64_named(
            c->h, fixed, c->asked->scheme != NULL ? HALFTONE_NOT_SUPPORTED : HALFTONE_ACCURACY, scheme);
        if (code == HALFTONE_OK && ht_moduli_of(c->half->set, *scheme) == 1)
            return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                           "scheme '%s' has no packed operands: those of residues have", fixed);
    } else if (code == HALFTONE_OK) { /* by data, the rest by FP64 arithmetic */
        code = ht_scheme64_named(c->h, native_name(c->h), HALFTONE_ACCURACY, scheme);
        *scheme = code == HALFTONE_OK ? least_certified(c, certificate) : NULL;
        if (code == HALFTONE_OK && *scheme == NULL)
            return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                           "no scheme of this library can be certified at k = %lld, so nothing is packed: "
                           "use halftone_dgemm",
                           (long long)c->k);
    }
    return code;
}

int ht_scheme_of_call64(const struct call *c, const struct ht_scheme_desc **scheme,
                        struct ht_certificate *certificate) {
    const char *const fixed = ht_fixed_scheme64(c->h, c->asked, false);
    memset(certificate, 0, sizeof *certificate);
    if (fixed != NULL && (c->asked->scheme != NULL || c->k > 0))
        return ht_scheme64_named(
            c->h, fixed, c->asked->scheme != NULL ? HALFTONE_NOT_SUPPORTED : HALFTONE_ACCURACY, scheme);
    int code = ht_check_bound64(c->h, &c->asked->accuracy, c->k);
    if (code != HALFTONE_OK)
        return code;
    code = ht_scheme64_named(c->h, native_name(c->h), HALFTONE_NOT_SUPPORTED, scheme);
    choose_fast(c, scheme);
    *scheme = choose_certified(c, *scheme, certificate);
    return *scheme != NULL ? HALFTONE_OK : code;
}

int ht_select64(const struct call *c, struct plan *p) {
    memset(p, 0, sizeof *p);
    p->set = c->half->set;
    p->fallback = NO_KERNEL;
    /* where only C is scaled every scheme does what FP64 arithmetic does */
    int code = c->k == 0      ? ht_scheme64_named(c->h, native_name(c->h), HALFTONE_NOT_SUPPORTED, &p->scheme)
               : c->is_packed ? ht_packing_scheme64(c, &p->scheme, &p->certificate)
                              : ht_scheme_of_call64(c, &p->scheme, &p->certificate);
    if (code != HALFTONE_OK)
        return code;
    if (exceeds_exact_k(p->scheme, c->k))
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: sums of scheme '%s' are exact for k up to %d",
                       (long long)c->k, p->scheme->name, p->scheme->exact_k);
    const struct ht_scheme_desc *const native = ht_scheme_of(p->set, HT_ROLE_NATIVE);
    code = c->k > 0 ? check_forced(c, p, p->certificate.needed > 0 ? native : NULL) : HALFTONE_OK;
    if (code != HALFTONE_OK)
        return code;
    const struct ht_choice choice = pick64(c, p->scheme);
    if (choice.kernel < 0)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' has no kernel that fits the shared memory of this GPU", p->scheme->name);
    p->kernel = choice.kernel;
    p->splits = choice.splits;
    p->kernel_ns = choice.predicted_ns;
    p->is_exact = ht_is_exact64(c) && c->k > 0;
    return p->certificate.needed > 0 ? plan_certificate(c, native, p) : HALFTONE_OK;
}
