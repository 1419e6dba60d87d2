/* sched: the order of everything a warp does in one bk step, as data. A step is K_STEPS fragment steps.
 * Fragment step s runs the scheme's products on fragments loaded earlier, while the fragments of s + 1 are
 * loaded and the stage PREFETCH_STAGES ahead is copied. The last fragment step first advances the ring
 * (land, commit, wait, barrier; in some kernels the copies), because its successor reads the next stage. */
#ifndef HT_SCHED_H
#define HT_SCHED_H

#include "plan/plan.h"

enum op_kind {
    OP_COPY,    /* x: 16-byte part of the stage to issue */
    OP_ADVANCE, /* make the next stage readable */
    OP_COMMIT,  /* the copies so far are one group; without refilling OP_ADVANCE does it */
    OP_LOAD_A,  /* x: slice, y: MMA row tile */
    OP_LOAD_B,  /* x: slice, y: first of the isa's b_tiles MMA column tiles that are loaded together */
    OP_MMA,     /* x: product, y: MMA row tile, z: MMA column tile */
    OP_BARRIER, /* everyone has read the stage (plain variant) */
    OP_FETCH    /* issue, land and wait for one whole stage (plain variant) */
};

struct op {
    enum op_kind kind;
    int fragment; /* fragment step its fragments belong to, 0 .. K_STEPS - 1 */
    int x, y, z;
};

enum { SCHED_OPS_MAX = 8192 };

struct sched {
    int ops;
    struct op op[SCHED_OPS_MAX];
    int first_ops; /* loads before the first step */
    struct op first[512];
    int mmas, loads, copies; /* counts per warp (thread for copies) and bk step, for tests and banners */
};

void sched_plan(struct sched *out, const struct plan *p);

/* Geometry both sched and emit need. */
int sched_mi(const struct plan *p);
int sched_ni(const struct plan *p);
int sched_k_steps(const struct plan *p);
int sched_parts(const struct plan *p);
#endif
