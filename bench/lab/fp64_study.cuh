// fp64_study: what the studies of FP64 products share: matrices of several kinds, sums of some elements in twice the precision, and errors beside them.
#pragma once
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

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

static inline void fill_on_device(double *x, int n, int family, bool is_a, cudaStream_t stream = 0) {
    fill<<<(unsigned)(((long long)n * n + 255) / 256), 256, 0, stream>>>(x, n, family, is_a);
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

// Of SAMPLE x SAMPLE elements at places spread over C: the product in two FP64 numbers, and |A||B|.
struct truth64 {
    std::vector<double> high, low, size;
};

static inline truth64 truth_of(const double *a, const double *b, int n) {
    constexpr size_t COUNT = SAMPLE * SAMPLE;
    double *on_device;
    truth64 t;
    CHECK(cudaMalloc(&on_device, 3 * COUNT * sizeof(double)));
    reference<<<SAMPLE, SAMPLE>>>(a, b, n, on_device, on_device + COUNT, on_device + 2 * COUNT);
    std::vector<double> *const part[] = {&t.high, &t.low, &t.size};
    for (int i = 0; i < 3; i++) {
        part[i]->resize(COUNT);
        CHECK(cudaMemcpy(part[i]->data(), on_device + i * COUNT, COUNT * sizeof(double), cudaMemcpyDeviceToHost));
    }
    CHECK(cudaFree(on_device));
    return t;
}

struct errors64 {
    double rel_frobenius;
    double grade;     // the largest error in 2^-53 |A||B|
};

static inline errors64 errors_of(const truth64 &t, const double *c, int n) {
    std::vector<double> column((size_t)n);
    double off2 = 0, all2 = 0, most = 0;
    for (int j = 0; j < SAMPLE; j++) {
        CHECK(cudaMemcpy(column.data(), c + (long long)j * (n / SAMPLE) * n, (size_t)n * sizeof(double), cudaMemcpyDeviceToHost));
        for (int i = 0; i < SAMPLE; i++) {
            const size_t at = (size_t)(j * SAMPLE + i);
            const double off = fabs(column[(size_t)(i * (n / SAMPLE))] - t.high[at] - t.low[at]);
            const double grade = t.size[at] == 0 ? (off == 0 ? 0 : 1e300) : off / (0x1p-53 * t.size[at]);
            off2 += off * off;
            all2 += t.high[at] * t.high[at];
            most = grade > most || std::isnan(grade) ? grade : most;
        }
    }
    return {sqrt(off2 / all2), most};
}

// Milliseconds of a call, the mean of `times` back to back.
static inline double mean_ms(int times, const auto &call) {
    cudaEvent_t from, to;
    float ms = 0;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    CHECK(cudaEventRecord(from));
    for (int i = 0; i < times; i++)
        call();
    CHECK(cudaEventRecord(to));
    CHECK(cudaEventSynchronize(to));
    CHECK(cudaEventElapsedTime(&ms, from, to));
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
    return ms / times;
}

// The same for at least `least` of them, after as long a start: what ran before leaves the GPU another power and clock.
static inline double milliseconds(const auto &call, double least) {
    call();
    const double once = mean_ms(1, call);
    const int times = once < least ? (int)(least / once) + 1 : 1;
    mean_ms(times, call);
    return mean_ms(times, call);
}
