/* sched: the order of everything a warp does in one bk step, as data.
 *
 * A step is K_STEPS fragment steps. Fragment step s runs the scheme's products on fragments loaded earlier,
 * while the fragments of s + 1 are loaded and the stage LOOKAHEAD ahead is copied. The last fragment step
 * first advances the ring (land, commit, wait, barrier; in some kernels the copies), because its successor
 * reads the next stage. No text here. */
#ifndef HT_SCHED_H
#define HT_SCHED_H

#include "plan/plan.h"

enum slot_kind {
    SLOT_COPY,    /* x: 16-byte part of the stage to issue */
    SLOT_ADVANCE, /* make the next stage readable */
    SLOT_COMMIT,  /* the copies so far are one group; without refilling SLOT_ADVANCE does it */
    SLOT_LOAD_A,  /* x: slice, y: MMA row tile */
    SLOT_LOAD_B,  /* x: slice, y: first of the isa's b_tiles MMA column tiles that are loaded together */
    SLOT_MMA,     /* x: product, y: MMA row tile, z: MMA column tile */
    SLOT_BARRIER, /* everyone has read the stage (plain variant) */
    SLOT_FETCH    /* issue, land and wait for one whole stage (plain variant) */
};

struct slot {
    enum slot_kind kind;
    int fragment; /* fragment step the slot's fragments belong to, 0 .. K_STEPS - 1 */
    int x, y, z;
};

enum { SCHED_SLOTS_MAX = 8192 };

struct sched {
    int slots;
    struct slot slot[SCHED_SLOTS_MAX];
    int first_slots; /* loads before the first step */
    struct slot first[512];
    int mmas, loads, copies; /* counts per warp (thread for copies) and bk step, for tests and banners */
};

void sched_plan(struct sched *out, const struct plan *p);

/* Geometry both sched and emit need. */
int sched_mi(const struct plan *p);
int sched_ni(const struct plan *p);
int sched_k_steps(const struct plan *p);
int sched_parts(const struct plan *p);
#endif
