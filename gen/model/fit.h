/* fit: where constants of the cost model come from that were fitted to measurements. What was counted in code
 * or read in a manual stands next to its formula. */
#ifndef HT_FIT_H
#define HT_FIT_H

struct fit_source {
    const char *tables;  /* of bench/results */
    const char *card;    /* and its clock where the kernels ran */
    const char *command; /* that holds today's constants against them */
    const char *error;   /* of predictions there, root mean square where it does not say otherwise */
};

#define FIT_AGAIN "out/h200/halftone-sim tune --again bench/results/"

struct fit_reduce {
    struct fit_source source;
    int partial_latency_share; /* one part in so many of L2's latency for each split-K partial */
};

extern const struct fit_reduce fit_reduce, fit_reduce_behind_wgmma; /* the latter of packed kernels */

#endif
