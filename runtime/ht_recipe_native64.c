/* ht_recipe_native64.c: FP64 products by FP64 arithmetic, and, behind residues, what their certificate
 * leaves. */
#include "ht_call.h"
#include "ht_cost.h"

/* Behind residues k is whole, whatever parts those have. Where only C is scaled k is 0. */
static struct ht_native64_args native_args(const struct call *c, int splits) {
    struct ht_native64_args args = HT_ZERO;
    args.a = ht_view_of(c, 0, c->entry);
    args.b = ht_view_of(c, 1, c->entry);
    args.to = ht_result_of(c, c->entry);
    args.m = (int)c->m;
    args.n = (int)c->n;
    args.batch = (int)c->entries;
    args.splits = splits;
    args.partial = splits > 1 ? (double *)(void *)region_of(c, WS_PARTIALS) : NULL;
    args.counts = ht_counts_of(c, c->entry);
    if (c->plan->checked) {
        args.failed = ht_failed_of(c, c->entry);
        args.recomputed = (long long *)c->h->recomputed;
    }
    if (c->k == 0) {
        args.to.alpha.at = NULL;
        args.to.alpha.f64 = c->adds_zero ? 1.0 : 0.0; /* of a sum that is 0, or of none */
    }
    return args;
}

static int launch_kernel(const struct call *c, const struct step *s, const struct ht_native64_args *args) {
    const struct ht_kernel_desc *const kernel = &c->plan->set->kernel[s->kernel];
    return ht_launched(c->h, HT_LAUNCHER(kernel, HT_PRODUCT, ht_native64_args)(args, c->h->stream));
}

static int launch_native(struct call *c, const struct step *s) {
    const struct ht_native64_args args = native_args(c, c->plan->splits);
    return launch_kernel(c, s, &args);
}

static int launch_rest(struct call *c, const struct step *s) {
    const struct ht_native64_args args = native_args(c, 1);
    return launch_kernel(c, s, &args);
}

static int reduce_native(struct call *c, const struct step *s) {
    const struct ht_native64_args args = native_args(c, c->plan->splits);
    (void)s;
    return ht_launched(c->h, c->plan->set->reduce64(&args, c->h->stream));
}

static const struct step_kind native_product = {launch_native, NULL, true, false},
                              native_rest = {launch_rest, NULL, true, false},
                              native_reduce = {reduce_native, NULL, true, true};

int ht_lay_out_native64(const struct call *c, struct plan *p) {
    const int64_t partial = ht_tile_partial_size(&p->set->kernel[p->kernel].tile);
    ht_add_step(p, &native_product, p->kernel)->needs[WS_PARTIALS] =
        round_up(ht_partial_bytes(c->m, c->n, grid_batch(c->batch), p->splits, partial), WS_ALIGNMENT);
    if (p->splits > 1)
        ht_add_step(p, &native_reduce, NO_KERNEL);
    return ht_lay_out_workspace(c->h, p);
}

void ht_add_rest(struct plan *p) {
    ht_add_step(p, &native_rest, p->fallback);
}
