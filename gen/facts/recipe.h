/* recipe: of which kernels a product of a scheme consists, and how each is called. One row serves every
 * scheme with the same steps. */
#ifndef HT_RECIPE_H
#define HT_RECIPE_H

#include <stdbool.h>

#include "../../runtime/ht_abi.h"

/* In the order in which a library lists them. */
enum kernel_kind { KERNEL_PRODUCT, KERNEL_PACK, KERNEL_COMBINE, KERNEL_ROUND, KERNEL_REDUCE, KERNEL_FEW_ROWS,
                   KERNEL_ONE_ROW, KERNEL_WIDEN, KERNEL_KINDS };

enum packing {
    PACKS_NOTHING, /* the product reads the caller's matrices */
    PACKS_SLICES,  /* FP32 operands */
    PACKS_BYTES,   /* FP64 operands as INT8: residues or digits */
    PACKS_PLANES   /* FP64 operands as FP16 slices, as many as the data need */
};

struct recipe_kernel {
    const char *args;       /* the launcher's parameters before the stream; NULL: there is no such kernel */
    const char *values;     /* what the launcher hands to the template */
    const char *word;       /* in its name: "pack", "combine" */
    bool of_tile;           /* it knows a plan's tile, the order of sums there, and is named after it */
    const char *family;     /* of the list in family/table.c; for a product: the plan's */
    const char *params;     /* of the template (emit.c); for a product: its family's */
    const char *what;       /* the banner's sentence */
};

struct recipe {
    enum packing packs;
    enum ht_recipe run;  /* the runtime's row; of FP32 sums of any scheme: none */
    bool fixed_point;    /* sums are exact integers: the same bits whatever the tile, split or matrix unit */
    const char *plan;    /* why a tile is there, where a family's are all made; NULL: those that rank first */
    const char *element; /* hook of packing that makes an FP64 element's bytes (=element); NULL: no FP64 */
    const char *partial; /* hook of split-K's partial sums (=partial) */
    struct recipe_kernel kernel[KERNEL_KINDS];
};

enum recipe_name {
    RECIPE_ANY, /* of FP32 products of any scheme: the reduction of sums, and what widens operands */
    RECIPE_SLICES, RECIPE_FIXED_POINT, RECIPE_UNPACKED, RECIPE_NATIVE64, RECIPE_RESIDUES,
    RECIPE_RESIDUES_ROUNDED, RECIPE_DIGITS, RECIPE_OZAKI, RECIPES
};

extern const struct recipe recipe_table[RECIPES];

static inline bool recipe_has(const struct recipe *r, enum kernel_kind kind) {
    return r->kernel[kind].args != NULL;
}

#endif
