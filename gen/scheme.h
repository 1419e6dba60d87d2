/* scheme: the table of emulation schemes. Level 1. A scheme is a row of data plus its `templates/scheme_*` hooks
 * (ht_split, ht_combine). This room knows nothing of tiles, GPUs or text. */
#ifndef HT_SCHEME_H
#define HT_SCHEME_H

enum slice_type { SLICE_F16, SLICE_BF16, SLICE_TF32, SLICE_S8 };
enum split_rule { SPLIT_ROUND, SPLIT_TRUNCATE, SPLIT_ROUND_RESIDUAL, SPLIT_BIT_CUT };
enum scale_rule { SCALE_NONE, SCALE_RESIDUAL, SCALE_ROW };
enum { PROMOTE_NEVER = 0, PROMOTE_EACH_MMA = 1, PROMOTE_ISA = 2 }; /* or a k interval, >= 16 */
enum { SCHEME_PRODUCTS_MAX = 16, SCHEME_ACCUMULATORS_MAX = 4 };

struct product {
    int a, b, acc; /* slice of A times slice of B into accumulator acc */
};

struct scheme {
    const char *name, *paper, *hooks;
    enum slice_type slice;
    int slices;
    enum split_rule split;
    enum scale_rule scale;
    int residual_shift; /* residual is stored times 2^residual_shift */
    int products;
    struct product product[SCHEME_PRODUCTS_MAX]; /* in the order they are issued */
    int accumulators;
    int promote[SCHEME_ACCUMULATORS_MAX]; /* PROMOTE_* or a k interval, for each accumulator */
    /* a-priori bound |C-R| <= units(k) * 2^-24 * |A||B|, see ht_bound_units in runtime/ht_desc.h */
    int split_units; /* what the split alone loses, in 2^-24 */
    const char *bound_text, *range_text;
};

extern const struct scheme scheme_table[];
extern const int scheme_count;
const struct scheme *scheme_find(const char *name); /* NULL: none */

int scheme_slice_bytes(const struct scheme *s);
/* k of one panel atom: 128-byte rows hold all slices side by side (ARCHITECTURE section 5). */
int scheme_atom_k(const struct scheme *s);

#endif
