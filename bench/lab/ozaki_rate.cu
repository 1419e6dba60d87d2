/* ozaki_rate LIMIT [N ...]: scheme ozaki (Mukunoki et al. 2020) beside cuBLAS DGEMM on this GPU: the paper's table 1, with its figures.
 * Built by bench/lab/run ozaki.
 * Square products of (rand - 0.5) exp(phi randn). Per method: GFLOPS on FP64 (2 n^3 / time), slices of A and of B, products of slices;
 * of elements at random places, against exact sums: the largest relative error, and how many are not correctly rounded. LIMIT: seconds
 * after which no further row is begun. Failure: a wrong bit of ozaki-cr. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <thread>
#include <vector>

#include "halftone.h"

#define MUST(call, what)                                                                                                        \
    do {                                                                                                                        \
        const int code_ = (int)(call);                                                                                          \
        if (code_ != 0) {                                                                                                       \
            printf("# %s: code %d\n", what, code_);                                                                             \
            exit(1);                                                                                                            \
        }                                                                                                                       \
    } while (0)

static __host__ __device__ uint64_t mixed(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static __device__ double unit(uint64_t x) { /* [0, 1) */
    return (double)(mixed(x) >> 11) * 0x1p-53;
}

/* n x n by columns, or by rows the same. */
static __global__ void fill(double *x, long long n, bool by_rows, double phi, uint64_t seed) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n * n; i += (long long)gridDim.x * blockDim.x) {
        const uint64_t at = seed + 3 * (uint64_t)(by_rows ? i % n * n + i / n : i);
        const double normal = sqrt(-2 * log(1 - unit(at))) * cospi(2 * unit(at + 1));
        x[i] = (unit(at + 2) - 0.5) * exp(phi * normal);
    }
}

/* x = *mantissa 2^exponent; normal numbers and 0. */
static int64_t mantissa_of(double x, int *exponent) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent = (int)(bits >> 52 & 0x7ff) - 1075;
    const int64_t size = *exponent == -1075 ? 0 : (int64_t)(bits & 0xfffffffffffff) | INT64_C(1) << 52;
    return bits >> 63 ? -size : size;
}

/* The exact dot product of two vectors, rounded once. Limb l counts 2^(32 l - 320); elements are 0 or within 2^-100 and 2^60, as
 * (rand - 0.5) exp(phi randn) is for phi up to 4. */
static double exact(const double *a, const double *b, long long n) {
    enum { LIMBS = 16, UNIT = 320 };
    int64_t limb[LIMBS] = {0};
    for (long long h = 0; h < n; h++) {
        int ea, eb;
        const int64_t ma = mantissa_of(a[h], &ea), mb = mantissa_of(b[h], &eb);
        const __int128 product = (__int128)ma * mb;
        unsigned __int128 size = product < 0 ? -(unsigned __int128)product : (unsigned __int128)product;
        const int at = product == 0 ? 0 : ea + eb + UNIT, word = at / 32, shift = at % 32; /* at >= 0 */
        const int64_t sign = product < 0 ? -1 : 1;
        uint64_t carried = 0;
        for (int w = word; size != 0 || carried != 0; w++, size >>= 32) {
            const uint64_t part = ((uint64_t)(uint32_t)size << shift) + carried;
            limb[w] += sign * (int64_t)(uint32_t)part;
            carried = part >> 32;
        }
    }
    int64_t carry = 0;
    for (int w = 0; w < LIMBS; w++) {
        const int64_t v = limb[w] + carry;
        limb[w] = (int64_t)(uint32_t)v;
        carry = v >> 32;
    }
    const bool negative = carry < 0;
    carry = 1;
    for (int w = 0; w < LIMBS && negative; w++) { /* the two's complement */
        const int64_t v = (int64_t)(uint32_t)~limb[w] + carry;
        limb[w] = (int64_t)(uint32_t)v;
        carry = v >> 32;
    }
    int top = LIMBS - 1;
    while (top > 0 && limb[top] == 0)
        top--;
    unsigned __int128 m = 0;
    for (int w = top; w > top - 4; w--)
        m = m << 32 | (uint32_t)(w >= 0 ? limb[w] : 0);
    bool below = false;
    for (int w = 0; w < top - 3; w++)
        below = below || limb[w] != 0;
    int e = 32 * (top - 3) - UNIT;
    while (m >> 54 != 0) {
        below = below || (m & 1) != 0;
        m >>= 1;
        e++;
    }
    uint64_t bits = (uint64_t)m; /* 54 of them, and whether there are more */
    bits = (bits >> 1) + ((bits & 1) && (below || (bits >> 1 & 1)));
    const double size = ldexp((double)bits, e + 1); /* of 54 bits: e is that of the lowest */
    return negative ? -size : size;
}

struct problem {
    long long n;
    double phi;
    double *a, *b, *c; /* device */
    std::vector<double> host_a, host_b, host_c;
    std::vector<long long> row, col;
    std::vector<double> truth;
};

static void make(problem *p, int samples) {
    const size_t bytes = (size_t)(p->n * p->n) * sizeof(double);
    fill<<<1024, 256>>>(p->a, p->n, false, p->phi, 1ull << 40);
    fill<<<1024, 256>>>(p->b, p->n, false, p->phi, 2ull << 40);
    fill<<<1024, 256>>>(p->c, p->n, true, p->phi, 1ull << 40); /* A's rows, for the host */
    MUST(cudaMemcpy(p->host_a.data(), p->c, bytes, cudaMemcpyDeviceToHost), "copy");
    MUST(cudaMemcpy(p->host_b.data(), p->b, bytes, cudaMemcpyDeviceToHost), "copy");
    p->row.resize((size_t)samples);
    p->col.resize((size_t)samples);
    p->truth.resize((size_t)samples);
    for (int s = 0; s < samples; s++) { /* columns of 64 samples, so that memory is read together */
        p->row[(size_t)s] = (long long)(mixed((uint64_t)s) % (uint64_t)p->n);
        p->col[(size_t)s] = (long long)(mixed((uint64_t)(s / 64) + (1ull << 50)) % (uint64_t)p->n);
    }
    std::vector<std::thread> team;
    const int threads = (int)std::thread::hardware_concurrency();
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            for (size_t s = (size_t)t; s < p->truth.size(); s += (size_t)threads)
                p->truth[s] = exact(p->host_a.data() + p->row[s] * p->n, p->host_b.data() + p->col[s] * p->n, p->n);
        });
    for (std::thread &t : team)
        t.join();
}

struct verdict {
    double relative;
    int wrong;
};

static verdict judge(problem *p) {
    verdict v = {0, 0};
    MUST(cudaMemcpy(p->host_c.data(), p->c, (size_t)(p->n * p->n) * sizeof(double), cudaMemcpyDeviceToHost), "copy");
    for (size_t s = 0; s < p->truth.size(); s++) {
        const double found = p->host_c[(size_t)(p->col[s] * p->n + p->row[s])], expected = p->truth[s];
        v.wrong += found != expected;
        v.relative = fmax(v.relative, isnan(found) ? INFINITY : expected == 0 ? fabs(found) : fabs(found - expected) / fabs(expected));
    }
    return v;
}

/* Bytes into the workspace of what was chosen (runtime/ht_ozaki.c lays it out): behind exponents, panels, what is left, weights, fields. */
static long long chosen_at(long long n, long long most) {
    const long long exponents = (n * (most + 1) * 4 + 1023) / 1024 * 1024, panels = (n * n * 2 * most + 1023) / 1024 * 1024;
    return 2 * exponents + 2 * panels + 2 * n * n * 8 + n * 8 + n / 64 * (n / 32) * 4;
}

/* GFLOPS: one call to start, then so many as a quarter of a second has, at least one. */
template <class Call> static double rate_of(long long n, Call call) {
    cudaEvent_t begin, end;
    float ms = 0;
    int times = 1;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int round = 0; round < 2; round++) {
        cudaEventRecord(begin);
        for (int i = 0; i < times; i++)
            call();
        cudaEventRecord(end);
        MUST(cudaEventSynchronize(end), "time");
        cudaEventElapsedTime(&ms, begin, end);
        ms /= (float)times;
        times = ms > 250 ? 1 : (int)(250 / ms) + 1;
    }
    return 2e-6 * (double)n * (double)n * (double)n / ms;
}

static double paper(const char *method, double phi) {
    const int at = phi < 0.5 ? 0 : phi < 1.5 ? 1 : 2;
    static const double dp[] = {972.4, 823.0, 713.1}, cr[] = {220.4, 193.5, 173.1};
    return strcmp(method, "dgemm") == 0 ? 534.1 : strcmp(method, "ozaki") == 0 ? dp[at] : cr[at];
}

static int run(halftone *h, cublasHandle_t cublas, problem *p, const char *method, char *workspace, size_t bytes) {
    const double one = 1, zero = 0;
    const bool is_cublas = strcmp(method, "dgemm") == 0;
    int chosen[3] = {0, 0, 0};
    if (!is_cublas) {
        size_t needed = 0;
        MUST(halftone_set_scheme(h, method), "scheme");
        MUST(halftone_dworkspace_bytes(h, 'N', 'N', p->n, p->n, p->n, 1, &needed), "workspace");
        MUST(needed > bytes, "workspace too small");
    }
    const auto call = [&] {
        if (is_cublas)
            MUST(cublasDgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, (int)p->n, (int)p->n, (int)p->n, &one, p->a, (int)p->n, p->b, (int)p->n, &zero, p->c,
                             (int)p->n), "cublasDgemm");
        else
            MUST(halftone_dgemm(h, 'N', 'N', p->n, p->n, p->n, &one, p->a, p->n, p->b, p->n, &zero, p->c, p->n), "halftone_dgemm");
    };
    MUST(cudaMemset(p->c, 0xff, (size_t)(p->n * p->n) * sizeof(double)), "memset");
    const double rate = rate_of(p->n, call);
    const verdict v = judge(p);
    if (!is_cublas)
        MUST(cudaMemcpy(chosen, workspace + chosen_at(p->n, strcmp(method, "ozaki") == 0 ? 16 : 24), sizeof chosen, cudaMemcpyDeviceToHost), "copy");
    int products = 0;
    for (int a = 0; a < chosen[0]; a++)
        for (int b = 0; b < chosen[1]; b++)
            products += a + b < chosen[2];
    printf("%lld\t%g\t%s\t%.1f\t%d\t%d\t%d\t%.2e\t%d\t%zu\t", p->n, p->phi, method, rate, chosen[0], chosen[1], products, v.relative, v.wrong, p->truth.size());
    printf(p->n == 10240 ? "%.1f\n" : "-\n", paper(method, p->phi));
    fflush(stdout);
    return strcmp(method, "ozaki-cr") == 0 && v.wrong > 0;
}

int main(int argc, char **argv) {
    static const double phis[] = {0.1, 1, 2};
    static const char *const methods[] = {"dgemm", "ozaki", "ozaki-cr"};
    const double limit = argc > 1 ? atof(argv[1]) : 120;
    const auto start = std::chrono::steady_clock::now();
    std::vector<long long> sizes;
    for (int i = 2; i < argc; i++)
        sizes.push_back(atoll(argv[i]));
    if (sizes.empty())
        sizes = {4096, 10240};
    halftone *h;
    cublasHandle_t cublas;
    cudaDeviceProp device;
    MUST(halftone_create(&h), "halftone_create");
    MUST(cublasCreate(&cublas), "cublasCreate");
    MUST(cudaGetDeviceProperties(&device, 0), "device");
    printf("# %s, cuBLAS %d; GFLOPS on FP64; the paper's on a Titan RTX\n", device.name, (int)cublasGetCudartVersion());
    printf("n\tphi\tmethod\tgflops\tslices_a\tslices_b\tproducts\tmax_relative_error\tnot_correctly_rounded\tof_elements\tpaper_gflops\n");
    int failures = 0;
    for (const long long n : sizes) {
        problem p = {};
        p.n = n;
        const size_t count = (size_t)(n * n);
        size_t bytes = 0;
        MUST(halftone_set_scheme(h, "ozaki-cr"), "scheme");
        MUST(halftone_dworkspace_bytes(h, 'N', 'N', n, n, n, 1, &bytes), "workspace");
        char *workspace;
        MUST(cudaMalloc(&workspace, bytes), "malloc");
        MUST(halftone_set_workspace(h, workspace, bytes), "workspace");
        MUST(cudaMalloc(&p.a, count * 8), "malloc");
        MUST(cudaMalloc(&p.b, count * 8), "malloc");
        MUST(cudaMalloc(&p.c, count * 8), "malloc");
        p.host_a.resize(count);
        p.host_b.resize(count);
        p.host_c.resize(count);
        for (const double phi : phis) {
            p.phi = phi;
            make(&p, 100000);
            for (const char *method : methods) {
                const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
                if (spent < limit)
                    failures += run(h, cublas, &p, method, workspace, bytes);
                else
                    printf("# %lld %g %s: left out, no time\n", n, phi, method);
            }
        }
        cudaFree(p.a);
        cudaFree(p.b);
        cudaFree(p.c);
        cudaFree(workspace);
    }
    halftone_destroy(h);
    return failures > 0;
}
