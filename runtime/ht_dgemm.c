/* ht_dgemm.c: FP64 products: their scheme and their plan. */
#include "ht_call.h"
#include "ht_bound.h"
#include "ht_cost.h"

enum { FAST_MODULI = 14 }; /* of fast_scheme */
static const char native_name[] = HT_NATIVE64, fast_scheme[] = "crt14", fast_digits[] = "i8x28",
                  reproducible_scheme[] = "crt16", exact_scheme[] = "crt20";
static const char fp64_fast[] = "fp64-fast", fp64_exact[] = "fp64-exact",
                  reproducible[] = "reproducible";

/* A kernel that was set by name and that the call would leave out is an error. */
static int check_forced(halftone *h, const struct plan *p, const struct ht_scheme_desc *rest) {
    if (h->forced_kernel64 == NO_KERNEL || ht_is_forced64(h, p->scheme) || (rest != NULL && ht_is_forced64(h, rest)))
        return HALFTONE_OK;
    return ht_fail(h, HALFTONE_NOT_SUPPORTED, "kernel '%s', which was set, is of scheme '%s', and this product runs '%s'",
                   h->set64->kernel[h->forced_kernel64].name, h->set64->kernel[h->forced_kernel64].scheme, p->scheme->name);
}

/* other: NULL, or one that is there already. */
static bool is_faster(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *one,
                      const struct ht_scheme_desc *other) {
    int64_t ns, others;
    return ht_predict64(h, x, one, &ns) && (other == NULL || !ht_predict64(h, x, other, &others) || ns < others);
}

/* The fastest under crt14's bound, relative to the largest of a row and a column. */
static void choose_fast(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc **scheme) {
    const struct ht_scheme_desc *const crt = ht_find_scheme(h->set64, fast_scheme),
                               *const digits = ht_find_scheme(h->set64, fast_digits);
    if (crt != NULL && is_faster(h, x, crt, *scheme))
        *scheme = crt;
    if (digits != NULL && (double)ht_bound_units(digits, x->k) * 0x1p-53 <= ht_moduli_bound(FAST_MODULI, x->k) &&
        is_faster(h, x, digits, *scheme))
        *scheme = digits;
}

int ht_scheme64_named(halftone *h, const char *name, int code, const struct ht_scheme_desc **scheme) {
    *scheme = h->set64 != NULL ? ht_find_scheme(h->set64, name) : NULL;
    return *scheme != NULL
               ? HALFTONE_OK
               : ht_fail(h, code,
                         "this library was generated without scheme '%s', which FP64 products need%s", name,
                         code == HALFTONE_ACCURACY ? " for this accuracy" : "");
}

/* Bits of |A||B| that FP64 arithmetic keeps: (k + 4) 2^-53. */
static int bits_of_native(int64_t k) {
    int lost = 0;
    while (lost < 62 && INT64_C(1) << lost < ht_add(k, 4))
        lost++;
    return 53 - lost;
}

bool ht_is_exact64(const halftone *h) {
    return ht_asked(h, true)->scheme == NULL && strcmp(ht_asked(h, true)->accuracy.text, fp64_exact) == 0;
}

const char *ht_fixed_scheme64(const struct ht_demand *d, bool is_packed) {
    const char *const text = d->accuracy.text;
    if (d->scheme != NULL)
        return d->scheme;
    if (strcmp(text, reproducible) == 0)
        return reproducible_scheme;
    return strcmp(text, fp64_exact) == 0 ? exact_scheme : is_packed && strcmp(text, fp64_fast) == 0 ? fast_scheme : NULL;
}

int ht_check_bound64(halftone *h, const struct ht_accuracy *accuracy, int64_t k) {
    const double native = ((double)at_least_one(k) + 4) * 0x1p-53;
    if (accuracy->bound == 0 || native <= accuracy->bound * (1 + 0x1p-40)) /* as a bound that query told with twelve decimals */
        return HALFTONE_OK;
    const bool is_exact_enough = accuracy->bound >= 0x1p-53 && h->set64 != NULL && ht_find_scheme(h->set64, exact_scheme) != NULL;
    return ht_fail(h, HALFTONE_ACCURACY, "%s: at k = %lld scheme %s keeps bits=%d%s", accuracy->text, (long long)k, native_name,
                   bits_of_native(at_least_one(k)), is_exact_enough ? ", accuracy fp64-exact bits=53" : "");
}

int ht_packing_scheme64(halftone *h, int64_t k, const struct ht_scheme_desc **scheme,
                        struct ht_certificate *certificate) {
    const struct ht_demand *const asked = ht_asked(h, true);
    const char *const fixed = ht_fixed_scheme64(asked, true);
    int code = ht_check_bound64(h, &asked->accuracy, k);
    memset(certificate, 0, sizeof *certificate);
    if (k > HT_CRT_K_MOST)
        return ht_fail(h, HALFTONE_TOO_LARGE, "k = %lld: moduli hold k up to %d", (long long)k, (int)HT_CRT_K_MOST);
    if (fixed != NULL) {
        code = ht_scheme64_named(h, fixed, asked->scheme != NULL ? HALFTONE_NOT_SUPPORTED : HALFTONE_ACCURACY, scheme);
        if (code == HALFTONE_OK && ht_moduli_of(h->set64, *scheme) == 1)
            return ht_fail(h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no packed operands: crt14 to crt20 have", fixed);
    } else if (code == HALFTONE_OK) { /* by data, the rest by native64 */
        code = ht_scheme64_named(h, native_name, HALFTONE_ACCURACY, scheme);
        *scheme = code == HALFTONE_OK ? ht_least_certified(h, at_least_one(k), certificate) : NULL;
        if (code == HALFTONE_OK && *scheme == NULL)
            return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                           "no scheme of this library can be certified at k = %lld, so nothing is packed: use halftone_dgemm",
                           (long long)k);
    }
    return code;
}

/* And how a scheme of residues is certified. */
static int choose64(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc **scheme,
                    struct ht_certificate *certificate) {
    memset(certificate, 0, sizeof *certificate);
    const struct ht_demand *const asked = ht_asked(h, true);
    const char *const fixed = ht_fixed_scheme64(asked, false);
    if (fixed != NULL && (asked->scheme != NULL || x->k > 0))
        return ht_scheme64_named(h, fixed, asked->scheme != NULL ? HALFTONE_NOT_SUPPORTED : HALFTONE_ACCURACY, scheme);
    int code = ht_check_bound64(h, &asked->accuracy, x->k);
    if (code != HALFTONE_OK)
        return code;
    code = ht_scheme64_named(h, native_name, HALFTONE_NOT_SUPPORTED, scheme);
    if (strcmp(asked->accuracy.text, fp64_fast) == 0 && h->set64 != NULL && x->k > 0 && !h->without_workspace)
        choose_fast(h, x, scheme);
    *scheme = ht_choose_certified(h, x, *scheme, certificate);
    return *scheme != NULL ? HALFTONE_OK : code;
}

int ht_scheme_of_call64(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc **scheme) {
    struct ht_certificate certificate;
    return choose64(h, x, scheme, &certificate);
}

/* FP64 arithmetic, and what adds up the parts of a split k. */
static void add_native_steps(const struct plan_key *key, struct plan *p) {
    const int64_t partials =
        round_up(ht_partial_bytes(key->m, key->n, grid_batch(key->batch), p->splits,
                                  ht_tile_partial_size(&p->set->kernel[p->kernel].tile)),
                 WS_ALIGNMENT);
    ht_add_step(p, STEP_NATIVE64, p->kernel)->needs[WS_PARTIALS] = partials;
    if (p->splits > 1)
        ht_add_step(p, STEP_REDUCE64, NO_KERNEL)->needs[WS_PARTIALS] = partials;
}

int ht_make_plan64(halftone *h, const struct plan_key *key, struct plan *p) {
    const struct gemm_call x = gemm_call_of('N', 'N', key->m, key->n, key->k, key->batch);
    memset(p, 0, sizeof *p);
    p->set = h->set64;
    p->fallback = NO_KERNEL;
    /* where only C is scaled every scheme does what FP64 arithmetic does */
    int code = key->k == 0         ? ht_scheme64_named(h, native_name, HALFTONE_NOT_SUPPORTED, &p->scheme)
               : key->a_entries == 0 ? ht_packing_scheme64(h, key->k, &p->scheme, &p->certificate)
                                     : choose64(h, &x, &p->scheme, &p->certificate);
    if (code != HALFTONE_OK)
        return code;
    if (ht_exceeds_exact_k(p->scheme, key->k))
        return ht_fail(h, HALFTONE_TOO_LARGE, "k = %lld: sums of scheme '%s' are exact for k up to %d",
                       (long long)key->k, p->scheme->name, p->scheme->exact_k);
    const struct ht_scheme_desc *const native = ht_find_scheme(h->set64, native_name);
    code = key->k > 0 ? check_forced(h, p, p->certificate.needed > 0 ? native : NULL) : HALFTONE_OK;
    if (code != HALFTONE_OK)
        return code;
    const struct ht_choice choice = ht_pick64(h, &x, p->scheme);
    if (choice.kernel < 0)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' has no kernel that fits the shared memory of this GPU", p->scheme->name);
    p->kernel = choice.kernel;
    p->splits = 1;
    p->kernel_ns = choice.predicted_ns;
    p->is_exact = ht_is_exact64(h) && key->k > 0;
    if (p->set->kernel[p->kernel].residues != NULL)
        code = ht_plan_residues(h, key, p);
    if (code != HALFTONE_OK || p->certificate.needed > 0)
        return code != HALFTONE_OK ? code : ht_plan_certificate(h, &x, native, p);
    if (p->set->kernel[p->kernel].residues != NULL)
        return HALFTONE_OK;
    if (p->set->kernel[p->kernel].ozaki != NULL)
        return ht_plan_ozaki(h, key, p);
    p->splits = choice.splits;
    add_native_steps(key, p);
    return ht_lay_out_workspace(h, p);
}

void ht_explain64(const halftone *h, const struct plan *p, struct halftone_plan *out) {
    const struct ht_demand *const asked = ht_asked(h, true);
    const char *const by = asked->is_auto ? HT_FP64 : asked->accuracy.text;
    const size_t bytes = sizeof out->why_scheme;
    if (asked->scheme != NULL)
        snprintf(out->why_scheme, bytes, "set by name");
    else if (p != NULL && p->checked)
        snprintf(out->why_scheme, bytes,
                 "by accuracy %s: %s where the data certify it, %s for the rest; %s alone: %lld ns predicted", by,
                 p->scheme->name, native_name, native_name, (long long)out->native_ns);
    else
        snprintf(out->why_scheme, bytes, "by accuracy %s", by);
}
