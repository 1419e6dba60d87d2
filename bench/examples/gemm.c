/* gemm.c: C = AB in FP32 by the library, held against FP64 (grade: the largest error in 2^-24 |A||B|).
 * nvcc -Iout/a800 bench/examples/gemm.c out/a800/libhalftone.a
 * cc -Iout/a800 -Iruntime/sim/cuda bench/examples/gemm.c out/a800/libhalftone-sim.a -lstdc++ -lm -pthread -ldl
 * The second line needs no GPU. CMakeLists.txt takes an installed library. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include "halftone.h"

enum { M = 70, N = 45, K = 130 };
static float a[M * K], b[K * N], c[M * N];

int main(void) {
    float alpha = 1, beta = 0, *da, *db, *dc; /* d: on the device, column-major */
    for (int i = 0; i < M * K; i++) a[i] = b[i % (K * N)] = (float)(i * 7919 % 2017) / 1000 - 1;
    halftone *h;
    int code = halftone_create(&h);
    if (code) return printf("refused: %s (%s)\n", halftone_strerror(code), halftone_last_detail(NULL)), 3;
    if (cudaMalloc((void **)&da, sizeof a) || cudaMalloc((void **)&db, sizeof b) ||
        cudaMalloc((void **)&dc, sizeof c)) return 2;
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    code = halftone_sgemm(h, 'N', 'N', M, N, K, &alpha, da, M, db, K, &beta, dc, M);
    if (code) return printf("failed: %s (%s)\n", halftone_strerror(code), halftone_last_detail(h)), 2;
    if (cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost)) return 2; /* waits for the product */
    double worst = 0;
    for (int i = 0; i < M * N; i++) {
        double sum = 0, magnitude = 0;
        for (int k = 0; k < K; k++) {
            const double term = (double)a[k * M + i % M] * b[i / M * K + k];
            sum += term;
            magnitude += fabs(term);
        }
        worst = fmax(worst, fabs(c[i] - sum) / (magnitude * 0x1p-24));
    }
    printf("kernels of %s on %s: grade %.3g\n", halftone_gpu(h), halftone_device(h), worst);
    cudaFree(da), cudaFree(db), cudaFree(dc);
    return halftone_destroy(h) || !(worst > 0 && worst < 200); /* one FP16 product has thousands */
}
