/* sim_calls: what a kernel's thread calls that waits for others: barriers, ldmatrix, mma, shuffles. Each notes its operands and
 * gives way to the scheduler (sim_core); sim_warp does the work. */
#include "sim_async.h"

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
