// fp64_rivals: FP64 products of ours beside cuBLAS DGEMM, cuBLAS' own emulation (where this cuBLAS has it: fixed at 55 bits, and its dynamic choice) and, with
// -DGEMMUL8, GEMMul8: TFLOPS of whole calls, median and spread of three rounds in turns, errors of 64 x 64 elements against sums in twice the precision, and workspace.
// ./fp64_rivals uniform|phi1 SIZES... ; bench/lab/run fp64-rivals builds it.
#include <algorithm>
#include <cstring>
#include <cublas_v2.h>
#include "fp64_study.cuh"
#include "halftone.h"
#ifdef GEMMUL8
#include "gemmul8.hpp"
#endif

enum { ROUNDS = 3 };

struct products {
    int n;
    double *a, *b, *c;
    cublasHandle_t blas;
    halftone *h;
    void *work; // of GEMMul8
};

enum kind { NATIVE, EMULATED, OURS, OTHER };

struct method {
    const char *name;
    kind what;
    int detail;         // EMULATED: bits, 0: its own choice; OTHER: moduli
    bool fast;          // OTHER
    const char *scheme; // OURS; nullptr: accuracy fp64
};

static const method methods[] = {
    {"cublas-dgemm", NATIVE, 0, false, nullptr},
#if CUBLAS_VERSION >= 130100
    {"cublas-emulated-55", EMULATED, 55, false, nullptr},
    {"cublas-emulated-dynamic", EMULATED, 0, false, nullptr},
#endif
    {"fp64", OURS, 0, false, nullptr},
    {"crt14", OURS, 0, false, "crt14"},
    {"crt15", OURS, 0, false, "crt15"},
    {"native64", OURS, 0, false, "native64"},
#ifdef GEMMUL8
    {"gemmul8-fast-14", OTHER, 14, true, nullptr},
    {"gemmul8-fast-15", OTHER, 15, true, nullptr},
    {"gemmul8-accurate-15", OTHER, 15, false, nullptr},
#endif
};
enum { METHODS = sizeof methods / sizeof *methods };

static void set_up(products &p, const method &m) {
    if (m.what == OURS)
        CHECK(m.scheme ? halftone_set_scheme(p.h, m.scheme) : halftone_set_accuracy(p.h, "fp64"));
#if CUBLAS_VERSION >= 130100
    if (m.what == NATIVE)
        CHECK(cublasSetMathMode(p.blas, CUBLAS_DEFAULT_MATH));
    if (m.what == EMULATED) {
        CHECK(cublasSetMathMode(p.blas, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH));
        CHECK(cublasSetEmulationStrategy(p.blas, CUBLAS_EMULATION_STRATEGY_EAGER));
        CHECK(cublasSetFixedPointEmulationMantissaControl(
            p.blas, m.detail > 0 ? CUDA_EMULATION_MANTISSA_CONTROL_FIXED : CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC));
        if (m.detail > 0) // of the whole number, its first bit included
            CHECK(cublasSetFixedPointEmulationMaxMantissaBitCount(p.blas, m.detail));
    }
#endif
}

static void multiply(products &p, const method &m) {
    const double one = 1, zero = 0;
    const int n = p.n;
    if (m.what == NATIVE || m.what == EMULATED)
        CHECK(cublasDgemm(p.blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, p.a, n, p.b, n, &zero, p.c, n));
    else if (m.what == OURS)
        CHECK(halftone_dgemm(p.h, 'N', 'N', n, n, n, &one, p.a, n, p.b, n, &zero, p.c, n));
#ifdef GEMMUL8
    else
        gemmul8::gemm<double>(p.blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, p.a, n, p.b, n, &zero, p.c, n, (unsigned)m.detail, m.fast, p.work);
#endif
}

static double workspace_mb(const products &p, const method &m) {
    if (m.what == OURS) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        CHECK(halftone_dquery(p.h, 'N', 'N', p.n, p.n, p.n, 1, &plan));
        return (double)plan.workspace_bytes * 1e-6;
    }
#ifdef GEMMUL8
    if (m.what == OTHER)
        return (double)gemmul8::workSize((size_t)p.n, (size_t)p.n, (size_t)p.n, (unsigned)m.detail) * 1e-6;
#endif
    return -1;
}

static void run(products &p, int family) {
    double ms[METHODS][ROUNDS], workspace[METHODS];
    errors64 error[METHODS];
    fill_on_device(p.a, p.n, family, true);
    fill_on_device(p.b, p.n, family, false);
    const truth64 truth = truth_of(p.a, p.b, p.n);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < METHODS; i++) {
            set_up(p, methods[i]);
            CHECK(cudaMemset(p.c, 0xff, (size_t)p.n * p.n * sizeof(double)));
            ms[i][round] = milliseconds([&] { multiply(p, methods[i]); }, 100);
            if (round == 0) {
                error[i] = errors_of(truth, p.c, p.n);
                workspace[i] = workspace_mb(p, methods[i]);
            }
        }
    }
    const double flops = 2.0 * p.n * p.n * p.n;
    for (int i = 0; i < METHODS; i++)
        std::sort(ms[i], ms[i] + ROUNDS);
    for (int i = 0; i < METHODS; i++)
        printf("%d\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.3f\t%.3g\t%.3g\t%.0f\n", p.n, names[family], methods[i].name, flops / ms[i][ROUNDS / 2] * 1e-9,
               flops / ms[i][ROUNDS - 1] * 1e-9, flops / ms[i][0] * 1e-9, ms[0][ROUNDS / 2] / ms[i][ROUNDS / 2], error[i].rel_frobenius, error[i].grade,
               workspace[i]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    products p;
    int version, family = UNIFORM;
    CHECK(cublasCreate(&p.blas));
    CHECK(cublasGetVersion(p.blas, &version));
    CHECK(halftone_create(&p.h));
    for (int f = 0; f < FAMILIES && argc > 1; f++)
        family = strcmp(argv[1], names[f]) == 0 ? f : family;
    printf("# cuBLAS %d\nn\tfamily\tmethod\ttflops\tleast\tmost\tto dgemm\trel_frobenius\tin u|A||B|\tworkspace_mb\n", version);
    for (int i = 2; i < argc; i++) {
        p.n = atoi(argv[i]);
        for (double **x : {&p.a, &p.b, &p.c})
            CHECK(cudaMalloc(x, (size_t)p.n * p.n * sizeof(double)));
        p.work = nullptr;
#ifdef GEMMUL8
        CHECK(cudaMalloc(&p.work, gemmul8::workSize((size_t)p.n, (size_t)p.n, (size_t)p.n, 15)));
#endif
        run(p, family);
        for (void *x : {(void *)p.a, (void *)p.b, (void *)p.c, p.work})
            CHECK(cudaFree(x));
    }
    CHECK(cublasDestroy(p.blas));
    return halftone_destroy(p.h);
}
