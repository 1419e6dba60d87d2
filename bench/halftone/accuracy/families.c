/* families: the input families of the accuracy contract. See families.h.
 *
 * The generator is counter-based: splitmix64's finaliser (Steele, Lea, Flood 2014) applied in turn to seed,
 * stream, row and column. Normal deviates: Box-Muller. */
#include "accuracy/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

#define TWO_PI 6.283185307179586

/* Independent streams of one element; B's are A's plus STREAM_SIDE. */
enum { STREAM_VALUE, STREAM_SECOND, STREAM_THIRD, STREAM_SIGN, STREAM_SIDE = 16, STREAM_SHARED = 64, STREAM_LOW_BITS = 200 };

static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t family_bits(uint64_t seed, uint64_t stream, uint64_t row, uint64_t col) {
    return mix(mix(mix(mix(seed) ^ stream) ^ row) ^ col);
}

double family_uniform(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

static double draw(const struct family_site *s, uint64_t stream) {
    uint64_t side = s->side == 'B' ? STREAM_SIDE : 0;
    return family_uniform(family_bits(s->seed, stream + side, (uint64_t)s->row, (uint64_t)s->col));
}

static double draw_normal(const struct family_site *s, uint64_t stream) {
    double u = 1.0 - draw(s, stream); /* (0, 1]: the logarithm is finite */
    return sqrt(-2.0 * log(u)) * cos(TWO_PI * draw(s, stream + 1));
}

/* Index along k and along the outer extent (row of A, column of B). */
static int64_t inner(const struct family_site *s) {
    return s->side == 'A' ? s->col : s->row;
}

static int64_t outer(const struct family_site *s) {
    return s->side == 'A' ? s->row : s->col;
}

static float uniform_signed(const struct family_site *s) {
    return (float)(2.0 * draw(s, STREAM_VALUE) - 1.0);
}

static float uniform_unit(const struct family_site *s) {
    return (float)draw(s, STREAM_VALUE);
}

static float uniform_llm(const struct family_site *s) {
    return (float)(0.5 + 2.0 * draw(s, STREAM_VALUE));
}

static float normal(const struct family_site *s) {
    return (float)draw_normal(s, STREAM_VALUE);
}

static float ozaki(const struct family_site *s) {
    return (float)((draw(s, STREAM_THIRD) - 0.5) * exp(s->parameter * draw_normal(s, STREAM_VALUE)));
}

static float small_integers(const struct family_site *s) {
    return (float)(floor(17.0 * draw(s, STREAM_VALUE)) - 8.0);
}

/* A near 10^parameter, B uniform[-1,1]: results stay finite in FP32 and keep A's magnitude. */
static float magnitude_a(const struct family_site *s) {
    double value = 2.0 * draw(s, STREAM_VALUE) - 1.0;
    return (float)(s->side == 'A' ? value * pow(10.0, s->parameter) : value);
}

static float huge_tiny(const struct family_site *s) {
    return (float)((2.0 * draw(s, STREAM_VALUE) - 1.0) * (s->side == 'A' ? 1e30 : 1e-30));
}

/* A holds only subnormals (multiples of 2^-149 below 2^-126), B is uniform[-1,1]. */
static float subnormal_a(const struct family_site *s) {
    double value = 2.0 * draw(s, STREAM_VALUE) - 1.0;
    return (float)(s->side == 'A' ? value * 0x1.fffffcp-127 : value);
}

/* A power of two with an exponent uniform in [-span, span], shared by everything with the same index. */
static double shared_scale(const struct family_site *s, uint64_t stream, int64_t index, int span) {
    double u = family_uniform(family_bits(s->seed, STREAM_SHARED + stream, 0, (uint64_t)index));
    return ldexp(1.0, (int)floor(u * (2 * span + 1)) - span);
}

static float row_scales(const struct family_site *s) {
    double scale = shared_scale(s, s->side == 'A' ? 0 : 1, outer(s), 48);
    return (float)((2.0 * draw(s, STREAM_VALUE) - 1.0) * scale);
}

/* A * D and inv(D) * B: the exact product does not depend on D. Magnitudes in [1/2, 1) with 24 bits and D's
 * exponents, at most +-120, keep every element a normal float, so that nothing is lost by the scaling itself. */
static float d_scaled(const struct family_site *s) {
    double magnitude = 0.5 + floor(draw(s, STREAM_VALUE) * 0x1p23) * 0x1p-24;
    double scale = shared_scale(s, 2, inner(s), (int)s->parameter);
    double value = s->side == 'A' ? magnitude * scale : magnitude / scale;
    return (float)(draw(s, STREAM_SIGN) < 0.5 ? -value : value);
}

/* A = [X X], B = [Y; -Y + delta Z]: A B = delta X Z while |A||B| is about 2 |X||Y|. With h = k / 2 and
 * uniform[-1,1] entries, |X||Y| is about h / 4 and X Z about sqrt(h) / 3, so delta = 1.5 sqrt(h) / rho gives
 * the wanted rho = || |A||B| || / ||A B||. An odd k's last index is zero in B. k = 1 has nothing to cancel.
 */
static float cancellation(const struct family_site *s) {
    int64_t half = s->k / 2, index = inner(s);
    struct family_site twin = *s;
    if (s->k > 1 && index == 2 * half)
        return s->side == 'A' ? uniform_signed(s) : 0.0f;
    if (half == 0 || index < half)
        return uniform_signed(s);
    if (s->side == 'A')
        twin.col -= half;
    else
        twin.row -= half;
    float first = uniform_signed(&twin);
    if (s->side == 'A')
        return first;
    double delta = 1.5 * sqrt((double)half) / s->parameter;
    return (float)(-(double)first + delta * (2.0 * draw(s, STREAM_SECOND) - 1.0));
}

static float identity_b(const struct family_site *s) {
    return s->side == 'A' ? normal(s) : (s->row == s->col ? 1.0f : 0.0f);
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Row i of A has its one at (stride * i + shift) mod k with stride coprime to k: a permutation when m = k. */
static float permutation_a(const struct family_site *s) {
    if (s->side == 'B')
        return normal(s);
    int64_t stride = 1 + (int64_t)(family_bits(s->seed, STREAM_SHARED + 3, 0, 0) % (uint64_t)s->k);
    int64_t shift = (int64_t)(family_bits(s->seed, STREAM_SHARED + 3, 0, 1) % (uint64_t)s->k);
    while (greatest_divisor(stride, s->k) != 1)
        stride++;
    return (stride * (s->row % s->k) + shift) % s->k == s->col ? 1.0f : 0.0f;
}

/* Every row of A has a single one at a random place (as an embedding look-up). */
static float one_hot(const struct family_site *s) {
    if (s->side == 'B')
        return normal(s);
    uint64_t place = family_bits(s->seed, STREAM_SHARED + 4, 0, (uint64_t)s->row) % (uint64_t)s->k;
    return (int64_t)place == s->col ? 1.0f : 0.0f;
}

/* The place along k of the one large element of a row of A or a column of B. */
static int64_t large_place(const struct family_site *s) {
    const uint64_t stream = STREAM_SHARED + (s->side == 'A' ? 8 : 9);
    return (int64_t)(family_bits(s->seed, stream, 0, (uint64_t)outer(s)) % (uint64_t)s->k);
}

/* In general at another place in A's row than in B's column, so that the product is made of the noise. */
static float one_hot_noise(const struct family_site *s) {
    return (float)((large_place(s) == inner(s) ? 1.0 : 0.0) + s->parameter * draw_normal(s, STREAM_VALUE));
}

static float activation_relu(const struct family_site *s) {
    const float value = normal(s);
    return s->side == 'A' && value < 0 ? 0.0f : value;
}

static float sparse_a(const struct family_site *s) {
    return s->side == 'A' && draw(s, STREAM_THIRD) >= s->parameter ? 0.0f : normal(s);
}

/* One k in a hundred of A is a channel `parameter` times as large; one is in any case. */
static float outlier_channels(const struct family_site *s) {
    const uint64_t bits = family_bits(s->seed, STREAM_SHARED + 10, 0, (uint64_t)inner(s));
    const uint64_t first = family_bits(s->seed, STREAM_SHARED + 10, 1, 0) % (uint64_t)s->k;
    const int is_outlier = (uint64_t)inner(s) == first || family_uniform(bits) < 0.01;
    return (float)(draw_normal(s, STREAM_VALUE) * (s->side == 'A' && is_outlier ? s->parameter : 1.0));
}

/* Of a softmax: the sum that a row of A is divided by. */
static double softmax_sum(const struct family_site *s) {
    struct family_site at = *s;
    double sum = 0;
    if (s->side == 'B')
        return 1;
    for (at.col = 0; at.col < s->k; at.col++)
        sum += exp(s->parameter * draw_normal(&at, STREAM_VALUE));
    return sum;
}

static float softmax_rows(const struct family_site *s) {
    const double line = s->line > 0 ? s->line : softmax_sum(s), value = draw_normal(s, STREAM_VALUE);
    return (float)(s->side == 'A' ? exp(s->parameter * value) / line : value);
}

/* Magnitudes fall along the rows of A from 1 to 2^-parameter. */
static float graded_rows(const struct family_site *s) {
    const double exponent = s->side == 'A' ? -s->parameter * (double)s->col / (double)s->k : 0.0;
    return (float)((2.0 * draw(s, STREAM_VALUE) - 1.0) * exp2(exponent));
}

static float log_normal(const struct family_site *s) {
    return (float)exp(s->parameter * draw_normal(s, STREAM_VALUE));
}

static float laplace(const struct family_site *s) {
    const double magnitude = -log(1.0 - draw(s, STREAM_VALUE));
    return (float)(draw(s, STREAM_SIGN) < 0.5 ? -magnitude : magnitude);
}

static float cauchy(const struct family_site *s) {
    return (float)tan(TWO_PI / 2 * (draw(s, STREAM_VALUE) - 0.5));
}

static float hilbert(const struct family_site *s) {
    return (float)(1.0 / (double)(s->row + s->col + 1));
}

/* uniform[-1,1] with `parameter` (NaN, an infinity or a zero's sign) at one place of A and one of B. */
static float one_special(const struct family_site *s) {
    int64_t rows = s->side == 'A' ? s->m : s->k, cols = s->side == 'A' ? s->k : s->n;
    uint64_t stream = STREAM_SHARED + (s->side == 'A' ? 5 : 6);
    int64_t row = (int64_t)(family_bits(s->seed, stream, 0, 0) % (uint64_t)rows);
    int64_t col = (int64_t)(family_bits(s->seed, stream, 0, 1) % (uint64_t)cols);
    return s->row == row && s->col == col ? (float)s->parameter : uniform_signed(s);
}

/* A column of A and the row of B it meets are zeros of both signs. */
static float signed_zeros(const struct family_site *s) {
    int64_t place = (int64_t)(family_bits(s->seed, STREAM_SHARED + 7, 0, 0) % (uint64_t)s->k);
    if (inner(s) != place)
        return uniform_signed(s);
    return draw(s, STREAM_SIGN) < 0.5 ? -0.0f : 0.0f;
}

const struct family family_table[] = {
    {"uniform", "uniform[-1,1]", 0, 0, 0, uniform_signed, NULL},
    {"uniform01", "uniform[0,1]: one sign exposes truncation bias", 0, 0, 0, uniform_unit, NULL},
    {"llm", "uniform[0.5,2.5], LE-GEMM's model weights: one sign", 0, 0, 0, uniform_llm, NULL},
    {"normal", "normal(0,1)", 0, 0, 0, normal, NULL},
    {"phi0.1", "(rand-0.5) exp(0.1 randn), Ozaki", 0, 0, 0.1, ozaki, NULL},
    {"phi1", "(rand-0.5) exp(1 randn), Ozaki", 0, 0, 1.0, ozaki, NULL},
    {"phi2", "(rand-0.5) exp(2 randn), Ozaki", 0, 0, 2.0, ozaki, NULL},
    {"phi4", "(rand-0.5) exp(4 randn), Ozaki", 0, 0, 4.0, ozaki, NULL},
    {"integers", "whole numbers -8..8: exact while sums fit 24 bits", 1, 0, 0, small_integers, NULL},
    {"huge", "A near 1e30, B uniform[-1,1]", 0, 0, 30.0, magnitude_a, NULL},
    {"tiny", "A near 1e-30, B uniform[-1,1]", 0, 0, -30.0, magnitude_a, NULL},
    {"hugetiny", "A near 1e30, B near 1e-30", 0, 0, 0, huge_tiny, NULL},
    {"subnormal", "A subnormal, B uniform[-1,1]", 0, 0, 0, subnormal_a, NULL},
    {"rowscales", "rows of A and columns of B scaled by 2^-48..2^48", 0, 0, 0, row_scales, NULL},
    {"dscaled", "A D and inv(D) B, D = powers of two 2^-120..2^120", 0, 0, 120, d_scaled, NULL},
    {"dscaled20", "A D and inv(D) B, D = powers of two 2^-20..2^20", 0, 0, 20, d_scaled, NULL},
    {"dscaled60", "A D and inv(D) B, D = powers of two 2^-60..2^60", 0, 0, 60, d_scaled, NULL},
    {"graded", "magnitudes of A fall along k from 1 to 2^-40, B uniform[-1,1]", 0, 0, 40, graded_rows, NULL},
    {"relu", "A max(0, normal), B normal: activations after ReLU", 0, 0, 0, activation_relu, NULL},
    {"sparse", "A normal where 1 % of it is not zero, B normal", 0, 0, 0.01, sparse_a, NULL},
    {"lognormal", "exp(2 randn): one sign", 0, 0, 2, log_normal, NULL},
    {"laplace", "Laplace distribution", 0, 0, 0, laplace, NULL},
    {"cauchy", "Cauchy distribution", 0, 0, 0, cauchy, NULL},
    {"outliers", "A normal, one k in 100 times 120, B normal: channels", 0, 0, 120, outlier_channels, NULL},
    {"softmax", "rows of A the softmax of 8 randn, B normal", 0, 0, 8, softmax_rows, softmax_sum},
    {"softmax16", "the same of 16 randn: subnormal numbers in most rows", 0, 0, 16, softmax_rows, softmax_sum},
    {"onehotnoise", "a one in each row of A, column of B, else 1e-6 randn", 0, 0, 1e-6, one_hot_noise, NULL},
    {"cancel1e2", "cancellation, rho = 1e2", 0, 0, 1e2, cancellation, NULL},
    {"cancel1e4", "cancellation, rho = 1e4", 0, 0, 1e4, cancellation, NULL},
    {"cancel1e6", "cancellation, rho = 1e6", 0, 0, 1e6, cancellation, NULL},
    {"identity", "A normal, B the identity", 0, 0, 0, identity_b, NULL},
    {"permutation", "A a permutation, B normal", 0, 0, 0, permutation_a, NULL},
    {"onehot", "a single one in each row of A, B normal", 0, 0, 0, one_hot, NULL},
    {"hilbert", "Hilbert matrices", 0, 0, 0, hilbert, NULL},
    {"zeros", "uniform[-1,1], one k with zeros of both signs", 0, 0, 0, signed_zeros, NULL},
    {"nan", "uniform[-1,1], NaN at one place of A and of B", 0, 1, (double)NAN, one_special, NULL},
    {"inf", "uniform[-1,1], +Inf at one place of A and of B", 0, 1, (double)INFINITY, one_special, NULL},
    {"neginf", "uniform[-1,1], -Inf at one place of A and of B", 0, 1, -(double)INFINITY, one_special, NULL},
};
const int family_count = (int)(sizeof family_table / sizeof family_table[0]);

void family_list(FILE *out) {
    for (int i = 0; i < family_count; i++)
        fprintf(out, "%-12s %s\n", family_table[i].name, family_table[i].text);
}

const struct family *family_find(const char *name) {
    for (int i = 0; i < family_count; i++)
        if (strcmp(family_table[i].name, name) == 0)
            return &family_table[i];
    return NULL;
}

enum { FILL_COST = 50 }; /* of one random element, in FMAs */

struct filling {
    const struct family *family;
    struct family_site site; /* of some element */
    int64_t rows, ld;
    int transposed; /* stored column by column of the transpose */
    double *line; /* of each row of A or column of B; NULL: none, or no memory */
    float *out;
};

static int find_lines(void *context, int64_t first, int64_t last) {
    const struct filling *w = context;
    struct family_site site = w->site;
    for (int64_t i = first; i < last; i++) {
        site.row = site.side == 'A' ? i : 0;
        site.col = site.side == 'A' ? 0 : i;
        w->line[i] = w->family->line(&site);
    }
    return 0;
}

static int fill_columns(void *context, int64_t first, int64_t last) {
    const struct filling *w = context;
    struct family_site site = w->site;
    for (int64_t col = first; col < last; col++)
        for (int64_t row = 0; row < w->rows; row++) {
            site.row = w->transposed ? col : row;
            site.col = w->transposed ? row : col;
            site.line = w->line != NULL ? w->line[outer(&site)] : 0;
            w->out[col * w->ld + row] = w->family->value(&site);
        }
    return 0;
}

void family_fill(const struct family *family, uint64_t seed, char side, int64_t m, int64_t n, int64_t k,
                 float *out, int64_t ld) {
    family_fill_op(family, seed, side, 'N', m, n, k, out, ld);
}

void family_fill_op(const struct family *family, uint64_t seed, char side, char trans, int64_t m, int64_t n, int64_t k,
                    float *out, int64_t ld) {
    const int transposed = trans != 'N';
    const int64_t op_rows = side == 'A' ? m : k, op_columns = side == 'A' ? k : n;
    const int64_t rows = transposed ? op_columns : op_rows, columns = transposed ? op_rows : op_columns;
    const int64_t lines = side == 'A' ? m : n, cost = rows * columns * FILL_COST;
    struct filling w = {family, {seed, side, m, n, k, 0, 0, family->parameter, 0}, rows, ld, transposed, NULL, out};
    if (family->line != NULL)
        w.line = malloc((size_t)lines * sizeof *w.line);
    if (w.line != NULL)
        (void)threads_run(threads_count(0, lines, cost), lines, find_lines, &w);
    (void)threads_run(threads_count(0, columns, cost), columns, fill_columns, &w);
    free(w.line);
}

enum { WIDEN_COST = 8 };

struct widening {
    uint64_t seed, stream;
    int64_t rows, ld;
    const float *from; /* dense */
    double *to;
};

/* Up to half a unit in FP32's last place more or less. */
static double widened(float x, uint64_t bits) {
    if (!isfinite(x) || (fabsf(x) <= 65536.0f && x == rintf(x)))
        return (double)x;
    return (double)x * (1 + 0x1p-24 * (2 * family_uniform(bits) - 1));
}

static int widen_columns(void *context, int64_t first, int64_t last) {
    const struct widening *const w = context;
    for (int64_t j = first; j < last; j++)
        for (int64_t i = 0; i < w->rows; i++)
            w->to[i + j * w->ld] = widened(w->from[i + j * w->rows], family_bits(w->seed, w->stream, (uint64_t)i, (uint64_t)j));
    return 0;
}

int family_fill_wide(const struct family *family, uint64_t seed, char side, char trans, int64_t m, int64_t n, int64_t k, double *out, int64_t ld) {
    const int64_t op_rows = side == 'A' ? m : k, op_cols = side == 'A' ? k : n;
    const int64_t rows = trans == 'N' ? op_rows : op_cols, cols = trans == 'N' ? op_cols : op_rows;
    float *const single = malloc(((size_t)(rows * cols) + 1) * sizeof *single);
    if (single == NULL)
        return -1;
    family_fill_op(family, seed, side, trans, m, n, k, single, rows > 0 ? rows : 1);
    struct widening w = {seed, (uint64_t)STREAM_LOW_BITS + (side == 'A' ? 0 : 1), rows, ld, single, out};
    const int status = threads_run(threads_count(0, cols, rows * cols * WIDEN_COST), cols, widen_columns, &w);
    free(single);
    return status;
}

/* A class is a smooth random 8 x 8 image (four blobs), a digit is its class shifted in brightness plus noise.
 */
void family_digits(uint64_t seed, int64_t count, float *out) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t class_of = family_bits(seed, 0, (uint64_t)i, 0) % 10;
        for (int p = 0; p < 64; p++) {
            double y = p / 8, x = p % 8, value = 0;
            for (uint64_t blob = 0; blob < 4; blob++) {
                double dx = x - 1.0 - 5.0 * family_uniform(family_bits(seed, 1, class_of, 2 * blob));
                double dy = y - 7.0 * family_uniform(family_bits(seed, 1, class_of, 2 * blob + 1));
                value += 14.0 * exp(-(dx * dx + dy * dy) / 2.5);
            }
            double noise = family_uniform(family_bits(seed, 2, (uint64_t)i, (uint64_t)p)) - 0.5;
            value += noise * (value < 0.5 ? 1.0 : 6.0);
            value = value < 0 ? 0 : value > 16 ? 16 : value;
            out[i * 64 + p] = (float)floor(value + 0.5);
        }
    }
}
