/* operand64: products of FP64 and numbers to fill them, for test_dgemm and test_dcheck. */
#ifndef TESTS_OPERAND64_H
#define TESTS_OPERAND64_H
#define REAL double
#include "operands.h"

enum { PAD = 3 };

struct problem {
    const char *family;
    char ta, tb;
    int64_t m, n, k, batch;
    double alpha, beta;
    bool shares_a;        /* stride 0 */
    const char *accuracy; /* test_dcheck's: or a scheme */
    double least, most;   /* percent of elements that residues keep */
};

/* A row of a table, without what test_dcheck's have besides. */
#define PROBLEM(numbers, op_a, op_b, rows, columns, depth, entries, times, with_c, is_shared)                \
    {                                                                                                        \
        .family = numbers, .ta = op_a, .tb = op_b, .m = rows, .n = columns, .k = depth, .batch = entries,    \
        .alpha = times, .beta = with_c, .shares_a = is_shared                                                \
    }

/* The program's. */
static double element(const struct problem *p, bool is_a, int64_t row, int64_t k);

static uint64_t state; /* of uniform */

/* In [-1, 1). */
static double uniform(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)((int64_t)state >> 11) * 0x1p-52;
}

static struct operand operand_of(const struct problem *p, bool is_a) {
    const int64_t rows = is_a ? p->m : p->n, entries = is_a && p->shares_a ? 1 : p->batch;
    struct operand x = operand_made(rows, p->k, is_a ? p->ta != 'N' : p->tb == 'N', PAD, entries);
    for (int64_t i = 0; i < entries * rows * p->k; i++)
        *place(&x, i / (rows * p->k), i / p->k % rows, i % p->k) = element(p, is_a, i / p->k % rows, i % p->k);
    x.device = on_device(x.at, x.count);
    x.stride = is_a && p->shares_a ? 0 : x.stride;
    return x;
}

/* C before: whole numbers where all are; beta 0 does not read it. */
static struct operand c_of(const struct problem *p) {
    const bool whole = strcmp(p->family, "integers") == 0;
    struct operand x = operand_made(p->m, p->n, false, PAD, p->batch);
    for (int64_t i = 0; p->beta != 0 && i < x.count; i++)
        x.at[i] = i % x.ld >= p->m ? NAN : whole ? floor(100 * uniform()) : uniform();
    return x;
}

/* All of C as the library computes it. */
static double *run(const struct problem *p, const struct operand *a, const struct operand *b, const struct operand *c) {
    struct operand x = *c;
    x.device = on_device(c->at, c->count);
    multiply(p->ta, p->tb, p->m, p->n, p->k, p->batch, &p->alpha, a, b, &p->beta, &x, p->family);
    return result_of(&x, p->m);
}

static struct halftone_plan plan_of(const struct problem *p) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    check_code(halftone_dquery(handle, p->ta, p->tb, p->m, p->n, p->k, p->batch, &plan), p->family);
    return plan;
}

/* What products add up to, next to nothing lost, and as plain FP64 has it; and what bounds are relative to. */
struct sum {
    double high, low, plain, magnitude, largest_a, largest_b;
};

static struct sum sum_of(const struct problem *p, const struct operand *a, const struct operand *b, int64_t entry, int64_t row, int64_t col) {
    struct sum s = {0, 0, 0, 0, 0, 0};
    for (int64_t k = 0; k < p->k; k++) {
        const double x = *place(a, entry, row, k), y = *place(b, entry, col, k), product = x * y;
        const double high = s.high + product, part = high - s.high;
        s.low += (s.high - (high - part)) + (product - part) + fma(x, y, -product);
        s.high = high;
        s.plain += product;
        s.magnitude += fabs(product);
        s.largest_a = fmax(s.largest_a, fabs(x));
        s.largest_b = fmax(s.largest_b, fabs(y));
    }
    return s;
}
#endif
