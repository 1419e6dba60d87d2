/* sim_calls: the running thread: how it gives way to the next lane or the scheduler (sim_core), and what it calls that waits for
 * others: barriers, ldmatrix, mma, shuffles. Each notes its operands and gives way; sim_warp does the work. */
#include "sim_async.h"

__thread ht_sim_dim3 threadIdx, blockIdx, gridDim, blockDim;

namespace ht_sim {

__thread engine *current_engine;

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

void run_warp(engine &e, unsigned w) {
    fiber_switch(&e.home, enter(e, w * warp_size(e) + first_lane(e, e.warps[w].ready)));
}

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

request::request(const char *name, int line) : e(current_engine), who{0, line, name, false} {
    if (e != nullptr)
        who.thread = e->running->index;
    else
        error_keep((std::string(name) + " called outside a kernel; launch it with ht_launch").c_str());
}

} // namespace ht_sim

using namespace ht_sim;

void ht_barrier(int line) {
    thread_state *t = block_at(CALL_BARRIER, line, nullptr);
    if (t == nullptr)
        return;
    t->at.value = 0;
    wait_here(*t);
}

bool ht_barrier_any(bool yes, int line) {
    thread_state *t = block_at(CALL_BARRIER, line, nullptr);
    if (t == nullptr)
        return yes;
    t->at.value = yes;
    wait_here(*t);
    return t->at.value != 0;
}

void ht_sim_group_barrier(int group, int threads, int line) {
    thread_state *t = block_at(CALL_GROUP_BARRIER, line, nullptr);
    if (t == nullptr)
        return;
    async_begin(*t->owner);
    t->at.value = group;
    t->at.lane_mask = threads;
    wait_here(*t);
}

void ht_cluster_meet(int line) {
    ht_cluster_barrier(line);
}

void ht_cluster_barrier(int line) {
    thread_state *t = block_at(CALL_CLUSTER_BARRIER, line, nullptr);
    if (t != nullptr)
        wait_here(*t);
}

static void ldmatrix(call_kind kind, unsigned *r, unsigned s, int line, const void *site) {
    thread_state *t = block_at(kind, line, site);
    if (t == nullptr)
        return;
    t->at.r = r;
    t->at.s = s;
    wait_here(*t);
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
    wait_here(*t);
}

#define HT_SIM_MMA(name, kind, D, T)                                                                         \
    void name(D *d, const T *a, const T *b, int line) {                                                      \
        mma(kind, d, a, b, line, __builtin_return_address(0));                                               \
    }
HT_SIM_MMA(ht_mma_f16_16816, CALL_MMA_16816, float, unsigned)
HT_SIM_MMA(ht_mma_f16_1688, CALL_MMA_1688, float, unsigned)
HT_SIM_MMA(ht_mma_bf16_16816, CALL_MMA_BF16_16816, float, unsigned)
HT_SIM_MMA(ht_mma_tf32_1688, CALL_MMA_TF32_1688, float, unsigned)
HT_SIM_MMA(ht_mma_s8_16832, CALL_MMA_S8_16832, int, unsigned)
HT_SIM_MMA(ht_mma_s8_8816, CALL_MMA_S8_8816, int, unsigned)
HT_SIM_MMA(ht_mma_f64_16816, CALL_MMA_F64_16816, double, double)
HT_SIM_MMA(ht_mma_f64_884, CALL_MMA_F64_884, double, double)
HT_SIM_MMA(ht_mma_f64_1688, CALL_MMA_F64_1688, double, double)
#define HT_SIM_MFMA(name, row, type) HT_SIM_MMA(ht_mfma_##name, static_cast<call_kind>(CALL_MFMA + row), type, unsigned)
HT_SIM_MFMA_CALLS(HT_SIM_MFMA)
#undef HT_SIM_MFMA
#undef HT_SIM_MMA

int ht_shfl_xor(int v, int lane_mask, int line) {
    thread_state *t = block_at(CALL_SHFL, line, __builtin_return_address(0));
    if (t == nullptr)
        return v;
    t->at.value = v;
    t->at.lane_mask = lane_mask;
    wait_here(*t);
    return t->at.value;
}

int ht_uniform(int v, int line) {
    thread_state *t = block_at(CALL_UNIFORM, line, __builtin_return_address(0));
    if (t == nullptr)
        return v;
    t->at.value = v;
    wait_here(*t);
    return v;
}
