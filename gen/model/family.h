/* family: what a row of the table of kernel families says, data and functions. The rows: gen/family. */
#ifndef HT_MODEL_FAMILY_H
#define HT_MODEL_FAMILY_H

#include "model/model.h"

struct plan;
struct text;

/* another family does better; nothing else is there */
enum unless { ALWAYS, UNLESS_WGMMA_RS, UNLESS_DMMA, ONLY_TILED };
/* A tile that every set has which the family serves. wm 0: what makes 256 threads. */
struct planned_tile {
    int bm, bn, bk, wm, wn, stages;
    enum unless unless;
    const char *why;
};

enum { FAMILY_HOOKS_MAX = 17, FAMILY_TILES_MAX = 7 };
enum tile_side { SIDE_BM, SIDE_BN, SIDE_BK, SIDE_WM, SIDE_WN, SIDE_STAGES, SIDE_CLUSTER, TILE_SIDES };
enum { GRID_MOST = 8 };

struct family {
    const char *file;        /* templates/skeletons/FILE.cu */
    const char *label;       /* in kernels' names; with a _ behind the scheme where tiles are searched */
    bool unpacked;           /* reads the caller's matrices */
    bool searched;           /* its tiles are a space */
    enum number_type in, out; /* of the caller's matrices; of C */
    bool scales_tiles;        /* takes schemes of SCALE_TILE as well */
    bool leaves_sums;         /* for a combining kernel, */
    enum number_type sum;     /* which are of this type */
    enum isa_feature needs;
    /* templates/hooks/HOOK.cuh in the order in which they stand in the file; "=role" is what isa row, scheme
     * or plan have for it (emit/emit.c), possibly nothing; of "+HOOK" loops are executed too */
    const char *hooks[FAMILY_HOOKS_MAX];
    /* constants of the template that unrolled code has as numbers; the others stay names */
    const char *folds;
    /* templates/skeletons/INLAY.cuh: what a hole takes instead of its own text; NULL: nothing */
    const char *inlay;
    enum ht_cost_form cost_form;
    int swap_ab_min_gain;    /* struct ht_tile's: swapping saves one of so many tiles; 0: any; 1: never */
    int in_block_k_splits;   /* ht_tile's */
    int line_k;              /* k of a step; 0: bk */
    bool no_split_k;
    bool has_init;           /* something to be said to the driver once per device */
    /* one block per SM walks over tiles; a warpgroup of producers feeds its others */
    bool persistent;
    /* a block has warps for so many rows: in smaller tiles groups of them take turns in steps; 0: its own */
    int group_rows;
    /* a short k needs less shared memory than planned: more blocks may fit */
    bool sets_min_blocks_by_registers;
    bool has_slices_alone;   /* what FFMA alone computes (simt_k_max of the scheme) is other families' */
    bool takes_counts;       /* computes what the certificate of residues leaves (ht_kernel_desc) */
    bool has_dmma_fallback;  /* of a checked scheme it computes what fails, where a launch would count */
    bool has_tiles_of_all_shapes; /* where isa.only_tiled says so it serves all */
    /* a 64 x 64 tile of it is what fails the check of another scheme computed with */
    bool is_fallback_base;
    bool serves_papers; /* models of papers take its tiles: warps, operands in registers */
    /* k of a step of a family that computes, from registers only, what the certificate of another scheme has
     * not cleared; 0: it does not */
    int rest_k;
    const char *smem;        /* of a block at least, in the template's names; NULL: SMEM_BYTES */
    const char *team;        /* whose tile wm x wn is */
    const char *workers, *holds; /* explain: what a block consists of, what a thread holds beside sums */
    const char *arithmetic, *accuracy; /* of all data; NULL: the scheme's */
    const char *fp32_arithmetic, *fp32_accuracy; /* the same where the isa has no BF16 MMA */
    struct planned_tile tiles[FAMILY_TILES_MAX];
    /* Its search space: of all combinations, 0 behind the last of a side, those that it takes. k of packed
     * operands in atoms. Empty: the planned tiles */
    int grid[TILE_SIDES][GRID_MOST];
    bool (*takes)(const struct target *on, const struct tile *t);
    /* Registers and shared memory; what it rejects is what the four limits do not say. */
    void (*footprint)(const struct target *on, const struct tile *t, struct cost *cost);
    /* Of a tile that fits: coefficients of the form that the family's row names, and what it waits for
     * where memory does not bind it. */
    void (*time)(const struct target *on, const struct tile *t, struct cost *cost);
    /* The latter where it depends on the shape; NULL: it does not. */
    const char *(*binding)(const struct target *on, const struct tile *t, const struct shape *shape,
                           const struct cost *cost);
    /* NULL: its step is one pipe */
    struct model_step (*step)(const struct target *on, const struct tile *t, int blocks_per_sm);
    /* of a warp and step; NULL: has no such step */
    struct model_counts (*counts)(const struct target *on, const struct tile *t);
    bool (*is_tight)(const struct target *on, const struct tile *t); /* its producer; NULL: has none */
    const char *params;    /* of the template, written at the top in this order (emit/emit.c) */
    const char *constants; /* of the expander alone; NULL: none */
    /* Writes a hole of a struct family_hole; false: the template's own text stays. NULL: no holes */
    bool (*holes)(void *hole, const char *name, struct text *out, int indent);
    void (*banner)(struct text *out, const struct plan *p); /* what it says of a step; NULL: nothing */
};

/* What its holes are filled from; inlay: the text of its own. */
struct family_hole {
    const struct plan *plan;
    const struct text *inlay;
};

/* ---- one kernel of a set, decided completely; plan/plan.c makes it */

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
