/* isa: the table of instruction sets; see isa.h. This room must not know budgets, schemes or tiles.
 *
 * Sources. MMA shapes: PTX ISA 9.0, "mma" (m16n8k8 from sm_75, m16n8k16 from sm_80; INT8 m8n8k16 on
 * sm_75, four for each m16n8k32 that sm_80 has); LE-GEMM table 2 for
 * gfx90a, whose 32x32x8 instruction is issued twice for a 32x32x16 fragment. Register allocation: CUDA
 * occupancy calculator, 256 per warp on every row; gfx90a allocates VGPRs in eights per lane, 8 * 64 (CDNA2
 * ISA guide, "VGPR allocation"). Shared-memory allocation: 256 bytes on sm_75, 128 bytes from sm_80 (the same
 * calculator); LDS 512 bytes on gfx90a. promote_k 64: shared/HOPPER-TRIAL.md, "error": every 128 k loses to
 * SGEMM on one-signed data at n = 1024, every 64 k never did; units with fewer alignment bits (sm_75, sm_80)
 * get the same interval until their own is measured. */
#include "isa.h"

#include <string.h>

/* Native code of the target plus its PTX, so that newer GPUs can run it too. */
#define NVCC_TARGET(cc) "-gencode arch=compute_" cc ",code=[sm_" cc ",compute_" cc "]"

#define AMPERE_MMA                                                                                           \
    {                                                                                                        \
        [SLICE_F16] = "arch_sm80_f16", [SLICE_BF16] = "arch_sm80_bf16", [SLICE_TF32] = "arch_sm80_tf32",     \
        [SLICE_S8] = "arch_sm80_s8"                                                                          \
    }

/* Everything the sm_80 row and its kin share: warp-synchronous m16n8k16, cp.async. */
#define AMPERE_KIN(name_, suffix_, sim_, flags_, arch_)                                                      \
    {                                                                                                        \
        .name = name_, .suffix = suffix_, .vendor = "nvidia", .extension = "cu", .skeleton = "tile_mma",     \
        .hooks = "arch_sm80", .launch = "launch_plain", .mma_hooks = AMPERE_MMA, .sim_model = sim_,          \
        .compile_flags = flags_, .arch = arch_, .wave_size = 32, .mi = 16, .ni = 8, .ki = 16,                \
        .fragment_k = 16, .register_unit = 256, .smem_unit_bytes = 128, .async_copy = true,                  \
        .flushes_f16_subnormals = false, .promote_k = 64                                                     \
    }

const struct isa isa_table[] = {
    {.name = "sm_75",
     .suffix = "sm75",
     .vendor = "nvidia",
     .extension = "cu",
     .skeleton = "tile_mma",
     .hooks = "arch_sm75",
     .launch = "launch_plain",
     .mma_hooks =
         {[SLICE_F16] = "arch_sm75_f16", [SLICE_S8] = "arch_sm75_s8"}, /* no BF16, no TF32 before 8.0 */
     .sim_model = "sm75",
     .compile_flags = NVCC_TARGET("75"),
     .arch = 750,
     .wave_size = 32,
     .mi = 16,
     .ni = 8,
     .ki = 8,
     .fragment_k = 16,
     .register_unit = 256,
     .smem_unit_bytes = 256,
     .async_copy = false,
     .flushes_f16_subnormals = false,
     .promote_k = 64},
    AMPERE_KIN("sm_80", "sm80", "sm80", NVCC_TARGET("80"), 800),
    AMPERE_KIN("sm_86", "sm86", "sm86", NVCC_TARGET("86"), 860),
    AMPERE_KIN("sm_89", "sm89", "sm89", NVCC_TARGET("89"), 890),
    /* 16 k of a 64-row operand is what one wgmma takes; mi and ni are those of mma.sync, for the papers' models. */
    {.name = "sm_90a",
     .suffix = "sm90a",
     .vendor = "nvidia",
     .extension = "cu",
     .skeleton = "tile_wgmma",
     .hooks = "arch_sm90",
     .launch = "launch_dependent",
     .mma_hooks = {[SLICE_F16] = "arch_sm90_f16",
                   [SLICE_BF16] = "arch_sm90_bf16",
                   [SLICE_TF32] = "arch_sm90_tf32",
                   [SLICE_S8] = "arch_sm90_s8"},
     .sim_model = "sm90",
     .compile_flags = NVCC_TARGET("90a"),
     .arch = 900,
     .wave_size = 32,
     .mi = 16,
     .ni = 8,
     .ki = 16,
     .fragment_k = 16,
     .register_unit = 256,
     .smem_unit_bytes = 128,
     .async_copy = true,
     .warpgroup = true,
     .flushes_f16_subnormals = false,
     .promote_k = 64},
    {.name = "gfx90a",
     .suffix = "gfx90a",
     .vendor = "amd",
     .extension = "hip",
     .skeleton = NULL, /* explain only: its kernels have an issue of their own */
     .hooks = "arch_gfx90a",
     .launch = "launch_plain",
     .mma_hooks = {[SLICE_F16] = "arch_gfx90a_f16"},
     .sim_model = "gfx90a",
     .compile_flags = "--offload-arch=gfx90a",
     .arch = 90,
     .wave_size = 64,
     .mi = 32,
     .ni = 32,
     .ki = 8,
     .fragment_k = 16,
     .register_unit = 512,
     .smem_unit_bytes = 512,
     .async_copy = false,
     .flushes_f16_subnormals = true,
     .promote_k = 64},
};
const int isa_count = (int)(sizeof isa_table / sizeof isa_table[0]);

const struct isa *isa_find(const char *name) {
    for (int i = 0; i < isa_count; i++) {
        if (strcmp(isa_table[i].name, name) == 0)
            return &isa_table[i];
    }
    return NULL;
}

int isa_mma_k(const struct isa *isa, enum slice_type t) {
    return isa->ki * slice_bytes(SLICE_F16) / slice_bytes(t);
}

int isa_fragment_k(const struct isa *isa, enum slice_type t) {
    return isa->fragment_k * slice_bytes(SLICE_F16) / slice_bytes(t);
}
