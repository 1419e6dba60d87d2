/* ht_pick.h: which set for a device; which kernel and which split-K for a shape. Pure functions of their arguments. */
#ifndef HT_PICK_H
#define HT_PICK_H

#include <stdbool.h>

#include "ht_abi.h"

/* Sizes of a call, and what one launch makes for each entry of its batch: products of moduli, or of pairs of slices; else 1. */
struct ht_shape {
    int64_t m, n, k, batch, products;
};

struct ht_choice {
    int kernel; /* index into set->kernel, -1: none */
    int splits;
    int64_t predicted_ns; /* kernel and reduction */
};

/* The scheme of that name; NULL: the set has none. */
HT_LOCAL const struct ht_scheme_desc *ht_find_scheme(const struct ht_set_desc *set, const char *name);
/* And of that role; set NULL: none. */
HT_LOCAL const struct ht_scheme_desc *ht_scheme_of(const struct ht_set_desc *set, enum ht_role role);

/* The tuned kernel where the set has one for this shape, else the cheapest dispatchable kernel of `scheme` by the model;
 * splits only while the partial sums fit partial_bytes. Ties go to the earlier kernel and the smaller split. */
HT_LOCAL struct ht_choice ht_pick(const struct ht_set_desc *set, const char *scheme, struct ht_shape x, int64_t partial_bytes);

/* Whether a kernel of the set is among those that are compared for its scheme at this k. */
HT_LOCAL bool ht_weighs_kernel(const struct ht_set_desc *set, int kernel, int64_t k);

/* ns of all a call needs but the launch of its kernel: choice.predicted_ns, and packing with its launches where the kernel
 * reads panels. What schemes are compared by. */
HT_LOCAL int64_t ht_total_ns(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x);

/* The packing in it; 0 where nothing is packed. */
HT_LOCAL int64_t ht_packing_ns(const struct ht_set_desc *set, const char *scheme, struct ht_shape x);

/* A product of few rows by the scheme's few_rows (ht_abi.h). */
struct ht_few_rows {
    int splits;                 /* 0: the scheme has none for this shape */
    int64_t rows;               /* of the large matrix that one launch takes, so that parts fit partial_bytes */
    int64_t pack_ns, kernel_ns; /* of the few, launch included; of the products and their reductions */
};
HT_LOCAL struct ht_few_rows ht_weigh_few_rows(const struct ht_set_desc *set, const struct ht_scheme_desc *s, struct ht_shape x, int64_t partial_bytes);

/* Of one row by the scheme's one_row, from matrices or panels; INT64_MAX: it has none for this shape. */
HT_LOCAL int64_t ht_one_row_ns(const struct ht_set_desc *set, const struct ht_scheme_desc *s, struct ht_shape x, bool is_packed);

/* The same for one kernel, whatever its variant: only the split is chosen. */
HT_LOCAL struct ht_choice ht_pick_splits(const struct ht_set_desc *set, int kernel, struct ht_shape x, int64_t partial_bytes);

/* The kernel of `scheme` that computes what the certificate has not cleared; -1: the set has none. */
HT_LOCAL int ht_pick_fallback(const struct ht_set_desc *set, const char *scheme);

/* Whether the product of a call computes what its certificate does not clear itself, instead of a launch behind it: where its kernel
 * can, has all of k, and that launch were more than 1/HT_FALLBACK_SHARE of the call. By shape alone: bits must not depend on data of other
 * blocks or calls. */
enum { HT_FALLBACK_SHARE = 64 };
HT_LOCAL int ht_fallback_in_kernel(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x);

/* Whether a sample of the data decides if a product by `s`, whose fallback is a launch, begins at all: where one entry is packed in strips, of so many rows
 * that a sample beside them is little, as is the idle launch of what then has all of C. */
enum { HT_SAMPLE_ROWS = 16, HT_SAMPLE_SHARE = 24 }; /* of A, and columns of B, for each SM; of the call, a launch at most */
HT_LOCAL bool ht_asks_sample(const struct ht_set_desc *set, const struct ht_scheme_desc *s, const struct ht_choice *choice, struct ht_shape x);

/* What HT_SAMPLES places may tell at most: of them the share of its time that `choice` saves of `rest`, which is what the fallback takes for all of C at
 * least. Where more of C is left, it had better begin with that. HT_SAMPLE_SOME in two places are always more.
 *
 * Worked example (a test holds it): choice 800, rest 2000: 16 * 0.6: 9. */
HT_LOCAL int ht_sample_most(const struct ht_set_desc *set, const struct ht_choice *choice, const struct ht_choice *rest, struct ht_shape x);

/* The kernel of `scheme` that computes 64 x 64 blocks of C with many failed results, in a launch between the product and the one above;
 * -1: the set has none, or two launches were more than 1/HT_FALLBACK_SHARE of the call, which is not asked with is_sampled: then it may have all of C. */
HT_LOCAL int ht_pick_blocks(const struct ht_set_desc *set, const char *scheme, const struct ht_choice *choice, struct ht_shape x, bool is_sampled);

/* Whether packing for this scheme can check the data, and the set has the fallback. */
HT_LOCAL bool ht_can_check(const struct ht_set_desc *set, const struct ht_scheme_desc *s);
/* Schemes with scales of tiles, whose paper says so, by whatever name they are asked for; else `auto`. */
HT_LOCAL bool ht_checks_data(const struct ht_set_desc *set, const struct ht_scheme_desc *s, bool is_auto);

/* The set that suits a device best; NULL: none runs on it. Of those that run the newest instruction set wins, then
 * exactly that capability, then the nearest number of SMs, then the earlier. */
HT_LOCAL const struct ht_set_desc *ht_pick_set(const struct ht_set_desc *const *sets, int capability,
                                               int sms);

/* The set as a device with so much shared memory for a block (0: not known) can run it: code for an older capability may ask
 * for more than a newer GPU of another line has (sm_80: 163 KB, 8.6: 99). Where some kernels do not fit, a copy, in *owned
 * for free(), in which they belong to no scheme and every kernel keeps its number. NULL: no memory. */
HT_LOCAL const struct ht_set_desc *ht_fit_set(const struct ht_set_desc *set, int64_t smem_bytes, void **owned);

#endif
