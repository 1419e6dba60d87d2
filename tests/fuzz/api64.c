/* api64: random products of FP64 of one set's library in the simulator. A case makes a handle and one product on it, of random shape,
 * layout, scalars and data, by a scheme or an accuracy, within a limit of workspace or without; then the same otherwise: in exactly the
 * workspace that query names, by another schedule, packed, as a graph. Each is held against truth.h, or to the first one's bits. What
 * has the same bits on every GPU is summed up: equal seeds and counts show equal sums in all sets. Native kernels look slow in half of the
 * cases, so that small products are certified. FUZZ_WITHOUT=crt14 in the environment: as if the set had been generated without that scheme. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_call.h"
#include "../unit/fp64_reference.h"
#include "calls.h"
#include "fuzz.h"
#include "truth.h"

enum { SCHEMES = 15, TILE = 64 * 64 * 128 };

struct totals {
    int64_t products, scaled, refused, certified, blocks, packed, questions, hosts, forced;
    struct again_totals again;
    uint64_t bits; /* of what is the same everywhere */
    struct truth64_totals of[SCHEMES];
};

static halftone *h;
static struct totals *totals;
static int64_t case_index;
static struct ht_set_desc slow, fewer;
static struct ht_scheme_desc fewer_schemes[64];
static struct ht_kernel_desc slow_kernels[64];

static void ok(int code, const char *what) {
    check_code(h, code, what);
}

/* ---- what is asked for */

static const struct way {
    const char *text;
    int is_accuracy, moduli;
    enum truth64_kind kind;
    int same_everywhere;
} ways[SCHEMES] = {{"fp64", 1, 0, TRUTH64_BOUND, 0},          {"fp64-fast", 1, 0, TRUTH64_BOUND_OF_NORMS, 0},
                   {"fp64-exact", 1, 0, TRUTH64_EXACT, 1},    {"reproducible", 1, 16, TRUTH64_RESIDUES, 1},
                   {"bits=", 1, 0, TRUTH64_BOUND, 0},         {"native64", 0, 0, TRUTH64_BOUND, 0},
                   {"crt14", 0, 14, TRUTH64_RESIDUES, 1},     {"crt15", 0, 15, TRUTH64_RESIDUES, 1},
                   {"crt16", 0, 16, TRUTH64_RESIDUES, 1},     {"crt17", 0, 17, TRUTH64_RESIDUES, 1},
                   {"crt18", 0, 18, TRUTH64_RESIDUES, 1},     {"crt20", 0, 20, TRUTH64_RESIDUES, 1},
                   {"i8x28", 0, FP64_DIGITS, TRUTH64_RESIDUES, 1}, {"ozaki", 0, 0, TRUTH64_SLICES, 1},
                   {"ozaki-cr:d=60", 0, 0, TRUTH64_SLICES_EXACT, 1}};

/* One of the scheme's kernels of products, by name. */
static void force_kernel(struct fuzz_rng *r, const char *scheme, char *text, size_t bytes) {
    int kernels[64], count = 0;
    for (int i = 0; i < h->half[1].set->kernels && count < 64; i++)
        if (strcmp(h->half[1].set->kernel[i].scheme, scheme) == 0)
            kernels[count++] = i;
    if (count == 0 || !fuzz_one_in(r, 4))
        return;
    const char *const name = h->half[1].set->kernel[kernels[fuzz_below(r, count)]].name;
    ok(halftone_set_kernel(h, name), name);
    snprintf(text, bytes, "%s", name);
    totals->forced++;
}

/* NULL: this library cannot. Every third case has one of the ways in turn. */
static const struct way *ask(struct fuzz_rng *r, char *text, size_t bytes) {
    static const int often[] = {0, 0, 0, 2, 2, 2, 2, 3, 4};
    const int64_t drawn = fuzz_one_in(r, 2) ? FUZZ_PICK(r, often) : fuzz_below(r, SCHEMES);
    const struct way *const way = &ways[case_index % 3 == 0 ? case_index / 3 % SCHEMES : drawn];
    snprintf(text, bytes, "%s", way->text);
    if (strcmp(way->text, "bits=") == 0)
        snprintf(text, bytes, "bits=%d", (int)fuzz_from(r, 20, 50));
    const int code = (way->is_accuracy ? halftone_set_accuracy : halftone_set_scheme)(h, text);
    FUZZ_CHECK(code == HALFTONE_OK || code == (way->is_accuracy ? HALFTONE_ACCURACY : HALFTONE_UNKNOWN_SCHEME), "%s: %s", text, halftone_strerror(code));
    if (code == HALFTONE_OK && !way->is_accuracy)
        force_kernel(r, way->text, text, bytes);
    return code == HALFTONE_OK ? way : NULL;
}

static void leave_out(const char *name) {
    FUZZ_CHECK(h->half[1].set->schemes <= 64, "%d schemes", h->half[1].set->schemes);
    fewer = *h->half[1].set;
    fewer.schemes = 0;
    for (int i = 0; i < h->half[1].set->schemes; i++)
        if (strcmp(h->half[1].set->scheme[i].name, name) != 0)
            fewer_schemes[fewer.schemes++] = h->half[1].set->scheme[i];
    fewer.scheme = fewer_schemes;
    h->half[1].set = &fewer;
}

/* Native kernels that take forever, in the eyes of the model. */
static void make_native_slow(void) {
    FUZZ_CHECK(h->half[1].set->kernels <= 64, "%d kernels", h->half[1].set->kernels);
    slow = *h->half[1].set;
    for (int i = 0; i < slow.kernels; i++) {
        slow_kernels[i] = slow.kernel[i];
        if (slow.kernel[i].recipe == HT_RECIPE_NATIVE64) {
            slow_kernels[i].cost.waves.step_busy_x256 = slow_kernels[i].cost.waves.step_latency_x256 = INT32_MAX;
            slow_kernels[i].cost.stream.step_busy_x256 = slow_kernels[i].cost.stream.step_latency_x256 = INT32_MAX / 2;
        }
    }
    slow.kernel = slow_kernels;
    h->half[1].set = &slow;
}

/* ---- calls */

/* In a workspace as large as query says. */
static void check_workspace(const struct problem *p, const struct scalars *s, size_t need, const double *want) {
    void *memory = device_make_guarded(need);
    problem_reset_c(p);
    ok(halftone_set_workspace(h, memory, need), "workspace");
    ok(multiply(h, p, s), "product in the workspace that query names");
    check_bits(p, NULL, want, "in the workspace that query names");
    device_check_guard(memory, need, "the workspace");
    ok(halftone_set_workspace(h, NULL, 0), "own workspace");
    device_free(memory);
}

/* bits=N at this k, or fp64-fast, whose products may be another scheme's, where it is packed for a scheme that the set lacks. */
static int may_lack_packing(const struct way *way) {
    return strcmp(way->text, "bits=") == 0 || (strcmp(way->text, "fp64-fast") == 0 && ht_find_scheme(h->half[1].set, "crt14") == NULL);
}

/* The same from packed operands. What scheme they are for depends on k alone, so fp64, fp64-fast and bits=N may give other bits, within what was promised. */
static void check_packed(struct fuzz_rng *r, const struct problem *p, const struct scalars *s, const struct way *way, const struct promise64 *promise,
                         const double *want, struct truth64_totals *of) {
    size_t bytes_a = 0, bytes_b = 0;
    const int code = halftone_dpacked_bytes(h, 'A', p->m, p->k, 1, &bytes_a);
    if (code == HALFTONE_NOT_SUPPORTED || (code == HALFTONE_ACCURACY && may_lack_packing(way)))
        return;
    ok(code, "dpacked_bytes A");
    ok(halftone_dpacked_bytes(h, 'b', p->n, p->k, 1, &bytes_b), "dpacked_bytes B");
    const struct packed x = packed_make(bytes_a, bytes_b);
    if (fuzz_one_in(r, 3)) { /* by the other side's function: op(B)^T is n x k as an A */
        ok(halftone_dpack_a(h, strchr("Nn", p->tb) != NULL ? 'T' : 'N', p->n, p->k, matrix_data(&p->b), p->b.ld, x.b), "dpack_a of B");
        ok(halftone_dpack_b(h, strchr("Nn", p->ta) != NULL ? 'T' : 'N', p->k, p->m, matrix_data(&p->a), p->a.ld, x.a), "dpack_b of A");
    } else if (fuzz_one_in(r, 2)) {
        ok(halftone_dpack_ab(h, p->ta, p->tb, p->m, p->n, p->k, matrix_data(&p->a), p->a.ld, matrix_data(&p->b), p->b.ld, x.a, x.b), "dpack_ab");
    } else {
        ok(halftone_dpack_b(h, p->tb, p->k, p->n, matrix_data(&p->b), p->b.ld, x.b), "dpack_b");
        ok(halftone_dpack_a(h, p->ta, p->m, p->k, matrix_data(&p->a), p->a.ld, x.a), "dpack_a");
    }
    problem_reset_c(p);
    ok(halftone_dgemm_packed(h, p->m, p->n, p->k, scalar(p, s, 0), x.a, x.b, scalar(p, s, 1), matrix_data(&p->c), p->c.ld), "dgemm_packed");
    if (way->same_everywhere) {
        check_bits(p, NULL, want, "packed");
    } else if (p->alpha != 0.0) {
        double *c = problem_read_c(p);
        truth64_check(p, promise, c, r, case_index, of);
        free(c);
    }
    packed_free(&x);
    totals->packed++;
}

/* The same of matrices in the host's memory, in tiles, whatever the limit. */
static void check_host(struct fuzz_rng *r, const struct problem *p, const struct way *way, const struct promise64 *promise, const double *want,
                       struct truth64_totals *of) {
    double *c = host_make(matrix_bytes(&p->c));
    memcpy(c, p->c.host, matrix_bytes(&p->c));
    ok(halftone_set_workspace_limit(h, 0), "limit");
    ok(halftone_set_host_tiles(h, fuzz_one_in(r, 2) ? 64 : 0, 0), "tiles");
    ok(halftone_dgemm_host(h, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, matrix_host(&p->a), p->a.ld, matrix_host(&p->b), p->b.ld, &p->beta,
                           c + p->c.lead, p->c.ld),
       "dgemm_host");
    matrix_check_outside(&p->c, c);
    if (way->same_everywhere)
        check_bits(p, c, want, "of the host");
    else if (p->alpha != 0.0)
        truth64_check(p, promise, c, r, case_index, of);
    free(c);
    totals->hosts++;
}

/* ---- a product */

static void add_bits(const struct problem *p, const double *c) {
    uint64_t sum = (uint64_t)case_index;
    for (int64_t i = 0; i < p->c.elements; i++) {
        uint64_t bits;
        memcpy(&bits, &c[i], sizeof bits);
        sum = (sum ^ (isnan(c[i]) ? 1 : bits)) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    totals->bits += sum;
}

static struct promise64 promise_of(const struct problem *p, const struct way *way, const struct halftone_plan *plan) {
    struct promise64 promise = {way->kind, way->moduli, plan->error_bound, plan->fixed_point};
    if (way->kind == TRUTH64_BOUND_OF_NORMS) { /* blocks may run other schemes: crt14's bound, and native64's */
        promise.error = fmax(ht_moduli_bound(14, p->k), (double)(p->k + 4) * 0x1p-53);
        promise.fixed_point = 1;
    }
    return promise;
}

/* A limit that cuts the call, or does not; whether there is one. */
static int limit_workspace(struct fuzz_rng *r, const struct problem *p) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (!fuzz_one_in(r, 3) || halftone_dquery(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &plan) != HALFTONE_OK || plan.workspace_bytes == 0)
        return 0;
    ok(halftone_set_workspace_limit(h, (size_t)fuzz_from(r, (int64_t)plan.workspace_bytes / (1 << fuzz_below(r, 6)), (int64_t)plan.workspace_bytes)), "limit");
    return 1;
}

/* What query promises is what was asked for. */
static void check_plan(const struct problem *p, const char *asked, const struct halftone_plan *plan) {
    int bits = 0;
    const double most = sscanf(asked, "bits=%d", &bits) == 1 ? ldexp(1, -bits) : strcmp(asked, "fp64") == 0 ? (double)(p->k + 4) * 0x1p-53 : 1;
    FUZZ_CHECK(plan->error_bound <= most || p->k == 0, "%s: a bound of %a, asked for %a", asked, plan->error_bound, most);
    FUZZ_CHECK(h->workspace_limit == 0 || (int64_t)plan->workspace_bytes <= h->workspace_limit, "%zu bytes, and the limit is %lld", plan->workspace_bytes,
               (long long)h->workspace_limit);
}

static void check_result(struct fuzz_rng *r, const struct problem *p, const struct scalars *s, const struct way *way, const struct halftone_plan *plan,
                         const double *c) {
    struct truth64_totals *const of = &totals->of[way - ways];
    const struct promise64 promise = promise_of(p, way, plan);
    const int has_product = p->k > 0 && p->alpha != 0.0, runs = p->m > 0 && p->n > 0 && p->batch > 0;
    if (runs && !has_product)
        truth_check_scaled(p, c);
    if (runs && has_product)
        truth64_check(p, &promise, c, r, case_index, of);
    totals->scaled += runs && !has_product;
    totals->products += runs && has_product;
    totals->certified += runs && has_product && way->kind == TRUTH64_BOUND && plan->moduli > 0;
    totals->blocks += runs && has_product && plan->blocks > 1;
    if (runs && p->k > 0 && (p->a.stride != 0 || p->batch == 1) && (p->b.stride != 0 || p->batch == 1) && fuzz_one_in(r, 3))
        check_workspace(p, s, plan->workspace_bytes, c);
    again_run(h, r, p, s, c, &totals->again);
    if (p->batch == 1 && runs && p->k > 0 && fuzz_one_in(r, 3)) {
        ok(halftone_set_workspace_limit(h, 0), "limit");
        check_packed(r, p, s, way, &promise, c, of);
    }
    if (p->batch == 1 && runs && p->k > 0 && fuzz_one_in(r, 6))
        check_host(r, p, way, &promise, c, of);
}

static void run_product(struct fuzz_rng *r, const struct problem *p, const struct way *way, const char *asked) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct scalars s = scalars_make(h, r, p, 5);
    const int is_limited = limit_workspace(r, p);
    set_schedule(fuzz_one_in(r, 3) ? fuzz_below(r, 1000000) : 0);
    const int code = halftone_dquery(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &plan);
    if (code != HALFTONE_OK) { /* so the product is refused as well, where there is one */
        const int multiplies = p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0 && (s.on_device || p->alpha != 0.0);
        FUZZ_CHECK(code == HALFTONE_ACCURACY || code == HALFTONE_WORKSPACE, "query: %s: %s", halftone_strerror(code), halftone_last_detail(h));
        FUZZ_CHECK(!multiplies || p->a.stride * p->b.stride == 0 || multiply(h, p, &s) == code, "query says %s, the product does not", halftone_strerror(code));
        totals->refused++;
    } else {
        check_plan(p, asked, &plan);
        ok(multiply(h, p, &s), "product");
        double *c = problem_read_c(p);
        if (way->same_everywhere && !is_limited)
            add_bits(p, c);
        check_result(r, p, &s, way, &plan, c);
        free(c);
    }
    device_free(s.device);
}

/* ---- questions about calls that nobody makes: what the blocks need of which a limit makes a call */

static void check_blocks(const struct call *x, int64_t need, int depth) {
    const struct plan *found = NULL;
    const int code = ht_plan_call(x, &found);
    FUZZ_CHECK(code == HALFTONE_OK, "a block %lld x %lld x %lld, batch %lld: %s", (long long)x->m, (long long)x->n, (long long)x->k, (long long)x->batch,
               halftone_last_detail(h));
    const struct plan p = *found;
    FUZZ_CHECK(p.bytes <= need, "%lld bytes for a block %lld x %lld x %lld, batch %lld, of a call that needs %lld", (long long)p.bytes, (long long)x->m,
               (long long)x->n, (long long)x->k, (long long)x->batch, (long long)need);
    FUZZ_CHECK(depth < 20, "blocks have no end");
    const int64_t ms[] = {p.block_m, x->m % p.block_m}, ns[] = {p.block_n, x->n % p.block_n}, batches[] = {p.block_batch, x->batch % p.block_batch};
    for (int i = 0; i < 8 && p.blocks > 1; i++) {
        struct call y = *x;
        y.m = ms[i & 1];
        y.n = ns[i >> 1 & 1];
        y.batch = batches[i >> 2];
        if (y.m > 0 && y.n > 0 && y.batch > 0)
            check_blocks(&y, need, depth + 1);
    }
}

/* Of 1 to about 2^bits, each number of bits as likely as the others. */
static int64_t any_size(struct fuzz_rng *r, int64_t bits) {
    const int64_t size = fuzz_from(r, 1, INT64_C(1) << fuzz_from(r, 1, bits));
    return size < HALFTONE_SIZE_MAX ? size : HALFTONE_SIZE_MAX;
}

static void run_questions(struct fuzz_rng *r, const char *asked) {
    for (int i = 0; i < 20; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        const int64_t most = fuzz_one_in(r, 4) ? 31 : 15; /* bits */
        struct call x = call_of(h, true, 'N', 'N', any_size(r, most), any_size(r, most), any_size(r, most), fuzz_one_in(r, 3) ? any_size(r, most / 3) : 1);
        size_t bytes = 0;
        x.of[0].stride = x.of[1].stride = 1;
        ok(halftone_set_workspace_limit(h, fuzz_one_in(r, 5) ? 0 : (size_t)fuzz_from(r, 1, INT64_C(1) << fuzz_from(r, 10, 34))), "limit");
        fuzz_note("question %lld x %lld x %lld, batch %lld, limit %lld, %s", (long long)x.m, (long long)x.n, (long long)x.k, (long long)x.batch,
                  (long long)h->workspace_limit, asked);
        const int code = halftone_dquery(h, 'N', 'N', x.m, x.n, x.k, x.batch, &plan);
        FUZZ_CHECK(code == HALFTONE_OK || code == HALFTONE_WORKSPACE || code == HALFTONE_ACCURACY || code == HALFTONE_TOO_LARGE, "query: %s", halftone_strerror(code));
        const int packs = halftone_dpacked_bytes(h, 'A', x.m, x.k, x.batch, &bytes);
        FUZZ_CHECK(packs == HALFTONE_OK || packs == HALFTONE_NOT_SUPPORTED || packs == HALFTONE_ACCURACY || packs == HALFTONE_TOO_LARGE, "dpacked_bytes: %s",
                   halftone_strerror(packs));
        if (code == HALFTONE_OK) {
            FUZZ_CHECK(h->workspace_limit == 0 || (int64_t)plan.workspace_bytes <= h->workspace_limit, "%zu bytes", plan.workspace_bytes);
            check_blocks(&x, (int64_t)plan.workspace_bytes, 0);
            totals->questions++;
        }
    }
}

/* ---- a case */

static void run_case(void *context, struct fuzz_rng *r, int64_t index) {
    struct problem p;
    char text[96], how[128];
    totals = context;
    case_index = index;
    ok(halftone_create(&h), "create");
    const char *const without = getenv("FUZZ_WITHOUT");
    if (without != NULL)
        leave_out(without);
    const int is_slow = fuzz_one_in(r, 2);
    if (is_slow)
        make_native_slow();
    const struct way *way = ask(r, text, sizeof text);
    if (way != NULL && fuzz_one_in(r, 8)) {
        run_questions(r, text);
        ok(halftone_destroy(h), "destroy");
        return;
    }
    problem_make(&p, r, 1, (fuzz_one_in(r, 20) ? 100 : fuzz_one_in(r, 3) ? 16 : 4) * (int64_t)TILE);
    snprintf(how, sizeof how, "%s%s", text, is_slow ? ", native64 is slow" : "");
    problem_note(&p, how);
    if (way != NULL)
        run_product(r, &p, way, text);
    problem_free(&p);
    ok(halftone_destroy(h), "destroy");
}

static void report(const void *context) {
    const struct totals *t = context;
    printf("  %lld products (%lld certified, %lld in blocks), %lld scaled, %lld refused, %lld packed, %lld of the host, %lld with a kernel by name, %lld questions; bits that are the same everywhere: "
           "%016llx\n ",
           (long long)t->products, (long long)t->certified, (long long)t->blocks, (long long)t->scaled, (long long)t->refused, (long long)t->packed,
           (long long)t->hosts, (long long)t->forced, (long long)t->questions, (unsigned long long)t->bits);
    for (int i = 0; i < SCHEMES; i++) {
        const struct truth64_totals *of = &t->of[i];
        printf(" %s %lld of %lld", ways[i].text, (long long)of->checked, (long long)of->elements);
        if (of->worst > 0)
            printf(" (%.3f of the bound in %lld)", of->worst, (long long)of->worst_index);
        printf(i < SCHEMES - 1 ? "," : "\n");
    }
    again_report(&t->again);
}

int main(int argc, char **argv) {
    char name[64];
    snprintf(name, sizeof name, "FP64 of %s", ht_sets[0]->gpu);
    const struct fuzz f = {name, sizeof(struct totals), run_case, report};
    setenv("HALFTONE_SIM_THREADS", "1", 0); /* cases are small, and other fuzzers run beside this one */
    return fuzz_main(&f, argc, argv);
}
