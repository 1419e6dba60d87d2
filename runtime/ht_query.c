/* ht_query.c: what a call would run and need: halftone_query, halftone_workspace_bytes. */
#include "ht_call.h"
#include "ht_bound.h"

#include <stdio.h>

/* The ranges of plans with the certificate: constants, which outlive the handle. */
static const char CHECKED_RANGE[] =
    "any input: results that are not large beside what splitting lost of their row and column, and those of rows "
    "and columns with NaN or Inf, are computed again from the matrices";

static const char CHECKED_TILES[] =
    "any input: packing finds tiles with outliers (NaN, Inf, a row of 32 k whose root mean square is below "
    "1/16 of the power of two below the tile's largest), and the 64 x 64 blocks of C that meet one are "
    "computed by the fallback scheme, in a launch behind the product";

/* Bound and range, which may differ from the scheme's own for `auto`. */
static void describe_accuracy(const halftone *h, const struct plan *p, int64_t k, struct halftone_plan *out) {
    out->scheme = p->scheme->name;
    out->bound = p->scheme->bound_text;
    out->range = p->scheme->range_text;
    out->bound_units = p->set == h->set64 ? ht_bound_units(p->scheme, k) : ht_plan_bound_units(h, p, k);
    out->error_bound = (double)out->bound_units * (p->set == h->set64 ? 0x1p-53 : 0x1p-24);
    out->fixed_point = p->scheme->exact_k > 0 ? 1 : p->scheme->scales == HT_SCALES_TILES ? 2 : 0;
    if (p->is_exact) {
        out->bound = "correctly rounded: 2^-53 of the exact result, half of the last bit";
        out->range = "every input, NaN and Inf as IEEE arithmetic has them";
        out->bound_units = 1;
        out->error_bound = 0x1p-53;
        out->fixed_point = 0;
    } else if (p->set == h->set64 && ht_crt_bound(p, k) > 0) { /* relative to norms */
        out->error_bound = ht_crt_bound(p, k);
        out->bound_units = out->error_bound * 0x1p53 < 0x1p62 ? (int64_t)(out->error_bound * 0x1p53) + 1 : INT64_MAX;
        out->error_bound = (double)out->bound_units * 0x1p-53;
        out->fixed_point = 1;
    }
    if (ht_ozaki_bound_units(p) > 0) {
        out->bound_units = ht_ozaki_bound_units(p);
        out->error_bound = (double)out->bound_units * 0x1p-53;
        out->fixed_point = 1;
    }
    if (p->set == h->set64)
        return;
    if (p->checked)
        out->range = p->scheme->scales == HT_SCALES_TILES ? CHECKED_TILES : CHECKED_RANGE;
}

/* What questions about FP64 products have besides. */
static void describe64(const halftone *h, const struct plan *p, const struct gemm_call *x, struct halftone_plan *out) {
    const struct ht_scheme_desc *const native = ht_find_scheme(h->set64, HT_NATIVE64);
    const int moduli = ht_moduli_of(h->set64, p->scheme);
    out->moduli = moduli > 1 ? moduli : 0;
    if (native == NULL || !ht_predict64(h, x, native, &out->native_ns))
        out->native_ns = 0;
    ht_explain64(h, p, out);
    if (p->checked)
        ht_describe_certificate(h, x, out);
}

static void describe(const halftone *h, const struct plan *p, const struct gemm_call *x,
                     struct halftone_plan *out) {
    const struct ht_kernel_desc *kernel = &p->set->kernel[p->kernel];
    describe_accuracy(h, p, x->k, out);
    if (x->is_fp64)
        describe64(h, p, x, out);
    out->kernel = kernel->name;
    out->bm = kernel->tile.bm;
    out->bn = kernel->tile.bn;
    out->bk = kernel->bk;
    out->wm = kernel->wm;
    out->wn = kernel->wn;
    out->stages = kernel->stages;
    out->splits = p->splits;
    out->pack_ns = p->pack_ns > 0 ? p->pack_ns
                                  : ht_packing_ns(p->set, p->scheme->name, x->m, x->n, x->k, x->batch);
    out->kernel_ns = p->kernel_ns;
    out->predicted_ns = ht_add(out->pack_ns, out->kernel_ns);
    out->workspace_bytes = (size_t)p->bytes; /* of a block */
    out->blocks = p->blocks;
    out->why = kernel->why;
}

/* What `auto` does in this library, in a call that it gives `scheme`. */
static void explain_auto(const halftone *h, const char *scheme, char *line, size_t bytes) {
    const struct ht_set_desc *set = h->set;
    const char *first = set->auto_first, *fallback = set->auto_fallback;
    if (!ht_auto_takes_all(set))
        snprintf(line, bytes, ", unchecked: nothing looks at the data, because this library lacks scheme %s",
                 fallback);
    else if (ht_auto_is_fallback(set))
        snprintf(line, bytes, ": %s, which takes every input; this library lacks %s", fallback, first);
    else if (h->recompute == HALFTONE_RECOMPUTE_NOTHING)
        snprintf(line, bytes, ", unchecked as was asked: %s or %s, whichever is faster", first, fallback);
    else if (strcmp(scheme, fallback) == 0)
        snprintf(line, bytes, ": %s, which takes every input, is predicted faster here than %s, whose data are checked", fallback,
                 first);
    else
        snprintf(line, bytes,
                 ": data are checked; %s for what suits it, %s for the rest and where it is faster", first,
                 fallback);
}

static void explain_scheme(const halftone *h, const struct gemm_call *x, const char *scheme, char *line, size_t bytes) {
    const struct ht_demand *const asked = ht_asked(h, false);
    const char *text = asked->accuracy.text;
    if (h->forced_kernel != NO_KERNEL) {
        snprintf(line, bytes, "the kernel was set by name");
    } else if (asked->scheme != NULL && asked->is_auto) {
        const int used = snprintf(line, bytes, "%s%sauto", text, text[0] != '\0' ? " by " : "");
        explain_auto(h, scheme, line + used, bytes - (size_t)used);
    } else if (asked->scheme != NULL) {
        snprintf(line, bytes, "%s%s", text[0] != '\0' ? text : "set by name",
                 text[0] != '\0' ? ": whatever the shape" : "");
    } else {
        const struct ht_accuracy_choice choice =
            ht_choose_scheme(h, &asked->accuracy, x->m, x->n, x->k, x->batch);
        ht_accuracy_explain(&asked->accuracy, &choice, at_least_one(x->k), line, bytes);
    }
}

/* Says first which line of the site table decided, if one did. */
static void explain_site(const halftone *h, struct halftone_plan *out) {
    char by[HALFTONE_WHY_BYTES];
    out->site = h->site;
    if (h->site == 0)
        return;
    memcpy(by, out->why_scheme, sizeof by);
    snprintf(out->why_scheme, sizeof out->why_scheme, "line %d of the site table: %.*s", h->site,
             (int)sizeof by - 48, by);
}

/* A question that is right, with the site that it is of. */
static int answer(halftone *h, const struct gemm_call *x, struct halftone_plan *plan) {
    const struct ht_scheme_desc *scheme = NULL;
    bool is_auto = false;
    int code = x->is_fp64 ? ht_scheme_of_call64(h, x, &scheme)
                          : ht_scheme_of_call(h, x->m, x->n, x->k, x->batch, &scheme, &is_auto);
    if (code != HALFTONE_OK)
        return code;
    struct halftone_plan out = HALFTONE_PLAN_INIT;
    const size_t known = plan->size < sizeof out ? plan->size : sizeof out;
    out.size = plan->size;
    out.scheme = scheme->name;
    out.kernel = "";
    out.why = "a size is 0: no product is run";
    out.bound = scheme->bound_text;
    out.range = scheme->range_text;
    out.unit_exponent = x->is_fp64 ? -53 : -24;
    if (x->is_fp64)
        ht_explain64(h, NULL, &out);
    if (x->m > 0 && x->n > 0 && x->k > 0 && x->batch > 0) {
        const struct plan *p = NULL;
        code = ht_plan_call(h, x, x->batch, x->batch, &p);
        if (code != HALFTONE_OK)
            return code;
        describe(h, p, x, &out);
    }
    if (!x->is_fp64)
        explain_scheme(h, x, out.scheme, out.why_scheme, sizeof out.why_scheme);
    explain_site(h, &out);
    memcpy(plan, &out, known);
    return HALFTONE_OK;
}

HT_IN_OWN_FENV static int check_and_answer(halftone *h, const struct gemm_call *x, struct halftone_plan *plan) {
    int code = ht_check_question(h, x, plan);
    if (code == HALFTONE_OK)
        code = ht_check_plan(h, plan);
    if (code == HALFTONE_OK)
        code = ht_check_limits(h, x);
    if (code != HALFTONE_OK)
        return code;
    ht_enter_site(h, x, false);
    return ht_leave_site(h, false, answer(h, x, plan));
}

/* The handle was opened, with this code. */
static int query(halftone *h, int opened, const struct gemm_call *x, struct halftone_plan *plan) {
    if (opened != HALFTONE_OK)
        return opened;
    const struct ht_fenv callers = ht_fenv_enter();
    const int code = check_and_answer(h, x, plan);
    ht_fenv_leave(callers);
    return code;
}

int halftone_query(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch,
                   struct halftone_plan *plan) {
    const struct gemm_call x = gemm_call_of(transa, transb, m, n, k, batch);
    return query(handle, ht_begin(handle), &x, plan);
}

int halftone_dquery(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                    int64_t batch, struct halftone_plan *plan) {
    struct gemm_call x = gemm_call_of(transa, transb, m, n, k, batch);
    x.is_fp64 = true;
    return query(handle, ht_begin(handle), &x, plan);
}

int halftone_workspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                             int64_t batch, size_t *bytes) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int code = halftone_query(handle, transa, transb, m, n, k, batch, bytes != NULL ? &plan : NULL);
    if (code == HALFTONE_OK)
        *bytes = plan.workspace_bytes;
    return code;
}

int halftone_dworkspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                              int64_t batch, size_t *bytes) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int code = halftone_dquery(handle, transa, transb, m, n, k, batch, bytes != NULL ? &plan : NULL);
    if (code == HALFTONE_OK)
        *bytes = plan.workspace_bytes;
    return code;
}
