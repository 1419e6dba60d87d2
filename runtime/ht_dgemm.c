/* ht_dgemm.c: FP64 products: the public functions, their scheme and plan, and the launches of its kernels.
 * Arguments, workspace and steps are those of the FP32 products. */
#include "ht_call.h"
#include "ht_abi64.h"
#include "ht_cost.h"

static const char native_name[] = "native64";

/* ---- select ---- */

int ht_scheme_of_call64(halftone *h, const struct ht_scheme_desc **scheme) {
    *scheme = h->set64 != NULL ? ht_find_scheme(h->set64, native_name) : NULL;
    if (*scheme == NULL)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "this library was generated without scheme '%s', which FP64 products need",
                       native_name);
    return HALFTONE_OK;
}

int ht_make_plan64(halftone *h, const struct plan_key *key, struct plan *p) {
    memset(p, 0, sizeof *p);
    p->set = h->set64;
    p->fallback = NO_KERNEL;
    const int code = ht_scheme_of_call64(h, &p->scheme);
    if (code != HALFTONE_OK)
        return code;
    const struct ht_choice choice =
        ht_pick(p->set, p->scheme->name, key->m, key->n, key->k, key->batch, HT_PARTIAL_LIMIT_BYTES);
    if (choice.kernel < 0)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "scheme '%s' has no kernel that fits the shared memory of this GPU", p->scheme->name);
    p->kernel = choice.kernel;
    p->splits = 1;
    p->kernel_ns = choice.predicted_ns;
    ht_add_step(p, STEP_NATIVE64, p->kernel);
    return ht_lay_out_workspace(h, p);
}

/* ---- launch ---- */

int ht_launch_native64(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct gemm_call *x = r->call;
    const bool on_device = h->pointer_mode == HALFTONE_DEVICE;
    struct ht_native64_args args;
    memset(&args, 0, sizeof args);
    args.c = (double *)x->c + r->entry * x->stride_c;
    args.ldc = x->ldc;
    args.c_stride = x->stride_c;
    args.m = (int)x->m;
    args.n = (int)x->n;
    args.batch = r->args.batch;
    args.beta_ptr = on_device ? (const double *)x->beta : NULL;
    args.beta = on_device ? 0.0 : *(const double *)x->beta;
    if (x->k > 0) { /* else only C is scaled: alpha stays 0 */
        args.a = (const double *)x->a + r->entry * x->stride_a;
        args.b = (const double *)x->b + r->entry * x->stride_b;
        args.a_ld = x->lda;
        args.b_ld = x->ldb;
        args.a_stride = x->stride_a;
        args.b_stride = x->stride_b;
        args.k = (int)x->k;
        args.a_k_contiguous = is_trans(x->transa);
        args.b_k_contiguous = !is_trans(x->transb);
        args.alpha_ptr = on_device ? (const double *)x->alpha : NULL;
        args.alpha = on_device ? 0.0 : *(const double *)x->alpha;
    }
    return ht_fail_device(h, ht_dev_check(r->plan->set->kernel[s->kernel].launch64(&args, h->stream)));
}

/* ---- products ---- */

/* C = alpha A B + beta C, or beta C alone, by a call that has no k. */
static int multiply64(halftone *h, struct gemm_call *x, enum call_effect effect) {
    struct gemm_run r;
    memset(&r, 0, sizeof r);
    r.call = x;
    x->k = effect == EFFECT_SCALE ? 0 : x->k;
    const int code = ht_plan_call(h, x, x->batch, x->batch, &r.plan);
    return code == HALFTONE_OK ? ht_run_plan(h, &r) : code;
}

int halftone_dgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const double *alpha, const double *a, int64_t lda,
                                   int64_t stride_a, const double *b, int64_t ldb, int64_t stride_b,
                                   const double *beta, double *c, int64_t ldc, int64_t stride_c,
                                   int64_t batch) {
    enum call_effect effect = EFFECT_NONE;
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct gemm_call x = gemm_call_of(transa, transb, m, n, k, batch);
    x.is_fp64 = true;
    x.alpha = alpha;
    x.a = a;
    x.lda = lda;
    x.stride_a = stride_a;
    x.b = b;
    x.ldb = ldb;
    x.stride_b = stride_b;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.stride_c = stride_c;
    code = ht_check_gemm(handle, &x, false, &effect);
    if (code == HALFTONE_OK)
        code = ht_check_extents(handle, &x, false, effect);
    return code != HALFTONE_OK || effect == EFFECT_NONE ? code : multiply64(handle, &x, effect);
}

int halftone_dgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const double *alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                   const double *beta, double *c, int64_t ldc) {
    return halftone_dgemm_strided_batched(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta,
                                          c, ldc, 0, 1);
}
