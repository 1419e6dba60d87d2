/* ht_steps.c: launches the steps of a call's plan, each by its kind, which its recipe has. */
#include "ht_call.h"

int ht_ready_steps(const struct call *c) {
    int code = HALFTONE_OK;
    for (int i = 0; i < c->plan->steps && code == HALFTONE_OK; i++) {
        const struct step *const s = &c->plan->step[i];
        if (s->kind->ready != NULL)
            code = s->kind->ready(c);
        else if (s->kernel != NO_KERNEL)
            code = ht_make_ready(c->h, c->plan->set->kernel[s->kernel].init, &c->half->ready[s->kernel]);
    }
    return code;
}

/* Split-K partials come to C by the step behind them. */
static bool writes_c(const struct plan *p, const struct step *s) {
    return s->kind->sliced && (s + 1 == p->step + p->steps || !s[1].kind->reduces);
}

static int launch_steps(struct call *c, bool sliced) {
    const struct plan *const p = c->plan;
    int code = HALFTONE_OK;
    for (const struct step *s = p->step; s < p->step + p->steps && code == HALFTONE_OK; s++) {
        if (s->kind->sliced != sliced)
            continue;
        code = s->kind->launch(c, s);
        if ((code == HALFTONE_OK || code == HALFTONE_SIM_VIOLATION) && writes_c(p, s))
            c->h->changed_c = true;
    }
    return code;
}

int ht_run_steps(struct call *c) {
    int code = ht_ready_steps(c);
    if (code == HALFTONE_OK)
        code = launch_steps(c, false);
    for (c->entry = 0; c->entry < c->batch && code == HALFTONE_OK; c->entry += HT_GRID_BATCH) {
        c->entries = grid_batch(c->batch - c->entry);
        code = launch_steps(c, true);
    }
    return code;
}
