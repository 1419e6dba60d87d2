/* app.c: a program that uses the library as its users do; built against an installed library, a vendored folder and an
 * amalgamation. Multiplies, compares with FP64, prints the GPU whose kernels ran. -DSTEM=myproj: with the prefix myproj_. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef STEM
#define STEM halftone
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define JOIN_OF(a, b) a##_##b
#define JOIN(a, b) JOIN_OF(a, b)
#define NAME(x) JOIN(STEM, x)
#include TEXT(STEM.h)

enum { M = 70, N = 45, K = 130 };

static float a[M * K], b[K * N], c[M * N];

static int fill_and_upload(float *host, int count, float **device) {
    for (int i = 0; host != c && i < count; i++)
        host[i] = (float)(i * 7919 % 2017) / 1000.0f - 1.0f;
    if (cudaMalloc((void **)device, (size_t)count * sizeof *host) != cudaSuccess)
        return 1;
    return cudaMemcpy(*device, host, (size_t)count * sizeof *host, cudaMemcpyHostToDevice) != cudaSuccess;
}

/* Largest |C - AB| / (2^-24 |A||B|). */
static double grade(void) {
    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, magnitude = 0;
            for (int k = 0; k < K; k++) {
                sum += (double)a[k * M + i] * (double)b[j * K + k];
                magnitude += fabs((double)a[k * M + i] * (double)b[j * K + k]);
            }
            worst = fmax(worst, fabs((double)c[j * M + i] - sum) / (magnitude * 0x1p-24));
        }
    return worst;
}

int main(void) {
    STEM *h;
    float *da, *db, *dc;
    const float one = 1, zero = 0;
    int code = NAME(create)(&h);
    if (code != 0) {
        printf("refused: %s (%s)\n", NAME(strerror)(code), NAME(last_detail)(NULL));
        return 3;
    }
    if (fill_and_upload(a, M * K, &da) || fill_and_upload(b, K * N, &db) || fill_and_upload(c, M * N, &dc))
        return 2;
    code = NAME(sgemm)(h, 'N', 'N', M, N, K, &one, da, M, db, K, &zero, dc, M);
    if (code != 0 || cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost) != cudaSuccess) {
        printf("failed: %s (%s)\n", NAME(strerror)(code), NAME(last_detail)(h));
        return 2;
    }
    const double worst = grade();
    printf("kernels of %s on %s: grade %.3g\n", NAME(gpu)(h), NAME(device)(h), worst);
    NAME(destroy)(h);
    cudaFree(da), cudaFree(db), cudaFree(dc);
    return worst > 0 && worst < 200
               ? 0
               : 1; /* 200: near the bound of f16x3 for this k; a plain FP16 product has thousands */
}
