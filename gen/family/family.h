/* family: the table of kernel families, a row for each way of computing, and what is asked of rows. All that
 * is known of one stands in its file: row, tiles, footprint, cost, fitted constants, holes. */
#ifndef HT_FAMILY_H
#define HT_FAMILY_H

#include "model/family.h"

extern const struct family *const kernel_families[];
extern const int kernel_family_count;
const struct family *family_of(const char *name);

/* Whether wm x wn is a warpgroup's tile. */
bool family_has_warpgroup_tiles(const struct family *k);

struct target target_of(const struct gpu *g, const struct isa *isa, const struct family *family,
                        const struct scheme *s);
/* The family whose search space the scheme's kernels come from first. */
struct target target_main(const struct gpu *g, const struct isa *isa, const struct scheme *s);
/* Goes on to the next MMA shape or family of the same unit that has a search space; false, and isa NULL: that
 * was the last. */
bool target_next(struct target *on);

/* Whether the family has its planned tile i there; *t is that tile. */
bool family_plans(const struct target *on, int i, struct tile *t);
/* The next tile of the search space, in tile_compare order; *at begins with 0. False: none is left. */
bool tile_next(const struct target *on, int *at, struct tile *t);
/* Clocks of a step of the family; false and zeros: its step is one pipe. */
bool model_step_of(const struct target *on, const struct tile *t, int blocks_per_sm, struct model_step *step);
/* 0: it has no such step */
struct model_counts model_step_counts(const struct target *on, const struct tile *t);
/* Whether a kernel can compute what the certificate does not clear, or blocks of it (ht_kernel_desc). */
bool family_fallback_in_kernel(const struct plan *p);

/* What MMAs form: "A.lo * B.hi", and "A.lo * B.hi, k 16..31"; three slices and more are numbered, one has no
 * name. */
void family_slices_text(struct text *out, const struct scheme *s, int product);
void family_product_text(struct text *out, const struct scheme *s, int product, int k, int depth);

/* ---- what emit and manifest ask of one, and tests of wgmma_ss */

/* Whether a warpgroup kernel takes two chunks at once: one warpgroup, which has registers for a second chain,
 * and a ring that is being filled meanwhile. */
bool model_has_two_intervals(const struct target *on, const struct tile *t);

/* Most 64 x 64 tiles that a packing block of a scheme that scales rows holds. */
long model_pack_tiles(const struct gpu *g, const struct scheme *s);
int model_pack_blocks_per_sm(const struct gpu *g, const struct scheme *s); /* that many blocks fit an SM */
long model_pack_smem_most(const struct gpu *g, const struct isa *isa); /* bytes it may ask for */
/* Most k of a row that one_row takes. */
int model_one_row_k(const struct gpu *g, const struct isa *isa, const struct scheme *s);

#endif
