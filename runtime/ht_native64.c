/* ht_native64.c: launches of FP64 arithmetic: of a product, and behind residues of what their certificate leaves. */
#include "ht_call.h"

/* Behind residues k is whole, whatever parts those have. */
static struct ht_native64_args native_args(const halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct gemm_call *x = r->call;
    const bool is_split = s->needs[WS_PARTIALS] > 0;
    const bool on_device = h->pointer_mode == HALFTONE_DEVICE;
    struct ht_native64_args args;
    memset(&args, 0, sizeof args);
    args.c = (double *)x->c + r->entry * x->stride_c;
    args.ldc = x->ldc;
    args.c_stride = x->stride_c;
    args.m = (int)x->m;
    args.n = (int)x->n;
    args.batch = r->args.batch;
    args.splits = is_split ? r->plan->splits : 1;
    args.partial = is_split ? (double *)(void *)(r->workspace.at + r->plan->at[WS_PARTIALS]) : NULL;
    args.counts = ht_counts_of(r, r->entry);
    args.beta_ptr = on_device ? (const double *)x->beta : NULL;
    args.beta = on_device ? 0.0 : *(const double *)x->beta;
    args.alpha = x->adds_zero ? 1.0 : 0.0; /* of k = 0, where only C is scaled: of a sum that is 0, or of none */
    if (x->k > 0) {
        args.a_src = (const double *)x->a + r->entry * x->stride_a;
        args.b_src = (const double *)x->b + r->entry * x->stride_b;
        args.a_ld = x->lda;
        args.b_ld = x->ldb;
        args.a_src_stride = x->stride_a;
        args.b_src_stride = x->stride_b;
        args.k = (int)x->k;
        args.a_k_contiguous = is_trans(x->transa);
        args.b_k_contiguous = !is_trans(x->transb);
        args.alpha_ptr = on_device ? (const double *)x->alpha : NULL;
        args.alpha = on_device ? 0.0 : *(const double *)x->alpha;
    }
    return args;
}

int ht_launch_native64(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct ht_native64_args args = native_args(h, r, s);
    return ht_fail_device(h, ht_dev_check(r->plan->set->kernel[s->kernel].launch64(&args, h->stream)));
}

int ht_launch_reduce64(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct ht_native64_args args = native_args(h, r, s);
    return ht_fail_device(h, ht_dev_check(r->plan->set->reduce64(&args, h->stream)));
}
