// Tiles of native64 on FP64 tensor cores beside cuBLAS DGEMM, each by itself whatever the model picks (bench/on_gpu_fp64_tiles.sh):
// medians of rounds in which all take turns, each round beginning with another one. Then some back to back, when their power
// has settled.
#include <algorithm>
#include <cstring>
#include <cublas_v2.h>
#include <vector>
#include "fp64_study.cuh"

typedef int kernel_init(void);
typedef int kernel_run(const double *, const double *, double *, double *, int, int, int, int, int);

struct method {
    const char *name;
    kernel_init *init;
    kernel_run *run; // null: cuBLAS
};

struct product {
    int m, n, k, a_k, b_k; // a_k, b_k: contiguous along k
};

enum { ROUNDS = 9, THREADS = 256, BLOCKS = 1024 };
static const double TURN_MS = 4, SETTLE_MS = 150, SUSTAINED_MS = 300;
static const long long ELEMENTS = 70000000;

static std::vector<method> &methods(void)
{
    static std::vector<method> all = {{"cublas", nullptr, nullptr}};
    return all;
}

void fp64_tiles_add(const char *name, kernel_init *init, kernel_run *run)
{
    methods().push_back({name, init, run});
}

static cublasHandle_t blas;
static double *a, *b, *c, *wanted, *partial;

__global__ void fill_all(double *p, long long count, unsigned long long seed)
{
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < count; i += gridDim.x * (long long)THREADS)
        p[i] = 2 * unit((unsigned long long)i + seed) - 1;
}

__global__ void differ(const double *x, const double *y, long long count, unsigned *different)
{
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < count; i += gridDim.x * (long long)THREADS)
        if (x[i] != y[i])
            atomicAdd(different, 1u);
}

// The number of split-K slices.
static int call(const method &x, const product &p, double *to)
{
    const double one = 1, zero = 0;
    if (x.run)
        return x.run(a, b, to, partial, p.m, p.n, p.k, p.a_k, p.b_k);
    cublasDgemm(blas, p.a_k ? CUBLAS_OP_T : CUBLAS_OP_N, p.b_k ? CUBLAS_OP_N : CUBLAS_OP_T, p.m, p.n, p.k, &one, a, p.a_k ? p.k : p.m, b,
                p.b_k ? p.k : p.n, &zero, to, p.m);
    return 1;
}

// Microseconds of a call, back to back for so long as `expected` microseconds say.
static double timed(const method &x, const product &p, double ms, double expected)
{
    return 1000 * mean_ms(std::max(1, (int)(ms * 1000 / expected)), [&] { call(x, p, c); });
}

// Elements that are not cuBLAS' bits.
static unsigned unequal(const method &x, const product &p, unsigned *different)
{
    unsigned count = 0;
    const long long size = (long long)p.m * p.n;
    call(methods()[0], p, wanted);
    cudaMemset(c, 0xff, (size_t)size * sizeof *c);
    if (call(x, p, c) != 1)
        return 0; // slices
    cudaMemset(different, 0, sizeof *different);
    differ<<<BLOCKS, THREADS>>>(c, wanted, size, different);
    cudaMemcpy(&count, different, sizeof count, cudaMemcpyDeviceToHost);
    return count;
}

static void print_product(const product &p)
{
    printf("%d\t%d\t%d\t%c%c", p.m, p.n, p.k, p.a_k ? 'T' : 'N', p.b_k ? 'N' : 'T');
}

static void compare(const product &p, unsigned *different)
{
    const size_t count = methods().size();
    std::vector<std::vector<double>> us(count);
    std::vector<double> expected(count);
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += unequal(methods()[i], p, different);
        expected[i] = timed(methods()[i], p, 0, 1);
    }
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            const size_t at = (i + round * 5) % count;
            us[at].push_back(timed(methods()[at], p, TURN_MS, expected[at]));
        }
    for (std::vector<double> &x : us)
        std::sort(x.begin(), x.end());
    print_product(p);
    printf("\t%.1f", us[0][ROUNDS / 2]);
    for (size_t i = 1; i < count; i++)
        printf("\t%.3f", us[0][ROUNDS / 2] / us[i][ROUNDS / 2]);
    printf("\t%u\n", wrong);
}

static void sustain(const product &p)
{
    double of_cublas = 0;
    print_product(p);
    for (const method &x : methods()) {
        const double expected = timed(x, p, 0, 1);
        timed(x, p, SETTLE_MS, expected);
        const double us = timed(x, p, SUSTAINED_MS, expected);
        of_cublas = x.run ? of_cublas : us;
        printf(x.run ? "\t%.3f" : "\t%.1f", x.run ? of_cublas / us : us);
    }
    printf("\n");
}

int main(void)
{
    static const int squares[] = {1024, 1536, 2048, 3072, 4096, 6144};
    static const int thin[][3] = {{65536, 16, 128}, {16, 65536, 128}, {8192, 8, 8192}, {8, 8192, 8192}, {100000, 32, 32},
                                  {32, 100000, 32}, {100000, 6, 64},  {1000000, 8, 8}, {2048, 2048, 2}};
    cublasCreate(&blas);
    unsigned *different;
    for (double **p : {&a, &b, &c, &wanted, &partial})
        cudaMalloc((void **)p, ELEMENTS * sizeof(double));
    cudaMalloc((void **)&different, sizeof *different);
    fill_all<<<BLOCKS, THREADS>>>(a, ELEMENTS, 1);
    fill_all<<<BLOCKS, THREADS>>>(b, ELEMENTS, 1234567);
    std::sort(methods().begin() + 1, methods().end(), [](const method &x, const method &y) { return strcmp(x.name, y.name) < 0; });
    printf("m\tn\tk\tform\tcublas us");
    for (const method &x : methods()) {
        if (x.init && x.init() != 0)
            return 1;
        if (x.run)
            printf("\t%s", x.name);
    }
    printf("\tunequal\n");
    for (int n : squares)
        for (int form : {1, 3, 0, 2})
            compare({n, n, n, form / 2, form % 2}, different);
    for (const int *s : thin)
        for (int form : {1, 2})
            compare({s[0], s[1], s[2], form / 2, form % 2}, different);
    printf("# sustained\n");
    for (int n : {1536, 3072, 4096})
        sustain({n, n, n, 0, 1});
    printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
