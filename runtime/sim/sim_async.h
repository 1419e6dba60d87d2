/* sim_async: the state behind Hopper's asynchronous units, kept by blocks that use them.
 *
 *   sim_order.cpp   what happens before what: vector clocks through warps, barriers and mbarriers
 *   sim_async.cpp   mbarriers, bulk copies, deadlock
 *   sim_wgmma.cpp   warpgroup MMA: descriptors, accumulators, groups; registers moved between warpgroups
 *
 * Modelled, and each breach is an error that names the rule:
 *   mbarrier   arrivals, announced bytes, phase and parity; too many arrivals, bytes that nobody announced or that
 *              never come, use before initialisation was published; waiting that nothing can end
 *   copies     land as late as anything can still move, or (HALFTONE_SIM_SEED != 0) at random before; whoever reads
 *              must have waited for the phase that the copy completes, or have met someone who has; whoever copies
 *              over data must know in the same way that its readers are done; a copy nobody waited for
 *   wgmma      each warp computes its 16 rows by itself, when it waits, so warps of a warpgroup drift apart as far as
 *              the kernel lets them; all four must make the same calls in the same order. Operands must be landed and
 *              waited for at the issue, and stay until the wait. Accumulators hold NaN from issue to wait and must
 *              not be written meanwhile. Fence before registers are handed to the unit, commit before wait, wait
 *              before the end; descriptor fields. Operands that threads store need their asynchronous proxy's fence, then an
 *              order; A in registers must not be written before the wait
 *   clusters   of two blocks: arrivals on a partner's mbarriers by mapped addresses and copies to both, which need a cluster
 *              barrier after the mbarriers were published; a block that may have ended before its partner's last
 *              arrival. A cluster barrier orders nothing else: it stands for the relaxed one
 *   registers  give and take by whole warpgroups, multiples of 8 in 24..256, their sum (what the compiler gave at the
 *              start is not known here)
 * Not modelled: time; larger clusters than of eight blocks; ordinary accesses to a partner's memory (refused); an accumulator read between issue and wait (its reader gets NaN); a fence that comes
 * before the last ordinary use of the registers instead of after it; dependent launch, since launches are
 * synchronous; which registers the compiler moves across ht_wgmma_fence_operand. */
#ifndef HT_SIM_ASYNC_H
#define HT_SIM_ASYNC_H

#include "sim_internal.h"

namespace ht_sim {

enum {
    WARPGROUP_WARPS = 4,
    MAX_MBARRIERS = 128, /* of one block or cluster */
    CLUSTER_MAX = 8,
    CLUSTER_SHIFT = 24, /* of the rank in mapped addresses, from 1 */
    MAX_ANNOUNCED_BYTES = (1 << 20) - 1,
    MAX_ARRIVALS = (1 << 20) - 1,
    FILE_REGISTERS = 65536,
    THREAD_REGISTERS = 248 /* the most that a thread of a kernel with setmaxnreg starts with (ptxas 13.0) */
};

/* What someone knows of each actor: all its accesses up to this tick happened before. Actors are the threads (ticks
 * are turns of their warp), then the mbarriers (ticks are completed phases: the copies of these have landed). */
typedef std::vector<uint32_t> clocks;

struct mbarrier {
    unsigned offset;   /* in shared memory */
    int count;         /* arrivals that a phase needs */
    int missing;       /* of which this one still lacks */
    int64_t announced; /* bytes that were announced and have not come; negative where copies came first */
    uint32_t phase;    /* completed ones */
    uint32_t filled; /* the last phase that a copy landed in, and the last that a thread waited for; from 1 */
    uint32_t observed;
    unsigned maker; /* thread that initialised it, and when */
    uint32_t made;
    bool published;  /* to the copy engine */
    bool met;        /* published, and a cluster barrier since: both blocks may use it */
    uint32_t remote, remote_meeting; /* the last phase in which another block arrived, from 1; cluster barriers until then */
    unsigned remote_thread;
    clocks released; /* what those know who arrived in completed phases */
    clocks arriving; /* and in this one */
};

struct bulk_copy {
    unsigned offset, bytes, barrier;
    uint32_t phase; /* in which it was issued */
    unsigned thread;
    int line;
    const void *source;
};

/* What all four warps of a warpgroup must do alike. */
struct group_call {
    call_kind kind;
    const void *site;
    uint64_t a, b;
    int n, use;
    bool in_registers, turned; /* A; B */
};

struct wgmma {
    uint64_t a, b; /* descriptors */
    const unsigned *rows[WARP_SIZE]; /* A in registers: the lanes', and what they held; NULL: by descriptor */
    uint32_t held[WARP_SIZE][4];
    bool turned;
    uint32_t group;
    unsigned chain;
    int use;
    ht_sim_slice slice;
    int line;
};

/* Accumulators that wgmmas of one warp use or used. */
struct wgmma_chain {
    void *d[WARP_SIZE]; /* the lanes' registers */
    int n;
    uint32_t group;               /* the last one that uses it */
    bool flying, fenced;          /* fenced: since the last wait gave the registers back */
    std::vector<uint32_t> values; /* bits of the accumulators: 16 x 8 tiles, row-major inside */
};

struct matrix_state {  /* of a warp */
    uint32_t open = 1; /* group that the next commit closes; groups count from 1 */
    uint32_t done = 0; /* groups that were waited for */
    unsigned uncommitted = 0;
    bool fenced = false;
    std::vector<wgmma> queue;
    std::vector<wgmma_chain> chains;
    std::vector<uint32_t> done_at; /* turn in which group i + 1 was waited for */
    size_t calls = 0;              /* in the warpgroup's log */
    int registers = 0;             /* of a thread, since the warp gave or took; 0: what the compiler chose */
};

struct async_state {
    bool on = false; /* in this block */
    /* sim_order */
    unsigned actors = 0;
    clocks warp_rows;              /* what all lanes of a warp know */
    clocks lane_rows;              /* what one lane knows, where `apart` says so */
    std::vector<uint32_t> apart;   /* by warp: lanes that learned something since the last collective */
    std::vector<uint32_t> readers; /* by word and warp: see sim_order.cpp */
    std::vector<std::vector<uint32_t>> fences; /* by thread: turns in which it made its stores known to the unit */
    /* sim_async */
    std::vector<mbarrier> barriers;
    std::vector<uint8_t> barrier_at; /* by 8 bytes: index + 1 */
    std::vector<bulk_copy> flying;
    /* sim_wgmma */
    std::vector<matrix_state> matrix; /* by warp */
    std::vector<std::vector<group_call>>
        group_log; /* by warpgroup: calls that not all of its warps have made */
};

/* sim_order. The block's state; the first call in a block sets it up. */
async_state &async_begin(engine &e);
bool order_knows(const engine &e, unsigned thread, unsigned actor, uint32_t tick);
void order_release(engine &e, unsigned thread, clocks &to);
void order_acquire(engine &e, unsigned thread, const clocks &from);
void order_observe(engine &e, unsigned thread, unsigned barrier, uint32_t phase);
void order_fence(engine &e, unsigned thread);
/* The issue of a wgmma of the warp of who.thread that reads `bytes` at a shared offset; false after engine_fail. */
bool order_read_operand(engine &e, const access &who, unsigned offset, unsigned bytes, uint32_t group);

/* sim_wgmma: engine_fail for what is still open when the block ends. */
void wgmma_block_ends(engine &e);

} // namespace ht_sim
#endif
