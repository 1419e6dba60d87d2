/* sim_error: the words of a violation, and what the host program sets and asks (sim_api.h). */
#include "sim_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <mutex>

namespace ht_sim {

/* Everything that host threads share. */
static std::mutex state_mutex;
static const sim_mma_model *set_model;
static std::vector<allocation> registered; /* by address */
static std::vector<allocation> lent;       /* as it came; one may overlap another */

/* Kernels run in their launch, so what they did wrong is said to the thread that launched them. */
static thread_local char first_error[1024];

const char *call_name(call_kind kind) {
    static const char *const names[] = {
        "no call",
        "exit",
        "ht_mbar_wait",
        "ht_cluster_barrier",
        "ht_group_barrier",
        "ht_barrier",
        "ht_ldmatrix_x4",
        "ht_ldmatrix_x4_trans",
        "ht_mma_f16_16816",
        "ht_mma_f16_1688",
        "ht_mma_bf16_16816",
        "ht_mma_tf32_1688",
        "ht_mma_s8_16832",
        "ht_mma_s8_8816",
        "ht_mma_f64_16816",
        "ht_mma_f64_1688",
        "ht_mma_f64_884",
        "ht_shfl_xor",
        "ht_uniform",
        "ht_wgmma",
        "ht_wgmma_fence",
        "ht_wgmma_commit",
        "ht_wgmma_wait",
        "ht_reg_dealloc or ht_reg_alloc"};
    return kind >= CALL_MFMA ? sim_mfma_table[kind - CALL_MFMA].name : names[kind];
}

std::string kernel_label(const ht_sim_launch_info &info) {
    std::string label = "kernel";
    if (info.call != nullptr) {
        /* The kernel is the text up to the first comma outside brackets. */
        int depth = 0;
        const char *p = info.call;
        for (; *p != '\0' && (*p != ',' || depth > 0); p++)
            depth += (*p == '<' || *p == '(') - (*p == '>' || *p == ')');
        label += " '" + std::string(info.call, p) + "'";
    }
    if (info.launcher != nullptr)
        label += std::string(" launched by ") + info.launcher;
    return label;
}

void engine_fail(engine &e, unsigned thread, int line, const char *cure, const char *what, ...) {
    if (e.failed)
        return;
    char text[512];
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    char place[32] = "";
    if (line > 0)
        snprintf(place, sizeof place, ", line %d", line);
    std::string label = kernel_label(*e.launch->info);
    const unsigned in_block = thread % e.block_threads;
    snprintf(e.error, sizeof e.error, "%.200s, block (%u,%u,%u), thread %u (warp %u, lane %u)%s: %s; %s",
             label.c_str(), e.block.x + thread / e.block_threads, e.block.y, e.block.z, in_block,
             in_block / warp_size(e), in_block % warp_size(e), place, text, cure);
    e.failed = true;
}

void error_keep(const char *text) {
    if (first_error[0] == '\0')
        snprintf(first_error, sizeof first_error, "%s", text);
}

const sim_mma_model *chosen_model() {
    const char *name = getenv("HALFTONE_SIM_MODEL");
    if (name != nullptr && name[0] != '\0')
        return sim_mma_find(name);
    std::lock_guard<std::mutex> lock(state_mutex);
    return set_model != nullptr ? set_model : sim_mma_find("sm80");
}

/* Those of the list, which is by address, that share bytes with a. */
static std::pair<std::vector<allocation>::iterator, std::vector<allocation>::iterator> overlapping(std::vector<allocation> &list,
                                                                                                  const allocation &a) {
    const auto first = std::find_if(list.begin(), list.end(), [&a](const allocation &x) { return x.end > a.first; });
    return {first, std::find_if(first, list.end(), [&a](const allocation &x) { return x.first >= a.end; })};
}

static bool is_registered(const allocation &a) {
    const auto found = overlapping(registered, a);
    return found.first != found.second;
}

/* What is lent as one allocation where it overlaps. */
void allocations_snapshot(std::vector<allocation> &list) {
    std::lock_guard<std::mutex> lock(state_mutex);
    list = registered;
    for (allocation a : lent) {
        if (is_registered(a))
            continue;
        const auto found = overlapping(list, a);
        if (found.first != found.second) {
            a.first = std::min(a.first, found.first->first);
            a.end = std::max(a.end, (found.second - 1)->end);
        }
        list.insert(list.erase(found.first, found.second), a);
    }
}

static void forget(uintptr_t first) {
    registered.erase(std::remove_if(registered.begin(), registered.end(),
                                    [first](const allocation &a) { return a.first == first; }),
                     registered.end());
}

} // namespace ht_sim

using namespace ht_sim;

int ht_sim_register(void *p, size_t bytes) {
    if (p == nullptr || bytes == 0)
        return 0;
    uintptr_t first = reinterpret_cast<uintptr_t>(p);
    std::lock_guard<std::mutex> lock(state_mutex);
    forget(first);
    allocation entry = {first, first + bytes};
    auto place = std::lower_bound(registered.begin(), registered.end(), entry,
                                  [](const allocation &a, const allocation &b) { return a.first < b.first; });
    try {
        registered.insert(place, entry);
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}

void ht_sim_unregister(void *p) {
    std::lock_guard<std::mutex> lock(state_mutex);
    forget(reinterpret_cast<uintptr_t>(p));
}

static allocation extent(const void *p, size_t bytes) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(p);
    return {first, first + bytes};
}

int ht_sim_is_foreign(const void *p, size_t bytes) {
    const allocation a = extent(p, bytes);
    std::lock_guard<std::mutex> lock(state_mutex);
    return a.end > a.first && !is_registered(a);
}

/* The system tries for us, so that nothing is raised here: to compare a word, and to set no bit of it in one step, which
 * leaves what another thread writes there. Whatever else it answers is no denial. */
static bool is_denied(uintptr_t word, int writes) {
    enum { WAIT = 0x80, WAKE_OP = 0x85, OR_NOTHING = 2 << 28, RARE = 0x7fbadbad };
    const struct timespec at_once = {0, 0};
    int own = 0;
    const long code = writes ? syscall(SYS_futex, &own, WAKE_OP, 0, nullptr, word, OR_NOTHING)
                             : syscall(SYS_futex, word, WAIT, RARE, &at_once, nullptr, 0);
    return code == -1 && errno == EFAULT;
}

const void *ht_sim_denied(const void *p, size_t bytes, int writes) {
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const allocation a = extent(p, bytes);
    const int kept = errno;
    uintptr_t at = a.first;
    while (at < a.end && !is_denied(at / 4 * 4, writes))
        at = (at / page + 1) * page;
    errno = kept;
    return at < a.end ? reinterpret_cast<const void *>(at) : nullptr;
}

int ht_sim_lend(const void *p, size_t bytes) {
    std::lock_guard<std::mutex> lock(state_mutex);
    try {
        lent.push_back(extent(p, bytes));
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}

void ht_sim_take_back(const void *p, size_t bytes) {
    const allocation a = extent(p, bytes);
    std::lock_guard<std::mutex> lock(state_mutex);
    const auto same = [&a](const allocation &x) { return x.first == a.first && x.end == a.end; };
    const auto found = std::find_if(lent.begin(), lent.end(), same);
    if (found != lent.end())
        lent.erase(found);
}

const char *ht_sim_error(void) {
    return first_error;
}

void ht_sim_clear_error(void) {
    first_error[0] = '\0';
}

int ht_sim_set_model(const char *name) {
    const sim_mma_model *model = name != nullptr ? sim_mma_find(name) : nullptr;
    const char *wish = getenv("HALFTONE_SIM_MODEL");
    if (wish != nullptr && wish[0] != '\0' && sim_mma_find(wish) == nullptr)
        return HT_SIM_BAD_ENVIRONMENT;
    if (model == nullptr)
        return 1;
    std::lock_guard<std::mutex> lock(state_mutex);
    set_model = model;
    return 0;
}
