/* ht_product.c: the products of halftone.h: from a call to its plan, its workspace and its launches. */
#include "ht_call.h"

static int multiply(struct call *c) {
    int code = ht_plan_call(c, &c->plan);
    if (code == HALFTONE_OK && c->plan->blocks > 1)
        return ht_run_blocks(c, multiply);
    if (code == HALFTONE_OK)
        code = ht_open_workspace(c);
    return code == HALFTONE_OK ? ht_close_workspace(c, ht_run_steps(c)) : code;
}

/* FP32: C = beta * C needs no scheme. */
static int scale(const struct call *of) {
    struct call c = *of;
    struct plan scaling;
    ht_lay_out_scaling(&scaling);
    c.plan = &scaling;
    return ht_run_steps(&c);
}

HT_IN_OWN_FENV static int run_gemm(void *of) {
    struct call *const c = (struct call *)of;
    int code = ht_check_gemm(c);
    if (code == HALFTONE_OK)
        code = ht_check_extents(c);
    if (code != HALFTONE_OK || c->effect == EFFECT_NONE)
        return code;
    ht_enter_site(c, false);
    ht_settle_zeros(c);
    if (c->effect == EFFECT_NONE)
        return ht_leave_site(c, false, HALFTONE_OK);
    if (c->is_packed && c->effect == EFFECT_PRODUCT)
        code = ht_check_packed(c);
    if (c->effect == EFFECT_SCALE && c->is_fp64) { /* a product's scheme scales */
        c->k = 0;
        c->is_packed = false;
    }
    if (code == HALFTONE_OK)
        code = ht_lend_call(c, false);
    if (code == HALFTONE_OK) {
        code = c->effect == EFFECT_SCALE && !c->is_fp64 ? scale(c) : multiply(c);
        (void)ht_lend_call(c, true);
    }
    return ht_leave_site(c, true, code);
}

int ht_run_gemm(struct call *c) {
    if (!c->is_inner)
        c->h->last_site = 0;
    return ht_in_own_fenv(run_gemm, c);
}
