/* plan: one kernel of a set, decided completely. Data only; plan/plan.h makes it. */
#ifndef HT_MODEL_PLAN_H
#define HT_MODEL_PLAN_H

#include "model/family.h"

enum variant { VARIANT_PIPELINE, VARIANT_NOPIPELINE, VARIANT_NOINTERLEAVE, VARIANT_HANDPICKED,
               VARIANT_FALLBACK };
enum { PLAN_NAME_MAX = 96, PLAN_WHY_MAX = 224 };

struct plan {
    struct target on;
    struct tile tile;
    struct cost cost; /* of the tile for the shape that chose it, */
    struct shape shape;
    enum variant variant;
    int promote_steps; /* bk steps between promotions of accumulator 0, or carries of exact sums; 0: never */
    int chunk;         /* bk steps between promotions: of a warpgroup kernel what is multiplied at once */
    bool promoted[SCHEME_ACCUMULATORS_MAX]; /* whose chains are closed and added up in FP32 */
    int min_blocks;      /* that the compiler leaves registers for, on an SM */
    bool refills;        /* copies go into a stage as soon as everyone has read it */
    char name[PLAN_NAME_MAX];
    char why[PLAN_WHY_MAX];
};

#endif
