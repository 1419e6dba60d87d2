// sites_cublas.cu: a program that knows nothing of halftone, for `halftone tune-app -- halftone run --`: Y = C (B (A X)) by three calls of
// cublasSgemm, at places of their own, and its error |Y - R|_F / |R|_F beside R by cublasDgemm of the same numbers.
//     nvcc -O2 -o sites_cublas bench/lab/sites_cublas.cu -lcublas
//     halftone tune-app --tau 1e-4 --levels mixpert --out table -- halftone run -- ./sites_cublas
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096, COLUMNS = 2048 };

static void stop(const char *what) {
    fprintf(stderr, "sites_cublas: %s failed\n", what);
    exit(1);
}

static void *device(size_t bytes) {
    void *p = NULL;
    if (cudaMalloc(&p, bytes) != cudaSuccess)
        stop("cudaMalloc");
    return p;
}

// Uniform in [-1, 1), the same in both types.
static void fill(float *to, double *to_wide, size_t count, unsigned seed) {
    float *single = (float *)malloc(count * sizeof *single);
    double *wide = (double *)malloc(count * sizeof *wide);
    if (single == NULL || wide == NULL)
        stop("malloc");
    unsigned long long x = seed;
    for (size_t i = 0; i < count; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        single[i] = (float)(x >> 40) / 8388608.0f - 1.0f;
        wide[i] = single[i];
    }
    if (cudaMemcpy(to, single, count * sizeof *single, cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaMemcpy(to_wide, wide, count * sizeof *wide, cudaMemcpyHostToDevice) != cudaSuccess)
        stop("a copy to the device");
    free(single);
    free(wide);
}

static double error_of(const float *got, const double *want, size_t count) {
    float *single = (float *)malloc(count * sizeof *single);
    double *wide = (double *)malloc(count * sizeof *wide), off = 0, all = 0;
    if (single == NULL || wide == NULL || cudaMemcpy(single, got, count * sizeof *single, cudaMemcpyDeviceToHost) != cudaSuccess ||
        cudaMemcpy(wide, want, count * sizeof *wide, cudaMemcpyDeviceToHost) != cudaSuccess)
        stop("a copy from the device");
    for (size_t i = 0; i < count; i++) {
        off += (single[i] - wide[i]) * (single[i] - wide[i]);
        all += wide[i] * wide[i];
    }
    free(single);
    free(wide);
    return sqrt(off / all);
}

int main(void) {
    const float one = 1, zero = 0;
    const double one_wide = 1, zero_wide = 0;
    const size_t square = (size_t)N * N, slab = (size_t)N * COLUMNS;
    float *w[3], *h[4];
    double *w_wide[3], *h_wide[4];
    cublasHandle_t blas;
    if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS)
        stop("cublasCreate");
    for (int i = 0; i < 4; i++) {
        h[i] = (float *)device(slab * sizeof *h[i]);
        h_wide[i] = (double *)device(slab * sizeof *h_wide[i]);
    }
    fill(h[0], h_wide[0], slab, 1);
    for (int i = 0; i < 3; i++) {
        w[i] = (float *)device(square * sizeof *w[i]);
        w_wide[i] = (double *)device(square * sizeof *w_wide[i]);
        fill(w[i], w_wide[i], square, 2 + (unsigned)i);
    }
    int status = cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, COLUMNS, N, &one, w[0], N, h[0], N, &zero, h[1], N);
    status |= cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, COLUMNS, N, &one, w[1], N, h[1], N, &zero, h[2], N);
    status |= cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, COLUMNS, N, &one, w[2], N, h[2], N, &zero, h[3], N);
    for (int i = 0; i < 3; i++)
        status |= cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, COLUMNS, N, &one_wide, w_wide[i], N, h_wide[i], N, &zero_wide, h_wide[i + 1], N);
    if (status != CUBLAS_STATUS_SUCCESS)
        stop("a product");
    printf("error %.9g\n", error_of(h[3], h_wide[3], slab));
    return 0;
}
