/* test_api: the logic of the runtime (ht_*.c) against a naive reference, without generator, simulator or GPU.
 *
 * This file plays both neighbours of the runtime: a device layer (host memory that counts calls, runs out on
 * demand and can pretend to be capturing) and a kernel set whose pack, product and reduction are plain C on
 * the panel layout of ht_abi.h. Matrices hold small integers, so every right answer is exact. */
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../runtime/halftone.h"
#include "../../runtime/ht_accuracy.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"

/* ---- the fake device ---- */

static struct {
    long calls, allocs, frees, syncs, memsets, alarms, launches, packs, gemms, reduces, inits[8], pack_inits, launched[8];
    int last_kernel, last_splits, largest_batch, largest_pack_batch, largest_pack_rows;
    int64_t packed_entries, packed_rows;
    size_t limit_bytes, last_alloc_bytes;
    bool capturing, dry; /* dry: launches are only counted */
    bool has_pool, elsewhere;
    long asked, device_syncs, pool_allocs, pool_frees, pools, trims, fail_after; /* fail_after: allocations; 0: none fails */
    size_t held_bytes;    /* by cudaMalloc, as it were */
    void *pool_stream;    /* of what the pool gave and has not got back */
    const void *last_pool;
    void *stream;        /* where uploads belong */
    const char *gone;    /* so many streams from here on are destroyed */
    long gone_count;
    long uploads_elsewhere;
    int open_code, launch_code, init_code, capability;
    long fail_launch; /* this one from here on, of products and reductions; 0: none */
    long fail_init;   /* likewise of kernels */
    int64_t smem_per_block;
    struct ht_pack_args pack_log[4]; /* the last four, newest first */
    struct ht_gemm_args last_args;
} dev;

static char dev_text[64];

const char *ht_dev_detail(void) {
    return dev_text;
}

static int dev_report(int code, const char *text) {
    if (code != HT_DEV_OK)
        snprintf(dev_text, sizeof dev_text, "%s", text);
    return code;
}

int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info) {
    (void)set;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "fake device");
    info->has_pool = dev.has_pool;
    info->capability = dev.capability;
    info->smem_per_block = dev.smem_per_block;
    return dev_report(dev.open_code, "no driver");
}

int ht_dev_check(int backend_code) {
    return dev_report(backend_code, "fake launch failed");
}

enum { BEFORE_BLOCK = 1024 }; /* where its size is kept */

static bool refuses(size_t bytes) {
    return bytes > dev.limit_bytes || (dev.fail_after > 0 && --dev.fail_after == 0);
}

static void *block_of(size_t bytes) {
    char *block = aligned_alloc(BEFORE_BLOCK, BEFORE_BLOCK + (bytes + BEFORE_BLOCK - 1) / BEFORE_BLOCK * BEFORE_BLOCK);
    assert_non_null(block);
    memcpy(block, &bytes, sizeof bytes);
    if (!dev.dry)
        memset(block + BEFORE_BLOCK, 0xff, bytes); /* NaN */
    return block + BEFORE_BLOCK;
}

static size_t bytes_of(const void *memory) {
    size_t bytes;
    memcpy(&bytes, (const char *)memory - BEFORE_BLOCK, sizeof bytes);
    return bytes;
}

/* What comes next in the same place must not find its old contents. */
static void drop_block(void *memory) {
    if (memory == NULL)
        return;
    if (!dev.dry)
        memset(memory, 0xff, bytes_of(memory));
    free((char *)memory - BEFORE_BLOCK);
}

int ht_dev_alloc(void **memory, size_t bytes) {
    dev.calls++;
    *memory = NULL;
    assert_false(dev.capturing);
    if (refuses(bytes))
        return dev_report(HT_DEV_MEMORY, "fake card is full");
    *memory = block_of(bytes);
    dev.allocs++;
    dev.last_alloc_bytes = bytes;
    dev.held_bytes += bytes;
    return HT_DEV_OK;
}

int ht_dev_free(void *memory) {
    dev.calls++;
    dev.frees += memory != NULL;
    dev.held_bytes -= memory != NULL ? bytes_of(memory) : 0;
    drop_block(memory);
    return HT_DEV_OK;
}

int ht_dev_sync(void) {
    dev.calls++;
    dev.device_syncs++;
    assert_false(dev.capturing);
    return HT_DEV_OK;
}

int ht_dev_pool_create(void **pool) {
    dev.calls++;
    *pool = NULL;
    if (refuses(0))
        return dev_report(HT_DEV_MEMORY, "fake card has no room for a pool");
    *pool = &dev.pools;
    dev.pools++;
    return HT_DEV_OK;
}

int ht_dev_pool_destroy(void *pool) {
    dev.pools -= pool != NULL;
    return HT_DEV_OK;
}

int ht_dev_pool_trim(void *pool) {
    dev.trims += pool != NULL;
    return HT_DEV_OK;
}

int ht_dev_pool_alloc(void *pool, void **memory, size_t bytes, void *stream) {
    dev.calls++;
    *memory = NULL;
    if (refuses(bytes))
        return dev_report(HT_DEV_MEMORY, "fake pool is empty");
    *memory = block_of(bytes);
    dev.pool_allocs++;
    dev.pool_stream = stream;
    dev.last_pool = pool;
    return HT_DEV_OK;
}

int ht_dev_pool_free(void *memory, void *stream) {
    dev.calls++;
    dev.pool_frees++;
    assert_non_null(memory);
    assert_ptr_equal(stream, dev.pool_stream);
    drop_block(memory);
    return HT_DEV_OK;
}

int ht_dev_copy_out(void *pinned, const void *memory, size_t bytes, void *stream) {
    (void)stream;
    dev.calls++;
    memcpy(pinned, memory, bytes);
    return HT_DEV_OK;
}

int ht_dev_memset_async(void *memory, int byte, size_t bytes, void *stream) {
    (void)stream;
    dev.calls++;
    dev.memsets += byte != 0; /* a meeting place; a workspace's alarms become 0 */
    dev.alarms += byte == 0;
    if (!dev.dry)
        memset(memory, byte, bytes);
    return HT_DEV_OK;
}

static void assert_is_there(const void *stream) {
    assert_false(dev.gone != NULL && (const char *)stream >= dev.gone && (const char *)stream < dev.gone + dev.gone_count);
}

int ht_dev_stream_sync(void *stream) {
    assert_is_there(stream);
    dev.calls++;
    dev.syncs++;
    return HT_DEV_OK;
}

int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream) {
    dev.calls++;
    dev.uploads_elsewhere += stream != dev.stream;
    memcpy(device, host, bytes);
    return HT_DEV_OK;
}

int ht_dev_download(void *host, const void *device, size_t bytes) {
    dev.calls++;
    memcpy(host, device, bytes);
    return HT_DEV_OK;
}

int ht_dev_is_capturing(void *stream, int *capturing) {
    assert_is_there(stream);
    dev.calls++;
    dev.asked++;
    *capturing = dev.capturing ? dev.elsewhere ? 2 : 1 : 0;
    return HT_DEV_OK;
}

/* ---- the fake kernels ---- */

static unsigned char *chunk_at(unsigned char *panels, int k_blocks, int atom_k, int row, int k, int slice) {
    unsigned char *atom = panels + ((long long)(row / 64) * k_blocks + k / atom_k) * HT_ATOM_BYTES;
    int byte = slice * atom_k * 2 + k % atom_k * 2, r = row % 64;
    return atom + r * 128 + ((byte / 16) ^ (r & 7)) * 16 + byte % 16;
}

/* Two slices: the halves of the float x * 2^-exponent. One slice: an integer. */
static void store(unsigned char *panels, int k_blocks, int slices, int row, int k, float x) {
    int atom_k = 64 / slices;
    if (slices == 1) {
        int16_t small = (int16_t)x;
        memcpy(chunk_at(panels, k_blocks, atom_k, row, k, 0), &small, 2);
        return;
    }
    unsigned char bits[4];
    memcpy(bits, &x, 4);
    memcpy(chunk_at(panels, k_blocks, atom_k, row, k, 0), bits, 2);
    memcpy(chunk_at(panels, k_blocks, atom_k, row, k, 1), bits + 2, 2);
}

static float load(const unsigned char *panels, int k_blocks, int slices, int row, int k) {
    unsigned char *p = (unsigned char *)(uintptr_t)panels;
    int atom_k = 64 / slices;
    if (slices == 1) {
        int16_t small;
        memcpy(&small, chunk_at(p, k_blocks, atom_k, row, k, 0), 2);
        return (float)small;
    }
    unsigned char bits[4];
    float x;
    memcpy(bits, chunk_at(p, k_blocks, atom_k, row, k, 0), 2);
    memcpy(bits + 2, chunk_at(p, k_blocks, atom_k, row, k, 1), 2);
    memcpy(&x, bits, 4);
    return x;
}

static int fake_pack(const struct ht_pack_args *g, int slices) {
    dev.calls++;
    dev.launches++;
    dev.packs++;
    dev.packed_entries += g->batch;
    dev.packed_rows += g->rows;
    memmove(&dev.pack_log[1], &dev.pack_log[0], 3 * sizeof dev.pack_log[0]);
    dev.pack_log[0] = *g;
    if (g->batch > dev.largest_pack_batch)
        dev.largest_pack_batch = g->batch;
    if (g->rows > dev.largest_pack_rows)
        dev.largest_pack_rows = g->rows;
    assert_true(g->batch >= 1 && g->rows >= 1 && g->k >= 1);
    assert_int_equal(g->k_blocks * (64 / slices) % 64, 0);
    if (dev.launch_code != 0 || dev.dry)
        return dev.launch_code;
    if (slices == 2 && g->exchange_is_reset && g->k > 64)
        assert_int_equal(g->absmax_exchange[0], -1);
    for (int e = 0; e < g->batch; e++)
        for (int row = 0; row < (g->rows + 63) / 64 * 64; row++) {
            int exponent = 0; /* any rule will do that tells rows and entries apart */
            if (slices == 2 && row < g->rows) {
                float first = g->src[e * g->src_stride + (g->k_contiguous ? row * g->ld : row)];
                exponent = (row + (int)fabsf(first)) % 5 - 2;
                g->row_absmax[e * g->absmax_stride + row] = exponent;
            }
            for (int k = 0; k < g->k_blocks * (64 / slices); k++) {
                float x = 0.0f;
                if (row < g->rows && k < g->k) {
                    long long at = g->k_contiguous ? row * g->ld + k : k * g->ld + row;
                    x = g->src[e * g->src_stride + at];
                }
                store(g->panels + e * g->panel_stride, g->k_blocks, slices, row, k,
                      slices == 2 ? ldexpf(x, -exponent) : x);
            }
        }
    return 0;
}

static int ready_to_pack(void) {
    dev.pack_inits++;
    return dev.init_code;
}

static int pack_all(const struct ht_pack_args *operands, int count, int slices) {
    int code = 0;
    assert_true(dev.pack_inits > 0);
    assert_in_range(count, 1, 2);
    for (int i = 0; i < count && code == 0; i++)
        code = fake_pack(&operands[i], slices);
    return code;
}

static int pack_two(const struct ht_pack_args *operands, int count, void *stream) {
    (void)stream;
    return pack_all(operands, count, 2);
}

static int pack_one(const struct ht_pack_args *operands, int count, void *stream) {
    (void)stream;
    assert_null(operands->row_absmax);
    return pack_all(operands, count, 1);
}

static float scalar(const float *pointer, float value) {
    return pointer != NULL ? *pointer : value;
}

static void combine(const struct ht_gemm_args *g, int entry, int row, int col, float sum) {
    float alpha = scalar(g->alpha_ptr, g->alpha), beta = scalar(g->beta_ptr, g->beta);
    float *c = g->c + entry * g->c_stride + col * g->ldc + row;
    float v = alpha == 0.0f ? 0.0f : alpha * sum;
    *c = beta == 0.0f ? v : v + beta * *c;
}

/* The part of one element of C that one split computes. */
static float part_of(const struct ht_gemm_args *g, int slices, int entry, int row, int col, int split) {
    int steps = g->k_blocks * (64 / slices) / 32;
    int first = steps * split / g->splits, last = steps * (split + 1) / g->splits;
    assert_true(last > first);
    float sum = 0.0f;
    for (int k = first * 32; k < last * 32; k++) /* padding included: it must be zero */
        sum += load(g->a_panels + entry * g->a_stride, g->k_blocks, slices, row, k) *
               load(g->b_panels + entry * g->b_stride, g->k_blocks, slices, col, k);
    if (slices == 2)
        sum = ldexpf(sum, g->a_row_absmax[entry * g->a_absmax_stride + row] +
                              g->b_col_absmax[entry * g->b_absmax_stride + col]);
    return sum;
}

/* Counts a launch of those that fail one day. */
static bool is_refused(long *left) {
    return *left > 0 && --*left == 0;
}

static int fake_gemm(const struct ht_gemm_args *g, int kernel, int slices) {
    dev.calls++;
    if (is_refused(&dev.fail_launch))
        return HT_DEV_FAILED;
    dev.launches++;
    dev.gemms++;
    dev.last_kernel = kernel;
    dev.last_splits = g->splits;
    dev.last_args = *g;
    dev.launched[kernel]++;
    assert_true(dev.inits[kernel] == 1);
    assert_true(g->splits >= 1 && g->batch >= 1 && g->batch <= HT_GRID_BATCH && g->m >= 1 && g->n >= 1);
    if (g->batch > dev.largest_batch)
        dev.largest_batch = g->batch;
    if (dev.launch_code != 0 || dev.dry)
        return dev.launch_code;
    for (int e = 0; e < g->batch; e++)
        for (int s = 0; s < g->splits; s++)
            for (int col = 0; col < g->n; col++)
                for (int row = 0; row < g->m; row++) {
                    float part = part_of(g, slices, e, row, col, s);
                    if (g->splits > 1)
                        g->partial[(((long long)e * g->splits + s) * g->n + col) * g->m + row] = part;
                    else
                        combine(g, e, row, col, part);
                }
    return 0;
}

static int fake_reduce(const struct ht_gemm_args *g, void *stream) {
    (void)stream;
    dev.calls++;
    if (is_refused(&dev.fail_launch))
        return HT_DEV_FAILED;
    dev.launches++;
    dev.reduces++;
    assert_true(g->splits != 1 && g->batch >= 1 && g->batch <= HT_GRID_BATCH);
    if (dev.launch_code != 0 || dev.dry)
        return dev.launch_code;
    for (int e = 0; e < g->batch; e++)
        for (int col = 0; col < g->n; col++)
            for (int row = 0; row < g->m; row++) {
                float sum = 0.0f;
                for (int s = 0; s < g->splits; s++)
                    sum += g->partial[(((long long)e * g->splits + s) * g->n + col) * g->m + row];
                combine(g, e, row, col, sum);
            }
    return 0;
}

#define FAKE_KERNEL(index, slices)                                                                           \
    static int init_##index(void) {                                                                          \
        dev.calls++;                                                                                         \
        if (is_refused(&dev.fail_init))                                                                      \
            return HT_DEV_MEMORY;                                                                            \
        dev.inits[index]++;                                                                                  \
        return dev.init_code;                                                                                \
    }                                                                                                        \
    static int launch_##index(const struct ht_gemm_args *g, void *stream) {                                  \
        (void)stream;                                                                                        \
        return fake_gemm(g, index, slices);                                                                  \
    }
FAKE_KERNEL(0, 2)
FAKE_KERNEL(1, 2)
FAKE_KERNEL(2, 2)
FAKE_KERNEL(3, 1)
FAKE_KERNEL(4, 2)
FAKE_KERNEL(5, 2)
FAKE_KERNEL(6, 2)
FAKE_KERNEL(7, 2)

#define TILE(bm, bn) {bm, bn, 32, ((bm) + (bn)) * 128, 1, 1, 1, 0, 0, 0, 0, 0, 0, 4}
#define COST(bm, bn, products, latency)                                                                      \
    HT_COST_TILED_WAVES((products) * (bm) * (bn)*32 / 1024 * 256, (latency)*256, 2000, 0, 0, 0, 0, 0)
#define KERNEL(index, name, scheme, variant, bm, bn)                                                         \
    {                                                                                                        \
        name, scheme, variant, "because", TILE(bm, bn), 32, 64, 32, 4, 256, 65536, 200, 0, 0, COST(bm, bn, 3, 700), \
            init_##index, launch_##index, NULL, NULL, NULL                                                                \
    }

static const struct ht_kernel_desc fake_kernels[] = {
    KERNEL(0, "ht_fake_big", "f16x3", "", 128, 128),
    KERNEL(1, "ht_fake_small", "f16x3", "", 64, 64),
    KERNEL(2, "ht_fake_plain", "f16x3", "plain", 128, 128),
    KERNEL(3, "ht_fake_half", "half", "", 64, 64),
    /* dearer than the others: as many steps of twice the depth */
    {"ht_fake_wide", "wide", "", "because", TILE(64, 64), 32, 64, 32, 4, 256, 65536, 200,
     0, 0, COST(64, 64, 6, 1400), init_4, launch_4, NULL, NULL, NULL},
};

static const struct ht_scheme_desc fake_schemes[] = {
    {"half", "small integers", "exact", 1, 64, 2, 0, 1, 16, 10, 8, 0, 0, "pack_half", ready_to_pack, pack_one, 1, 0, NULL, 0, 0, 0,
     HT_RANGE_FP16, 0},
    {"f16x3", "all", "tight", 2, 32, 2, 1, 3, 16, 10, 8, 64, 0, "pack_f16x3", ready_to_pack, pack_two, 2, 0, NULL, 0, 0, 0,
     HT_RANGE_ROW, 0},
    {"orphan", "none", "none", 2, 32, 2, 1, 3, 16, 0, 0, 64, 0, "pack_f16x3", ready_to_pack, pack_two, 2, 0, NULL, 0, 0, 0,
     HT_RANGE_FP32, 0},
    {"wide", "wide", "wide", 2, 32, 2, 1, 6, 16, 20, 2, 64, 0, "pack_f16x3", ready_to_pack, pack_two, 2, 0, NULL, 0, 0, 0,
     HT_RANGE_FP32, 0},
};

/* A set whose auto looks at the data, and whose product can fall back. */
static const struct ht_kernel_desc checked_kernels[] = {
    {"ht_fake_falls_back", "f16x3", "", "because", TILE(128, 128), 32, 64, 32, 4, 256, 65536, 200, 0, 1, COST(128, 128, 3, 700), init_5, launch_5, NULL, NULL, NULL},
    {"ht_fake_fallback", "bf16x6u", "fallback", "because", TILE(64, 64), 32, 64, 32, 4, 256, 65536, 200, HT_FAMILY_FALLBACK, 0, COST(64, 64, 3, 700), init_6, launch_6, NULL, NULL, NULL},
    {"ht_fake_direct", "bf16x6u", "", "because", TILE(64, 64), 32, 64, 32, 4, 256, 65536, 200,
     HT_FAMILY_UNPACKED_MMA, 1, COST(64, 64, 9, 1400), init_7, launch_7, NULL, NULL, NULL},
};
static const struct ht_scheme_desc checked_schemes[] = {
    {"f16x3", "all", "tight", 2, 32, 2, 1, 3, 16, 10, 8, 64, 0, "pack_f16x3", ready_to_pack, pack_two, 2, 0, NULL, 0, 4, 256, HT_RANGE_ROW, 3},
    {"bf16x6u", "all", "tight", 3, 32, 2, 0, 6, 16, 10, 8, 64, 0, "", NULL, NULL, 3, 0, NULL, 16, 0, 0, HT_RANGE_ALL, 0},
};
#define ROLES {"f16x3", "bf16x6u", "native64", "crt14", "i8x28", "crt16", "crt20", "ozaki"}, 14
static const struct ht_set_desc fake_checked_set = {
    "checked", "sm_103a", "1.2.3", "sm90",       1030,         1,           108, 1410, 1600, 4000, 2000,
    3000, 0, 0, 0,    3,         2,       checked_kernels, checked_schemes, fake_reduce, 0,   NULL, ROLES, NULL, NULL,
};

static const struct ht_set_desc fake_set = {
    "fake", "sm_80", "1.2.3", "sm80",       800,          0,           108, 1410, 1600, 4000, 2000,
    3000, 0, 0, 0,   5,       4,       fake_kernels, fake_schemes, fake_reduce, 0,   NULL, ROLES, NULL, NULL,
};
/* Made for one capability alone; has one kernel and one scheme fewer. */
static const struct ht_set_desc fake_exact_set = {
    "exact", "sm_120a", "1.2.3", "sm90",       1200,         1,           108, 1410, 1600, 4000, 2000,
    3000, 0, 0, 0,    3,         2,       fake_kernels, fake_schemes, fake_reduce, 0,   NULL, ROLES, NULL, NULL,
};
const struct ht_set_desc *const ht_sets[] = {&fake_set, &fake_exact_set, &fake_checked_set, NULL};

/* ---- helpers ---- */

static uint64_t seed = 1;

static uint32_t next_random(void) { /* splitmix64 */
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 33);
}

static void fill(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((int)(next_random() % 9) - 4);
}

static float *matrix(size_t count) {
    float *x = malloc(count * sizeof *x + 1);
    assert_non_null(x);
    fill(x, count);
    return x;
}

static int setup(void **state) {
    memset(&dev, 0, sizeof dev);
    dev.capability = 800;
    dev.limit_bytes = (size_t)256 << 20;
    seed = 1;
    halftone *h = NULL;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    *state = h;
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(halftone_destroy(*state), HALFTONE_OK);
    assert_int_equal(dev.allocs, dev.frees);
    assert_int_equal(dev.pool_allocs, dev.pool_frees);
    assert_int_equal(dev.pools, 0);
    return 0;
}

/* A handle on the set whose packing checks the data. */
static halftone *checked_handle(void) {
    halftone *h = NULL;
    dev.capability = 1030;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_string_equal(halftone_gpu(h), "checked");
    return h;
}

struct problem {
    char ta, tb;
    int m, n, k, batch;
    int lda, ldb, ldc;
    int stride_a, stride_b, stride_c;
    float alpha, beta;
};

static bool is_t(char t) {
    return t != 'N' && t != 'n';
}

static struct problem problem_of(char ta, char tb, int m, int n, int k, int pad) {
    struct problem p = {.ta = ta, .tb = tb, .m = m, .n = n, .k = k, .batch = 1, .alpha = 1.0f};
    p.lda = (is_t(ta) ? k : m) + pad;
    p.ldb = (is_t(tb) ? n : k) + pad;
    p.ldc = m + pad;
    return p;
}

static size_t extent(int ld, int rows, int cols, int stride, int batch) {
    return (size_t)(ld * (cols - 1) + rows + stride * (batch - 1));
}

static void reference(const struct problem *p, const float *a, const float *b, float *c) {
    for (int e = 0; e < p->batch; e++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                double sum = 0;
                for (int l = 0; l < p->k; l++) {
                    int at = is_t(p->ta) ? i * p->lda + l : l * p->lda + i;
                    int bt = is_t(p->tb) ? l * p->ldb + j : j * p->ldb + l;
                    sum += (double)a[e * p->stride_a + at] * (double)b[e * p->stride_b + bt];
                }
                float *to = &c[e * p->stride_c + j * p->ldc + i];
                double old = p->beta == 0.0f ? 0.0 : (double)p->beta * (double)*to;
                *to = (float)((double)p->alpha * sum + old);
            }
}

/* Runs a problem on random integers and compares all of C, its padding included, bit for bit; where it fails, C is as it
 * was. */
static int run_and_compare(halftone *h, const struct problem *p) {
    bool ta = is_t(p->ta), tb = is_t(p->tb);
    size_t a_count = extent(p->lda, ta ? p->k : p->m, ta ? p->m : p->k, p->stride_a, p->batch);
    size_t b_count = extent(p->ldb, tb ? p->n : p->k, tb ? p->k : p->n, p->stride_b, p->batch);
    size_t c_count = extent(p->ldc, p->m, p->n, p->stride_c, p->batch);
    float *a = matrix(a_count), *b = matrix(b_count), *c = matrix(c_count),
          *want = malloc(c_count * sizeof *want);
    assert_non_null(want);
    memcpy(want, c, c_count * sizeof *c);
    int code = p->batch == 1 ? halftone_sgemm(h, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, a, p->lda, b,
                                              p->ldb, &p->beta, c, p->ldc)
                             : halftone_sgemm_strided_batched(h, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, a,
                                                              p->lda, p->stride_a, b, p->ldb, p->stride_b,
                                                              &p->beta, c, p->ldc, p->stride_c, p->batch);
    if (code == HALFTONE_OK)
        reference(p, a, b, want);
    for (size_t i = 0; i < c_count; i++)
        if (c[i] != want[i])
            fail_msg("%c%c %dx%dx%d batch %d: C[%zu] = %g, not %g", p->ta, p->tb, p->m, p->n, p->k, p->batch,
                     i, (double)c[i], (double)want[i]);
    free(a);
    free(b);
    free(c);
    free(want);
    return code;
}

static void check(halftone *h, const struct problem *p) {
    assert_int_equal(run_and_compare(h, p), HALFTONE_OK);
}

/* ---- products ---- */

static void test_transposes_sizes_and_ld(void **state) {
    static const char ops[] = "NTCntc";
    static const int sizes[][3] = {{1, 1, 1}, {64, 64, 64}, {65, 3, 70}, {7, 129, 33}, {130, 66, 100}};
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                if (s > 1 && (i > 2 || j > 2))
                    continue;
                struct problem p =
                    problem_of(ops[i], ops[j], sizes[s][0], sizes[s][1], sizes[s][2], s % 2 * 3);
                check(*state, &p);
            }
}

static void test_alpha_and_beta(void **state) {
    static const float values[] = {0.0f, 1.0f, -2.0f, 0.5f};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            struct problem p = problem_of('N', 'T', 33, 17, 40, 2);
            p.alpha = values[i];
            p.beta = values[j];
            check(*state, &p);
        }
}

static void test_a_scheme_without_exponents(void **state) {
    assert_int_equal(halftone_set_scheme(*state, "half"), HALFTONE_OK);
    struct problem p = problem_of('T', 'N', 70, 65, 130, 1);
    check(*state, &p);
    assert_int_equal(dev.last_kernel, 3);
    p.batch = 3;
    p.stride_a = 70 * 131 + 5;
    p.stride_c = 71 * 65;
    check(*state, &p);
}

/* What the manual tells callers with row-major matrices to do, word by word (test_house compares): all four transposes, rows with
 * room behind them. */
static void test_row_major(void **state) {
    enum { m = 7, n = 70, k = 45, lda = 50, ldb = 75, ldc = 73 };
    halftone *h = *state;
    const float alpha = 2, beta = -1;
    for (int t = 0; t < 4; t++) {
        const char transa = t & 1 ? 'T' : 'N', transb = t & 2 ? 'T' : 'N';
        float *A = matrix(lda * 75), *B = matrix(ldb * 75), *C = matrix(m * ldc), *want = malloc(m * ldc * sizeof *want);
        assert_non_null(want);
        memcpy(want, C, m * ldc * sizeof *C);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0;
                for (int l = 0; l < k; l++)
                    sum += (t & 1 ? A[l * lda + i] : A[i * lda + l]) * (t & 2 ? B[j * ldb + l] : B[l * ldb + j]);
                want[i * ldc + j] = alpha * sum + beta * want[i * ldc + j];
            }
        int code =
            halftone_sgemm(h, transb, transa, n, m, k, &alpha, B, ldb, A, lda, &beta, C, ldc);
        assert_int_equal(code, HALFTONE_OK);
        assert_memory_equal(C, want, m * ldc * sizeof *C);
        free(A);
        free(B);
        free(C);
        free(want);
    }
}

static void test_split_k(void **state) {
    struct problem p = problem_of('N', 'N', 3, 5, 10000, 1);
    p.batch = 3;
    p.stride_b = p.ldb * 5;
    p.stride_c = 4 * 5 + 2;
    p.beta = 3.0f;
    check(*state, &p);
    assert_true(dev.last_splits > 1);
    assert_int_equal(dev.reduces, 1);
    p = problem_of('N', 'N', 10, 12, 20000, 0);
    p.alpha = 2.0f;
    p.beta = -1.0f;
    check(*state, &p);
    assert_true(dev.last_splits > 1);
}

static void test_batches(void **state) {
    static const char ops[] = "NT";
    for (int shared = 0; shared < 4; shared++)
        for (int t = 0; t < 4; t++) {
            struct problem p = problem_of(ops[t & 1], ops[t >> 1], 65, 30, 40, 1);
            p.batch = 4;
            p.stride_a = shared & 1 ? 0 : p.lda * 70 + 3;
            p.stride_b = shared & 2 ? 0 : p.ldb * 45 + 1;
            p.stride_c = p.ldc * p.n + 7;
            p.beta = 2.0f;
            long entries = (shared & 1 ? 1 : 4) + (shared & 2 ? 1 : 4);
            dev.packed_entries = 0;
            check(*state, &p);
            assert_int_equal(dev.packed_entries, entries); /* a shared operand is packed once */
        }
}

static void test_interleaved_batch(void **state) {
    struct problem p = problem_of('N', 'N', 5, 6, 7, 0);
    p.batch = 3;
    p.ldc = 15; /* columns of the entries take turns */
    p.stride_c = 5;
    p.stride_a = 35;
    check(*state, &p);
}

static void test_large_batches_are_cut(void **state) {
    enum { BATCH = HT_GRID_BATCH * 2 + 10 };
    halftone *h = *state;
    float a = 3.0f, b = 5.0f, one = 1.0f, *c = matrix(BATCH), *old = malloc(BATCH * sizeof *old);
    assert_non_null(old);
    memcpy(old, c, BATCH * sizeof *c);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 1, 1, 1, &one, &a, 1, 0, &b, 1, 0, &one, c, 1, 1, BATCH),
        HALFTONE_OK);
    assert_int_equal(dev.gemms, 3);
    assert_int_equal(dev.largest_batch, HT_GRID_BATCH);
    for (int i = 0; i < BATCH; i++)
        assert_true(c[i] == old[i] + 15.0f);
    float two = 2.0f, zero = 0.0f; /* scaling is cut as well */
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 1, 1, 1, &zero, &a, 1, 0, &b, 1, 0, &two, c, 1, 1, BATCH),
        HALFTONE_OK);
    assert_int_equal(dev.reduces, 3);
    for (int i = 0; i < BATCH; i++)
        assert_true(c[i] == 2.0f * (old[i] + 15.0f));
    free(c);
    free(old);
}

/* The second piece continues `blocks` blocks of 64 rows x 64 k further, in a matrix or from matrix to matrix.
 */
static void assert_pieces(const struct ht_pack_args *first, const struct ht_pack_args *second, long blocks) {
    assert_int_equal(second->panels - first->panels, blocks * 2 * HT_ATOM_BYTES);
    assert_int_equal(second->row_absmax - first->row_absmax, blocks * 64);
    assert_int_equal(second->src - first->src, blocks * (second->batch > 1 ? 1 : 64));
}

static void test_large_batches_are_packed_in_pieces(void **state) {
    halftone *h = *state;
    dev.dry = true;
    dev.limit_bytes = (size_t)8 << 30;
    float one = 1.0f, zero = 0.0f, *a = matrix(HT_GRID_BATCH + 100), b = 1.0f,
          *c = malloc((HT_GRID_BATCH + 100) * 4);
    assert_non_null(c);
    const int64_t batch = HT_GRID_BATCH + 5;
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 1, 1, 1, &one, a, 1, 1, &b, 1, 0, &zero, c, 1, 1, batch),
        HALFTONE_OK);
    assert_int_equal(dev.packs, 3);
    assert_int_equal(dev.largest_pack_batch, HT_GRID_BATCH);
    assert_int_equal(dev.packed_entries, batch + 1);
    assert_pieces(&dev.pack_log[2], &dev.pack_log[1], HT_GRID_BATCH);
    free(a);
    free(c);
}

static void test_nan_in_c_vanishes_with_beta_zero(void **state) {
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {NAN, NAN, NAN, NAN}, one = 1, zero = 0;
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 2, &one, a, 2, b, 2, &zero, c, 2), HALFTONE_OK);
    assert_memory_equal(c, a, sizeof a);
    for (int i = 0; i < 4; i++)
        c[i] = NAN;
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 2, &zero, a, 2, b, 2, &zero, c, 2), HALFTONE_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 0.0f);
}

static void test_a_and_b_are_not_read_without_a_product(void **state) {
    float bad[4] = {NAN, NAN, INFINITY, NAN}, c[4] = {1, 2, 3, 4}, zero = 0, one = 1, two = 2;
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 2, &zero, bad, 2, bad, 2, &two, c, 2),
                     HALFTONE_OK);
    assert_true(c[0] == 2 && c[1] == 4 && c[2] == 6 && c[3] == 8);
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 2, &zero, NULL, 2, NULL, 2, &two, c, 2),
                     HALFTONE_OK);
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 0, &one, NULL, 2, NULL, 1, &two, c, 2),
                     HALFTONE_OK);
    assert_true(c[0] == 8 && c[1] == 16 && c[2] == 24 && c[3] == 32);
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 0, &one, NULL, 2, NULL, 1, &zero, c, 2),
                     HALFTONE_OK);
    assert_true(c[0] == 0 && c[3] == 0);
    assert_int_equal(dev.packs + dev.gemms + dev.allocs, 0);
    /* beta 1: nothing at all to do */
    long calls = dev.calls;
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 2, 2, 2, &zero, NULL, 2, NULL, 2, &one, c, 2),
                     HALFTONE_OK);
    assert_int_equal(dev.calls, calls);
}

static void test_empty_calls_return_at_once(void **state) {
    float one = 1;
    long calls = dev.calls;
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 0, 5, 5, &one, NULL, 1, NULL, 5, &one, NULL, 1),
                     HALFTONE_OK);
    assert_int_equal(halftone_sgemm(*state, 'N', 'N', 5, 0, 5, &one, NULL, 5, NULL, 5, &one, NULL, 5),
                     HALFTONE_OK);
    assert_int_equal(halftone_sgemm_strided_batched(*state, 'N', 'N', 5, 5, 5, &one, NULL, 5, 25, NULL, 5, 25,
                                                    &one, NULL, 5, 25, 0),
                     HALFTONE_OK);
    assert_int_equal(dev.calls, calls);
}

/* Every call with every choice of sizes that are 0, on a set without a data check and on one with it. */
static void zero_sizes(halftone *h) {
    float s = 1, x[256] = {0};
    char *blob = aligned_alloc(1024, 1 << 18);
    assert_non_null(blob);
    for (int zeros = 1; zeros < 16; zeros++) {
        const int64_t m = zeros & 1 ? 0 : 3, n = zeros & 2 ? 0 : 5, k = zeros & 4 ? 0 : 7, batch = zeros & 8 ? 0 : 1;
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        size_t bytes = 1;
        double rho = 0;
        assert_int_equal(halftone_sgemm_strided_batched(h, 'T', 'N', m, n, k, &s, x, 7, 21, x, 7, 35, &s, x, 3, 15, batch),
                         HALFTONE_OK);
        assert_int_equal(halftone_packed_bytes(h, 'A', m, k, batch, &bytes), HALFTONE_OK);
        assert_true(batch > 0 || bytes == 0);
        assert_int_equal(halftone_packed_bytes(h, 'B', n, k, batch, &bytes), HALFTONE_OK);
        assert_int_equal(halftone_pack_a(h, 'T', m, k, x, 7, blob), HALFTONE_OK);
        assert_int_equal(halftone_pack_b(h, 'N', k, n, x, 7, blob), HALFTONE_OK);
        assert_int_equal(halftone_pack_ab(h, 'T', 'N', m, n, k, x, 7, x, 7, blob, blob + (1 << 17)), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', m, n, k, batch, &plan), HALFTONE_OK);
        assert_string_equal(plan.kernel, "");
        assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', m, n, k, batch, &bytes), HALFTONE_OK);
        assert_int_equal(bytes, 0);
        if (zeros == 8)
            continue; /* what follows knows no batch */
        assert_int_equal(halftone_sgemm(h, 'T', 'N', m, n, k, &s, x, 7, x, 7, &s, x, 3), HALFTONE_OK);
        assert_int_equal(halftone_sgemm_packed(h, m, n, k, &s, blob, blob, &s, x, 3), HALFTONE_OK);
        assert_int_equal(halftone_estimate_rho(h, 'T', 'N', m, n, k, x, 7, x, 7, &rho), HALFTONE_OK);
        assert_true(rho == 1);
    }
    assert_int_equal(dev.gemms, 0);
    free(blob);
}

static void test_zero_sizes(void **state) {
    dev.dry = true; /* one side of a pack call may have something to pack */
    zero_sizes(*state);
    halftone *h = checked_handle();
    zero_sizes(h);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void test_device_pointer_mode(void **state) {
    halftone *h = *state;
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {1, 1, 1, 1}, alpha = 3, beta = 2;
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_DEVICE), HALFTONE_OK);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &alpha, a, 2, b, 2, &beta, c, 2), HALFTONE_OK);
    assert_true(c[0] == 5 && c[1] == 8 && c[2] == 11 && c[3] == 14);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 0, &alpha, NULL, 2, NULL, 2, &beta, c, 2),
                     HALFTONE_OK);
    assert_true(c[0] == 10 && c[3] == 28);
    /* the host may not look at the scalars: A is needed whatever they are */
    alpha = 0;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &alpha, NULL, 2, b, 2, &beta, c, 2), -7);
    assert_int_equal(halftone_set_pointer_mode(h, 7), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_HOST), HALFTONE_OK);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &alpha, NULL, 2, NULL, 2, &beta, c, 2),
                     HALFTONE_OK);
}

/* ---- wrong arguments ---- */

static void test_each_wrong_argument_has_its_number(void **state) {
    halftone *h = *state;
    float s = 1, x[64] = {0};
    char *odd = (char *)x + 1;
    float *crooked = (float *)(void *)odd;
    assert_int_equal(halftone_sgemm(h, 'X', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, x, 2), -1);
    assert_int_equal(halftone_sgemm(h, 'N', '\0', 2, 3, 4, &s, x, 2, x, 4, &s, x, 2), -2);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', -1, 3, 4, &s, x, 2, x, 4, &s, x, 2), -3);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, -3, 4, &s, x, 2, x, 4, &s, x, 2), -4);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, INT64_MIN, &s, x, 2, x, 4, &s, x, 2), -5);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, NULL, x, 2, x, 4, &s, x, 2), -6);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, NULL, 2, x, 4, &s, x, 2), -7);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, crooked, 2, x, 4, &s, x, 2), -7);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 1, x, 4, &s, x, 2), -8);
    assert_int_equal(halftone_sgemm(h, 'T', 'N', 2, 3, 4, &s, x, 3, x, 4, &s, x, 2), -8);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, NULL, 4, &s, x, 2), -9);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 3, &s, x, 2), -10);
    assert_int_equal(halftone_sgemm(h, 'N', 'T', 2, 3, 4, &s, x, 2, x, 2, &s, x, 2), -10);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, NULL, x, 2), -11);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, NULL, 2), -12);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, x, 1), -13);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 0, 0, 0, &s, x, 0, x, 1, &s, x, 1), -8);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, -1, x, 4, 0, &s, x, 2, 6, 2), -14);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, 0, x, 4, -1, &s, x, 2, 6, 2), -15);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, 0, x, 4, 0, &s, x, 2, 1, 2), -16);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, 0, x, 4, 0, &s, x, 2, 6, -1), -17);
    assert_int_equal(halftone_sgemm_packed(h, 2, 3, 4, &s, NULL, x, &s, x, 2), -7);
    assert_int_equal(halftone_pack_a(h, 'N', 2, 4, NULL, 2, x), -7);
    assert_int_equal(halftone_pack_a(h, 'N', 2, 4, x, 1, x), -8);
    assert_int_equal(halftone_pack_a(h, 'N', 2, 4, x, 2, NULL), -18);
    assert_int_equal(halftone_pack_b(h, 'Q', 4, 3, x, 4, x), -2);
    assert_int_equal(halftone_pack_b(h, 'N', -4, 3, x, 4, x), -5);
    assert_int_equal(halftone_pack_b(h, 'T', 4, 3, x, 2, x), -10);
    assert_int_equal(halftone_packed_bytes(h, 'C', 1, 1, 1, &(size_t){0}), -18);
    assert_int_equal(halftone_packed_bytes(h, 'B', -1, 1, 1, &(size_t){0}), -4);
    assert_int_equal(halftone_query(h, 'N', 'N', 1, 1, 1, 1, NULL), -18);
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', 1, 1, 1, -1, &(size_t){0}), -17);
    assert_int_equal(halftone_set_workspace(h, NULL, 10), -18);
    assert_int_equal(halftone_create(NULL), -18);
    assert_int_equal(dev.launches, 0);
}

static void test_error_texts(void **state) {
    halftone *h = *state;
    float s = 1, x[64] = {0};
    assert_string_equal(halftone_strerror(-8),
                        "argument 8 (lda): leading dimension is smaller than the rows of A as stored");
    for (int code = -18; code <= HALFTONE_ACCURACY; code++) {
        const char *text = halftone_strerror(code);
        assert_string_not_equal(text, "not a code of halftone");
        char begin[32];
        snprintf(begin, sizeof begin, "argument %d (", -code);
        assert_int_equal(strncmp(text, begin, strlen(begin)) == 0, code < 0);
    }
    assert_string_equal(halftone_strerror(-20), "not a code of halftone");
    assert_string_equal(halftone_strerror(INT_MAX), "not a code of halftone");
    assert_int_equal(halftone_sgemm(h, 'T', 'N', 2, 3, 4, &s, x, 3, x, 4, &s, x, 2), -8);
    assert_string_equal(halftone_last_detail(h), "lda = 3 is smaller than 4");
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, x + 32, 2), HALFTONE_OK);
    assert_string_equal(halftone_last_detail(h), "");
}

static void test_null_handle(void **state) {
    (void)state;
    float s = 1;
    size_t bytes;
    assert_int_equal(halftone_sgemm(NULL, 'N', 'N', 1, 1, 1, &s, &s, 1, &s, 1, &s, &s, 1),
                     HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_sgemm_packed(NULL, 1, 1, 1, &s, &s, &s, &s, &s, 1), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_pack_a(NULL, 'N', 1, 1, &s, 1, &s), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_pack_b(NULL, 'N', 1, 1, &s, 1, &s), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_stream(NULL, NULL), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_scheme(NULL, "auto"), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_accuracy(NULL, "half"), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_kernel(NULL, NULL), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_workspace(NULL, NULL, 0), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_pointer_mode(NULL, 0), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_workspace_bytes(NULL, 'N', 'N', 1, 1, 1, 1, &bytes), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_packed_bytes(NULL, 'A', 1, 1, 1, &bytes), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_destroy(NULL), HALFTONE_OK);
    assert_string_equal(halftone_device(NULL), "");
}

static void test_huge_sizes_are_refused(void **state) {
    halftone *h = *state;
    float s = 1;
    static _Alignas(HALFTONE_ALIGNMENT) float x[64];
    const int64_t big = INT64_C(1) << 31, huge = INT64_MAX, max = HALFTONE_SIZE_MAX;
    size_t bytes;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', big, 1, 1, &s, x, big, x, 1, &s, x, big),
                     HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, huge, 1, &s, x, 1, x, 1, &s, x, 1), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, huge, &s, x, 1, x, huge, &s, x, 1),
                     HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &s, x, huge, x, 2, &s, x, 2), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &s, x, 2, x, huge / 2, &s, x, 2),
                     HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &s, x, 2, x, 2, &s, x, huge / 4),
                     HALFTONE_TOO_LARGE);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 2, 2, &s, x, 2, 4, x, 2, huge, &s, x, 2, 4, 2),
        HALFTONE_TOO_LARGE);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 2, 2, &s, x, 2, 4, x, 2, 4, &s, x, 2, 4, big),
        HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', max, max, max, max, &bytes), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_packed_bytes(h, 'A', max, max, max, &bytes), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', max, max, max, 1, &bytes), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', max, 1, 65536, 1, &bytes), HALFTONE_OK);
    /* a matrix that an address could span, and blobs that none could */
    const int64_t deep = INT64_C(1) << 30;
    assert_int_equal(halftone_packed_bytes(h, 'A', deep, deep, 1, &bytes), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_pack_a(h, 'N', deep, deep, x, deep, x), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_pack_b(h, 'N', deep, deep, x, deep, x), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 1, deep, deep, x, 1, x, deep, x, x), HALFTONE_TOO_LARGE);
    assert_int_equal(halftone_sgemm_packed(h, 1, deep, deep, &s, x, x, &s, x, 1), HALFTONE_TOO_LARGE);
    assert_int_equal(dev.calls, 0);
}

/* ---- workspace ---- */

static void test_the_second_call_allocates_nothing(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 100, 100, 100, 0);
    check(h, &p);
    assert_int_equal(dev.allocs, 2); /* workspace, and where blocks meet */
    assert_int_equal(dev.memsets, 1);
    assert_int_equal(dev.alarms, 1);
    long syncs = dev.syncs;
    check(h, &p);
    p = problem_of('T', 'N', 50, 60, 70, 0);
    check(h, &p);
    assert_int_equal(dev.allocs, 2);
    assert_int_equal(dev.memsets, 1);
    assert_int_equal(dev.syncs, syncs);
    assert_int_equal(dev.inits[0] + dev.inits[1], 1 + (dev.inits[0] == dev.inits[1]));
    assert_int_equal(dev.pack_inits, 1);
    p = problem_of('N', 'N', 300, 300, 300, 0); /* grows once more */
    check(h, &p);
    assert_int_equal(dev.allocs, 3);
    assert_int_equal(dev.alarms, 2);
    assert_int_equal(dev.frees, 0); /* a graph may hold it: nobody asked */
    size_t need;
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', 300, 300, 300, 1, &need), HALFTONE_OK);
    assert_int_equal(dev.last_alloc_bytes, need);
}

/* Packing blocks meet in memory of the handle that holds -1 between launches; it is made so again after a launch that
 * failed. Calls on a user's workspace meet in it, and short rows nowhere. */
static void test_where_packing_blocks_meet(void **state) {
    halftone *h = *state;
    float one = 1, zero = 0, *x = matrix(4 * 100), c[16];
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 64, &one, x, 4, x, 64, &zero, c, 4), HALFTONE_OK);
    assert_true(dev.memsets == 0 && dev.allocs == 1 && dev.pack_log[0].exchange_is_reset);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4), HALFTONE_OK);
    assert_true(dev.memsets == 1 && dev.pack_log[0].exchange_is_reset && dev.pack_log[1].exchange_is_reset);
    const int *place = dev.pack_log[1].absmax_exchange;
    assert_int_equal(dev.pack_log[0].absmax_exchange - place, dev.pack_log[1].exchange_stride); /* A's, then B's */
    assert_true(dev.pack_log[1].exchange_stride >= ht_exchange_ints(&fake_schemes[1], 4, 65));
    dev.launch_code = 1;
    assert_int_not_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4), HALFTONE_OK);
    dev.launch_code = 0;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4), HALFTONE_OK);
    assert_true(dev.memsets == 2 && dev.pack_log[1].absmax_exchange == place);
    char *memory = aligned_alloc(256, 1 << 20);
    assert_non_null(memory);
    assert_int_equal(halftone_set_workspace(h, memory, 1 << 20), HALFTONE_OK);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4), HALFTONE_OK);
    assert_true(!dev.pack_log[0].exchange_is_reset && (char *)dev.pack_log[0].absmax_exchange > memory &&
                (char *)dev.pack_log[0].absmax_exchange < memory + (1 << 20));
    free(memory);
    free(x);
}

static void test_user_workspace(void **state) {
    halftone *h = *state;
    float one = 1, zero = 0, a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 0, 1, 0},
          c[4] = {NAN, NAN, NAN, NAN};
    size_t need;
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', 2, 2, 3, 1, &need), HALFTONE_OK);
    assert_true(need > 0 && need % 1024 == 0);
    char *memory = aligned_alloc(256, need);
    assert_non_null(memory);
    memset(memory, 0x5a, need);
    assert_int_equal(halftone_set_workspace(h, memory + 1, need), -18);
    assert_int_equal(halftone_set_workspace(h, memory, need - 1), HALFTONE_OK);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 3, &one, a, 2, b, 3, &zero, c, 2), HALFTONE_WORKSPACE);
    for (int i = 0; i < 4; i++)
        assert_true(isnan(c[i]));
    for (size_t i = 0; i < need; i++)
        assert_int_equal(memory[i], 0x5a);
    assert_int_equal(dev.launches, 0);
    assert_int_equal(halftone_set_workspace(h, memory, need), HALFTONE_OK);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 2, 2, 3, &one, a, 2, b, 3, &zero, c, 2), HALFTONE_OK);
    assert_true(c[0] == 1 && c[1] == 2 && c[2] == 3 && c[3] == 4);
    assert_int_equal(dev.allocs, 0);
    assert_int_equal(halftone_set_workspace(h, NULL, 0), HALFTONE_OK);
    free(memory);
    struct problem p = problem_of('N', 'N', 9, 9, 9, 0);
    check(h, &p);
    assert_int_equal(dev.allocs, 1);
}

static void test_shared_operands_need_less_workspace(void **state) {
    halftone *h = *state;
    float one = 1, zero = 0, a[4] = {1, 2, 3, 4}, b[4 * 5], c[4 * 5];
    fill(b, 20);
    size_t all, single;
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', 2, 2, 2, 5, &all), HALFTONE_OK);
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', 2, 2, 2, 1, &single), HALFTONE_OK);
    assert_int_equal(
        halftone_sgemm_strided_batched(h, 'N', 'N', 2, 2, 2, &one, a, 2, 0, b, 2, 4, &zero, c, 2, 4, 5),
        HALFTONE_OK);
    assert_true(dev.last_alloc_bytes > single && dev.last_alloc_bytes < all);
}

static void test_capture(void **state) {
    halftone *h = *state;
    float one = 1, zero = 0, a = 2, b = 3, c = 0;
    dev.capturing = true;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
                     HALFTONE_WORKSPACE);
    assert_non_null(strstr(halftone_last_detail(h), "captured"));
    assert_int_equal(dev.allocs + dev.launches + dev.syncs + dev.device_syncs, 0);
    dev.capturing = false;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_OK);
    dev.capturing = true;
    long syncs = dev.syncs;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_OK);
    assert_int_equal(dev.syncs, syncs);
    assert_true(c == 6.0f);
    dev.capturing = false;
}

/* Graphs keep addresses: what a captured call used is not freed before the handle is, whatever is needed later. */
static void test_what_a_capture_used_is_kept(void **state) {
    halftone *h = *state;
    struct problem small = problem_of('N', 'N', 4, 4, 65, 0), large = problem_of('N', 'N', 300, 300, 300, 0);
    check(h, &small);
    assert_int_equal(dev.allocs, 2); /* workspace, and where blocks meet */
    dev.capturing = true;
    check(h, &small);
    const struct ht_gemm_args captured = dev.last_args;
    const int *met = dev.pack_log[1].absmax_exchange;
    dev.capturing = false;
    check(h, &large);
    check(h, &large);
    assert_true(dev.allocs == 3 && dev.frees == 0 && dev.last_args.a_panels != captured.a_panels);
    struct problem larger = problem_of('N', 'N', 600, 600, 300, 0);
    check(h, &larger); /* nobody asked whether a graph holds the block, so it is kept as well */
    assert_true(dev.allocs == 4 && dev.frees == 0);
    dev.capturing = true;
    check(h, &small);
    dev.capturing = false;
    dev.dry = true; /* 2 x 16 row blocks of k = 8448 meet in more than the 1 MiB that there was */
    float one = 1, zero = 0;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1024, 1024, 8448, &one, &one, 1024, &one, 8448, &zero, &one, 1024), HALFTONE_OK);
    assert_true(dev.allocs == 6 && dev.frees == 0 && dev.pack_log[1].absmax_exchange != met);
    dev.dry = false;
    memset(dev.pack_log[1].absmax_exchange, 0xff, 1 << 20);
    memset((unsigned char *)(uintptr_t)captured.a_panels, 0, HT_ATOM_BYTES); /* replayed: still ours to write */
    assert_int_equal(met[0], -1);
    check(h, &small);
}

/* ---- streams and sources ---- */

/* Where the last call of a scheme that exchanges absmax had its memory. */
struct memory_used {
    const void *panels, *exchange;
};

static struct memory_used call_on(halftone *h, void *stream, const struct problem *p) {
    assert_int_equal(halftone_set_stream(h, stream), HALFTONE_OK);
    check(h, p);
    return (struct memory_used){dev.last_args.a_panels, dev.pack_log[1].absmax_exchange};
}

/* Calls on two streams may run at once, so they share no memory; each stream finds its own again, and
 * nobody waits. */
static void test_streams_share_no_memory(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0);
    char streams[2];
    const struct memory_used none = call_on(h, NULL, &p), first = call_on(h, &streams[0], &p);
    const struct memory_used second = call_on(h, &streams[1], &p);
    const long syncs = dev.syncs, allocs = dev.allocs;
    assert_true(first.panels != second.panels && first.exchange != second.exchange);
    assert_true(first.panels != none.panels && first.exchange != none.exchange);
    for (int i = 0; i < 4; i++) {
        const struct memory_used again = call_on(h, &streams[i % 2], &p);
        assert_ptr_equal(again.panels, i % 2 ? second.panels : first.panels);
        assert_ptr_equal(again.exchange, i % 2 ? second.exchange : first.exchange);
    }
    assert_true(dev.syncs == syncs && dev.device_syncs == 0 && dev.allocs == allocs);
}

/* However many streams come, the handle keeps memory for so many of them; the one that waited longest
 * gives way, when the device is done. */
static void test_streams_are_bounded(void **state) {
    enum { KEPT = 32, STREAMS = 100 };
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 20, 20, 130, 0);
    char streams[STREAMS];
    struct memory_used used[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        used[i] = call_on(h, &streams[i], &p);
        for (int j = i < KEPT ? 0 : i - KEPT + 1; j < i; j++)
            assert_true(used[i].panels != used[j].panels && used[i].exchange != used[j].exchange);
        assert_int_equal(dev.device_syncs, i < KEPT ? 0 : i - KEPT + 1);
    }
    /* the first block could be in a graph, since nobody asks while there is one stream: it is not given on */
    assert_int_equal(dev.allocs, 2 * KEPT);
    assert_ptr_equal(call_on(h, &streams[STREAMS - KEPT], &p).panels, used[STREAMS - KEPT].panels);
    call_on(h, &streams[0], &p); /* instead of the one that follows in age */
    assert_ptr_equal(call_on(h, &streams[STREAMS - KEPT], &p).panels, used[STREAMS - KEPT].panels);
    assert_int_equal(dev.device_syncs, STREAMS - KEPT + 1);
    assert_int_equal(dev.allocs, 2 * KEPT);
}

/* A stream is not touched when calls have gone on to another: it may be destroyed, before or after the
 * handle. */
static void test_streams_may_be_gone(void **state) {
    halftone *h = NULL;
    struct problem p = problem_of('N', 'N', 20, 20, 130, 0);
    char streams[80];
    (void)state;
    memset(dev.inits, 0, sizeof dev.inits);
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    dev.gone = streams;
    for (int i = 0; i < 80; i++) {
        call_on(h, &streams[i], &p);
        dev.gone_count = i + 1;
    }
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
    assert_int_equal(dev.allocs, dev.frees);
    dev.gone = NULL;
}

/* What a graph holds is not given to another stream. */
static void test_captured_memory_stays_with_its_stream(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 20, 20, 130, 0);
    char streams[80];
    call_on(h, &streams[1], &p);
    const struct memory_used held = call_on(h, &streams[0], &p);
    dev.capturing = true;
    assert_ptr_equal(call_on(h, &streams[0], &p).panels, held.panels);
    dev.capturing = false;
    for (int i = 1; i < 80; i++) {
        const struct memory_used other = call_on(h, &streams[i], &p);
        assert_true(other.panels != held.panels && other.exchange != held.exchange);
    }
    const long frees = dev.frees;
    memset((void *)(uintptr_t)held.panels, 1, 64); /* replayed: still ours to write */
    assert_int_equal(frees, 0);
    assert_int_equal(halftone_trim(h), HALFTONE_OK);
    assert_int_equal(dev.frees, dev.allocs);
}

/* The pool serves a capture that comes before any call, and the graph owns what it gave: nothing of the
 * handle's. */
static void test_capture_without_a_call_before(void **state) {
    (void)state;
    halftone *h = NULL;
    char stream, streams[64];
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0), larger = problem_of('N', 'N', 400, 30, 130, 0);
    dev.has_pool = true;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    dev.capturing = true;
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 1 && dev.pool_frees == 1 && dev.allocs == 0 && dev.memsets == 0);
    assert_true(dev.pool_stream == &stream && dev.last_pool == NULL && !dev.pack_log[1].exchange_is_reset);
    dev.capturing = false;
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 1 && dev.allocs == 2);
    dev.capturing = true;
    call_on(h, &stream, &p); /* large enough */
    assert_true(dev.pool_allocs == 1 && dev.pack_log[1].exchange_is_reset);
    call_on(h, &stream, &larger);
    assert_true(dev.pool_allocs == 2 && dev.allocs == 2);
    dev.limit_bytes = 10;
    assert_int_equal(
        halftone_sgemm(h, 'N', 'N', 400, 400, 130, &(float){1}, NULL, 400, NULL, 130, &(float){0}, NULL, 400),
        -7);
    float x[400];
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 400, 1, 1, &(float){1}, x, 400, x, 1, &(float){0}, x, 400),
                     HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(halftone_last_detail(h), "fake pool is empty");
    dev.limit_bytes = (size_t)1 << 28;
    dev.elsewhere = true; /* it would spoil the other stream's capture */
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 400, 1, 1, &(float){1}, x, 400, x, 1, &(float){0}, x, 400),
                     HALFTONE_WORKSPACE);
    assert_non_null(strstr(halftone_last_detail(h), "capture of another stream"));
    assert_int_equal(dev.pool_allocs, 2);
    dev.elsewhere = dev.capturing = false;
    for (int i = 0; i < 64; i++)
        call_on(h, &streams[i], &p);
    const long syncs = dev.device_syncs;
    dev.capturing = true; /* no room in the table, and nobody may wait */
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 3 && dev.device_syncs == syncs);
    dev.capturing = false;
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
    assert_true(dev.allocs == dev.frees && dev.pool_allocs == dev.pool_frees);
}

static void test_memory_of_the_pool(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0), one = problem_of('N', 'N', 3, 5, 20000, 0);
    static _Alignas(HALFTONE_ALIGNMENT) char block[1 << 20];
    int source = -1;
    char stream;
    assert_int_equal(halftone_get_workspace_source(h, &source) + source, HALFTONE_OWN);
    assert_int_equal(halftone_set_workspace_source(h, HALFTONE_POOL), HALFTONE_NOT_SUPPORTED);
    assert_string_equal(halftone_last_detail(h), "fake device has no stream-ordered memory");
    assert_int_equal(halftone_set_workspace_source(h, 2), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_get_workspace_source(h, NULL), -18);
    dev.has_pool = true;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    dev.fail_after = 1;
    assert_int_equal(halftone_set_workspace_source(h, HALFTONE_POOL), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(halftone_get_workspace_source(h, &source) + source, HALFTONE_OWN);
    for (int i = 0; i < 2; i++)
        assert_int_equal(halftone_set_workspace_source(h, HALFTONE_POOL), HALFTONE_OK);
    assert_int_equal(halftone_get_workspace_source(h, &source), HALFTONE_OK);
    assert_true(source == HALFTONE_POOL && dev.pools == 1);
    for (int i = 0; i < 3; i++) {
        dev.capturing = i == 2;
        call_on(h, &stream, i == 1 ? &one : &p);
        assert_true(dev.pool_allocs == i + 1 && dev.pool_frees == i + 1 && dev.last_pool == &dev.pools);
    }
    dev.capturing = false;
    assert_true(dev.allocs == 0 && dev.asked == 0 && dev.syncs == 0); /* nor does anything wait */
    dev.launch_code = HT_DEV_FAILED;                                  /* what was taken is given back */
    float x[16] = {0};
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 4, &(float){1}, x, 4, x, 4, &(float){0}, x, 4),
                     HALFTONE_DEVICE_ERROR);
    assert_string_equal(halftone_last_detail(h), "fake launch failed");
    assert_int_equal(dev.pool_frees, 4);
    dev.launch_code = 0;
    assert_int_equal(halftone_set_workspace(h, block, sizeof block), HALFTONE_OK); /* the caller's wins */
    call_on(h, &stream, &p);
    assert_int_equal(halftone_set_workspace(h, NULL, 0), HALFTONE_OK);
    assert_int_equal(dev.pool_allocs, 4);
    assert_int_equal(halftone_trim(h), HALFTONE_OK);
    assert_true(dev.trims == 1 && dev.device_syncs == 0);
    call_on(h, &stream, &p);
    assert_int_equal(halftone_set_workspace_source(h, HALFTONE_OWN), HALFTONE_OK);
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 5 && dev.allocs == 2);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

/* The driver is asked whether the stream is captured where memory must grow and, since a block may then
 * change hands, where there are several streams. Calls that find what they need on the only stream ask
 * nothing. */
static void test_capture_is_asked_where_it_matters(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0);
    char streams[2];
    call_on(h, &streams[0], &p);
    assert_int_equal(dev.asked, 1);
    for (int i = 0; i < 5; i++)
        call_on(h, &streams[0], &p);
    assert_int_equal(dev.asked, 1);
    call_on(h, &streams[1], &p);
    assert_int_equal(dev.asked, 2);
    call_on(h, &streams[1], &p);
    assert_int_equal(dev.asked, 3);
    dev.capturing = true;
    call_on(h, &streams[1], &p);
    dev.capturing = false;
    assert_int_equal(dev.asked, 4);
    call_on(h, &streams[1], &p); /* what is known is not asked again */
    assert_int_equal(dev.asked, 4);
}

static void test_trim(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0), larger = problem_of('N', 'N', 100, 100, 200, 0);
    char streams[2];
    assert_int_equal(halftone_trim(NULL), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_trim(h), HALFTONE_OK);
    assert_int_equal(dev.device_syncs, 0);
    for (int i = 0; i < 4; i++)
        call_on(h, &streams[i % 2], i < 2 ? &p : &larger);
    dev.capturing = true;
    assert_int_equal(halftone_trim(h), HALFTONE_NOT_SUPPORTED);
    assert_non_null(strstr(halftone_last_detail(h), "captured"));
    dev.capturing = false;
    assert_true(dev.held_bytes > 0);
    assert_int_equal(halftone_trim(h), HALFTONE_OK);
    assert_true(dev.held_bytes == 0 && dev.device_syncs == 1);
    call_on(h, &streams[0], &larger);
}

/* Blocks that are kept for graphs are together no larger than the one in use, however the sizes come. */
static void test_outgrown_blocks_are_bounded(void **state) {
    halftone *h = *state;
    const float one = 1, zero = 0;
    float x = 0;
    dev.dry = true;
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK); /* nothing but the workspace */
    for (int n = 64; n <= 4096; n += 64)
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(halftone_sgemm(h, 'N', 'N', n, n, 64, &one, &x, n, &x, 64, &zero, &x, n),
                             HALFTONE_OK);
            assert_true(dev.held_bytes <= 2 * dev.last_alloc_bytes);
        }
    assert_in_range(dev.allocs, 4, 12);
    /* where the device has no room for more, just what is needed will do, and if not that, the reason is
     * said */
    size_t need = 0;
    int n = 4096;
    for (; need <= dev.last_alloc_bytes; n += 64)
        assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', n + 64, n + 64, 64, 1, &need), HALFTONE_OK);
    assert_true(need < dev.held_bytes);
    dev.limit_bytes = need;
    for (int more = 0; more < 2; more++) {
        const long frees = dev.frees;
        assert_int_equal(halftone_sgemm(h, 'N', 'N', n, n, 64, &one, &x, n, &x, 64, &zero, &x, n),
                         HALFTONE_OK);
        assert_int_equal(dev.last_alloc_bytes, need);
        assert_int_equal(
            halftone_sgemm(h, 'N', 'N', n + 64, n + 64, 64, &one, &x, n + 64, &x, 64, &zero, &x, n + 64),
            HALFTONE_OUT_OF_DEVICE_MEMORY);
        assert_non_null(strstr(halftone_last_detail(h), "fake card is full; the handle keeps "));
        assert_non_null(strstr(halftone_last_detail(h), "halftone_trim"));
        assert_true(more == 0 || dev.frees == frees); /* what a graph may hold is there still */
        assert_int_equal(halftone_sgemm(h, 'N', 'N', n, n, 64, &one, &x, n, &x, 64, &zero, &x, n),
                         HALFTONE_OK);
    }
}

/* Each allocation of a sequence fails once: a code, and from then on all is as it should be. */
static void test_every_allocation_may_fail(void **state) {
    struct problem p = problem_of('N', 'N', 5, 4, 70, 0), larger = problem_of('N', 'N', 70, 3, 70, 0);
    char streams[40];
    (void)state;
    dev.has_pool = true;
    for (int source = HALFTONE_OWN; source <= HALFTONE_POOL; source++)
        for (long fail = 1, failed = 1; failed > 0; fail++) {
            halftone *h = NULL;
            failed = 0;
            memset(dev.inits, 0, sizeof dev.inits);
            assert_int_equal(halftone_create(&h), HALFTONE_OK);
            assert_int_equal(halftone_set_workspace_source(h, source), HALFTONE_OK);
            dev.fail_after = fail;
            for (int i = 0; i < 48; i++) {
                const struct problem *x = i % 3 == 2 ? &larger : &p;
                assert_int_equal(halftone_set_stream(h, &streams[i < 8 ? i % 2 : i % 40]), HALFTONE_OK);
                dev.capturing = i % 4 == 3;
                const int code = run_and_compare(h, x);
                assert_true(code == HALFTONE_OK || code == HALFTONE_OUT_OF_DEVICE_MEMORY);
                assert_int_equal(halftone_last_detail(h)[0] != '\0', code != HALFTONE_OK);
                failed += code != HALFTONE_OK;
                if (code != HALFTONE_OK)
                    check(h, x);
                dev.capturing = false;
            }
            failed += dev.fail_after == 0; /* of the exchange, whose failure no call sees */
            dev.fail_after = 0;
            assert_int_equal(halftone_destroy(h), HALFTONE_OK);
            assert_true(dev.allocs == dev.frees && dev.pool_allocs == dev.pool_frees && dev.pools == 0);
        }
}

static void test_out_of_memory_leaves_the_handle_usable(void **state) {
    halftone *h = *state;
    struct problem small = problem_of('N', 'N', 20, 20, 20, 0);
    check(h, &small);
    dev.limit_bytes = 100000;
    float one = 1, zero = 0, *x = matrix(200 * 200), *c = matrix(200 * 200), *old = malloc(200 * 200 * 4);
    assert_non_null(old);
    memcpy(old, c, 200 * 200 * 4);
    long launches = dev.launches;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 200, 200, 200, &one, x, 200, x, 200, &zero, c, 200),
                     HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(halftone_last_detail(h), "fake card is full");
    assert_memory_equal(c, old, 200 * 200 * 4);
    assert_int_equal(dev.launches, launches);
    check(h, &small);
    dev.limit_bytes = (size_t)64 << 20;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 200, 200, 200, &one, x, 200, x, 200, &zero, c, 200),
                     HALFTONE_OK);
    free(x);
    free(c);
    free(old);
}

static void test_device_errors_become_codes(void **state) {
    halftone *h = *state;
    float one = 1, zero = 0, a = 2, b = 3, c = 0;
    dev.launch_code = HT_DEV_FAILED;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
                     HALFTONE_DEVICE_ERROR);
    assert_string_equal(halftone_last_detail(h), "fake launch failed");
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &zero, &a, 1, &b, 1, &zero, &c, 1),
                     HALFTONE_DEVICE_ERROR);
    dev.launch_code = HT_DEV_VIOLATION;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
                     HALFTONE_SIM_VIOLATION);
    dev.launch_code = 0;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_OK);
    assert_true(c == 6.0f);
    halftone *fresh = NULL; /* a kernel that cannot be prepared is tried again next time */
    assert_int_equal(halftone_create(&fresh), HALFTONE_OK);
    memset(dev.inits, 0, sizeof dev.inits);
    dev.init_code = HT_DEV_FAILED;
    assert_int_equal(halftone_sgemm(fresh, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
                     HALFTONE_DEVICE_ERROR);
    dev.init_code = 0;
    memset(dev.inits, 0, sizeof dev.inits);
    assert_int_equal(halftone_sgemm(fresh, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_OK);
    assert_int_equal(halftone_destroy(fresh), HALFTONE_OK);
}

/* A product of 700 x 500 in blocks of 256, with the matrices of all that may fail; beta is 1. */
static int run_in_blocks(halftone *h, float *c, const float *x) {
    const float one = 1;
    return halftone_sgemm(h, 'N', 'N', 700, 500, 70, &one, x, 700, x, 70, &one, c, 700);
}

/* Blocks of a call that is cut find workspace and kernels, or C stays as it is. */
static void test_blocks_have_all_they_need_before_the_first(void **state) {
    halftone *h = NULL;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    (void)state;
    dev.has_pool = true;
    float *x = matrix(700 * 500), *c = matrix(700 * 500), *old = malloc(700 * 500 * sizeof *old);
    assert_non_null(old);
    memcpy(old, c, 700 * 500 * sizeof *c);
    for (int source = HALFTONE_OWN; source <= HALFTONE_POOL; source++) {
        memset(dev.inits, 0, sizeof dev.inits);
        assert_int_equal(halftone_create(&h), HALFTONE_OK);
        assert_int_equal(halftone_set_workspace_source(h, source), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', 256, 256, 70, 1, &plan), HALFTONE_OK);
        assert_int_equal(halftone_set_workspace_limit(h, plan.workspace_bytes), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', 700, 500, 70, 1, &plan), HALFTONE_OK);
        assert_true(plan.blocks > 1);
        for (int fail = 0; fail < 2; fail++) { /* without a kernel, then without memory */
            dev.fail_init = fail == 0;
            dev.fail_after = fail == 1;
            assert_int_equal(run_in_blocks(h, c, x), HALFTONE_OUT_OF_DEVICE_MEMORY);
            assert_int_equal(halftone_changed_c(h), 0);
            assert_memory_equal(c, old, 700 * 500 * sizeof *c);
        }
        const long before = dev.pool_allocs;
        assert_int_equal(run_in_blocks(h, c, x), HALFTONE_OK);
        assert_int_equal(dev.pool_allocs - before, source == HALFTONE_POOL); /* one for all of them */
        memcpy(c, old, 700 * 500 * sizeof *c);
        assert_int_equal(halftone_destroy(h), HALFTONE_OK);
    }
    free(x), free(c), free(old);
}

/* A product of rows and columns alike under a limit. */
static int run_square(halftone *h, int n) {
    const float one = 1;
    float x = 0;
    return halftone_sgemm(h, 'N', 'N', n, n, 70, &one, &x, n, &x, 70, &one, &x, n);
}

/* What is left at the ends may be cut again, before other blocks of the call: none of them asks for memory once more. */
static void test_blocks_within_blocks_have_one_workspace(void **state) {
    halftone *h = NULL;
    float x = 0, one = 1;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    (void)state;
    dev.dry = dev.has_pool = true;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_int_equal(halftone_set_workspace_source(h, HALFTONE_POOL), HALFTONE_OK);
    assert_int_equal(halftone_set_workspace_limit(h, 4064841), HALFTONE_OK);
    assert_int_equal(halftone_query(h, 'N', 'N', 3417, 444, 853, 2, &plan), HALFTONE_OK);
    dev.fail_after = 2;
    assert_int_equal(halftone_sgemm_strided_batched(h, 'N', 'N', 3417, 444, 853, &one, &x, 3417, 0, &x, 853, 0, &one, &x, 3417, 3417 * 444, 2),
                     HALFTONE_OK);
    assert_true(dev.gemms > plan.blocks); /* some were cut again */
    assert_true(dev.pool_allocs == 1 && dev.fail_after == 1);
    dev.fail_after = 0;
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

/* Where what is left at the ends runs another kernel than the first block. */
static void test_kernels_of_all_blocks_are_ready_before_the_first(void **state) {
    halftone *h = *state;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int n = 2048;
    dev.dry = true;
    assert_int_equal(halftone_query(h, 'N', 'N', 2048, 2048, 70, 1, &plan), HALFTONE_OK);
    assert_int_equal(halftone_set_workspace_limit(h, plan.workspace_bytes), HALFTONE_OK);
    for (bool both = false; !both; both = dev.launched[0] > 0 && dev.launched[1] > 0) {
        memset(dev.launched, 0, sizeof dev.launched);
        n += 64;
        assert_in_range(n, 2048, 16384);
        assert_int_equal(run_square(h, n), HALFTONE_OK);
    }
    memset(dev.inits, 0, sizeof dev.inits);
    dev.gemms = 0;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_int_equal(halftone_set_workspace_limit(h, plan.workspace_bytes), HALFTONE_OK);
    dev.fail_init = 2;
    assert_int_equal(run_square(h, n), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_true(dev.fail_init == 0 && dev.gemms == 0 && halftone_changed_c(h) == 0);
    assert_int_equal(run_square(h, n), HALFTONE_OK);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

/* Whether C had been changed, whichever launch is refused: of blocks, of split-K's partials, of what a certificate has not cleared. */
static void test_a_failure_says_whether_c_was_changed(void **state) {
    halftone *h = *state;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    float *x = matrix(20000), *c = matrix(700 * 500), *y = matrix(700 * 70), *old = malloc(700 * 500 * sizeof *old), one = 1;
    assert_non_null(old);
    assert_int_equal(halftone_changed_c(NULL), 0);
    memcpy(old, c, 700 * 500 * sizeof *c);
    for (int cut = 0; cut < 3; cut++) /* 2: by k */
        for (long fail = 1; fail <= 4; fail++) {
            assert_int_equal(halftone_query(h, 'N', 'N', 256, 256, 70, 1, &plan), HALFTONE_OK);
            assert_int_equal(halftone_set_workspace_limit(h, cut == 1 ? plan.workspace_bytes : 0), HALFTONE_OK);
            dev.fail_launch = fail;
            const int code = cut < 2 ? run_in_blocks(h, c, y) : halftone_sgemm(h, 'N', 'N', 3, 5, 4000, &one, x, 3, x, 4000, &one, c, 3);
            assert_int_equal(code, fail == 1 || cut == 1 || (cut == 2 && fail == 2) ? HALFTONE_DEVICE_ERROR : HALFTONE_OK);
            assert_int_equal(halftone_changed_c(h), memcmp(c, old, 700 * 500 * sizeof *c) != 0);
            assert_int_equal(halftone_changed_c(h), code == HALFTONE_OK || (cut == 1 && fail > 1));
            dev.fail_launch = 0;
            memcpy(c, old, 700 * 500 * sizeof *c);
        }
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 3, 5, 4000, &one, x, 2, x, 4000, &one, c, 3), -8);
    assert_int_equal(halftone_changed_c(h), 0);
    free(x), free(c), free(y), free(old);
}

static void test_create_says_what_is_wrong(void **state) {
    (void)state;
    halftone *h = (halftone *)(void *)&dev;
    dev.open_code = HT_DEV_NONE;
    assert_int_equal(halftone_create(&h), HALFTONE_NO_GPU);
    assert_null(h);
    assert_string_equal(halftone_last_detail(NULL), "no driver");
    dev.open_code = 0;
    dev.capability = 750;
    assert_int_equal(halftone_create(&h), HALFTONE_WRONG_GPU);
    assert_null(h);
    dev.capability = 900; /* newer is fine: the set is not exact */
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_string_equal(halftone_device(h), "fake device");
    assert_string_equal(halftone_gpu(h), "fake");
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void test_create_takes_the_set_of_the_device(void **state) {
    halftone *h = *state;
    assert_string_equal(halftone_gpu(h), "fake");
    dev.capability = 1200;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_string_equal(halftone_gpu(h), "exact");
    assert_null(halftone_kernels(h, 3)); /* the first set has four */
    assert_non_null(halftone_kernels(NULL, 3));
    assert_int_equal(halftone_set_scheme(h, "orphan"), HALFTONE_UNKNOWN_SCHEME);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
    dev.capability = 750;
    assert_int_equal(halftone_create(&h), HALFTONE_WRONG_GPU);
    assert_string_equal(
        halftone_last_detail(NULL),
        "fake device has capability 7.5; this library has kernels for fake (sm_80, 8.0 or later), "
        "exact (sm_120a, 12.0 only), checked (sm_103a, 10.3 only)");
    dev.capability = 800;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_string_equal(halftone_last_detail(NULL), "");
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

/* ---- who computes what fails the data check ---- */

static bool says(const struct halftone_plan *plan, const char *what) {
    return strstr(plan->range, what) != NULL;
}

/* n x n x n of auto: whether the product computes what it does not clear, or as many kernels behind it, with where it left its bits. */
static void fallback_by(halftone *h, int n, int behind, bool is_packed) {
    float one = 1, zero = 0, x = 0;
    struct halftone_plan plan = HALFTONE_PLAN_INIT, named = HALFTONE_PLAN_INIT;
    size_t bytes = 0;
    halftone *twin = NULL;
    assert_int_equal(halftone_create(&twin), HALFTONE_OK);
    assert_int_equal(halftone_query(twin, 'N', 'N', n, n, n, 1, &named), HALFTONE_OK);
    assert_int_equal(halftone_destroy(twin), HALFTONE_OK);
    assert_int_equal(halftone_query(h, 'N', 'N', n, n, n, 1, &plan), HALFTONE_OK);
    assert_memory_equal(&plan, &named, sizeof plan); /* its texts outlive a handle */
    assert_string_equal(plan.kernel, "ht_fake_falls_back");
    assert_true(says(&plan, "any input"));
    assert_int_equal(halftone_set_scheme(h, "f16x3") + halftone_query(h, 'N', 'N', n, n, n, 1, &named), HALFTONE_OK);
    assert_int_equal(halftone_set_scheme(h, "auto"), HALFTONE_OK);
    assert_int_equal(plan.kernel_ns - named.kernel_ns, behind > 1 ? 6000 : 3000); /* a launch, or what the fallback inside costs */
    assert_int_equal(plan.bound_units - named.bound_units, 17);
    assert_int_equal(halftone_packed_bytes(h, 'A', n, n, 1, &bytes), HALFTONE_OK);
    void *blob = aligned_alloc(HALFTONE_ALIGNMENT, (bytes + HALFTONE_ALIGNMENT) / HALFTONE_ALIGNMENT * HALFTONE_ALIGNMENT);
    assert_non_null(blob);
    memset(dev.launched, 0, sizeof dev.launched);
    assert_int_equal(is_packed ? halftone_sgemm_packed(h, n, n, n, &one, blob, blob, &zero, &x, n)
                               : halftone_sgemm(h, 'T', 'N', n, n, n, &one, &x, n, &x, n, &zero, &x, n),
                     HALFTONE_OK);
    assert_int_equal(dev.launched[5], 1);
    assert_int_equal(dev.launched[6], behind > 0);
    assert_int_equal(dev.launched[7], behind > 1); /* blocks with many, first */
    const struct ht_gemm_args *g = &dev.last_args;
    assert_int_equal(g->fallback_in_kernel, behind == 0);
    assert_true(g->failed != NULL && g->a_row_sums != NULL && g->b_row_sums != NULL && g->a_any_flag != NULL && g->a_src != NULL);
    assert_true(g->k == n && g->a_ld >= n && g->a_k_contiguous == 1);
    free(blob);
}

static void test_the_product_computes_what_it_does_not_clear_where_a_launch_counts(void **state) {
    (void)state;
    halftone *h = checked_handle();
    dev.dry = true;
    for (int is_packed = 0; is_packed < 2; is_packed++) { /* back and forth: a handle remembers its last answer */
        fallback_by(h, 1024, 0, is_packed);
        fallback_by(h, 2000, 1, is_packed);
        fallback_by(h, 3000, 2, is_packed);
    }
    fallback_by(h, 1024, 0, false);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

/* ---- packed operands ---- */

/* halftone.h: of packed operands a call needs workspace only for split-K sums, and with auto a bit for each element of C. */
static void test_packed_operands_of_auto_need_little_workspace(void **state) {
    (void)state;
    enum { N = 3000, EACH = HT_FAILED_BYTES + HT_FAILED_CAPACITY * 4, BITS = (N + 63) / 64 * ((N + 63) / 64) * EACH, BLOCK = (BITS + 4095) / 4096 * 4096 };
    halftone *h = checked_handle();
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const float one = 1, zero = 0;
    float x = 0;
    void *block = aligned_alloc(HALFTONE_ALIGNMENT, BLOCK);
    assert_non_null(block);
    dev.dry = true;
    assert_int_equal(halftone_query(h, 'N', 'N', N, N, N, 1, &plan), HALFTONE_OK);
    assert_true(plan.splits == 1 && says(&plan, "any input"));
    assert_int_equal(halftone_set_workspace(h, block, HALFTONE_ALIGNMENT), HALFTONE_OK);
    assert_int_equal(halftone_sgemm_packed(h, N, N, N, &one, block, block, &zero, &x, N), HALFTONE_WORKSPACE);
    assert_int_equal(halftone_set_workspace(h, block, BLOCK), HALFTONE_OK);
    assert_int_equal(halftone_sgemm_packed(h, N, N, N, &one, block, block, &zero, &x, N), HALFTONE_OK);
    assert_int_equal(dev.launched[5], 1);
    free(block);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void packed_equals_unpacked(halftone *h, char ta, char tb, int m, int n, int k) {
    struct problem p = problem_of(ta, tb, m, n, k, 2);
    float alpha = 1.5f, beta = -0.5f;
    size_t c_count = (size_t)(p.ldc * n), a_bytes, b_bytes;
    float *a = matrix((size_t)(p.lda * (m + k))), *b = matrix((size_t)(p.ldb * (n + k)));
    float *c = matrix(c_count), *d = malloc(c_count * 4);
    assert_non_null(d);
    memcpy(d, c, c_count * 4);
    for (size_t i = 0; i < (size_t)p.lda; i++)
        a[i] += 0.1f * (float)i; /* rounding must be the same, too */
    assert_int_equal(halftone_packed_bytes(h, 'A', m, k, 1, &a_bytes), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'b', n, k, 1, &b_bytes), HALFTONE_OK);
    char *pa = aligned_alloc(1024, a_bytes), *pb = aligned_alloc(1024, b_bytes);
    assert_int_equal(halftone_pack_a(h, ta, m, k, a, p.lda, pa), HALFTONE_OK);
    assert_int_equal(halftone_pack_b(h, tb, k, n, b, p.ldb, pb), HALFTONE_OK);
    long packs = dev.packs;
    assert_int_equal(halftone_sgemm_packed(h, m, n, k, &alpha, pa, pb, &beta, c, p.ldc), HALFTONE_OK);
    assert_int_equal(dev.packs, packs);
    assert_int_equal(halftone_sgemm(h, ta, tb, m, n, k, &alpha, a, p.lda, b, p.ldb, &beta, d, p.ldc),
                     HALFTONE_OK);
    assert_memory_equal(c, d, c_count * 4);
    free(a);
    free(b);
    free(c);
    free(d);
    free(pa);
    free(pb);
}

static void test_packed_equals_unpacked(void **state) {
    packed_equals_unpacked(*state, 'N', 'N', 70, 30, 50);
    packed_equals_unpacked(*state, 'T', 'N', 5, 130, 33);
    packed_equals_unpacked(*state, 'N', 'T', 64, 64, 64);
    packed_equals_unpacked(*state, 'C', 'C', 3, 4, 9000); /* split-K */
    assert_true(dev.last_splits > 1);
    assert_int_equal(halftone_set_scheme(*state, "half"), HALFTONE_OK);
    size_t bytes, three;
    assert_int_equal(halftone_packed_bytes(*state, 'A', 65, 65, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, 2 * 2 * HT_ATOM_BYTES); /* no exponents */
    assert_int_equal(halftone_packed_bytes(*state, 'A', 65, 65, 3, &three), HALFTONE_OK);
    assert_int_equal(three, 3 * bytes);
}

static void test_packed_needs_no_workspace_without_split(void **state) {
    halftone *h = *state;
    size_t bytes;
    float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, c[4];
    assert_int_equal(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, 1024 + 2 * HT_ATOM_BYTES); /* exponents, then 64 rows x 64 k of two slices */
    char *pa = aligned_alloc(1024, bytes), *pb = aligned_alloc(1024, bytes);
    assert_int_equal(halftone_pack_a(h, 'N', 2, 2, x, 2, pa), HALFTONE_OK);
    assert_int_equal(halftone_pack_b(h, 'N', 2, 2, x, 2, pb), HALFTONE_OK);
    assert_ptr_equal(dev.pack_log[0].panels, pb + 1024);
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &one, pa, pb, &zero, c, 2), HALFTONE_OK);
    assert_true(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &one, pa + 4, pb, &zero, c, 2), -7);
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &one, pa, pb + 4, &zero, c, 2), -9);
    /* nothing to multiply: blobs are not looked at */
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &zero, NULL, NULL, &zero, c, 2), HALFTONE_OK);
    assert_int_equal(halftone_pack_a(h, 'N', 0, 2, NULL, 1, NULL), HALFTONE_OK);
    assert_int_equal(dev.allocs, 0);
    free(pa);
    free(pb);
}

/* The code and the words of a product of 2 x 2 x k of two operands. */
static void assert_packed(halftone *h, int64_t k, void *a, void *b, int code, const char *words) {
    float one = 1, zero = 0, c[4];
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, k, &one, a, b, &zero, c, 2), code);
    if (code != HALFTONE_OK)
        assert_string_equal(halftone_last_detail(h), words);
}

/* Under another scheme, whoever asks for it, or of another size an operand is refused, until another one is packed there. */
static void test_packed_operands_know_what_they_are_for(void **state) {
    halftone *h = *state;
    const float src[] = {1, 2, 3, 4};
    char *a = aligned_alloc(1024, 65536), *b = aligned_alloc(1024, 65536), *copy = aligned_alloc(1024, 65536);
    assert_true(a != NULL && b != NULL && copy != NULL);
    memset(copy, 0, 65536);
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, a, b), HALFTONE_OK);
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    assert_packed(h, 2, b, a, HALFTONE_OK, ""); /* on either side */
    assert_int_equal(halftone_set_site(h, "site=first scheme=half") + halftone_at_site(h, "first"), HALFTONE_OK);
    assert_packed(h, 2, a, b, -7, "A was packed for scheme f16x3, and the product asks for half");
    assert_packed(h, 2, copy, b, -9, "B was packed for scheme f16x3, and the product asks for half"); /* the handle knows nothing of the copy */
    assert_int_equal(halftone_pack_a(h, 'N', 2, 2, src, 2, a) + halftone_pack_b(h, 'N', 2, 2, src, 2, b), HALFTONE_OK);
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    assert_int_equal(halftone_at_site(h, NULL), HALFTONE_OK);
    assert_packed(h, 2, a, b, -7, "A was packed for scheme half, and the product asks for f16x3");
    assert_int_equal(halftone_set_kernel(h, "ht_fake_half"), HALFTONE_OK);
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    assert_int_equal(halftone_set_kernel(h, NULL), HALFTONE_OK);
    dev.launch_code = 1; /* packing fails: nothing is known */
    assert_int_not_equal(halftone_pack_a(h, 'N', 2, 2, src, 2, a), HALFTONE_OK);
    dev.launch_code = 0;
    assert_packed(h, 2, a, b, -9, "B was packed for scheme half, and the product asks for f16x3");
    assert_int_equal(halftone_trim(h), HALFTONE_OK);
    dev.dry = true;
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    free(a), free(b), free(copy);
}

/* One launch packs both, so one would spoil the other; the last byte decides, and what was packed there stays known. */
static void test_overlapping_packed_operands_are_refused(void **state) {
    halftone *h = *state;
    const float src[] = {1, 2, 3, 4};
    size_t bytes = 0;
    assert_int_equal(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes), HALFTONE_OK);
    const size_t apart = (bytes + HALFTONE_ALIGNMENT - 1) / HALFTONE_ALIGNMENT * HALFTONE_ALIGNMENT;
    char *const at = aligned_alloc(1024, 65536), *const behind = at + apart, *const inside = behind - HALFTONE_ALIGNMENT;
    assert_true(at != NULL && bytes <= 30000);
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, behind, at), HALFTONE_OK);
    const long packs = dev.packs;
    char *const pairs[][2] = {{at, at}, {at, inside}, {inside, at}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, pairs[i][0], pairs[i][1]), -18);
        assert_non_null(strstr(halftone_last_detail(h), "overlap"));
    }
    assert_int_equal(dev.packs, packs);
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    assert_packed(h, 2, at, behind, -7, "A was packed for scheme f16x3, and the product asks for half");
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 0, 2, src, 2, src, 2, at, at), HALFTONE_OK); /* B is empty */
    free(at);
}

/* Each of many operands is known, and a call that packs nothing forgets none. */
static void test_no_packed_operand_is_lost(void **state) {
    halftone *h = *state;
    enum { OPERANDS = 300, EACH = 20480 };
    const float src[] = {1, 2, 3, 4};
    size_t bytes = 0;
    char *const at = aligned_alloc(1024, (size_t)OPERANDS * EACH);
    assert_true(at != NULL);
    assert_int_equal(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes), HALFTONE_OK);
    assert_in_range(bytes, 1, EACH);
    for (int i = 0; i < OPERANDS; i++)
        assert_int_equal(halftone_pack_a(h, 'N', 2, 2, src, 2, at + (size_t)(i * 7 % OPERANDS) * EACH), HALFTONE_OK);
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 1, at, at + EACH), -10);
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    for (int i = 0; i < OPERANDS; i++) {
        char *const one = at + (size_t)i * EACH;
        assert_packed(h, 2, one, one, -7, "A was packed for scheme f16x3, and the product asks for half");
    }
    free(at);
}

/* Correct programs put operands, by copies, graphs and other handles, where a handle knew others. */
static void test_what_a_handle_cannot_know_is_not_refused(void **state) {
    halftone *h = *state;
    enum { BYTES = 65536, INSIDE = HALFTONE_ALIGNMENT };
    const float src[] = {1, 2, 3, 4};
    char *a = aligned_alloc(1024, BYTES), *b = aligned_alloc(1024, BYTES), *saved = aligned_alloc(1024, BYTES);
    size_t bytes = 0;
    assert_true(a != NULL && b != NULL && saved != NULL);
    assert_int_equal(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes), HALFTONE_OK);
    assert_in_range(bytes, INSIDE + 1, BYTES - INSIDE);

    for (int i = 0; i < 2; i++) { /* put aside, and back where one of another size was packed */
        assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, a, b), HALFTONE_OK);
        memcpy(saved, a, bytes);
        assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
        assert_int_equal(halftone_pack_a(h, 'N', 1 + i, 2 - i, src, 2, a), HALFTONE_OK);
        assert_int_equal(halftone_set_scheme(h, "f16x3"), HALFTONE_OK);
        memcpy(a, saved, bytes);
        assert_packed(h, 2, a, b, HALFTONE_OK, "");
    }

    assert_int_equal(halftone_pack_a(h, 'N', 2, 2, src, 2, a + INSIDE), HALFTONE_OK);
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, a, b), HALFTONE_OK); /* over it */
    memmove(a + INSIDE, a, bytes);
    assert_packed(h, 2, a + INSIDE, b, HALFTONE_OK, "");

    assert_int_equal(halftone_set_scheme(h, "f16x3"), HALFTONE_OK);
    dev.capturing = true;
    assert_int_equal(halftone_pack_a(h, 'N', 2, 2, src, 2, a), HALFTONE_OK);
    dev.capturing = false;
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    assert_packed(h, 2, a, b, HALFTONE_OK, ""); /* another graph packed it since */
    free(a), free(b), free(saved);
}

/* What auto packs has more behind the same panels, of any size: blocks that pack parts of one row exchange more under it. */
static void test_panels_of_auto_lie_where_its_first_scheme_has_them(void **state) {
    (void)state;
    static const int64_t rows[] = {2, 65, 300}, k[] = {64, 400, 5000};
    halftone *h = checked_handle();
    float x = 0;
    dev.dry = true;
    for (int i = 0; i < 9; i++) {
        const int64_t m = rows[i / 3], deep = k[i % 3];
        size_t bytes = 0, fewer = 0;
        assert_int_equal(halftone_set_scheme(h, "auto"), HALFTONE_OK);
        assert_int_equal(halftone_packed_bytes(h, 'A', m, deep, 1, &bytes), HALFTONE_OK);
        char *const blob = aligned_alloc(1024, (bytes + 1023) / 1024 * 1024);
        assert_non_null(blob);
        assert_int_equal(halftone_pack_a(h, 'T', m, deep, &x, deep, blob), HALFTONE_OK);
        const unsigned char *const panels = dev.pack_log[0].panels;
        assert_int_equal(halftone_set_scheme(h, "f16x3"), HALFTONE_OK);
        assert_int_equal(halftone_packed_bytes(h, 'A', m, deep, 1, &fewer), HALFTONE_OK);
        assert_int_equal(halftone_pack_a(h, 'T', m, deep, &x, deep, blob), HALFTONE_OK);
        assert_ptr_equal(dev.pack_log[0].panels, panels);
        assert_true(fewer < bytes);
        free(blob);
    }
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void test_what_auto_packed_serves_its_first_scheme(void **state) {
    (void)state;
    enum { N = 1024 };
    halftone *h = checked_handle();
    float x = 0;
    size_t bytes = 0;
    dev.dry = true;
    assert_int_equal(halftone_packed_bytes(h, 'A', 2, N, 1, &bytes), HALFTONE_OK);
    char *const blob = aligned_alloc(1024, (bytes + 1023) / 1024 * 1024);
    assert_non_null(blob);
    assert_int_equal(halftone_pack_a(h, 'T', 2, N, &x, N, blob), HALFTONE_OK);
    assert_packed(h, N, blob, blob, HALFTONE_OK, "");
    assert_int_equal(halftone_set_scheme(h, "f16x3"), HALFTONE_OK);
    assert_packed(h, N, blob, blob, HALFTONE_OK, "");
    assert_int_equal(halftone_pack_a(h, 'T', 2, N, &x, N, blob), HALFTONE_OK);
    assert_int_equal(halftone_set_scheme(h, "auto"), HALFTONE_OK);
    assert_packed(h, N, blob, blob, -7, "A was packed for scheme f16x3, and the product asks for f16x3 of auto");
    free(blob);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

/* ---- choices and questions ---- */

static void test_a_kernel_that_does_not_fit_is_refused_by_name(void **state) {
    (void)state;
    halftone *h = NULL;
    dev.smem_per_block = 65535; /* each asks for 65536 */
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    assert_int_equal(halftone_set_kernel(h, "ht_fake_big"), HALFTONE_NOT_SUPPORTED);
    assert_string_equal(halftone_last_detail(h), "kernel 'ht_fake_big' needs more shared memory than this GPU has");
    assert_int_equal(halftone_set_kernel(h, "nonsense"), HALFTONE_UNKNOWN_KERNEL);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void test_schemes_and_kernels_by_name(void **state) {
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 30, 30, 30, 0);
    assert_int_equal(halftone_set_scheme(h, "nonsense"), HALFTONE_UNKNOWN_SCHEME);
    assert_int_equal(halftone_set_scheme(h, NULL), HALFTONE_UNKNOWN_SCHEME);
    assert_int_equal(halftone_set_kernel(h, "nonsense"), HALFTONE_UNKNOWN_KERNEL);
    assert_int_equal(halftone_set_kernel(h, "ht_fake_plain"), HALFTONE_OK);
    check(h, &p);
    assert_int_equal(dev.last_kernel, 2); /* ablations run by name only */
    assert_int_equal(halftone_set_kernel(h, "ht_fake_half"), HALFTONE_OK);
    check(h, &p);
    assert_int_equal(dev.last_kernel, 3); /* and bring their scheme */
    assert_int_equal(halftone_set_kernel(h, NULL), HALFTONE_OK);
    check(h, &p);
    assert_int_equal(dev.last_kernel, 1);
    assert_int_equal(halftone_set_scheme(h, "orphan"), HALFTONE_OK);
    float one = 1;
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &one, 1, &one, 1, &one, &one, 1),
                     HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_set_scheme(h, "auto"), HALFTONE_OK);
    check(h, &p);
    assert_string_equal(halftone_schemes(h, HALFTONE_FP32, 1), "f16x3");
    assert_string_equal(halftone_schemes(h, 0, 1), "f16x3");
    assert_null(halftone_schemes(NULL, HALFTONE_FP32, 4));
    assert_null(halftone_schemes(h, 0, -1));
    assert_null(halftone_schemes(h, HALFTONE_FP64, 0)); /* this library has none */
    assert_null(halftone_schemes(h, 16, 0));
    assert_string_equal(halftone_kernels(NULL, 3), "ht_fake_half");
    assert_null(halftone_kernels(h, 5));
    assert_string_equal(halftone_version(), "1.2.3");
    assert_string_equal(halftone_gpu(NULL), "fake");
    assert_string_equal(halftone_gpus(0), "fake");
    assert_string_equal(halftone_gpus(1), "exact");
    assert_string_equal(halftone_gpus(2), "checked");
    assert_null(halftone_gpus(3));
    assert_null(halftone_gpus(-1));
}

/* The numbers, the text and the #if of the header agree; that of a generated set is the same: test_accuracy. */
static void test_version(void **state) {
    (void)state;
    char text[32];
#if HALFTONE_VERSION < 100 || HALFTONE_VERSION != HALFTONE_VERSION_MAJOR * 10000 + HALFTONE_VERSION_MINOR * 100 + HALFTONE_VERSION_PATCH
#error HALFTONE_VERSION is no number for the preprocessor
#endif
    snprintf(text, sizeof text, "%d.%d.%d", HALFTONE_VERSION_MAJOR, HALFTONE_VERSION_MINOR, HALFTONE_VERSION_PATCH);
    assert_string_equal(text, HALFTONE_VERSION_TEXT);
}

static void expect_set(halftone *h, const char *scheme, const char *accuracy, const char *kernel) {
    const char *text[3] = {"", "", ""}, *const wanted[3] = {scheme, accuracy, kernel};
    assert_int_equal(halftone_get_scheme(h, HALFTONE_FP32, &text[0]) + halftone_get_accuracy(h, HALFTONE_FP32, &text[1]) + halftone_get_kernel(h, &text[2]), 0);
    for (int i = 0; i < 3; i++)
        assert_true(wanted[i] == NULL ? text[i] == NULL : text[i] != NULL && strcmp(text[i], wanted[i]) == 0);
}

static void test_getters(void **state) {
    halftone *h = *state;
    static _Alignas(HALFTONE_ALIGNMENT) char memory[512];
    void *stream = memory, *workspace = memory;
    const char *text = "";
    size_t bytes = 1;
    int mode = -1;
    expect_set(h, "auto", NULL, NULL);
    assert_int_equal(halftone_get_stream(h, &stream) + halftone_get_workspace(h, &workspace, &bytes), 0);
    assert_true(stream == NULL && workspace == NULL && bytes == 0);
    assert_int_equal(halftone_set_stream(h, &mode) + halftone_set_workspace(h, memory, 512), 0);
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_DEVICE) + halftone_get_pointer_mode(h, &mode), 0);
    assert_int_equal(halftone_get_stream(h, &stream) + halftone_get_workspace(h, &workspace, &bytes), 0);
    assert_true(stream == &mode && workspace == memory && bytes == 512 && mode == HALFTONE_DEVICE);
    assert_int_equal(halftone_set_workspace(h, NULL, 0) + halftone_get_workspace(h, &workspace, &bytes), 0);
    assert_true(workspace == NULL && bytes == 0);
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    expect_set(h, "half", NULL, NULL);
    assert_int_equal(halftone_set_accuracy(h, "bits=12") + halftone_set_kernel(h, "ht_fake_plain"), HALFTONE_OK);
    expect_set(h, NULL, "bits=12", "ht_fake_plain");
    assert_int_equal(halftone_set_kernel(h, NULL) + halftone_set_scheme(h, "auto"), HALFTONE_OK);
    expect_set(h, "auto", NULL, NULL);
    assert_int_equal(halftone_set_recompute(h, HALFTONE_RECOMPUTE_NOTHING) + halftone_get_recompute(h, &mode), 0);
    assert_int_equal(mode, HALFTONE_RECOMPUTE_NOTHING);
    assert_int_equal(halftone_set_recompute(h, 2), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_get_recompute(h, &mode) + halftone_set_recompute(h, HALFTONE_RECOMPUTE_ALL), 0);
    assert_int_equal(mode, HALFTONE_RECOMPUTE_NOTHING);
    assert_int_equal(halftone_get_recompute(h, NULL), -18);
    assert_int_equal(halftone_get_recompute(NULL, &mode), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_set_recompute(NULL, 0), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_last_check(NULL, NULL), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_stream(h, NULL), -18);
    assert_int_equal(halftone_get_workspace(h, &workspace, NULL), -18);
    assert_int_equal(halftone_get_workspace(h, NULL, &bytes), -18);
    assert_int_equal(halftone_get_scheme(h, HALFTONE_FP32, NULL), -18);
    assert_int_equal(halftone_get_accuracy(h, HALFTONE_FP64, NULL), -18);
    assert_int_equal(halftone_get_scheme(h, 0, &text), -18);
    assert_int_equal(halftone_get_accuracy(h, 16, &text), -18);
    assert_string_equal(halftone_last_detail(h), "type 16 is neither HALFTONE_FP32 nor HALFTONE_FP64");
    assert_int_equal(halftone_get_pointer_mode(h, NULL), -18);
    assert_int_equal(halftone_get_kernel(h, NULL), -18);
    assert_int_equal(halftone_get_stream(NULL, &stream), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_workspace(NULL, &workspace, &bytes), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_scheme(NULL, HALFTONE_FP32, &text), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_accuracy(NULL, HALFTONE_FP64, &text), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_pointer_mode(NULL, &mode), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_kernel(NULL, &text), HALFTONE_NULL_HANDLE);
}

/* No more is written than the program says it has, and nothing where it says nothing. */
static void test_a_plan_has_its_size(void **state) {
    halftone *h = *state;
    struct {
        struct halftone_plan plan;
        char behind[64];
    } x, before;
    static const size_t wrong[] = {0, 1, sizeof(void *), sizeof x.plan - 1, (size_t)1 << 20, SIZE_MAX};
    memset(&x, 0x5a, sizeof x);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        x.plan.size = wrong[i];
        memcpy(&before, &x, sizeof x);
        assert_int_equal(halftone_query(h, 'N', 'N', 9, 9, 9, 1, &x.plan), -18);
        assert_non_null(strstr(halftone_last_detail(h), "HALFTONE_PLAN_INIT"));
        assert_memory_equal(&before, &x, sizeof x);
    }
    for (size_t more = 0; more <= sizeof x.behind; more += sizeof x.behind) { /* a newer program's struct may be longer */
        memset(&x, 0x5a, sizeof x);
        x.plan.size = sizeof x.plan + more;
        assert_int_equal(halftone_query(h, 'N', 'N', 9, 9, 9, 1, &x.plan), HALFTONE_OK);
        assert_true(x.plan.size == sizeof x.plan + more && strcmp(x.plan.scheme, "f16x3") == 0);
        assert_memory_equal(x.behind, before.behind, sizeof x.behind);
    }
}

static void test_query(void **state) {
    halftone *h = *state;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    size_t bytes;
    assert_int_equal(halftone_query(h, 'N', 'T', 4096, 4096, 4096, 1, &plan), HALFTONE_OK);
    assert_string_equal(plan.scheme, "f16x3");
    assert_string_equal(plan.kernel, "ht_fake_big");
    assert_int_equal(plan.bm, 128);
    assert_int_equal(plan.splits, 1);
    assert_int_equal(plan.bound_units, 119);
    assert_int_equal(plan.kernel_ns, 1408567);
    assert_int_equal(plan.pack_ns, 2 * 83886 + 3000);
    assert_int_equal(plan.predicted_ns, plan.pack_ns + plan.kernel_ns);
    assert_string_equal(plan.why, "because");
    assert_string_equal(plan.range, "all");
    assert_int_equal(plan.workspace_bytes,
                     2 * 1041 * 1024 + 2 * 4096 * 4096 * 4); /* 4096 magnitudes, 64 * 4097 ints to meet; panels */
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'T', 4096, 4096, 4096, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, plan.workspace_bytes);
    assert_int_equal(halftone_query(h, 'N', 'T', 5, 5, 0, 1, &plan), HALFTONE_OK);
    assert_string_equal(plan.kernel, "");
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(halftone_query(h, 'N', 'N', 128, 128, 65536, 1, &plan), HALFTONE_OK);
    assert_true(plan.splits > 1);
    assert_int_equal(halftone_query(h, '?', 'N', 1, 1, 1, 1, &plan), -1);
    assert_int_equal(dev.calls, 0);
}

static void test_query_tells_what_runs(void **state) {
    halftone *h = *state;
    dev.dry = true;
    float one = 1, zero = 0, *x = matrix(1 << 16);
    for (int i = 0; i < 40; i++) {
        int64_t m = 1 + next_random() % 200, n = 1 + next_random() % 200, k = 1 + next_random() % 200;
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        assert_int_equal(halftone_query(h, 'N', 'N', m, n, k, 1, &plan), HALFTONE_OK);
        assert_int_equal(halftone_sgemm(h, 'N', 'N', m, n, k, &one, x, m, x, k, &zero, x, m), HALFTONE_OK);
        assert_string_equal(plan.kernel, fake_set.kernel[dev.last_kernel].name);
        assert_int_equal(plan.splits, dev.last_splits);
    }
    free(x);
}

/* ---- sites ---- */

/* Runs a product of these sizes and says by which scheme and line; halftone_query must have said the same. */
static void assert_site(halftone *h, char ta, char tb, int m, int n, int k, const char *scheme, int line) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    char begins[64];
    const struct problem p = problem_of(ta, tb, m, n, k, 0);
    assert_int_equal(halftone_query(h, ta, tb, m, n, k, 1, &plan), HALFTONE_OK);
    assert_string_equal(plan.scheme, scheme);
    assert_int_equal(plan.site, line);
    snprintf(begins, sizeof begins, "line %d of the site table: ", line);
    assert_true((strncmp(plan.why_scheme, begins, strlen(begins)) == 0) == (line > 0));
    check(h, &p);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, scheme);
    assert_int_equal(halftone_last_site(h), line);
}

static void test_products_at_a_site_run_at_its_accuracy(void **state) {
    halftone *h = *state;
    static const char *const lines[] = {"site=layer[12] m=-64 scheme=half  # narrow", "# none", "  ", "op=NT k=70- accuracy=bits=12\n",
                                        "site=layer* accuracy=tf32", "batch=2- scheme=half"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(halftone_set_site(h, lines[i]), HALFTONE_OK);
    assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 0);
    assert_site(h, 'N', 'C', 30, 30, 70, "wide", 2);
    assert_site(h, 'N', 'T', 30, 30, 69, "f16x3", 0);
    assert_int_equal(halftone_at_site(h, "layer1"), HALFTONE_OK);
    assert_site(h, 'N', 't', 64, 30, 70, "half", 1);
    assert_site(h, 'N', 'T', 65, 30, 70, "wide", 2);
    assert_site(h, 'N', 'N', 65, 30, 70, "wide", 3);
    assert_int_equal(halftone_at_site(h, "layer3"), HALFTONE_OK);
    assert_site(h, 'N', 'N', 64, 30, 70, "wide", 3);
    assert_int_equal(halftone_at_site(h, "other"), HALFTONE_OK);
    assert_site(h, 'N', 'N', 64, 30, 70, "f16x3", 0);
    struct problem p = problem_of('N', 'N', 8, 8, 8, 0);
    p.batch = 2;
    p.stride_a = p.stride_b = p.stride_c = 64;
    check(h, &p);
    assert_int_equal(halftone_last_site(h), 4);
    const char *text = NULL;
    const int64_t counted[] = {1, 2, 2, 1};
    for (int i = 0; i < 4; i++) {
        int64_t products = -1;
        assert_int_equal(halftone_get_site(h, i, &text, &products), HALFTONE_OK);
        assert_int_equal(products, counted[i]);
        assert_true(strncmp(text, lines[i > 0 ? i + 2 : 0], strlen(text)) == 0);
    }
    int64_t products = 7;
    assert_int_equal(halftone_get_site(h, 4, &text, &products), HALFTONE_OK);
    assert_true(text == NULL && products == 0);
}

/* The handle's own setting stays what it was, and holds where the table is empty again; a kernel by name wins. */
static void test_sites_leave_the_handle_as_it_is(void **state) {
    halftone *h = *state;
    assert_int_equal(halftone_set_accuracy(h, "half"), HALFTONE_OK);
    assert_int_equal(halftone_set_site(h, "m=30 accuracy=fp32-fast"), HALFTONE_OK);
    for (int i = 0; i < 3; i++) { /* plans of both are remembered */
        assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 1);
        assert_site(h, 'N', 'N', 31, 30, 30, "half", 0);
    }
    expect_set(h, NULL, "half", NULL);
    assert_int_equal(halftone_set_kernel(h, "ht_fake_half"), HALFTONE_OK);
    assert_site(h, 'N', 'N', 30, 30, 30, "half", 0);
    assert_int_equal(halftone_set_kernel(h, NULL), HALFTONE_OK);
    assert_int_equal(halftone_set_site(h, NULL), HALFTONE_OK);
    assert_site(h, 'N', 'N', 30, 30, 30, "half", 0);
    assert_int_equal(halftone_set_site(h, "m=30 scheme=wide"), HALFTONE_OK);
    assert_site(h, 'N', 'N', 30, 30, 30, "wide", 1);
    dev.fail_after = 1; /* of the workspace that grows: a product that fails is none of the site's */
    struct problem p = problem_of('N', 'N', 30, 300, 3000, 0);
    const char *text = NULL;
    int64_t products = 0;
    assert_int_equal(run_and_compare(h, &p), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_null(strstr(halftone_last_detail(h), "line 1")); /* which did not ask for too much */
    assert_int_equal(halftone_last_site(h), 0);
    assert_int_equal(halftone_get_site(h, 0, &text, &products), HALFTONE_OK);
    assert_int_equal(products, 1);
    dev.fail_after = 0;
    assert_site(h, 'N', 'N', 31, 30, 30, "half", 0); /* the failure has left the handle's setting */
    size_t bytes = 0, wide = 0; /* of no line: sizes differ */
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'A', 30, 30, 1, &bytes), HALFTONE_OK);
    assert_int_equal(halftone_set_scheme(h, "wide"), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'A', 30, 30, 1, &wide), HALFTONE_OK);
    assert_true(bytes < wide);
}

/* Plans of one shape under two accuracies are two; what was remembered is forgotten with the lines it came from. */
static void test_sites_of_one_shape(void **state) {
    halftone *h = *state;
    assert_int_equal(halftone_set_site(h, "site=a accuracy=half") + halftone_set_site(h, "site=b accuracy=fp32-fast"), HALFTONE_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(halftone_at_site(h, i % 2 ? "b" : "a"), HALFTONE_OK);
        assert_site(h, 'N', 'N', 30, 30, 30, i % 2 ? "f16x3" : "half", i % 2 + 1);
        assert_site(h, 'N', 'T', 30, 30, 30, i % 2 ? "f16x3" : "half", i % 2 + 1);
    }
    assert_int_equal(halftone_at_site(h, NULL), HALFTONE_OK);
    assert_site(h, 'N', 'T', 30, 30, 30, "f16x3", 0);
    assert_int_equal(halftone_set_site(h, "op=NT scheme=wide"), HALFTONE_OK);
    assert_site(h, 'N', 'T', 30, 30, 30, "wide", 3);
    assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 0);
}

static int64_t products_of_line(halftone *h, int line) {
    const char *text = NULL;
    int64_t products = -1;
    assert_int_equal(halftone_get_site(h, line - 1, &text, &products), HALFTONE_OK);
    return products;
}

/* Lines that ask for site= and k= alone decide packing and products of packed operands alike; others do not. */
static void test_packed_operands_are_their_sites(void **state) {
    halftone *h = *state;
    static const char *const lines[] = {"site=layer1 m=-999 scheme=wide", "op=NN scheme=wide", "batch=1 scheme=wide", "site=layer* scheme=half",
                                        "k=9000- scheme=wide", "site=fast accuracy=fp32-fast"};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    size_t bytes = 0, own = 0;
    assert_int_equal(halftone_packed_bytes(h, 'A', 65, 65, 1, &own), HALFTONE_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(halftone_set_site(h, lines[i]), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, own);
    assert_int_equal(halftone_at_site(h, "layer1"), HALFTONE_OK);
    assert_int_equal(halftone_query(h, 'N', 'N', 0, 0, 65, 1, &plan), HALFTONE_OK); /* remembered beside */
    assert_int_equal(plan.site, 1);
    assert_int_equal(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, 2 * 2 * HT_ATOM_BYTES); /* of half */
    assert_int_equal(halftone_set_kernel(h, "ht_fake_wide"), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, own);
    assert_int_equal(halftone_set_kernel(h, NULL) + halftone_set_site(h, NULL), HALFTONE_OK);
    for (int i = 3; i < 6; i++)
        assert_int_equal(halftone_set_site(h, lines[i]), HALFTONE_OK);
    packed_equals_unpacked(h, 'N', 'N', 70, 30, 50);
    packed_equals_unpacked(h, 'T', 'N', 5, 130, 33);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, "half");
    assert_int_equal(products_of_line(h, 1), 4); /* packed ones and the others */
    assert_int_equal(halftone_last_site(h), 1);
    assert_int_equal(halftone_at_site(h, NULL), HALFTONE_OK);
    packed_equals_unpacked(h, 'C', 'C', 3, 4, 9000);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, "wide");
    assert_int_equal(products_of_line(h, 2), 2);
    packed_equals_unpacked(h, 'N', 'N', 70, 30, 50);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, "f16x3");
    assert_int_equal(halftone_last_site(h), 0);
    assert_int_equal(halftone_at_site(h, "fast"), HALFTONE_OK);
    assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 3);
    assert_int_equal(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes), HALFTONE_NOT_SUPPORTED);
    assert_non_null(strstr(halftone_last_detail(h), "line 3 of the site table, 'site=fast accuracy=fp32-fast': accuracy 'fp32-fast' chooses"));
    assert_non_null(strstr(halftone_last_detail(h), "say scheme= in this line"));
    assert_int_equal(halftone_at_site(h, NULL), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes), HALFTONE_OK);
    assert_int_equal(bytes, own);
}

/* Code and place of what a product is refused for, which query says, too. */
static void refused_product(halftone *h, int code, const char *place, const char *says) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct problem p = problem_of('N', 'N', 30, 30, 4000, 0);
    assert_int_equal(run_and_compare(h, &p), code);
    for (int i = 0; i < 2; i++) {
        if (strncmp(halftone_last_detail(h), place, strlen(place)) != 0 || strstr(halftone_last_detail(h), says) == NULL)
            fail_msg("'%s', not '%s' and '%s'", halftone_last_detail(h), place, says);
        assert_int_equal(halftone_query(h, 'N', 'N', 30, 30, 4000, 1, &plan), code);
    }
    assert_int_equal(halftone_last_site(h), 0);
}

static void test_a_line_that_asks_for_too_much_is_said(void **state) {
    halftone *h = *state;
    double x[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    char path[] = "/tmp/halftone-sites-XXXXXX", place[96];
    static const char lacking[] = "m=1-29 scheme=half\naccuracy=reproducible\n", text[] = "# products\n\nm=1-29 scheme=half\naccuracy=bits=12\n";
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, lacking, sizeof lacking - 1) == sizeof lacking - 1);
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_ACCURACY); /* for either type */
    snprintf(place, sizeof place, "%s:2: reproducible needs the fixed-point scheme of 6", path);
    assert_true(strncmp(halftone_last_detail(h), place, strlen(place)) == 0);
    assert_true(ftruncate(file, 0) == 0 && pwrite(file, text, sizeof text - 1, 0) == sizeof text - 1);
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_OK); /* FP32 products can have it */
    snprintf(place, sizeof place, "%s:4, 'accuracy=bits=12': ", path);
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 1, &one, x, 1, x, 1, &zero, x + 1, 1), HALFTONE_NOT_SUPPORTED);
    assert_true(strncmp(halftone_last_detail(h), place, strlen(place)) == 0 && strstr(halftone_last_detail(h), "without scheme 'native64'"));
    assert_int_equal(halftone_set_site(h, NULL) + halftone_set_site(h, "# first") + halftone_set_site(h, "k=4000 accuracy=bits=18"), HALFTONE_OK);
    refused_product(h, HALFTONE_ACCURACY, "line 1 of the site table, 'k=4000 accuracy=bits=18': ", "bits=18");
    close(file);
    unlink(path);
}

/* More products than are remembered, twice: each still has its own line. */
static void test_many_sites(void **state) {
    halftone *h = *state;
    char line[64], name[16];
    dev.dry = true;
    for (int i = 0; i < 300; i++) {
        snprintf(line, sizeof line, "site=s%d scheme=%s", i, i % 2 ? "half" : "wide");
        assert_int_equal(halftone_set_site(h, line), HALFTONE_OK);
    }
    for (int i = 0; i < 900; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        snprintf(name, sizeof name, "s%d", i % 450);
        assert_int_equal(halftone_at_site(h, name), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', 8, 8, 8, 1, &plan), HALFTONE_OK);
        assert_int_equal(plan.site, i % 450 < 300 ? i % 450 + 1 : 0);
    }
}

static void refused_line(halftone *h, const char *line, int code, const char *says) {
    assert_int_equal(halftone_set_site(h, line), code);
    if (strstr(halftone_last_detail(h), says) == NULL)
        fail_msg("'%s': '%s', not '%s'", line, halftone_last_detail(h), says);
    const char *text = "";
    int64_t products = -1;
    assert_int_equal(halftone_get_site(h, 1, &text, &products), HALFTONE_OK);
    assert_true(text == NULL); /* the table still has its one line */
}

static void test_wrong_lines_change_nothing(void **state) {
    halftone *h = *state;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(halftone_set_site(h, "m=4 scheme=half"), HALFTONE_OK);
    refused_line(h, "m=4", HALFTONE_SITE, "'m=4' is wrong, given twice or out of place: conditions site=");
    refused_line(h, "m=9-2 scheme=half", HALFTONE_SITE, "'m=9-2' is wrong");
    refused_line(h, "scheme=half m=4", HALFTONE_SITE, "'m=4' is wrong");
    refused_line(h, "op=NC scheme=half", HALFTONE_SITE, "'op=NC' is wrong");
    static const char *const twice[] = {"site=a site=b", "op=NN op=NN", "m=0- m=5", "batch=2 k=4 batch=2"};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        char line[64], says[64];
        snprintf(line, sizeof line, "%s scheme=half", twice[i]);
        snprintf(says, sizeof says, "'%s' is wrong, given twice", strrchr(twice[i], ' ') + 1);
        refused_line(h, line, HALFTONE_SITE, says);
    }
    refused_line(h, "accuracy=best", HALFTONE_SITE, "'accuracy=best' is wrong");
    refused_line(h, "m=4 original", HALFTONE_SITE, "no original");
    refused_line(h, "api=cublas* scheme=half", HALFTONE_SITE, "api= and ordinal= are a drop-in's");
    refused_line(h, "ordinal=2 scheme=half", HALFTONE_SITE, "api= and ordinal= are a drop-in's");
    refused_line(h, text, HALFTONE_SITE, "1999 characters");
    refused_line(h, "m=5 scheme=half\nm=6 scheme=half", HALFTONE_SITE, "more than one line: add each by a call of its own");
    refused_line(h, "# small ones\nm=6 scheme=half\n", HALFTONE_SITE, "more than one line");
    assert_int_equal(halftone_set_site(h, "# small ones\r\n"), HALFTONE_OK);
    refused_line(h, "scheme=best", HALFTONE_UNKNOWN_SCHEME, "no scheme 'best'");
    refused_line(h, "scheme=crt15", HALFTONE_UNKNOWN_SCHEME, "no scheme 'crt15'; this library has for FP32 auto, half, f16x3");
    refused_line(h, "accuracy=fp32", HALFTONE_ACCURACY, "needs scheme bf16x6u");
    refused_line(h, "accuracy=bits=1000", HALFTONE_UNKNOWN_ACCURACY, "'bits=1000' is none of");
    assert_int_equal(halftone_at_site(h, text), HALFTONE_SITE);
    assert_int_equal(halftone_set_site(NULL, "m=4 scheme=half"), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_get_site(h, 0, NULL, NULL), -18);
    assert_int_equal(halftone_read_sites(h, NULL), -18);
    assert_int_equal(halftone_last_site(NULL), 0);
    /* each accuracy that there is may stand in a line: the list of lines' own is the library's */
    for (int i = 0; halftone_accuracies(0, i) != NULL; i++) {
        const char *const name = halftone_accuracies(0, i), *const value = strchr(name, '=');
        snprintf(text, sizeof text, "accuracy=%.*s%s", (int)strcspn(name, "[="), name, value == NULL ? "" : strcmp(name, "bits=N") == 0 ? "=12" : strcmp(name, "bound=X") == 0 ? "=1e-5" : "=1e-5:rho=2");
        assert_int_not_equal(halftone_set_site(h, text), HALFTONE_SITE);
    }
}

/* Answers about the last product are not of the one before it; of matrices of the host: test_host.c. */
static void test_what_is_asked_of_the_last_product(void **state) {
    halftone *h = *state;
    const float zero = 0, one = 1;
    float c[4] = {1, 2, 3, 4};
    assert_int_equal(halftone_set_site(h, "k=30 scheme=half"), HALFTONE_OK);
    for (int i = 0; i < 3; i++) {
        assert_site(h, 'N', 'N', 30, 30, 30, "half", 1);
        struct problem p = problem_of('N', 'N', 30, 30, 30, 0);
        check(h, &p);
        assert_int_equal(halftone_last_site(h), 1);
        const int code = i == 0 ? halftone_sgemm(h, 'N', 'N', 2, 2, 30, &one, c, 1, c, 30, &one, c, 2)
                   : i == 1 ? halftone_sgemm(h, 'N', 'N', 0, 2, 30, &one, c, 2, c, 30, &one, c, 2)
                            : halftone_sgemm(h, 'N', 'N', 2, 2, 30, &zero, c, 2, c, 30, &one, c, 2);
        assert_int_equal(code, i == 0 ? -8 : HALFTONE_OK);
        assert_int_equal(halftone_last_site(h), 0);
    }
}

/* Lines far longer than any that says something, by what is behind `mark`, and lines around them. */
static void write_long_lines(int file, const char *mark) {
    char text[5000];
    memset(text, 'w', sizeof text);
    memcpy(text, mark, strlen(mark));
    memcpy(text + 3000, "x\nm=5 scheme=half #", 19);
    memcpy(text + 4800, "y\n# m=6 original\nm=7 scheme=wide\n", 33);
    assert_true(ftruncate(file, 0) == 0 && pwrite(file, text, 4833, 0) == 4833);
}

static void test_a_file_of_sites_is_taken_whole_or_not_at_all(void **state) {
    halftone *h = *state;
    const char *text = "";
    int64_t products = 0;
    char path[] = "/tmp/halftone-sites-XXXXXX";
    const int file = mkstemp(path);
    static const char good[] = "# products\n\nm=30 scheme=half\nscheme=wide\n", wrong[] = "m=4 scheme=half\n\nm=5 original\n";
    assert_true(file >= 0 && write(file, good, sizeof good - 1) == sizeof good - 1);
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_OK);
    assert_site(h, 'N', 'N', 30, 30, 30, "half", 1);
    assert_site(h, 'N', 'N', 31, 30, 30, "wide", 2);
    assert_true(ftruncate(file, 0) == 0 && pwrite(file, wrong, sizeof wrong - 1, 0) == sizeof wrong - 1);
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_SITE);
    assert_true(strncmp(halftone_last_detail(h), path, strlen(path)) == 0 && strstr(halftone_last_detail(h), ":3: a library has no original"));
    assert_true(ftruncate(file, 17) == 0 && pwrite(file, "m=x scheme=half\n", 16, 16) == 16);
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_SITE);
    assert_non_null(strstr(halftone_last_detail(h), ":2: 'm=x' is wrong, given twice or out of place"));
    assert_int_equal(halftone_get_site(h, 2, &text, &products), HALFTONE_OK);
    assert_null(text);
    assert_site(h, 'N', 'N', 4, 30, 30, "wide", 2);
    assert_int_equal(halftone_set_site(h, NULL), HALFTONE_OK);
    write_long_lines(file, "#");
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_OK);
    assert_site(h, 'N', 'N', 5, 30, 30, "half", 1);
    assert_site(h, 'N', 'N', 7, 30, 30, "wide", 2);
    write_long_lines(file, "");
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_SITE);
    assert_non_null(strstr(halftone_last_detail(h), ":1: 'a line of this length' is wrong"));
    close(file);
    unlink(path);
    assert_int_equal(halftone_read_sites(h, path), HALFTONE_SITE);
    assert_non_null(strstr(halftone_last_detail(h), "cannot be read: No such file"));
}

/* ---- accuracies; what real sets choose: test_accuracy.c ---- */

static void assert_query(halftone *h, int64_t k, const char *scheme) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    assert_int_equal(halftone_query(h, 'N', 'N', 30, 30, k, 1, &plan), HALFTONE_OK);
    assert_string_equal(plan.scheme, scheme);
}

static void test_an_accuracy_is_a_cheapest_scheme(void **state) {
    static const char *const expected[][2] = {
        {"half", "half"},     {"tf32", "wide"},    {"fp32-fast", "f16x3"},
        {"bits=12", "wide"},  {"bits=17", "wide"}, {"bound=1", "wide"},    {"bound=1e-5", "wide"},
        {"bits=1", "wide"}};
    halftone *h = *state;
    struct problem p = problem_of('N', 'N', 30, 30, 30, 0);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(halftone_set_accuracy(h, expected[i][0]), HALFTONE_OK);
        assert_query(h, 30, expected[i][1]);
        assert_query(h, 0, expected[i][1]); /* also where nothing is run */
        check(h, &p);
        assert_string_equal(fake_kernels[dev.last_kernel].scheme, expected[i][1]);
    }
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    assert_int_equal(halftone_set_accuracy(h, "fp32-fast"), HALFTONE_OK);
    assert_int_equal(halftone_query(h, 'N', 'N', 4096, 4096, 4096, 1, &plan), HALFTONE_OK);
    assert_true(plan.error_bound == 119 * 0x1p-24);
    assert_string_equal(plan.why_scheme, "fp32-fast: at most 4352 units; cheapest of 2: f16x3 (119 units, "
                                         "7.09e-06; 1579 us), then wide (154 units, 9.18e-06; 5054 us)");
    assert_string_equal(halftone_accuracies(0, 0), "half");
    assert_string_equal(halftone_accuracies(HALFTONE_FP32, 4), "reproducible");
    assert_string_equal(halftone_accuracies(HALFTONE_FP64, 0), "fp64");
    assert_string_equal(halftone_accuracies(HALFTONE_FP64, 3), "reproducible");
    assert_string_equal(halftone_accuracies(HALFTONE_FP64, 4), "bits=N");
    assert_null(halftone_accuracies(HALFTONE_FP64, 7));
    assert_null(halftone_accuracies(0, 14));
    assert_int_equal(halftone_set_scheme(h, "half"), HALFTONE_OK);
    assert_int_equal(halftone_query(h, 'N', 'N', 9, 9, 9, 1, &plan), HALFTONE_OK);
    assert_string_equal(plan.why_scheme, "set by name");
    assert_null(halftone_accuracies(0, -1));
    assert_null(halftone_accuracies(16, 0));
}

/* One whose decimal point is a comma, made for this test. */
static bool use_commas(void) {
    char folder[] = "/tmp/halftone-locale-XXXXXX", command[200];
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n' >def && localedef -c -i def ./xx_XX 2>log",
             folder);
    (void)!system(command); /* it warns of what the locale lacks */
    const bool is_set = setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_NUMERIC, "xx_XX") != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && is_set;
}

static void test_texts_are_of_no_locale(void **state) {
    halftone *h = *state;
    struct halftone_plan plan = HALFTONE_PLAN_INIT, again = HALFTONE_PLAN_INIT;
    char said[200], number[16];
    assert_int_equal(halftone_set_accuracy(h, "bound=0.001"), HALFTONE_OK);
    assert_int_equal(halftone_query(h, 'N', 'N', 4096, 4096, 4096, 1, &plan), HALFTONE_OK);
    assert_int_equal(halftone_set_accuracy(h, "bits=24"), HALFTONE_ACCURACY);
    snprintf(said, sizeof said, "%s", halftone_last_detail(h));
    assert_true(use_commas());
    snprintf(number, sizeof number, "%g", 1.5);
    const int codes[] = {halftone_set_accuracy(h, "bound=0.001"), halftone_query(h, 'N', 'N', 4096, 4096, 4096, 1, &again), halftone_set_accuracy(h, "bits=24")};
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(number, "1,5");
    assert_true(codes[0] == HALFTONE_OK && codes[1] == HALFTONE_OK && codes[2] == HALFTONE_ACCURACY);
    assert_string_equal(again.why_scheme, plan.why_scheme);
    assert_non_null(strchr(plan.why_scheme, '.'));
    assert_string_equal(halftone_last_detail(h), said);
}

/* With large k a short split hides behind the chain's worst case, but not in its common case: fp32-fast refuses it. */
static void test_fp32_fast_wants_its_inputs(void **state) {
    (void)state;
    struct ht_scheme_desc schemes[4];
    struct ht_set_desc set = fake_set;
    struct ht_accuracy fast;
    memcpy(schemes, fake_schemes, sizeof schemes);
    set.scheme = schemes;
    assert_int_equal(ht_accuracy_parse("fp32-fast", &fast), 0);
    schemes[1].split_units = 32;
    assert_string_equal(ht_accuracy_choose(&set, &fast, 64, 64, 4096, 1, 0, NULL).first.name, "f16x3");
    schemes[1].split_units = 33;
    assert_string_equal(ht_accuracy_choose(&set, &fast, 64, 64, 4096, 1, 0, NULL).first.name, "wide");
}

/* Arguments are looked at first, and a call that does nothing needs no kernel. With kernels: tests/kernels/test_dgemm.c. */
static void test_fp64_products_need_their_kernels(void **state) {
    halftone *h = *state;
    double x[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    size_t bytes = 7;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 1, &one, x, 0, x, 1, &zero, x + 1, 1), -8);
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 0, &one, x, 1, x, 1, &one, x + 1, 1), HALFTONE_OK);
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 1, &one, x, 1, x, 1, &zero, x + 1, 1), HALFTONE_NOT_SUPPORTED);
    assert_non_null(strstr(halftone_last_detail(h), "without scheme 'native64'"));
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 0, &one, x, 1, x, 1, &zero, x + 1, 1), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_dquery(h, 'N', 'N', 1, 1, 1, 1, &plan), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_dworkspace_bytes(h, 'N', 'N', 1, 1, 1, 1, &bytes), HALFTONE_NOT_SUPPORTED);
    assert_true(x[1] == 2 && bytes == 7 && dev.launches == 0);
}

static void test_the_later_of_scheme_and_accuracy_holds(void **state) {
    halftone *h = *state;
    assert_int_equal(halftone_set_accuracy(h, "bits=12"), HALFTONE_OK);
    assert_query(h, 64, "wide");
    assert_int_equal(halftone_set_scheme(h, "auto"), HALFTONE_OK);
    assert_query(h, 64, "f16x3");
    assert_int_equal(halftone_set_accuracy(h, "half"), HALFTONE_OK);
    assert_query(h, 64, "half");
    assert_int_equal(halftone_set_scheme(h, "wide"), HALFTONE_OK);
    assert_query(h, 64, "wide");
    assert_int_equal(halftone_set_accuracy(h, "fp32-fast"), HALFTONE_OK);
    assert_query(h, 64, "f16x3");
    assert_int_equal(halftone_set_accuracy(h, "bits=12"), HALFTONE_OK);
    assert_int_equal(halftone_set_kernel(h, "ht_fake_half"), HALFTONE_OK); /* wins over both */
    assert_query(h, 64, "half");
    assert_int_equal(halftone_set_kernel(h, NULL), HALFTONE_OK);
    assert_query(h, 64, "wide");
}

static void assert_why(halftone *h, int64_t n, const char *why) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    assert_int_equal(halftone_query(h, 'N', 'N', n, n, n, 1, &plan), HALFTONE_OK);
    assert_string_equal(plan.why_scheme, why);
}

/* Accuracy fp32 is for every input, so it is refused where nothing looks at the data: no call runs f16x3 in its place. */
static void test_fp32_needs_the_check(void **state) {
    static const char unchecked[] = "auto, unchecked: nothing looks at the data, because this library lacks scheme bf16x6u",
                      checked[] = "auto: data are checked; f16x3 for what suits it, bf16x6u for the rest and where it is faster";
    halftone *h = *state; /* of fake_set, which lacks bf16x6u */
    assert_why(h, 9, unchecked);
    assert_int_equal(halftone_set_accuracy(h, "half"), HALFTONE_OK);
    assert_int_equal(halftone_set_accuracy(h, "fp32"), HALFTONE_ACCURACY);
    assert_string_equal(halftone_last_detail(h), "fp32 needs scheme bf16x6u, which this library lacks");
    assert_null(strstr(halftone_strerror(HALFTONE_ACCURACY), " k"));
    assert_query(h, 64, "half"); /* as it was */
    assert_int_equal(halftone_set_scheme(h, "auto"), HALFTONE_OK);
    assert_why(h, 9, unchecked);
    h = checked_handle();
    char by_auto[HALFTONE_WHY_BYTES];
    snprintf(by_auto, sizeof by_auto, "fp32 by %s", checked);
    assert_why(h, 4096, checked);
    assert_why(h, 9, "auto: bf16x6u, which takes every input, is predicted faster here than f16x3, whose data are checked");
    assert_int_equal(halftone_set_accuracy(h, "fp32"), HALFTONE_OK);
    assert_why(h, 4096, by_auto);
    assert_int_equal(halftone_set_scheme(h, "fp32"), HALFTONE_UNKNOWN_SCHEME); /* an accuracy */
    assert_int_equal(halftone_set_scheme(h, "bf16x6u"), HALFTONE_OK);
    assert_query(h, 64, "bf16x6u");
    assert_why(h, 9, "set by name");
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void test_what_no_scheme_reaches_is_refused(void **state) {
    halftone *h = *state;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    float one = 1, two = 2, *x = matrix(4096), c = 3;
    assert_int_equal(halftone_set_accuracy(h, "half"), HALFTONE_OK);
    assert_int_equal(halftone_set_accuracy(h, "bits=24"), HALFTONE_ACCURACY);
    assert_string_equal(halftone_last_detail(h), "bits=24 is at most 1 units of 2^-24 |A||B|; at k = 1 the best in "
                                                 "range here is wide with 26 (1.55e-06)");
    assert_int_equal(halftone_set_accuracy(h, "reproducible"), HALFTONE_ACCURACY);
    assert_non_null(strstr(halftone_last_detail(h), "fixed-point scheme of 6 products"));
    assert_query(h, 64, "half"); /* as it was */
    assert_int_equal(halftone_set_accuracy(h, "bits=17"), HALFTONE_OK);
    assert_query(h, 64, "wide");
    assert_int_equal(halftone_query(h, 'N', 'N', 30, 30, 4096, 1, &plan), HALFTONE_ACCURACY);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 4096, &one, x, 1, x, 4096, &two, &c, 1),
                     HALFTONE_ACCURACY);
    assert_string_equal(halftone_last_detail(h), "bits=17 is at most 128 units of 2^-24 |A||B|; at k = 4096 the "
                                                 "best in range here is wide with 154 (9.18e-06)");
    assert_int_equal(dev.launches + dev.allocs, 0);
    assert_true(c == 3);
    assert_int_equal(halftone_sgemm(h, 'N', 'N', 1, 1, 0, &one, x, 1, x, 4096, &two, &c, 1), HALFTONE_OK);
    assert_true(c == 6); /* no product, nothing to be inaccurate */
    free(x);
}

/* What it says: test_accuracy.c. Where it cannot, nothing is left behind. */
static void test_rho_needs_memory_and_no_capture(void **state) {
    halftone *h = *state;
    float a[6] = {1, 2, 3, 4, 5, 6};
    double rho = -1;
    const size_t limit = dev.limit_bytes;
    dev.limit_bytes = 100; /* the first block fits, 3 x 16 numbers do not */
    const long before = dev.allocs - dev.frees;
    assert_int_equal(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(dev.allocs - dev.frees, before);
    dev.limit_bytes = limit;
    dev.capturing = true;
    assert_int_equal(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_NOT_SUPPORTED);
    dev.capturing = false;
    assert_true(isinf(rho));
    rho = 1;
    assert_int_equal(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 1, a, 2, &rho), -8);
    assert_true(isinf(rho)); /* never the most hopeful value */
    assert_int_equal(halftone_estimate_rho(NULL, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_NULL_HANDLE);
    dev.stream = &rho;
    assert_int_equal(halftone_set_stream(h, dev.stream), HALFTONE_OK);
    assert_int_equal(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_OK);
    assert_true(dev.uploads_elsewhere == 0 && rho >= 1 && rho < 2); /* one-signed: nothing cancels */
}

static void test_accuracy_texts(void **state) {
    static const char *const wrong[] = {
        "",        "Half",    "fp32 ",      "fp64:",    "fp64:half", "fp32:fp64", "fp64:fp64:fp64", "reproducible:", "reproducible:4", "bits",
        "bits=",   "bits=0",  "bits=-3",    "bits=1.5", "bits=1000",     "bits=12 ",       "bound=",
        "bound=0", "bound=-1", "bound=1.01", "bound=nan", "bound=inf",   "bound=1e",       "bound=1e-",
        "bound=.", "bound=1e-3x", "bound=0x1p-3", "bound=1e999", "bound=1e-9999", "bound=1,5",
        "bound=0.0000000000000000000000000000000000000000000001"};
    static const char *const same[] = {"bound=0.001", "bound=1e-3", "bound=1E-03", "bound=.001", "bound=0.1e-2",
                                       "bound=10e-4", "bound=0.00010e+1"};
    halftone *h = *state;
    assert_int_equal(halftone_set_accuracy(h, "half"), HALFTONE_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(halftone_set_accuracy(h, wrong[i]), HALFTONE_UNKNOWN_ACCURACY);
        const char *const list = strncmp(wrong[i], "fp64:", 5) == 0   ? "is none of fp64, fp64-fast, fp64-exact, reproducible, bits=N"
                                 : strncmp(wrong[i], "fp32:", 5) == 0 ? "is none of half, tf32, fp32-fast, fp32, reproducible, reproducible:3"
                                                                      : "is none of half, tf32, fp32-fast, fp32, fp64, fp64-fast, fp64-exact, reproducible";
        assert_non_null(strstr(halftone_last_detail(h), list));
        assert_null(strchr(halftone_last_detail(h), '\n'));
    }
    assert_int_equal(halftone_set_accuracy(h, NULL), HALFTONE_UNKNOWN_ACCURACY);
    assert_query(h, 64, "half");
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        assert_int_equal(halftone_set_accuracy(h, same[i]), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', 8, 8, 8, 1, &plan), HALFTONE_OK);
        assert_non_null(strstr(plan.why_scheme, ": at most 16777.2 units;"));
    }
    /* a bound that query told is met by what it was told of, and not by less */
    for (int64_t k = 1; k < 100000; k *= 7) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT, again = HALFTONE_PLAN_INIT;
        char text[40];
        assert_int_equal(halftone_set_scheme(h, "wide"), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', 8, 8, k, 1, &plan), HALFTONE_OK);
        snprintf(text, sizeof text, "bound=%.12e", plan.error_bound);
        assert_int_equal(halftone_set_accuracy(h, text), HALFTONE_OK);
        assert_int_equal(halftone_query(h, 'N', 'N', 8, 8, k, 1, &again), HALFTONE_OK);
        assert_int_equal(again.bound_units, plan.bound_units);
        snprintf(text, sizeof text, "bound=%.12e", plan.error_bound * 0.999999999);
        int code = halftone_set_accuracy(h, text); /* one step of the chain is its least: refused here already */
        if (code == HALFTONE_OK)
            code = halftone_query(h, 'N', 'N', 8, 8, k, 1, &again);
        assert_int_equal(code, HALFTONE_ACCURACY);
    }
}

/* A blob knows one size of a product: it cannot follow a choice by shape. */
static void test_packed_operands_want_one_scheme(void **state) {
    halftone *h = *state;
    float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, c[4];
    size_t bytes = 0;
    char *blob = aligned_alloc(1024, 1 << 16);
    assert_non_null(blob);
    assert_int_equal(halftone_set_accuracy(h, "bits=12"), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes), HALFTONE_NOT_SUPPORTED);
    assert_non_null(strstr(halftone_last_detail(h), "halftone_set_scheme"));
    assert_int_equal(halftone_pack_a(h, 'N', 2, 2, x, 2, blob), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, x, 2, x, 2, blob, blob), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &one, blob, blob, &zero, c, 2), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(dev.launches, 0);
    halftone *checked = checked_handle();
    assert_int_equal(halftone_set_accuracy(checked, "fp32"), HALFTONE_OK);
    assert_int_equal(halftone_packed_bytes(checked, 'A', 2, 2, 1, &bytes), HALFTONE_OK);
    assert_true(bytes <= 1 << 16);
    assert_int_equal(halftone_pack_a(checked, 'N', 2, 2, x, 2, blob), HALFTONE_OK);
    assert_int_equal(halftone_destroy(checked), HALFTONE_OK);
    free(blob);
}

/* ---- fuzz ---- */

static int64_t fuzz_size(void) {
    static const int64_t sizes[] = {0,
                                    1,
                                    2,
                                    3,
                                    63,
                                    64,
                                    65,
                                    200,
                                    5000,
                                    -1,
                                    1 << 20,
                                    INT_MAX,
                                    HALFTONE_SIZE_MAX,
                                    HALFTONE_SIZE_MAX + 1,
                                    INT64_MAX,
                                    INT64_MAX / 4,
                                    INT64_MIN};
    uint32_t r = next_random();
    return r % 4 == 0 ? sizes[r / 4 % 17] : sizes[r / 4 % 8];
}

static char fuzz_op(void) {
    static const char ops[] = "NTCntcNTCNTCx\377";
    return ops[next_random() % 14];
}

static void fuzz_state(halftone *h, char *memory) {
    static const char *const accuracies[] = {"half", "fp32-fast", "fp32", "bits=15", "bits=17", "nonsense"};
    static const char *const sites[] = {NULL, "m=1-64 scheme=half", "site=m* accuracy=fp32-fast", "op=NT accuracy=reproducible", "nonsense"};
    const char *scheme = halftone_schemes(h, HALFTONE_FP32, (int)(next_random() % 5)), *kernel = halftone_kernels(h, (int)(next_random() % 6));
    dev.capturing = next_random() % 8 == 0;
    dev.limit_bytes = next_random() % 8 == 0 ? 10 : (size_t)16 << 20;
    dev.launch_code = next_random() % 8 == 0 ? (int)(next_random() % 5) : 0;
    (void)halftone_set_pointer_mode(h, (int)(next_random() % 3));
    (void)halftone_set_scheme(h, next_random() % 2 ? "auto" : scheme != NULL ? scheme : "nonsense");
    if (next_random() % 2 == 0)
        (void)halftone_set_accuracy(h, accuracies[next_random() % 6]);
    (void)halftone_set_kernel(h, next_random() % 2 ? NULL : kernel != NULL ? kernel : "nonsense");
    (void)halftone_set_workspace(h, next_random() % 4 == 0 ? memory : NULL, next_random() % 3 * 100000);
    if (next_random() % 4 == 0)
        (void)halftone_set_site(h, sites[next_random() % 5]);
    (void)halftone_at_site(h, sites[next_random() % 5]);
    (void)halftone_set_stream(h, memory + next_random() % 40);
    (void)halftone_set_workspace_source(h, (int)(next_random() % 3));
    if (next_random() % 64 == 0)
        (void)halftone_trim(h);
}

/* Dry launches: no pointer is followed, so any size may meet any pointer. What must hold: a code of the
 * table. */
static void fuzz(halftone *h, int rounds) {
    float s[2] = {1, 0}, x[1024];
    char *memory = aligned_alloc(256, 1024);
    const float *from[] = {x, x, x, x, x, NULL, (const float *)(const void *)((char *)x + 2)};
    for (int i = 0; i < rounds; i++) {
        fuzz_state(h, memory);
        int64_t v[10];
        for (int j = 0; j < 10; j++)
            v[j] = fuzz_size();
        const float *a = from[next_random() % 7], *b = from[next_random() % 7];
        float *c = next_random() % 8 == 0 ? NULL : x;
        const float *alpha = next_random() % 16 == 0 ? NULL : &s[next_random() % 2];
        const float *beta = next_random() % 16 == 0 ? NULL : &s[next_random() % 2];
        char ta = fuzz_op(), tb = fuzz_op();
        void *blob = next_random() % 8 == 0 ? NULL : memory;
        size_t bytes;
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        int code[] = {
            halftone_sgemm(h, ta, tb, v[0], v[1], v[2], alpha, a, v[3], b, v[4], beta, c, v[5]),
            halftone_sgemm_strided_batched(h, ta, tb, v[0], v[1], v[2], alpha, a, v[3], v[6], b, v[4], v[7],
                                           beta, c, v[5], v[8], v[9]),
            halftone_sgemm_packed(h, v[0], v[1], v[2], alpha, blob, blob, beta, c, v[5]),
            halftone_pack_a(h, ta, v[0], v[2], a, v[3], blob),
            halftone_pack_b(h, tb, v[2], v[1], b, v[4], blob),
            halftone_pack_ab(h, ta, tb, v[0], v[1], v[2], a, v[3], b, v[4], blob, blob),
            halftone_packed_bytes(h, "ABx"[i % 3], v[0], v[2], v[9], &bytes),
            halftone_workspace_bytes(h, ta, tb, v[0], v[1], v[2], v[9], &bytes),
            halftone_query(h, ta, tb, v[0], v[1], v[2], v[9], &plan),
        };
        for (size_t j = 0; j < sizeof code / sizeof *code; j++) {
            assert_true(code[j] >= -18 && code[j] <= HALFTONE_SITE);
            assert_true(code[j] <= 0 || code[j] == HALFTONE_OK || halftone_strerror(code[j])[0] != '\0');
        }
    }
    assert_true(dev.gemms > rounds / 40 && dev.reduces > rounds / 40 && dev.packs > rounds / 40);
    assert_int_equal(halftone_set_workspace(h, NULL, 0), HALFTONE_OK);
    dev.capturing = false;
    free(memory);
}

static void test_random_arguments_never_crash(void **state) {
    halftone *h = NULL;
    (void)state;
    dev.dry = dev.has_pool = true;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    seed = 2026;
    fuzz(h, 40000);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

static void test_random_arguments_never_crash_a_checked_set(void **state) {
    halftone *h = checked_handle();
    (void)state;
    dev.dry = true;
    seed = 2027;
    fuzz(h, 40000);
    assert_int_equal(halftone_destroy(h), HALFTONE_OK);
}

#define API_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Whether two entries share an element, told by marking each. */
static int entries_share(int64_t m, int64_t n, int64_t ldc, int64_t stride, int64_t batch) {
    char mark[4096] = {0};
    for (int64_t e = 0; e < batch; e++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++)
                if (mark[e * stride + j * ldc + i]++ > 0)
                    return 1;
    return 0;
}

/* All small layouts, and large ones by which arithmetic overflows and loops do not end. */
static void test_entries_of_c_that_overlap(void **state) {
    halftone *h = *state;
    const float zero = 0, one = 1, x = 0;
    float c[4096];
    int overlapping = 0;
    for (int64_t at = 0; at < 4 * 4 * 7 * 30 * 6; at++) {
        const int64_t m = 1 + at % 4, n = 1 + at / 4 % 4, ldc = m + at / 16 % 7, stride = at / 112 % 30, batch = 1 + at / 3360 % 6;
        const int share = entries_share(m, n, ldc, stride, batch),
                  code = halftone_sgemm_strided_batched(h, 'N', 'N', m, n, 1, &zero, &x, m, 0, &x, 1, 0, &one, c, ldc, stride, batch);
        if (code != (share ? -16 : HALFTONE_OK))
            fail_msg("m %d, n %d, ldc %d, stride %d, batch %d: %d", (int)m, (int)n, (int)ldc, (int)stride, (int)batch, code);
        overlapping += share;
    }
    assert_in_range(overlapping, 4000, 15000);
    static const struct {
        int64_t m, n, ldc, stride, batch;
        int code;
    } large[] = {{1 << 15, 1 << 15, 1 << 30, (1 << 16) + 1, 1 << 13, HALFTONE_OK},
                 {1 << 15, 1 << 15, 1 << 30, (1 << 16) + 1, 1 << 15, -16},
                 /* 2^15 rows more at each entry, one short of a column at the last */
                 {1 << 15, 1 << 15, (1 << 30) + 1, (1 << 30) + 1 + (1 << 15), (1 << 15) + 2, HALFTONE_OK},
                 {1 << 15, (1 << 15) + 2, (1 << 30) + 1, (1 << 30) + 1 + (1 << 15), (1 << 15) + 1, -16},
                 {1 << 15, (1 << 15) + 2, (1 << 30) + 1, (1 << 30) + 1 + (1 << 15), 1 << 15, HALFTONE_OK},
                 {2, 2, INT64_MAX / 64, INT64_MAX / 128, 2, HALFTONE_OK},
                 {2, 2, INT64_MAX / 64, INT64_MAX / 64 - 1, 2, -16},
                 {1, 1, INT64_MAX, 1, INT32_MAX / 2, HALFTONE_OK}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_int_equal(halftone_sgemm_strided_batched(h, 'N', 'N', large[i].m, large[i].n, 1, &zero, &x, large[i].m, 0, &x, 1, 0, &one, c, large[i].ldc,
                                                        large[i].stride, large[i].batch),
                         large[i].code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        API_TEST(test_transposes_sizes_and_ld),
        API_TEST(test_alpha_and_beta),
        API_TEST(test_a_scheme_without_exponents),
        API_TEST(test_row_major),
        API_TEST(test_split_k),
        API_TEST(test_batches), API_TEST(test_entries_of_c_that_overlap),
        API_TEST(test_interleaved_batch),
        API_TEST(test_large_batches_are_cut),
        API_TEST(test_large_batches_are_packed_in_pieces),
        API_TEST(test_nan_in_c_vanishes_with_beta_zero),
        API_TEST(test_a_and_b_are_not_read_without_a_product),
        API_TEST(test_empty_calls_return_at_once),
        API_TEST(test_zero_sizes),
        API_TEST(test_device_pointer_mode),
        API_TEST(test_each_wrong_argument_has_its_number),
        API_TEST(test_error_texts),
        API_TEST(test_null_handle),
        API_TEST(test_huge_sizes_are_refused),
        API_TEST(test_the_second_call_allocates_nothing),
        API_TEST(test_where_packing_blocks_meet),
        API_TEST(test_user_workspace),
        API_TEST(test_shared_operands_need_less_workspace),
        API_TEST(test_capture),
        API_TEST(test_what_a_capture_used_is_kept),
        API_TEST(test_streams_share_no_memory),
        API_TEST(test_streams_are_bounded),
        API_TEST(test_streams_may_be_gone),
        API_TEST(test_captured_memory_stays_with_its_stream),
        API_TEST(test_capture_without_a_call_before),
        API_TEST(test_memory_of_the_pool),
        API_TEST(test_capture_is_asked_where_it_matters),
        API_TEST(test_trim),
        API_TEST(test_outgrown_blocks_are_bounded),
        API_TEST(test_every_allocation_may_fail),
        API_TEST(test_out_of_memory_leaves_the_handle_usable),
        API_TEST(test_device_errors_become_codes),
        API_TEST(test_blocks_have_all_they_need_before_the_first),
        API_TEST(test_blocks_within_blocks_have_one_workspace),
        API_TEST(test_kernels_of_all_blocks_are_ready_before_the_first),
        API_TEST(test_a_failure_says_whether_c_was_changed),
        API_TEST(test_create_says_what_is_wrong),
        API_TEST(test_create_takes_the_set_of_the_device),
        API_TEST(test_packed_operands_of_auto_need_little_workspace),
        API_TEST(test_the_product_computes_what_it_does_not_clear_where_a_launch_counts),
        API_TEST(test_packed_equals_unpacked),
        API_TEST(test_packed_needs_no_workspace_without_split),
        API_TEST(test_packed_operands_know_what_they_are_for),
        API_TEST(test_overlapping_packed_operands_are_refused),
        API_TEST(test_no_packed_operand_is_lost),
        API_TEST(test_what_a_handle_cannot_know_is_not_refused),
        API_TEST(test_what_auto_packed_serves_its_first_scheme),
        API_TEST(test_panels_of_auto_lie_where_its_first_scheme_has_them),
        API_TEST(test_schemes_and_kernels_by_name),
        API_TEST(test_a_kernel_that_does_not_fit_is_refused_by_name),
        API_TEST(test_version),
        API_TEST(test_getters),
        API_TEST(test_a_plan_has_its_size),
        API_TEST(test_query),
        API_TEST(test_query_tells_what_runs),
        API_TEST(test_what_is_asked_of_the_last_product),
        API_TEST(test_products_at_a_site_run_at_its_accuracy), API_TEST(test_sites_leave_the_handle_as_it_is),
        API_TEST(test_sites_of_one_shape), API_TEST(test_packed_operands_are_their_sites),
        API_TEST(test_a_line_that_asks_for_too_much_is_said), API_TEST(test_many_sites), API_TEST(test_wrong_lines_change_nothing),
        API_TEST(test_a_file_of_sites_is_taken_whole_or_not_at_all),
        API_TEST(test_an_accuracy_is_a_cheapest_scheme), API_TEST(test_texts_are_of_no_locale),
        API_TEST(test_fp32_fast_wants_its_inputs),
        API_TEST(test_fp32_needs_the_check),
        API_TEST(test_the_later_of_scheme_and_accuracy_holds),
        API_TEST(test_what_no_scheme_reaches_is_refused),
        API_TEST(test_accuracy_texts),
        API_TEST(test_rho_needs_memory_and_no_capture),
        API_TEST(test_packed_operands_want_one_scheme),
        API_TEST(test_fp64_products_need_their_kernels),
        API_TEST(test_random_arguments_never_crash),
        API_TEST(test_random_arguments_never_crash_a_checked_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
