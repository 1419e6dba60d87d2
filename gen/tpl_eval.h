/* tpl_eval: constant int expressions of templates. Level 4, between tpl_lex and tpl; knows only names and
 * values.
 *
 * Arithmetic is that of a 32-bit int as the compiler would do it; what overflows, divides by zero or shifts
 * out of range is not a constant (nor is INT_MIN, which has no literal). */
#ifndef HT_TPL_EVAL_H
#define HT_TPL_EVAL_H

#include "tpl.h"
#include "tpl_lex.h"

enum { TPL_NEST_MAX = 16 };

/* What names mean at one place: the parameters, and the indices of the unrolled loops around it. */
struct tpl_scope {
    const struct tpl_param *params;
    int param_count;
    struct {
        size_t token; /* that spells the index */
        int value;
    } index[TPL_NEST_MAX];
    int depth;
};

/* The innermost index spelled like token i, or -1. The parameter spelled so, or NULL. */
int tpl_find_index(const struct tpl_scope *scope, const struct tpl_source *s, size_t i);
const struct tpl_param *tpl_find_param(const struct tpl_scope *scope, const struct tpl_source *s, size_t i);

struct tpl_eval {
    const struct tpl_source *source;
    const struct tpl_scope *scope;
    bool folding;   /* only foldable parameters, no operators that give a bool, no ?:, no comments */
    size_t at;      /* in: first token; out: the first one that does not belong to the expression */
    bool saw_index; /* out, as is `fault`: why there is no value */
    const char *fault;
    int depth;
};

/* False, with fault and its token in `at`, when there is no constant. */
bool tpl_eval(struct tpl_eval *e, int *value);

#endif
