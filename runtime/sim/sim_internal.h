/* sim_internal: the state of one simulated block and what the simulator's files say to each other. Blocks of a cluster are
 * simulated together: their threads, warps and shared memories follow one another in the same lists.
 *
 *   sim_launch.cpp launches: their blocks on host threads, and whether one may begin early
 *   sim_core.cpp   the order of a block's warps, divergence
 *   sim_calls.cpp  the running thread, its calls that wait for others
 *   sim_warp.cpp   what the lanes of a warp do together: ldmatrix, mma, MFMA, shfl
 *   sim_mem.cpp    shared memory with its shadow, cp.async, registered global memory
 *   sim_error.cpp  the first violation and the settings of the host program
 *   sim_async.h    Hopper's asynchronous units: files of their own */
#ifndef HT_SIM_INTERNAL_H
#define HT_SIM_INTERNAL_H

#include <stdint.h>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ht_sim.h"
#include "sim_fiber.h"
#include "sim_mfma.h"
#include "sim_mma.h"

namespace ht_sim {

enum {
    WARP_SIZE = 32, /* of what only NVIDIA has; else warp_size() */
    LANES_MAX = 64,
    MAX_THREADS = 1024,
    SMEM_BASE = 1024, /* not 0, so that a forgotten base address is out of bounds */
    SMEM_DEFAULT_BYTES = 48 * 1024
};

/* What a lane has come to. */
enum call_kind {
    CALL_NONE,
    CALL_EXIT,
    CALL_MBAR_WAIT,
    CALL_CLUSTER_BARRIER,
    CALL_GROUP_BARRIER, /* value: its number; lane_mask: threads that it waits for */
    CALL_BARRIER,
    /* collectives of a warp */
    CALL_LDMATRIX,
    CALL_LDMATRIX_TRANS,
    CALL_MMA_16816,
    CALL_MMA_1688,
    CALL_MMA_BF16_16816,
    CALL_MMA_TF32_1688,
    CALL_MMA_S8_16832,
    CALL_MMA_S8_8816,
    CALL_MMA_F64_16816,
    CALL_MMA_F64_1688,
    CALL_MMA_F64_884,
    CALL_SHFL,
    CALL_UNIFORM,
    /* which all warps of a warpgroup make alike */
    CALL_WGMMA,
    CALL_WGMMA_FENCE,
    CALL_WGMMA_COMMIT,
    CALL_WGMMA_WAIT,
    CALL_REGISTERS,
    CALL_MFMA, /* plus the row of sim_mfma_table */
    CALL_MFMA_LAST = CALL_MFMA + SIM_MFMA_COUNT - 1
};
const char *call_name(call_kind kind);

struct call {
    call_kind kind;
    int line;
    const void *site; /* return address */
    /* operands; which ones count follows from kind */
    unsigned *r;
    unsigned s;
    void *d; /* float or int accumulators */
    const unsigned *a, *b;
    int value, lane_mask;
    const struct ht_sim_wgmma *wgmma;
};

/* A cp.async that was issued and not waited for. */
struct pending_copy {
    unsigned offset; /* in shared memory */
    uint32_t group;
    const void *source;
    unsigned bytes, size; /* from source, and in all: then zeros */
};

struct engine;

/* What a thread may do with global memory. */
enum grid_reach { REACHES_NOTHING, REACHES_READS, REACHES_ALL };

struct thread_state {
    fiber stack;
    engine *owner = nullptr;
    unsigned index = 0;
    bool parked = false; /* the fiber waits at the head of its loop for the next block */
    grid_reach reach = REACHES_ALL;
    call at{};
    uint32_t open_group = 0;          /* cp.async group that the next commit closes */
    std::vector<pending_copy> copies; /* by group, oldest first */
};

struct warp_state {
    unsigned lanes;  /* the unit's but for the last warp of a block with an odd size */
    uint64_t ready;  /* lanes that can run */
    call_kind waits; /* where the whole warp stands: CALL_BARRIER, CALL_CLUSTER_BARRIER, CALL_EXIT, CALL_MBAR_WAIT (no
                        lane can run and some wait), or CALL_NONE */
    uint32_t turn; /* counts warp collectives and barriers: accesses of one warp in one turn have no order */
};

/* Shadow of four bytes of shared memory. The records of readers and writers count for their barrier interval
 * only. */
struct shadow_word {
    uint32_t write_epoch, write_turn, read_epoch, read_turn;
    uint16_t writer, reader, copier; /* threads */
    uint16_t flags;
};
enum {
    SHADOW_INITIALISED = 1,
    SHADOW_BY_COPY = 2,    /* the last write was a cp.async */
    SHADOW_MANY_LANES = 4, /* more readers than `reader` in its warp and turn */
    SHADOW_MANY_WARPS = 8, /* readers of several warps */
    SHADOW_PENDING = 16,   /* a cp.async or bulk copy of `copier` is on its way */
    SHADOW_BULK = 32,      /* the pending or last write is a bulk copy; landed: its mbarrier is the writer */
    SHADOW_MBARRIER = 64
};

struct allocation {
    uintptr_t first, end;
};

/* What all blocks of a launch share; constant while they run, but for what they have called. */
struct launch {
    const ht_sim_launch_info *info;
    const sim_mma_model *model;
    uint64_t seed;
    std::vector<allocation> allocations; /* by address */
    bool vouched = true; /* what came before the launch before this one has ended */
    mutable std::atomic<bool> waited{false}, late_release{false}; /* some thread has; some block did only then */
};

/* One block or cluster at a time, on one host thread. Kept between launches for its stacks. */
struct engine {
    const struct launch *launch = nullptr;
    fiber home; /* the scheduler, on the host thread's stack */
    std::vector<std::unique_ptr<thread_state>> threads;
    std::vector<warp_state> warps;
    thread_state *running = nullptr; /* NULL: the scheduler */
    unsigned last_warp = 0;
    unsigned lane_start = 0; /* lane that runs first in a turn */
    uint64_t random = 0;
    ht_sim_dim3 block{};        /* the first of the cluster */
    unsigned blocks = 1;        /* of the cluster */
    unsigned block_threads = 0; /* and of each: threads, warps, bytes of `shared` */
    unsigned block_warps = 0, block_bytes = 0;
    unsigned warp_shift = 5; /* log2 of warp_size() */
    uint32_t meetings = 0; /* counts cluster barriers */
    uint32_t epoch = 0;    /* counts block barriers */
    std::vector<unsigned char> shared;
    std::vector<shadow_word> shadow;
    allocation recent[4] = {}; /* allocations that were touched last */
    unsigned next_recent = 0;
    bool waited = false, released = false; /* some thread of the cluster has */
    std::unique_ptr<struct async_state> async; /* NULL: never needed */
    bool failed = false, no_memory = false; /* no_memory: and for want of it */
    char error[800] = "";
};

/* Threads of a warp (wavefront) of this launch. */
static inline unsigned warp_size(const engine &e) {
    return static_cast<unsigned>(e.launch->model->lanes);
}

/* A thread's warp; every access asks, and a division takes as long as the rest of its checks. */
static inline unsigned warp_of(const engine &e, unsigned thread) {
    return thread >> e.warp_shift;
}

/* Block of the cluster that a thread is of. */
static inline unsigned rank_of(const engine &e, unsigned thread) {
    return e.blocks == 1 ? 0 : thread / e.block_threads;
}

static inline unsigned thread_count(const engine &e) {
    return e.blocks * e.block_threads;
}

/* The engine that runs on this host thread, NULL outside kernels. */
extern __thread engine *current_engine;

/* sim_calls: never returns to a thread whose block has failed. */
[[noreturn]] void abandon_thread(engine &e);
/* The running thread waits with its call's operands until the scheduler has done it; NULL outside kernels. */
thread_state *block_at(call_kind kind, int line, const void *site);
void wait_here(thread_state &self);
/* Runs the warp's lanes that are ready until all have stopped. */
void run_warp(engine &e, unsigned warp);
/* sim_core: runs a block, or the cluster that begins with it, to its end; false: engine.error says what failed. */
bool run_cluster(engine &e, uint64_t block);

/* splitmix64 (Steele, Lea, Flood 2014): a full-period mixer of a counter. */
static inline uint64_t next_random(uint64_t &state) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* sim_warp: what tells one mma from another, and the full size of each type, one warp's step of wgmma. */
struct mma_shape {
    unsigned rows, row_bytes; /* rows of A; bytes of k in a row of A and in a column of B */
    int (*multiply)(const sim_mma_model *model, const mma_shape &shape, void *d, const void *a,
                    const void *b); /* d (rows x 8) += a * b; -1: an integer sum leaves 32 bits */
};
extern const mma_shape mma_f16, mma_bf16, mma_tf32, mma_s8;

/* sim_warp: performs the collective that all lanes of a warp have come to; false after engine_fail. */
bool warp_perform(engine &e, unsigned warp);

/* sim_mem: an access to shared memory as the checks see it. */
struct access {
    unsigned thread;
    int line;
    const char *name;
    bool for_warp; /* the data goes to all lanes: the thread's own earlier write is no excuse */
};
/* sim_calls: the running engine and access, with the check that there is one. */
struct request {
    engine *e;
    access who;
    request(const char *name, int line);
};

void shared_reset(engine &e, int smem_bytes);
/* Whether [s, s + bytes), a multiple of `alignment`, lies in a block's shared memory; else engine_fail. Offset: of s in
 * engine.shared. The block: that of the access, or by rank. */
bool shared_range(engine &e, const access &who, unsigned s, unsigned bytes, unsigned alignment, unsigned &offset);
bool shared_range_of(engine &e, const access &who, unsigned rank, unsigned s, unsigned bytes, unsigned alignment,
                     unsigned &offset);
/* The same for one allocation of global memory, which the thread may touch so. */
bool global_range(engine &e, const access &who, const void *p, unsigned bytes, unsigned alignment, grid_reach needed = REACHES_READS);
/* Whether [p, p + bytes), aligned to its size, is device memory; false outside kernels, after a message. */
bool global_check(const char *name, const void *p, unsigned bytes, int line, grid_reach needed);
/* The checks of a write to the word at a shared offset. */
bool check_write(engine &e, const access &who, unsigned offset, const shadow_word &word);
/* The bytes at shared address s after the checks of a read; NULL after engine_fail. */
const unsigned char *shared_read(engine &e, const access &who, unsigned s, unsigned bytes);

/* sim_order: false for kernels without asynchronous units, which keep to barrier intervals and turns. */
bool async_on(const engine &e);
void async_reset(engine &e); /* before a block */
/* Always false: the words for two accesses without an order, and for one that did not wait for a bulk copy. */
bool fail_race(engine &e, const access &who, unsigned offset, const char *verbs, unsigned other);
bool fail_bulk(engine &e, const access &who, unsigned offset, const char *verb);
/* sim_async, sim_order */
bool async_land(engine &e);  /* the next copy lands; false when none is on its way */
bool async_passes(const engine &e, const thread_state &t); /* who is at CALL_MBAR_WAIT */
void async_fail_deadlock(engine &e);
void async_block_ends(engine &e); /* engine_fail for what is left undone */
void async_warp_ends(engine &e, unsigned warp);
void order_meet_warp(engine &e, unsigned warp);
void order_meet_block(engine &e, unsigned rank);
void order_meet_group(engine &e, const std::vector<unsigned> &warps);
void async_meet_cluster(engine &e);
bool order_read(engine &e, const access &who, unsigned offset, const shadow_word &word);
bool order_write(engine &e, const access &who, unsigned offset, const shadow_word &word);
/* sim_wgmma: performs a collective of CALL_WGMMA .. CALL_REGISTERS for a warp. */
bool wgmma_perform(engine &e, unsigned warp);

/* sim_stream: whether the stream's work does not run at once. */
bool stream_waits(const void *stream);

/* sim_error: notes the block's first violation: `what` with printf arguments, then the cure. */
void engine_fail(engine &e, unsigned thread, int line, const char *cure, const char *what, ...)
    __attribute__((format(printf, 5, 6)));
void error_keep(const char *text); /* unless an earlier one is kept */
std::string kernel_label(const ht_sim_launch_info &info);
const sim_mma_model *chosen_model(); /* NULL: HALFTONE_SIM_MODEL names none */
void allocations_snapshot(std::vector<allocation> &list);

} // namespace ht_sim
#endif
