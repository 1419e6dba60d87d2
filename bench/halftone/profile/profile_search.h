/* profile_search: which candidate models give a unit's results on all of its tiles. First every combination of the main
 * dimensions, then, from the best, every change of one dimension, until nothing gets better. Runs on the CPU only. */
#ifndef BENCH_PROFILE_SEARCH_H
#define BENCH_PROFILE_SEARCH_H

#include "../../../runtime/sim/sim_mma.h"
#include "profile/profile_cases.h"
#include "profile/profile_model.h"

/* On how many tiles a model differs from the unit, and where first. */
struct profile_verdict {
    int failed;
    int tile, row, column; /* of the first difference */
    uint32_t unit, model;  /* its bits */
};

struct profile_candidate {
    struct profile_model model;
    struct profile_verdict verdict;
};

enum { PROFILE_CANDIDATES_MOST = 1024 };
struct profile_search {
    int count, best; /* best: fewest failed tiles, the first of equals */
    struct profile_candidate candidate[PROFILE_CANDIDATES_MOST];
};

int profile_search(struct profile_search *s, const struct profile_tiles *t, struct cli_error *f);
/* The simulator's own arithmetic in the candidates' place. */
void profile_simulator(struct profile_verdict *v, const struct profile_tiles *t,
                       const struct sim_mma_model *model);

#endif
