/* tpl_eval: see tpl_eval.h. Precedence climbing over the tokens. */
#include "tpl_eval.h"

#include <limits.h>
#include <string.h>

enum { EVAL_DEPTH_MAX = 64 };

static bool same_spelling(const struct tpl_source *s, size_t i, const char *name, size_t len) {
    const struct tpl_token *t = &s->tokens[i];
    return t->kind == TPL_NAME && t->len == len && memcmp(s->clean.data + t->at, name, len) == 0;
}

int tpl_find_index(const struct tpl_scope *scope, const struct tpl_source *s, size_t i) {
    for (int d = scope->depth - 1; d >= 0; d--) {
        const struct tpl_token *t = &s->tokens[scope->index[d].token];
        if (same_spelling(s, i, s->clean.data + t->at, t->len))
            return d;
    }
    return -1;
}

const struct tpl_param *tpl_find_param(const struct tpl_scope *scope, const struct tpl_source *s, size_t i) {
    for (int p = 0; p < scope->param_count; p++)
        if (same_spelling(s, i, scope->params[p].name, strlen(scope->params[p].name)))
            return &scope->params[p];
    return NULL;
}

static bool fail(struct tpl_eval *e, const char *fault) {
    if (!e->fault)
        e->fault = fault;
    return false;
}

static bool in_range(struct tpl_eval *e, int64_t wide, int *value) {
    if (wide > INT_MAX || wide <= INT_MIN)
        return fail(e, "does not fit an int");
    *value = (int)wide;
    return true;
}

static void skip_comments(struct tpl_eval *e) {
    while (!e->folding && e->source->tokens[e->at].kind == TPL_COMMENT)
        e->at++;
}

static bool literal(struct tpl_eval *e, int *value) {
    const struct tpl_token *t = &e->source->tokens[e->at];
    const char *p = e->source->clean.data + t->at;
    const bool hex = t->len > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    const int base = hex ? 16 : p[0] == '0' ? 8 : 10;
    int64_t wide = 0;
    for (size_t i = hex ? 2 : 0; i < t->len; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = p[i] >= 'A' && p[i] <= 'F' ? (char)(p[i] - 'A' + 'a') : p[i];
        const char *digit = memchr(digits, c, (size_t)base);
        if (!digit)
            return fail(e, "is not a plain int literal");
        wide = wide * base + (digit - digits);
        if (wide > INT_MAX)
            return fail(e, "does not fit an int");
    }
    e->at++;
    return in_range(e, wide, value);
}

static bool named(struct tpl_eval *e, int *value) {
    const int index = tpl_find_index(e->scope, e->source, e->at);
    const struct tpl_param *param = tpl_find_param(e->scope, e->source, e->at);
    if (index >= 0) {
        *value = e->scope->index[index].value;
        e->saw_index = true;
    } else if (!param || (e->folding && !param->foldable)) {
        return fail(e, "is not a constant here: use literals, parameters and enclosing unrolled indices");
    } else if (!in_range(e, param->value, value)) {
        return false;
    }
    e->at++;
    return true;
}

static bool conditional(struct tpl_eval *e, int *value);

static bool unary(struct tpl_eval *e, int *value) {
    skip_comments(e);
    const struct tpl_source *s = e->source;
    const size_t at = e->at;
    if (e->depth > EVAL_DEPTH_MAX)
        return fail(e, "nests too deep");
    if (s->tokens[at].kind == TPL_NUMBER)
        return literal(e, value);
    if (s->tokens[at].kind == TPL_NAME)
        return named(e, value);
    if (!tpl_is(s, at, e->folding ? "( - + ~" : "( - + ~ !"))
        return fail(e, "is not part of a constant expression");
    e->at++;
    e->depth++;
    const bool ok = tpl_is(s, at, "(") ? conditional(e, value) : unary(e, value);
    e->depth--;
    if (!ok)
        return false;
    if (tpl_is(s, at, "(")) {
        skip_comments(e);
        if (!tpl_is(s, e->at, ")"))
            return fail(e, "is not part of a constant expression");
        e->at++;
    } else if (tpl_is(s, at, "-")) {
        *value = -*value;
    } else if (tpl_is(s, at, "~")) {
        return in_range(e, ~(int64_t)*value, value);
    } else if (tpl_is(s, at, "!")) {
        *value = !*value;
    }
    return true;
}

enum operation {
    OP_OR,
    OP_AND,
    OP_BIT_OR,
    OP_BIT_XOR,
    OP_BIT_AND,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_SHL,
    OP_SHR,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_COUNT
};

static const struct {
    const char *spelling;
    int precedence;
    bool folds;
} operators[OP_COUNT] = {
    [OP_OR] = {"||", 1, false},    [OP_AND] = {"&&", 2, false},   [OP_BIT_OR] = {"|", 3, true},
    [OP_BIT_XOR] = {"^", 4, true}, [OP_BIT_AND] = {"&", 5, true}, [OP_EQ] = {"==", 6, false},
    [OP_NE] = {"!=", 6, false},    [OP_LT] = {"<", 7, false},     [OP_LE] = {"<=", 7, false},
    [OP_GT] = {">", 7, false},     [OP_GE] = {">=", 7, false},    [OP_SHL] = {"<<", 8, true},
    [OP_SHR] = {">>", 8, true},    [OP_ADD] = {"+", 9, true},     [OP_SUB] = {"-", 9, true},
    [OP_MUL] = {"*", 10, true},    [OP_DIV] = {"/", 10, true},    [OP_MOD] = {"%", 10, true},
};

/* Both sides are always worked out, so a division by zero in a branch not taken is a fault too. */
static bool apply(struct tpl_eval *e, enum operation op, int64_t x, int64_t y, int *value) {
    const bool divides = op == OP_DIV || op == OP_MOD, shifts = op == OP_SHL || op == OP_SHR;
    if (divides && y == 0)
        return fail(e, "divides by zero");
    if (shifts && (x < 0 || y < 0 || y > 31))
        return fail(e, "shifts a negative number or out of range");
    const int64_t results[OP_COUNT] = {
        [OP_OR] = x || y,
        [OP_AND] = x && y,
        [OP_BIT_OR] = x | y,
        [OP_BIT_XOR] = x ^ y,
        [OP_BIT_AND] = x & y,
        [OP_EQ] = x == y,
        [OP_NE] = x != y,
        [OP_LT] = x<y, [OP_LE] = x <= y, [OP_GT] = x> y,
        [OP_GE] = x >= y,
        [OP_SHL] = shifts ? x << y : 0,
        [OP_SHR] = shifts ? x >> y : 0,
        [OP_ADD] = x + y,
        [OP_SUB] = x - y,
        [OP_MUL] = x * y,
        [OP_DIV] = divides ? x / y : 0,
        [OP_MOD] = divides ? x % y : 0,
    };
    return in_range(e, results[op], value);
}

static bool binary(struct tpl_eval *e, int precedence, int *value) {
    if (!unary(e, value))
        return false;
    for (;;) {
        skip_comments(e);
        int op = 0;
        while (op < OP_COUNT && !tpl_is(e->source, e->at, operators[op].spelling))
            op++;
        if (op == OP_COUNT || operators[op].precedence < precedence || (e->folding && !operators[op].folds))
            return true;
        const size_t at = e->at++;
        int right;
        if (!binary(e, operators[op].precedence + 1, &right))
            return false;
        const size_t after = e->at;
        e->at = at;
        if (!apply(e, (enum operation)op, *value, right, value))
            return false;
        e->at = after;
    }
}

static bool conditional(struct tpl_eval *e, int *value) {
    if (!binary(e, 1, value))
        return false;
    if (e->folding || !tpl_is(e->source, e->at, "?"))
        return true;
    int yes, no;
    e->at++;
    e->depth++;
    if (!conditional(e, &yes))
        return false;
    if (!tpl_is(e->source, e->at, ":"))
        return fail(e, "is not part of a constant expression");
    e->at++;
    if (!conditional(e, &no))
        return false;
    e->depth--;
    *value = *value ? yes : no;
    return true;
}

bool tpl_eval(struct tpl_eval *e, int *value) {
    e->saw_index = false;
    e->fault = NULL;
    e->depth = 0;
    return conditional(e, value);
}
