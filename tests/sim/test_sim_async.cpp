/* The simulator's model of Hopper's asynchronous units (runtime/sim/sim_async.h): right kernels are right in any order
 * of warps and copies, and each rule that a kernel breaks is named. */
#include "../../runtime/sim/ht_sim.h"
#include "../test.h"

#include <vector>

enum { ATOM = 8192, THREADS = 160, BARS = 3 * ATOM, SMEM = BARS + 64 };

static const char *const seeds[] = {"0", "1", "2", "3", "77"};

static int start_test(void **) {
    ht_sim_clear_error();
    setenv("HALFTONE_SIM_SEED", "0", 1);
    return ht_sim_set_model("sm90");
}

struct probe_args {
    int what;
    const unsigned char *atoms; /* 4 of them */
    float *out;                 /* one for each thread */
};

/* One block's memory: atoms with the numbers 0, 1, 2, ... as floats; unregistered room behind. */
struct probe_case {
    alignas(16) unsigned char atoms[5 * ATOM];
    std::vector<float> out = std::vector<float>(64 * 64, -1.0f);
    probe_case() {
        for (unsigned i = 0; i < sizeof atoms / 4; i++) {
            const float value = (float)i;
            memcpy(atoms + 4 * i, &value, 4);
        }
        ht_sim_register(atoms, 4 * ATOM);
        ht_sim_register(out.data(), out.size() * sizeof(float));
    }
    ~probe_case() {
        ht_sim_unregister(atoms);
        ht_sim_unregister(out.data());
    }
    int run(void (*kernel)(probe_args), int what, unsigned threads = THREADS) {
        return ht_launch(kernel, 1, 1, 1, threads, SMEM, nullptr, (probe_args{what, atoms, out.data()}));
    }
};

/* Case `what` of the kernel breaks a rule, in any order of warps and copies; the message has this in it, or the other
 * where the order decides who meets whom first. */
struct violation {
    int what;
    const char *part, *other = nullptr;
};

static bool says(const char *part) {
    return part != nullptr && strstr(ht_sim_error(), part) != nullptr;
}

static void expect_violations(void (*kernel)(probe_args), const violation *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (const char *seed : seeds) {
            probe_case test;
            setenv("HALFTONE_SIM_SEED", seed, 1);
            ht_sim_clear_error();
            const int code = test.run(kernel, list[i].what);
            const bool caught = code == HT_SIM_VIOLATION && (says(list[i].part) || says(list[i].other));
            if (!caught)
                print_error("case %d, seed %s: neither '%s' nor '%s' is in: %s\n", list[i].what, seed,
                            list[i].part, list[i].other != nullptr ? list[i].other : "", ht_sim_error());
            assert_true(caught);
        }
    }
    ht_sim_clear_error();
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

/* ---- mbarriers ---- */

enum {
    NEVER_INITIALISED,
    MISALIGNED,
    BEYOND,
    NO_COUNT,
    TWICE,
    NO_BARRIER_SINCE,
    ARRIVES_TOO_OFTEN,
    PARITY_TWO,
    NOBODY_ARRIVES,
    HALF_ARRIVE,
    OTHERS_AT_BARRIER,
    DATA_INSIDE,
    READS_INSIDE
};

__global__ void barriers(probe_args args) {
    const unsigned i = threadIdx.x;
    switch (args.what) {
    case NEVER_INITIALISED:
        ht_mbar_arrive(bar(0));
        return;
    case MISALIGNED:
        ht_mbar_init(bar(0) + 4, 1);
        return;
    case BEYOND:
        ht_mbar_init(ht_smem_base() + SMEM, 1);
        return;
    case NO_COUNT:
        ht_mbar_init(bar(0), 0);
        return;
    case TWICE:
        if (i == 0) {
            ht_mbar_init(bar(0), 1);
            ht_mbar_init(bar(0), 2);
        }
        return;
    case NO_BARRIER_SINCE:
        if (i == 0)
            ht_mbar_init(bar(0), 1);
        else if (i == 1) {
            while (true) /* whoever comes first is told */
                ht_mbar_wait(bar(0), 1);
        }
        return;
    default:
        break;
    }
    set_up();
    switch (args.what) {
    case ARRIVES_TOO_OFTEN:
        if (i == 0) {
            ht_mbar_arrive_expect_tx(bar(0), 16);
            ht_mbar_arrive(bar(0));
        }
        break;
    case PARITY_TWO:
        ht_mbar_wait(bar(0), 2);
        break;
    case NOBODY_ARRIVES:
        if (i >= 32 && i < 40)
            ht_mbar_wait(bar(1), 0);
        break;
    case HALF_ARRIVE: /* two phases, one arrival each: the second never comes */
        if (i == 64)
            ht_mbar_arrive(bar(2));
        if (i == 0) {
            ht_mbar_wait(bar(2), 0);
            ht_mbar_wait(bar(2), 1);
        }
        break;
    case OTHERS_AT_BARRIER:
        if (i == 3)
            ht_mbar_wait(bar(0), 0);
        ht_barrier();
        break;
    case DATA_INSIDE:
        if (i == 0)
            ht_sts4(bar(1), 1.0f);
        break;
    case READS_INSIDE:
        if (i == 0)
            (void)ht_lds4(bar(1));
        break;
    default:
        break;
    }
}

TEST(mbarrier_rules) {
    static const violation list[] = {
        {NEVER_INITIALISED, "ht_mbar_arrive: no mbarrier was initialised at shared byte 24576"},
        {MISALIGNED, "misaligned shared memory access: ht_mbar_init"},
        {BEYOND, "shared memory access out of bounds: ht_mbar_init"},
        {NO_COUNT, "ht_mbar_init: mbarrier number 1 with a count of 0"},
        {TWICE, "ht_mbar_init at shared byte 24576, inside an mbarrier"},
        {NO_BARRIER_SINCE, "with no barrier since", "ht_mbar_wait: no mbarrier was initialised"},
        {ARRIVES_TOO_OFTEN,
         "ht_mbar_arrive: the mbarrier at shared byte 24576 (phase 0) has all its arrivals already"},
        {PARITY_TWO, "ht_mbar_wait for parity 2"},
        {NOBODY_ARRIVES, "deadlock: nothing can move; thread 32 (line "},
        {NOBODY_ARRIVES,
         "and 7 others wait for parity 0 of the mbarrier at shared byte 24584 (phase 0: 1 of 1 arrivals "
         "and 0 bytes missing)"},
        {HALF_ARRIVE, "waits for parity 1 of the mbarrier at shared byte 24592 (phase 1: 1 of 1 arrivals"},
        {OTHERS_AT_BARRIER, "deadlock: nothing can move; thread 3"},
        {DATA_INSIDE, "ht_sts4 at shared byte 24584, inside an mbarrier"},
        {READS_INSIDE, "ht_lds4 at shared byte 24584, inside an mbarrier"},
    };
    expect_violations(barriers, list, sizeof list / sizeof list[0]);
}

/* ---- copies ---- */

enum {
    TO_MISALIGNED,
    FROM_MISALIGNED,
    ODD_SIZE,
    NO_SIZE,
    BEYOND_SHARED,
    BEYOND_GLOBAL,
    NOT_PUBLISHED,
    READ_AT_ONCE,
    READ_BY_ANOTHER_LANE,
    READ_BY_ANOTHER_WARP,
    WRONG_PHASE,
    STORE_INTO,
    COPY_INTO,
    COPY_OVER_STORE,
    COPY_OVER_READ,
    COPY_OVER_LATER_READ,
    UNANNOUNCED,
    TOO_FEW_ANNOUNCED,
    TOO_MANY_ANNOUNCED,
    NEGATIVE_ANNOUNCED,
    NOBODY_WAITS,
    NOBODY_WAITS_AGAIN
};

HT_DEVICE void copies_by_one(const probe_args &args) {
    const unsigned to = ht_smem_base();
    switch (args.what) {
    case TO_MISALIGNED:
        ht_bulk_copy(to + 8, args.atoms, 16, bar(0));
        break;
    case FROM_MISALIGNED:
        ht_bulk_copy(to, args.atoms + 8, 16, bar(0));
        break;
    case ODD_SIZE:
        ht_bulk_copy(to, args.atoms, 24, bar(0));
        break;
    case NO_SIZE:
        ht_bulk_copy(to, args.atoms, 0, bar(0));
        break;
    case BEYOND_SHARED:
        ht_bulk_copy(to + 2 * ATOM, args.atoms, 2 * ATOM, bar(0));
        break;
    case BEYOND_GLOBAL:
        ht_bulk_copy(to, args.atoms + 4 * ATOM - 16, 32, bar(0));
        break;
    case READ_AT_ONCE:
        fetch(0, args.atoms, 0);
        (void)ht_lds4(to);
        break;
    case STORE_INTO:
        fetch(0, args.atoms, 0);
        ht_sts4(to + 4, 1.0f);
        break;
    case COPY_INTO:
        fetch(0, args.atoms, 0);
        fetch(0, args.atoms, 1);
        break;
    case UNANNOUNCED:
        ht_bulk_copy(to, args.atoms, ATOM, bar(0));
        ht_mbar_arrive(bar(0));
        break;
    case TOO_FEW_ANNOUNCED:
        ht_mbar_arrive_expect_tx(bar(0), 16);
        ht_bulk_copy(to, args.atoms, 32, bar(0));
        break;
    case TOO_MANY_ANNOUNCED:
        ht_mbar_arrive_expect_tx(bar(0), 48);
        ht_bulk_copy(to, args.atoms, 32, bar(0));
        ht_mbar_wait(bar(0), 0);
        break;
    case NEGATIVE_ANNOUNCED:
        ht_mbar_arrive_expect_tx(bar(0), -16);
        break;
    case NOBODY_WAITS_AGAIN:
        fetch(0, args.atoms, 0);
        ht_mbar_wait(bar(0), 0);
        fetch(0, args.atoms, 0);
        break;
    case NOBODY_WAITS:
        fetch(0, args.atoms, 0);
        break;
    default:
        break;
    }
}

HT_DEVICE void copies_by_several(const probe_args &args) {
    const unsigned to = ht_smem_base(), i = threadIdx.x;
    switch (args.what) {
    case READ_BY_ANOTHER_LANE: /* lane 0 waits; nothing tells lane 1 */
        if (i == 0) {
            fetch(0, args.atoms, 0);
            ht_mbar_wait(bar(0), 0);
        }
        if (i == 1)
            (void)ht_lds4(to);
        break;
    case READ_BY_ANOTHER_WARP:
        if (i == 0) {
            fetch(0, args.atoms, 0);
            ht_mbar_wait(bar(0), 0);
        }
        if (i == 32)
            (void)ht_lds4(to);
        break;
    case WRONG_PHASE: /* parity 1 of a fresh barrier passes at once */
        if (i == 0)
            fetch(0, args.atoms, 0);
        (void)ht_shfl_xor(0, 1);
        if (i < 32) {
            ht_mbar_wait(bar(0), 1);
            (void)ht_lds4(to + 4 * i);
        }
        break;
    case COPY_OVER_STORE:
        if (i >= 32 && i < 64)
            ht_sts4(to + 4 * i, 1.0f);
        if (i == 0)
            fetch(0, args.atoms, 0);
        if (i == 0)
            ht_mbar_wait(bar(0), 0);
        break;
    case COPY_OVER_READ: /* warp 1 reads the first copy; nobody waits for it to be done */
    case COPY_OVER_LATER_READ:
        if (i < 32) {
            if (i == 0)
                fetch(0, args.atoms, 0);
            ht_mbar_wait(bar(0), 0);
            if (args.what == COPY_OVER_LATER_READ && i == 0)
                ht_mbar_wait(bar(1), 0);
            if (i == 0)
                fetch(0, args.atoms, 2);
            if (i == 0)
                ht_mbar_wait(bar(2), 0);
        } else if (i < 64) {
            if (args.what == COPY_OVER_LATER_READ && i == 32)
                ht_mbar_arrive(bar(1)); /* and reads after that */
            ht_mbar_wait(bar(0), 0);
            (void)ht_lds4(to + 4 * i);
        }
        break;
    default:
        break;
    }
}

__global__ void copies(probe_args args) {
    if (args.what == NOT_PUBLISHED) {
        if (threadIdx.x == 0)
            ht_mbar_init(bar(0), 1);
        ht_barrier();
        if (threadIdx.x == 0)
            fetch(0, args.atoms, 0);
        return;
    }
    set_up();
    if (threadIdx.x == 0)
        copies_by_one(args);
    copies_by_several(args);
}

TEST(copy_rules) {
    static const violation list[] = {
        {TO_MISALIGNED,
         "misaligned shared memory access: ht_bulk_copy of 16 bytes at shared address base + 8"},
        {FROM_MISALIGNED, "misaligned global memory access: ht_bulk_copy"},
        {ODD_SIZE, "ht_bulk_copy of 24 bytes"},
        {NO_SIZE, "ht_bulk_copy of 0 bytes"},
        {BEYOND_SHARED,
         "shared memory access out of bounds: ht_bulk_copy of 16384 bytes at byte 16384 of 24640"},
        {BEYOND_GLOBAL, "global memory access out of bounds: ht_bulk_copy of 32 bytes at byte 32752"},
        {NOT_PUBLISHED, "whose initialisation the copy engine was not told of"},
        {READ_AT_ONCE,
         "ht_lds4 reads shared byte 0 without having waited for the ht_bulk_copy of thread 0 there"},
        {READ_BY_ANOTHER_LANE, "without having waited for the ht_bulk_copy",
         "ht_lds4 reads uninitialised shared memory"},
        {READ_BY_ANOTHER_WARP, "without having waited for the ht_bulk_copy",
         "ht_lds4 reads uninitialised shared memory"},
        {WRONG_PHASE, "without having waited for the ht_bulk_copy of thread 0 there",
         "deadlock: nothing can move; thread 0"},
        {STORE_INTO, "ht_sts4 overwrites shared byte 4 without having waited for the ht_bulk_copy"},
        {COPY_INTO, "ht_bulk_copy overwrites shared byte 0 without having waited for the ht_bulk_copy"},
        {COPY_OVER_STORE, "shared memory race (write after write): ht_bulk_copy",
         "ht_sts4 overwrites shared byte"},
        {COPY_OVER_READ, "shared memory race (write after read): ht_bulk_copy", "ht_lds4 reads shared byte"},
        {COPY_OVER_LATER_READ, "shared memory race (write after read): ht_bulk_copy",
         "ht_lds4 reads shared byte"},
        {UNANNOUNCED,
         "phase 0 of the mbarrier at shared byte 24576 completes without this ht_bulk_copy of 8192 bytes"},
        {TOO_FEW_ANNOUNCED, "copies have brought 16 bytes more than were announced"},
        {TOO_MANY_ANNOUNCED, "(phase 0: 0 of 1 arrivals and 16 bytes missing)"},
        {NEGATIVE_ANNOUNCED, "ht_mbar_arrive_expect_tx of -16 bytes"},
        {NOBODY_WAITS_AGAIN, "nobody has waited for the copies of phase 1"},
        {NOBODY_WAITS, "nobody has waited for the copies of phase 0 of the mbarrier at shared byte 24576"},
    };
    expect_violations(copies, list, sizeof list / sizeof list[0]);
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
        setenv("HALFTONE_SIM_SEED", seed, 1);
        probe_case test;
        assert_int_equal(test.run(ring, 0), 0);
        assert_string_equal(ht_sim_error(), "");
        for (int i = 0; i < 128;
             i++) /* of atoms a = 0..3, twice: elements 4 i and 0, 2048 a + 4 i and 2048 a */
            assert_true(test.out[(size_t)i] == (float)(2 * (4 * 4 * i + 2 * 2048 * (0 + 1 + 2 + 3))));
        assert_int_equal(test.run(handover, 0), 0);
        assert_string_equal(ht_sim_error(), "");
        for (int i = 0; i < 32; i++)
            assert_true(test.out[(size_t)i] == (float)(i ^ 1));
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

/* Two atoms of 64 rows x 64 halves; d = a * b^T over all 64 k, or one rule broken. */
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
    WRITES_ACCUMULATORS,
    READS_ACCUMULATORS,
    PINS_IN_FLIGHT,
    OTHER_SHAPE,
    WARP_LEAVES,
    WARP_MISSES_LAST,
    WARP_ELSEWHERE,
    OTHER_DESCRIPTOR,
    LANE_DESCRIPTOR,
    NO_WAIT_FOR_COPY,
    PLAIN_OPERAND,
    COPY_OVER_OPERAND,
    COPY_AFTER_WAIT,
    OUT_OF_BOUNDS,
    BASE_OFFSET,
    STRAY_BIT,
    ODD_REGISTERS,
    TOO_MANY_REGISTERS,
    TAKES_LESS
};

HT_DEVICE unsigned long long descriptor(unsigned smem) {
    return 1ull << 62 | 64ull << 32 | 1ull << 16 | smem / 16;
}

HT_DEVICE void multiply(float *d, unsigned long long a, unsigned long long b, int first) {
    for (unsigned k = (unsigned)first; k < 4; k++)
        ht_wgmma_f16(ht_width<64>(), d, a + 2 * k, b + 2 * k, k > 0);
}

HT_DEVICE void break_operands(const probe_args &args, float *d, unsigned long long a, unsigned long long b) {
    const unsigned i = threadIdx.x;
    switch (args.what) {
    case OTHER_DESCRIPTOR:
        ht_wgmma_f16(ht_width<64>(), d, i / 32 == 2 ? a + 2 : a, b, 1);
        break;
    case LANE_DESCRIPTOR:
        ht_wgmma_f16(ht_width<64>(), d, i == 9 ? a + 2 : a, b, 1);
        break;
    case WARP_ELSEWHERE:
        if (i / 32 == 1)
            ht_wgmma_fence();
        else
            ht_wgmma_f16(ht_width<64>(), d, a, b, 1);
        break;
    case OUT_OF_BOUNDS:
        ht_wgmma_f16(ht_width<64>(), d, descriptor(ht_smem_base() + 4 * ATOM), b, 1);
        break;
    case BASE_OFFSET:
        ht_wgmma_f16(ht_width<64>(), d, a | 1ull << 49, b, 1);
        break;
    case STRAY_BIT:
        ht_wgmma_f16(ht_width<64>(), d, a, b | 1ull << 53, 1);
        break;
    case PLAIN_OPERAND: /* stored by threads, and not made known */
        ht_wgmma_f16(ht_width<64>(), d, descriptor(ht_smem_base() + 2 * ATOM), b, 1);
        break;
    case OTHER_SHAPE:
        ht_wgmma_f16(ht_width<32>(), d + 8, a, b, 1);
        break;
    default:
        break;
    }
}

HT_DEVICE void break_order(const probe_args &args, float *d) {
    const unsigned i = threadIdx.x;
    switch (args.what) {
    case WRITES_ACCUMULATORS:
        if (i == 70)
            d[3] = 1.0f;
        break;
    case READS_ACCUMULATORS:
        ht_stg4(args.out + i, d[0]);
        break;
    case PINS_IN_FLIGHT:
        ht_wgmma_fence_operand<32>(d);
        break;
    case COPY_OVER_OPERAND:
        if (i == 0)
            fetch(1, args.atoms, 2);
        break;
    default:
        break;
    }
}

HT_DEVICE void break_registers(const probe_args &args) {
    if (args.what == ODD_REGISTERS && threadIdx.x < 128)
        ht_reg_alloc<100>();
    if (args.what == TAKES_LESS && threadIdx.x < 128) {
        ht_reg_dealloc<64>();
        ht_reg_alloc<56>();
    }
    if (args.what == TOO_MANY_REGISTERS) {
        if (threadIdx.x < 128)
            ht_reg_alloc<256>();
        else
            ht_reg_dealloc<256>();
    }
}

__global__ void product(probe_args args) {
    const unsigned base = ht_smem_base(), i = threadIdx.x;
    const unsigned long long a = descriptor(base), b = descriptor(base + ATOM);
    float d[32];
    set_up();
    break_registers(args);
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
    break_operands(args, d, a, b);
    if (args.what == ENDS_UNCOMMITTED)
        return;
    if (args.what != NO_COMMIT)
        ht_wgmma_commit();
    break_order(args, d);
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
        {WRITES_ACCUMULATORS,
         "accumulator register 3 was written between the issue of its wgmma and the wait"},
        {PINS_IN_FLIGHT, "ht_wgmma_fence_operand of accumulators in flight"},
        {OTHER_SHAPE, "shares accumulator registers with a wgmma in flight of another shape"},
        {WARP_LEAVES, "divergent ht_wgmma: other warps of the warpgroup made the call, this one has exited"},
        {WARP_MISSES_LAST, "ends with 4 wgmmas in flight"},
        {WARP_ELSEWHERE, "another warp of the warpgroup was at ht_wgmma"},
        {OTHER_DESCRIPTOR,
         "divergent ht_wgmma: another warp of the warpgroup gave other operands to the same ht_wgmma"},
        {LANE_DESCRIPTOR, "thread 9 (warp 0, lane 9)"},
        {NO_WAIT_FOR_COPY, "without having waited for the ht_bulk_copy", "ht_wgmma reads uninitialised"},
        {PLAIN_OPERAND, ", with no ht_async_fence since"},
        {COPY_OVER_OPERAND, "which a wgmma of warp 0 in flight still reads"},
        {COPY_AFTER_WAIT, "ht_bulk_copy overwrites shared byte 8192, which a wgmma of warp "},
        {OUT_OF_BOUNDS, "shared memory access out of bounds: ht_wgmma"},
        {BASE_OFFSET, "the base offset (bits 49 to 51) in the descriptor of operand A is 1"},
        {STRAY_BIT, "a bit that no field has in the descriptor of operand B"},
        {ODD_REGISTERS, "100 registers"},
        {TAKES_LESS, "ht_reg_alloc: 56 registers, the warpgroup has 64 of a thread"},
    };
    expect_violations(product, list, sizeof list / sizeof list[0]);
}

TEST(registers_have_a_sum) {
    probe_case test;
    assert_int_equal(test.run(product, TOO_MANY_REGISTERS, 384), HT_SIM_VIOLATION);
    assert_non_null(strstr(ht_sim_error(), "a block of 384 threads starts with 64512"));
}

TEST(warpgroups_are_whole) {
    probe_case test;
    assert_int_equal(test.run(product, RIGHT, 96), HT_SIM_VIOLATION);
    assert_non_null(strstr(ht_sim_error(), "the block's last warpgroup has fewer than 4 warps"));
}

/* What is read before the wait is no number. */
TEST(accumulators_in_flight_are_poisoned) {
    for (const char *seed : seeds) {
        setenv("HALFTONE_SIM_SEED", seed, 1);
        probe_case test;
        assert_int_equal(test.run(product, READS_ACCUMULATORS), 0);
        for (size_t i = 0; i < 128; i++)
            assert_true(test.out[i] != test.out[i]);
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
        setenv("HALFTONE_SIM_SEED", seed, 1);
        probe_case test;
        for (size_t atom = 0; atom < 2; atom++) {
            for (size_t row = 0; row < 64; row++) {
                for (size_t k = 0; k < 64; k++) {
                    const uint16_t half = ht_f16_rn((float)element(atom, row, k));
                    memcpy(test.atoms + atom * ATOM + swizzled(row, k, 2), &half, 2);
                }
            }
        }
        assert_int_equal(test.run(product, RIGHT), 0);
        assert_string_equal(ht_sim_error(), "");
        for (size_t row = 0; row < 64; row++) {
            for (size_t col = 0; col < 64; col++) {
                int sum = 0;
                for (size_t k = 0; k < 64; k++)
                    sum += element(0, row, k) * element(1, col, k);
                assert_true(test.out[row * 64 + col] == (float)sum);
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
        setenv("HALFTONE_SIM_SEED", seed, 1);
        probe_case test;
        for (size_t atom = 0; atom < 2; atom++)
            for (size_t row = 0; row < 64; row++)
                for (size_t k = 0; k < 128 / bytes; k++)
                    encode(SLICE, element(atom, row, k), test.atoms + atom * ATOM + swizzled(row, k, bytes));
        const int code = test.run(typed_product<SLICE, D>, 100);
        assert_string_equal(ht_sim_error(), "");
        assert_int_equal(code, 0);
        for (size_t row = 0; row < 64; row++) {
            for (size_t col = 0; col < 64; col++) {
                int sum = 100;
                for (size_t k = 0; k < 128 / bytes; k++)
                    sum += element(0, row, k) * element(1, col, k);
                assert_true(test.out[row * 64 + col] == (float)sum);
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
    assert_int_equal(test.run(typed_product<HT_SIM_S8, int>, INT_MAX - 100), HT_SIM_VIOLATION);
    assert_non_null(strstr(ht_sim_error(), "a sum of this warp leaves 32 bits"));
}

int main(int argc, char **argv) {
    each_test.before = start_test;
    return test_main(argc, argv, nullptr, nullptr);
}
