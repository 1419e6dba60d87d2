/* exact_families: random numbers, and matrices on which a correctly rounded product is hard to have: names of families, and element
 * (row, k) of A, or of B, whose rows are columns. */
#ifndef HT_EXACT_FAMILIES_H
#define HT_EXACT_FAMILIES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* FP64 numbers to fill matrices with; each thread has a sequence of its own. */
static __thread uint64_t random_state = 1;

/* In [-1, 1], all bits random. */
static inline double random_uniform(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)random_state * 0x1p-63;
}

/* Of mean 0 and variance 1, nearly normal. */
static inline double random_normal(void) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_uniform();
    return sum / 2;
}

static const char *const exact_families[] = {"uniform", "phi1", "phi2", "phi4", "scaled", "graded", "subnormal", "tiny", "huge",
                                             "cancelling", "complementary", "ties", "everything", "integers", "fixed",  "single", "mixed", "nonfinite",
                                             "carries"};

/* k: of the product. What follows from (row, k) alone is the same in A and B. */
static inline double exact_element(const char *family, char side, int row, int h, int k) {
    const int is_a = side == 'A', sign = is_a ? 1 : -1;
    const double x = random_uniform();
    if (strncmp(family, "phi", 3) == 0)
        return x * exp((family[3] - '0') * random_normal());
    if (strcmp(family, "scaled") == 0) /* along k, A D and D^-1 B */
        return ldexp(x, (h * 97 % 600 - 300) * sign);
    if (strcmp(family, "graded") == 0) /* rows and columns */
        return ldexp(x, (row * 97 % 600 - 300) * sign - h % 64);
    if (strcmp(family, "subnormal") == 0)
        return is_a ? ldexp(x, -1030 - h % 44) : ldexp(x, (row + h) % 70);
    if (strcmp(family, "tiny") == 0) /* subnormal results */
        return ldexp(x, is_a ? -500 - h % 40 : -530 - row % 60);
    if (strcmp(family, "huge") == 0)
        return ldexp(x, is_a ? 500 - h % 40 : 515 + row % 10);
    if (strcmp(family, "cancelling") == 0) { /* neighbours' products cancel; what is left is 2^-52 or 2^-200 of them where k is odd, else zero */
        const double same = floor(ldexp(1 + fabs(sin(row * 31.0 + h / 2)), 40));
        const double left = row % 2 == 0 ? ldexp(x, -60) : ldexp(x, is_a ? 41 : -13);
        return h + 1 == k && k % 2 ? left : h % 2 == 0 || is_a ? same : -same;
    }
    if (strcmp(family, "complementary") == 0)
        return (h + is_a) % 2 ? 0 : ldexp(x, h % 200);
    if (strcmp(family, "ties") == 0) /* odd numbers of 27 bits, whose product lies between two doubles, and next to nothing beside it */
        return h == 0 ? 0x1p27 - 1 - 2 * (row % 1000) : h + 1 < k ? 0 : ldexp((row + h) % 3 - 1, is_a && row % 4 == 3 ? 0 : (is_a ? -60 : -30) - 60 * (row % 2));
    if (strcmp(family, "everything") == 0) /* the whole range */
        return ldexp(x, (int)(1000 * random_uniform()) + (is_a ? -20 : -10));
    if (strcmp(family, "integers") == 0 || (strcmp(family, "mixed") == 0 && is_a))
        return floor(1000 * x);
    if (strcmp(family, "fixed") == 0) /* as most generators have them: multiples of 2^-53 */
        return ldexp(floor(ldexp(x, 53)), -53);
    if (strcmp(family, "mixed") == 0 && !is_a) /* whole numbers times numbers of many binades */
        return x * exp(3 * random_normal());
    if (strcmp(family, "carries") == 0) /* results of both signs that round up to a power of two */
        return h > 0 ? 0 : is_a ? ldexp(0x1p27 - 1, -row) * (row % 2 ? -1 : 1) : 0x1p27 + 1;
    if (strcmp(family, "single") == 0) /* of 24 bits */
        return (float)x;
    if (strcmp(family, "nonfinite") == 0 && row % 9 == 4 && h == row % 7)
        return row % 2 ? NAN : row % 4 ? -INFINITY : INFINITY;
    return x;
}

#endif
