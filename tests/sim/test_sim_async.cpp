/* The simulator's model of Hopper's asynchronous units (runtime/sim/sim_async.h): right kernels are right in any order
 * of warps and copies, and each rule that a kernel breaks is named. */
#include "kernel_test.h"

enum { ATOM = 8192, THREADS = 160, BARS = 3 * ATOM, SMEM = BARS + 64 };

static const char *const seeds[] = {"0", "1", "2", "3", "77"};

struct probe_args;
#define CASE [[maybe_unused]] const probe_args &args, [[maybe_unused]] unsigned base, [[maybe_unused]] unsigned i
typedef void (*rule_case)(CASE);
enum rule_by { BARE, ONE, ALL }; /* without set_up; behind it by thread 0 alone, or by all */

struct probe_args {
    int what;
    const unsigned char *atoms; /* 4 of them */
    float *out;                 /* one for each thread */
    rule_case run = nullptr;
};

/* One block's memory: atoms with the numbers 0, 1, 2, ... as floats; unregistered room behind. */
struct probe_case {
    alignas(16) unsigned char atoms[5 * ATOM];
    device_array<float> out{64 * 64, -1.0f};
    probe_case() {
        for (unsigned i = 0; i < sizeof atoms / 4; i++) {
            const float value = (float)i;
            memcpy(atoms + 4 * i, &value, 4);
        }
        ht_sim_register(atoms, 4 * ATOM);
    }
    ~probe_case() {
        ht_sim_unregister(atoms);
    }
    int run(void (*kernel)(probe_args), int what, unsigned threads = THREADS, rule_case rule = nullptr) {
        return ht_launch(kernel, 1, 1, 1, threads, SMEM, nullptr, (probe_args{what, atoms, out.v.data(), rule}));
    }
};

static bool says(const char *part) {
    return part != nullptr && strstr(ht_sim_error(), part) != nullptr;
}

/* What `run` does breaks a rule, in any order of warps and copies; the message has this in it, or the other where the order
 * decides who meets whom first. */
template <class Run> static void expect_caught(const char *part, const char *other, Run run) {
    for (const char *seed : seeds) {
        probe_case test;
        set_schedule(seed);
        ht_sim_clear_error();
        const int code = run(test);
        const bool caught = code == HT_SIM_VIOLATION && (says(part) || says(other));
        if (!caught)
            print_error("seed %s: neither '%s' nor '%s' is in: %s\n", seed, part, other != nullptr ? other : "",
                        ht_sim_error());
        assert_true(caught);
    }
    ht_sim_clear_error();
}

struct violation {
    int what;
    const char *part, *other = nullptr;
};

static void expect_violations(void (*kernel)(probe_args), const violation *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        expect_caught(list[i].part, list[i].other, [&](probe_case &test) { return test.run(kernel, list[i].what); });
}

HT_DEVICE unsigned bar(int i) {
    return ht_smem_base() + BARS + 8 * (unsigned)i;
}

/* Thread 0 sets up four barriers of one arrival. */
HT_DEVICE void set_up(void) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; i++)
            ht_mbar_init(bar(i), 1);
        ht_mbar_init_done();
    }
    ht_barrier();
}

HT_DEVICE void fetch(int slot, const unsigned char *from, int barrier) {
    ht_mbar_arrive_expect_tx(bar(barrier), ATOM);
    ht_bulk_copy(ht_smem_base() + (unsigned)slot * ATOM, from, ATOM, bar(barrier));
}

__global__ void broken(probe_args args) {
    if (args.what != BARE)
        set_up();
    if (args.what != ONE || threadIdx.x == 0)
        args.run(args, ht_smem_base(), threadIdx.x);
}

struct rule {
    const char *part;
    rule_case run;
    const char *other = nullptr;
};

template <size_t N> static void expect_rules(rule_by who, const rule (&rules)[N]) {
    for (const rule &rule : rules)
        expect_caught(rule.part, rule.other, [&](probe_case &test) { return test.run(broken, who, THREADS, rule.run); });
}

/* ---- mbarriers ---- */

/* Whoever waits for nobody. */
HT_DEVICE void nobody_arrives(CASE) {
    if (i >= 32 && i < 40)
        ht_mbar_wait(bar(1), 0);
}

TEST(mbarrier_rules) {
    static const rule bare[] = {
        {"ht_mbar_arrive: no mbarrier was initialised at shared byte 24576",
         [](CASE) { ht_mbar_arrive(bar(0)); }},
        {"misaligned shared memory access: ht_mbar_init", [](CASE) { ht_mbar_init(bar(0) + 4, 1); }},
        {"shared memory access out of bounds: ht_mbar_init",
         [](CASE) { ht_mbar_init(ht_smem_base() + SMEM, 1); }},
        {"ht_mbar_init: mbarrier number 1 with a count of 0", [](CASE) { ht_mbar_init(bar(0), 0); }},
        {"ht_mbar_init at shared byte 24576, inside an mbarrier",
         [](CASE) {
             if (i == 0) {
                 ht_mbar_init(bar(0), 1);
                 ht_mbar_init(bar(0), 2);
             }
         }},
        {"with no barrier since",
         [](CASE) {
             if (i == 0)
                 ht_mbar_init(bar(0), 1);
             else if (i == 1) {
                 while (true) /* whoever comes first is told */
                     ht_mbar_wait(bar(0), 1);
             }
         }, "ht_mbar_wait: no mbarrier was initialised"},
    };
    static const rule rules[] = {
        {"ht_mbar_arrive: the mbarrier at shared byte 24576 (phase 0) has all its arrivals already",
         [](CASE) {
             if (i == 0) {
                 ht_mbar_arrive_expect_tx(bar(0), 16);
                 ht_mbar_arrive(bar(0));
             }
         }},
        {"ht_mbar_wait for parity 2", [](CASE) { ht_mbar_wait(bar(0), 2); }},
        {"deadlock: nothing can move; thread 32 (line ", nobody_arrives},
        {"and 7 others wait for parity 0 of the mbarrier at shared byte 24584 (phase 0: 1 of 1 arrivals and 0 bytes missing)",
         nobody_arrives},
        {"waits for parity 1 of the mbarrier at shared byte 24592 (phase 1: 1 of 1 arrivals",
         [](CASE) { /* two phases, one arrival each: the second never comes */
             if (i == 64)
                 ht_mbar_arrive(bar(2));
             if (i == 0) {
                 ht_mbar_wait(bar(2), 0);
                 ht_mbar_wait(bar(2), 1);
             }
         }},
        {"deadlock: nothing can move; thread 3",
         [](CASE) {
             if (i == 3)
                 ht_mbar_wait(bar(0), 0);
             ht_barrier();
         }},
        {"ht_sts4 at shared byte 24584, inside an mbarrier",
         [](CASE) {
             if (i == 0)
                 ht_sts4(bar(1), 1.0f);
         }},
        {"ht_lds4 at shared byte 24584, inside an mbarrier",
         [](CASE) {
             if (i == 0)
                 (void)ht_lds4(bar(1));
         }},
    };
    expect_rules(BARE, bare);
    expect_rules(ALL, rules);
}

/* ---- copies ---- */

/* Warp 1 reads the first copy; nobody waits for it to be done. LATER: it reads once more than somebody knows of. */
template <bool LATER> HT_DEVICE void copy_over_read(CASE) {
    if (i < 32) {
        if (i == 0)
            fetch(0, args.atoms, 0);
        ht_mbar_wait(bar(0), 0);
        if (LATER && i == 0)
            ht_mbar_wait(bar(1), 0);
        if (i == 0)
            fetch(0, args.atoms, 2);
        if (i == 0)
            ht_mbar_wait(bar(2), 0);
    } else if (i < 64) {
        if (LATER && i == 32)
            ht_mbar_arrive(bar(1)); /* and reads after that */
        ht_mbar_wait(bar(0), 0);
        (void)ht_lds4(base + 4 * i);
    }
}

TEST(rules_of_one_thread_s_copies) {
    static const rule bare[] = {
        {"whose initialisation the copy engine was not told of",
         [](CASE) {
             if (i == 0)
                 ht_mbar_init(bar(0), 1);
             ht_barrier();
             if (i == 0)
                 fetch(0, args.atoms, 0);
         }},
    };
    static const rule by_one[] = {
        {"misaligned shared memory access: ht_bulk_copy of 16 bytes at shared address base + 8",
         [](CASE) { ht_bulk_copy(base + 8, args.atoms, 16, bar(0)); }},
        {"misaligned global memory access: ht_bulk_copy",
         [](CASE) { ht_bulk_copy(base, args.atoms + 8, 16, bar(0)); }},
        {"ht_bulk_copy of 24 bytes", [](CASE) { ht_bulk_copy(base, args.atoms, 24, bar(0)); }},
        {"ht_bulk_copy of 0 bytes", [](CASE) { ht_bulk_copy(base, args.atoms, 0, bar(0)); }},
        {"shared memory access out of bounds: ht_bulk_copy of 16384 bytes at byte 16384 of 24640",
         [](CASE) { ht_bulk_copy(base + 2 * ATOM, args.atoms, 2 * ATOM, bar(0)); }},
        {"global memory access out of bounds: ht_bulk_copy of 32 bytes at byte 32752",
         [](CASE) { ht_bulk_copy(base, args.atoms + 4 * ATOM - 16, 32, bar(0)); }},
        {"ht_lds4 reads shared byte 0 without having waited for the ht_bulk_copy of thread 0 there",
         [](CASE) { fetch(0, args.atoms, 0); (void)ht_lds4(base); }},
        {"ht_sts4 overwrites shared byte 4 without having waited for the ht_bulk_copy",
         [](CASE) { fetch(0, args.atoms, 0); ht_sts4(base + 4, 1.0f); }},
        {"ht_bulk_copy overwrites shared byte 0 without having waited for the ht_bulk_copy",
         [](CASE) { fetch(0, args.atoms, 0); fetch(0, args.atoms, 1); }},
        {"phase 0 of the mbarrier at shared byte 24576 completes without this ht_bulk_copy of 8192 bytes",
         [](CASE) { ht_bulk_copy(base, args.atoms, ATOM, bar(0)); ht_mbar_arrive(bar(0)); }},
        {"copies have brought 16 bytes more than were announced",
         [](CASE) { ht_mbar_arrive_expect_tx(bar(0), 16); ht_bulk_copy(base, args.atoms, 32, bar(0)); }},
        {"(phase 0: 0 of 1 arrivals and 16 bytes missing)",
         [](CASE) {
             ht_mbar_arrive_expect_tx(bar(0), 48);
             ht_bulk_copy(base, args.atoms, 32, bar(0));
             ht_mbar_wait(bar(0), 0);
         }},
        {"ht_mbar_arrive_expect_tx of -16 bytes", [](CASE) { ht_mbar_arrive_expect_tx(bar(0), -16); }},
        {"nobody has waited for the copies of phase 1",
         [](CASE) { fetch(0, args.atoms, 0); ht_mbar_wait(bar(0), 0); fetch(0, args.atoms, 0); }},
        {"nobody has waited for the copies of phase 0 of the mbarrier at shared byte 24576",
         [](CASE) { fetch(0, args.atoms, 0); }},
    };
    expect_rules(BARE, bare);
    expect_rules(ONE, by_one);
}

TEST(rules_of_copies_that_others_meet) {
    static const rule by_all[] = {
        {"without having waited for the ht_bulk_copy",
         [](CASE) { /* lane 0 waits; nothing tells lane 1 */
             if (i == 0) {
                 fetch(0, args.atoms, 0);
                 ht_mbar_wait(bar(0), 0);
             }
             if (i == 1)
                 (void)ht_lds4(base);
         }, "ht_lds4 reads uninitialised shared memory"},
        {"without having waited for the ht_bulk_copy",
         [](CASE) {
             if (i == 0) {
                 fetch(0, args.atoms, 0);
                 ht_mbar_wait(bar(0), 0);
             }
             if (i == 32)
                 (void)ht_lds4(base);
         }, "ht_lds4 reads uninitialised shared memory"},
        {"without having waited for the ht_bulk_copy of thread 0 there",
         [](CASE) { /* parity 1 of a fresh barrier passes at once */
             if (i == 0)
                 fetch(0, args.atoms, 0);
             (void)ht_shfl_xor(0, 1);
             if (i < 32) {
                 ht_mbar_wait(bar(0), 1);
                 (void)ht_lds4(base + 4 * i);
             }
         }, "deadlock: nothing can move; thread 0"},
        {"shared memory race (write after write): ht_bulk_copy",
         [](CASE) {
             if (i >= 32 && i < 64)
                 ht_sts4(base + 4 * i, 1.0f);
             if (i == 0)
                 fetch(0, args.atoms, 0);
             if (i == 0)
                 ht_mbar_wait(bar(0), 0);
         }, "ht_sts4 overwrites shared byte"},
        {"shared memory race (write after read): ht_bulk_copy",
         copy_over_read<false>, "ht_lds4 reads shared byte"},
        {"shared memory race (write after read): ht_bulk_copy",
         copy_over_read<true>, "ht_lds4 reads shared byte"},
    };
    expect_rules(ALL, by_all);
}

/* ---- what is allowed ---- */

/* Warp 4's lane 0 copies atoms through a ring of two; warps 0 to 3 read them in turn, add up, and release. */
__global__ void ring(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    if (i == 0) {
        for (int slot = 0; slot < 2; slot++) {
            ht_mbar_init(bar(slot), 1);
            ht_mbar_init(bar(2 + slot), 4);
        }
        ht_mbar_init_done();
    }
    ht_barrier();
    if (i == 128) {
        for (int step = 0; step < 8; step++) {
            const int slot = step % 2;
            ht_mbar_wait(bar(2 + slot), step / 2 % 2 == 0);
            ht_bulk_copy(base + (unsigned)slot * ATOM, args.atoms + step % 4 * ATOM, ATOM / 2,
                         bar(slot)); /* before it is announced */
            ht_mbar_arrive_expect_tx(bar(slot), ATOM);
            ht_bulk_copy(base + (unsigned)slot * ATOM + ATOM / 2, args.atoms + step % 4 * ATOM + ATOM / 2,
                         ATOM / 2, bar(slot));
        }
    } else if (i < 128) {
        float sum = 0;
        for (int step = 0; step < 8; step++) {
            const int slot = step % 2;
            if (i % 32 == 5) /* one lane waits, the others learn of it */
                ht_mbar_wait(bar(slot), step / 2 % 2 != 0);
            (void)ht_shfl_xor(0, 1);
            sum += ht_lds4(base + (unsigned)slot * ATOM + 16 * i) + ht_lds4(base + (unsigned)slot * ATOM);
            (void)ht_shfl_xor(0, 1);
            if (i % 32 == 7)
                ht_mbar_arrive(bar(2 + slot));
        }
        ht_stg4(args.out + i, sum);
    }
}

/* Ordinary stores handed from warp to warp by an mbarrier, there and back. */
__global__ void handover(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    set_up();
    if (i < 32) {
        ht_sts4(base + 4 * i, (float)i);
        (void)ht_shfl_xor(0, 1);
        if (i == 0)
            ht_mbar_arrive(bar(0));
        ht_mbar_wait(bar(1), 0);
        ht_sts4(base + 4 * i, 0.0f);
    } else if (i < 64) {
        ht_mbar_wait(bar(0), 0);
        ht_stg4(args.out + i - 32, ht_lds4(base + 4 * (i ^ 1) - 128));
        (void)ht_shfl_xor(0, 1);
        if (i == 63)
            ht_mbar_arrive(bar(1));
    }
}

/* The same without what orders the two: args.what says which part is left out. */
__global__ void broken_handover(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    set_up();
    if (i < 32) {
        if (args.what != 1)
            ht_sts4(base + 4 * i, (float)i);
        if (args.what != 0)
            (void)ht_shfl_xor(0, 1);
        if (i == 0)
            ht_mbar_arrive(bar(0));
        if (args.what == 1) /* after the arrival */
            ht_sts4(base + 4 * i, (float)i);
        if (args.what == 2)
            ht_sts4(base + 4 * i, 0.0f);
    } else if (i < 64) {
        ht_mbar_wait(bar(0), 0);
        (void)ht_lds4(base + 4 * (i ^ 1) - 128);
    }
}

/* What one lane's arrival does not cover: what it does afterwards, and what the other lanes of its warp do. */
__global__ void lone_arrival(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    set_up();
    if (args.what == 0) {
        if (i == 0) {
            ht_mbar_arrive(bar(0));
            ht_sts4(base, 1.0f);
        }
        if (i == 32) {
            ht_mbar_wait(bar(0), 0);
            (void)ht_lds4(base);
        }
        return;
    }
    if (i == 0)
        ht_sts4(base, 1.0f);
    ht_barrier();
    if (i < 32) {
        (void)ht_lds4(base);
        if (i == 31)
            ht_mbar_arrive(bar(0));
    }
    if (i == 32) {
        ht_mbar_wait(bar(0), 0);
        ht_sts4(base, 2.0f);
    }
}

TEST(orders) {
    for (const char *seed : seeds) {
        set_schedule(seed);
        probe_case test;
        EXPECT_OK(test.run(ring, 0));
        for (int i = 0; i < 128;
             i++) /* of atoms a = 0..3, twice: elements 4 i and 0, 2048 a + 4 i and 2048 a */
            assert_true(test.out.v[(size_t)i] == (float)(2 * (4 * 4 * i + 2 * 2048 * (0 + 1 + 2 + 3))));
        EXPECT_OK(test.run(handover, 0));
        for (int i = 0; i < 32; i++)
            assert_true(test.out.v[(size_t)i] == (float)(i ^ 1));
    }
    static const violation list[] = {{0, "shared memory race (read after write): ht_lds4"},
                                     {1, "shared memory race (", "ht_lds4 reads uninitialised shared memory"},
                                     {2, "shared memory race ("}};
    expect_violations(broken_handover, list, 3);
    static const violation lone[] = {{0, "shared memory race (", "ht_lds4 reads uninitialised shared memory"},
                                     {1, "shared memory race ("}};
    expect_violations(lone_arrival, lone, 2);
}

/* ---- wgmma ---- */

/* Two atoms of 64 rows x 64 halves; d = a * b^T over all 64 k, or one rule broken: by what is left out or added at the end, or by what a
 * rule does at its place in the product. */
enum {
    RIGHT,
    NO_FENCE_AT_START,
    NO_FENCE_AFTER_WAIT,
    NO_THIRD_FENCE,
    NO_FENCE_FOR_OTHERS,
    NO_COMMIT,
    WAIT_TOO_FEW,
    ENDS_IN_FLIGHT,
    ENDS_UNCOMMITTED,
    WARP_LEAVES,
    WARP_MISSES_LAST,
    NO_WAIT_FOR_COPY,
    PLAIN_OPERAND,
    COPY_AFTER_WAIT,
    AT_START,
    AFTER_ISSUE,
    AFTER_COMMIT
};

HT_DEVICE unsigned long long descriptor(unsigned smem) {
    return 1ull << 62 | 64ull << 32 | 1ull << 16 | smem / 16;
}

HT_DEVICE void multiply(float *d, unsigned long long a, unsigned long long b, int first) {
    for (unsigned k = (unsigned)first; k < 4; k++)
        ht_wgmma_f16(ht_width<64>(), d, a + 2 * k, b + 2 * k, k > 0);
}

/* What a rule is given besides: the accumulators and both descriptors. */
#define IN_PRODUCT CASE, [[maybe_unused]] float *d, [[maybe_unused]] unsigned long long a, [[maybe_unused]] unsigned long long b
struct product_rule {
    int where;
    const char *part;
    void (*run)(IN_PRODUCT);
};
static const product_rule *rule_in_product; /* of the launch */

HT_DEVICE void break_rule(const probe_args &args, int where, float *d, unsigned long long a, unsigned long long b) {
    if (args.what == where)
        rule_in_product->run(args, ht_smem_base(), threadIdx.x, d, a, b);
}

__global__ void product(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    const unsigned long long a = descriptor(base), b = descriptor(base + ATOM);
    float d[32];
    set_up();
    break_rule(args, AT_START, d, a, b);
    if (i >= 128)
        return;
    for (unsigned at = i * 16; args.what == PLAIN_OPERAND && at < ATOM; at += 128 * 16)
        ht_sts16(base + 2 * ATOM + at, make_uint4(0, 0, 0, 0));
    if (i == 0) {
        ht_mbar_arrive_expect_tx(bar(0), 2 * ATOM);
        ht_bulk_copy(base, args.atoms, ATOM, bar(0));
        ht_bulk_copy(base + ATOM, args.atoms + ATOM, ATOM, bar(0));
    }
    if (args.what != NO_WAIT_FOR_COPY || i < 32)
        ht_mbar_wait(bar(0), 0);
    if (args.what != NO_FENCE_AT_START)
        ht_wgmma_fence();
    if (args.what == WARP_LEAVES && i / 32 == 3)
        return;
    multiply(d, a, b, 0);
    break_rule(args, AFTER_ISSUE, d, a, b);
    if (args.what == PLAIN_OPERAND) /* stored by threads, and not made known */
        ht_wgmma_f16(ht_width<64>(), d, descriptor(base + 2 * ATOM), b, 1);
    if (args.what == ENDS_UNCOMMITTED)
        return;
    if (args.what != NO_COMMIT)
        ht_wgmma_commit();
    break_rule(args, AFTER_COMMIT, d, a, b);
    if (args.what == ENDS_IN_FLIGHT || (args.what == WARP_MISSES_LAST && i / 32 == 1))
        return;
    if (args.what == WAIT_TOO_FEW)
        ht_wgmma_wait<1>();
    else
        ht_wgmma_wait<0>();
    ht_wgmma_fence_operand<32>(d);
    if (args.what == COPY_AFTER_WAIT && i == 0) /* the other warps may still read */
        fetch(1, args.atoms, 2);
    if (args.what == NO_THIRD_FENCE) {
        ht_wgmma_fence();
        multiply(d, a, b, 3);
        ht_wgmma_commit();
        ht_wgmma_wait<0>();
    }
    if (args.what == NO_FENCE_AFTER_WAIT || args.what == NO_THIRD_FENCE)
        multiply(d, a, b, 3);
    float others[32];
    if (args.what == NO_FENCE_FOR_OTHERS)
        multiply(others, a, b, 0);
    for (unsigned j = 0; args.what == RIGHT && j < 32; j++)
        ht_stg4(args.out + (i / 32 * 16 + i % 32 / 4 + j / 2 % 2 * 8) * 64 + j / 4 * 8 + i % 4 * 2 + j % 2,
                d[j]);
}

TEST(wgmma_rules) {
    static const violation list[] = {
        {NO_FENCE_AT_START, "ht_wgmma without ht_wgmma_fence"},
        {NO_THIRD_FENCE, "ht_wgmma without ht_wgmma_fence"},
        {NO_FENCE_FOR_OTHERS, "ht_wgmma without ht_wgmma_fence"},
        {NO_FENCE_AFTER_WAIT, "ht_wgmma without ht_wgmma_fence"},
        {NO_COMMIT, "ht_wgmma_wait with 4 wgmmas not committed"},
        {WAIT_TOO_FEW, "ht_wgmma_fence_operand of accumulators in flight"},
        {ENDS_IN_FLIGHT, "ends with 4 wgmmas in flight, 0 of them not committed"},
        {ENDS_UNCOMMITTED, "ends with 4 wgmmas in flight, 4 of them not committed"},
        {WARP_LEAVES, "divergent ht_wgmma: other warps of the warpgroup made the call, this one has exited"},
        {WARP_MISSES_LAST, "ends with 4 wgmmas in flight"},
        {NO_WAIT_FOR_COPY, "without having waited for the ht_bulk_copy", "ht_wgmma reads uninitialised"},
        {PLAIN_OPERAND, ", with no ht_async_fence since"},
        {COPY_AFTER_WAIT, "ht_bulk_copy overwrites shared byte 8192, which a wgmma of warp "},
    };
    static const product_rule rules[] = {
        {AFTER_COMMIT, "accumulator register 3 was written between the issue of its wgmma and the wait",
         [](IN_PRODUCT) {
             if (i == 70)
                 d[3] = 1.0f;
         }},
        {AFTER_COMMIT, "ht_wgmma_fence_operand of accumulators in flight", [](IN_PRODUCT) { ht_wgmma_fence_operand<32>(d); }},
        {AFTER_COMMIT, "which a wgmma of warp 0 in flight still reads",
         [](IN_PRODUCT) {
             if (i == 0)
                 fetch(1, args.atoms, 2);
         }},
        {AFTER_ISSUE, "shares accumulator registers with a wgmma in flight of another shape",
         [](IN_PRODUCT) { ht_wgmma_f16(ht_width<32>(), d + 8, a, b, 1); }},
        {AFTER_ISSUE, "another warp of the warpgroup was at ht_wgmma",
         [](IN_PRODUCT) {
             if (i / 32 == 1)
                 ht_wgmma_fence();
             else
                 ht_wgmma_f16(ht_width<64>(), d, a, b, 1);
         }},
        {AFTER_ISSUE, "divergent ht_wgmma: another warp of the warpgroup gave other operands to the same ht_wgmma",
         [](IN_PRODUCT) { ht_wgmma_f16(ht_width<64>(), d, i / 32 == 2 ? a + 2 : a, b, 1); }},
        {AFTER_ISSUE, "thread 9 (warp 0, lane 9)", [](IN_PRODUCT) { ht_wgmma_f16(ht_width<64>(), d, i == 9 ? a + 2 : a, b, 1); }},
        {AFTER_ISSUE, "shared memory access out of bounds: ht_wgmma",
         [](IN_PRODUCT) { ht_wgmma_f16(ht_width<64>(), d, descriptor(base + 4 * ATOM), b, 1); }},
        {AFTER_ISSUE, "the base offset (bits 49 to 51) in the descriptor of operand A is 1",
         [](IN_PRODUCT) { ht_wgmma_f16(ht_width<64>(), d, a | 1ull << 49, b, 1); }},
        {AFTER_ISSUE, "a bit that no field has in the descriptor of operand B",
         [](IN_PRODUCT) { ht_wgmma_f16(ht_width<64>(), d, a, b | 1ull << 53, 1); }},
        {AT_START, "100 registers",
         [](IN_PRODUCT) {
             if (i < 128)
                 ht_reg_alloc<100>();
         }},
        {AT_START, "ht_reg_alloc: 56 registers, the warpgroup has 64 of a thread",
         [](IN_PRODUCT) {
             if (i < 128) {
                 ht_reg_dealloc<64>();
                 ht_reg_alloc<56>();
             }
         }},
    };
    expect_violations(product, list, sizeof list / sizeof list[0]);
    for (const product_rule &rule : rules) {
        rule_in_product = &rule;
        expect_caught(rule.part, nullptr, [&](probe_case &test) { return test.run(product, rule.where); });
    }
}

TEST(registers_have_a_sum) {
    static const product_rule rule = {AT_START, "", [](IN_PRODUCT) {
                                          if (i < 128)
                                              ht_reg_alloc<256>();
                                          else
                                              ht_reg_dealloc<256>();
                                      }};
    probe_case test;
    rule_in_product = &rule;
    EXPECT_VIOLATION(test.run(product, AT_START, 384), "a block of 384 threads starts with 64512");
}

TEST(warpgroups_are_whole) {
    probe_case test;
    EXPECT_VIOLATION(test.run(product, RIGHT, 96), "the block's last warpgroup has fewer than 4 warps");
}

/* What is read before the wait is no number. */
TEST(accumulators_in_flight_are_poisoned) {
    static const product_rule rule = {AFTER_COMMIT, "", [](IN_PRODUCT) { ht_stg4(args.out + i, d[0]); }};
    rule_in_product = &rule;
    for (const char *seed : seeds) {
        set_schedule(seed);
        probe_case test;
        assert_int_equal(test.run(product, AFTER_COMMIT), 0);
        for (size_t i = 0; i < 128; i++)
            assert_true(test.out.v[i] != test.out.v[i]);
    }
}

/* Element `k` of row `row` of an atom under the 128-byte swizzle: 16-byte chunk c of row r lies at chunk c ^ (r & 7). */
static size_t swizzled(size_t row, size_t k, size_t bytes) {
    const size_t at = k * bytes;
    return row * 128 + ((at / 16) ^ (row & 7)) * 16 + at % 16;
}

static int element(size_t atom, size_t row, size_t k) {
    return (int)((atom * 29 + row * 7 + k * 5 + row * k) % 31) - 15;
}

TEST(products_are_right) {
    for (const char *seed : seeds) {
        set_schedule(seed);
        probe_case test;
        for (size_t atom = 0; atom < 2; atom++) {
            for (size_t row = 0; row < 64; row++) {
                for (size_t k = 0; k < 64; k++) {
                    const uint16_t half = ht_f16_rn((float)element(atom, row, k));
                    memcpy(test.atoms + atom * ATOM + swizzled(row, k, 2), &half, 2);
                }
            }
        }
        EXPECT_OK(test.run(product, RIGHT));
        for (size_t row = 0; row < 64; row++) {
            for (size_t col = 0; col < 64; col++) {
                int sum = 0;
                for (size_t k = 0; k < 64; k++)
                    sum += element(0, row, k) * element(1, col, k);
                assert_true(test.out.v[row * 64 + col] == (float)sum);
            }
        }
    }
}

/* Every slice type, 128 bytes to a row; two groups in flight on accumulators of their own, waited for one by one. */
template <int SLICE, class D> HT_DEVICE void issue(D *d, unsigned long long a, unsigned long long b) {
    if constexpr (SLICE == HT_SIM_F16)
        ht_wgmma_f16(ht_width<32>(), d, a, b, 1);
    else if constexpr (SLICE == HT_SIM_BF16)
        ht_wgmma_bf16(ht_width<32>(), d, a, b, 1);
    else if constexpr (SLICE == HT_SIM_TF32)
        ht_wgmma_tf32(ht_width<32>(), d, a, b, 1);
    else
        ht_wgmma_s8(ht_width<32>(), d, a, b, 1);
}

template <class D> HT_DEVICE void store(float *out, const D *d) {
    const unsigned i = threadIdx.x, row = i / 32 * 16 + i % 32 / 4, col = i % 4 * 2;
    for (unsigned j = 0; j < 16; j++)
        ht_stg4(out + (row + j / 2 % 2 * 8) * 64 + j / 4 * 8 + col + j % 2, (float)d[j]);
}

template <int SLICE, class D> __global__ void typed_product(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    const unsigned long long a = descriptor(base), b = descriptor(base + ATOM);
    D d[2][16];
    for (int j = 0; j < 16; j++)
        d[0][j] = d[1][j] = (D)args.what;
    set_up();
    if (i >= 128)
        return;
    if (i == 0) {
        ht_mbar_arrive_expect_tx(bar(0), 2 * ATOM);
        ht_bulk_copy(base, args.atoms, ATOM, bar(0));
        ht_bulk_copy(base + ATOM, args.atoms + ATOM, ATOM, bar(0));
    }
    ht_wgmma_fence();
    if (i % 32 == 5) /* the others learn of it as they meet */
        ht_mbar_wait(bar(0), 0);
    for (unsigned part = 0; part < 2; part++) {
        for (unsigned k = 0; k < 4; k++)
            issue<SLICE>(d[part], a + 2 * k, b + part * 256 + 2 * k);
        ht_wgmma_commit();
    }
    ht_wgmma_wait<1>();
    ht_wgmma_fence_operand<16>(d[0]);
    store(args.out, d[0]);
    ht_wgmma_wait<0>();
    ht_wgmma_fence_operand<16>(d[1]);
    store(args.out + 32, d[1]);
}

static void encode(int slice, int value, unsigned char *to) {
    const unsigned bits = ht_as_uint((float)value);
    const uint16_t half = ht_f16_rn((float)value), upper = (uint16_t)(bits >> 16);
    const signed char byte = (signed char)value;
    switch (slice) {
    case HT_SIM_F16:
        memcpy(to, &half, 2);
        break;
    case HT_SIM_BF16:
        memcpy(to, &upper, 2);
        break;
    case HT_SIM_TF32:
        memcpy(to, &bits, 4);
        break;
    default:
        memcpy(to, &byte, 1);
        break;
    }
}

template <int SLICE, class D> static void check_typed_product(size_t bytes) {
    for (const char *seed : seeds) {
        set_schedule(seed);
        probe_case test;
        for (size_t atom = 0; atom < 2; atom++)
            for (size_t row = 0; row < 64; row++)
                for (size_t k = 0; k < 128 / bytes; k++)
                    encode(SLICE, element(atom, row, k), test.atoms + atom * ATOM + swizzled(row, k, bytes));
        const int ran = test.run(typed_product<SLICE, D>, 100);
        EXPECT_OK(ran);
        for (size_t row = 0; row < 64; row++) {
            for (size_t col = 0; col < 64; col++) {
                int sum = 100;
                for (size_t k = 0; k < 128 / bytes; k++)
                    sum += element(0, row, k) * element(1, col, k);
                assert_true(test.out.v[row * 64 + col] == (float)sum);
            }
        }
    }
}

TEST(every_slice_type_is_right) {
    check_typed_product<HT_SIM_F16, float>(2);
    check_typed_product<HT_SIM_BF16, float>(2);
    check_typed_product<HT_SIM_TF32, float>(4);
    check_typed_product<HT_SIM_S8, int>(1);
}

TEST(integer_sums_may_not_wrap) {
    probe_case test;
    memset(test.atoms, 1, 2 * ATOM);
    EXPECT_VIOLATION(test.run(typed_product<HT_SIM_S8, int>, INT_MAX - 100), "a sum of this warp leaves 32 bits");
}

ON_MODEL("sm90")
