/* The simulator's CDNA 2: MFMA layouts against places read off AMD's documents, arithmetic against hand-worked cases,
 * and what a wavefront of 64 lanes changes in the checks. */
#include "kernel_test.h"

#include <cmath>

/* ---- layouts: places as AMD's Matrix Instruction Calculator prints them for gfx90a */

TEST(layouts_are_those_of_the_documents) {
    const struct {
        int row_of_table, matrix; /* matrix: 0 an operand, 1 the result */
        int lane, element;        /* of the operand, or register of the result */
        int row, other;           /* A[i][k]: i, k; D[i][j]: i, j */
    } places[] = {
        {0, 0, 0, 3, 0, 3},   {0, 0, 33, 0, 1, 4},    {0, 0, 63, 3, 31, 7},  {0, 1, 0, 5, 9, 0},
        {0, 1, 37, 5, 13, 5}, {0, 1, 63, 15, 31, 31}, {1, 0, 17, 2, 1, 6},   {1, 0, 63, 3, 15, 15},
        {1, 1, 0, 3, 3, 0},   {1, 1, 16, 0, 4, 0},    {1, 1, 63, 3, 15, 15}, {2, 0, 40, 1, 8, 5},
        {2, 1, 32, 4, 12, 0}, {3, 0, 40, 1, 8, 5},    {3, 1, 32, 4, 12, 0},
        {4, 0, 17, 2, 1, 6},  {4, 1, 16, 0, 4, 0},    {5, 0, 63, 3, 15, 15}, {5, 1, 63, 3, 15, 15},
        {6, 0, 0, 0, 0, 0},   {6, 0, 17, 0, 1, 1},    {6, 0, 63, 0, 15, 3}, {6, 1, 17, 2, 6, 1},
        {6, 1, 63, 3, 15, 15},
    };
    for (const auto &p : places) {
        int row = -1, other = -1;
        if (p.matrix == 0)
            sim_mfma_operand(&sim_mfma_table[p.row_of_table], p.lane, p.element, &row, &other);
        else
            sim_mfma_result(&sim_mfma_table[p.row_of_table], p.lane, p.element, &row, &other);
        assert_int_equal(row, p.row);
        assert_int_equal(other, p.other);
    }
}

/* Every element of A and D has one place. */
TEST(layouts_are_complete) {
    for (const sim_mfma &s : sim_mfma_table) {
        std::vector<int> a(static_cast<size_t>(s.m * s.k)), d(static_cast<size_t>(s.m * s.n));
        int row, other;
        for (int lane = 0; lane < SIM_MFMA_LANES; lane++) {
            for (int e = 0; e < sim_mfma_k_lane(&s); e++) {
                sim_mfma_operand(&s, lane, e, &row, &other);
                a[static_cast<size_t>(row * s.k + other)]++;
            }
            for (int r = 0; r < s.m * s.n / SIM_MFMA_LANES; r++) {
                sim_mfma_result(&s, lane, r, &row, &other);
                d[static_cast<size_t>(row * s.n + other)]++;
            }
        }
        assert_true(a == std::vector<int>(a.size(), 1));
        assert_true(d == std::vector<int>(d.size(), 1));
    }
}

/* ---- arithmetic: element [0][0] of one instruction, whose first row and column are given */

struct wavefront {
    unsigned a[SIM_MFMA_LANES][2] = {}, b[SIM_MFMA_LANES][2] = {};
    union {
        float f[16];
        int i[16];
    } d[SIM_MFMA_LANES] = {};
    const unsigned *pa[SIM_MFMA_LANES], *pb[SIM_MFMA_LANES];
    void *pd[SIM_MFMA_LANES];

    wavefront() {
        for (int lane = 0; lane < SIM_MFMA_LANES; lane++) {
            pa[lane] = a[lane];
            pb[lane] = b[lane];
            pd[lane] = &d[lane];
        }
    }
    void put(const sim_mfma &s, unsigned (*operand)[2], int k, unsigned bits) {
        const int q = sim_mfma_k_lane(&s), lane = k / q * s.m, element = k % q;
        if (s.type == SIM_MFMA_F32)
            operand[lane][0] = bits;
        else if (s.type == SIM_MFMA_I8)
            operand[lane][0] |= (bits & 0xffu) << (element * 8);
        else
            operand[lane][element / 2] |= (bits & 0xffffu) << (element % 2 * 16);
    }
};

static unsigned bits_of_type(sim_mfma_type type, float x) {
    return type == SIM_MFMA_F16    ? sim_f16_rn(x)
           : type == SIM_MFMA_BF16 ? ht_as_uint(x) >> 16
           : type == SIM_MFMA_F32  ? ht_as_uint(x)
                                   : static_cast<unsigned>(x);
}

static float dot(int row, float c, std::vector<float> x, std::vector<float> y) {
    const sim_mfma &s = sim_mfma_table[row];
    wavefront w;
    for (size_t k = 0; k < x.size(); k++) {
        w.put(s, w.a, static_cast<int>(k), bits_of_type(s.type, x[k]));
        w.put(s, w.b, static_cast<int>(k), bits_of_type(s.type, y[k]));
    }
    w.d[0].f[0] = c;
    sim_mfma_run(&s, w.pd, w.pa, w.pb);
    return w.d[0].f[0];
}

static float pow2(int e) {
    return std::ldexp(1.0f, e);
}

TEST(rounding_is_to_nearest_in_groups_of_four) {
    for (int row : {0, 1, 2, 4}) {
        /* 2^-24 beside 1 is a tie: even, so it vanishes; two of them in one group are 2^-23 and stay */
        assert_true(dot(row, 1, {pow2(-12)}, {pow2(-12)}) == 1);
        assert_true(dot(row, 1, {pow2(-12), pow2(-12)}, {pow2(-12), pow2(-12)}) == 1 + pow2(-23));
        /* in two groups each meets c alone */
        assert_true(dot(row, 1, {pow2(-12), 0, 0, 0, pow2(-12)}, {pow2(-12), 0, 0, 0, pow2(-12)}) == 1);
        /* a tie at an odd number goes up: no truncation */
        assert_true(dot(row, 1 + pow2(-23), {pow2(-12)}, {pow2(-12)}) == 1 + pow2(-22));
        /* pairs are added first: (1 + 2^-24) + (-1 + 2^-24) keeps nothing, (1 - 1) + (2^-24 + 2^-24) everything */
        assert_true(dot(row, 0, {1, pow2(-12), -1, pow2(-12)}, {1, pow2(-12), 1, pow2(-12)}) == pow2(-24));
        assert_true(dot(row, 0, {1, -1, pow2(-12), pow2(-12)}, {1, 1, pow2(-12), pow2(-12)}) == pow2(-23));
    }
}

TEST(subnormals_are_flushed) {
    assert_true(dot(0, 1, {pow2(-15)}, {1024}) == 1);            /* FP16 input below 2^-14 */
    assert_true(dot(0, 1, {pow2(-14)}, {1024}) == 1 + pow2(-4)); /* the smallest normal one stays */
    assert_true(dot(2, 0, {pow2(-126)}, {0.5f}) == 0);           /* FP32 result below 2^-126 */
    assert_true(dot(2, 0, {pow2(-127)}, {pow2(20)}) == 0);       /* BF16 input */
    assert_true(dot(2, 0, {pow2(-126)}, {1}) == pow2(-126));
    assert_true(dot(0, pow2(-127), {0}, {0}) == 0); /* c */
    assert_true(std::isnan(dot(0, 0, {INFINITY}, {0})));
    assert_true(dot(0, 0, {INFINITY}, {2}) == INFINITY);
}

/* Each k meets c alone, whole products are added, and nothing is flushed. */
TEST(fp32_is_multiply_adds) {
    enum { FP32 = 6 };
    assert_true(dot(FP32, 1, {pow2(-12)}, {pow2(-12)}) == 1);
    assert_true(dot(FP32, 1, {pow2(-12), pow2(-12)}, {pow2(-12), pow2(-12)}) == 1); /* a group of four would keep 2^-23 */
    assert_true(dot(FP32, 1 + pow2(-23), {pow2(-12)}, {pow2(-12)}) == 1 + pow2(-22));
    const float x = 1 + pow2(-23); /* x * x = 1 + 2^-22 + 2^-46: what is left of it has 24 bits, no product is rounded */
    assert_true(dot(FP32, -(1 + pow2(-22)), {x}, {x}) == pow2(-46));
    assert_true(dot(FP32, 0, {1, pow2(-24), -1, 0}, {1, 1, 1, 0}) == 0); /* in the order of k: 1 + 2^-24 is 1 */
    assert_true(dot(FP32, 0, {1, -1, pow2(-24), 0}, {1, 1, 1, 0}) == pow2(-24));
    assert_true(dot(FP32, 0, {pow2(-149)}, {pow2(20)}) == pow2(-129)); /* subnormal input, result, c */
    assert_true(dot(FP32, pow2(-149), {pow2(-75)}, {pow2(-74)}) == pow2(-148));
    assert_true(dot(FP32, 0, {pow2(100)}, {pow2(100)}) == INFINITY);
    assert_true(std::isnan(dot(FP32, 0, {INFINITY}, {0})) && std::isnan(dot(FP32, INFINITY, {-INFINITY}, {1})));
}

TEST(int8_is_exact) {
    for (int row : {3, 5}) {
        const sim_mfma &s = sim_mfma_table[row];
        wavefront w;
        for (int k = 0; k < s.k; k++) {
            w.put(s, w.a, k, static_cast<unsigned>(-128));
            w.put(s, w.b, k, static_cast<unsigned>(k % 2 ? 127 : -128));
        }
        w.d[0].i[0] = 2000000001;
        sim_mfma_run(&s, w.pd, w.pa, w.pb);
        assert_int_equal(w.d[0].i[0], 2000000001 + s.k / 2 * 128);
    }
}

/* ---- kernels */

struct probe_args {
    int what;
    float *out;
};
enum { MFMA, LDMATRIX, CP_ASYNC, RACE_IN_A_WAVEFRONT, RACE_BETWEEN_WAVEFRONTS, HALF_LEAVES };

/* One wavefront: identity times a matrix whose element (k, n) is k + n / 100. */
__global__ void probe(probe_args args) {
    const int lane = static_cast<int>(threadIdx.x) % 64;
    const unsigned smem = ht_smem_base<1024>();
    unsigned a[4] = {}, b[4] = {};
    float d[16] = {};
    switch (args.what) {
    case MFMA:
        for (int e = 0; e < 4; e++) {
            const int i = lane % 32, k = lane / 32 * 4 + e;
            a[e / 2] |= static_cast<unsigned>(ht_f16_rn(i == k ? 1.0f : 0.0f)) << (e % 2 * 16);
            b[e / 2] |= static_cast<unsigned>(ht_f16_rn(static_cast<float>(k * 32 + i))) << (e % 2 * 16);
        }
        ht_mfma_f32_32x32x8f16(d, a, b);
        for (int r = 0; r < 16; r++)
            ht_stg4(args.out + (r / 4 * 8 + lane / 32 * 4 + r % 4) * 32 + lane % 32, d[r]);
        break;
    case LDMATRIX:
        ht_ldmatrix_x4(a, smem);
        break;
    case CP_ASYNC:
        ht_cp_async16(smem, args.out);
        break;
    case RACE_IN_A_WAVEFRONT: /* lanes 0 and 40: one wavefront here, two warps elsewhere */
        if (lane == 0 || lane == 40)
            ht_sts4(smem, 1.0f);
        break;
    case RACE_BETWEEN_WAVEFRONTS:
        if (threadIdx.x % 64 == 0)
            ht_sts4(smem, 1.0f);
        break;
    case HALF_LEAVES:
        if (lane < 32)
            ht_mfma_f32_32x32x8f16(d, a, b);
        break;
    }
}

static int run(int what, unsigned threads, float *out) {
    return ht_launch(probe, 1, 1, 1, threads, 1024, nullptr, probe_args{what, out});
}

TEST(kernels_see_64_lanes) {
    device_array<float> out(32 * 32, -1.0f);
    float *const to = out.v.data();
    EXPECT_OK(run(MFMA, 64, to));
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            assert_true(out.v[static_cast<size_t>(i * 32 + j)] ==
                        (i < 8 ? static_cast<float>(i * 32 + j) : 0.0f));
    EXPECT_VIOLATION(run(LDMATRIX, 64, to), "ht_ldmatrix_x4 is no instruction of gfx90a, whose warps have 64 lanes");
    EXPECT_VIOLATION(run(CP_ASYNC, 64, to), "ht_cp_async16 is no instruction of gfx90a");
    EXPECT_VIOLATION(run(MFMA, 96, to), "last warp has only 32 threads; launch a multiple of 64 threads");
    EXPECT_VIOLATION(run(HALF_LEAVES, 64, to), "divergent ht_mfma_f32_32x32x8f16");
    EXPECT_VIOLATION(run(RACE_IN_A_WAVEFRONT, 64, to), "of the same warp, with nothing between them that orders lanes");
    EXPECT_VIOLATION(run(RACE_BETWEEN_WAVEFRONTS, 128, to), "of another warp, in the same barrier interval");
    assert_int_equal(ht_sim_set_model("sm80"), 0);
    EXPECT_VIOLATION(run(MFMA, 64, to), "ht_mfma_f32_32x32x8f16 is no instruction of sm80, whose warps have 32 lanes");
}

TEST(lds_is_64_kb) {
    assert_int_equal(ht_allow_smem(probe, 65536), 0);
    assert_int_not_equal(ht_allow_smem(probe, 65537), 0);
    assert_int_not_equal(ht_launch(probe, 1, 1, 1, 64, 65552, nullptr, probe_args{MFMA, nullptr}), 0);
    expect_text("65552 bytes of shared memory asked for, gfx90a has 65536 for a block");
}

ON_MODEL("gfx90a")
