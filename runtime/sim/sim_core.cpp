/* sim_core: the scheduler of a block. Every thread of a block is a fiber that runs until it comes to a warp
 * collective, a barrier or its end (sim_calls.cpp); the lanes of a warp run one after the other, then the scheduler looks at
 * what they have come to: the same collective is performed, the same barrier or end makes the warp wait,
 * anything else is divergence. So every state in which nothing can run has a name, and nothing can hang (but
 * a kernel that loops for ever by itself). */
#include "sim_async.h"

#include <stdio.h>
#include <new>

namespace ht_sim {

/* A fiber's life: one block after the other, parked between them. */
static void thread_main(void *arg) {
    thread_state &self = *static_cast<thread_state *>(arg);
    for (;;) {
        self.parked = false;
        const ht_sim_launch_info &info = *self.owner->launch->info;
        try {
            info.invoke(info.kernel, info.args);
        } catch (const std::bad_alloc &) {
            self.owner->failed = self.owner->no_memory = true;
        }
        self.at.kind = CALL_EXIT;
        self.at.line = 0;
        self.parked = true;
        wait_here(self);
    }
}

/* ---- divergence ---- */

static bool is_collective(call_kind kind) {
    return kind > CALL_BARRIER;
}

static void describe(const call &at, char *text, size_t bytes) {
    if (at.kind == CALL_EXIT)
        snprintf(text, bytes, "has exited");
    else
        snprintf(text, bytes, "is at %s (line %d)", call_name(at.kind), at.line);
}

static void fail_divergent(engine &e, const thread_state &first, const thread_state &second) {
    /* Name it after the one that waits for the other; a warp collective before a barrier. */
    bool swap = second.at.kind > first.at.kind;
    const thread_state &waits = swap ? second : first, &other = swap ? first : second;
    char text[96];
    describe(other.at, text, sizeof text);
    bool same_call = other.at.kind == waits.at.kind;
    bool barrier = !is_collective(waits.at.kind);
    engine_fail(
        e, waits.index, waits.at.line,
        barrier ? "all threads of a block must reach the same barriers"
                : "all lanes of a warp must make the same call together, outside lane-dependent branches",
        "divergent %s: thread %u (warp %u, lane %u) %s%s", call_name(waits.at.kind), other.index,
        other.index / warp_size(e), other.index % warp_size(e), text,
        same_call ? ", but at another place in the code" : "");
}

/* Whether lanes of the warp wait for mbarriers: those whose phase has come go on, and the others of the warp with
 * them as soon as they meet. */
static bool hold_lanes(engine &e, unsigned w) {
    warp_state &warp = e.warps[w];
    bool held = false;
    for (unsigned lane = 0; lane < warp.lanes; lane++) {
        const thread_state &t = *e.threads[w * warp_size(e) + lane];
        if (t.at.kind != CALL_MBAR_WAIT)
            continue;
        held = true;
        warp.ready |= async_passes(e, t) ? uint64_t{1} << lane : 0u;
    }
    if (held)
        warp.waits = warp.ready != 0 ? CALL_NONE : CALL_MBAR_WAIT;
    return held;
}

/* Whether the call is an instruction of the other vendor's warps. */
static bool is_foreign(const engine &e, call_kind kind) {
    return kind != CALL_SHFL && (kind >= CALL_MFMA) != (warp_size(e) == 64);
}

static uint64_t all_lanes(unsigned lanes) {
    return UINT64_MAX >> (64 - lanes);
}

/* All lanes of the warp have stopped. */
static void settle_warp(engine &e, unsigned w) {
    warp_state &warp = e.warps[w];
    if (async_on(e) && hold_lanes(e, w))
        return;
    const unsigned size = warp_size(e);
    const thread_state &first = *e.threads[w * size];
    for (unsigned lane = 1; lane < warp.lanes; lane++) {
        const thread_state &t = *e.threads[w * size + lane];
        if (t.at.kind != first.at.kind || (is_collective(t.at.kind) && t.at.site != first.at.site)) {
            fail_divergent(e, first, t);
            return;
        }
    }
    if (!is_collective(first.at.kind)) {
        warp.waits = first.at.kind;
        if (warp.waits == CALL_EXIT)
            async_warp_ends(e, w);
        return;
    }
    if (is_foreign(e, first.at.kind)) {
        engine_fail(e, first.index, first.at.line, "choose the matrix unit that the kernel was generated for",
                    "%s is no instruction of %s, whose warps have %u lanes", call_name(first.at.kind),
                    e.launch->model->name, size);
        return;
    }
    if (warp.lanes != size) {
        engine_fail(e, first.index, first.at.line, size == 32 ? "launch a multiple of 32 threads" : "launch a multiple of 64 threads",
                    "divergent %s: the block's last warp has only %u threads", call_name(first.at.kind),
                    warp.lanes);
        return;
    }
    const bool is_group = first.at.kind >= CALL_WGMMA && first.at.kind <= CALL_REGISTERS;
    if (!(is_group ? wgmma_perform : warp_perform)(e, w))
        return;
    if (async_on(e))
        order_meet_warp(e, w);
    warp.turn++; /* after the accesses of ldmatrix: it orders only what follows */
    warp.ready = all_lanes(size);
}

static size_t count_waiting(const engine &e, call_kind kind, unsigned first, size_t warps) {
    size_t count = 0;
    for (size_t w = first; w < first + warps; w++)
        count += e.warps[w].waits == kind;
    return count;
}

static void open_warps(engine &e, call_kind kind, unsigned first, size_t warps) {
    for (size_t w = first; w < first + warps; w++) {
        warp_state &warp = e.warps[w];
        if (warp.waits != kind)
            continue;
        warp.waits = CALL_NONE;
        warp.ready = all_lanes(warp.lanes);
    }
}

/* Whether all warps of a block stood at its barrier; now they go on. */
static bool open_barrier(engine &e, unsigned rank) {
    const unsigned first = rank * e.block_warps;
    if (count_waiting(e, CALL_BARRIER, first, e.block_warps) != e.block_warps)
        return false;
    bool any = false; /* of what threads say at ht_barrier_any */
    for (unsigned thread = rank * e.block_threads; thread < (rank + 1) * e.block_threads; thread++)
        any = any || e.threads[thread]->at.value != 0;
    for (unsigned thread = rank * e.block_threads; thread < (rank + 1) * e.block_threads; thread++)
        e.threads[thread]->at.value = any;
    e.epoch++;
    if (async_on(e))
        order_meet_block(e, rank);
    open_warps(e, CALL_BARRIER, first, e.block_warps);
    return true;
}

/* The same for the barriers of groups of warps, the first that all of its group have come to. */
static bool open_group(engine &e, unsigned rank) {
    const unsigned first = rank * e.block_warps;
    for (unsigned w = first; w < first + e.block_warps; w++) {
        if (e.warps[w].waits != CALL_GROUP_BARRIER)
            continue;
        const call &at = e.threads[w * warp_size(e)]->at;
        std::vector<unsigned> there;
        for (unsigned other = first; other < first + e.block_warps; other++) {
            const call &its = e.threads[other * warp_size(e)]->at;
            if (e.warps[other].waits == CALL_GROUP_BARRIER && its.value == at.value && its.lane_mask == at.lane_mask)
                there.push_back(other);
        }
        if (there.size() * warp_size(e) != static_cast<size_t>(at.lane_mask))
            continue;
        order_meet_group(e, there);
        for (unsigned other : there)
            open_warps(e, CALL_GROUP_BARRIER, other, 1);
        return true;
    }
    return false;
}

/* The same for a cluster barrier, which does not wait for warps that have ended (PTX ISA 9.0, "barrier.cluster"). */
static bool open_cluster(engine &e, size_t exited) {
    const size_t there = count_waiting(e, CALL_CLUSTER_BARRIER, 0, e.warps.size());
    if (there == 0 || there + exited != e.warps.size())
        return false;
    if (async_on(e))
        async_meet_cluster(e);
    open_warps(e, CALL_CLUSTER_BARRIER, 0, e.warps.size());
    return true;
}

/* Warps that wait for different things, for ever: one of those at a barrier, and one that is elsewhere, of its block if
 * there is one. */
static void fail_apart(engine &e) {
    unsigned waits = 0, other = 0;
    while (e.warps[waits].waits == CALL_EXIT)
        waits++;
    for (unsigned w = 0; w < e.warps.size(); w++) {
        const bool near = w / e.block_warps == waits / e.block_warps;
        if (e.warps[w].waits != e.warps[waits].waits && (near || e.warps[other].waits == e.warps[waits].waits))
            other = w;
    }
    fail_divergent(e, *e.threads[waits * warp_size(e)], *e.threads[other * warp_size(e)]);
}

/* No warp can run: lets a copy land or opens a barrier, or false at the cluster's end and after an error. */
static bool settle_cluster(engine &e) {
    if (async_on(e) && async_land(e))
        return true;
    const size_t warps = e.warps.size(), exited = count_waiting(e, CALL_EXIT, 0, warps);
    if (exited == warps) {
        if (async_on(e))
            async_block_ends(e);
        return false;
    }
    bool opened = open_cluster(e, exited);
    for (unsigned rank = 0; rank < e.blocks; rank++)
        opened = open_barrier(e, rank) || open_group(e, rank) || opened;
    if (opened)
        return true;
    if (count_waiting(e, CALL_MBAR_WAIT, 0, warps) != 0)
        async_fail_deadlock(e);
    else
        fail_apart(e);
    return false;
}

/* ---- the order of warps ---- */

/* The next warp that can run; false when there is none. */
static bool pick_warp(engine &e, unsigned &picked) {
    unsigned count = static_cast<unsigned>(e.warps.size());
    unsigned start = e.last_warp + 1;
    if (e.launch->seed != 0) {
        uint64_t random = next_random(e.random);
        start = static_cast<unsigned>(random % count);
        e.lane_start = static_cast<unsigned>(random >> 32) % warp_size(e);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned w = (start + i) % count;
        if (e.warps[w].ready != 0) {
            e.last_warp = picked = w;
            return true;
        }
    }
    return false;
}

/* ---- blocks ---- */

static void prepare_threads(engine &e, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (i == e.threads.size()) {
            auto t = std::make_unique<thread_state>();
            if (!fiber_map(&t->stack))
                throw std::bad_alloc();
            t->owner = &e;
            t->index = i;
            e.threads.push_back(std::move(t));
        }
        thread_state &t = *e.threads[i];
        if (!t.parked) {
            fiber_start(&e.home, &t.stack, thread_main, &t);
            t.parked = true;
        }
        t.at.kind = CALL_NONE;
        t.reach = e.launch->info->dependent ? REACHES_NOTHING : REACHES_ALL;
        t.open_group = 0;
        t.copies.clear();
    }
}

static void prepare_warps(engine &e) {
    const unsigned size = warp_size(e), rest = e.block_threads % size;
    e.warp_shift = static_cast<unsigned>(__builtin_ctz(size));
    e.block_warps = (e.block_threads + size - 1) / size;
    e.warps.assign(e.block_warps * e.blocks, warp_state{size, all_lanes(size), CALL_NONE, 1});
    if (rest != 0) { /* of a block alone: clusters have whole warps */
        e.warps.back().lanes = rest;
        e.warps.back().ready = all_lanes(rest);
    }
    e.last_warp = static_cast<unsigned>(e.warps.size()) - 1;
}

/* The cluster whose first block is number `block`. */
static void prepare_cluster(engine &e, uint64_t block) {
    const ht_sim_launch_info &info = *e.launch->info;
    e.blocks = info.cluster;
    e.block_threads = info.threads;
    e.meetings = 0;
    e.block.x = static_cast<unsigned>(block % info.grid.x);
    e.block.y = static_cast<unsigned>(block / info.grid.x % info.grid.y);
    e.block.z = static_cast<unsigned>(block / info.grid.x / info.grid.y);
    e.random = e.launch->seed ^ (block << 20);
    e.lane_start = 0;
    e.epoch = 1;
    e.failed = e.no_memory = false;
    prepare_threads(e, thread_count(e));
    prepare_warps(e);
    shared_reset(e, info.smem_bytes);
    async_reset(e);
    if (e.blocks > 1)
        (void)async_begin(e); /* block barriers do not order what the other block does */
    blockIdx = e.block;
    gridDim = info.grid;
    blockDim = {info.threads, 1, 1};
    threadIdx = {0, 0, 0};
}

/* False when a block broke a rule; e.error says which. */
bool run_cluster(engine &e, uint64_t block) {
    prepare_cluster(e, block);
    current_engine = &e;
    while (!e.failed) {
        unsigned w = 0;
        if (async_on(e) && e.launch->seed != 0 && next_random(e.random) % 4 == 0)
            (void)async_land(e);
        if (pick_warp(e, w)) {
            run_warp(e, w);
            if (!e.failed)
                settle_warp(e, w);
        } else if (!settle_cluster(e)) {
            break;
        }
    }
    current_engine = nullptr;
    return !e.failed;
}

} // namespace ht_sim
