/* ht_exact.c: correctly rounded FP64 products (accuracy fp64-exact): the launch that takes the place of the
 * combination. Residues decide most elements; a bit for each of the others is where planes of residues end.
 * What is computed: ACCURACY.md, section 14. */
#include "ht_call.h"
#include "ht_abi64.h"

enum { UNDECIDED = 32 }; /* elements that have an int together */

int64_t ht_exact_bytes(const struct plan *p, int moduli) {
    return round_up(ht_mul(p->plane_stride / moduli / UNDECIDED * (int64_t)sizeof(int), p->plane_entries),
                    WS_ALIGNMENT);
}

int *ht_spans_of(const struct gemm_run *r) {
    const struct plan *const p = r->plan;
    const bool together = p->is_exact && p->a.entries > 0 && p->b.entries > 0 && p->a.entries + p->b.entries <= HT_GRID_BATCH;
    return together ? (int *)(void *)(r->a.row_sums + p->a.sums_bytes) : NULL;
}

/* Of rows from `entry` on. */
static const unsigned long long *norms_of(const struct packed_layout *o, const struct packed_place *at, int64_t entry) {
    return (const unsigned long long *)(const void *)at->row_sums + o->norms_at + (o->entries > 1 ? entry * o->sums_stride : 0);
}

int ht_launch_exact(halftone *h, const struct gemm_run *r, int64_t entry, const struct ht_crt_combine_args *to) {
    const struct plan *const p = r->plan;
    const struct gemm_call *const x = r->call;
    const struct ht_crt_launch *const l = p->set->kernel[p->kernel].residues;
    char *const w = r->workspace.at;
    struct ht_crt_exact_args g;
    memset(&g, 0, sizeof g);
    g.to = *to;
    g.a = (const double *)x->a + entry * x->stride_a;
    g.b = (const double *)x->b + entry * x->stride_b;
    g.a_ld = x->lda;
    g.b_ld = x->ldb;
    g.a_stride = x->stride_a;
    g.b_stride = x->stride_b;
    g.k = (int)x->k;
    g.a_k_contiguous = is_trans(x->transa);
    g.b_k_contiguous = !is_trans(x->transb);
    g.a_norm_stride = p->a.entries > 1 ? p->a.sums_stride : 0;
    g.b_norm_stride = p->b.entries > 1 ? p->b.sums_stride : 0;
    g.a_norms = norms_of(&p->a, &r->a, entry);
    g.b_norms = norms_of(&p->b, &r->b, entry);
    g.spans = ht_spans_of(r);
    g.undecided_stride = p->plane_stride / l->moduli / UNDECIDED;
    g.undecided = (int *)(void *)(w + p->at[WS_PARTIALS] +
                                  round_up(ht_mul(p->plane_stride, p->plane_entries), WS_ALIGNMENT));
    return ht_fail_device(h, ht_dev_check(l->exact(&g, h->stream)));
}
