/* profile_model: candidate models of a matrix unit, as points in a table of dimensions. Each dimension says one thing that
 * a unit may do in several ways. Written apart from runtime/sim, so that both are tried against the same bits. */
#ifndef BENCH_PROFILE_MODEL_H
#define BENCH_PROFILE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum profile_dimension {
    DIM_KIND,
    DIM_WIDTH,
    DIM_CUT,
    DIM_GROUP,
    DIM_ORDER,
    DIM_ADDEND,
    DIM_RESULT,
    DIM_LEAST,
    DIM_ZERO,
    DIM_PRODUCT,
    DIM_INPUT_SUBNORMAL,
    DIM_ADDEND_SUBNORMAL,
    DIM_RESULT_SUBNORMAL,
    DIM_OVERFLOW,
    DIM_NAN,
    DIM_ZERO_SIGN,
    DIM_LOW_BITS,
    DIM_LOW_NAN,
    DIM_INTEGER, /* the only one of INT8 */
    PROFILE_DIMENSIONS
};
enum { KIND_ALIGNED, KIND_FMA_UP, KIND_FMA_DOWN, KIND_TREE, KIND_HALF };
enum { CUT_TO_ZERO, CUT_NEAREST, CUT_DOWN };
enum { ORDER_UP, ORDER_DOWN, ORDER_STRIDED };
enum { ADDEND_JOINS, ADDEND_AFTER };
enum { SUBNORMAL_LEAST, SUBNORMAL_NORMALISED, SUBNORMAL_FLUSHED };
enum { ZERO_PLUS, ZERO_OF_ZEROS, ZERO_KEEPS };
enum { LOW_CUT, LOW_NEAREST, LOW_AWAY, LOW_USED };
enum { INTEGER_WRAPS, INTEGER_SATURATES, INTEGER_FP32, INTEGER_UNSIGNED, INTEGER_24_BITS };
enum { PROFILE_NO_LEAST = -10000 };

/* A choice of each dimension, by place in its list of values. */
struct profile_model {
    int choice[PROFILE_DIMENSIONS];
};

/* How many values the dimension has for this unit; 0: it says nothing of such a unit. */
int profile_model_values(const struct profile_unit *unit, enum profile_dimension dimension);
/* Does the dimension say anything of a model whose other choices are these? */
int profile_model_matters(const struct profile_unit *unit, const struct profile_model *model,
                          enum profile_dimension dimension);
/* Is this dimension one of those whose every combination is tried first? */
int profile_model_is_main(enum profile_dimension dimension);
/* "24 bits, cut toward zero, groups of 8", then what differs from the first value of other dimensions. */
void profile_model_name(const struct profile_unit *unit, const struct profile_model *model, char *text,
                        size_t size);

/* Where `model` differs from `from`: its choices there. */
void profile_model_change(const struct profile_model *from, const struct profile_model *model, char *text,
                          size_t size);

/* One tile, of which `rows` of A, decoded once for all of its dots. */
struct profile_decoded;
struct profile_decoded *profile_decoded_new(void);
void profile_decoded_free(struct profile_decoded *d);
void profile_decode(struct profile_decoded *d, const struct profile_unit *unit,
                    const struct profile_model *model, int rows, const void *a, const void *b);
uint32_t profile_dot(const struct profile_decoded *d, int row, int column, uint32_t c);

#endif
