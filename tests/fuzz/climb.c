/* climb: hill climbing against the bounds of what computes products by BF16's slices: each kernel of bf16x6u, and the launch of blocks with
 * many results that auto's certificate has not cleared. A product of the kernel's is 64 x 64 pairs of a row and a column; those on the
 * diagonal climb, and a pair beside it that errs more takes its place. Linked as calls.h has it of ways.c. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "fuzz.h"
#include "calls.h"

enum { PAIRS = 64, K_MOST = 512, STEPS = 100, PATIENCE = 60, LEAST_EXPONENT = -20, MOST_EXPONENT = 20, KERNELS_MOST = 48 };

/* A row of A and a column of B. */
struct pair {
    float a[K_MOST], b[K_MOST];
    double share; /* of the bound; -1: not known */
    int still;    /* steps since it grew */
};

struct totals {
    struct climbed {
        char name[64];
        double share; /* the largest of the bound, and where */
        int64_t index, products;
    } of[KERNELS_MOST];
};

static halftone *h;
static struct fuzz_rng rng;
static struct pair best[PAIRS], tried[PAIRS];
static float *a, *b, *c; /* on the device */

static int below(int64_t n) {
    return (int)fuzz_below(&rng, n);
}

/* ---- elements */

static float fraction(int e) {
    return ldexpf(1 + (float)below(1 << 23) * 0x1p-23f, e);
}

/* Of which slices have the most or least bits, so that parts of products lie just below where sums are cut. */
static float edge(int e) {
    static const int digits[] = {0x7fffff, 0x7f7f7f, 0x3fbfbf, 0x40bfbf, 0x00ff7f, 0x7f8080, 0x7f7fff, 0x008080, 0x0080ff, 0x7e7f7f};
    return ldexpf(1 + (float)((digits[below(10)] + below(3) - 1) & 0x7fffff) * 0x1p-23f, e);
}

static float any_value(void) {
    const int kind = below(8), e = below(20) - 10;
    const float sign = below(2) ? 1.0f : -1.0f;
    return kind == 0   ? 0
           : kind == 1 ? sign * ldexpf(1, e)
           : kind == 2 ? sign * ldexpf(2 - 0x1p-23f, e)
           : kind == 3 ? sign * ldexpf(1 + 0x1p-8f + 0x1p-16f, e)
           : kind < 6  ? sign * edge(e)
                       : sign * fraction(e);
}

static void start(struct pair *p, int64_t k) {
    const int kind = below(5);
    for (int64_t l = 0; l < k; l++) {
        p->a[l] = kind == 2 ? (l == 0 ? 1 : edge(-10 - below(2))) : kind == 3 ? edge(0) : kind == 4 ? (l % 16 == 0 ? 16 : edge(-9)) : any_value();
        p->b[l] = kind == 2 ? (l == 0 ? 1 : edge(-10 - below(2))) : kind == 3 ? edge(0) : kind == 4 ? (l % 16 == 0 ? 16 : edge(-9)) : any_value();
        p->a[l] = kind == 1 ? fabsf(p->a[l]) : p->a[l]; /* one sign: cuts add up */
        p->b[l] = kind == 1 ? fabsf(p->b[l]) : p->b[l];
    }
    p->share = -1;
    p->still = 0;
}

static void change(struct pair *p, int64_t k) {
    float *const x = below(2) ? p->a : p->b;
    const int at = below(k), other = below(k), kind = below(8);
    const float kept = x[at];
    if (kind == 0)
        x[at] = -kept;
    else if (kind == 1)
        x[at] *= below(2) ? 2 : 0.5f;
    else if (kind == 2)
        x[at] = any_value();
    else if (kind == 3)
        x[at] = x[other], x[other] = kept;
    else if (kind == 4)
        x[at] = nextafterf(kept, below(2) ? FLT_MAX : 0);
    else if (kind == 5)
        for (int64_t i = at / 8 * 8; i < at / 8 * 8 + 8 && i < k; i++)
            x[i] = kept;
    else if (kept != 0)
        x[at] = copysignf(kind == 6 ? fraction(ilogbf(kept)) : edge(ilogbf(kept)), kept);
    if (x[at] != 0 && (ilogbf(x[at]) > MOST_EXPONENT || ilogbf(x[at]) < LEAST_EXPONENT)) /* else the tile leaves the slices */
        x[at] = kept;
}

/* ---- products */

/* The error in units of the bound; in twice the digits, so that what cancels does not show. */
static double error_share(const float *x, const float *y, int64_t k, float got, double bound) {
    double sum = 0, rest = 0, magnitude = 0;
    for (int64_t l = 0; l < k; l++) {
        const double term = (double)x[l] * (double)y[l], next = sum + term, back = next - sum;
        rest += (sum - (next - back)) + (term - back);
        sum = next;
        magnitude += fabs(term);
    }
    return magnitude > 0 ? fabs(((double)got - sum) - rest) / (bound * magnitude) : 0;
}

/* One k more, where A has what makes all other elements small beside it, and B zeros: f16x3 clears nothing. */
static void upload(int64_t k, int fails) {
    static float x[PAIRS * (K_MOST + 1)], y[PAIRS * (K_MOST + 1)];
    for (int64_t i = 0; i < PAIRS; i++) {
        memcpy(x + i * (k + fails), tried[i].a, (size_t)k * sizeof *x);
        memcpy(y + i * (k + fails), tried[i].b, (size_t)k * sizeof *y);
        if (fails)
            x[i * (k + 1) + k] = 0x1p60f, y[i * (k + 1) + k] = 0;
    }
    FUZZ_CHECK(ht_dev_upload(a, x, sizeof x) == HT_DEV_OK && ht_dev_upload(b, y, sizeof y) == HT_DEV_OK, "upload");
}

/* One step of all pairs; the largest share that was met. */
static double step(int64_t k, int fails, double bound, int64_t turn) {
    static float got[PAIRS * PAIRS];
    const float one = 1, zero = 0;
    double most = 0;
    for (int i = 0; i < PAIRS; i++) {
        if (best[i].still > PATIENCE)
            start(&best[i], k);
        tried[i] = best[i];
        for (int n = best[i].share < 0 ? 0 : 1 + below(3); n > 0; n--)
            change(&tried[i], k);
    }
    upload(k, fails);
    const int code = halftone_sgemm(h, 'T', 'N', PAIRS, PAIRS, k + fails, &one, a, k + fails, b, k + fails, &zero, c, PAIRS);
    FUZZ_CHECK(code == HALFTONE_OK, "%s: %s", halftone_strerror(code), halftone_last_detail(h));
    FUZZ_CHECK(ht_dev_download(got, c, sizeof got) == HT_DEV_OK, "download");
    for (int64_t i = 0; i < PAIRS; i++) {
        int64_t with = i;
        tried[i].share = error_share(tried[i].a, tried[i].b, k, got[i + i * PAIRS], bound);
        for (int64_t j = (i + turn) % 4; j < PAIRS; j += 4) {
            const double share = error_share(tried[i].a, tried[j].b, k, got[i + j * PAIRS], bound);
            with = share > tried[i].share ? j : with;
            tried[i].share = fmax(share, tried[i].share);
        }
        most = fmax(most, tried[i].share);
        tried[i].still = tried[i].share > best[i].share ? 0 : best[i].still + 1;
        if (tried[i].share < best[i].share) {
            best[i].still++;
            continue;
        }
        best[i] = tried[i];
        memcpy(best[i].b, tried[with].b, sizeof best[i].b);
    }
    return most;
}

/* ---- a case: some steps from new starts */

static const struct ht_set_desc *set_of_handle(void) {
    for (int i = 0; ht_sets[i] != NULL; i++)
        if (strcmp(ht_sets[i]->gpu, halftone_gpu(h)) == 0)
            return ht_sets[i];
    fuzz_fail("the handle's set is not the library's");
}

/* A kernel of bf16x6u that cuts into slices and is no fallback; or, *fails, of f16x3, before blocks that are bf16x6u's. */
static const char *pick_kernel(int *fails) {
    const struct ht_set_desc *const set = set_of_handle();
    for (;;) {
        const struct ht_kernel_desc *const kernel = &set->kernel[below(set->kernels)];
        *fails = strcmp(kernel->scheme, "f16x3") == 0;
        if ((*fails || strstr(kernel->name, "bf16x6u") != NULL) && strcmp(kernel->variant, "fallback") != 0)
            return kernel->name;
    }
}

static struct climbed *climbed_of(struct totals *t, const char *name) {
    int i = 0;
    while (i < KERNELS_MOST - 1 && t->of[i].name[0] != '\0' && strcmp(t->of[i].name, name) != 0)
        i++;
    snprintf(t->of[i].name, sizeof t->of[i].name, "%s", name);
    return &t->of[i];
}

static void run_case(void *context, struct fuzz_rng *r, int64_t index) {
    static const int64_t ks[] = {17, 32, 33, 48, 64, 100, 128, 256, K_MOST};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct ways_totals ways = {0};
    int fails = 0;
    rng = *r;
    ways_put_fallback_in_two_launches(&ways);
    FUZZ_CHECK(halftone_create(&h) == HALFTONE_OK, "no handle");
    const char *const kernel = pick_kernel(&fails);
    const int64_t k = FUZZ_PICK(&rng, ks);
    struct climbed *const to = climbed_of(context, kernel);
    fuzz_note("%s%s, k = %lld", kernel, fails ? " and what computes its blocks" : "", (long long)k);
    FUZZ_CHECK(halftone_set_kernel(h, kernel) == HALFTONE_OK && halftone_query(h, 'T', 'N', PAIRS, PAIRS, k + fails, 1, &plan) == HALFTONE_OK, "kernel");
    a = device_make(PAIRS * (K_MOST + 1) * sizeof *a);
    b = device_make(PAIRS * (K_MOST + 1) * sizeof *b);
    c = device_make(PAIRS * PAIRS * sizeof *c);
    for (int i = 0; i < PAIRS; i++)
        start(&best[i], k);
    for (int64_t turn = 0; turn < STEPS; turn++) {
        const double share = step(k, fails, plan.error_bound, turn);
        to->products += PAIRS * (PAIRS / 4);
        if (share > to->share) {
            to->share = share;
            to->index = index;
        }
        FUZZ_CHECK(share <= 1, "%.3f of the bound of %lld units", share, (long long)plan.bound_units);
    }
    device_free(a);
    device_free(b);
    device_free(c);
    FUZZ_CHECK(halftone_destroy(h) == HALFTONE_OK, "destroy");
}

static void report(const void *context) {
    const struct totals *const t = context;
    for (int i = 0; i < KERNELS_MOST && t->of[i].name[0] != '\0'; i++)
        printf("  %s: %lld products, at most %.3f of the bound (case %lld)\n", t->of[i].name, (long long)t->of[i].products, t->of[i].share,
               (long long)t->of[i].index);
}

int main(int argc, char **argv) {
    const struct fuzz f = {"bf16x6u's bound", sizeof(struct totals), run_case, report};
    setenv("HALFTONE_SIM_THREADS", "1", 0);
    return fuzz_main(&f, argc, argv);
}
