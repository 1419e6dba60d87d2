/* mixpert_choices: the error of MixPert's level IV under other readings of its paper's rounding, scales, segments and sums, beside the
 * one that is built.
 *
 *     gcc -O2 -o mixpert_choices bench/mixpert_choices.c -lm && ./mixpert_choices [K]
 *
 * C = A B of 32 x K and K x 16; relative Frobenius errors against sums in double precision, outliers not looked for. Prints a table (TSV). */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 32, N = 16, TILE_K = 32, TILE_M = 16, TILE_N = 8, SEGMENTS = 3 };

/* ---- data */

static uint64_t state = 1;

static double uniform(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) {
    const double r = sqrt(-2 * log(uniform()));
    return r * cos(6.283185307179586 * uniform());
}

static double draw(const char *family, bool is_b) {
    if (strcmp(family, "uniform") == 0)
        return 2 * uniform() - 1;
    if (strcmp(family, "uniform01") == 0)
        return uniform();
    if (strcmp(family, "laplace") == 0)
        return (uniform() < 0.5 ? -1 : 1) * log(uniform());
    if (strcmp(family, "lognormal") == 0)
        return exp(0.5 * normal());
    const double x = normal();
    return strcmp(family, "relu") == 0 && !is_b && x < 0 ? 0 : x;
}

/* ---- choices */

enum rounding { NEAREST, NEAREST_THEN_SHIFTED, CUT };
enum scale { OF_TILE, OF_BOTH, OF_ROW, NO_POWER };

struct choice {
    const char *name;
    enum rounding rounding;
    enum scale scale;
    int bits[SEGMENTS]; /* magnitudes of segments; 8: digits from -128 to 127 */
    bool all_products, exact_sums;
};

static const struct choice choices[] = {
    {"as it is built", NEAREST, OF_TILE, {7, 7, 7}, false, false},
    {"rounded at its own exponent, then shifted", NEAREST_THEN_SHIFTED, OF_TILE, {7, 7, 7}, false, false},
    {"cut, not rounded", CUT, OF_TILE, {7, 7, 7}, false, false},
    {"one exponent for both tiles", NEAREST, OF_BOTH, {7, 7, 7}, false, false},
    {"an exponent for each row of 32 k", NEAREST, OF_ROW, {7, 7, 7}, false, false},
    {"scales that are no powers of two", NEAREST, NO_POWER, {7, 7, 7}, false, false},
    {"all nine products", NEAREST, OF_TILE, {7, 7, 7}, true, false},
    {"sums without rounding", NEAREST, OF_TILE, {7, 7, 7}, false, true},
    {"signed digits of 8 bits behind the first", NEAREST, OF_TILE, {7, 8, 8}, false, false},
};

static double power_below(double largest) { /* 2^p <= largest < 2^(p + 1) */
    int p;
    if (largest == 0)
        return 1;
    (void)frexp(largest, &p);
    return ldexp(1, p - 1);
}

/* ---- one operand: lines of k elements */

struct operand {
    int lines, share, k;
    double *x, *scale; /* scale of each element's last bit but for the digits' weights */
    int *digit[SEGMENTS];
};

static double largest_of(const struct operand *o, int line, int lines, int k) {
    double most = 0;
    for (int l = line; l < line + lines; l++)
        for (int i = k; i < k + TILE_K; i++)
            most = fmax(most, fabs(o->x[l * o->k + i]));
    return most;
}

static double rounded(const struct choice *c, double x, double unit, int bits) {
    if (c->rounding == NEAREST)
        return rint(x / unit);
    if (c->rounding == CUT)
        return trunc(x / unit);
    const double own = power_below(fabs(x)) * ldexp(1, -bits + 1);
    return x == 0 ? 0 : trunc(rint(x / own) * own / unit);
}

/* Digits of an element in units of its tile's last bit. */
static void split(const struct choice *c, struct operand *o, int at, double unit, int bits) {
    int64_t left = (int64_t)rounded(c, o->x[at], unit, bits);
    o->scale[at] = unit;
    for (int s = SEGMENTS - 1; s > 0; s--) {
        const int base = 1 << c->bits[s];
        int digit = (int)(llabs(left) % base) * (left < 0 ? -1 : 1);
        if (c->bits[s] == 8)
            digit += digit > 127 ? -base : digit < -128 ? base : 0;
        o->digit[s][at] = digit;
        left = (left - digit) / base;
    }
    o->digit[0][at] = (int)left;
}

static void split_tiles(const struct choice *c, struct operand *o, const struct operand *other) {
    const int bits = c->bits[0] + c->bits[1] + c->bits[2], share = c->scale == OF_ROW ? 1 : o->share;
    for (int line = 0; line < o->lines; line += share)
        for (int k = 0; k < o->k; k += TILE_K) {
            double most = largest_of(o, line, share, k);
            if (c->scale == OF_BOTH)
                most = fmax(most, largest_of(other, 0, other->lines, k));
            const double unit = c->scale == NO_POWER ? most / (ldexp(1, bits) - 1) : power_below(most) * ldexp(1, 1 - bits);
            for (int l = line; l < line + share; l++)
                for (int i = k; i < k + TILE_K; i++)
                    split(c, o, l * o->k + i, unit, bits);
        }
}

/* ---- the product */

static double tile_product(const struct choice *c, const struct operand *a, int i, const struct operand *b, int j) {
    double v = 0;
    for (int s = 0; s < SEGMENTS; s++)
        for (int t = 0; t < SEGMENTS; t++) {
            int64_t sum = 0;
            for (int k = 0; k < TILE_K; k++)
                sum += (int64_t)a->digit[s][i + k] * b->digit[t][j + k];
            if (s + t < 4 || c->all_products) /* weights of digits behind s and t */
                v += (double)sum * ldexp(1, (s < 1 ? c->bits[1] : 0) + (s < 2 ? c->bits[2] : 0) + (t < 1 ? c->bits[1] : 0) + (t < 2 ? c->bits[2] : 0));
        }
    return (c->exact_sums ? v : (double)(float)v) * a->scale[i] * b->scale[j];
}

static double error_of(const struct choice *c, struct operand *a, struct operand *b) {
    double wrong = 0, all = 0;
    split_tiles(c, a, b);
    split_tiles(c, b, a);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double right = 0, sum = 0;
            for (int k = 0; k < a->k; k++)
                right += a->x[i * a->k + k] * b->x[j * b->k + k];
            for (int k = 0; k < a->k; k += TILE_K) {
                sum += tile_product(c, a, i * a->k + k, b, j * b->k + k);
                sum = c->exact_sums ? sum : (double)(float)sum;
            }
            wrong += (sum - right) * (sum - right);
            all += right * right;
        }
    return sqrt(wrong / all);
}

static struct operand make(const char *family, bool is_b, int k) {
    struct operand o = {.lines = is_b ? N : M, .share = is_b ? TILE_N : TILE_M, .k = k};
    const size_t count = (size_t)o.lines * (size_t)k;
    o.x = malloc(count * sizeof *o.x);
    o.scale = malloc(count * sizeof *o.scale);
    for (int s = 0; s < SEGMENTS; s++)
        o.digit[s] = malloc(count * sizeof *o.digit[s]);
    for (size_t i = 0; i < count; i++)
        o.x[i] = (double)(float)draw(family, is_b);
    return o;
}

int main(int argc, char **argv) {
    static const char *const families[] = {"uniform", "uniform01", "normal", "relu", "laplace", "lognormal"};
    const int k = argc > 1 ? atoi(argv[1]) : 1024;
    if (k < TILE_K || k % TILE_K != 0 || k > 1 << 20)
        return fprintf(stderr, "mixpert_choices: K is a multiple of 32 up to 1048576\n"), 2;
    printf("choice");
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        printf("\t%s", families[f]);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        printf("\n%s", choices[i].name);
        for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
            state = 1 + f;
            struct operand a = make(families[f], false, k), b = make(families[f], true, k);
            printf("\t%.2e", error_of(&choices[i], &a, &b));
            fflush(stdout);
            struct operand *const both[] = {&a, &b};
            for (int o = 0; o < 2; o++) {
                free(both[o]->x), free(both[o]->scale);
                for (int s = 0; s < SEGMENTS; s++)
                    free(both[o]->digit[s]);
            }
        }
    }
    printf("\n");
    return 0;
}
