/* ht_dgemm.c: FP64 products: their scheme and plan, and the launches of their kernels.
 * Arguments, workspace and steps are those of the FP32 products. */
#include "ht_call.h"
#include "ht_bound.h"
#include "ht_cost.h"

enum { FAST_MODULI = 14 }; /* of fast_scheme */
static const char native_name[] = HT_NATIVE64, fast_scheme[] = "crt14", fast_digits[] = "i8x28",
                  reproducible_scheme[] = "crt16", exact_scheme[] = "crt20";
static const char fp64_fast[] = "fp64-fast", fp64_exact[] = "fp64-exact",
                  reproducible[] = "reproducible";

/* ---- select ---- */

int ht_residues_kernel(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].residues != NULL)
            return i;
    return NO_KERNEL;
}

/* What packs for a scheme of residues or digits; NULL: another scheme. */
static const struct ht_crt_launch *packs_bytes_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    const int kernel = ht_residues_kernel(set, s);
    return kernel != NO_KERNEL ? set->kernel[kernel].residues : NULL;
}

int ht_moduli_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    const struct ht_crt_launch *const by = packs_bytes_of(set, s);
    return by != NULL && by->digits == NULL ? by->moduli : 1;
}

/* Products of a scheme that one launch makes: one for each modulus or pair of slices; 1 of the others. */
static int64_t products_of(const halftone *h, const struct ht_scheme_desc *s, int64_t k) {
    const struct ht_set_desc *const set = h->set64;
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].ozaki != NULL)
            return ht_ozaki_products(&ht_asked(h, true)->ozaki, k);
    return ht_moduli_of(set, s);
}

bool ht_is_forced64(const halftone *h, const struct ht_scheme_desc *s) {
    return h->forced_kernel64 != NO_KERNEL && strcmp(h->set64->kernel[h->forced_kernel64].scheme, s->name) == 0;
}

/* A kernel that was set by name and that the call would leave out is an error. */
static int check_forced(halftone *h, const struct plan *p, const struct ht_scheme_desc *rest) {
    if (h->forced_kernel64 == NO_KERNEL || ht_is_forced64(h, p->scheme) || (rest != NULL && ht_is_forced64(h, rest)))
        return HALFTONE_OK;
    return ht_fail(h, HALFTONE_NOT_SUPPORTED, "kernel '%s', which was set, is of scheme '%s', and this product runs '%s'",
                   h->set64->kernel[h->forced_kernel64].name, h->set64->kernel[h->forced_kernel64].scheme, p->scheme->name);
}

struct ht_choice ht_pick64(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *s) {
    const int64_t partial_bytes = h->without_workspace ? 0 : HT_PARTIAL_LIMIT_BYTES, batch = at_least_one(x->batch),
                  products = products_of(h, s, x->k), m = at_least_one(x->m), n = at_least_one(x->n);
    if (ht_is_forced64(h, s))
        return ht_pick_splits(h->set64, h->forced_kernel64, m, n, x->k, ht_mul(batch, products), partial_bytes);
    return ht_pick_products(h->set64, s->name, m, n, x->k, batch, products, partial_bytes);
}

bool ht_predict64(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *s, int64_t *ns) {
    const struct ht_choice choice = ht_pick64(h, x, s);
    const struct ht_crt_launch *const by = packs_bytes_of(h->set64, s);
    *ns = choice.predicted_ns;
    if (by != NULL)
        *ns = ht_add(*ns, ht_residues_ns(h->set64, by, at_least_one(x->m), at_least_one(x->n), x->k,
                                         at_least_one(x->batch)));
    return choice.kernel >= 0 && !ht_exceeds_exact_k(s, x->k) && (by == NULL || x->k <= HT_CRT_K_MOST);
}

/* Digits have no planes, and one launch less. */
int64_t ht_residues_ns(const struct ht_set_desc *set, const struct ht_crt_launch *by, int64_t m, int64_t n,
                       int64_t k, int64_t batch) {
    const int64_t operands = ht_mul(ht_mul(ht_add(m, n), k), 16 + by->moduli),
                  c = by->digits != NULL ? 0 : ht_mul(ht_mul(m, n), 8 + by->moduli);
    return ht_add(ht_mul(ht_add(operands, c), batch) / set->copy_gbps, (by->digits != NULL ? 2 : 3) * set->launch_ns);
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

/* ---- launch ---- */

/* Behind residues k is whole, whatever parts those have. */
static struct ht_native64_args native_args(const halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct gemm_call *x = r->call;
    const bool is_split = s->needs[WS_PARTIALS] > 0;
    const bool on_device = h->pointer_mode == HALFTONE_DEVICE;
    struct ht_native64_args args;
    memset(&args, 0, sizeof args);
    args.c = (double *)x->c + r->entry * x->stride_c;
    args.ldc = x->ldc;
    args.c_stride = x->stride_c;
    args.m = (int)x->m;
    args.n = (int)x->n;
    args.batch = r->args.batch;
    args.splits = is_split ? r->plan->splits : 1;
    args.partial = is_split ? (double *)(void *)(r->workspace.at + r->plan->at[WS_PARTIALS]) : NULL;
    args.counts = ht_counts_of(r, r->entry);
    args.beta_ptr = on_device ? (const double *)x->beta : NULL;
    args.beta = on_device ? 0.0 : *(const double *)x->beta;
    args.alpha = x->adds_zero ? 1.0 : 0.0; /* of k = 0, where only C is scaled: of a sum that is 0, or of none */
    if (x->k > 0) {
        args.a_src = (const double *)x->a + r->entry * x->stride_a;
        args.b_src = (const double *)x->b + r->entry * x->stride_b;
        args.a_ld = x->lda;
        args.b_ld = x->ldb;
        args.a_src_stride = x->stride_a;
        args.b_src_stride = x->stride_b;
        args.k = (int)x->k;
        args.a_k_contiguous = is_trans(x->transa);
        args.b_k_contiguous = !is_trans(x->transb);
        args.alpha_ptr = on_device ? (const double *)x->alpha : NULL;
        args.alpha = on_device ? 0.0 : *(const double *)x->alpha;
    }
    return args;
}

int ht_launch_native64(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct ht_native64_args args = native_args(h, r, s);
    return ht_fail_device(h, ht_dev_check(r->plan->set->kernel[s->kernel].launch64(&args, h->stream)));
}

int ht_launch_reduce64(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct ht_native64_args args = native_args(h, r, s);
    return ht_fail_device(h, ht_dev_check(r->plan->set->reduce64(&args, h->stream)));
}

/* ---- products ---- */

int ht_multiply64(halftone *h, const struct gemm_call *x) {
    const bool is_packed = x->packed_a != NULL && x->k > 0;
    struct gemm_run r;
    struct gemm_call read;
    memset(&r, 0, sizeof r);
    r.call = x;
    int code = ht_plan_call(h, x, is_packed ? 0 : entries_of(x, x->stride_a), is_packed ? 0 : entries_of(x, x->stride_b), &r.plan);
    if (code == HALFTONE_OK && r.plan->blocks > 1)
        return ht_run_blocks(h, x, r.plan, ht_multiply64);
    if (code == HALFTONE_OK)
        code = ht_open_workspace(h, (size_t)r.plan->bytes, &r.workspace);
    if (code != HALFTONE_OK)
        return code;
    if (is_packed) {
        read = ht_place_packed64(h, &r);
        r.call = &read;
    } else if (r.plan->set->kernel[r.plan->kernel].residues != NULL) {
        r.a = ht_place_in_workspace(r.plan, r.workspace.at, 0);
        r.b = ht_place_in_workspace(r.plan, r.workspace.at, 1);
    }
    return ht_run_plan(h, &r);
}
