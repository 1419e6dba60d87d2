/* app_kernels.cu: see app_kernels.h. Every operation is rounded as it stands (explicit FMAs, no contraction), so
 * that the simulator has a card's bits. Compiled by nvcc, and by the host's compiler for the simulator. */
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#include "../../../templates/hooks/prim/cuda.cuh"
#endif
#include "apps/app_kernels.h"

#include <string.h>

namespace {

/* ---- a diagonal block: 256 threads, the block and its inverse in shared memory, rows 65 floats apart ---- */

constexpr int PITCH = FACTOR_BLOCK + 1, BLOCK_BYTES = FACTOR_BLOCK * PITCH * 4, FACTOR_BYTES = 2 * BLOCK_BYTES;

HT_DEVICE unsigned place(unsigned base, int row, int column) {
    return base + (unsigned)(row * PITCH + column) * 4;
}

/* Column by column, each then taken out of those behind it. */
HT_DEVICE void factor(unsigned s, const factor_args &p, int tid) {
    for (int j = 0; j < FACTOR_BLOCK; j++) {
        const float pivot = ht_lds4(place(s, j, j));
        const bool is_good = pivot > 0.0f;
        const float root = is_good ? sqrtf(pivot) : 1.0f;
        if (tid == 0 && !is_good && *p.failed == 0)
            *p.failed = p.first + j + 1;
        ht_barrier();
        if (tid >= j && tid < FACTOR_BLOCK)
            ht_sts4(place(s, tid, j), tid == j ? root : ht_lds4(place(s, tid, j)) / root);
        ht_barrier();
        for (int at = tid; at < FACTOR_BLOCK * FACTOR_BLOCK; at += APP_THREADS) {
            const int row = at % FACTOR_BLOCK, column = at / FACTOR_BLOCK;
            if (column > j && row >= column)
                ht_sts4(place(s, row, column), __fmaf_rn(-ht_lds4(place(s, row, j)), ht_lds4(place(s, column, j)),
                                                         ht_lds4(place(s, row, column))));
        }
        ht_barrier();
    }
}

/* Forward substitution, a thread a column. */
HT_DEVICE void invert(unsigned s, unsigned x, int column) {
    for (int row = 0; row < FACTOR_BLOCK; row++) {
        float sum = row == column ? 1.0f : 0.0f;
        for (int k = column; k < row; k++)
            sum = __fmaf_rn(-ht_lds4(place(s, row, k)), ht_lds4(place(x, k, column)), sum);
        ht_sts4(place(x, row, column), sum / ht_lds4(place(s, row, row)));
    }
}

__global__ void __launch_bounds__(APP_THREADS) factor_block(factor_args p) {
    const unsigned s = ht_smem_base<FACTOR_BYTES>(), x = s + BLOCK_BYTES;
    const int tid = (int)threadIdx.x;
    for (int at = tid; at < FACTOR_BLOCK * FACTOR_BLOCK; at += APP_THREADS) {
        const int row = at % FACTOR_BLOCK, column = at / FACTOR_BLOCK;
        ht_sts4(place(s, row, column), row >= column ? p.s[row + (long long)column * p.ld] : 0.0f);
    }
    ht_barrier();
    factor(s, p, tid);
    if (tid < FACTOR_BLOCK)
        invert(s, x, tid);
    ht_barrier();
    for (int at = tid; at < FACTOR_BLOCK * FACTOR_BLOCK; at += APP_THREADS) {
        const int row = at % FACTOR_BLOCK, column = at / FACTOR_BLOCK;
        p.l[row + (long long)column * p.ld] = ht_lds4(place(s, row, column));
        p.inverse[at] = ht_lds4(place(x, row, column));
    }
}

/* ---- the residual: a thread has 4 x 4 elements of a tile, 16 apart ---- */

constexpr int SIDE = 16, PER_THREAD = RESIDUAL_TILE / SIDE, STEP = 32, STEP_BYTES = STEP * RESIDUAL_TILE * 8, RESIDUAL_BYTES = 2 * STEP_BYTES;
constexpr int LOADED = STEP * RESIDUAL_TILE / APP_THREADS; /* elements of either side that a thread brings a step */

/* Row `row` of column k in shared memory, in FP64: a thread's 4 rows are two pairs, each beside those of the next thread. */
HT_DEVICE unsigned residual_place(unsigned base, int k, int row) {
    const int pair = row / SIDE / 2, half = row / SIDE % 2;
    return base + (unsigned)(k * RESIDUAL_TILE * 8 + pair * SIDE * 16 + row % SIDE * 16 + half * 8);
}

/* Columns k to k + STEP of RESIDUAL_TILE rows of L, from memory, and to shared memory as doubles. */
HT_DEVICE void residual_load(float *x, const float *rows, int n, int k, int tid) {
    for (int i = 0; i < LOADED; i++)
        x[i] = rows[tid % RESIDUAL_TILE + (long long)(k + tid / RESIDUAL_TILE + i * (APP_THREADS / RESIDUAL_TILE)) * n];
}

HT_DEVICE void residual_store(unsigned to, const float *x, int tid) {
    for (int i = 0; i < LOADED; i++) {
        const double wide = (double)x[i];
        unsigned half[2];
        memcpy(half, &wide, sizeof wide);
        ht_sts8(residual_place(to, tid / RESIDUAL_TILE + i * (APP_THREADS / RESIDUAL_TILE), tid % RESIDUAL_TILE), half[0], half[1]);
    }
}

HT_DEVICE void residual_fetch(double *x, unsigned from, int k, int lane) {
    for (int pair = 0; pair < PER_THREAD / 2; pair++) {
        const uint4 two = ht_lds16(residual_place(from, k, 2 * pair * SIDE + lane));
        memcpy(x + 2 * pair, &two, sizeof two);
    }
}

__global__ void __launch_bounds__(APP_THREADS) residual(residual_args p) {
    if (blockIdx.y > blockIdx.x)
        return;
    const unsigned rows = ht_smem_base<RESIDUAL_BYTES>(), columns = rows + STEP_BYTES;
    const int tid = (int)threadIdx.x, n = p.n, i0 = (int)blockIdx.x * RESIDUAL_TILE, j0 = (int)blockIdx.y * RESIDUAL_TILE;
    const int last = j0 + RESIDUAL_TILE; /* L is 0 from there on in rows of j */
    double sum[PER_THREAD][PER_THREAD] = {}, square = 0;
    float x[LOADED], y[LOADED];
    residual_load(x, p.l + i0, n, 0, tid);
    residual_load(y, p.l + j0, n, 0, tid);
    for (int k0 = 0; k0 < last; k0 += STEP) {
        residual_store(rows, x, tid);
        residual_store(columns, y, tid);
        ht_barrier();
        if (k0 + STEP < last) {
            residual_load(x, p.l + i0, n, k0 + STEP, tid);
            residual_load(y, p.l + j0, n, k0 + STEP, tid);
        }
        for (int k = 0; k < STEP; k++) {
            double u[PER_THREAD], v[PER_THREAD];
            residual_fetch(u, rows, k, tid % SIDE);
            residual_fetch(v, columns, k, tid / SIDE);
            for (int i = 0; i < PER_THREAD; i++)
                for (int j = 0; j < PER_THREAD; j++)
                    sum[i][j] = __fma_rn(u[i], v[j], sum[i][j]);
        }
        ht_barrier();
    }
    for (int i = 0; i < PER_THREAD; i++)
        for (int j = 0; j < PER_THREAD; j++) {
            const double d = (double)p.a[i0 + tid % SIDE + i * SIDE + (long long)(j0 + tid / SIDE + j * SIDE) * n] - sum[i][j];
            square = __fma_rn(d, d, square);
        }
    const long long tile = (long long)blockIdx.x * (blockIdx.x + 1) / 2 + blockIdx.y;
    p.square[tile * APP_THREADS + tid] = blockIdx.x == blockIdx.y ? square : 2 * square;
}

__global__ void __launch_bounds__(APP_THREADS) copy(copy_args p) {
    const long long at = (long long)blockIdx.x * APP_THREADS + threadIdx.x;
    if (at < p.count)
        p.to[at] = p.from[at];
}

__global__ void __launch_bounds__(APP_THREADS) fold(fold_args p) {
    const int i = (int)(blockIdx.x * APP_THREADS + threadIdx.x);
    double sum = 0;
    if (i >= p.count)
        return;
    for (int j = 0; j < p.each; j++)
        sum += p.from[(long long)i * p.each + j];
    p.to[i] = sum;
}

/* ---- layers ---- */

__global__ void __launch_bounds__(APP_THREADS) add_bias(bias_args p) {
    const long long at = (long long)blockIdx.x * APP_THREADS + threadIdx.x;
    if (at >= p.count)
        return;
    const float v = __fadd_rn(p.h[at], p.bias[at % p.rows]);
    p.h[at] = p.relu && v < 0.0f ? 0.0f : v;
}

__global__ void __launch_bounds__(APP_THREADS) layer(layer_args p) {
    const int row = (int)(blockIdx.x * APP_THREADS + threadIdx.x);
    const double *const in = p.in + (long long)blockIdx.y * p.k;
    if (row >= p.rows)
        return;
    double sum = (double)p.bias[row];
    for (int k = 0; k < p.k; k++)
        sum = __fma_rn((double)p.w[row + (long long)k * p.rows], in[k], sum);
    p.out[row + (long long)blockIdx.y * p.rows] = p.relu && sum < 0 ? 0 : sum;
}

unsigned blocks_for(long long items) {
    return (unsigned)((items + APP_THREADS - 1) / APP_THREADS);
}

} // namespace

extern "C" int app_factor(const struct factor_args *args) {
    return ht_launch(factor_block, 1, 1, 1, APP_THREADS, FACTOR_BYTES, nullptr, *args);
}

extern "C" int app_residual(const struct residual_args *args) {
    const unsigned tiles = (unsigned)(args->n / RESIDUAL_TILE);
    return ht_launch(residual, tiles, tiles, 1, APP_THREADS, RESIDUAL_BYTES, nullptr, *args);
}

extern "C" int app_copy(const struct copy_args *args) {
    return ht_launch(copy, blocks_for(args->count), 1, 1, APP_THREADS, 0, nullptr, *args);
}

extern "C" int app_fold(const struct fold_args *args) {
    return ht_launch(fold, blocks_for(args->count), 1, 1, APP_THREADS, 0, nullptr, *args);
}

extern "C" int app_bias(const struct bias_args *args) {
    return ht_launch(add_bias, blocks_for(args->count), 1, 1, APP_THREADS, 0, nullptr, *args);
}

extern "C" int app_layer(const struct layer_args *args) {
    return ht_launch(layer, blocks_for(args->rows), (unsigned)args->columns, 1, APP_THREADS, 0, nullptr, *args);
}
