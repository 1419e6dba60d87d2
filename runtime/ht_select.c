/* ht_select.c: how a call runs: scheme, kernel, splits, certificate and fallback, by the handle's settings
 * and the shape alone. */
#include "ht_call.h"
#include "ht_cost.h"
#include "ht_bound.h"

/* Longer sums are the fallback's: what a row loses is an int (pack/row_sums). */
static const int64_t CHECKED_K_MAX = INT64_C(1) << 21;

/* Units of the bound that the certificate adds to the scheme's own (ACCURACY.md, section 15). */
enum { CHECK_UNITS = 17 };

static const struct ht_scheme_desc *fallback_scheme(const struct ht_set_desc *set) {
    return ht_find_scheme(set, set->auto_fallback);
}

bool ht_auto_is_fallback(const struct ht_set_desc *set) {
    return ht_find_scheme(set, set->auto_first) == NULL && fallback_scheme(set) != NULL;
}

const char *ht_auto_scheme(const struct ht_set_desc *set) {
    return ht_auto_is_fallback(set) ? set->auto_fallback : set->auto_first;
}

/* The scheme that was set by name, or by a kernel's name; NULL: the accuracy chooses by shape. */
static const char *fixed_scheme(const halftone *h) {
    return h->forced_kernel != NO_KERNEL ? h->set->kernel[h->forced_kernel].scheme : ht_asked(h, false)->scheme;
}

/* Whether the product's sum is exact, by a scheme that no shape changes: its kernels add 0 beta C where alpha is 0, whoever sees it. */
static bool sums_exactly(const halftone *h, bool is_fp64, bool is_packed) {
    const char *const name = is_fp64 ? ht_fixed_scheme64(ht_asked(h, true), is_packed) : fixed_scheme(h);
    const struct ht_set_desc *const set = is_fp64 ? h->set64 : h->set;
    const struct ht_scheme_desc *const s = name != NULL && set != NULL ? ht_find_scheme(set, name) : NULL;
    return s != NULL && (is_fp64 ? ht_residues_kernel(set, s) != NO_KERNEL : s->exact_k > 0);
}

void ht_settle_zeros(const halftone *h, struct gemm_call *x, bool is_packed, enum call_effect *effect) {
    x->adds_zero = sums_exactly(h, x->is_fp64, is_packed);
    if (*effect == EFFECT_ZEROS)
        *effect = x->adds_zero ? EFFECT_SCALE : EFFECT_NONE;
}

static int scheme_named(halftone *h, const char *name, const struct ht_scheme_desc **scheme) {
    *scheme = ht_find_scheme(h->set, name);
    if (*scheme == NULL)
        return ht_fail(h, HALFTONE_UNKNOWN_SCHEME, "this library was generated without the scheme '%s'",
                       name);
    return HALFTONE_OK;
}

int ht_packing_scheme(halftone *h, const struct ht_scheme_desc **scheme) {
    const char *name = fixed_scheme(h);
    if (name == NULL)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "accuracy '%s' chooses the scheme by m, n and k, and a packed operand belongs to one "
                       "scheme: %s",
                       ht_asked(h, false)->accuracy.text,
                       h->site > 0 ? "say scheme= in this line"
                                   : "set the one that halftone_query names in why_scheme with halftone_set_scheme");
    int code = scheme_named(h, name, scheme);
    if (code == HALFTONE_OK && (*scheme)->pack == NULL)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' reads the matrices as they are: nothing is packed, call halftone_sgemm",
                       name);
    return code;
}

bool ht_auto_takes_all(const struct ht_set_desc *set) {
    const struct ht_scheme_desc *s = ht_find_scheme(set, ht_auto_scheme(set));
    return s != NULL && (s->range == HT_RANGE_ALL || ht_can_check(set, s));
}

/* Whether the caller wants no test of what `auto` computes. */
static bool goes_untested(const halftone *h, const struct ht_scheme_desc *s) {
    return h->recompute == HALFTONE_RECOMPUTE_NOTHING && s->scales != HT_SCALES_TILES;
}

/* ns that the certificate adds: a launch for what fails, before it one for blocks with many such results where the plan has that, or
 * where the product does all of it about a launch, for code that each call fetches anew (2 to 3 us at 1024 on an H100, where a launch
 * is 3). What the launches compute is the data's. */
static int64_t fallback_ns(const halftone *h, const struct plan *p) {
    const int launches = p->before_fallback != NO_KERNEL ? 2 : 1;
    return p->checked ? launches * (int64_t)h->set->launch_ns : 0;
}

/* Whether the first scheme with the certificate, as p has it, is what `auto` runs, rather than the fallback alone. */
static bool checks_shape(const halftone *h, int forced, const struct plan *p, const struct ht_choice *choice,
                         const struct ht_choice *unpacked, int64_t m, int64_t n, int64_t k, int64_t batch) {
    if (k > CHECKED_K_MAX)
        return false;
    if (forced != NO_KERNEL)
        return true;
    return k >= p->scheme->native_k &&
           ht_add(ht_total_ns(h->set, choice, m, n, k, batch), fallback_ns(h, p)) <=
               ht_total_ns(h->set, unpacked, m, n, k, batch);
}

/* Which kernel and split a call runs, and what for with `auto`; forced: a kernel's index, or NO_KERNEL. */
static struct ht_choice select_kernel(const halftone *h, int forced, int64_t m, int64_t n, int64_t k,
                                      int64_t batch, struct plan *p) {
    const struct ht_choice choice =
        forced != NO_KERNEL ? ht_pick_splits(h->set, forced, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES)
                            : ht_pick(h->set, p->scheme->name, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES);
    const struct ht_scheme_desc *fallback = fallback_scheme(h->set);
    p->fallback = p->before_fallback = NO_KERNEL;
    p->fma_only = k <= p->scheme->simt_k_max;
    if (!ht_checks_data(h->set, p->scheme, p->is_auto))
        return choice;
    const struct ht_choice unpacked = ht_pick(h->set, fallback->name, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES);
    p->fma_only = k <= fallback->simt_k_max;
    p->checked = !goes_untested(h, p->scheme);
    if (p->checked && !ht_fallback_in_kernel(h->set, &choice, m, n, k, batch)) {
        p->fallback = ht_pick_fallback(h->set, fallback->name);
        p->before_fallback = ht_pick_blocks(h->set, fallback->name, &choice, m, n, k, batch);
    }
    if (!p->is_auto || checks_shape(h, forced, p, &choice, &unpacked, m, n, k, batch))
        return choice;
    p->checked = false;
    p->fallback = p->before_fallback = NO_KERNEL;
    p->scheme = fallback;
    return unpacked;
}

int64_t ht_plan_bound_units(const halftone *h, const struct plan *p, int64_t k) {
    const int64_t own = ht_bound_units(p->scheme, k);
    if (!p->checked)
        return own;
    const int64_t of_fallback = ht_bound_units(fallback_scheme(h->set), k);
    if (p->scheme->scales == HT_SCALES_TILES)
        return own < of_fallback ? of_fallback : own; /* the check adds nothing: A' B' is the data's own */
    return own + CHECK_UNITS < of_fallback ? of_fallback : own + CHECK_UNITS;
}

/* `auto` beside the schemes, for every input; scheme NULL: this set's `auto` does not check the data. */
static struct ht_accuracy_candidate auto_candidate(const halftone *h, int64_t m, int64_t n, int64_t k,
                                                   int64_t batch) {
    const struct ht_scheme_desc *fallback = fallback_scheme(h->set);
    struct ht_accuracy_candidate c;
    struct plan p;
    memset(&c, 0, sizeof c);
    memset(&p, 0, sizeof p);
    p.scheme = ht_find_scheme(h->set, ht_auto_scheme(h->set));
    p.is_auto = true;
    if (p.scheme == NULL || fallback == NULL)
        return c;
    const struct ht_choice choice = select_kernel(h, NO_KERNEL, m, n, k, batch, &p);
    if (choice.kernel < 0 || (!p.checked && p.scheme != fallback))
        return c;
    c.name = "auto";
    c.scheme = p.scheme;
    c.units = ht_plan_bound_units(h, &p, k);
    c.ns = ht_add(ht_total_ns(h->set, &choice, m, n, k, batch), fallback_ns(h, &p));
    return c;
}

struct ht_accuracy_choice ht_choose_scheme(const halftone *h, const struct ht_accuracy *accuracy, int64_t m,
                                           int64_t n, int64_t k, int64_t batch) {
    m = at_least_one(m);
    n = at_least_one(n);
    k = at_least_one(k);
    batch = at_least_one(batch);
    const struct ht_accuracy_candidate checked = auto_candidate(h, m, n, k, batch);
    return ht_accuracy_choose(h->set, accuracy, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES, &checked);
}

int ht_fail_accuracy(halftone *h, const struct ht_accuracy *accuracy, const struct ht_accuracy_choice *choice,
                     int64_t k) {
    ht_accuracy_explain(accuracy, choice, at_least_one(k), h->detail, sizeof h->detail);
    return HALFTONE_ACCURACY;
}

int ht_scheme_of_call(halftone *h, int64_t m, int64_t n, int64_t k, int64_t batch,
                      const struct ht_scheme_desc **scheme, bool *is_auto) {
    const char *name = fixed_scheme(h);
    *is_auto = ht_asked(h, false)->is_auto;
    if (name != NULL)
        return scheme_named(h, name, scheme);
    const struct ht_accuracy_choice choice = ht_choose_scheme(h, &ht_asked(h, false)->accuracy, m, n, k, batch);
    if (choice.first.scheme == NULL)
        return ht_fail_accuracy(h, &ht_asked(h, false)->accuracy, &choice, k);
    *is_auto = strcmp(choice.first.name, "auto") == 0;
    *scheme = *is_auto ? ht_find_scheme(h->set, ht_auto_scheme(h->set)) : choice.first.scheme;
    return HALFTONE_OK;
}

static void list_steps(const halftone *h, const struct plan_key *key, struct plan *p) {
    const int64_t partials = ht_partial_bytes(key->m, key->n, grid_batch(key->batch), p->splits,
                                              ht_partial_size(p->scheme->exact_k));
    if (!ht_is_unpacked(h->set->kernel[p->kernel].family) && key->a_entries > 0)
        ht_add_packing(p, STEP_PACK)->needs[WS_FLAGS] = p->checked ? WS_ALIGNMENT : 0;
    ht_add_step(p, STEP_GEMM, p->kernel)->needs[WS_PARTIALS] = round_up(partials, WS_ALIGNMENT);
    if (p->splits > 1)
        ht_add_step(p, STEP_REDUCE, NO_KERNEL)->needs[WS_PARTIALS] = round_up(partials, WS_ALIGNMENT);
    if (!p->checked)
        return;
    if (p->before_fallback != NO_KERNEL)
        ht_add_step(p, STEP_FALLBACK, p->before_fallback);
    if (p->fallback != NO_KERNEL)
        ht_add_step(p, STEP_FALLBACK, p->fallback);
    p->step[p->steps - 1].needs[WS_FAILED] = p->failed_bytes;
    p->step[p->steps - 1].needs[WS_FLAGS] = WS_ALIGNMENT;
}

int ht_make_plan(halftone *h, const struct plan_key *key, struct plan *p) {
    const int64_t m = key->m, n = key->n, k = key->k, batch = key->batch;
    memset(p, 0, sizeof *p);
    p->set = h->set;
    int code = ht_scheme_of_call(h, m, n, k, batch, &p->scheme, &p->is_auto);
    if (code != HALFTONE_OK)
        return code;
    const struct ht_choice choice = select_kernel(h, h->forced_kernel, m, n, k, batch, p);
    if (choice.kernel < 0)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no kernel in this library%s",
                       p->scheme->name, h->fitted != NULL ? " that fits the shared memory of this GPU" : "");
    if (choice.splits > HT_PICK_SPLITS_MAX)
        return ht_fail(h, HALFTONE_TOO_LARGE, "k = %lld: the exact sums of scheme '%s' hold k up to %lld",
                       (long long)k, p->scheme->name, (long long)p->scheme->exact_k * HT_PICK_SPLITS_MAX);
    p->kernel = choice.kernel;
    p->splits = choice.splits;
    p->kernel_ns = ht_add(choice.predicted_ns, fallback_ns(h, p));
    ht_lay_out_operands(h, key, p);
    list_steps(h, key, p);
    return ht_lay_out_workspace(h, p);
}
