/* The simulator's warpgroup MMA with A in registers and B stored by threads: results in every layout of B, and each rule that a
 * kernel breaks is named (runtime/sim/sim_async.h). */
#include "kernel_test.h"

enum { ROWS = 64, K = 16, THREADS = 128, SMEM = 16 * 1024, OUT = ROWS * 64 };
static const char *const seeds[] = {"0", "1", "2", "77"};

enum fault { RIGHT, NO_ASYNC_FENCE, NO_BARRIER, FENCE_BEFORE_STORE, A_WRITTEN, OFF_LINE, TOO_WIDE, NO_SUCH_SWIZZLE, WRONG_STRIDE };

struct probe_args {
    fault what;
    const float *a, *b; /* 64 x 16 and columns x 16, small integers, row by row */
    float *out;         /* 64 x columns */
};

static unsigned bf16(float x) {
    return ht_bf16_bits(x);
}

/* Shared address of (column, k) of B as a plane of `columns` x 16: lines of `LINE` bytes, swizzled as wide. */
template <int LINE, int TRANS> HT_DEVICE unsigned place(int column, int k) {
    const int line = TRANS ? k : column, byte = 2 * (TRANS ? column : k);
    const unsigned at = ht_smem_base() + (unsigned)(line * LINE + byte);
    return at ^ (at >> 7 & (unsigned)(LINE / 16 - 1)) << 4;
}

template <int LINE> HT_DEVICE unsigned long long descriptor(const probe_args &args) {
    const unsigned long long swizzle = args.what == NO_SUCH_SWIZZLE ? 3 : LINE == 128 ? 1 : 2;
    const unsigned long long stride = args.what == WRONG_STRIDE ? LINE : LINE / 2; /* 8 lines in units of 16 bytes */
    return swizzle << 62 | stride << 32 | 1ull << 16 | (ht_smem_base() + (args.what == OFF_LINE ? LINE - 16 : 0)) / 16;
}

/* Pairs of two columns (TRANS) or two k, as threads can store four bytes. */
template <int N, int LINE, int TRANS> HT_DEVICE void store_columns(const float *b) {
    for (int i = (int)threadIdx.x; i < N * K / 2; i += THREADS) {
        const int column = TRANS ? i % (N / 2) * 2 : i / (K / 2), k = TRANS ? i / (N / 2) : i % (K / 2) * 2;
        const float x = ht_ldg4(b + column * K + k), y = ht_ldg4(b + (TRANS ? (column + 1) * K + k : column * K + k + 1));
        ht_sts4(place<LINE, TRANS>(column, k), ht_as_float(bf16(x) | bf16(y) << 16));
    }
}

template <int N, int LINE, int TRANS> void kernel(probe_args args) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    unsigned a[4];
    for (int r = 0; r < 4; r++) {
        const float *from = args.a + (warp * 16 + g + r % 2 * 8) * K + t * 2 + r / 2 * 8;
        a[r] = bf16(ht_ldg4(from)) | bf16(ht_ldg4(from + 1)) << 16;
    }
    float d[N / 2];
    for (float &x : d)
        x = 0;
    if (args.what == FENCE_BEFORE_STORE)
        ht_async_fence();
    store_columns<N, LINE, TRANS>(args.b);
    if (args.what != NO_ASYNC_FENCE && args.what != FENCE_BEFORE_STORE)
        ht_async_fence();
    if (args.what != NO_BARRIER)
        ht_barrier();
    ht_wgmma_fence();
    if (args.what == TOO_WIDE)
        ht_wgmma_bf16_rows<1>(ht_width<N>(), d, a, descriptor<LINE / 2>(args), 1);
    else
        ht_wgmma_bf16_rows<TRANS>(ht_width<N>(), d, a, descriptor<LINE>(args), 1);
    ht_wgmma_commit();
    if (args.what == A_WRITTEN && lane == 7)
        a[2] ^= 1u;
    ht_wgmma_wait<0>();
    for (int i = 0; i < N / 2; i++)
        ht_stg4(args.out + (warp * 16 + g + i / 2 % 2 * 8) * N + i / 4 * 8 + t * 2 + i % 2, d[i]);
}

struct probe_case {
    device_array<float> a{ROWS * K}, b{64 * K}, out{OUT, -1.0f};
    probe_case() {
        for (size_t i = 0; i < a.v.size(); i++)
            a.v[i] = (float)((int)(i * 7 % 23) - 11);
        for (size_t i = 0; i < b.v.size(); i++)
            b.v[i] = (float)((int)(i * 5 % 19) - 9);
    }
    int run(void (*kernel)(probe_args), fault what) {
        ht_sim_clear_error();
        return ht_launch(kernel, 1, 1, 1, THREADS, SMEM, nullptr, (probe_args{what, a.v.data(), b.v.data(), out.v.data()}));
    }
};

static void expect_product(void (*kernel)(probe_args), int columns) {
    for (const char *seed : seeds) {
        probe_case test;
        set_schedule(seed);
        assert_int_equal(test.run(kernel, RIGHT), 0);
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < columns; column++) {
                float sum = 0;
                for (int k = 0; k < K; k++)
                    sum += test.a.v[(size_t)(row * K + k)] * test.b.v[(size_t)(column * K + k)];
                assert_true(sum == test.out.v[(size_t)(row * columns + column)]);
            }
        }
    }
}

TEST(products_in_every_layout) {
    expect_product(kernel<32, 64, 0>, 32);
    expect_product(kernel<64, 64, 0>, 64);
    expect_product(kernel<64, 128, 0>, 64);
    expect_product(kernel<32, 64, 1>, 32);
    expect_product(kernel<64, 128, 1>, 64);
}

TEST(broken_rules) {
    static const struct {
        fault what;
        const char *part;
    } list[] = {
        {NO_ASYNC_FENCE, ", with no ht_async_fence since"},
        {FENCE_BEFORE_STORE, ", with no ht_async_fence since"},
        {NO_BARRIER, "with no order behind its ht_async_fence since"},
        {A_WRITTEN, "registers of operand A were written between the issue of their wgmma and the wait"},
        {OFF_LINE, "the start's offset from a multiple of 1024 bytes"},
        {TOO_WIDE, "64 rows do not fit the lines of operand B"},
        {NO_SUCH_SWIZZLE, "the swizzle code (bits 62, 63) in the descriptor of operand B is 3"},
        {WRONG_STRIDE, "the stride (bits 32 to 45) in the descriptor of operand B"},
    };
    for (const auto &broken : list) {
        for (const char *seed : seeds) {
            probe_case test;
            set_schedule(seed);
            const int code = test.run(kernel<64, 128, 1>, broken.what);
            const bool other = broken.what == NO_BARRIER && strstr(ht_sim_error(), "uninitialised") != nullptr; /* who comes first */
            if (code != HT_SIM_VIOLATION || (strstr(ht_sim_error(), broken.part) == nullptr && !other))
                fail_msg("case %d, seed %s: '%s' is not in: %s", broken.what, seed, broken.part, ht_sim_error());
        }
    }
    ht_sim_clear_error();
}

/* ---- barriers of a part of the block's warps */

struct group_args {
    int what; /* 1: one group waits for a thread more than it has; 2: nothing orders the two groups, whose numbers are read */
    float *out;
};

/* Two groups of two warps hand numbers round, each in its own time: group 1 meets more often. */
static void meet(group_args args) {
    const int group = (int)threadIdx.x / 64, member = (int)threadIdx.x % 64;
    const unsigned own = ht_smem_base() + (unsigned)group * 256;
    float x = (float)threadIdx.x;
    for (int i = 0; i <= group; i++) {
        ht_sts4(own + (unsigned)member * 4, x);
        if (args.what == 1 && group == 1)
            ht_group_barrier<2, 96>(group);
        else
            ht_group_barrier<2, 64>(group);
        x = ht_lds4(own + (unsigned)((member + 33) % 64) * 4);
        ht_group_barrier<2, 64>(group);
    }
    if (args.what == 2)
        x = ht_lds4(ht_smem_base() + (unsigned)((threadIdx.x + 64) % 128) * 4);
    ht_stg4(args.out + threadIdx.x, x);
}

TEST(groups_of_warps) {
    for (const char *seed : seeds) {
        device_array<float> out(THREADS, -1.0f);
        set_schedule(seed);
        for (int what = 0; what < 3; what++) {
            ht_sim_clear_error();
            const int code = ht_launch(meet, 1, 1, 1, THREADS, SMEM, nullptr, (group_args{what, out.v.data()}));
            assert_int_equal(code, what == 0 ? 0 : HT_SIM_VIOLATION);
            if (what == 0) {
                for (int i = 0; i < THREADS; i++)
                    assert_true(out.v[(size_t)i] == (float)(i < 64 ? (i + 33) % 64 : 64 + (i + 2) % 64));
            } else {
                expect_text(what == 1 ? "ht_group_barrier" : "with nothing between them that orders the two");
            }
        }
    }
    ht_sim_clear_error();
}

ON_MODEL("sm90")
