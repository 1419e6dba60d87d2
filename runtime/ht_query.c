/* ht_query.c: what a call would run and need: halftone_query, halftone_workspace_bytes. */
#include "ht_call.h"
#include "ht_bound.h"

#include <stdio.h>

/* The ranges of plans with the certificate: constants, which outlive the handle. */
static const char CHECKED_RANGE[] = "any input: results that are not large beside what splitting lost of "
                                    "their row and column, and those of rows "
                                    "and columns with NaN or Inf, are computed again from the matrices";

static const char CHECKED_TILES[] =
    "any input: packing finds tiles with outliers (NaN, Inf, a row of 32 k whose root mean square is below "
    "1/16 of the power of two below the tile's largest), and the 64 x 64 blocks of C that meet one are "
    "computed by the fallback scheme, in a launch behind the product";

static void describe_certificate(const struct call *c, struct halftone_plan *out) {
    const double units = ht_units64(c), native = (double)c->k + 4;
    out->bound = "(k + 4) 2^-53 |A||B|, with bits=N 2^-N |A||B|: residues where the data certify it, else "
                 "FP64 arithmetic";
    out->range = "any input: packing counts the large elements of rows and columns; where they are too few more "
                 "moduli and a product of absolute values follow, and elements of C that these do not clear (or that NaN "
                 "or Inf reach) are computed by FP64 arithmetic in the same call";
    out->bound_units = (int64_t)(units > native ? units : native);
    out->fixed_point = 0;
}

/* What bound and range of FP64 products have besides those of the scheme. */
static void describe_bound64(const struct call *c, const struct plan *p, struct halftone_plan *out) {
    const double bound = out->moduli > 0 ? ht_moduli_bound(out->moduli, c->k) : 0; /* relative to norms */
    if (p->is_exact) {
        out->bound = "correctly rounded: 2^-53 of the exact result, half of the last bit";
        out->range = "every input, NaN and Inf as IEEE arithmetic has them";
        out->bound_units = 1;
        out->fixed_point = 0;
    } else if (bound > 0) {
        out->bound_units = bound * 0x1p53 < 0x1p62 ? (int64_t)(bound * 0x1p53) + 1 : INT64_MAX;
        out->fixed_point = 1;
    }
    if (p->set->kernel[p->kernel].recipe == HT_RECIPE_OZAKI) {
        out->bound_units = ht_ozaki_bound_units(p);
        out->fixed_point = 1;
    }
    if (p->checked)
        describe_certificate(c, out);
}

/* Bound and range, which may differ from the scheme's own for `auto`. */
static void describe_bound(const struct call *c, const struct plan *p, struct halftone_plan *out) {
    out->bound_units = ht_plan_bound_units(p, c->k);
    out->fixed_point = p->scheme->exact_k > 0 ? 1 : p->scheme->scales == HT_SCALES_TILES ? 2 : 0;
    if (c->is_fp64)
        describe_bound64(c, p, out);
    else if (p->checked)
        out->range = p->scheme->scales == HT_SCALES_TILES ? CHECKED_TILES : CHECKED_RANGE;
    out->error_bound = (double)out->bound_units * (has_doubles(c) ? 0x1p-53 : 0x1p-24);
}

/* A block has one row of the large matrix. */
static void describe_one_row(const struct plan *p, struct halftone_plan *out) {
    out->kernel = p->scheme->one_row_name;
    out->why = "one row of k contiguous in both matrices, or packed: one launch";
    out->bm = out->bn = out->wm = out->wn = out->stages = 1;
    out->bk = p->scheme->one_row_k;
    out->pack_ns = 0;
}

/* Of a block: 32 rows of the large matrix, 8 of the few at once. */
static void describe_few_rows(const struct call *c, const struct plan *p, struct halftone_plan *out) {
    out->kernel = p->scheme->few_rows_name;
    out->why = "few rows: the large matrix is read once as it is, and cut into slices meanwhile";
    out->bm = out->wm = large_side(c) == 0 ? 32 : 8;
    out->bn = out->wn = large_side(c) == 0 ? 8 : 32;
    out->bk = HT_FEW_ROWS_K;
    out->stages = 1;
}

static void describe(const struct call *c, const struct plan *p, struct halftone_plan *out) {
    const struct ht_kernel_desc *kernel = &p->set->kernel[p->kernel];
    const struct ht_scheme_desc *const native = ht_scheme_of(p->set, HT_ROLE_NATIVE); /* FP32: none */
    const int moduli = ht_moduli_of(p->set, p->scheme);
    out->moduli = moduli > 1 ? moduli : 0;
    if (native == NULL || c->of_floats || !ht_predict64(c, native, &out->native_ns))
        out->native_ns = 0;
    describe_bound(c, p, out);
    out->kernel = kernel->name;
    out->why = kernel->why;
    out->bm = kernel->tile.bm;
    out->bn = kernel->tile.bn;
    out->bk = kernel->bk;
    out->wm = kernel->wm;
    out->wn = kernel->wn;
    out->stages = kernel->stages;
    out->splits = p->splits;
    out->pack_ns = p->pack_ns > 0 ? p->pack_ns : ht_packing_ns(p->set, p->scheme->name, shape_of(c));
    out->kernel_ns = p->kernel_ns;
    if (p->few_rows > 0)
        describe_few_rows(c, p, out);
    if (p->is_one_row)
        describe_one_row(p, out);
    out->predicted_ns = ht_add(out->pack_ns, out->kernel_ns);
    out->workspace_bytes = (size_t)p->bytes; /* of a block */
    out->blocks = p->blocks;
}

/* What `auto` does in this library, in a call that it gives `scheme`. */
static void explain_auto(const struct call *c, const char *scheme, char *line, size_t bytes) {
    const struct ht_set_desc *set = c->half->set;
    const char *first = set->role[HT_ROLE_AUTO], *fallback = set->role[HT_ROLE_FALLBACK];
    const struct ht_scheme_desc *const checked = ht_find_scheme(set, first);
    if (!ht_auto_takes_all(set))
        snprintf(line, bytes, ", unchecked: nothing looks at the data, because this library lacks scheme %s",
                 fallback);
    else if (ht_auto_is_fallback(set))
        snprintf(line, bytes, ": %s, which takes every input; this library lacks %s", fallback, first);
    else if (c->h->recompute == HALFTONE_RECOMPUTE_NOTHING)
        snprintf(line, bytes, ", unchecked as was asked: %s or %s, whichever is faster", first, fallback);
    else if (strcmp(scheme, fallback) == 0 && !ht_auto_weighs(c, checked))
        snprintf(line, bytes,
                 ": %s, which takes every input; %s, whose data are checked, is for k from %d to %lld",
                 fallback, first, checked->native_k, (long long)HT_CHECKED_K_MAX);
    else if (strcmp(scheme, fallback) == 0)
        snprintf(line, bytes,
                 ": %s, which takes every input, is predicted faster here, or nearly so, than %s, whose data are "
                 "checked",
                 fallback, first);
    else
        snprintf(line, bytes,
                 ": data are checked; %s for what suits it, %s for the rest and where it is faster", first,
                 fallback);
}

/* By an accuracy that chooses an FP64 scheme. */
static void explain64(const struct call *c, const struct plan *p, struct halftone_plan *out) {
    const char *const by = c->asked->is_auto ? HT_FP64 : c->asked->accuracy.text,
                      *const native = c->h->half[0].set->role[HT_ROLE_NATIVE];
    const struct ht_scheme_desc *const second = p->second.scheme;
    const int used = snprintf(out->why_scheme, sizeof out->why_scheme, "by accuracy %s", by);
    if (p->checked)
        snprintf(out->why_scheme + used, sizeof out->why_scheme - (size_t)used,
                 ": %s where the data certify it%s%s%s, %s for the rest; %s alone: %lld ns predicted",
                 p->scheme->name, second ? ", else " : "", second ? second->name : "",
                 second ? " where each element is tested" : "", native, native, (long long)out->native_ns);
}

static void explain_scheme(const struct call *c, const struct plan *p, struct halftone_plan *out) {
    const struct ht_demand *const asked = c->asked;
    const char *text = asked->accuracy.text;
    char *const line = out->why_scheme;
    const size_t bytes = sizeof out->why_scheme;
    if (!c->is_fp64 && c->half->forced != NO_KERNEL) {
        snprintf(line, bytes, "the kernel was set by name");
    } else if (asked->scheme != NULL && asked->is_auto) {
        const int used = snprintf(line, bytes, "%s%sauto", text, text[0] != '\0' ? " by " : "");
        explain_auto(c, out->scheme, line + used, bytes - (size_t)used);
    } else if (asked->scheme != NULL) {
        snprintf(line, bytes, "%s%s", text[0] != '\0' ? text : "set by name",
                 text[0] != '\0' ? ": whatever the shape" : "");
    } else if (c->is_fp64) {
        explain64(c, p, out);
    } else {
        const struct ht_accuracy_choice choice = ht_choose_scheme(c, &asked->accuracy);
        ht_accuracy_explain(&asked->accuracy, &choice, at_least_one(c->k), line, bytes);
    }
}

/* Says first which line of the site table decided, if one did. */
static void explain_site(const struct call *c, struct halftone_plan *out) {
    char by[HALFTONE_WHY_BYTES];
    out->site = c->site;
    if (c->site == 0)
        return;
    memcpy(by, out->why_scheme, sizeof by);
    snprintf(out->why_scheme, sizeof out->why_scheme, "line %d of the site table: %.*s", c->site,
             (int)sizeof by - 48, by);
}

/* A question that is right, with the site that it is of. */
static int answer(const struct call *c, struct halftone_plan *plan) {
    const bool is_product = c->m > 0 && c->n > 0 && c->k > 0 && c->batch > 0;
    struct halftone_plan out = HALFTONE_PLAN_INIT;
    const size_t known = plan->size < sizeof out ? plan->size : sizeof out;
    struct plan scheme_alone;
    const struct plan *p = &scheme_alone;
    const int code = is_product ? ht_plan_call(c, &p) : ht_scheme_of_call(c, &scheme_alone);
    if (code != HALFTONE_OK)
        return code;
    out.size = plan->size;
    out.scheme = p->scheme->name;
    out.kernel = "";
    out.why = "a size is 0: no product is run";
    out.bound = p->scheme->bound_text;
    out.range = p->scheme->range_text;
    out.unit_exponent = has_doubles(c) ? -53 : -24;
    if (is_product)
        describe(c, p, &out);
    explain_scheme(c, p, &out);
    explain_site(c, &out);
    memcpy(plan, &out, known);
    return HALFTONE_OK;
}

/* Struct halftone_plan of 0.1.0, the least that is written; and far more than one will ever be. */
enum { PLAN_BYTES_LEAST = sizeof(struct halftone_plan), PLAN_BYTES_MOST = 1 << 16 };

HT_IN_OWN_FENV static int check_and_answer(void *of) {
    struct call *const c = (struct call *)of;
    struct halftone_plan *const plan = (struct halftone_plan *)c->answer;
    int code = ht_check_question(c);
    if (code == HALFTONE_OK &&
        (plan->size < (size_t)PLAN_BYTES_LEAST || plan->size > (size_t)PLAN_BYTES_MOST))
        return ht_fail(c->h, -18,
                       "plan->size is %zu, not sizeof(struct halftone_plan): begin with HALFTONE_PLAN_INIT",
                       plan->size);
    if (AND_THEN(code, ht_check_limits(c)) != HALFTONE_OK)
        return code;
    ht_enter_site(c, false);
    ht_settle_floats(c);
    return ht_leave_site(c, false, answer(c, plan));
}

/* Of a batch whose entries have operands of their own. */
static int query(struct call c, struct halftone_plan *plan) {
    c.of[0].stride = c.of[1].stride = 1;
    c.answer = plan;
    const int code = ht_begin(c.h);
    return code == HALFTONE_OK ? ht_in_own_fenv(check_and_answer, &c) : code;
}

static int workspace_bytes(struct call c, size_t *bytes) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const int code = query(c, bytes != NULL ? &plan : NULL);
    if (code == HALFTONE_OK)
        *bytes = plan.workspace_bytes;
    return code;
}

#define QUESTIONS(question, workspace, is_fp64)                                                              \
    int question(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch, \
                 struct halftone_plan *plan) {                                                               \
        return query(call_of(handle, is_fp64, transa, transb, m, n, k, batch), plan);                        \
    }                                                                                                        \
    int workspace(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,               \
                  int64_t batch, size_t *bytes) {                                                            \
        return workspace_bytes(call_of(handle, is_fp64, transa, transb, m, n, k, batch), bytes);             \
    }
QUESTIONS(halftone_query, halftone_workspace_bytes, false)
QUESTIONS(halftone_dquery, halftone_dworkspace_bytes, true)
