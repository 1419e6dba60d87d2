/* isa: the table of instruction sets; see isa.h. Knows no budgets, schemes or tiles.
 *
 * Sources. MMA shapes: PTX ISA 9.0, "mma" (m16n8k8 from sm_75, m16n8k16 from sm_80; INT8 m8n8k16 on sm_75,
 * four for each m16n8k32 that sm_80 has); LE-GEMM table 2 for gfx90a, whose 32x32x8 instruction is issued
 * twice for a 32x32x16 fragment; its 16x16x16 one twice for each load. Register allocation: CUDA occupancy
 * calculator, 256 per warp on every row; gfx90a allocates VGPRs in eights per lane, 8 * 64 (CDNA2 ISA guide,
 * "VGPR allocation"). Shared-memory allocation: 256 bytes on sm_75, 128 bytes from sm_80 (the same
 * calculator); LDS 512 bytes on gfx90a. flushes_subnormals: ROCm documentation, "MI200 MFMA behavior
 * specifics" (FP16 and BF16 alike). promote_k: by the rule of bench/decisions/005, from the promotion tables
 * in bench/results (the a800's arithmetic is that of sm_86 and sm_89); 64 on Hopper also by
 * bench/decisions/016. gfx90a rounds each step of a chain to nearest: no bias grows with k and there are four
 * times fewer roundings than in a native FP32 product, so nothing is promoted.
 *
 * native_k: bench/ACCURACY.md, section 11; align_units: sections 2 and 9, of gfx90a 10. On sm_100 and sm_120
 * nothing was measured: sm_80's shapes, promotion and units, the largest of the NVIDIA rows.
 * outside_registers: ptxas 13.0 spills 20 and 40 bytes on sm_120, and none elsewhere, in ootomo's 64x32 warps
 * of 255 registers and in the tall-skinny kernel of one column; bf16x6u's tiles take 2 to 4 more there (a
 * quarter of the 16 is added). */
#include "facts/isa.h"

#include <string.h>

#include "base/text.h"

/* Native code of the target plus its PTX, so that newer GPUs can run it too. */
#define NVCC_TARGET(cc) "-gencode arch=compute_" cc ",code=[sm_" cc ",compute_" cc "]"
/* From 10.0 on nvcc 13.0 has another front end (NVVM 20 instead of 7), whose PTX makes ptxas spill in 35 of
 * 210 kernels (i8x6 in 64x64x128_w64x16_s2: 992 bytes). The PTX for sm_80 has the same instructions, and none
 * spills. */
#define BLACKWELL_TARGET(cc) "-gencode arch=compute_80,code=[sm_" cc ",compute_80]"

#define AMPERE_MMA                                                                                           \
    {                                                                                                        \
        [SLICE_F16] = "arch/sm80_f16", [SLICE_BF16] = "arch/sm80_bf16", [SLICE_TF32] = "arch/sm80_tf32",     \
        [SLICE_S8] = "arch/sm80_s8"                                                                          \
    }
#define AMPERE_K                                                                                             \
    { [SLICE_F16] = 16, [SLICE_BF16] = 16, [SLICE_TF32] = 8, [SLICE_S8] = 32 }
#define AMPERE_UNITS                                                                                         \
    { [SLICE_F16] = 18, [SLICE_BF16] = 18, [SLICE_TF32] = 10 }
#define PROMOTE_OF_MMA                                                                                       \
    { [SLICE_F16] = 32, [SLICE_BF16] = 64, [SLICE_TF32] = 32 }
/* FP16 MMA tiles of mma.sync and how their fragments are loaded. */
#define LDMATRIX_TILES .mma = {16, 8, 16, 16, 2, 2, 1}, .unpacked = {16, 8, 16, 16, 1, 2, 1}

/* Published models of Blackwell's mma.sync (MMA-Sim; Khattak and Mikaitis 2025) have sm_90's arithmetic,
 * which loses less. */
#define BLACKWELL_ROUNDING                                                                                   \
    "the rounding of this GPU's tensor cores is unverified: the bound takes sm_80's, the worst known of "    \
    "NVIDIA's"

#define NVIDIA                                                                                               \
    .vendor = "nvidia", .extension = "cu", .prim = "prim/cuda", .crt_prim = "prim/crt_cuda",                 \
    .wave_size = 32, LDMATRIX_TILES, .register_unit = 256

/* Everything the sm_80 row and its kin share: warp-synchronous m16n8k16, cp.async. */
#define AMPERE_KIN(name_, suffix_, sim_, flags_, arch_, fp64_mma_, unverified_, absent_)                     \
    {                                                                                                        \
        .name = name_, .suffix = suffix_, NVIDIA, .launch = "launch/stream",                                 \
        .stage = "stage/cp_async", .fragment = "frag/ldmatrix",                                              \
        .mma_hooks = AMPERE_MMA, .mma_bf16 = "arch/sm80_bf16", .mma_sync_rate_percent = 100,                 \
        .fp64_mma = fp64_mma_,                                                                               \
        .sim_model = sim_, .compile_flags = flags_, .arch = arch_,                                           \
        .mma_k = AMPERE_K, .smem_unit_bytes = 128, .async_copy = true,                                       \
        .ptx_arch = arch_ >= 1000 ? 800 : 0, .outside_registers = arch_ == 1200 ? 16 : 0,                    \
        .unverified = unverified_, .absent = absent_, .flushes_subnormals = false, .native_k = 256,          \
        .promote_k = PROMOTE_OF_MMA, .align_units = AMPERE_UNITS, .tiny_units = 3                            \
    }

/* LE-GEMM's fragments (32,32,16) and (16,16,16). */
#define CDNA2(name_, suffix_, side_, k_, fragment_k_, latency_divisor_, align_units_, other_)                \
    {                                                                                                        \
        .name = name_, .suffix = suffix_, .vendor = "amd", .extension = "hip",                               \
        .prim = "prim/hip", .crt_prim = "prim/crt_hip", .launch = "launch/stream",                           \
        .stage = "stage/via_registers", .fragment = "frag/mfma",                                             \
        .mma_hooks = {[SLICE_F16] = "arch/gfx90a_f16",                                                       \
                      [SLICE_BF16] = "arch/gfx90a_bf16",                                                     \
                      [SLICE_S8] = "arch/gfx90a_s8"}, /* no TF32 before gfx942 */                            \
            .mma_k = {[SLICE_F16] = k_, [SLICE_BF16] = k_, [SLICE_S8] = k_}, .other_shape = other_,          \
        .mfma_f32 = "arch/gfx90a_f32", .only_tiled = true, .mma_sync_rate_percent = 100,                     \
        .sim_model = "gfx90a",                                                                               \
        /* the language is said because hipcc 5 takes C++14 unless told; nvcc takes C++17 from 12 on */      \
        .compile_flags =                                                                                     \
            "--offload-arch=gfx90a -std=c++17 -ffp-contract=off -Wno-unused-command-line-argument",          \
        .arch = 0x90a, .wave_size = 64, .register_unit = 512,                                                \
        .mma = {side_, side_, k_, fragment_k_, 1, side_ * side_ / 64, latency_divisor_},                     \
        .unpacked = {16, 16, 16, 16, 1, 4, 2}, /* 16x16x4f32: 8 passes, 32x32x8f16 16: CDNA 2 ISA guide */   \
        .accumulation_registers = 256, .smem_unit_bytes = 512, .async_copy = false,                          \
        .flushes_subnormals = true, .native_k = 64,                                                          \
        .align_units = {[SLICE_F16] = align_units_, [SLICE_BF16] = align_units_}, .tiny_units = 0,           \
        .group_units = 2                                                                                     \
    }

const struct isa isa_table[] = {
    {.name = "sm_75", .suffix = "sm75", NVIDIA, .launch = "launch/stream",
     .stage = "stage/via_registers", .fragment = "frag/ldmatrix", .mma_sync_rate_percent = 100,
     /* no BF16, no TF32 before 8.0 */
     .mma_hooks = {[SLICE_F16] = "arch/sm75_f16", [SLICE_S8] = "arch/sm75_s8"},
     .mma_k = {[SLICE_F16] = 8, [SLICE_S8] = 16}, .sim_model = "sm75",
     .compile_flags = NVCC_TARGET("75"), .arch = 750, .smem_unit_bytes = 256, .native_k = 256,
     .promote_k = {[SLICE_F16] = 32}, .align_units = {[SLICE_F16] = 18}, .tiny_units = 3},
    AMPERE_KIN("sm_80", "sm80", "sm80", NVCC_TARGET("80"), 800, "arch/sm80_dmma", NULL, NULL),
    AMPERE_KIN("sm_86", "sm86", "sm86", NVCC_TARGET("86"), 860, NULL, NULL, NULL),
    AMPERE_KIN("sm_89", "sm89", "sm89", NVCC_TARGET("89"), 890, NULL, NULL, NULL),
    /* 16 k of a 64-row operand is what one wgmma takes; mma is that of mma.sync, for the papers' models. */
    {.name = "sm_90a", .suffix = "sm90a", NVIDIA, .launch = "launch/pdl", .wgmma = "arch/sm90",
     /* budgets state wgmma's rate; mma.sync reaches that much of it: Luo et al. 2024 */
     .mma_sync_rate_percent = 62,
     .mma_hooks = {[SLICE_F16] = "arch/sm90_f16", [SLICE_BF16] = "arch/sm90_bf16",
                   [SLICE_TF32] = "arch/sm90_tf32", [SLICE_S8] = "arch/sm90_s8"},
     .mma_bf16 = "arch/sm80_bf16", .wgmma_rs_bf16 = "arch/sm90_bf16_rs", .dmma = "arch/sm90_dmma",
     .fp64_mma = "arch/sm90_dmma64", .warps = "sm_90a_mma",
     .sim_model = "sm90", .compile_flags = NVCC_TARGET("90a"), .arch = 900,
     .mma_k = AMPERE_K, .smem_unit_bytes = 128, .async_copy = true, .native_k = 256,
     .promote_k = {[SLICE_F16] = 64, [SLICE_BF16] = 64, [SLICE_TF32] = 64},
     .align_units = {[SLICE_F16] = 10, [SLICE_BF16] = 10, [SLICE_TF32] = 6}, .tiny_units = 3},
    /* mma.sync of Hopper, for what no family of warpgroups has. */
    {.name = "sm_90a_mma", .suffix = "sm90a", NVIDIA, .launch = "launch/stream",
     .stage = "stage/cp_async", .fragment = "frag/ldmatrix", .mma_sync_rate_percent = 62,
     .mma_hooks = {[SLICE_F16] = "arch/sm80_f16", [SLICE_S8] = "arch/sm80_s8"},
     .sim_model = "sm90", .compile_flags = NVCC_TARGET("90a"), .arch = 900,
     .mma_k = {[SLICE_F16] = 16, [SLICE_S8] = 32}, .smem_unit_bytes = 128, .async_copy = true},
    AMPERE_KIN("sm_100", "sm100", "sm100_assumed", BLACKWELL_TARGET("100"), 1000, "arch/sm80_dmma",
               BLACKWELL_ROUNDING, "tcgen05"),
    AMPERE_KIN("sm_120", "sm120", "sm120_assumed", BLACKWELL_TARGET("120"), 1200, NULL,
               BLACKWELL_ROUNDING, NULL),
    /* The main shape first: it is the one budgets name. */
    CDNA2("gfx90a", "gfx90a", 32, 8, 16, 1, 4, "gfx90a_16x16"),
    CDNA2("gfx90a_16x16", "16x16_gfx90a", 16, 16, 32, 2, 8, NULL),
};
const int isa_count = (int)(sizeof isa_table / sizeof isa_table[0]);

const struct isa *isa_find(const char *name) {
    const size_t i = TEXT_ROW(name, isa_table);
    return i < (size_t)isa_count ? &isa_table[i] : NULL;
}

bool isa_has(const struct isa *isa, enum isa_feature feature) {
    const char *const hooks[] = {isa->prim, isa->fragment, isa->wgmma,   isa->wgmma_rs_bf16,
                                 isa->dmma, isa->fp64_mma, isa->fp64_mma ? NULL : isa->prim};
    return hooks[feature] != NULL;
}

const struct isa *isa_mma_sync(const struct isa *isa) {
    return isa->warps ? isa_find(isa->warps) : strcmp(isa->fragment, "frag/ldmatrix") == 0 ? isa : NULL;
}

const char *isa_instruction(const struct isa *isa) {
    return strcmp(isa->vendor, "amd") == 0 ? "MFMA" : isa->wgmma ? "wgmma" : "mma.sync";
}

/* Names like sm_90a are NVIDIA's for code that runs on that capability alone; AMD's code objects always
 * do. */
bool isa_is_exact(const struct isa *isa) {
    return isa->name[strlen(isa->name) - 1] == 'a' || strcmp(isa->vendor, "amd") == 0;
}

const struct isa *isa_of_capability(int capability) {
    const struct isa *best = NULL;
    for (int i = 0; i < isa_count; i++) {
        const struct isa *isa = &isa_table[i];
        const bool runs = isa_is_exact(isa) ? isa->arch == 10 * capability : isa->arch <= 10 * capability;
        if (runs && strcmp(isa->vendor, "nvidia") == 0 && (!best || isa->arch > best->arch))
            best = isa;
    }
    return best;
}
