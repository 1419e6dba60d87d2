/* machine: clocks, rates and room of a GPU; see model.h. Integers only; every quantity has its unit in its
 * name. */
#include "model/model.h"

int64_t model_clocks_at_boost(const struct gpu *g, int64_t clocks) {
    const struct isa *isa = isa_find(g->isa);
    return isa && isa->mma_bf16 ? clocks * g->sustained_clock_mhz / g->clock_mhz : clocks;
}

const enum gpu_key model_rate_key[SLICE_TYPES] = {GPU_f16_fma_per_cycle, GPU_bf16_fma_per_cycle,
                                                  GPU_tf32_fma_per_cycle, GPU_s8_fma_per_cycle};

/* A scheme that has FP32 FMAs in the place of MMAs is as fast as those: their rate for all products
 * together. */
int64_t model_fma_per_cycle(const struct gpu *g, const struct scheme *s) {
    const struct isa *isa = isa_find(g->isa);
    /* Budgets state FP64's matrices: AMD's vectors have half that (CDNA 2: 22.6 of 45.3 TFLOPS); NVIDIA's
     * without have 2 a clock, 7.5 to 12.0 (CUDA C++ Programming Guide, arithmetic instructions). */
    if (s->in == NUMBER_F64 && !s->recipe->packs)
        return g->fp64_fma_per_cycle < 1 ? 2 : g->fp64_fma_per_cycle / (isa && isa->fp64_mma ? 1 : 2);
    if (!s->recipe->packs && isa && !isa->mma_bf16)
        return (isa->mfma_f32 ? g->native_fp32_gflops * 1000 / (2 * g->sms * g->clock_mhz)
                              : g->fp32_fma_per_cycle) *
               s->products;
    return gpu_number(g, model_rate_key[s->slice]);
}

/* Worked example, H200: 128 FMAs a clock, half of that by lanes; 16 bytes of 55.8 a clock:
 * 4096 / (128 (16 / 55.8 + 2 / 128)) = 105. */
int model_alone_most(const struct gpu *g, const struct scheme *s) {
    const int64_t fma = model_fma_per_cycle(g, s); /* and thousandths of bytes, a clock */
    const int64_t bytes = g->l2_gbps * 1000000 / (g->sms * model_clock_mhz(g));
    return (int)(4096 * bytes / (16 * 1000 * fma + 2 * bytes));
}

int64_t model_lane_fmas(const struct target *on) {
    return on->s->in == NUMBER_F64 ? model_fma_per_cycle(on->g, on->s) / (on->isa->fp64_mma ? 2 : 1)
                                   : on->g->fp32_fma_per_cycle;
}

bool model_has_unit(const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    return (!s->recipe->packs || isa->mma_hooks[s->slice]) && model_fma_per_cycle(g, s) > 0;
}

/* Source: CUDA occupancy calculator; CDNA2 ISA guide. Example: 232 registers a thread on sm_75: 232 * 32
 * = 7424 = 29 units of 256, nothing to round; 230 -> 7360 -> 7424 as well. */
int64_t model_warp_registers(const struct isa *isa, int64_t regs) {
    return ht_ceil_div(regs * isa->wave_size, isa->register_unit) * isa->register_unit;
}

/* Source: CUDA occupancy calculator: each scheduler owns its share of the register file and of the warps;
 * shared memory is allocated in units, plus what the driver keeps per block. Worked example: A800 (65,536
 * registers, 4 schedulers), 8 warps of 228 registers: 232 * 32 = 7424 a warp, 16384 / 7424 = 2 warps a
 * scheduler, 8 warps: 1 block. */
int model_occupancy(const struct gpu *g, const struct isa *isa, int warps, int64_t regs_per_thread,
                    int64_t smem_bytes, const char **limit) {
    int64_t scheduler_registers = g->registers_per_sm / g->schedulers_per_sm;
    int64_t warps_by_registers =
        scheduler_registers / model_warp_registers(isa, regs_per_thread) * g->schedulers_per_sm;
    int64_t unit = isa->smem_unit_bytes;
    int64_t smem = ht_ceil_div(smem_bytes + g->smem_reserved_per_block_bytes, unit) * unit;
    const struct {
        const char *name;
        int64_t blocks;
    } bounds[] = {{"registers", warps_by_registers / warps},
                  {"shared memory", smem > 0 ? g->smem_per_sm_bytes / smem : g->blocks_per_sm},
                  {"warps", g->warps_per_sm / warps},
                  {"block slots", g->blocks_per_sm}};
    int least = 0;
    for (int i = 1; i < (int)(sizeof bounds / sizeof bounds[0]); i++) {
        if (bounds[i].blocks < bounds[least].blocks)
            least = i;
    }
    if (limit)
        *limit = bounds[least].name;
    return (int)bounds[least].blocks;
}

const struct fit_reduce fit_reduce = {{"h200-a800set-tiles-fit.tsv", "NVIDIA H200, clock not read",
    "none: no kernel there splits k", "unknown"}, .partial_latency_share = 1};
const struct fit_reduce fit_reduce_behind_wgmma = {{"tune-h200.tsv", "NVIDIA H200, 1425 MHz", FIT_AGAIN
    "tune-h200.tsv", "14 % with the kernels; 128 x 128 x 32768 in 32 slices 21 to 75 % too slow"},
    .partial_latency_share = 2};

enum { L2_HALVES = 2 }; /* what all SMs read is kept in each */

struct ht_machine model_machine(const struct gpu *g) {
    const bool wgmma = isa_has(isa_find(g->isa), ISA_WGMMA);
    const struct fit_reduce *behind = wgmma ? &fit_reduce_behind_wgmma : &fit_reduce;
    return (struct ht_machine){g->sms, model_clock_mhz(g), g->l2_gbps, g->dram_gbps, g->launch_ns,
                               g->l2_bytes / L2_HALVES, g->l2_latency_cycles,
                               g->l2_latency_cycles / behind->partial_latency_share};
}
