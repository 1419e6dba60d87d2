/* The simulator's execution and checks: right kernels give right bits whatever the order of warps and the
 * number of host threads, and each kind of wrong kernel is caught by name. */
#include "kernel_test.h"

#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

/* ---- a pipelined product, and what can be forgotten in it ---- */

enum fault {
    NO_FAULT,
    NO_WAIT,          /* the copies are never waited for */
    NO_COMMIT,        /* they are waited for, but never committed */
    WAIT_TOO_FEW,     /* the wait leaves the needed group pending */
    NO_BARRIER,       /* waited for, but no barrier before other threads read */
    NO_REUSE_BARRIER, /* the next copy overwrites what others still read */
    DIVERGENT_MMA,
    DIVERGENT_SITE,
    EARLY_EXIT,
    DIVERGENT_BARRIER
};

struct product_args {
    const uint16_t *a, *b; /* a: rows x k, b: 32 x k (column n at b + n * k), FP16 */
    float *c;              /* rows x 32 */
    int k;
};
enum {
    TILE_ROWS = 64,
    TILE_COLS = 32,
    STEP_K = 16,
    ROW_BYTES = 32,
    STAGE_BYTES = (TILE_ROWS + TILE_COLS) * ROW_BYTES
};
enum { PRODUCT_THREADS = 128, PRODUCT_SMEM = 2 * STAGE_BYTES };

/* 96 rows of two 16-byte chunks; a row is an A row or a B column. */
template <int FAULT> HT_DEVICE void copy_stage(const product_args &args, int step, int stage) {
    for (unsigned chunk = threadIdx.x; chunk < 2 * (TILE_ROWS + TILE_COLS); chunk += PRODUCT_THREADS) {
        unsigned row = chunk / 2, half = chunk % 2;
        const uint16_t *source = row < TILE_ROWS ? args.a + (blockIdx.x * TILE_ROWS + row) * (unsigned)args.k
                                                 : args.b + (row - TILE_ROWS) * (unsigned)args.k;
        ht_cp_async16(ht_smem_base() + (unsigned)stage * STAGE_BYTES + row * ROW_BYTES + half * 16,
                      source + step * STEP_K + (int)half * 8);
    }
    if (FAULT != NO_COMMIT)
        ht_cp_async_commit();
}

/* One warp: 16 rows x 32 columns. */
template <int FAULT> HT_DEVICE void multiply_stage(float d[4][4], int stage) {
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned base = ht_smem_base() + (unsigned)stage * STAGE_BYTES;
    unsigned a[4], b[2][4];
    /* Matrices of A: rows 0-7 and 8-15 at k 0-7, then at k 8-15. Of B: n 0-7 at k 0-7, k 8-15; n 8-15
     * likewise. */
    ht_ldmatrix_x4(a, base + (warp * 16 + lane % 16) * ROW_BYTES + lane / 16 * 16);
    for (unsigned pair = 0; pair < 2; pair++) {
        unsigned column = pair * 16 + lane / 16 * 8 + lane % 8;
        ht_ldmatrix_x4(b[pair], base + (TILE_ROWS + column) * ROW_BYTES + lane / 8 % 2 * 16);
    }
    if (FAULT == DIVERGENT_MMA && warp == 2 && lane == 7)
        return;
    if (FAULT == DIVERGENT_SITE && warp == 1 && lane >= 16) {
        for (int j = 0; j < 4; j++)
            ht_mma_f16_16816(d[j], a, &b[j / 2][j % 2 * 2]);
        return;
    }
    for (int j = 0; j < 4; j++)
        ht_mma_f16_16816(d[j], a, &b[j / 2][j % 2 * 2]);
}

template <int FAULT> __global__ void __launch_bounds__(PRODUCT_THREADS, 1) product(product_args args) {
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int steps = args.k / STEP_K;
    float d[4][4] = {};
    copy_stage<FAULT>(args, 0, 0);
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps)
            copy_stage<FAULT>(args, step + 1, (step + 1) % 2);
        else
            ht_cp_async_commit();
        if (FAULT == WAIT_TOO_FEW)
            ht_cp_async_wait<2>();
        else if (FAULT != NO_WAIT)
            ht_cp_async_wait<1>();
        if (FAULT != NO_BARRIER && !(FAULT == DIVERGENT_BARRIER && threadIdx.x == 70))
            ht_barrier();
        multiply_stage<FAULT>(d, step % 2);
        if (FAULT == EARLY_EXIT && warp == 3)
            return;
        if (FAULT != NO_REUSE_BARRIER)
            ht_barrier();
    }
    float *c = args.c + (blockIdx.x * TILE_ROWS + warp * 16 + lane / 4) * TILE_COLS + lane % 4 * 2;
    for (unsigned j = 0; j < 4; j++)
        for (unsigned i = 0; i < 4; i++)
            ht_stg4(c + i / 2 * 8 * TILE_COLS + j * 8 + i % 2, d[j][i]);
}

struct product_case {
    enum { K = 64, BLOCKS = 5, ROWS = BLOCKS * TILE_ROWS };
    device_array<uint16_t> a{ROWS * K}, b{TILE_COLS * K};
    device_array<float> c{ROWS * TILE_COLS, -1.0f};
    std::vector<float> expected = std::vector<float>(ROWS * TILE_COLS);
    product_args args = {a.v.data(), b.v.data(), c.v.data(), K};

    product_case() { /* small integers: every partial sum is exact */
        for (size_t i = 0; i < a.v.size(); i++)
            a.v[i] = ht_f16_rn((float)((int)(i * 7 % 23) - 11));
        for (size_t i = 0; i < b.v.size(); i++)
            b.v[i] = ht_f16_rn((float)((int)(i * 5 % 31) - 15));
        for (size_t row = 0; row < ROWS; row++)
            for (size_t col = 0; col < TILE_COLS; col++)
                for (size_t k = 0; k < K; k++)
                    expected[row * TILE_COLS + col] +=
                        ht_f16_value(a.v[row * K + k]) * ht_f16_value(b.v[col * K + k]);
    }
    template <int FAULT> int run() {
        return ht_launch(product<FAULT>, BLOCKS, 1, 1, PRODUCT_THREADS, PRODUCT_SMEM, nullptr, args);
    }
};

TEST(product_is_right_in_any_order) {
    for (const char *seed : {"0", "1", "2", "77", "123456789012"}) {
        for (const char *threads : {"1", "2", "3", "8"}) {
            set_schedule(seed, threads);
            product_case test;
            EXPECT_OK(test.run<NO_FAULT>());
            assert_memory_equal(test.c.v.data(), test.expected.data(), test.expected.size() * sizeof(float));
        }
    }
}

TEST(launches_share_the_simulator) {
    bool right[4] = {};
    std::vector<std::thread> hosts;
    for (bool &result : right)
        hosts.emplace_back([&result] {
            product_case test;
            result = test.run<NO_FAULT>() == 0 && test.c.v == test.expected;
        });
    for (std::thread &host : hosts)
        host.join();
    for (bool result : right)
        assert_true(result);
}

template <int FAULT> static void product_fails(const char *part) {
    std::string first;
    for (const char *seed : {"0", "5", "6"}) {
        for (const char *threads : {"1", "4"}) {
            set_schedule(seed, threads);
            product_case test;
            EXPECT_VIOLATION(test.run<FAULT>(), part);
            expect_text("'product<FAULT>' launched by run, block (0,0,0), thread ");
            if (threads[0] == '1')
                first = ht_sim_error();
            assert_string_equal(ht_sim_error(), first.c_str()); /* the host's threads do not show */
            ht_sim_clear_error();
            EXPECT_OK(test.run<NO_FAULT>()); /* the abandoned block leaves nothing behind */
            assert_memory_equal(test.c.v.data(), test.expected.data(), test.expected.size() * sizeof(float));
        }
    }
}

TEST(each_fault_is_caught) {
    product_fails<NO_WAIT>("while a cp.async of thread ");
    product_fails<NO_COMMIT>("(not waited for)");
    product_fails<WAIT_TOO_FEW>("is pending there (not waited for)");
    product_fails<NO_BARRIER>("with a wait but no barrier since; call ht_barrier between");
    product_fails<NO_REUSE_BARRIER>("shared memory race (write after read): ht_cp_async16");
    product_fails<DIVERGENT_MMA>("divergent ht_mma_f16_16816: thread 71 (warp 2, lane 7) is at ht_barrier");
    product_fails<DIVERGENT_SITE>("divergent ht_mma_f16_16816: thread 48 (warp 1, lane 16) is at ht_mma_f16_16816");
    product_fails<EARLY_EXIT>("divergent ht_barrier: thread 96 (warp 3, lane 0) has exited");
    product_fails<DIVERGENT_BARRIER>("divergent ht_ldmatrix_x4: thread 64 (warp 2, lane 0) is at ht_barrier");
}

TEST(divergence_names_another_place) {
    set_schedule("0", "1");
    product_case test;
    EXPECT_VIOLATION(test.run<DIVERGENT_SITE>(), "but at another place in the code");
}

/* ---- the smaller matrix instruction, and the models ---- */

struct small_mma_args {
    const uint16_t *a, *b; /* a: 16 x 8, b: 8 columns of 8 */
    float *c;              /* 16 x 8, added to */
};
__global__ void small_mma(small_mma_args args) {
    unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned a[2], b[1];
    memcpy(&a[0], args.a + g * 8 + 2 * t, 4);
    memcpy(&a[1], args.a + (g + 8) * 8 + 2 * t, 4);
    memcpy(&b[0], args.b + g * 8 + 2 * t, 4);
    float d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = ht_ldg4(args.c + (g + i / 2 * 8) * 8 + 2 * t + i % 2);
    ht_mma_f16_1688(d, a, b);
    for (unsigned i = 0; i < 4; i++)
        ht_stg4(args.c + (g + i / 2 * 8) * 8 + 2 * t + i % 2, d[i]);
}

struct fp64_mma_args {
    const float *a, *b; /* a: 16 x 16, b: 8 columns of 16 */
    float *c;           /* 16 x 8: what joins 2^40, of which FP32 would lose all below 2^17 */
    bool halves;        /* 8 k at once */
};
__global__ void fp64_mma(fp64_mma_args args) {
    const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
    double a[8], b[4], d[4] = {0x1p40, 0x1p40, 0x1p40, 0x1p40};
    for (unsigned i = 0; i < 8; i++)
        a[i] = ht_ldg4(args.a + (g + i % 2 * 8) * 16 + t + i / 2 * 4);
    for (unsigned i = 0; i < 4; i++)
        b[i] = ht_ldg4(args.b + g * 16 + t + i * 4);
    if (args.halves) {
        ht_mma_f64_1688(d, a, b);
        ht_mma_f64_1688(d, a + 4, b + 2);
    } else {
        ht_mma_f64_16816(d, a, b);
    }
    for (unsigned i = 0; i < 4; i++)
        ht_stg4(args.c + (g + i / 2 * 8) * 8 + 2 * t + i % 2, (float)(d[i] - 0x1p40));
}

/* Numbers that no exchange of rows, columns or k leaves alone; sums that FP32 could not hold. */
TEST(fp64_mma_is_right) {
    device_array<float> a(16 * 16), b(8 * 16), c(16 * 8, -1.0f);
    for (unsigned i = 0; i < 256; i++)
        a.v[i] = (float)(i / 16 * 31 + (i % 16) * (i % 16) * 7 + 1);
    for (unsigned i = 0; i < 128; i++)
        b.v[i] = (float)((int)(i / 16 * 19 + i % 16 * 3) - 60);
    for (int halves = 0; halves < 2; halves++) {
        EXPECT_OK(ht_launch(fp64_mma, 1, 1, 1, 32, 0, nullptr, (fp64_mma_args{a.v.data(), b.v.data(), c.v.data(), halves == 1})));
        for (unsigned i = 0; i < 128; i++) {
            float sum = 0;
            for (unsigned k = 0; k < 16; k++)
                sum += a.v[i / 8 * 16 + k] * b.v[i % 8 * 16 + k];
            assert_true(c.v[i] == sum);
        }
    }
}

TEST(small_mma_is_right) {
    device_array<uint16_t> a(16 * 8), b(8 * 8);
    device_array<float> c(16 * 8);
    std::vector<float> expected(16 * 8);
    for (size_t i = 0; i < a.v.size(); i++)
        a.v[i] = ht_f16_rn((float)i - 60);
    for (size_t i = 0; i < b.v.size(); i++)
        b.v[i] = ht_f16_rn((float)(i * i % 37) - 18);
    for (size_t i = 0; i < c.v.size(); i++) {
        c.v[i] = expected[i] = (float)i * 3 - 100;
        for (size_t k = 0; k < 8; k++)
            expected[i] += ht_f16_value(a.v[i / 8 * 8 + k]) * ht_f16_value(b.v[i % 8 * 8 + k]);
    }
    EXPECT_OK(
        ht_launch(small_mma, 1, 1, 1, 32, 0, nullptr, (small_mma_args{a.v.data(), b.v.data(), c.v.data()})));
    assert_memory_equal(c.v.data(), expected.data(), expected.size() * sizeof(float));
}

/* 1 + 4 * 2^-25 needs 25 alignment bits. */
static float run_model_case() {
    device_array<uint16_t> a(16 * 8), b(8 * 8);
    device_array<float> c(16 * 8, 1.0f);
    for (size_t i = 0; i < 4; i++) {
        a.v[i] = ht_f16_rn(0x1p-12f);
        b.v[i] = ht_f16_rn(0x1p-13f);
    }
    assert_int_equal(
        ht_launch(small_mma, 1, 1, 1, 32, 0, nullptr, (small_mma_args{a.v.data(), b.v.data(), c.v.data()})),
        0);
    assert_true(c.v[1] == 1.0f);
    return c.v[0];
}

TEST(model_is_chosen) {
    assert_true(run_model_case() == 1.0f);
    assert_int_equal(ht_sim_set_model("sm90"), 0);
    assert_true(run_model_case() == 1.0f + 0x1p-23f);
    setenv("HALFTONE_SIM_MODEL", "sm75", 1);
    assert_true(run_model_case() == 1.0f);
    setenv("HALFTONE_SIM_MODEL", "sm42", 1);
    device_array<float> c(16 * 8);
    assert_int_not_equal(
        ht_launch(small_mma, 1, 1, 1, 32, 0, nullptr, (small_mma_args{nullptr, nullptr, c.v.data()})), 0);
    expect_text("HALFTONE_SIM_MODEL names no model");
    assert_int_equal(ht_sim_set_model("sm80"), HT_SIM_BAD_ENVIRONMENT);
    unsetenv("HALFTONE_SIM_MODEL");
    assert_int_equal(ht_sim_set_model("sm42"), 1);
    assert_int_equal(ht_sim_set_model(nullptr), 1);
    assert_true(run_model_case() == 1.0f + 0x1p-23f);
}

/* ---- too little memory ---- */

struct many_args {
    float *out;
};
static void many_threads(many_args a) {
    ht_barrier();
    ht_stg4(a.out + threadIdx.x, 1.0f);
}

/* The process may map no more than it has and `more` bytes. */
static void limit_memory(size_t more) {
    rlimit limit;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = more == SIZE_MAX ? limit.rlim_max : pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + more;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

/* Stacks for 1024 threads do not fit: an error of its own, which blames no kernel, and the next launch works. */
TEST(want_of_memory_is_no_violation) {
    device_array<float> out(1024);
    for (const char *threads : {"1", "4"}) {
        set_schedule("0", threads);
        ht_sim_clear_error();
        limit_memory(1 << 20);
        const int code = ht_launch(many_threads, 8, 1, 1, 1024, 0, nullptr, many_args{out.v.data()});
        limit_memory(SIZE_MAX);
        assert_int_equal(code, HT_SIM_NO_MEMORY);
        expect_text("the simulator has no memory left for a launch");
        assert_null(strstr(ht_sim_error(), "many_threads"));
    }
    ht_sim_clear_error();
    EXPECT_OK(ht_launch(many_threads, 8, 1, 1, 1024, 0, nullptr, many_args{out.v.data()}));
    assert_true(out.v[1023] == 1.0f);
}

/* ---- reductions, words between blocks, built-in variables ---- */

struct reduce_args {
    const int *in;
    int *out, *copy;
};
/* Each block: the sum of its threads' values by shfl and shared memory, and a copy by the words that blocks exchange. */
__global__ void reduce(reduce_args args) {
    unsigned index =
        ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    int v = ht_ldg_i32(args.in + index);
    ht_st_relaxed_i32(args.copy + index, ht_ld_relaxed_i32(args.in + index));
    for (int mask = 16; mask > 0; mask /= 2)
        v += ht_shfl_xor(v, mask);
    if (threadIdx.x % 32 == 0)
        ht_sts4(ht_smem_base() + threadIdx.x / 32 * 4, ht_as_float((unsigned)v));
    ht_barrier();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (unsigned w = 0; w < blockDim.x / 32; w++)
            sum += (int)ht_as_uint(ht_lds4(ht_smem_base() + 4 * w));
        ht_stg_i32(args.out + index / blockDim.x, sum);
    }
}

TEST(reductions_are_right) {
    enum { BLOCKS = 3 * 2 * 2, THREADS = 96 };
    for (const char *seed : {"0", "9"}) {
        set_schedule(seed, "3");
        device_array<int> in(BLOCKS * THREADS), out(BLOCKS), copy(BLOCKS * THREADS);
        for (size_t i = 0; i < in.v.size(); i++)
            in.v[i] = (int)(i * 2654435761u % 100003);
        EXPECT_OK(ht_launch(reduce, 3, 2, 2, THREADS, THREADS / 32 * 4, nullptr,
                            (reduce_args{in.v.data(), out.v.data(), copy.v.data()})));
        for (size_t block = 0; block < BLOCKS; block++) {
            int sum = 0;
            for (size_t i = 0; i < THREADS; i++)
                sum += in.v[block * THREADS + i];
            assert_int_equal(out.v[block], sum);
        }
        assert_true(copy.v == in.v);
    }
}

/* ---- single violations ---- */

struct probe_args;
#define CASE [[maybe_unused]] const probe_args &args, [[maybe_unused]] unsigned base, [[maybe_unused]] unsigned i
typedef void (*probe_case_of)(CASE);

struct probe_args {
    probe_case_of run;
    float *global; /* 64 floats, or as the rule says */
};

__global__ void probe(probe_args args) {
    args.run(args, ht_smem_base(), threadIdx.x);
}

static const uint4 zero = make_uint4(0, 0, 0, 0);

/* What is said of a broken rule, and what breaks it. */
static const struct {
    const char *part;
    probe_case_of run;
    size_t floats = 64;
} rules[] = {
    {"ht_lds4 reads uninitialised shared memory at byte 256",
     [](CASE) {
         ht_sts4(base + 4 * i, 1.0f);
         ht_barrier();
         (void)ht_lds4(base + 4 * (i + 1)); /* thread 63 reads one too many */
     }},
    {"ht_ldmatrix_x4 reads uninitialised shared memory at byte 0",
     [](CASE) { unsigned r[4] = {}; ht_ldmatrix_x4(r, base + 16 * (i % 32)); }},
    {"shared memory access out of bounds: ht_sts16 of 16 bytes at byte 1024 of 1024",
     [](CASE) {
         ht_sts16(base + 16 * (i + 1), zero); /* 1024 bytes: thread 63 ends at 1040 */
     }},
    {"shared memory access out of bounds: ht_sts4 of 4 bytes at byte -", [](CASE) { ht_sts4(4 * i, 1.0f); }},
    {"misaligned shared memory access: ht_sts16", [](CASE) { ht_sts16(base + 8, zero); }},
    {"shared memory access out of bounds: ht_ldmatrix_x4",
     [](CASE) {
         unsigned r[4] = {};
         ht_sts16(base + 16 * i, zero);
         ht_barrier();
         ht_ldmatrix_x4(r, base + 16 * (i + 1));
     }},
    {"global memory access out of bounds: ht_stg4 of 4 bytes at byte 256 of an allocation of 256",
     [](CASE) { ht_stg4(args.global + i + 1, 1.0f); }},
    {"global memory access out of bounds: ht_ldg4 of 4 bytes", [](CASE) { (void)ht_ldg4(args.global - 1); }},
    {"global memory access out of bounds: ht_ldg16 of 16 bytes at byte 240 of an allocation of 248",
     [](CASE) {
         (void)ht_ldg4(args.global);
         (void)ht_ldg16(args.global + 60); /* here the allocation has 62 */
     }, 62},
    {"misaligned global memory access: ht_ldg16", [](CASE) { (void)ht_ldg16(args.global + 1); }},
    {"global memory access out of bounds: ht_cp_async16",
     [](CASE) {
         ht_cp_async16(base + 16 * i, args.global + 4 * i); /* thread 16 is the first outside */
     }},
    {"global memory access out of bounds: ht_cp_async16_some of 16 bytes at byte 240 of an allocation of 248",
     [](CASE) { /* hardware reads the two that are there; compute-sanitizer sees four */
         ht_cp_async16_some(base + 16 * i, args.global + 60, 8, false);
     }, 62},
    {"ht_cp_async16_some copies 20 bytes to 16",
     [](CASE) { ht_cp_async16_some(base + 16 * i, args.global, 20, false); }},
    {"shared memory race (write after write): ht_sts4", [](CASE) { ht_sts4(base + i % 32 * 4, (float)i); }},
    {"of another warp, in the same barrier interval",
     [](CASE) {
         ht_sts4(base + 4 * i, 0.0f);
         ht_barrier();
         ht_sts4(base + 4 * i, (float)i);
         (void)ht_lds4(base + 4 * (i ^ 32));
     }},
    {"shared memory race (write after read): ht_sts4 at byte 0 and thread 0 of another warp",
     [](CASE) {
         ht_sts4(base + 4 * i, (float)i);
         ht_barrier();
         if (i < 32)
             (void)ht_lds4(base + 4 * i);
         else
             ht_sts4(base + 4 * (i - 32), 1.0f);
     }},
    {"of the same warp, with nothing between them that orders lanes",
     [](CASE) {
         ht_sts4(base + 4 * i, 0.0f);
         ht_barrier();
         ht_sts4(base + 4 * i, (float)i);
         (void)ht_lds4(base + 4 * (i ^ 1));
     }},
    {"shared memory race (",
     [](CASE) { /* the last reader's own warp may write, were it the only one */
         ht_sts4(base + 4 * i, 0.0f);
         ht_barrier();
         (void)ht_shfl_xor(0, 1);
         (void)ht_lds4(base);
         (void)ht_shfl_xor(0, 1);
         if (i == 0)
             ht_sts4(base, 1.0f);
     }},
    {"shared memory race (write after read): ht_sts4 at byte 0 and thread 31 of the same warp",
     [](CASE) {
         ht_sts4(base + 4 * i, 0.0f);
         ht_barrier();
         if (i < 32)
             (void)ht_lds4(base);
         if (i == 31)
             ht_sts4(base, 1.0f);
     }},
    {"shared memory race (write after read): ht_sts4 at byte 0 and thread 3 of the same warp",
     [](CASE) {
         ht_sts4(base + 4 * i, 0.0f);
         ht_barrier();
         if (i == 3)
             (void)ht_lds4(base);
         if (i == 4)
             ht_sts4(base, 1.0f);
     }},
    {"shared memory race (read after write): ht_ldmatrix_x4",
     [](CASE) { /* each lane reads the row that it wrote, but the words go to other lanes */
         unsigned r[4] = {};
         ht_sts16(base + 16 * i, zero);
         ht_ldmatrix_x4(r, base + 16 * i);
     }},
    {"ht_cp_async16 overwrites shared byte 0 while a cp.async of thread 0 is pending",
     [](CASE) {
         ht_cp_async16(base + 16 * i, args.global);
         ht_cp_async_commit();
         ht_cp_async16(base + 16 * i, args.global);
     }},
    {"ht_sts16 overwrites shared byte 0 while a cp.async of thread 0 is pending",
     [](CASE) {
         ht_cp_async16(base + 16 * i, args.global);
         ht_cp_async_commit();
         ht_sts16(base + 16 * i, zero);
     }},
    {"ht_lds16 reads shared byte 0 while a cp.async of thread 0 is pending there (not waited for)",
     [](CASE) {
         ht_cp_async16(base + 16 * i, args.global);
         ht_cp_async_commit();
         (void)ht_lds16(base + 16 * i);
     }},
    {"divergent ht_shfl_xor: thread 40 (warp 1, lane 8) has exited",
     [](CASE) {
         if (i != 40)
             (void)ht_shfl_xor(1, 1);
     }},
    {"divergent ht_shfl_xor: thread 40 (warp 1, lane 8) is at ht_barrier",
     [](CASE) {
         if (i == 40)
             ht_barrier();
         else
             (void)ht_shfl_xor(1, 1);
     }},
    {"divergent ht_barrier: thread 5 (warp 0, lane 5) has exited",
     [](CASE) {
         if (i != 5)
             ht_barrier();
     }},
    {"ht_uniform of 1, where lane 0 has 0", [](CASE) { (void)ht_uniform((int)i / 48); }},
    {"divergent ht_shfl_xor: thread 16 (warp 0, lane 16) is at ht_mma_f16_16816",
     [](CASE) {
         float d[4] = {};
         unsigned r[4] = {}, b[2] = {};
         if (i % 32 < 16)
             (void)ht_shfl_xor(1, 1);
         else
             ht_mma_f16_16816(d, r, b);
     }},
};

/* And what is allowed. */
HT_DEVICE void own_waited(CASE) {
    ht_cp_async16(base + 16 * i, args.global + 4 * (i % 16));
    ht_cp_async_commit();
    ht_cp_async_wait<0>();
    ht_stg4(args.global + i, ht_as_float(ht_lds16(base + 16 * i).y));
}

/* thread i: i % 4 numbers and zeros, then a copy of none */
HT_DEVICE void part_waited(CASE) {
    unsigned r[4] = {};
    ht_cp_async16_some(base + 16 * i, args.global + i / 4 * 4, (int)(i % 4) * 4, false);
    ht_cp_async_commit();
    ht_cp_async_wait<0>();
    r[0] = ht_lds16(base + 16 * i).z;
    ht_cp_async4_some(base + 16 * i, args.global, 0);
    ht_cp_async_commit();
    ht_cp_async_wait<0>();
    ht_barrier(); /* all have read */
    ht_stg4(args.global + i, ht_as_float(r[0]) + ht_lds4(base + 16 * i));
}

HT_DEVICE void warp_ordered(CASE) {
    ht_sts4(base + 4 * i, (float)i);
    (void)ht_shfl_xor(0, 1);
    ht_stg4(args.global + i, ht_lds4(base + 4 * (i ^ 1)));
    (void)ht_shfl_xor(0, 1);
    ht_sts4(base + 4 * i, 0.0f);
}

HT_DEVICE void read_by_all(CASE) {
    if (i == 0)
        ht_sts4(base, 5.0f);
    ht_barrier();
    ht_stg4(args.global + i, ht_lds4(base));
    ht_barrier();
    ht_sts4(base + 4 * i, 0.0f);
}

/* The probed array is the first of two neighbours in one buffer, so that stepping over its end meets
 * unregistered memory that exists. */
struct probe_case {
    alignas(16) float memory[4 + 64 + 4] = {};
    explicit probe_case(size_t floats = 64) {
        ht_sim_register(memory + 4, floats * sizeof(float));
    }
    ~probe_case() {
        ht_sim_unregister(memory + 4);
    }
    int run(probe_case_of what) {
        return ht_launch(probe, 1, 1, 1, 64, 1024, nullptr, (probe_args{what, memory + 4}));
    }
};

TEST(single_violations) {
    for (const auto &rule : rules) {
        probe_case test(rule.floats);
        set_schedule("0", "1");
        EXPECT_VIOLATION(test.run(rule.run), rule.part);
        expect_text("kernel 'probe' launched by run, block (0,0,0), thread ");
        for (const char *seed : {"1", "2", "3"}) { /* another order may name another thread */
            set_schedule(seed, "1");
            ht_sim_clear_error();
            assert_int_equal(test.run(rule.run), HT_SIM_VIOLATION);
        }
    }
}

TEST(allowed_accesses) {
    for (const char *seed : {"0", "1", "2", "3"}) {
        set_schedule(seed, "1");
        probe_case test;
        float *global = test.memory + 4;
        for (int i = 0; i < 64; i++)
            global[i] = (float)i;
        EXPECT_OK(test.run(warp_ordered));
        for (int i = 0; i < 64; i++)
            assert_true(global[i] == (float)(i ^ 1));
        EXPECT_OK(test.run(read_by_all));
        assert_true(global[63] == 5.0f);
        for (int i = 0; i < 64; i++)
            global[i] = 7.0f;
        EXPECT_OK(test.run(own_waited));
        assert_true(global[63] == 7.0f);
        EXPECT_OK(test.run(part_waited));
        for (int i = 0; i < 64; i++)
            assert_true(global[i] == (i % 4 == 3 ? 7.0f : 0.0f));
    }
}

/* ---- which error, and what is refused ---- */

struct late_args {
    unsigned first_bad;
};
__global__ void fails_late(late_args args) {
    if (blockIdx.x >= args.first_bad)
        (void)ht_lds4(ht_smem_base());
}

TEST(first_failing_block_is_reported) {
    for (const char *threads : {"1", "2", "7"}) {
        set_schedule("0", threads);
        EXPECT_VIOLATION(ht_launch(fails_late, 200, 1, 1, 32, 16, nullptr, late_args{150}),
                         "block (150,0,0)");
    }
    /* The first error is kept, and later launches still say that they failed, or run. */
    assert_int_equal(ht_launch(fails_late, 9, 1, 1, 32, 16, nullptr, late_args{3}), HT_SIM_VIOLATION);
    expect_text("block (150,0,0)");
    assert_int_equal(ht_launch(fails_late, 9, 1, 1, 32, 16, nullptr, late_args{9}), 0);
    ht_sim_clear_error();
    assert_string_equal(ht_sim_error(), "");
}

__global__ void only_collective(late_args) {
    (void)ht_shfl_xor(1, 1);
}
__global__ void only_barrier(late_args) {
    ht_barrier();
}

TEST(refused_launches) {
    late_args args = {1000};
    assert_int_equal(ht_launch(fails_late, 0, 1, 1, 32, 16, nullptr, args), 9);
    expect_text("kernel 'fails_late' launched by refused_launches: grid or block size");
    assert_int_equal(ht_launch(fails_late, 1, 1, 70000, 32, 16, nullptr, args), 9);
    assert_int_equal(ht_launch(fails_late, 1, 1, 1, 1025, 16, nullptr, args), 9);
    assert_int_equal(ht_launch(fails_late, 1, 1, 1, 0, 16, nullptr, args), 9);
    ht_sim_clear_error();
    assert_int_equal(ht_launch(fails_late, 1, 1, 1, 32, 100000, nullptr, args), 1);
    expect_text("49152 allowed; call ht_allow_smem first");
    ht_sim_clear_error();
    assert_int_equal(ht_allow_smem(fails_late, 100000), 0);
    EXPECT_OK(ht_launch(fails_late, 1, 1, 1, 32, 100000, nullptr, args));
    assert_int_not_equal(ht_allow_smem(fails_late, 300000), 0);
    EXPECT_OK(ht_launch(only_barrier, 2, 1, 1, 50, 0, nullptr, args));
    EXPECT_VIOLATION(ht_launch(only_collective, 1, 1, 1, 50, 0, nullptr, args),
                     "last warp has only 18 threads");
    ht_sim_clear_error();
    EXPECT_OK(ht_launch(only_collective, 3, 1, 1, 1024, 0, nullptr, args));
}

TEST(host_calls_are_errors) {
    ht_barrier();
    expect_text("ht_barrier called outside a kernel");
    ht_sim_clear_error();
    float x = 1;
    assert_true(ht_ldg4(&x) == 0);
    expect_text("ht_ldg4 called outside a kernel");
}

TEST(unregistered_memory_is_out_of_bounds) {
    probe_case test;
    EXPECT_OK(test.run(read_by_all));
    ht_sim_unregister(test.memory + 4);
    EXPECT_VIOLATION(test.run(read_by_all), "global memory access out of bounds: ht_stg4");
}

/* ---- blocks that wait for others ---- */

struct chain_args {
    int *flags, *found; /* of each block */
    int blocks, broken; /* block that reads past the end; -1: none */
};

/* Every thread waits for the next block's flag, as long as packing would; found: how many saw it. */
static void chain(const chain_args args) {
    const int block = static_cast<int>(blockIdx.x);
    if (block == args.broken)
        (void)ht_ldg_i32(args.flags + args.blocks);
    ht_barrier();
    ht_st_relaxed_i32(args.flags + block, 1);
    bool there = block + 1 == args.blocks;
    for (int turn = 0; turn < 4096 && !there; turn++)
        there = ht_ld_relaxed_i32(args.flags + block + 1) != 0;
    ht_barrier();
    if (there && static_cast<int>(blockIdx.x) == block && gridDim.x == static_cast<unsigned>(args.blocks))
        ht_add_relaxed_i32(args.found + block, 1);
}

static int run_chain(const char *beside, int broken, int *whole) {
    enum { CHAIN = 20, CHAIN_THREADS = 64 };
    device_array<int> flags(CHAIN), found(CHAIN);
    if (beside != nullptr)
        setenv("HALFTONE_SIM_BESIDE", beside, 1);
    const int code = ht_launch(chain, CHAIN, 1, 1, CHAIN_THREADS, 0, nullptr, (chain_args{flags.v.data(), found.v.data(), CHAIN, broken}));
    unsetenv("HALFTONE_SIM_BESIDE");
    *whole = 0;
    for (int seen : found.v)
        *whole += seen == CHAIN_THREADS;
    return code;
}

TEST(waiting_blocks_let_others_run) {
    int whole;
    for (const char *seed : {"0", "7"}) {
        set_schedule(seed, "1");
        EXPECT_OK(run_chain(nullptr, -1, &whole));
        assert_int_equal(whole, 20);
        EXPECT_OK(run_chain("0", -1, &whole));
        assert_int_equal(whole, 1); /* one after the other: only the last waits for nothing */
        set_schedule(seed, "1");
        EXPECT_OK(run_chain("3", -1, &whole)); /* every fourth block waits in vain */
        assert_in_range(whole, 2, 19);
        EXPECT_VIOLATION(run_chain(nullptr, 5, &whole), "global memory access out of bounds: ht_ldg_i32");
        expect_text("block (5,0,0)");
        ht_sim_clear_error();
    }
}

ON_MODEL("sm80")
