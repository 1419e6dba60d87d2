/* ht_select.c: how a product runs: scheme, kernel, splits, certificate and fallback, by what it asks for, the
 * shape, and of one row how k lies.
 *
 * FP64 runs by residues under a bound of |A||B| where the data certify it. Packing counts large elements of
 * rows. Where all rows and columns have enough, residues compute C. Else a second scheme does, of as many
 * moduli or more. It tests each element by a product of absolute values and by its size. FP64 arithmetic
 * computes what fails, in launches of its own. Proof: ACCURACY64.md, section 18. */
#include "ht_call.h"
#include "ht_cost.h"
#include "ht_bound.h"

enum {
    CHECK_UNITS =
        17, /* of the bound that FP32's certificate adds to the scheme's own (ACCURACY.md, section 15) */
    RISK_SHARE = 10, /* of a call by the fallback: pays_check */
};

/* ---- what `auto` takes ---- */

static const struct ht_scheme_desc *fallback_scheme(const struct ht_set_desc *set) {
    return ht_scheme_of(set, HT_ROLE_FALLBACK);
}

static const char *native_name(const struct call *c) {
    return c->h->half[0].set->role[HT_ROLE_NATIVE];
}

bool ht_auto_is_fallback(const struct ht_set_desc *set) {
    return ht_scheme_of(set, HT_ROLE_AUTO) == NULL && fallback_scheme(set) != NULL;
}

const char *ht_auto_scheme(const struct ht_set_desc *set) {
    return set->role[ht_auto_is_fallback(set) ? HT_ROLE_FALLBACK : HT_ROLE_AUTO];
}

bool ht_auto_takes_all(const struct ht_set_desc *set) {
    const struct ht_scheme_desc *s = ht_find_scheme(set, ht_auto_scheme(set));
    return s != NULL && (s->range == HT_RANGE_ALL || ht_can_check(set, s));
}

/* Whether a scheme with the certificate is for this k. */
static bool suits_k(const struct call *c, const struct ht_scheme_desc *s) {
    return c->k <= HT_CHECKED_K_MAX && (c->half->forced != NO_KERNEL || c->k >= s->native_k);
}

bool ht_auto_weighs(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    const struct ht_scheme_desc *const first = ht_find_scheme(set, ht_auto_scheme(set));
    const bool checks = first != NULL && ht_checks_data(set, first, true);
    return s == first ? !checks || suits_k(c, s) : checks && s == fallback_scheme(set);
}

/* ---- schemes by name ---- */

const char *ht_fixed_scheme(const struct call *c, bool is_packed) {
    const int role = c->asked->accuracy.role64;
    const bool is_by_shape = role == 0 || (role == HT_ROLE_FAST && !is_packed);
    if (!c->is_fp64 && c->half->forced != NO_KERNEL)
        return c->half->set->kernel[c->half->forced].scheme;
    return c->asked->scheme != NULL || !c->is_fp64 || is_by_shape ? c->asked->scheme
                                                                  : c->h->half[0].set->role[role];
}

bool ht_is_exact(const struct call *c) {
    return c->is_fp64 && c->asked->accuracy.role64 == HT_ROLE_EXACT;
}

int ht_scheme_named(const struct call *c, const char *name, int code, const struct ht_scheme_desc **scheme) {
    *scheme = c->half->set != NULL ? ht_find_scheme(c->half->set, name) : NULL;
    if (*scheme != NULL)
        return HALFTONE_OK;
    if (!c->is_fp64)
        return ht_fail(c->h, HALFTONE_UNKNOWN_SCHEME, "this library was generated without the scheme '%s'",
                       name);
    return ht_fail(c->h, code, "this library was generated without scheme '%s', which FP64 products need%s",
                   name, code == HALFTONE_ACCURACY ? " for this accuracy" : "");
}

/* Whether the product's sum is exact, by a scheme that no shape changes: its kernels add 0 beta C where
 * alpha is 0, whoever sees it. */
static bool sums_exactly(const struct call *c) {
    const struct ht_set_desc *const set = c->half->set;
    const char *const name = ht_fixed_scheme(c, c->is_packed);
    const struct ht_scheme_desc *const s = name != NULL && set != NULL ? ht_find_scheme(set, name) : NULL;
    return s != NULL && (c->is_fp64 ? ht_residues_of(set, s) != NULL : s->exact_k > 0);
}

void ht_settle_zeros(struct call *c) {
    c->adds_zero = sums_exactly(c);
    if (c->effect == EFFECT_ZEROS)
        c->effect = c->adds_zero ? EFFECT_SCALE : EFFECT_NONE;
}

/* ---- kernels and times ---- */

static bool is_forced(const struct call *c, const struct ht_scheme_desc *s) {
    return c->half->forced != NO_KERNEL && strcmp(c->half->set->kernel[c->half->forced].scheme, s->name) == 0;
}

/* Products of a scheme that one launch makes: one for each modulus or pair of slices; 1 of the others. */
static int64_t products_of(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].recipe == HT_RECIPE_OZAKI)
            return ht_ozaki_products(&c->asked->ozaki, c->k);
    return ht_moduli_of(set, s);
}

/* A scheme's kernel for a shape. */
static struct ht_choice pick(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    const int64_t most = c->without_workspace && c->is_fp64 ? 0 : HT_PARTIAL_LIMIT_BYTES;
    const struct ht_shape x = {at_least_one(c->m), at_least_one(c->n), c->k, at_least_one(c->batch),
                               c->is_fp64 ? products_of(c, s) : 1};
    return is_forced(c, s) ? ht_pick_splits(set, c->half->forced, x, most) : ht_pick(set, s->name, x, most);
}

/* Whether a scheme's integer sums, whose k FP64 products do not split, could overflow. */
static bool exceeds_exact_k(const struct ht_scheme_desc *s, int64_t k) {
    return s->exact_k > 0 && k > s->exact_k;
}

bool ht_predict64(const struct call *c, const struct ht_scheme_desc *s, int64_t *ns) {
    const struct ht_choice choice = pick(c, s);
    const struct ht_kernel_desc *const by = ht_residues_of(c->half->set, s);
    *ns = by != NULL ? ht_add(choice.predicted_ns, ht_residues_ns(c, by)) : choice.predicted_ns;
    return choice.kernel >= 0 && !exceeds_exact_k(s, c->k) && (by == NULL || c->k <= HT_CRT_K_MOST);
}

/* ---- the scheme and the kernels of FP32 ---- */

/* ns that the certificate adds. FP32: a launch for what fails, before it one for blocks with many such
 * results where the plan has that, or where the product does all of it about a launch, for code that each
 * call fetches anew (2 to 3 us at 1024 on an H100, where a launch is 3). What the launches compute is the
 * data's. */
static int64_t certificate_ns(const struct plan *p) {
    const int launches = p->certificate.needed > 0 ? HT_CRT_CHECK_LAUNCHES : p->before_fallback != NO_KERNEL ? 2 : 1;
    return p->checked ? launches * (int64_t)p->set->launch_ns : 0;
}

/* Whether `auto` tries slices: not where that is predicted to save less than a tenth: the model errs by
 * as much, and data that they cannot hold are computed twice, in two to four times the fallback's time. */
static bool pays_check(const struct plan *p, int64_t ns, int64_t fallback_ns) {
    return ns <= fallback_ns - (p->checked ? fallback_ns / RISK_SHARE : 0);
}

/* Which kernel and split a call runs, and what for with `auto`: its first scheme with the certificate, or the
 * fallback alone. */
static struct ht_choice select_kernel(const struct call *c, struct plan *p) {
    const struct ht_set_desc *const set = p->set;
    const struct ht_choice choice = pick(c, p->scheme);
    const struct ht_shape x = shape_of(c);
    const struct ht_scheme_desc *fallback = fallback_scheme(set);
    p->fallback = p->before_fallback = NO_KERNEL;
    p->fma_only = c->k <= p->scheme->simt_k_max;
    if (!ht_checks_data(set, p->scheme, p->is_auto))
        return choice;
    const struct ht_choice unpacked = ht_pick(set, fallback->name, x, HT_PARTIAL_LIMIT_BYTES);
    p->fma_only = c->k <= fallback->simt_k_max;
    p->checked = c->h->recompute != HALFTONE_RECOMPUTE_NOTHING || p->scheme->scales == HT_SCALES_TILES;
    if (p->checked && !ht_fallback_in_kernel(set, &choice, x)) {
        p->fallback = ht_pick_fallback(set, fallback->name);
        p->is_sampled = p->is_auto && c->half->forced == NO_KERNEL && ht_asks_sample(set, p->scheme, &choice, x);
        p->before_fallback = ht_pick_blocks(set, fallback->name, &choice, x, p->is_sampled);
        p->sample_most = ht_sample_most(set, &choice, &unpacked, x);
    }
    if (!p->is_auto ||
        (suits_k(c, p->scheme) &&
         (c->half->forced != NO_KERNEL ||
          pays_check(p, ht_add(ht_total_ns(set, &choice, x), certificate_ns(p)),
                     ht_total_ns(set, &unpacked, x)))))
        return choice;
    p->checked = p->is_sampled = false;
    p->fallback = p->before_fallback = NO_KERNEL;
    p->scheme = fallback;
    return unpacked;
}

int64_t ht_plan_bound_units(const struct plan *p, int64_t k) {
    const int64_t own = ht_bound_units(p->scheme, k);
    if (!p->checked || p->certificate.needed > 0)
        return own;
    const int64_t of_fallback = ht_bound_units(fallback_scheme(p->set), k),
                  added = p->scheme->scales == HT_SCALES_TILES
                              ? 0
                              : CHECK_UNITS; /* of tiles A' B' is the data's own */
    return own + added < of_fallback ? of_fallback : own + added;
}

/* `auto` beside the schemes, for every input; scheme NULL: this set's `auto` does not check the data. */
static struct ht_accuracy_candidate auto_candidate(const struct call *c) {
    const struct ht_set_desc *const set = c->half->set;
    const struct ht_scheme_desc *fallback = fallback_scheme(set);
    struct ht_accuracy_candidate found = HT_ZERO;
    struct plan p = HT_ZERO;
    p.set = set;
    p.scheme = ht_find_scheme(set, ht_auto_scheme(set));
    p.is_auto = true;
    if (p.scheme == NULL || fallback == NULL)
        return found;
    const struct ht_choice choice = select_kernel(c, &p);
    if (choice.kernel < 0 || (!p.checked && p.scheme != fallback))
        return found;
    found.name = "auto";
    found.scheme = p.scheme;
    found.units = ht_plan_bound_units(&p, c->k);
    found.ns = ht_add(ht_total_ns(set, &choice, shape_of(c)), certificate_ns(&p));
    return found;
}

struct ht_accuracy_choice ht_choose_scheme(const struct call *c, const struct ht_accuracy *accuracy) {
    struct ht_half unforced = *c->half;
    struct call one = *c;
    unforced.forced = NO_KERNEL;
    one.half = &unforced;
    one.m = at_least_one(c->m);
    one.n = at_least_one(c->n);
    one.k = at_least_one(c->k);
    one.batch = at_least_one(c->batch);
    const struct ht_accuracy_candidate checked = auto_candidate(&one);
    return ht_accuracy_choose(unforced.set, accuracy, shape_of(&one), HT_PARTIAL_LIMIT_BYTES, &checked);
}

int ht_fail_accuracy(halftone *h, const struct ht_accuracy *accuracy, const struct ht_accuracy_choice *choice,
                     int64_t k) {
    ht_accuracy_explain(accuracy, choice, at_least_one(k), h->detail, sizeof h->detail);
    return HALFTONE_ACCURACY;
}

/* ---- the scheme and the certificate of FP64 ---- */

double ht_units64(const struct call *c) {
    return c->asked->scheme != NULL ? 0
           : c->asked->is_auto      ? (double)c->k
                                    : c->asked->accuracy.bound * 0x1p53;
}

/* Whether s is a scheme of residues whose certificate ordinary data pass. */
static bool certifies(const struct call *c, const struct ht_scheme_desc *s,
                      struct ht_certificate *certificate) {
    const int moduli = ht_moduli_of(c->half->set, s);
    return moduli > 1 && ht_crt_certify(certificate, moduli, c->k, ht_units64(c), HT_CRT_COUNT_HALF_BINADES);
}

/* Whether fp64-fast may take s, under one scheme's bound, relative to the largest of a row and a column. */
static bool is_fast(const struct call *c, const struct ht_scheme_desc *s) {
    const struct ht_set_desc *const set = c->half->set;
    return c->asked->accuracy.role64 == HT_ROLE_FAST && c->k > 0 &&
           (s == ht_scheme_of(set, HT_ROLE_FAST) ||
            (s == ht_scheme_of(set, HT_ROLE_FAST_DIGITS) &&
             (double)ht_bound_units(s, c->k) * 0x1p-53 <= ht_moduli_bound(set->fast_moduli, c->k)));
}

bool ht_weighs64(const struct call *c, const struct ht_scheme_desc *s, struct ht_certificate *certificate,
                 int64_t *ns) {
    const struct ht_scheme_desc *const native = ht_scheme_of(c->half->set, HT_ROLE_NATIVE);
    const bool is_certified = native != NULL && s != native && certifies(c, s, certificate);
    if (!is_certified)
        memset(certificate, 0, sizeof *certificate);
    if ((c->without_workspace && s != native) || (s != native && !is_certified && !is_fast(c, s)) ||
        !ht_predict64(c, s, ns))
        return false;
    *ns = ht_add(*ns, is_certified ? HT_CRT_CHECK_LAUNCHES * (int64_t)c->half->set->launch_ns : 0);
    return true;
}

/* The fastest of those that the call's accuracy may take; FP64 arithmetic where none is as fast. */
static void choose_by_shape(const struct call *c, struct plan *p) {
    int64_t least = INT64_MAX, ns;
    struct ht_certificate one;
    if (p->scheme != NULL && !ht_weighs64(c, p->scheme, &one, &least) && ht_units64(c) > 0)
        return;
    for (int i = 0; i < p->set->schemes; i++) {
        const struct ht_scheme_desc *const s = &p->set->scheme[i];
        if (!ht_weighs64(c, s, &one, &ns) || ns >= least)
            continue;
        least = ns;
        p->scheme = s;
        p->certificate = one;
    }
}

/* The fewest moduli whose certificate ordinary data pass at this k; scheme NULL: none. */
static void choose_least_certified(const struct call *c, struct plan *p) {
    struct call one = *c;
    one.k = at_least_one(c->k);
    p->scheme = NULL;
    for (int i = 0, least = HT_CRT_MOST + 1; i < p->set->schemes; i++) {
        const int moduli = ht_moduli_of(p->set, &p->set->scheme[i]);
        struct ht_certificate found;
        if (moduli < least && certifies(&one, &p->set->scheme[i], &found)) {
            least = moduli;
            p->scheme = &p->set->scheme[i];
            p->certificate = found;
        }
    }
}

/* Bits of |A||B| that FP64 arithmetic keeps: (k + 4) 2^-53. */
static int bits_of_native(int64_t k) {
    int lost = 0;
    while (lost < 62 && INT64_C(1) << lost < ht_add(k, 4))
        lost++;
    return 53 - lost;
}

int ht_check_bound64(const struct call *c) {
    const struct ht_accuracy *const accuracy = &c->asked->accuracy;
    const double native = ((double)at_least_one(c->k) + 4) * 0x1p-53;
    if (accuracy->bound == 0 ||
        native <= accuracy->bound * (1 + 0x1p-40)) /* as a bound that query told with twelve decimals */
        return HALFTONE_OK;
    const bool is_exact_enough =
        accuracy->bound >= 0x1p-53 && ht_scheme_of(c->half->set, HT_ROLE_EXACT) != NULL;
    return ht_fail(c->h, HALFTONE_ACCURACY, "%s: at k = %lld scheme %s keeps bits=%d%s", accuracy->text,
                   (long long)c->k, native_name(c), bits_of_native(at_least_one(c->k)),
                   is_exact_enough ? ", accuracy fp64-exact bits=53" : "");
}

/* ---- the scheme of a call, of packed operands ---- */

/* What is asked for by name, or by an accuracy, is another failure. */
static int code_of_lack(const struct call *c) {
    return c->asked->scheme != NULL ? HALFTONE_NOT_SUPPORTED : HALFTONE_ACCURACY;
}

static int packing_scheme64(const struct call *c, const char *fixed, struct plan *p) {
    int code = ht_check_bound64(c);
    if (c->k > HT_CRT_K_MOST)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: moduli hold k up to %d", (long long)c->k,
                       (int)HT_CRT_K_MOST);
    if (fixed != NULL) {
        code = ht_scheme_named(c, fixed, code_of_lack(c), &p->scheme);
        return code == HALFTONE_OK && ht_moduli_of(p->set, p->scheme) == 1
                   ? ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                             "scheme '%s' has no packed operands: those of residues have", fixed)
                   : code;
    }
    /* by data, the rest by FP64 arithmetic */
    if (AND_THEN(code, ht_scheme_named(c, native_name(c), HALFTONE_ACCURACY, &p->scheme)) != HALFTONE_OK)
        return code;
    choose_least_certified(c, p);
    return p->scheme != NULL ? HALFTONE_OK
                             : ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                                       "no scheme of this library can be certified at k = %lld, so nothing "
                                       "is packed: use halftone_dgemm",
                                       (long long)c->k);
}

static void begin_plan(const struct call *c, struct plan *p) {
    memset(p, 0, sizeof *p);
    p->set = c->half->set;
    p->fallback = p->before_fallback = NO_KERNEL;
}

int ht_packing_scheme(const struct call *c, struct plan *p) {
    const char *const name = ht_fixed_scheme(c, true);
    begin_plan(c, p);
    if (c->is_fp64)
        return packing_scheme64(c, name, p);
    if (name == NULL)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "accuracy '%s' chooses the scheme by m, n and k, and a packed operand belongs to one "
                       "scheme: %s",
                       c->asked->accuracy.text,
                       c->site > 0
                           ? "say scheme= in this line"
                           : "set the one that halftone_query names in why_scheme with halftone_set_scheme");
    const int code = ht_scheme_named(c, name, HALFTONE_UNKNOWN_SCHEME, &p->scheme);
    if (code == HALFTONE_OK && p->scheme->pack == NULL)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' reads the matrices as they are: nothing is packed, call halftone_sgemm",
                       name);
    return code;
}

int ht_scheme_of_call(const struct call *c, struct plan *p) {
    const char *const name = ht_fixed_scheme(c, false);
    begin_plan(c, p);
    p->is_auto = !c->is_fp64 && c->asked->is_auto;
    if (name != NULL && (!c->is_fp64 || c->asked->scheme != NULL || c->k > 0))
        return ht_scheme_named(c, name, code_of_lack(c), &p->scheme);
    if (c->is_fp64) {
        int code = ht_check_bound64(c);
        if (code != HALFTONE_OK)
            return code;
        code = ht_scheme_named(c, native_name(c), HALFTONE_NOT_SUPPORTED, &p->scheme);
        if (p->set != NULL)
            choose_by_shape(c, p);
        return p->scheme != NULL ? HALFTONE_OK : code;
    }
    const struct ht_accuracy_choice choice = ht_choose_scheme(c, &c->asked->accuracy);
    if (choice.first.scheme == NULL)
        return ht_fail_accuracy(c->h, &c->asked->accuracy, &choice, c->k);
    p->is_auto = strcmp(choice.first.name, "auto") == 0;
    p->scheme = p->is_auto ? ht_find_scheme(p->set, ht_auto_scheme(p->set)) : choice.first.scheme;
    return HALFTONE_OK;
}

/* ---- a plan ---- */

/* A kernel for FP64 that was set by name and that the call would leave out is an error. */
static int check_forced(const struct call *c, const struct plan *p, const struct ht_scheme_desc *rest) {
    if (c->half->forced == NO_KERNEL || is_forced(c, p->scheme) || (rest != NULL && is_forced(c, rest)))
        return HALFTONE_OK;
    const struct ht_kernel_desc *const forced = &c->half->set->kernel[c->half->forced];
    return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                   "kernel '%s', which was set, is of scheme '%s', and this product runs '%s'", forced->name,
                   forced->scheme, p->scheme->name);
}

/* The kernel of FP64 arithmetic for what the counts leave: one that asks them, as tiles do, and is not another
 * than the one that was set; k is whole. */
static int pick_for_rest(const struct call *c, const struct ht_scheme_desc *native) {
    const struct ht_set_desc *const set = c->half->set;
    struct ht_choice best = {NO_KERNEL, 1, INT64_MAX};
    for (int i = 0; i < set->kernels; i++) {
        if (strcmp(set->kernel[i].scheme, native->name) != 0 || set->kernel[i].alone_most == 0 ||
            (is_forced(c, native) && i != c->half->forced))
            continue;
        const struct ht_choice choice = ht_pick_splits(set, i, shape_of(c), 0);
        best = choice.predicted_ns < best.predicted_ns ? choice : best;
    }
    return best.kernel;
}

/* Where a limit can cut its workspace, as that of packed operands' products cannot be. Of elements that are left so many
 * that computing them one by one takes what the scheme saves are the most. */
static void choose_second(const struct call *c, int64_t native_ns, struct plan *p) {
    const struct ht_set_desc *const set = p->set;
    const bool may = (!c->is_packed || c->h->workspace_limit == 0) && c->batch <= HT_GRID_BATCH;
    const int first = ht_moduli_of(set, p->scheme);
    int best = INT32_MIN;
    for (int i = 0; may && i < set->schemes; i++) {
        int64_t ns;
        const int moduli = ht_moduli_of(set, &set->scheme[i]);
        const double gain = moduli >= first && ht_predict64(c, &set->scheme[i], &ns)
                                ? ht_crt_second_gain(moduli, first, ns, native_ns)
                                : 0;
        const int rank = ht_crt_second_rank(moduli, c->k, ht_units64(c));
        if (gain <= 0 || rank <= best)
            continue;
        best = rank;
        p->second.scheme = &set->scheme[i];
        p->second.kernel = pick(c, p->second.scheme).kernel;
        p->second.most =
            (int64_t)(gain * set->kernel[p->fallback].alone_most / 4096 * (double)c->m * (double)c->n);
        p->second.factor = (float)(0x1p52 / (ht_units64(c) - 1) * (1 + 0x1p-18) + 1); /* 1: for |X| less E */
    }
}

static int plan_certificate(const struct call *c, const struct ht_scheme_desc *native, struct plan *p) {
    p->checked = true;
    p->fallback = pick_for_rest(c, native);
    if (p->fallback != NO_KERNEL) {
        int64_t ns, native_ns;
        if (!ht_predict64(c, native, &native_ns))
            return HALFTONE_OK;
        choose_second(c, native_ns, p);
        p->is_sampled = !c->is_packed && c->batch == 1 && ht_predict64(c, p->scheme, &ns) &&
                        ht_crt_is_sampled(ns, native_ns);
        return HALFTONE_OK;
    }
    if (!is_forced(c, native))
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' has no tile that fits the shared memory of this GPU", native->name);
    return ht_fail(
        c->h, HALFTONE_NOT_SUPPORTED,
        "kernel '%s', which was set, takes vectors, and what scheme '%s' leaves takes a tile of %s",
        p->set->kernel[c->half->forced].name, p->scheme->name, native->name);
}

/* What FP64 can be refused for. */
static int check64(const struct call *c, const struct plan *p, const struct ht_scheme_desc *native) {
    if (exceeds_exact_k(p->scheme, c->k))
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: sums of scheme '%s' are exact for k up to %d",
                       (long long)c->k, p->scheme->name, p->scheme->exact_k);
    return c->k > 0 ? check_forced(c, p, p->certificate.needed > 0 ? native : NULL) : HALFTONE_OK;
}

/* A product of packed operands, for which there must be workspace too, may take another route. */
static void take_one_row(const struct call *c, const struct ht_choice *choice, int64_t ns, struct plan *p) {
    const bool is_packed_too = ht_one_row_ns(p->set, p->scheme, shape_of(c), true) < choice->predicted_ns;
    p->is_one_row = true;
    p->packed_splits = is_packed_too ? 1 : p->splits;
    p->splits = 1;
    p->kernel_ns = ns;
}

static void take_few_rows(const struct ht_few_rows *few, struct plan *p) {
    p->few_rows = few->rows;
    p->packed_splits = p->splits;
    p->splits = few->splits;
    p->pack_ns = few->pack_ns;
    p->kernel_ns = few->kernel_ns;
}

/* Kernels of a few rows, where they are faster than all rows packed. Bits are the same either way. */
static void settle_rows(const struct call *c, const struct ht_choice *choice, struct plan *p) {
    const int large = large_side(c);
    const bool is_along = lies_along_k(c, large) == 1 && lies_along_k(c, 1 - large) != 0;
    const int64_t half = c->h->workspace_limit / 2,
                  most = least_of(half > 0 ? half : INT64_MAX, HT_PARTIAL_LIMIT_BYTES),
                  all = c->is_packed ? choice->predicted_ns : ht_total_ns(p->set, choice, shape_of(c)),
                  one = is_along ? ht_one_row_ns(p->set, p->scheme, shape_of(c), c->is_packed) : INT64_MAX;
    const struct ht_few_rows found = ht_weigh_few_rows(p->set, p->scheme, shape_of(c), most);
    const int64_t few = c->is_packed || found.splits == 0 ? INT64_MAX : ht_add(found.pack_ns, found.kernel_ns);
    if (one < all && one <= few)
        take_one_row(c, choice, one, p);
    else if (few < all)
        take_few_rows(&found, p);
}

int ht_select(const struct call *c, struct plan *p) {
    const struct ht_scheme_desc *const native = ht_scheme_of(c->half->set, HT_ROLE_NATIVE);
    int code = HALFTONE_OK;
    begin_plan(c, p);
    if (c->is_fp64 && c->k == 0) /* only C is scaled: every scheme does what FP64 arithmetic does */
        code = ht_scheme_named(c, native_name(c), HALFTONE_NOT_SUPPORTED, &p->scheme);
    else
        code = c->is_fp64 && c->is_packed ? ht_packing_scheme(c, p) : ht_scheme_of_call(c, p);
    if (c->is_fp64)
        AND_THEN(code, check64(c, p, native));
    if (code != HALFTONE_OK)
        return code;
    const struct ht_choice choice = c->is_fp64 ? pick(c, p->scheme) : select_kernel(c, p);
    if (choice.kernel < 0)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no kernel%s%s", p->scheme->name,
                       c->is_fp64 ? "" : " in this library",
                       c->is_fp64 || c->half->fitted != NULL ? " that fits the shared memory of this GPU"
                                                             : "");
    if (choice.splits > HT_PICK_SPLITS_MAX)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: the exact sums of scheme '%s' hold k up to %lld",
                       (long long)c->k, p->scheme->name, (long long)p->scheme->exact_k * HT_PICK_SPLITS_MAX);
    p->kernel = choice.kernel;
    p->splits = choice.splits;
    p->is_exact = ht_is_exact(c) && c->k > 0;
    if (p->certificate.needed > 0)
        code = plan_certificate(c, native, p);
    p->kernel_ns = ht_add(choice.predicted_ns, certificate_ns(p));
    if (!c->is_fp64 && c->ranks == RANKS_NONE && c->half->forced == NO_KERNEL)
        settle_rows(c, &choice, p);
    return code;
}
