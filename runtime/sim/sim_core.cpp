/* sim_core: launches and blocks. Every thread of a block is a fiber that runs until it comes to a warp
 * collective, a barrier or its end; the scheduler runs the lanes of a warp one after the other, then looks at
 * what they have come to: the same collective is performed, the same barrier or end makes the warp wait,
 * anything else is divergence. So every state in which nothing can run has a name, and nothing can hang (but
 * a kernel that loops for ever by itself). */
#include "sim_async.h"

#include <stdio.h>
#include <stdlib.h>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <thread>

__thread ht_sim_dim3 threadIdx, blockIdx, gridDim, blockDim;

namespace ht_sim {

__thread engine *current_engine;

enum { ERROR_INVALID_VALUE = 1, ERROR_INVALID_CONFIGURATION = 9 }; /* CUDA's numbers */

/* ---- threads ---- */

/* The lane to run of those that are ready: the first from lane_start on. */
static unsigned first_lane(const engine &e, uint64_t ready) {
    uint64_t later = ready >> e.lane_start << e.lane_start;
    return static_cast<unsigned>(__builtin_ctzll(later != 0 ? later : ready));
}

/* The thread runs next. */
static fiber *enter(engine &e, unsigned thread) {
    e.running = e.threads[thread].get();
    const unsigned rank = rank_of(e, thread);
    threadIdx.x = thread - rank * e.block_threads;
    blockIdx.x = e.block.x + rank;
    return &e.running->stack;
}

/* The next lane to run in the warp of the running thread, else the scheduler. */
static void yield_fiber(engine &e, thread_state &self) {
    const unsigned size = warp_size(e), warp = warp_of(e, self.index);
    uint64_t &ready = e.warps[warp].ready;
    ready &= ~(uint64_t{1} << (self.index & (size - 1)));
    fiber *next = &e.home;
    e.running = nullptr;
    if (ready != 0 && !e.failed)
        next = enter(e, warp * size + first_lane(e, ready));
    fiber_switch(&self.stack, next);
}

void abandon_thread(engine &e) {
    thread_state &self = *e.running;
    for (;;) /* the block has failed: nobody comes back */
        yield_fiber(e, self);
}

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
        yield_fiber(*self.owner, self);
    }
}

/* Waits with the call's operands until the warp, or for a barrier the block, has come together. */
thread_state *block_at(call_kind kind, int line, const void *site) {
    engine *e = current_engine;
    if (e == nullptr) {
        error_keep(
            (std::string(call_name(kind)) + " called outside a kernel; launch it with ht_launch").c_str());
        return nullptr;
    }
    call &at = e->running->at;
    at.kind = kind;
    at.line = line;
    at.site = site;
    return e->running;
}

void wait_here(thread_state &self) {
    yield_fiber(*self.owner, self);
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
    if (!warp_perform(e, w))
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

/* splitmix64 (Steele, Lea, Flood 2014): a full-period mixer of a counter. */
uint64_t next_random(uint64_t &state) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

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

static void run_warp(engine &e, unsigned w) {
    fiber_switch(&e.home, enter(e, w * warp_size(e) + first_lane(e, e.warps[w].ready)));
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
    grid_block_begins(e);
    if (e.blocks > 1)
        (void)async_begin(e); /* block barriers do not order what the other block does */
    blockIdx = e.block;
    gridDim = info.grid;
    blockDim = {info.threads, 1, 1};
    threadIdx = {0, 0, 0};
}

/* False when a block broke a rule; e.error says which. */
static bool run_cluster(engine &e, uint64_t block) {
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
    grid_block_ends(e);
    return !e.failed;
}

/* ---- launches ---- */

/* Engines that no launch uses. */
static std::mutex idle_mutex;
static std::vector<std::unique_ptr<engine>> idle_engines;
static std::map<void (*)(void), int> allowed_smem;

static std::unique_ptr<engine> take_engine() {
    std::lock_guard<std::mutex> lock(idle_mutex);
    if (idle_engines.empty())
        return std::make_unique<engine>();
    std::unique_ptr<engine> e = std::move(idle_engines.back());
    idle_engines.pop_back();
    return e;
}

static void return_engine(std::unique_ptr<engine> e) {
    std::lock_guard<std::mutex> lock(idle_mutex);
    idle_engines.push_back(std::move(e));
}

/* Blocks are handed out in order, so the first failing one is always among those that ran. */
struct progress {
    const struct launch *launch;
    uint64_t blocks;
    uint64_t beside; /* blocks that a host thread may begin while one waits for another */
    std::atomic<uint64_t> next{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    uint64_t failed_block = UINT64_MAX;
    char error[1024] = "";
    bool no_memory = false;
};

/* Of this host thread. */
static thread_local progress *now_running;
static thread_local uint64_t now_waiting; /* blocks, each on a stack of the one before it */

static void note_failure(progress &p, uint64_t block, const char *error) {
    p.stop.store(true);
    std::lock_guard<std::mutex> lock(p.mutex);
    if (block < p.failed_block) {
        p.failed_block = block;
        snprintf(p.error, sizeof p.error, "%s", error);
    }
}

/* Decides whatever else failed: what a launch without memory does says nothing about its kernel. */
static void note_no_memory(progress &p) {
    p.stop.store(true);
    std::lock_guard<std::mutex> lock(p.mutex);
    p.no_memory = true;
}

/* Runs the launch's blocks, at most so many, until none is left. */
static void work(progress &p, uint64_t most) {
    std::unique_ptr<engine> e;
    try {
        e = take_engine();
        e->launch = p.launch;
        for (auto &t : e->threads)
            t->parked = false; /* perhaps on another host thread: fibers do not move */
        e->recent[0] = e->recent[1] = e->recent[2] = e->recent[3] = allocation{0, 0};
        while (!p.stop.load() && most-- > 0) {
            uint64_t block = p.next.fetch_add(p.launch->info->cluster);
            if (block >= p.blocks)
                break;
            if (run_cluster(*e, block))
                continue;
            if (e->no_memory)
                note_no_memory(p);
            else
                note_failure(p, block, e->error);
        }
        e->launch = nullptr;
        return_engine(std::move(e));
    } catch (const std::bad_alloc &) {
        note_no_memory(p);
    }
}

static void work_through(progress &p) {
    now_running = &p;
    now_waiting = 0;
    work(p, UINT64_MAX);
    now_running = nullptr;
}

/* On a GPU the blocks that one waits for run beside it. Here the next one of the launch runs to its end, on the stack of the thread
 * that waits; where none is left, other host threads have what is waited for. */
void block_waits() {
    progress *p = now_running;
    if (p == nullptr || now_waiting >= p->beside || p->next.load() >= p->blocks) {
        std::this_thread::yield();
        return;
    }
    engine *const waiting = current_engine;
    const ht_sim_dim3 thread = threadIdx, block = blockIdx, grid = gridDim, threads = blockDim;
    now_waiting++;
    work(*p, 1);
    now_waiting--;
    current_engine = waiting;
    threadIdx = thread, blockIdx = block, gridDim = grid, blockDim = threads;
}

static uint64_t environment_number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != nullptr && text[0] != '\0' ? strtoull(text, nullptr, 10) : otherwise;
}

static void run_blocks(progress &p) {
    uint64_t cores = std::thread::hardware_concurrency();
    uint64_t workers = environment_number("HALFTONE_SIM_THREADS", cores);
    workers = workers < 1 ? 1 : workers > 64 ? 64 : workers;
    workers = workers > p.blocks ? p.blocks : workers;
    p.beside = environment_number("HALFTONE_SIM_BESIDE", 32 / workers); /* stacks of all are mappings, of which a process has 65,530 */
    std::vector<std::thread> helpers;
    try {
        for (uint64_t i = 1; i < workers; i++)
            helpers.emplace_back(work_through, std::ref(p));
    } catch (const std::exception &) {
        /* Fewer threads do the same work. */
    }
    work_through(p);
    for (std::thread &t : helpers)
        t.join();
}

/* What a GPU would refuse to launch; 0 or its code. */
static int refuse(const ht_sim_launch_info &info, const sim_mma_model &model, std::string &why) {
    if (info.grid.x == 0 || info.grid.y == 0 || info.grid.z == 0 || info.grid.x > INT32_MAX ||
        info.grid.y > 65535 || info.grid.z > 65535 || info.threads == 0 || info.threads > MAX_THREADS) {
        why = "grid or block size out of range: blocks 1.. in each dimension (y, z up to 65535), threads "
              "1..1024";
        return ERROR_INVALID_CONFIGURATION;
    }
    if (info.cluster != 1 && (info.cluster != CLUSTER_MAX || info.grid.x % info.cluster != 0 ||
                              info.threads % (WARPGROUP_WARPS * WARP_SIZE) != 0 || strcmp(model.name, "sm90") != 0)) {
        why = "clusters: of two blocks, in a grid of whole clusters, of whole warpgroups, on sm90";
        return ERROR_INVALID_CONFIGURATION;
    }
    int limit = SMEM_DEFAULT_BYTES;
    {
        std::lock_guard<std::mutex> lock(idle_mutex);
        auto found = allowed_smem.find(info.kernel);
        limit = found != allowed_smem.end() && found->second > limit ? found->second : limit;
    }
    if (info.smem_bytes > model.smem_bytes) {
        why = std::to_string(info.smem_bytes) + " bytes of shared memory asked for, " + model.name + " has " +
              std::to_string(model.smem_bytes) + " for a block";
        return ERROR_INVALID_VALUE;
    }
    if (info.smem_bytes < 0 || info.smem_bytes > limit) {
        why = std::to_string(info.smem_bytes) + " bytes of shared memory asked for, " +
              std::to_string(limit) + " allowed; call ht_allow_smem first";
        return ERROR_INVALID_VALUE;
    }
    return 0;
}

static int launch_checked(const ht_sim_launch_info &info) {
    std::string why;
    int code = ERROR_INVALID_VALUE;
    struct launch l;
    l.info = &info;
    l.model = chosen_model();
    if (l.model == nullptr)
        why = HT_SIM_BAD_MODEL;
    else
        code = refuse(info, *l.model, why);
    if (code != 0) {
        error_keep((kernel_label(info) + ": " + why).c_str());
        return code;
    }
    l.seed = environment_number("HALFTONE_SIM_SEED", 0);
    allocations_snapshot(l.allocations);
    grid_begin(l);
    progress p;
    p.launch = &l;
    p.blocks = static_cast<uint64_t>(info.grid.x) * info.grid.y * info.grid.z;
    run_blocks(p);
    const bool waited = grid_end(l);
    if (p.no_memory)
        throw std::bad_alloc();
    if (!waited && p.failed_block == UINT64_MAX)
        why = kernel_label(info) + ": no thread has called ht_pdl_wait, so the end of this launch says nothing of the one before it";
    else
        why = p.error;
    if (why.empty())
        return 0;
    error_keep(why.c_str());
    return HT_SIM_VIOLATION;
}

} // namespace ht_sim

using namespace ht_sim;

static int out_of_memory() {
    error_keep("the simulator has no memory left for a launch (stacks and state of its blocks): give the process more, or "
               "HALFTONE_SIM_THREADS=1");
    return HT_SIM_NO_MEMORY;
}

static int launch_now(const ht_sim_launch_info &info) {
    try {
        return launch_checked(info);
    } catch (const std::exception &) {
        return out_of_memory();
    }
}

/* A launch that waited: behind its description, to which 16 bytes round up, lie its arguments. The code has no taker,
 * ht_sim_error has the words. */
enum { INFO_BYTES = (sizeof(ht_sim_launch_info) + 15) / 16 * 16 };

static void launch_later(void *data, void *stream) {
    ht_sim_launch_info info;
    memcpy(&info, data, sizeof info);
    info.args = static_cast<unsigned char *>(data) + INFO_BYTES;
    info.stream = stream;
    launch_now(info);
}

int ht_sim_launch(const ht_sim_launch_info *info) {
    int taken = 0;
    try {
        if (stream_waits(info->stream)) {
            std::vector<unsigned char> data(INFO_BYTES + info->args_bytes);
            memcpy(data.data(), info, sizeof *info);
            memcpy(data.data() + INFO_BYTES, info->args, info->args_bytes);
            taken = ht_sim_later(const_cast<void *>(info->stream), launch_later, data.data(), data.size());
        }
    } catch (const std::bad_alloc &) {
        taken = -1;
    }
    return taken == 0 ? launch_now(*info) : taken < 0 ? out_of_memory() : 0;
}

int ht_sim_allow_smem(void (*kernel)(void), int smem_bytes) {
    const sim_mma_model *model = chosen_model();
    if (smem_bytes < 0 || model == nullptr || smem_bytes > model->smem_bytes)
        return ERROR_INVALID_VALUE;
    try {
        std::lock_guard<std::mutex> lock(idle_mutex);
        allowed_smem[kernel] = smem_bytes;
    } catch (const std::exception &) {
        return out_of_memory();
    }
    return 0;
}

void ht_barrier(int line) {
    thread_state *t = block_at(CALL_BARRIER, line, nullptr);
    if (t == nullptr)
        return;
    t->at.value = 0;
    yield_fiber(*t->owner, *t);
}

bool ht_barrier_any(bool yes, int line) {
    thread_state *t = block_at(CALL_BARRIER, line, nullptr);
    if (t == nullptr)
        return yes;
    t->at.value = yes;
    yield_fiber(*t->owner, *t);
    return t->at.value != 0;
}

void ht_sim_group_barrier(int group, int threads, int line) {
    thread_state *t = block_at(CALL_GROUP_BARRIER, line, nullptr);
    if (t == nullptr)
        return;
    async_begin(*t->owner);
    t->at.value = group;
    t->at.lane_mask = threads;
    yield_fiber(*t->owner, *t);
}

void ht_cluster_barrier(int line) {
    thread_state *t = block_at(CALL_CLUSTER_BARRIER, line, nullptr);
    if (t != nullptr)
        yield_fiber(*t->owner, *t);
}

static void ldmatrix(call_kind kind, unsigned *r, unsigned s, int line, const void *site) {
    thread_state *t = block_at(kind, line, site);
    if (t == nullptr)
        return;
    t->at.r = r;
    t->at.s = s;
    yield_fiber(*t->owner, *t);
}
void ht_ldmatrix_x4(unsigned r[4], unsigned s, int line) {
    ldmatrix(CALL_LDMATRIX, r, s, line, __builtin_return_address(0));
}
void ht_ldmatrix_x4_trans(unsigned r[4], unsigned s, int line) {
    ldmatrix(CALL_LDMATRIX_TRANS, r, s, line, __builtin_return_address(0));
}

static void mma(call_kind kind, void *d, const void *a, const void *b, int line, const void *site) {
    thread_state *t = block_at(kind, line, site);
    if (t == nullptr)
        return;
    t->at.d = d;
    t->at.a = static_cast<const unsigned *>(a);
    t->at.b = static_cast<const unsigned *>(b);
    yield_fiber(*t->owner, *t);
}

void ht_mma_f16_16816(float d[4], const unsigned a[4], const unsigned b[2], int line) {
    mma(CALL_MMA_16816, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_f16_1688(float d[4], const unsigned a[2], const unsigned b[1], int line) {
    mma(CALL_MMA_1688, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_bf16_16816(float d[4], const unsigned a[4], const unsigned b[2], int line) {
    mma(CALL_MMA_BF16_16816, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_tf32_1688(float d[4], const unsigned a[4], const unsigned b[2], int line) {
    mma(CALL_MMA_TF32_1688, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_s8_16832(int d[4], const unsigned a[4], const unsigned b[2], int line) {
    mma(CALL_MMA_S8_16832, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_s8_8816(int d[2], const unsigned a[1], const unsigned b[1], int line) {
    mma(CALL_MMA_S8_8816, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_f64_16816(double d[4], const double a[8], const double b[4], int line) {
    mma(CALL_MMA_F64_16816, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_f64_884(double d[2], const double a[1], const double b[1], int line) {
    mma(CALL_MMA_F64_884, d, a, b, line, __builtin_return_address(0));
}

void ht_mma_f64_1688(double d[4], const double a[4], const double b[2], int line) {
    mma(CALL_MMA_F64_1688, d, a, b, line, __builtin_return_address(0));
}
#define HT_SIM_MFMA(name, row, type)                                                                         \
    void ht_mfma_##name(type *d, const unsigned *a, const unsigned *b, int line) {                           \
        mma(static_cast<call_kind>(CALL_MFMA + row), d, a, b, line, __builtin_return_address(0));            \
    }
HT_SIM_MFMA_CALLS(HT_SIM_MFMA)
#undef HT_SIM_MFMA

int ht_shfl_xor(int v, int lane_mask, int line) {
    thread_state *t = block_at(CALL_SHFL, line, __builtin_return_address(0));
    if (t == nullptr)
        return v;
    t->at.value = v;
    t->at.lane_mask = lane_mask;
    yield_fiber(*t->owner, *t);
    return t->at.value;
}

int ht_uniform(int v, int line) {
    thread_state *t = block_at(CALL_UNIFORM, line, __builtin_return_address(0));
    if (t == nullptr)
        return v;
    t->at.value = v;
    yield_fiber(*t->owner, *t);
    return v;
}
