/* sim_launch: launches. Host threads take the blocks of a launch in order, each with an engine of its own; the first block that
 * fails decides what the launch says. What kernels call about other launches and other blocks is here, too. */
#include "sim_async.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <thread>

namespace ht_sim {

enum { ERROR_INVALID_VALUE = 1, ERROR_INVALID_CONFIGURATION = 9 }; /* CUDA's numbers */

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
    std::atomic<uint64_t> working{0}, waiting{0}; /* host threads; of them those in block_waits with nothing else to run */
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
            e->waited = e->released = false;
            const bool good = run_cluster(*e, block);
            if (e->waited && !e->released) /* those that never release do so at their end */
                p.launch->late_release.store(true);
            if (good)
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
    p.working--;
}

/* On a GPU the blocks that one waits for run beside it. Here the next one of the launch runs to its end, on the stack of the thread
 * that waits; where none is left, other host threads have what is waited for, unless all of them wait too. */
static void block_waits() {
    progress *p = now_running;
    if (p == nullptr)
        return;
    if (now_waiting >= p->beside || p->next.load() >= p->blocks) {
        if (++p->waiting < p->working.load())
            std::this_thread::yield();
        p->waiting--;
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
    p.working = workers;
    std::vector<std::thread> helpers;
    try {
        for (uint64_t i = 1; i < workers; i++)
            helpers.emplace_back(work_through, std::ref(p));
    } catch (const std::exception &) {
        p.working -= workers - 1 - helpers.size(); /* fewer threads do the same work */
    }
    work_through(p);
    for (std::thread &t : helpers)
        t.join();
}

/* ---- launches that may begin before the one before them has ended (ht_launch_dependent). Here that one always has, so what is checked
 * is that nobody could tell:
 *   a thread touches global memory only behind its ht_pdl_wait; behind ht_pdl_assume_complete it may read, which is for what was there
 *   before the launch before this one, if that one waited before it let this one begin;
 *   somebody waits, else the end of this launch would say nothing of the one before it. ---- */

static std::mutex order_mutex;
static std::map<const void *, bool> last_vouched; /* by stream: whether what came before the last launch had ended when it released */

static void grid_begin(struct launch &l) {
    std::lock_guard<std::mutex> lock(order_mutex);
    auto last = last_vouched.find(l.info->stream);
    l.vouched = last == last_vouched.end() || last->second;
}

static bool grid_end(const struct launch &l) {
    std::lock_guard<std::mutex> lock(order_mutex);
    last_vouched[l.info->stream] = !l.info->dependent || l.late_release.load();
    return !l.info->dependent || l.waited.load();
}

/* ---- a launch ---- */

/* What a GPU would refuse to launch; 0 or its code. */
static int refuse(const ht_sim_launch_info &info, const sim_mma_model &model, std::string &why) {
    if (info.grid.x == 0 || info.grid.y == 0 || info.grid.z == 0 || info.grid.x > INT32_MAX ||
        info.grid.y > 65535 || info.grid.z > 65535 || info.threads == 0 || info.threads > MAX_THREADS) {
        why = "grid or block size out of range: blocks 1.. in each dimension (y, z up to 65535), threads "
              "1..1024";
        return ERROR_INVALID_CONFIGURATION;
    }
    if (info.cluster != 1 && (info.cluster > CLUSTER_MAX || info.grid.x % info.cluster != 0 ||
                              info.threads % (WARPGROUP_WARPS * WARP_SIZE) != 0 || strcmp(model.name, "sm90") != 0)) {
        why = "clusters: of up to eight blocks, in a grid of whole clusters, of whole warpgroups, on sm90";
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

/* Kernels compute as a GPU does, whatever the caller computes in. Helpers inherit the environment of the
 * thread that starts them, fibers that of their thread. */
static int launch_now(const ht_sim_launch_info &info) {
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    int code;
    try {
        code = launch_checked(info);
    } catch (const std::exception &) {
        code = out_of_memory();
    }
    fesetenv(&callers);
    return code;
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

int ht_ld_relaxed_i32(const int *p, int line) {
    static thread_local unsigned loads;
    if (++loads % 256 == 0 && current_engine != nullptr) /* whoever loads so often waits for another block */
        block_waits();
    return global_check("ht_ld_relaxed_i32", p, sizeof *p, line, REACHES_ALL) ? __atomic_load_n(p, __ATOMIC_RELAXED) : 0;
}

void ht_sim_grid_wait(void) {
    if (current_engine == nullptr)
        return;
    engine &e = *current_engine;
    e.running->reach = REACHES_ALL;
    if (!e.waited)
        e.launch->waited.store(true);
    e.waited = true;
}

void ht_sim_grid_release(void) {
    if (current_engine == nullptr || current_engine->released)
        return;
    engine &e = *current_engine;
    e.released = true; /* the block's first counts */
    if (e.running->reach == REACHES_ALL)
        e.launch->late_release.store(true);
}

void ht_sim_grid_vouched(int line) {
    request r("ht_pdl_assume_complete", line);
    if (r.e == nullptr)
        return;
    if (!r.e->launch->vouched) {
        engine_fail(*r.e, r.who.thread, line, "let that launch wait first, or call ht_pdl_wait here",
                    "ht_pdl_assume_complete, but the launch before this one released before it waited");
        abandon_thread(*r.e);
    }
    if (r.e->running->reach == REACHES_NOTHING)
        r.e->running->reach = REACHES_READS;
}
