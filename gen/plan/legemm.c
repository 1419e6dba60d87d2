/* legemm: the thread-parallelism model of LE-GEMM (2025), sections 4.2 and 4.3, eqs. 12-17. Knows
 * nothing of our own model.
 *
 * With S slices and P products of a scheme (the paper has 2 and 3):
 *   eq. 12  T_TLP   = phi(M N / (T_M T_N)) * Thread_num: wavefronts of all workgroups, each of Thread_num
 *           threads; "also limited by the supported number by the GPU hardware": sms * warps_per_sm *
 *           Thread_num threads can be resident
 *   eq. 13  memory  = 2 bytes * S (T_M T_K + T_K T_N)
 *   eq. 14  flops   = P * 2 T_M T_N T_K
 *   eq. 15  ratio   = P T_M T_N / (S (T_M + T_N))                  [3/2 of T_M T_N / (T_M + T_N)]
 *   eq. 16  Work_DL = (T_M T_N + T_M T_K + T_K T_N) / Work_num     elements a thread deals with
 *   eq. 17  Work_CP = T_M T_N / Work_num        "the number of registers loaded by each thread"
 *   4.3     two buffers in shared memory; nothing may exceed registers or shared memory, T_K gives way first;
 *           it is a multiple of the fragment's k, as in our search space
 *
 * Reading. Eq. 17 counts ONE register for each element of C; an element of A or B with its slices takes 2 S
 * bytes. So eq. 16's elements are registers, and 4.3 asks that a thread's stay within what a thread can
 * address and a workgroup's within the SM's register file. The objective "maximising T_TLP and the ratio" is
 * taken as their product (ours: the paper names no scalar; it is threads times work per byte of each). With
 * it (128,256,32) is the pick on A800 at 512 threads: T_TLP is at the hardware's limit, 256 x 256 overflows
 * the register file, T_K = 64 overflows shared memory. On MI210 two buffers of (128,128,32) fill the 64 KB of
 * LDS exactly, everything larger overflows.
 *
 * What contradicts it: algorithm 1 keeps TWO accumulators for the whole tile, which eq. 17 does not count.
 * Two of 128 x 256 are 65,536 registers, the A800's whole register file: 256 a thread at 256 threads (of
 * 255), 128 at 512 with nothing left for fragments. The printed model accepts the tile, the hardware cannot
 * hold it without spilling or working on it in parts; explain prints both counts, and our own model rejects
 * it. No rule below exists to hide this. */
#include "plan/plan.h"

#include <stdio.h>

#include "base/text.h"

enum { BUFFERS = 2 };

/* Worked examples (A800, legemm, (128,256,32), 32 x 64 warps: 512 threads; 4096 x 4096): workgroups 32 * 16 =
 * 512, T_TLP 512 * 16 * 32 = 262,144, limited to 108 * 64 * 32 = 221,184; memory 2*2*(4096 + 8192) = 49,152
 * bytes; flops 3*2*1048576 = 6,291,456; ratio 128; Work_DL (32768 + 12288) / 512 = 88; Work_CP 64; registers
 * 88, with two whole accumulators 152. */
struct model_legemm_terms model_legemm_terms(const struct target *on, const struct tile *t,
                                             const struct shape *shape) {
    const int64_t threads = tile_threads(t, on), bytes = (int64_t)on->s->slices * scheme_slice_bytes(on->s);
    const int64_t area = (int64_t)t->bm * t->bn, edge = t->bm + t->bn, operands = edge * t->bk;
    const int64_t workgroups = ht_mul(ht_ceil_div(shape->m, t->bm), ht_ceil_div(shape->n, t->bn));
    struct model_legemm_terms l;
    l.tlp = ht_mul(ht_mul(workgroups, tile_warps(t)), on->isa->wave_size);
    l.tlp_limit = on->g->sms * on->g->warps_per_sm * on->isa->wave_size;
    l.memory_bytes = bytes * operands;
    l.flops = 2 * on->s->products * area * t->bk;
    l.ratio_milli = on->s->products * area * 1000 / (on->s->slices * edge);
    l.work_dl_milli = (area + operands) * 1000 / threads;
    l.work_cp = ht_ceil_div(area, threads);
    l.registers = ht_ceil_div(4 * area + bytes * operands, 4 * threads);
    l.registers_two_accumulators =
        ht_ceil_div(4 * on->s->accumulators * area + bytes * operands, 4 * threads);
    return l;
}

static void legemm_constraints(const struct target *on, const struct tile *t,
                               const struct model_legemm_terms *l, struct cost *cost) {
    const int64_t block_registers = (int64_t)cost->threads * cost->regs_per_thread;
    if (t->stages != BUFFERS)
        model_reject(cost, "buffers: %d, the pipeline of section 4.3 has %d", t->stages, BUFFERS);
    else if (!model_has_threads(on->g, cost))
        return;
    else if (cost->regs_per_thread > on->g->registers_per_thread_max)
        model_reject(cost, "Work_DL, thread: Work_CP " I64 " + operands " I64 " = %d > " I64 " registers",
                     l->work_cp, (l->registers - l->work_cp), cost->regs_per_thread,
                     on->g->registers_per_thread_max);
    else if (block_registers > on->g->registers_per_sm)
        model_reject(cost, "Work_DL, block: %d threads x %d = " I64 " > " I64 " registers per SM",
                     cost->threads, cost->regs_per_thread, block_registers, on->g->registers_per_sm);
    else if (cost->smem_bytes > on->g->smem_per_block_bytes)
        model_reject(cost, "shared memory: %d buffers of (T_M + T_N) T_K = %d > " I64 " bytes; T_K gives way",
                     BUFFERS, cost->smem_bytes, on->g->smem_per_block_bytes);
}

/* Time, for orientation only (ours; the equations have none): eq. 14 at the matrix unit's rate or eq. 13 at
 * L2's, whichever is longer, for every step of every wave. */
static void legemm_time(const struct target *on, const struct tile *t, const struct shape *shape,
                        const struct model_legemm_terms *l, struct cost *cost) {
    int64_t blocks = cost->blocks_per_sm, steps = ht_ceil_div(shape->k, t->bk);
    int64_t waves = ht_ceil_div(model_waves_milli(on->g, t, shape, cost->blocks_per_sm), 1000);
    int64_t tensor = blocks * l->flops / 2 / model_fma_per_cycle(on->g, on->s);
    int64_t l2 = blocks * l->memory_bytes * on->g->sms * model_clock_mhz(on->g) / (on->g->l2_gbps * 1000);
    snprintf(cost->binding, sizeof cost->binding, "%s", l2 > tensor ? "l2" : "tensor");
    cost->predicted_ns =
        ht_mul(ht_mul(waves, steps), ht_mul(l2 > tensor ? l2 : tensor, 1000)) / model_clock_mhz(on->g);
}

void model_legemm(const struct target *on, const struct tile *t, const struct shape *shape,
                  struct cost *cost) {
    const struct model_legemm_terms l = model_legemm_terms(on, t, shape);
    cost->regs_accumulators = (int)l.work_cp;
    cost->regs_fragments = (int)(l.registers - l.work_cp);
    cost->regs_per_thread = (int)l.registers;
    cost->smem_bytes = t->stages * tile_stage_bytes(t, on->s);
    cost->score = ht_mul(l.tlp < l.tlp_limit ? l.tlp : l.tlp_limit, l.ratio_milli);
    legemm_constraints(on, t, &l, cost);
    if (cost->fits && model_occupies(on, t, cost, "workgroup"))
        legemm_time(on, t, shape, &l, cost);
}
