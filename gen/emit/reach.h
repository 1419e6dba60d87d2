/* reach: of the functions of a kernel file, those that it calls. Text alone, as tpl has it. */
#ifndef HT_REACH_H
#define HT_REACH_H

#include "base/text.h"

/* Appends the code of one namespace in three parts: types, constants and declarations of the first `library`
 * bytes, the rest, the functions of the library. Without functions that neither `callers` nor anything else
 * that stays names; comments right above a function go with it, a heading with all that it heads. What is no
 * function stays, and so do all overloads of a name. */
void reach_add(struct text *out, const struct text *code, size_t library, const struct text *callers);

#endif
