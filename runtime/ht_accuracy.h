/* ht_accuracy.h: from an accuracy that a user asks for to the cheapest scheme of a set whose a-priori bound meets it.
 * Pure functions of their arguments; knows nothing of handles, devices or workspaces. What the texts mean for users:
 * MANUAL.md, section 7; where the numbers come from: ACCURACY.md. */
#ifndef HT_ACCURACY_H
#define HT_ACCURACY_H

#include <stdbool.h>
#include <stddef.h>

#include "ht_pick.h"
#include "ht_site_line.h"

/* What is asked for. A scheme for FP32 meets it if its range is one of `ranges`, its split loses at most most_split units, its
 * bound at the call's k is at most units + units_per_k * k, and, unless products is 0, it has that many products. */
struct ht_accuracy {
    char text[HT_ACCURACY_TEXT_BYTES]; /* as the user wrote it; "": nothing was asked for */
    unsigned of;               /* HT_OF_FP32, HT_OF_FP64 */
    int is_auto;               /* class fp32: what the library takes by default; the rest says nothing */
    double units, units_per_k; /* of 2^-24 |A||B| */
    int most_split;
    unsigned ranges; /* bits 1 << enum ht_range */
    int products;    /* then a set has one scheme at most that meets it, whatever the shape */
    double bound;    /* of |A||B|, where the text is a number; 0: a name */
    int role64;      /* enum ht_role: whose scheme FP64 products run; 0: the data decide */
};

/* 0, or -1: the text means nothing, `accuracy` is as it was. */
HT_LOCAL int ht_accuracy_parse(const char *text, struct ht_accuracy *accuracy);

/* The forms of a text for products of one type or of either, one after the other, NULL past the end. */
HT_LOCAL const char *ht_accuracy_form(unsigned of, int index);

/* Most units that a scheme's bound may have at this k. */
HT_LOCAL double ht_accuracy_limit(const struct ht_accuracy *accuracy, int64_t k);

/* Whether a scheme meets it at this k. */
HT_LOCAL bool ht_accuracy_meets(const struct ht_accuracy *accuracy, const struct ht_scheme_desc *s, int64_t k);

struct ht_accuracy_candidate {
    const char *name;
    const struct ht_scheme_desc *scheme; /* NULL: none */
    int64_t units, ns;                   /* its bound, and the predicted time with packing */
};

struct ht_accuracy_choice {
    struct ht_accuracy_candidate first;  /* cheapest of those that meet it; none: none does */
    struct ht_accuracy_candidate second; /* the next */
    struct ht_accuracy_candidate best;   /* smallest bound of those in range, whether it meets or not */
    int meeting;                         /* how many meet it */
};

/* The choice for a product of this shape, sizes >= 1. `also`: a further candidate, which is for every finite input and has
 * FP32's slices. Equal times go to the earlier scheme, before `also`. */
HT_LOCAL struct ht_accuracy_choice ht_accuracy_choose(const struct ht_set_desc *set, const struct ht_accuracy *accuracy,
                                                      struct ht_shape x, int64_t partial_bytes,
                                                      const struct ht_accuracy_candidate *also);

/* One line: why this scheme, or, where the choice has none, what is missing. */
HT_LOCAL void ht_accuracy_explain(const struct ht_accuracy *accuracy, const struct ht_accuracy_choice *choice,
                                  int64_t k, char *line, size_t bytes);

#endif
