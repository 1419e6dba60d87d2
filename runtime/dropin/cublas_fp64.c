/* cublas_fp64.c: FP64 products: what the emulated mode runs where nothing else is asked for, and where that pays. */
#include "cublas_face.h"

/* cuBLAS' own emulation runs where it is faster than its FP64 arithmetic, about whose speed halftone's own has. So what the library
 * would do by its own FP64 arithmetic is left to the original. */
bool cublas_emulation_pays(struct dropin_slot *slot, const struct dropin_call *c) {
    struct dropin_weighed *const at = &slot->weighed[(uint64_t)(c->m * 31 + c->n * 7 + c->k + c->batch) % DROPIN_WEIGHED];
    if (at->batch != c->batch || at->m != c->m || at->n != c->n || at->k != c->k) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        at->pays = dropin_library()->dquery(slot->handle, c->op_a, c->op_b, c->m, c->n, c->k, c->batch, &plan) == HALFTONE_OK &&
                   plan.moduli > 0;
        at->m = c->m, at->n = c->n, at->k = c->k, at->batch = c->batch;
    }
    return at->pays;
}
