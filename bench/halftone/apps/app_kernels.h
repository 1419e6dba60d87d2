/* app_kernels: what the programs of bench/halftone/apps run on the device beside their products. Matrices are column-major; all launches
 * go to the default stream and are asynchronous; what they return is for ht_dev_check. */
#ifndef BENCH_APP_KERNELS_H
#define BENCH_APP_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { FACTOR_BLOCK = 64, RESIDUAL_TILE = 64, APP_THREADS = 256 };

/* L of a diagonal block of FACTOR_BLOCK rows, zeros above, and its inverse (dense). All in FP32. */
struct factor_args {
    const float *s; /* the lower triangle is read */
    float *l;
    float *inverse;
    int ld; /* of s and l */
    int first; /* the block's first row in the matrix */
    int *failed; /* gets the row (from 1) whose pivot is not positive; stays where it is not 0 */
};

/* Squares of A - L L^T in FP64, tile by tile of the lower triangle, APP_THREADS sums a tile: tile (i, j) is number
 * i (i + 1) / 2 + j. Below the diagonal they count twice. */
struct residual_args {
    const float *a, *l;
    int n; /* a multiple of RESIDUAL_TILE; also the leading dimension of both */
    double *square;
};

struct copy_args {
    const float *from;
    float *to;
    long long count;
};

/* to[i] = sum of from[each * i ...]. */
struct fold_args {
    const double *from;
    double *to;
    int count, each;
};

/* h(i, j) += bias(i), below 0 becomes 0 with `relu`. */
struct bias_args {
    float *h;
    const float *bias;
    int rows, relu;
    long long count; /* of elements */
};

/* out = w in + bias in FP64, `columns` columns. */
struct layer_args {
    const float *w, *bias;
    const double *in;
    double *out;
    int rows, k, columns, relu;
};

/* In builds with NVIDIA's or the simulator's kernels; NULL addresses elsewhere. */
int app_factor(const struct factor_args *args) __attribute__((weak));
int app_residual(const struct residual_args *args) __attribute__((weak));
int app_copy(const struct copy_args *args) __attribute__((weak));
int app_fold(const struct fold_args *args) __attribute__((weak));
int app_bias(const struct bias_args *args) __attribute__((weak));
int app_layer(const struct layer_args *args) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
