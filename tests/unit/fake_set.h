/* fake_set.h: the runtime between fakes. Kernels whose pack, product and reduction are plain C on the panel layout of
 * ht_abi.h; handles, and products compared with a naive reference. Matrices hold small integers: every right answer is
 * exact. */
#ifndef TESTS_FAKE_SET_H
#define TESTS_FAKE_SET_H
#include <math.h>

#include "../../runtime/halftone.h"
#include "fake_device.h"

/* ---- the fake kernels ---- */

static inline unsigned char *chunk_at(unsigned char *panels, int k_blocks, int atom_k, int row, int k, int slice) {
    unsigned char *atom = panels + ((long long)(row / 64) * k_blocks + k / atom_k) * HT_ATOM_BYTES;
    int byte = slice * atom_k * 2 + k % atom_k * 2, r = row % 64;
    return atom + r * 128 + ((byte / 16) ^ (r & 7)) * 16 + byte % 16;
}

/* Two slices: the halves of the float x * 2^-exponent. One slice: an integer. */
static inline void store(unsigned char *panels, int k_blocks, int slices, int row, int k, float x) {
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

static inline float load(const unsigned char *panels, int k_blocks, int slices, int row, int k) {
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

static inline int fake_pack(const struct ht_pack_args *g, int slices) {
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
                g->to.row_absmax[e * g->to.absmax_stride + row] = exponent;
            }
            for (int k = 0; k < g->k_blocks * (64 / slices); k++) {
                float x = 0.0f;
                if (row < g->rows && k < g->k) {
                    long long at = g->k_contiguous ? row * g->ld + k : k * g->ld + row;
                    x = g->src[e * g->src_stride + at];
                }
                store(g->to.panels + e * g->to.stride, g->k_blocks, slices, row, k,
                      slices == 2 ? ldexpf(x, -exponent) : x);
            }
        }
    return 0;
}

static inline int ready_to_pack(void) {
    dev.pack_inits++;
    return dev.init_code;
}

static inline int pack_all(const struct ht_pack_args *operands, int count, int slices) {
    int code = 0;
    assert_true(dev.pack_inits > 0);
    assert_in_range(count, 1, 2);
    for (int i = 0; i < count && code == 0; i++)
        code = fake_pack(&operands[i], slices);
    return code;
}

static inline int pack_two(const struct ht_pack_args *operands, int count, void *stream) {
    (void)stream;
    return pack_all(operands, count, 2);
}

static inline int pack_one(const struct ht_pack_args *operands, int count, void *stream) {
    (void)stream;
    assert_null(operands->to.row_absmax);
    return pack_all(operands, count, 1);
}

static inline float scalar(const struct ht_scalar *x) {
    return x->at != NULL ? *(const float *)x->at : x->f32;
}

static inline void combine(const struct ht_gemm_args *g, int entry, int row, int col, float sum) {
    float alpha = scalar(&g->to.alpha), beta = scalar(&g->to.beta);
    float *c = (float *)g->to.c + entry * g->to.stride + col * g->to.ldc + row;
    float v = alpha == 0.0f ? 0.0f : alpha * sum;
    *c = beta == 0.0f ? v : v + beta * *c;
}

/* The part of one element of C that one split computes. */
static inline float part_of(const struct ht_gemm_args *g, int slices, int entry, int row, int col, int split) {
    int steps = g->k_blocks * (64 / slices) / 32;
    int first = steps * split / g->splits, last = steps * (split + 1) / g->splits;
    assert_true(last > first);
    float sum = 0.0f;
    for (int k = first * 32; k < last * 32; k++) /* padding included: it must be zero */
        sum += load(g->a_packed.panels + entry * g->a_packed.stride, g->k_blocks, slices, row, k) *
               load(g->b_packed.panels + entry * g->b_packed.stride, g->k_blocks, slices, col, k);
    if (slices == 2)
        sum = ldexpf(sum, g->a_packed.row_absmax[entry * g->a_packed.absmax_stride + row] +
                              g->b_packed.row_absmax[entry * g->b_packed.absmax_stride + col]);
    return sum;
}

/* Counts a launch of those that fail one day. */
static inline bool is_refused(long *left) {
    return *left > 0 && --*left == 0;
}

static inline int fake_gemm(const struct ht_gemm_args *g, int kernel, int slices) {
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

static inline int fake_reduce(const struct ht_gemm_args *g, void *stream) {
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
#define MATRICES(bm, bn) {bm, bn, 32, ((bm) + (bn)) * 128, 1, 1, 1, 1, 1, 0, 0, 0, 0, 4} /* read as they are */
#define COST(bm, bn, products, latency)                                                                      \
    HT_COST_TILED_WAVES((products) * (bm) * (bn)*32 / 1024 * 256, (latency)*256, 2000, 0, 0, 0, 0, 0)
#define DIRECT(bm, bn, products, latency)                                                                    \
    HT_COST_TILED_WAVES((products) * (bm) * (bn)*32 / 1024 * 256, (latency)*256, 2000, 0, 0, 0, 0, 1000000)
#define KERNEL(index, name, scheme, variant, bm, bn)                                                         \
    {                                                                                                        \
        name, scheme, variant, "because", TILE(bm, bn), 32, 64, 32, 4, 256, 65536, 200, 0, 0, 0, COST(bm, bn, 3, 700), \
            HT_RECIPE_SLICES, 0, init_##index, NULL, {HT_ANY_LAUNCHER(launch_##index), NULL, NULL, NULL}       \
    }

static const struct ht_kernel_desc fake_kernels[] = {
    KERNEL(0, "ht_fake_big", "f16x3", "", 128, 128),
    KERNEL(1, "ht_fake_small", "f16x3", "", 64, 64),
    KERNEL(2, "ht_fake_plain", "f16x3", "plain", 128, 128),
    KERNEL(3, "ht_fake_half", "half", "", 64, 64),
    /* dearer than the others: as many steps of twice the depth */
    {"ht_fake_wide", "wide", "", "because", TILE(64, 64), 32, 64, 32, 4, 256, 65536, 200,
     0, 0, 0, COST(64, 64, 6, 1400), HT_RECIPE_SLICES, 0, init_4, NULL, {HT_ANY_LAUNCHER(launch_4), NULL, NULL, NULL}},
};

static const struct ht_scheme_desc fake_schemes[] = {
    {"half", "small integers", "exact", 1, 64, 2, 0, 1, 16, 10, 8, 0, 0, ready_to_pack, pack_one, 1, 0, NULL, 0, 0, 0,
     HT_RANGE_FP16, 0, NULL, NULL, NULL, NULL, 0},
    {"f16x3", "all", "tight", 2, 32, 2, 1, 3, 16, 10, 8, 64, 0, ready_to_pack, pack_two, 2, 0, NULL, 0, 0, 0,
     HT_RANGE_ROW, 0, NULL, NULL, NULL, NULL, 0},
    {"orphan", "none", "none", 2, 32, 2, 1, 3, 16, 0, 0, 64, 0, ready_to_pack, pack_two, 2, 0, NULL, 0, 0, 0,
     HT_RANGE_FP32, 0, NULL, NULL, NULL, NULL, 0},
    {"wide", "wide", "wide", 2, 32, 2, 1, 6, 16, 20, 2, 64, 0, ready_to_pack, pack_two, 2, 0, NULL, 0, 0, 0,
     HT_RANGE_FP32, 0, NULL, NULL, NULL, NULL, 0},
};

/* A set whose auto looks at the data, and whose product can fall back. */
static const struct ht_kernel_desc checked_kernels[] = {
    {"ht_fake_falls_back", "f16x3", "", "because", TILE(128, 128), 32, 64, 32, 4, 256, 65536, 200, 1, 0, 0, COST(128, 128, 3, 700), HT_RECIPE_SLICES, 0, init_5, NULL, {HT_ANY_LAUNCHER(launch_5), NULL, NULL, NULL}},
    {"ht_fake_fallback", "bf16x6u", "fallback", "because", MATRICES(64, 64), 32, 64, 32, 4, 256, 65536, 200, 0, 0, 0, DIRECT(64, 64, 3, 700), HT_RECIPE_UNPACKED, 0, init_6, NULL, {HT_ANY_LAUNCHER(launch_6), NULL, NULL, NULL}},
    {"ht_fake_direct", "bf16x6u", "", "because", MATRICES(64, 64), 32, 64, 32, 4, 256, 65536, 200,
     1, 0, 0, DIRECT(64, 64, 9, 1400), HT_RECIPE_UNPACKED, 0, init_7, NULL, {HT_ANY_LAUNCHER(launch_7), NULL, NULL, NULL}},
};
static const struct ht_scheme_desc checked_schemes[] = {
    {"f16x3", "all", "tight", 2, 32, 2, 1, 3, 16, 10, 8, 64, 0, ready_to_pack, pack_two, 2, 0, NULL, 0, 4, 256, HT_RANGE_ROW, 3, NULL, NULL, NULL, NULL, 0},
    {"bf16x6u", "all", "tight", 3, 32, 2, 0, 6, 16, 10, 8, 64, 0, NULL, NULL, 3, 0, NULL, 16, 0, 0, HT_RANGE_ALL, 0, NULL, NULL, NULL, NULL, 0},
};
#define ROLES {"f16x3", "bf16x6u", "native64", "crt14", "i8x28", "crt16", "crt20", "ozaki"}, 14
static const struct ht_set_desc fake_checked_set = {
    "checked", "sm_103a", "1.2.3", "sm90",       1030,         1,           108, 1410, 1600, 4000, 2000,
    3000, 0, 0, 0,    3,         2,       checked_kernels, checked_schemes, fake_reduce, NULL, 0,   NULL, ROLES, NULL, NULL,
};

static const struct ht_set_desc fake_set = {
    "fake", "sm_80", "1.2.3", "sm80",       800,          0,           108, 1410, 1600, 4000, 2000,
    3000, 0, 0, 0,   5,       4,       fake_kernels, fake_schemes, fake_reduce, NULL, 0,   NULL, ROLES, NULL, NULL,
};
/* Made for one capability alone; has one kernel and one scheme fewer. */
static const struct ht_set_desc fake_exact_set = {
    "exact", "sm_120a", "1.2.3", "sm90",       1200,         1,           108, 1410, 1600, 4000, 2000,
    3000, 0, 0, 0,    3,         2,       fake_kernels, fake_schemes, fake_reduce, NULL, 0,   NULL, ROLES, NULL, NULL,
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

static inline void fill(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((int)(next_random() % 9) - 4);
}

#define REFUSED(call, code) assert_int_equal(call, code)
#define REFUSED_FOR(call, code, words)                                                                       \
    do {                                                                                                     \
        REFUSED(call, code);                                                                                 \
        assert_non_null(strstr(halftone_last_detail(h), words));                                             \
    } while (0)

/* A test of the handle that `setup` made. */
#define API_TEST(name)                                                                                       \
    static void name##_of(halftone *h);                                                                      \
    TEST(name) {                                                                                             \
        name##_of(*test_state);                                                                              \
    }                                                                                                        \
    static void name##_of(halftone *h __attribute__((unused)))

static inline float *matrix(size_t count) {
    float *x = kept(count * sizeof *x);
    fill(x, count);
    return x;
}

static inline int setup(void **state) {
    memset(&dev, 0, sizeof dev);
    dev.capability = 800;
    dev.limit_bytes = (size_t)256 << 20;
    seed = 1;
    halftone *h = NULL;
    OK(halftone_create(&h));
    *state = h;
    return 0;
}

static inline int teardown(void **state) {
    OK(halftone_destroy(*state));
    EQUAL({dev.allocs, dev.frees}, {dev.pool_allocs, dev.pool_frees}, {dev.pools, 0});
    return 0;
}

/* A handle on the set whose packing checks the data. */
static inline halftone *checked_handle(void) {
    halftone *h = NULL;
    dev.capability = 1030;
    OK(halftone_create(&h));
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

static inline bool is_t(char t) {
    return t != 'N' && t != 'n';
}

static inline struct problem problem_of(char ta, char tb, int m, int n, int k, int pad) {
    struct problem p = {.ta = ta, .tb = tb, .m = m, .n = n, .k = k, .batch = 1, .alpha = 1.0f};
    p.lda = (is_t(ta) ? k : m) + pad;
    p.ldb = (is_t(tb) ? n : k) + pad;
    p.ldc = m + pad;
    return p;
}

static inline size_t extent(int ld, int rows, int cols, int stride, int batch) {
    return (size_t)(ld * (cols - 1) + rows + stride * (batch - 1));
}

static inline void reference(const struct problem *p, const float *a, const float *b, float *c) {
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
static inline int run_and_compare(halftone *h, const struct problem *p) {
    const size_t before = kept_count;
    bool ta = is_t(p->ta), tb = is_t(p->tb);
    size_t a_count = extent(p->lda, ta ? p->k : p->m, ta ? p->m : p->k, p->stride_a, p->batch);
    size_t b_count = extent(p->ldb, tb ? p->n : p->k, tb ? p->k : p->n, p->stride_b, p->batch);
    size_t c_count = extent(p->ldc, p->m, p->n, p->stride_c, p->batch);
    float *a = matrix(a_count), *b = matrix(b_count), *c = matrix(c_count), *want = kept(c_count * sizeof *want);
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
    drop_kept(before);
    return code;
}

static inline void check(halftone *h, const struct problem *p) {
    OK(run_and_compare(h, p));
}

static inline void packed_equals_unpacked(halftone *h, char ta, char tb, int m, int n, int k) {
    struct problem p = problem_of(ta, tb, m, n, k, 2);
    float alpha = 1.5f, beta = -0.5f;
    size_t c_count = (size_t)(p.ldc * n), a_bytes, b_bytes;
    float *a = matrix((size_t)(p.lda * (m + k))), *b = matrix((size_t)(p.ldb * (n + k)));
    float *c = matrix(c_count), *d = kept(c_count * 4);
    memcpy(d, c, c_count * 4);
    for (size_t i = 0; i < (size_t)p.lda; i++)
        a[i] += 0.1f * (float)i; /* rounding must be the same, too */
    OK(halftone_packed_bytes(h, 'A', m, k, 1, &a_bytes));
    OK(halftone_packed_bytes(h, 'b', n, k, 1, &b_bytes));
    char *pa = kept(a_bytes), *pb = kept(b_bytes);
    OK(halftone_pack_a(h, ta, m, k, a, p.lda, pa));
    OK(halftone_pack_b(h, tb, k, n, b, p.ldb, pb));
    long packs = dev.packs;
    OK(halftone_sgemm_packed(h, m, n, k, &alpha, pa, pb, &beta, c, p.ldc));
    assert_int_equal(dev.packs, packs);
    OK(halftone_sgemm(h, ta, tb, m, n, k, &alpha, a, p.lda, b, p.ldb, &beta, d, p.ldc));
    assert_memory_equal(c, d, c_count * 4);
}

static inline void expect_set(halftone *h, const char *scheme, const char *accuracy, const char *kernel) {
    const char *text[3] = {"", "", ""}, *const wanted[3] = {scheme, accuracy, kernel};
    assert_int_equal(halftone_get_scheme(h, HALFTONE_FP32, &text[0]) + halftone_get_accuracy(h, HALFTONE_FP32, &text[1]) + halftone_get_kernel(h, &text[2]), 0);
    for (int i = 0; i < 3; i++)
        assert_true(wanted[i] == NULL ? text[i] == NULL : text[i] != NULL && strcmp(text[i], wanted[i]) == 0);
}

FOR_EACH(setup, teardown)
#endif
