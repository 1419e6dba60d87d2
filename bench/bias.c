/* bias: how far a scheme's products are from exact ones to one side, beside FP32 FMAs in one chain: a tensor core cuts its sums toward zero, so that its
 * errors do not cancel as roundings do (bench/decisions/005).
 *
 *     make GPU=h200 LEAN=1 SCHEMES=f16x3,bf16x6u generate out/h200/libhalftone-sim.so
 *     gcc -O2 -ffp-contract=off -iquote runtime -iquote bench -o bias bench/bias.c bench/accuracy/certificate.c runtime/sim/sim_f16.c -ldl -lm
 *     ./bias out/h200/libhalftone-sim.so [SCHEME...]
 *
 * C = A B of 64 x K and K x 64, in the simulator, against sums in double precision; R: the exact C. Prints a table (TSV), in units of 2^-24:
 *   shrink  sum of (R - C) sign(R) over sum of |R|: the factor by which C is too small
 *   rms     sqrt(sum of (C - R)^2 / sum of R^2)
 *   mean    mean of (C - R) / (|A||B|)
 * `slices`: f16x3's slices multiplied in double precision, without a tensor core: what the split does by itself. Of each scheme also `23 bits`: of A and B
 * whose odd last bits are rounded away from zero first, which f16x3 then splits exactly: twice the shift that ties of the split give. Family
 * `identity` has normal A and ones in B where row and column have one number: an error there is that of one element. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "accuracy/certificate.h"
#include "halftone.h"

enum { N = 64, MOST_K = 4096 };

/* As drawn, and what a product is given. */
static float drawn_a[N * MOST_K], drawn_b[MOST_K * N], a[N * MOST_K], b[MOST_K * N], c[N * N];
static double slices_a[2][N * MOST_K], slices_b[2][MOST_K * N], exact[N * N], size[N * N], sums[N * N];

/* xorshift: the same numbers everywhere. */
static double uniform(void) {
    static uint64_t x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (double)(x >> 11) * 0x1p-53;
}

static float normal(void) {
    return (float)(sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform()));
}

static float uniform01(void) {
    return (float)uniform();
}

static float off_center(void) {
    return normal() + 0.5f;
}

/* Odd last bits rounded away from zero. */
static float with_23_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += bits & 1;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static const struct {
    const char *name;
    float (*draw)(void);
    int is_identity;
} families[] = {{"normal", normal, 0}, {"normal+0.5", off_center, 0}, {"uniform[0,1]", uniform01, 0}, {"identity", normal, 1}};

static void draw(size_t family, int k) {
    for (int i = 0; i < N * k; i++)
        drawn_a[i] = families[family].draw(), drawn_b[i] = families[family].is_identity ? (float)(i % k == i / k) : families[family].draw();
}

static void give(int k, int is_rounded) {
    for (int i = 0; i < N * k; i++) {
        a[i] = is_rounded ? with_23_bits(drawn_a[i]) : drawn_a[i];
        b[i] = is_rounded ? with_23_bits(drawn_b[i]) : drawn_b[i];
    }
}

/* f16x3's slices of a row or column of `count` elements, `step` apart. */
static void split_line(const float *x, int count, int step, double *high, double *low) {
    float most = 0;
    for (int i = 0; i < count; i++)
        most = fmaxf(most, fabsf(x[i * step]));
    const int exponent = certificate_exponent(most);
    for (int i = 0; i < count; i++) {
        float slice[2];
        certificate_split(ldexpf(x[i * step], -exponent), slice);
        high[i * step] = ldexp((double)slice[0], exponent);
        low[i * step] = ldexp((double)slice[1], exponent);
    }
}

/* Products of slices but low * low, in double precision. */
static void multiply_slices(int k) {
    for (int i = 0; i < N; i++) {
        split_line(a + i, k, N, slices_a[0] + i, slices_a[1] + i);
        split_line(b + k * i, k, 1, slices_b[0] + k * i, slices_b[1] + k * i);
    }
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int l = 0; l < k; l++) {
                const double *const high = &slices_a[0][i + N * l], *const other = &slices_b[0][l + k * j];
                sum += *high * (*other + slices_b[1][l + k * j]) + slices_a[1][i + N * l] * *other;
            }
            sums[i + N * j] = sum;
        }
}

static void multiply_exactly(int k) {
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            double sum = 0, absolute = 0;
            for (int l = 0; l < k; l++) {
                const double term = (double)a[i + N * l] * (double)b[l + k * j];
                sum += term;
                absolute += fabs(term);
            }
            exact[i + N * j] = sum;
            size[i + N * j] = absolute;
        }
}

/* FP32 FMAs in one chain, as cuBLAS' SGEMM has them where k is not split. */
static void multiply_natively(int k) {
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            float sum = 0;
            for (int l = 0; l < k; l++)
                sum = fmaf(a[i + N * l], b[l + k * j], sum);
            sums[i + N * j] = (double)sum;
        }
}

static void report(const char *family, int k, const char *what, const double *got) {
    double shrink = 0, sum = 0, square = 0, squares = 0, mean = 0;
    for (int i = 0; i < N * N; i++) {
        const double off = got[i] - exact[i];
        shrink -= exact[i] < 0 ? -off : off;
        sum += fabs(exact[i]);
        square += off * off;
        squares += exact[i] * exact[i];
        mean += off / size[i] / (N * N);
    }
    printf("%s\t%d\t%s\t%.3f\t%.3f\t%.4f\n", family, k, what, shrink / sum * 0x1p24, sqrt(square / squares) * 0x1p24, mean * 0x1p24);
}

#define FIND(name) __typeof__(halftone_##name) *const name = (__typeof__(halftone_##name) *)dlsym(library, "halftone_" #name)

int main(int argc, char **argv) {
    void *const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        fprintf(stderr, "bias: %s\n", argc > 1 ? dlerror() : "bias LIBRARY [SCHEME...]");
        return 2;
    }
    FIND(create);
    FIND(set_scheme);
    FIND(sgemm);
    FIND(strerror);
    void (*const play_device)(void *memory, size_t bytes) = (void (*)(void *, size_t))dlsym(library, "ht_sim_register");
    halftone *handle = NULL;
    int code = create(&handle);
    play_device(a, sizeof a);
    play_device(b, sizeof b);
    play_device(c, sizeof c);
    const float one = 1, zero = 0;
    printf("family\tk\twhat\tshrink\trms\tmean\n");
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int k = 64; k <= MOST_K && code == HALFTONE_OK; k *= 4) {
            draw(f, k);
            give(k, 0);
            multiply_exactly(k);
            multiply_natively(k);
            report(families[f].name, k, "FP32, one chain", sums);
            multiply_slices(k);
            report(families[f].name, k, "slices", sums);
            for (int s = 2; s < argc && code == HALFTONE_OK; s++) {
                code = set_scheme(handle, argv[s]);
                for (int is_rounded = 0; is_rounded < 2 && code == HALFTONE_OK; is_rounded++) {
                    char what[64];
                    snprintf(what, sizeof what, "%.40s%s", argv[s], is_rounded ? ", 23 bits" : "");
                    give(k, is_rounded);
                    code = sgemm(handle, 'N', 'N', N, N, k, &one, a, N, b, k, &zero, c, N);
                    for (int i = 0; i < N * N; i++)
                        sums[i] = (double)c[i];
                    if (code == HALFTONE_OK)
                        report(families[f].name, k, what, sums);
                }
            }
        }
    if (code != HALFTONE_OK)
        fprintf(stderr, "bias: %s\n", strerror(code));
    return code != HALFTONE_OK;
}
