/* lowering: which product of a program may have which level of precision. Pure: it knows sites by number, levels by number,
 * and what a run of the program says. After the tuner of MixPert (section 3.5 of the paper, which gives no pseudo-code: order,
 * freezing and undo are our reading).
 *
 *   1. All sites start at level 0, the highest; two runs, which must agree, give the error and the times.
 *   2. Of the sites that are not frozen, take time and can go lower the one that takes longest now goes one level lower (equal
 *      times: the first).
 *   3. Error within tau: kept. Else, if its predecessor takes less time and is below level 0, that goes one level higher as
 *      well; within tau: both are kept and the predecessor is frozen. Else this is undone and the site is frozen.
 *   4. Where the program is not faster now the same site goes on at once; if that ends without a gain all is undone back to where it was
 *      faster, and the site is frozen. So no error is spent for nothing: two of MixPert's levels cost the same, and
 *      levels may be any list, whose times need not fall.
 *
 *   5. Where runs are left, exchanges: one site goes to a lower level that it or another site was timed at, another one back to level 0; kept
 *      where the program is within tau and faster, the largest gain by the times so far first (a site that was not timed there: by what
 *      the level gains at the others).
 *
 * Steps 4 and 5 are ours. A site is lowered at most levels - 1 times in steps 2 to 4, each time in at most two runs, so they take at most
 * 2 (levels - 1) sites + 2 runs, 6 sites + 2 with four levels; step 5 ends there. */
#ifndef BENCH_LOWERING_H
#define BENCH_LOWERING_H

#include "io/cli_error.h"

enum { LOWERING_SITES = 64, LOWERING_LEVELS = 16 };

/* What one run of the program says. */
struct lowering_run {
    double error; /* not a number: counts as above any tau */
    double seconds[LOWERING_SITES];
};

struct lowering_step;

struct lowering_program {
    int sites, levels;
    int before[LOWERING_SITES]; /* predecessor: an earlier site, or -1 */
    double tau;
    /* Runs it with these levels; 0, or -1 with `f` filled. */
    int (*run)(void *context, const int *level, struct lowering_run *out, struct cli_error *f);
    /* What a step came to; NULL: nobody asks. */
    void (*tell)(void *context, const struct lowering_step *step);
    void *context;
};

enum lowering_outcome {
    LOWERING_START,  /* all at level 0 */
    LOWERING_KEPT,   /* the site's level fell */
    LOWERING_RAISED, /* it fell, its predecessor's rose, or in step 5 another's */
    LOWERING_UNDONE, /* beyond tau, predecessor raised or not */
    LOWERING_FROZEN  /* no run: the site stays where `level` says */
};

struct lowering_step {
    enum lowering_outcome outcome;
    int site, raised;     /* -1: none */
    const int *level;     /* of every site, in the run that was tried; FROZEN: from now on */
    double error, error_before; /* of the run that was tried, and of what stood before */
    double seconds, seconds_before;
};

struct lowering_result {
    int runs;
    int meets_tau; /* 0: not even level 0 does, which is what `level` then is */
    int level[LOWERING_SITES];
    struct lowering_run start, last;
};

/* -1: a run failed, or the first two disagree. */
int lowering_search(const struct lowering_program *p, struct lowering_result *out, struct cli_error *f);
double lowering_seconds(const struct lowering_run *r, int sites);

#endif
