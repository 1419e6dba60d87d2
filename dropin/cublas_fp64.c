/* cublas_fp64.c: FP64 products: what the emulated mode runs where nothing else is asked for, and where that pays. */
#include "cublas_face.h"

/* cuBLAS' own emulation keeps FP64's accuracy and runs where that is faster. Its way by residues took 0.81 of cublasDgemm's time on an
 * H100 at 4096, native64 1.8 times as much: so half of native64's predicted time stands for cublasDgemm's. */
static const char NATIVE[] = "native64";
enum { NATIVE_TIMES = 2 };

/* false: one of the two is not known. */
static bool ask_times(const struct dropin_library *library, halftone *h, const struct dropin_call *c, const char *scheme,
                      int64_t *own, int64_t *native) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    bool good = library->dset_scheme(h, NATIVE) == HALFTONE_OK &&
                library->dquery(h, c->op_a, c->op_b, c->m, c->n, c->k, c->batch, &plan) == HALFTONE_OK;
    *native = plan.predicted_ns;
    good = library->dset_scheme(h, scheme) == HALFTONE_OK &&
           library->dquery(h, c->op_a, c->op_b, c->m, c->n, c->k, c->batch, &plan) == HALFTONE_OK && good;
    *own = plan.predicted_ns;
    return good;
}

bool cublas_emulation_pays(struct dropin_slot *slot, const struct dropin_call *c, const struct dropin_policy *policy) {
    struct dropin_weighed *const at = &slot->weighed[(uint64_t)(c->m * 31 + c->n * 7 + c->k + c->batch) % DROPIN_WEIGHED];
    int64_t own = 0, native = 0;
    if (at->batch != c->batch || at->m != c->m || at->n != c->n || at->k != c->k) {
        /* a set without native64 leaves nothing to compare with: what was asked for is done */
        at->pays = !ask_times(dropin_library(), slot->handle, c, policy->scheme, &own, &native) ||
                   own <= native / NATIVE_TIMES;
        at->m = c->m, at->n = c->n, at->k = c->k, at->batch = c->batch;
    }
    return at->pays;
}

int cublas_multiply64(const struct dropin_library *library, halftone *h, const struct dropin_call *c,
                      const struct cublas_gemm *g) {
    const double *const alpha = (const double *)g->alpha, *const beta = (const double *)g->beta;
    const double *const a = (const double *)g->a, *const b = (const double *)g->b;
    if (!g->strided)
        return library->dgemm(h, c->op_a, c->op_b, g->m, g->n, g->k, alpha, a, g->lda, b, g->ldb, beta,
                              (double *)g->c, g->ldc);
    return library->dgemm_strided_batched(h, c->op_a, c->op_b, g->m, g->n, g->k, alpha, a, g->lda,
                                          g->stride_a, b, g->ldb, g->stride_b, beta, (double *)g->c, g->ldc,
                                          g->stride_c, g->batch);
}
