/* scheme: the table of emulation schemes. A scheme is a row of data plus its `templates/hooks/scheme/` file
 * (ht_split, ht_combine). Knows nothing of tiles, GPUs or text. */
#ifndef HT_SCHEME_H
#define HT_SCHEME_H

#include <stdbool.h>

#include "facts/dtype.h"
#include "facts/recipe.h"

enum split_rule {
    SPLIT_ROUND, SPLIT_TRUNCATE, SPLIT_ROUND_RESIDUAL, SPLIT_BIT_CUT, SPLIT_DIGITS, SPLIT_SEGMENTS,
    SPLIT_OZAKI
};
enum paper { PAPER_NONE, PAPER_EGEMM, PAPER_LEGEMM };
/* SCALE_TILE: of each tile of 16 rows x 32 k of A and of 32 k x 8 columns of B; integer products of 32 k
 * are exact, level i + j weighs 2^-7(i + j), and all levels are added in FP32 after each 32 k
 * (accum/tile_levels) */
enum scale_rule { SCALE_NONE, SCALE_RESIDUAL, SCALE_ROW, SCALE_TILE };
enum { SCALE_TILE_K = 32 };
enum { PROMOTE_NEVER = 0, PROMOTE_EACH_MMA = 1, PROMOTE_ISA = 2 }; /* or a k interval, >= 16 */
enum { SCHEME_PRODUCTS_MAX = 28, SCHEME_ACCUMULATORS_MAX = 7 };

struct product {
    int a, b, acc; /* slice of A times slice of B into accumulator acc */
};

struct scheme {
    const char *name, *paper, *hooks;
    const struct recipe *recipe; /* its kernels */
    enum number_type in, out, sum; /* of the caller's A and B, of C, of an accumulator */
    int unit_exponent;             /* bounds count units of 2^this, the unit roundoff of `out` */
    enum slice_type slice;
    /* products of residues, one for each modulus (runtime/ht_crt.h), put together by a kernel; 0: none */
    int moduli;
    int slices;
    int atom_slices; /* slices side by side in a row of a panel atom; it divides slices */
    enum split_rule split;
    enum paper tiles_of; /* sets with warps' kernels have that paper's tiles and ablations of it too */
    enum scale_rule scale;
    /* SCALE_ROW, SCALE_TILE: the binary exponent of the row's (tile's) largest magnitude, its significand
     * enlarged by scale_room * 2^-23, is brought into [scale_low, scale_high] if it is outside
     * (ht_row_exponent) */
    int scale_low, scale_high, scale_room;
    unsigned roles; /* bits of enum ht_role: what `auto`, `fp64-fast`, `reproducible` mean */
    bool on_request; /* sets have it if --scheme names it */
    bool checked; /* packing can add up what the certificate needs (templates/hooks/pack/row_sums.cuh) */
    int residual_shift; /* residual is stored times 2^residual_shift; with SCALE_ROW after the row's scale */
    int products;
    struct product product[SCHEME_PRODUCTS_MAX]; /* in the order they are issued */
    int accumulators;
    int promote[SCHEME_ACCUMULATORS_MAX]; /* PROMOTE_* or a k interval, for each accumulator */
    /* integer sums: accumulator l weighs 2^-8l; k between two carries from l + 1 to l, and the most k that
     * one part of k (split-K) may have before accumulator 0 could overflow. 0: FP32 sums */
    int carry_interval_k, exact_k;
    /* Of unpacked schemes, whose kernels cut slices themselves: up to simt_k_max products an element is
     * computed by FFMA only, which is then more accurate */
    int simt_k_max;
    /* a-priori bound |C-R| <= units(k) * 2^unit_exponent * |A||B|, see ht_bound_units in
     * runtime/ht_bound.h */
    int split_units; /* what the split alone loses, in the same units */
    const char *bound_text, *range_text;
    const char *range; /* what range_text says: HT_RANGE_... of enum ht_range */
    /* For matrix units that flush subnormals. */
    const char *flushed_range_text; /* range_text there; NULL: the same, but an FP16 row needs subnormals */
};

extern const struct scheme scheme_table[];
extern const int scheme_count;
const struct scheme *scheme_find(const char *name); /* the first row of that name; NULL: none */
/* The row of that name for a matrix unit that keeps, or flushes, subnormals: a name may have a second row
 * whose slices are scaled so that no accuracy depends on them. NULL: none. */
const struct scheme *scheme_for(const char *name, bool flushes);
const struct scheme *scheme_of_role(enum ht_role role); /* one name has each */
/* Largest power of two, as exponent, that a flushing unit may drop from an element that is a normal number of
 * the slice type (smaller ones may vanish); 0: integers, or FP32 from the caller's matrices: nothing is
 * dropped. */
int scheme_flush_exponent(const struct scheme *s);

/* Products of a launch that differ in their data alone: one for each modulus. */
static inline int scheme_alike(const struct scheme *s) { return s->moduli > 0 ? s->moduli : 1; }
const char *scheme_operands(const struct scheme *s); /* what its products multiply: "FP16" */
static inline int scheme_slice_bytes(const struct scheme *s) { return slice_bytes(s->slice); }
/* k of one panel atom: its 128-byte rows hold atom_slices slices side by side (templates/README.md). Atoms
 * are ordered row block, k block of atom_k, group of atom_slices slices: slice i lies in atom i / atom_slices
 * of its k block, 128 / atom_slices * (i % atom_slices) bytes into the row (before the swizzle). */
static inline int scheme_atom_k(const struct scheme *s) {
    return 128 / scheme_slice_bytes(s) / s->atom_slices;
}
/* Atoms of one row block and k block: slices / atom_slices. */
static inline int scheme_atom_group(const struct scheme *s) { return s->slices / s->atom_slices; }
/* SCALE_TILE: sums that are apart while 32 k are multiplied; else 0. */
int scheme_levels(const struct scheme *s);
/* Whether a product has slice `slice` of A (side 0) or of B (side 1). */
bool scheme_multiplies(const struct scheme *s, int side, int slice);

#endif
