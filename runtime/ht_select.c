/* ht_select.c: how an FP32 product runs: scheme, kernel, splits, certificate and fallback, by what it asks
 * for and the shape alone. */
#include "ht_call.h"
#include "ht_cost.h"
#include "ht_bound.h"

/* Longer sums are the fallback's: what a row loses is an int (pack/row_sums). */
static const int64_t CHECKED_K_MAX = INT64_C(1) << 21;

/* Units of the bound that the certificate adds to the scheme's own (ACCURACY.md, section 15). */
enum { CHECK_UNITS = 17 };

static const struct ht_scheme_desc *fallback_scheme(const struct ht_set_desc *set) {
    return ht_scheme_of(set, HT_ROLE_FALLBACK);
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

/* The scheme that was set by name, or by a kernel's name; NULL: the accuracy chooses by shape. */
static const char *fixed_scheme(const struct call *c) {
    return c->half->forced != NO_KERNEL ? c->half->set->kernel[c->half->forced].scheme : c->asked->scheme;
}

/* Whether the product's sum is exact, by a scheme that no shape changes: its kernels add 0 beta C where
 * alpha is 0, whoever sees it. */
static bool sums_exactly(const struct call *c) {
    const struct ht_set_desc *const set = c->half->set;
    const char *const name = c->is_fp64 ? ht_fixed_scheme64(c->h, c->asked, c->is_packed) : fixed_scheme(c);
    const struct ht_scheme_desc *const s = name != NULL && set != NULL ? ht_find_scheme(set, name) : NULL;
    return s != NULL && (c->is_fp64 ? ht_residues_of(set, s) != NULL : s->exact_k > 0);
}

void ht_settle_zeros(struct call *c) {
    c->adds_zero = sums_exactly(c);
    if (c->effect == EFFECT_ZEROS)
        c->effect = c->adds_zero ? EFFECT_SCALE : EFFECT_NONE;
}

static int scheme_named(const struct call *c, const char *name, const struct ht_scheme_desc **scheme) {
    *scheme = ht_find_scheme(c->half->set, name);
    if (*scheme == NULL)
        return ht_fail(c->h, HALFTONE_UNKNOWN_SCHEME, "this library was generated without the scheme '%s'",
                       name);
    return HALFTONE_OK;
}

int ht_packing_scheme(const struct call *c, const struct ht_scheme_desc **scheme) {
    const char *name = fixed_scheme(c);
    if (name == NULL)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "accuracy '%s' chooses the scheme by m, n and k, and a packed operand belongs to one "
                       "scheme: %s",
                       c->asked->accuracy.text,
                       c->site > 0
                           ? "say scheme= in this line"
                           : "set the one that halftone_query names in why_scheme with halftone_set_scheme");
    int code = scheme_named(c, name, scheme);
    if (code == HALFTONE_OK && (*scheme)->pack == NULL)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' reads the matrices as they are: nothing is packed, call halftone_sgemm",
                       name);
    return code;
}

/* Whether the caller wants no test of what `auto` computes. */
static bool goes_untested(const struct call *c, const struct ht_scheme_desc *s) {
    return c->h->recompute == HALFTONE_RECOMPUTE_NOTHING && s->scales != HT_SCALES_TILES;
}

/* ns that the certificate adds: a launch for what fails, before it one for blocks with many such results
 * where the plan has that, or where the product does all of it about a launch, for code that each call
 * fetches anew (2 to 3 us at 1024 on an H100, where a launch is 3). What the launches compute is the
 * data's. */
static int64_t fallback_ns(const struct plan *p) {
    const int launches = p->before_fallback != NO_KERNEL ? 2 : 1;
    return p->checked ? launches * (int64_t)p->set->launch_ns : 0;
}

bool ht_checks_k(const struct call *c, const struct ht_scheme_desc *s) {
    return c->k <= CHECKED_K_MAX && (c->half->forced != NO_KERNEL || c->k >= s->native_k);
}

/* Whether the first scheme with the certificate, as p has it, is what `auto` runs, rather than the
 * fallback alone. */
static bool checks_shape(const struct call *c, const struct plan *p, const struct ht_choice *choice,
                         const struct ht_choice *unpacked) {
    return ht_checks_k(c, p->scheme) &&
           (c->half->forced != NO_KERNEL ||
            ht_add(ht_total_ns(p->set, choice, SIZES_OF(c)), fallback_ns(p)) <=
                ht_total_ns(p->set, unpacked, SIZES_OF(c)));
}

/* Which kernel and split a call runs, and what for with `auto`. */
static struct ht_choice select_kernel(const struct call *c, struct plan *p) {
    const struct ht_set_desc *const set = p->set;
    const struct ht_choice choice =
        c->half->forced != NO_KERNEL
            ? ht_pick_splits(set, c->half->forced, SIZES_OF(c), HT_PARTIAL_LIMIT_BYTES)
            : ht_pick(set, p->scheme->name, SIZES_OF(c), HT_PARTIAL_LIMIT_BYTES);
    const struct ht_scheme_desc *fallback = fallback_scheme(set);
    p->fallback = p->before_fallback = NO_KERNEL;
    p->fma_only = c->k <= p->scheme->simt_k_max;
    if (!ht_checks_data(set, p->scheme, p->is_auto))
        return choice;
    const struct ht_choice unpacked = ht_pick(set, fallback->name, SIZES_OF(c), HT_PARTIAL_LIMIT_BYTES);
    p->fma_only = c->k <= fallback->simt_k_max;
    p->checked = !goes_untested(c, p->scheme);
    if (p->checked && !ht_fallback_in_kernel(set, &choice, SIZES_OF(c))) {
        p->fallback = ht_pick_fallback(set, fallback->name);
        p->before_fallback = ht_pick_blocks(set, fallback->name, &choice, SIZES_OF(c));
    }
    if (!p->is_auto || checks_shape(c, p, &choice, &unpacked))
        return choice;
    p->checked = false;
    p->fallback = p->before_fallback = NO_KERNEL;
    p->scheme = fallback;
    return unpacked;
}

int64_t ht_plan_bound_units(const struct plan *p, int64_t k) {
    const int64_t own = ht_bound_units(p->scheme, k);
    if (!p->checked)
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
    struct ht_accuracy_candidate found;
    struct plan p;
    memset(&found, 0, sizeof found);
    memset(&p, 0, sizeof p);
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
    found.ns = ht_add(ht_total_ns(set, &choice, SIZES_OF(c)), fallback_ns(&p));
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
    return ht_accuracy_choose(unforced.set, accuracy, SIZES_OF(&one), HT_PARTIAL_LIMIT_BYTES, &checked);
}

int ht_fail_accuracy(halftone *h, const struct ht_accuracy *accuracy, const struct ht_accuracy_choice *choice,
                     int64_t k) {
    ht_accuracy_explain(accuracy, choice, at_least_one(k), h->detail, sizeof h->detail);
    return HALFTONE_ACCURACY;
}

int ht_scheme_of_call(const struct call *c, const struct ht_scheme_desc **scheme, bool *is_auto) {
    const char *name = fixed_scheme(c);
    *is_auto = c->asked->is_auto;
    if (name != NULL)
        return scheme_named(c, name, scheme);
    const struct ht_accuracy_choice choice = ht_choose_scheme(c, &c->asked->accuracy);
    if (choice.first.scheme == NULL)
        return ht_fail_accuracy(c->h, &c->asked->accuracy, &choice, c->k);
    *is_auto = strcmp(choice.first.name, "auto") == 0;
    *scheme = *is_auto ? ht_find_scheme(c->half->set, ht_auto_scheme(c->half->set)) : choice.first.scheme;
    return HALFTONE_OK;
}

int ht_select(const struct call *c, struct plan *p) {
    memset(p, 0, sizeof *p);
    p->set = c->half->set;
    int code = ht_scheme_of_call(c, &p->scheme, &p->is_auto);
    if (code != HALFTONE_OK)
        return code;
    const struct ht_choice choice = select_kernel(c, p);
    if (choice.kernel < 0)
        return ht_fail(c->h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no kernel in this library%s",
                       p->scheme->name,
                       c->half->fitted != NULL ? " that fits the shared memory of this GPU" : "");
    if (choice.splits > HT_PICK_SPLITS_MAX)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: the exact sums of scheme '%s' hold k up to %lld",
                       (long long)c->k, p->scheme->name, (long long)p->scheme->exact_k * HT_PICK_SPLITS_MAX);
    p->kernel = choice.kernel;
    p->splits = choice.splits;
    p->kernel_ns = ht_add(choice.predicted_ns, fallback_ns(p));
    return HALFTONE_OK;
}
