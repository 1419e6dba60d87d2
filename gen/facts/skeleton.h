/* skeleton: the table of kernel families, one row for each way of computing, and what a kernel is made for. A
 * new family is a row here, a template, and a row of functions in model/family.c and emit/emit.c. Knows
 * no tiles, costs or text. */
#ifndef HT_SKELETON_H
#define HT_SKELETON_H

#include "../../runtime/ht_abi.h"
#include "facts/gpu.h"
#include "facts/isa.h"
#include "facts/scheme.h"

enum { GEMV_LANES = 8 }; /* of gemv and tall_skinny, lanes of a warp that load a line */

/* A tile that every set has which the family serves. wm 0: what makes 256 threads. */
/* another family does better; nothing else is there */
enum unless { ALWAYS, UNLESS_WGMMA_RS, UNLESS_DMMA, ONLY_TILED };
struct planned_tile {
    int bm, bn, bk, wm, wn, stages;
    enum unless unless;
    const char *why;
};

enum { SKELETON_HOOKS_MAX = 16, SKELETON_TILES_MAX = 7 };

struct skeleton {
    const char *file;        /* templates/skeletons/FILE.cu */
    const char *label;       /* in kernels' names; with a _ behind the scheme where tiles are searched */
    bool unpacked;           /* reads the caller's matrices */
    bool searched;           /* its tiles are a space (tile_enumerate) */
    enum number_type in, out; /* of the caller's matrices and of C, or of what a pass leaves */
    bool scales_tiles;        /* takes schemes of SCALE_TILE as well */
    bool forms_passes;        /* leaves its sums for a combining kernel, */
    enum number_type sum;     /* which are of this type */
    enum isa_feature needs;
    /* templates/hooks/HOOK.cuh in the order in which they stand in the file; "=role" is what isa row, scheme
     * or plan have for it (emit.c), possibly nothing; of "+HOOK" loops are executed as the template's are */
    const char *hooks[SKELETON_HOOKS_MAX];
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
    bool has_dmma_fallback;  /* of a checked scheme it computes what fails, where a launch would count */
    bool has_tiles_of_all_shapes; /* where isa.only_tiled says so it serves all */
    /* a 64 x 64 tile of it is what fails the check of another scheme computed with */
    bool is_fallback_base;
    const char *smem;        /* of a block at least, in the template's names; NULL: SMEM_BYTES */
    const char *team;        /* whose tile wm x wn is */
    const char *workers, *holds; /* explain: what a block consists of, what a thread holds beside sums */
    const char *arithmetic, *accuracy; /* of all data; NULL: the scheme's */
    const char *fp32_arithmetic, *fp32_accuracy; /* the same where the isa has no BF16 MMA */
    struct planned_tile tiles[SKELETON_TILES_MAX];
};

extern const struct skeleton skeleton_table[HT_FAMILIES];

/* What a kernel is made for: everything but its tile. */
struct target {
    const struct gpu *g;
    const struct isa *isa;
    const struct skeleton *skeleton;
    const struct scheme *s;
    const struct mma_shape *mma; /* the isa row's of packed or unpacked operands */
};

/* Whether wm x wn is a warpgroup's tile. */
bool skeleton_has_warpgroup_tiles(const struct skeleton *k);

struct target target_of(const struct gpu *g, const struct isa *isa, enum ht_family family,
                        const struct scheme *s);
/* The family whose search space the scheme's kernels come from first. */
struct target target_main(const struct gpu *g, const struct isa *isa, const struct scheme *s);
/* Goes on to the next MMA shape or family of the same unit that has a search space; false, and isa NULL: that
 * was the last. */
bool target_next(struct target *on);

/* k of one MMA and of one fragment load. A load brings the same bytes of k whatever the slice type; mma.sync
 * takes as many (m16n8k16 FP16 and BF16, m16n8k8 TF32, m16n8k32 INT8), MFMA the same k (32x32x8). */
int target_mma_k(const struct target *on);
int target_fragment_k(const struct target *on);

#endif
