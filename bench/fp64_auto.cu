// fp64_auto: FP64's default accuracy beside cuBLAS DGEMM, residues by name and native64 on data of several kinds: TFLOPS, sustained, of each, the share
// of C that residues keep, and errors of 64 x 64 elements against sums in twice the precision, in 2^-53 |A||B|.
//   nvcc -O2 -std=c++17 -Iout/h100 bench/fp64_auto.cu out/h100/libhalftone.a -lcublas -o fp64_auto; ./fp64_auto 2048 4096 8192
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "halftone.h"

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        const int code = (int)(call);                                                                 \
        if (code != 0) {                                                                              \
            fprintf(stderr, "%s: %d (line %d)\n", #call, code, __LINE__);                             \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

enum { UNIFORM, PHI1, PHI2, RELU, D300, SPARSE, ONE_BAD, POSITIVE, FAMILIES };
static const char *const names[] = {"uniform", "phi1", "phi2", "relu", "D300", "sparse", "one", "positive"};
enum { SAMPLE = 64 };

static __device__ double unit(unsigned long long at) { // (0, 1)
    at += 0x9e3779b97f4a7c15ull;
    at = (at ^ at >> 30) * 0xbf58476d1ce4e5b9ull;
    at = (at ^ at >> 27) * 0x94d049bb133111ebull;
    return ((double)((at ^ at >> 31) >> 12) + 0.5) * 0x1p-52;
}

static __device__ double normal(unsigned long long at) {
    return sqrt(-2 * log(unit(at * 2))) * cospi(2 * unit(at * 2 + 1));
}

// Element (row, k) of A, or (k, column) of B with the column as `row`.
static __device__ double element(int family, bool is_a, long long row, long long k, long long at) {
    const double x = 2 * unit(at) - 1;
    switch (family) {
    case PHI1: return 0.5 * x * exp(normal(at + (1ll << 40)));
    case PHI2: return 0.5 * x * exp(2 * normal(at + (1ll << 40)));
    case RELU: return is_a ? fmax(normal(at), 0.0) : normal(at);
    case D300: return ldexp(1.5 + 0.5 * x, (is_a ? 1 : -1) * ((int)(k * 37 % 601) - 300));
    case SPARSE: return is_a && unit(at + (1ll << 41)) > 0.01 ? 0 : x;
    case ONE_BAD: return row % 512 == 5 && k == 9 ? 1e30 : x;
    case POSITIVE: return fabs(x) * (unit(at + (1ll << 41)) > 0.5);
    default: return x;
    }
}

static __global__ void fill(double *x, int n, int family, bool is_a) {
    const long long at = blockIdx.x * 256ll + threadIdx.x;
    if (at >= (long long)n * n)
        return;
    const long long i = at % n, j = at / n;
    x[at] = element(family, is_a, is_a ? i : j, is_a ? j : i, at + (is_a ? 0 : 1ll << 42));
}

static __global__ void reference(const double *a, const double *b, int n, double *high_out, double *low_out, double *size_out) {
    const int i = threadIdx.x * (n / SAMPLE), j = blockIdx.x * (n / SAMPLE);
    double high = 0, low = 0, size = 0;
    for (int k = 0; k < n; k++) {
        const double x = a[(long long)k * n + i], y = b[(long long)j * n + k], p = x * y, rest = fma(x, y, -p);
        const double sum = high + p, part = sum - high;
        low += ((high - (sum - part)) + (p - part)) + rest;
        high = sum;
        size += fabs(p);
    }
    high_out[blockIdx.x * SAMPLE + threadIdx.x] = high;
    low_out[blockIdx.x * SAMPLE + threadIdx.x] = low;
    size_out[blockIdx.x * SAMPLE + threadIdx.x] = size;
}

// counts: [0] bits of x, [1] of y, [2] of neither
static __global__ void whose(const double *c, const double *x, const double *y, long long count, unsigned long long *counts) {
    unsigned long long own[3] = {0, 0, 0};
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        const long long bits = __double_as_longlong(c[i]);
        own[bits == __double_as_longlong(x[i]) ? 0 : bits == __double_as_longlong(y[i]) ? 1 : 2]++;
    }
    for (int i = 0; i < 3; i++)
        atomicAdd(&counts[i], own[i]);
}

struct bench {
    int n;
    double *a, *b, *c[4];
    cublasHandle_t blas;
    halftone *h;
    std::vector<double> high, low, size;
};

static void multiply(bench &x, int method) {
    const double one = 1, zero = 0;
    if (method == 0)
        CHECK(cublasDgemm(x.blas, CUBLAS_OP_N, CUBLAS_OP_N, x.n, x.n, x.n, &one, x.a, x.n, x.b, x.n, &zero, x.c[0], x.n));
    else
        CHECK(halftone_dgemm(x.h, 'N', 'N', x.n, x.n, x.n, &one, x.a, x.n, x.b, x.n, &zero, x.c[method], x.n));
}

// A captured call, replayed twice on other data between: its bits beside those of a call.
static void capture(bench &x) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned long long *counts, host[3];
    CHECK(cudaStreamCreate(&stream));
    CHECK(halftone_dset_accuracy(x.h, "fp64"));
    CHECK(halftone_set_stream(x.h, stream));
    multiply(x, 1);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    multiply(x, 1);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaMalloc(&counts, sizeof host));
    for (int family : {UNIFORM, ONE_BAD, D300, UNIFORM}) {
        const int blocks = (int)(((long long)x.n * x.n + 255) / 256);
        fill<<<blocks, 256, 0, stream>>>(x.a, x.n, family, true);
        fill<<<blocks, 256, 0, stream>>>(x.b, x.n, family, false);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(x.c[2], x.c[1], (size_t)x.n * x.n * 8, cudaMemcpyDeviceToDevice, stream));
        multiply(x, 1);
        CHECK(cudaMemsetAsync(counts, 0, sizeof host, stream));
        whose<<<1024, 256, 0, stream>>>(x.c[1], x.c[2], x.c[2], (long long)x.n * x.n, counts);
        CHECK(cudaMemcpyAsync(host, counts, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        printf("# %d: a replayed graph on %s: %llu elements of other bits\n", x.n, names[family], host[1] + host[2]);
    }
    CHECK(halftone_set_stream(x.h, NULL));
    CHECK(cudaFree(counts));
}

static double tflops(bench &x, int method) {
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    float ms = 0;
    int times = 1;
    multiply(x, method);
    for (int round = 0; round < 2; round++) {
        CHECK(cudaEventRecord(from));
        for (int i = 0; i < times; i++)
            multiply(x, method);
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaEventElapsedTime(&ms, from, to));
        if (round == 0)
            times = ms < 60 ? (int)(60 / ms) + 1 : 1;
        if (ms > 60)
            break;
    }
    return 2.0 * x.n * x.n * x.n / (ms / times) * 1e-9;
}

static double largest_error(const bench &x, const double *c) {
    std::vector<double> own((size_t)x.n);
    double most = 0;
    for (int j = 0; j < SAMPLE; j++) {
        CHECK(cudaMemcpy(own.data(), c + (long long)j * (x.n / SAMPLE) * x.n, (size_t)x.n * 8, cudaMemcpyDeviceToHost));
        for (int i = 0; i < SAMPLE; i++) {
            const int at = j * SAMPLE + i;
            const double off = own[(size_t)(i * (x.n / SAMPLE))] - x.high[at] - x.low[at];
            const double grade = x.size[at] == 0 ? (off == 0 ? 0 : 1e300) : (off < 0 ? -off : off) / (0x1p-53 * x.size[at]);
            most = grade > most ? grade : most;
        }
    }
    return most;
}

static void run(bench &x, int family) {
    static const char *const methods[] = {"dgemm", "fp64", "crt15", "native64"};
    const int blocks = (int)(((long long)x.n * x.n + 255) / 256);
    fill<<<blocks, 256>>>(x.a, x.n, family, true);
    fill<<<blocks, 256>>>(x.b, x.n, family, false);
    double *r;
    CHECK(cudaMalloc(&r, 3 * SAMPLE * SAMPLE * 8));
    reference<<<SAMPLE, SAMPLE>>>(x.a, x.b, x.n, r, r + SAMPLE * SAMPLE, r + 2 * SAMPLE * SAMPLE);
    for (auto *v : {&x.high, &x.low, &x.size}) {
        v->resize(SAMPLE * SAMPLE);
        CHECK(cudaMemcpy(v->data(), r + (v == &x.high ? 0 : v == &x.low ? 1 : 2) * SAMPLE * SAMPLE, SAMPLE * SAMPLE * 8, cudaMemcpyDeviceToHost));
    }
    double rate[4], error[4];
    for (int method = 0; method < 4; method++) {
        if (method > 0)
            CHECK(method == 1 ? halftone_dset_accuracy(x.h, "fp64") : halftone_dset_scheme(x.h, methods[method]));
        rate[method] = tflops(x, method);
        error[method] = largest_error(x, x.c[method]);
    }
    unsigned long long *counts, host[3];
    CHECK(cudaMalloc(&counts, sizeof host));
    CHECK(cudaMemset(counts, 0, sizeof host));
    whose<<<1024, 256>>>(x.c[1], x.c[2], x.c[3], (long long)x.n * x.n, counts);
    CHECK(cudaMemcpy(host, counts, sizeof host, cudaMemcpyDeviceToHost));
    for (int method = 0; method < 4; method++) {
        printf("%d\t%s\t%s\t%.1f\t%.3f\t%.3g\t", x.n, names[family], methods[method], rate[method], rate[method] / rate[0], error[method]);
        if (method == 1)
            printf("%.1f\t%llu\n", 100.0 * (double)host[0] / ((double)x.n * x.n), host[2]);
        else
            printf("-\t-\n");
    }
    fflush(stdout);
    CHECK(cudaFree(counts));
    CHECK(cudaFree(r));
}

int main(int argc, char **argv) {
    bench x;
    CHECK(cublasCreate(&x.blas));
    CHECK(halftone_create(&x.h));
    printf("n\tfamily\tmethod\tTFLOPS\tto dgemm\tin u|A||B|\tresidues keep, %%\telements of neither\n");
    for (int i = 1; i < argc; i++) {
        x.n = atoi(argv[i]);
        const size_t bytes = (size_t)x.n * x.n * 8;
        CHECK(cudaMalloc(&x.a, bytes));
        CHECK(cudaMalloc(&x.b, bytes));
        for (auto &c : x.c)
            CHECK(cudaMalloc(&c, bytes));
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        CHECK(halftone_dset_accuracy(x.h, "fp64"));
        CHECK(halftone_dquery(x.h, 'N', 'N', x.n, x.n, x.n, 1, &plan));
        printf("# %d: %s, %.1f us predicted, %.0f MB; %s\n", x.n, plan.scheme, (double)plan.predicted_ns * 1e-3,
               (double)plan.workspace_bytes * 1e-6, plan.why_scheme);
        for (int family = 0; family < FAMILIES; family++)
            run(x, family);
        if (i == 1)
            capture(x);
        CHECK(cudaFree(x.a));
        CHECK(cudaFree(x.b));
        for (auto &c : x.c)
            CHECK(cudaFree(c));
    }
    return halftone_destroy(x.h);
}
