/* explain_fp64.c: from which size accuracy `fp64` pays by residues, where the data pass by counting and where
 * each element is tested, and what those cost that are left to FP64 arithmetic. */
#include "cli/explain.h"

#include "../../runtime/ht_crt.h"

/* Of one shape, whole calls; 0: no scheme. */
struct calls {
    const struct scheme *counts, *tests; /* residues whose counts decide; the second scheme */
    int64_t native, counted, tested, given_up; /* given_up: native64 behind all tests */
};

static struct plan_set kernels; /* of all these schemes */

/* The product alone, by the set's best kernel and split; 0: none. */
static int64_t product_ns(const struct scheme *s, const struct shape *shape) {
    int64_t least = 0;
    for (int i = 0; i < kernels.count; i++) {
        const struct plan *const p = &kernels.plan[i];
        int splits;
        const int64_t ns =
            p->on.s == s ? model_best_ns(&p->on, shape, &p->cost, HT_PARTIAL_LIMIT_BYTES, &splits) : 0;
        least = ns > 0 && (least == 0 || ns < least) ? ns : least;
    }
    return least;
}

static int64_t steps_ns(const struct gpu *g, int moduli, bool has_result, const struct shape *x) {
    const struct ht_problem p = {x->m, x->n, x->k, 1, 1};
    return ht_residue_steps_ns(g->copy_gbps, g->launch_ns, moduli, has_result, &p);
}

static bool is_for(const struct scheme *s) {
    return s->moduli > 0 && !s->on_request;
}

/* As the library chooses them: plan_certificate and choose_second (runtime/ht_select.c). */
static struct calls calls_of(const struct listing *l, const struct shape *x) {
    struct calls c = {.native = product_ns(scheme_of_role(HT_ROLE_NATIVE), x)};
    struct ht_certificate one;
    const int64_t reads = ht_mul(ht_mul(ht_add(x->m, x->n), x->k), 8) / l->g->copy_gbps + l->g->launch_ns;
    int64_t packed = 0;
    int best = INT32_MIN;
    for (int i = 0; i < scheme_count; i++) {
        const struct scheme *const s = &scheme_table[i];
        if (!is_for(s) || !ht_crt_certify(&one, s->moduli, x->k, (double)x->k, HT_CRT_COUNT_HALF_BINADES))
            continue;
        const int64_t product = product_ns(s, x),
                      checks = HT_CRT_CHECK_LAUNCHES * l->g->launch_ns,
                      ns = product + steps_ns(l->g, s->moduli, true, x) + checks;
        if (product == 0 || (c.counts && ns >= c.counted))
            continue;
        c.counts = s;
        c.counted = ns;
        packed = (ht_crt_is_sampled(ns, c.native) ? reads : steps_ns(l->g, s->moduli, false, x)) + checks;
    }
    for (int i = 0; c.counts && i < scheme_count; i++) {
        const struct scheme *const s = &scheme_table[i];
        if (!is_for(s) || s->moduli < c.counts->moduli)
            continue;
        const int64_t product = product_ns(s, x), plane = product / s->moduli,
                      ns = product + steps_ns(l->g, s->moduli, true, x);
        const double gain = ht_crt_second_gain(s->moduli, c.counts->moduli, ns, c.native);
        const int rank = ht_crt_second_rank(s->moduli, x->k, (double)x->k) + (gain > 0 ? 4 * HT_CRT_MOST : 0);
        if (rank <= best) /* one that saves nothing is shown, not taken */
            continue;
        best = rank;
        c.tests = s;
        c.tested = packed + product + plane + steps_ns(l->g, s->moduli + 1, true, x);
        c.given_up = c.native + (ht_crt_is_sampled(c.counted, c.native)
                                     ? HT_CRT_CHECK_LAUNCHES * l->g->launch_ns
                                     : packed + plane + steps_ns(l->g, s->moduli + 1, false, x));
    }
    return c;
}

/* From which n on n x n x n pays for good; 0: for none. */
static void find_sizes(const struct listing *l, int64_t *counted, int64_t *tested) {
    *counted = *tested = 0;
    for (int n = 64; n <= 32768; n = ht_split_series(n)) { /* 64, 96, 128, 192, ... */
        const struct shape x = {n, n, n};
        const struct calls c = calls_of(l, &x);
        *counted = !c.counts || c.counted >= c.native ? 0 : *counted > 0 ? *counted : n;
        *tested = !c.tests || c.tested >= c.native ? 0 : *tested > 0 ? *tested : n;
    }
}

/* `times`: in hundredths. */
static void add_line(struct text *out, const char *which, int64_t from, const char *name, int64_t times) {
    text_addf(out, "  %s: ", which);
    if (from > 0)
        text_addf(out, "from n = " I64 " on", from);
    else
        text_add(out, "at no n");
    text_addf(out, "; here %s, " I64 ".%02d times as fast\n", name, times / 100, (int)(times % 100));
}

void explain_add_fp64(struct text *out, const struct listing *l) {
    int64_t counted, tested;
    if (!is_for(l->s) || l->kind != MODEL_HALFTONE)
        return;
    kernels.count = 0;
    for (int i = 0; i < scheme_count; i++)
        if (is_for(&scheme_table[i]) || &scheme_table[i] == scheme_of_role(HT_ROLE_NATIVE))
            plan_scheme(&kernels, target_main(l->g, l->isa, &scheme_table[i]));
    const struct calls here = calls_of(l, &l->shape);
    if (!here.tests || here.native == 0)
        return;
    find_sizes(l, &counted, &tested);
    const int64_t most = model_alone_most(l->g, scheme_of_role(HT_ROLE_NATIVE));
    const int64_t one = 40960 / (most > 0 ? most : 1); /* of 1 %, in thousandths */
    const int64_t all = ht_mul(here.given_up, 100) / here.native;
    text_add(out, "\nAccuracy fp64, whole calls of n x n x n beside native64:\n");
    add_line(out, "data that pass by counting, as uniform and normal ones", counted, here.counts->name,
             ht_mul(here.native, 100) / here.counted);
    add_line(out, "others, whose elements a second scheme tests", tested, here.tests->name,
             ht_mul(here.native, 100) / here.tested);
    text_addf(out,
              "  what these leave: 1 %% of C, one by one, takes " MILLI " of native64's time; all of C, "
              "behind the tests, " I64 ".%02d of it\n",
              AS_MILLI(one), all / 100, (int)(all % 100));
}
