/* api: random calls of one set's library in the simulator. A case makes a handle and up to three products on it, of random shapes,
 * layouts, scalars, data, schemes, accuracies and kernels, each held against truth.h; or it asks and calls with arguments that are
 * wrong, each held against what the manual says of it. Linked with --wrap=ht_dev_alloc,--wrap=ht_dev_free: allocations may fail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "../../runtime/sim/sim_f16.h"
#include "calls.h"
#include "fuzz.h"
#include "truth.h"

struct totals {
    int64_t products, scaled, refused, starved, packed, narrow, hostile, estimates, limited, cut;
    struct again_totals again;
    struct ways_totals ways;
    struct worst worst[TRUTH_SCHEMES];
};

static halftone *h;
static const struct ht_set_desc *set;
static struct totals *totals;
static int64_t case_index;

/* ---- device memory that fails */

static int64_t allocations_until_failure; /* 0: none fails */
static int64_t allocated;

int __real_ht_dev_alloc(void **memory, size_t bytes);
int __real_ht_dev_free(void *memory);
int __wrap_ht_dev_alloc(void **memory, size_t bytes);
int __wrap_ht_dev_free(void *memory);

int __wrap_ht_dev_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    if (allocations_until_failure > 0 && --allocations_until_failure == 0)
        return HT_DEV_MEMORY;
    const int code = __real_ht_dev_alloc(memory, bytes);
    allocated += code == HT_DEV_OK;
    return code;
}

int __wrap_ht_dev_free(void *memory) {
    allocated -= memory != NULL;
    return __real_ht_dev_free(memory);
}

/* ---- what is asked for */

struct asked {
    char text[96];
    int every_input;      /* what was asked for holds on every input */
    double units, per_k;  /* most that its bound may have at k; 0: nothing was said */
    int untested;         /* halftone_set_recompute: nothing is computed again */
    char site[80];        /* the same as a line of a site table asks for it; "": by a kernel's name */
};

static void ok(int code, const char *what) {
    check_code(h, code, what);
}

/* Libraries without the scheme that is for every input have an auto that looks at no data. */
static int has_checked_auto(void) {
    int all = 0;
    for (int i = 0; i < set->schemes; i++)
        all = all || set->scheme[i].range == HT_RANGE_ALL;
    return all;
}

static void ask_for_accuracy(struct fuzz_rng *r, struct asked *asked) {
    static const struct {
        const char *text;
        int every_input;
        double units, per_k;
    } classes[] = {{"half", 0, 16448, 2},      {"tf32", 0, 16448, 2},        {"fp32-fast", 0, 256, 1},     {"fp32", 1, 0, 0},
                   {"reproducible", 0, 17, 0}, {"reproducible:3", 0, 2065, 0}, {"reproducible:10", 0, 5, 0}};
    char text[64];
    const int64_t kind = fuzz_below(r, 10);
    if (kind < 7) {
        snprintf(text, sizeof text, "%s", classes[kind].text);
        asked->every_input = classes[kind].every_input;
        asked->units = classes[kind].units;
        asked->per_k = classes[kind].per_k;
    } else if (kind == 7) {
        const int bits = (int)fuzz_from(r, 1, 22);
        snprintf(text, sizeof text, "bits=%d", bits);
        asked->units = ldexp(1, 24 - bits);
    } else {
        const double rho = (double)fuzz_from(r, 1, 30), bound = ldexp((double)fuzz_from(r, 1, 999), -(int)fuzz_from(r, 10, 26));
        snprintf(text, sizeof text, kind == 8 ? "bound=%.17g" : "relative=%.17g:rho=%g", bound, rho);
        asked->units = ldexp(kind == 8 ? bound : bound / rho, 24) * (1 + 1e-9);
    }
    const int code = halftone_set_accuracy(h, text);
    FUZZ_CHECK(code == HALFTONE_OK || code == HALFTONE_ACCURACY, "accuracy %s: %s: %s", text, halftone_strerror(code), halftone_last_detail(h));
    FUZZ_CHECK(code == HALFTONE_OK || asked->per_k == 0 || !has_checked_auto(), "accuracy %s is out of reach: %s", text, halftone_last_detail(h));
    snprintf(asked->site, sizeof asked->site, "accuracy=%s", text);
    if (code == HALFTONE_OK)
        snprintf(asked->text, sizeof asked->text, "accuracy %s", text);
    else
        *asked = (struct asked){"auto, since nothing has that accuracy", has_checked_auto(), 0, 0, 0, "accuracy=fp32"};
}

static void ask_for_kernel(struct fuzz_rng *r, struct asked *asked, const char *only_scheme) {
    const struct ht_kernel_desc *kernel = NULL;
    for (int tries = 0; tries < 400 && (kernel == NULL || (only_scheme != NULL && strcmp(kernel->scheme, only_scheme) != 0)); tries++)
        kernel = &set->kernel[fuzz_below(r, set->kernels)];
    ok(halftone_set_kernel(h, kernel->name), kernel->name);
    asked->site[0] = '\0';
    snprintf(asked->text, sizeof asked->text, "%s%s", only_scheme != NULL ? "auto, " : "", kernel->name);
    asked->every_input = only_scheme != NULL && strcmp(kernel->scheme, only_scheme) == 0 && has_checked_auto();
}

static struct asked ask_for_any(struct fuzz_rng *r) {
    struct asked asked = {"auto", has_checked_auto(), 0, 0, 0, "accuracy=fp32"};
    const int64_t kind = fuzz_below(r, 20);
    ok(halftone_set_kernel(h, NULL), "no kernel");
    ok(halftone_set_scheme(h, "auto"), "auto");
    if (kind < 4)
        return asked;
    asked.every_input = 0;
    if (kind < 11) {
        const char *name = halftone_schemes(h, HALFTONE_FP32, (int)fuzz_below(r, set->schemes));
        ok(halftone_set_scheme(h, name), name);
        snprintf(asked.text, sizeof asked.text, "scheme %s", name);
        snprintf(asked.site, sizeof asked.site, "scheme=%s", name);
    } else if (kind < 14) {
        ask_for_accuracy(r, &asked);
    } else if (kind < 17) {
        ask_for_kernel(r, &asked, "f16x3");
    } else {
        ask_for_kernel(r, &asked, NULL);
    }
    return asked;
}

static struct asked ask(struct fuzz_rng *r) {
    struct asked asked = ask_for_any(r);
    asked.untested = asked.every_input && fuzz_one_in(r, 6);
    asked.every_input = asked.every_input && !asked.untested;
    ok(halftone_set_recompute(h, asked.untested ? HALFTONE_RECOMPUTE_NOTHING : HALFTONE_RECOMPUTE_ALL), "recompute");
    if (asked.untested)
        strncat(asked.text, ", untested", sizeof asked.text - strlen(asked.text) - 1);
    return asked;
}

/* ---- calls */

static void check_c_is_old(const struct problem *p, const char *after) {
    float *now = problem_read_c(p);
    FUZZ_CHECK(memcmp(now, p->c.host, matrix_bytes(&p->c)) == 0, "C changed although the call failed (%s)", after);
    free(now);
}

static const struct ht_scheme_desc *scheme_named(const char *name) {
    for (int i = 0; i < set->schemes; i++)
        if (strcmp(set->scheme[i].name, name) == 0)
            return &set->scheme[i];
    fuzz_fail("the plan names '%s', which is no scheme of this set", name);
}

/* ---- packed operands */

/* The same product from packed operands: the same bits. */
static void check_packed(struct fuzz_rng *r, const struct problem *p, const struct scalars *s, const float *want) {
    size_t bytes_a = 0, bytes_b = 0;
    const int code = halftone_packed_bytes(h, 'A', p->m, p->k, 1, &bytes_a);
    if (code == HALFTONE_NOT_SUPPORTED)
        return;
    ok(code, "packed_bytes A");
    ok(halftone_packed_bytes(h, 'b', p->n, p->k, 1, &bytes_b), "packed_bytes B");
    const struct packed x = packed_make(bytes_a, bytes_b);
    if (fuzz_one_in(r, 2)) {
        ok(halftone_pack_ab(h, p->ta, p->tb, p->m, p->n, p->k, matrix_data(&p->a), p->a.ld, matrix_data(&p->b), p->b.ld, x.a, x.b), "pack_ab");
    } else {
        ok(halftone_pack_a(h, p->ta, p->m, p->k, matrix_data(&p->a), p->a.ld, x.a), "pack_a");
        ok(halftone_pack_b(h, p->tb, p->k, p->n, matrix_data(&p->b), p->b.ld, x.b), "pack_b");
    }
    problem_reset_c(p);
    ok(halftone_sgemm_packed(h, p->m, p->n, p->k, scalar(p, s, 0), x.a, x.b, scalar(p, s, 1), matrix_data(&p->c), p->c.ld), "sgemm_packed");
    check_bits(p, NULL, want, "packed");
    packed_free(&x);
    totals->packed++;
}

/* ---- operands of 16 bits */

/* The operand in BF16 or FP16, and as the floats that it then is: *wide. */
static void *narrowed(const struct matrix *x, int type, struct matrix *wide) {
    const float *const from = x->host;
    uint16_t *const bits = host_make((size_t)x->elements * sizeof *bits), *const device = device_make(x->elements * (int64_t)sizeof *bits);
    *wide = *x;
    wide->host = host_make(matrix_bytes(x));
    wide->device = device_make((int64_t)matrix_bytes(x));
    for (int64_t i = 0; i < x->elements; i++) {
        uint32_t word;
        memcpy(&word, &from[i], sizeof word);
        bits[i] = type == HALFTONE_BF16 ? (uint16_t)(word >> 16) : sim_f16_rn(from[i]);
        word = (uint32_t)bits[i] << 16;
        ((float *)wide->host)[i] = sim_f16_value(bits[i]);
        if (type == HALFTONE_BF16)
            memcpy((float *)wide->host + i, &word, sizeof word);
    }
    matrix_upload(wide);
    FUZZ_CHECK(ht_dev_upload(device, bits, (size_t)x->elements * sizeof *bits) == HT_DEV_OK, "upload");
    free(bits);
    return device;
}

/* The bits of their floats. */
static void check_16_bits(struct fuzz_rng *r, const struct problem *p, const struct scalars *s) {
    const int type = fuzz_one_in(r, 2) ? HALFTONE_BF16 : HALFTONE_FP16;
    struct problem q = *p;
    uint16_t *const a = narrowed(&p->a, type, &q.a), *const b = narrowed(&p->b, type, &q.b);
    ok(halftone_set_workspace_limit(h, 0), "no limit");
    ok(halftone_set_workspace(h, NULL, 0), "own workspace");
    problem_reset_c(&q);
    ok(multiply(h, &q, s), "floats");
    float *const want = problem_read_c(&q);
    problem_reset_c(&q);
    ok(halftone_gemm_ex(h, p->ta, p->tb, p->m, p->n, p->k, scalar(p, s, 0), a + p->a.lead, p->a.ld, p->a.stride, b + p->b.lead, p->b.ld, p->b.stride,
                        scalar(p, s, 1), matrix_data(&p->c), p->c.ld, p->c.stride, p->batch, type), "16 bits");
    check_bits(&q, NULL, want, "16 bits");
    free(want);
    for (int side = 0; side < 2; side++) {
        device_free(side == 0 ? a : b);
        free(side == 0 ? q.a.host : q.b.host);
        device_free(side == 0 ? q.a.device : q.b.device);
    }
    totals->narrow++;
}

/* ---- a product */

/* What query says is what was asked for. */
static void check_plan(const struct problem *p, const struct asked *asked, const struct halftone_plan *plan) {
    size_t bytes = 0;
    ok(halftone_workspace_bytes(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &bytes), "workspace_bytes");
    FUZZ_CHECK(bytes == plan->workspace_bytes, "workspace_bytes %zu, query %zu", bytes, plan->workspace_bytes);
    const int runs = p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0;
    FUZZ_CHECK((plan->kernel[0] != '\0') == runs, "kernel '%s'", plan->kernel);
    FUZZ_CHECK(!runs || (plan->splits >= 1 && plan->bm > 0 && plan->bound_units > 0 && plan->predicted_ns >= plan->kernel_ns && plan->kernel_ns > 0),
               "splits %d, units %lld, %lld of %lld ns", plan->splits, (long long)plan->bound_units, (long long)plan->kernel_ns,
               (long long)plan->predicted_ns);
    const double most = asked->units + asked->per_k * (double)p->k;
    FUZZ_CHECK(!runs || most == 0 || (double)plan->bound_units <= most, "%s: %lld units, at most %g were asked for", plan->scheme,
               (long long)plan->bound_units, most);
    size_t limit = 0;
    ok(halftone_get_workspace_limit(h, &limit), "limit");
    FUZZ_CHECK(limit == 0 || bytes <= limit, "%zu bytes, and the limit is %zu", bytes, limit);
    FUZZ_CHECK(memchr(plan->why_scheme, '\0', HALFTONE_WHY_BYTES) != NULL, "why_scheme has no end");
}

/* Whether the call may need less than query, which sees no strides and no leading dimensions, says: entries share an operand, or a single row or
 * column lies contiguous by a leading dimension of 1. */
static int may_need_less(const struct problem *p) {
    return (p->batch > 1 && (p->a.stride == 0 || p->b.stride == 0)) || (p->m == 1 && !matrix_is_trans(p->ta) && p->a.ld == 1) ||
           (p->n == 1 && matrix_is_trans(p->tb) && p->b.ld == 1);
}

/* A workspace of the fuzzer's that is exactly large enough, at first one that is not; NULL: the handle's own. */
static void *give_workspace(struct fuzz_rng *r, const struct problem *p, const struct scalars *s, size_t need) {
    if (!fuzz_one_in(r, 4))
        return NULL;
    void *memory = device_make((int64_t)need + (need == 0));
    if (need > 0 && !may_need_less(p)) {
        ok(halftone_set_workspace(h, memory, (size_t)fuzz_below(r, fuzz_one_in(r, 2) ? (int64_t)need : 1)), "workspace");
        const int code = multiply(h, p, s);
        FUZZ_CHECK(code == HALFTONE_WORKSPACE, "a workspace that is too small: %s", halftone_strerror(code));
        check_c_is_old(p, "workspace");
        ok(halftone_set_workspace(h, memory, need - 1), "workspace");
        FUZZ_CHECK(multiply(h, p, s) == HALFTONE_WORKSPACE, "a workspace one byte too small suffices");
        check_c_is_old(p, "workspace");
    }
    ok(halftone_set_workspace(h, memory, need), "workspace");
    return memory;
}

/* With an allocation of the library's that fails: an error and C as it was, or no error and C as it should be. */
static int starve(struct fuzz_rng *r, const struct problem *p, const struct scalars *s) {
    allocations_until_failure = fuzz_from(r, 1, 3);
    const int code = multiply(h, p, s);
    allocations_until_failure = 0;
    FUZZ_CHECK(code == HALFTONE_OK || code == HALFTONE_OUT_OF_DEVICE_MEMORY, "without memory: %s: %s", halftone_strerror(code), halftone_last_detail(h));
    totals->starved += code != HALFTONE_OK;
    if (code != HALFTONE_OK)
        check_c_is_old(p, "memory");
    return code == HALFTONE_OK;
}

/* On one of three streams, with workspace from either source, now and then with nothing kept. */
static void choose_memory(struct fuzz_rng *r) {
    static char streams[3];
    ok(halftone_set_stream(h, fuzz_one_in(r, 2) ? NULL : &streams[fuzz_below(r, 3)]), "stream");
    ok(halftone_set_workspace_source(h, fuzz_one_in(r, 4) ? HALFTONE_POOL : HALFTONE_OWN), "workspace source");
    if (fuzz_one_in(r, 20))
        ok(halftone_trim(h), "trim");
}

/* In host memory tiles have plans of their own: their schemes are known where the scheme was asked for by name, or where both of auto's have a bound. */
static void check_host(struct fuzz_rng *r, const struct problem *p, const struct promise *promise, const struct asked *asked) {
    struct halftone_plan plan = *promise->plan, other = HALFTONE_PLAN_INIT;
    struct promise of_tiles = *promise;
    if (strncmp(asked->text, "scheme ", 7) != 0 && !asked->every_input)
        return;
    static const int64_t sizes[] = {1, 64, 2000}; /* where auto takes one scheme or the other */
    for (int i = 0; i < 3; i++) {
        const int code = halftone_query(h, p->ta, p->tb, sizes[i], sizes[i], p->k, 1, &other);
        FUZZ_CHECK(code == HALFTONE_OK || code == HALFTONE_WORKSPACE, "query: %s: %s", halftone_strerror(code), halftone_last_detail(h));
        if (code != HALFTONE_OK) /* a smaller limit than one so large needs; the tiles of this product kept it */
            continue;
        plan.bound_units = other.bound_units > plan.bound_units ? other.bound_units : plan.bound_units;
        plan.splits = other.splits > plan.splits ? other.splits : plan.splits;
    }
    of_tiles.plan = &plan;
    ways_check_host(h, r, p, &of_tiles, case_index, totals->worst, &totals->ways);
}

static void check_result(struct fuzz_rng *r, const struct problem *p, const struct scalars *s, const struct asked *asked,
                         const struct halftone_plan *plan) {
    float *c = problem_read_c(p);
    const int every_input = asked->every_input || strncmp(plan->range, "any input", 9) == 0 || scheme_named(plan->scheme)->range == HT_RANGE_ALL;
    const struct promise promise = {asked->every_input ? "auto" : plan->scheme, every_input, plan, set->arch >= 0x900};
    if (p->alpha == 0 || p->k == 0) {
        truth_check_scaled(p, c);
        totals->scaled++;
    } else if (p->m > 0 && p->n > 0 && p->batch > 0) {
        truth_check(p, &promise, c, case_index, totals->worst);
        totals->products++;
    }
    again_run(h, r, p, s, c, &totals->again);
    const int is_one = p->batch == 1 && p->m * p->n * p->k > 0;
    if (is_one && plan->blocks == 1 && fuzz_one_in(r, 3))
        check_packed(r, p, s, c);
    if (asked->every_input && p->m * p->n * p->k * p->batch > 0 && fuzz_one_in(r, 4))
        ways_check_counted(h, p, s, c, &totals->ways);
    if (asked->site[0] != '\0' && plan->kernel[0] != '\0' && (s->on_device || p->alpha != 0) && fuzz_one_in(r, 4))
        ways_check_site(h, r, p, asked->site, s, c, &totals->ways);
    if (is_one && p->alpha != 0 && (p->m > 64 && p->n > 64 ? !fuzz_one_in(r, 4) : fuzz_one_in(r, 8)))
        check_host(r, p, &promise, asked);
    if (fuzz_one_in(r, 4))
        check_16_bits(r, p, s);
    free(c);
}

/* Now and then less than the call wants, so that it is cut into blocks, or refused. */
static int limit_workspace(struct fuzz_rng *r, const struct problem *p) {
    struct halftone_plan whole = HALFTONE_PLAN_INIT;
    ok(halftone_set_workspace_limit(h, 0), "no limit");
    if (!fuzz_one_in(r, p->m > 256 || p->n > 256 || p->batch > 1 ? 2 : 12) ||
        halftone_query(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &whole) != HALFTONE_OK || whole.workspace_bytes == 0)
        return 0;
    const int64_t least = fuzz_one_in(r, 4) ? 1 : (int64_t)whole.workspace_bytes / 3 + 1; /* mostly what blocks can do with */
    ok(halftone_set_workspace_limit(h, (size_t)fuzz_from(r, least, (int64_t)whole.workspace_bytes)), "limit");
    return 1;
}

static void run_product(struct fuzz_rng *r, const struct problem *p, const struct asked *asked) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct scalars s = scalars_make(h, r, p, 6);
    choose_memory(r);
    const int multiplies = p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0 && (s.on_device || p->alpha != 0);
    const int is_limited = limit_workspace(r, p);
    const int code = halftone_query(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &plan);
    set_schedule(fuzz_one_in(r, 3) ? fuzz_below(r, 1000000) : 0);
    if (code != HALFTONE_OK) { /* so the product is refused as well, where there is one */
        FUZZ_CHECK(code == HALFTONE_ACCURACY || (code == HALFTONE_WORKSPACE && is_limited), "query: %s: %s", halftone_strerror(code), halftone_last_detail(h));
        const int refused = multiply(h, p, &s), fits = code == HALFTONE_WORKSPACE && may_need_less(p) && refused == HALFTONE_OK;
        FUZZ_CHECK(fits || refused == (multiplies ? code : HALFTONE_OK), "query says %s, the product %s", halftone_strerror(code), halftone_strerror(refused));
        if (multiplies && !fits)
            check_c_is_old(p, "accuracy");
        totals->refused += !fits;
    } else {
        check_plan(p, asked, &plan);
        size_t limit = 0; /* what needs less may be cut otherwise under it */
        ok(halftone_get_workspace_limit(h, &limit), "limit");
        void *workspace = multiplies ? give_workspace(r, p, &s, limit > plan.workspace_bytes && may_need_less(p) ? limit : plan.workspace_bytes) : NULL;
        if (workspace != NULL || !multiplies || !fuzz_one_in(r, 5) || !starve(r, p, &s))
            ok(multiply(h, p, &s), "product");
        check_result(r, p, &s, asked, &plan);
        ok(halftone_set_workspace(h, NULL, 0), "own workspace");
        device_free(workspace);
    }
    totals->limited += is_limited;
    totals->cut += code == HALFTONE_OK && plan.blocks > 1;
    device_free(s.device);
}

/* ---- how much cancels */

static void run_estimate(const struct problem *p) {
    double rho = -7, again = -7;
    const int code = halftone_estimate_rho(h, p->ta, p->tb, p->m, p->n, p->k, matrix_data(&p->a), p->a.ld, matrix_data(&p->b), p->b.ld, &rho);
    const int repeated = halftone_estimate_rho(h, p->ta, p->tb, p->m, p->n, p->k, matrix_data(&p->a), p->a.ld, matrix_data(&p->b), p->b.ld, &again);
    FUZZ_CHECK(code == HALFTONE_OK || code == HALFTONE_NOT_SUPPORTED, "rho: %s: %s", halftone_strerror(code), halftone_last_detail(h));
    FUZZ_CHECK(code == repeated && (code != HALFTONE_OK || rho == again), "rho is %g and %g", rho, again);
    FUZZ_CHECK(code == HALFTONE_OK ? rho >= 1 && isfinite(rho) : isinf(rho) && rho > 0, "code %d, rho is %g", code, rho);
    if (p->m > 0 && p->n > 0 && p->k > 0)
        truth_check_rho(p, code != HALFTONE_OK, rho);
    else
        FUZZ_CHECK(code == HALFTONE_OK && rho == 1, "rho of nothing is %g", rho);
    float *c = problem_read_c(p); /* A and B are as they were */
    free(c);
    totals->estimates++;
}

/* ---- a case */

static int64_t random_work(struct fuzz_rng *r) {
    const int64_t kind = fuzz_below(r, 100), tile = 64 * 64 * 64;
    return kind < 60 ? 2 * tile : kind < 93 ? 8 * tile : kind < 98 ? 24 * tile : fuzz_one_in(r, 4) ? 1100 * tile : 100 * tile;
}

static void run_products(struct fuzz_rng *r) {
    const int64_t count = fuzz_one_in(r, 3) ? fuzz_from(r, 1, 3) : 1;
    for (int64_t i = 0; i < count; i++) {
        struct problem p;
        problem_make(&p, r, 0, random_work(r));
        const struct asked asked = ask(r);
        problem_note(&p, asked.text);
        if (p.batch > 0 && fuzz_one_in(r, 20))
            run_estimate(&p);
        run_product(r, &p, &asked);
        problem_free(&p);
    }
}

static void run_case(void *context, struct fuzz_rng *r, int64_t index) {
    totals = context;
    case_index = index;
    allocated = 0;
    ways_choose_fallback(r, &totals->ways);
    ok(halftone_create(&h), "create");
    for (int i = 0; ht_sets[i] != NULL; i++)
        set = strcmp(ht_sets[i]->gpu, halftone_gpu(h)) == 0 ? ht_sets[i] : set;
    if (fuzz_one_in(r, 3)) {
        ask(r);
        hostile_run(h, r);
        totals->hostile++;
    } else {
        run_products(r);
    }
    ok(halftone_destroy(h), "destroy");
    FUZZ_CHECK(allocated == 0, "%lld allocations of device memory are left", (long long)allocated);
}

static void report(const void *context) {
    const struct totals *t = context;
    printf("  %lld products, %lld scaled, %lld of accuracies out of reach, %lld without memory, %lld packed, %lld of 16 bits, %lld hostile, "
           "%lld estimates\n  %lld under a limit (%lld cut), %lld counted (%lld results again), %lld by sites, %lld in host memory; "
           "plans: %lld inside, %lld blocks\n  worst share of the bound (case, results):",
           (long long)t->products, (long long)t->scaled, (long long)t->refused, (long long)t->starved, (long long)t->packed, (long long)t->narrow,
           (long long)t->hostile, (long long)t->estimates, (long long)t->limited,
           (long long)t->cut, (long long)t->ways.counted, (long long)t->ways.again, (long long)t->ways.sited, (long long)t->ways.hosted,
           (long long)t->ways.inside, (long long)t->ways.blocks);
    for (int i = 0; i < TRUTH_SCHEMES && t->worst[i].name[0] != '\0'; i++)
        printf("%s %s %.3f (%lld, %lld)", i > 0 ? "," : "", t->worst[i].name, t->worst[i].share, (long long)t->worst[i].index,
               (long long)t->worst[i].elements);
    printf("\n");
    again_report(&t->again);
}

int main(int argc, char **argv) {
    char name[64];
    snprintf(name, sizeof name, "api of %s", ht_sets[0]->gpu);
    const struct fuzz f = {name, sizeof(struct totals), run_case, report};
    setenv("HALFTONE_SIM_THREADS", "1", 0); /* cases are small, and other fuzzers run beside this one */
    return fuzz_main(&f, argc, argv);
}
