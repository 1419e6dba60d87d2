/* bias: how far a scheme's products are from exact ones to one side, beside FP32 FMAs in one chain: a tensor core cuts its sums toward zero, so that its
 * errors do not cancel as roundings do (bench/decisions/005).
 *
 *     make GPU=h200 LEAN=1 SCHEMES=f16x3,bf16x6u generate out/h200/libhalftone-sim.so
 *     gcc -O2 -iquote runtime -o bias bench/bias.c -ldl -lm && ./bias out/h200/libhalftone-sim.so [SCHEME...]
 *
 * C = A B of 64 x K and K x 64, in the simulator, against sums in double precision; R: the exact C. Prints a table (TSV), in units of 2^-24:
 *   shrink  sum of (R - C) sign(R) over sum of |R|: the factor by which C is too small
 *   rms     sqrt(sum of (C - R)^2 / sum of R^2)
 *   mean    mean of (C - R) / (|A||B|)
 * Of each scheme also `A larger`: with A larger by SHIFT units, rounded at random: what a shift in packing would do. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "halftone.h"

enum { N = 64, MOST_K = 4096 };
static const double SHIFT = 1.5;

static float a[N * MOST_K], larger[N * MOST_K], b[MOST_K * N], c[N * N];
static double exact[N * N], size[N * N];

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

/* Of the two neighbours of x (1 + SHIFT 2^-24) one, so that it is right on average. */
static float enlarge(float x) {
    const double wanted = (double)x * (1 + SHIFT * 0x1p-24);
    const float near = (float)wanted;
    const float far = nextafterf(near, wanted > (double)near ? INFINITY : -INFINITY);
    return uniform() < fabs((wanted - (double)near) / ((double)far - (double)near)) ? far : near;
}

static const struct {
    const char *name;
    float (*draw)(void);
} families[] = {{"normal", normal}, {"normal+0.5", off_center}, {"uniform[0,1]", uniform01}};

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
            c[i + N * j] = sum;
        }
}

static void report(const char *family, int k, const char *what) {
    double shrink = 0, sum = 0, square = 0, squares = 0, mean = 0;
    for (int i = 0; i < N * N; i++) {
        const double off = (double)c[i] - exact[i];
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
    play_device(larger, sizeof larger);
    play_device(b, sizeof b);
    play_device(c, sizeof c);
    const float one = 1, zero = 0;
    printf("family\tk\twhat\tshrink\trms\tmean\n");
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int k = 64; k <= MOST_K && code == HALFTONE_OK; k *= 4) {
            for (int i = 0; i < N * k; i++)
                a[i] = families[f].draw(), b[i] = families[f].draw(), larger[i] = enlarge(a[i]);
            multiply_exactly(k);
            multiply_natively(k);
            report(families[f].name, k, "FP32, one chain");
            for (int s = 2; s < argc && code == HALFTONE_OK; s++) {
                code = set_scheme(handle, argv[s]);
                for (int shifted = 0; shifted < 2 && code == HALFTONE_OK; shifted++) {
                    char what[64];
                    snprintf(what, sizeof what, "%.40s%s", argv[s], shifted ? ", A larger" : "");
                    code = sgemm(handle, 'N', 'N', N, N, k, &one, shifted ? larger : a, N, b, k, &zero, c, N);
                    if (code == HALFTONE_OK)
                        report(families[f].name, k, what);
                }
            }
        }
    if (code != HALFTONE_OK)
        fprintf(stderr, "bias: %s\n", strerror(code));
    return code != HALFTONE_OK;
}
