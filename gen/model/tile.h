/* tile: geometry of one kernel, and what a kernel is made for; no costs, no opinions. */
#ifndef HT_TILE_H
#define HT_TILE_H

#include <stdbool.h>

#include "../../runtime/ht_abi.h"
#include "facts/gpu.h"
#include "facts/isa.h"
#include "facts/scheme.h"

struct tile {
    int bm, bn, bk; /* CTA tile */
    int wm, wn, wk; /* warp tile; wk = MMA k (EGEMM-TC w_k) */
    int stages;     /* shared-memory buffers of bk */
    int cluster;    /* blocks that share panels: 1, or 2 (warpgroup kernels) */
};

struct family;

/* What a kernel is made for: everything but its tile. */
struct target {
    const struct gpu *g;
    const struct isa *isa;
    const struct family *family;
    const struct scheme *s;
    const struct mma_shape *mma; /* the isa row's of packed or unpacked operands */
};

/* k of one MMA and of one fragment load. A load brings the same bytes of k whatever the slice type; mma.sync
 * takes as many (m16n8k16 FP16 and BF16, m16n8k8 TF32, m16n8k32 INT8), MFMA the same k (32x32x8). */
int target_mma_k(const struct target *on);
int target_fragment_k(const struct target *on);

static inline int tile_warps(const struct tile *t) { return (t->bm / t->wm) * (t->bn / t->wn); }
/* Groups of a block's warps that take turns in a tile's steps. */
int tile_groups(const struct tile *t, const struct target *on);
int tile_threads(const struct tile *t, const struct target *on); /* a warpgroup of producers included */
/* Warpgroup kernels: consumer warpgroups of a block, parts of 64 columns of one of them, results a thread
 * has of a part. */
enum { WARPGROUP_THREADS = 128, PART_COLUMNS = 64 };
static inline int tile_warpgroups(const struct tile *t) { return t->bn / t->wn; }
static inline int tile_parts(const struct tile *t) { return t->wn / PART_COLUMNS; }
static inline int tile_part_registers(const struct tile *t) {
    return t->bm * PART_COLUMNS / WARPGROUP_THREADS;
}
static inline int tile_part_rows(const struct tile *t) { return t->bm < HT_ATOM_ROWS ? t->bm : HT_ATOM_ROWS; }
/* Bytes of one stage: A and B slices of bk, unpadded (swizzled panels need none). */
int tile_stage_bytes(const struct tile *t, const struct scheme *s);
/* Of these, what the block itself fetches: of panels that its cluster shares, its part. */
int tile_fetched_bytes(const struct tile *t, const struct scheme *s);
/* Blocks of a cluster along m and n: it shares the larger panels, and is spread along the other operand. */
static inline int tile_cluster_m(const struct tile *t) { return t->bn >= t->bm ? t->cluster : 1; }
static inline int tile_cluster_n(const struct tile *t) { return t->bn >= t->bm ? 1 : t->cluster; }
/* What the cost formula asks of the kernel. */
struct ht_tile tile_walk(const struct target *on, const struct tile *t, int blocks_per_sm);
/* Total order on geometry (bm, bn, bk, wm, wn, wk, stages, cluster), for ties. */
int tile_compare(const struct tile *x, const struct tile *y);

/* Its name, as in kernels' names and in `emit --tiles`: 64x128x32_wg64x64_s8_c2, without _c1; w16x64 where
 * wm x wn is of a warp (family_has_warpgroup_tiles). */
enum { TILE_NAME_MAX = 64 };
void tile_name(char name[TILE_NAME_MAX], const struct tile *t, bool of_warpgroups);
/* The next of a list of such names with commas, but for wk; moves the list behind it. False: none is left, or
 * the list goes on with something else. */
bool tile_entry(const char **list, struct tile *t, bool *of_warpgroups);

#endif
