/* isa: the table of instruction sets. A new one of a known skeleton is a row here, one in
 * runtime/sim/sim_mma.c, a `templates/hooks/arch/` file and a budget. */
#ifndef HT_ISA_H
#define HT_ISA_H

#include <stdbool.h>

#include "facts/dtype.h"

enum { ISA_FP32_MMA_K = 4 };

/* Shape of one MMA and of what a warp loads for it. */
struct mma_shape {
    /* k: of kernels that read the caller's matrices; packed ones have it by slice type */
    int m, n, k;
    /* k of one FP16 fragment load (two m16n8k8 share one 16-wide load); others the same in bytes */
    int fragment_k;
    int b_tiles;         /* MMA column tiles that one load of B brings */
    int d_cols;          /* columns among the accumulators that a lane has of an MMA tile */
    int latency_divisor; /* the budget's MMA latency is that of the unit's main shape; this one's: divided */
};

/* What a kernel family may ask of an instruction set. */
enum isa_feature {
    ISA_ANY, ISA_FRAGMENTS, ISA_WGMMA, ISA_WGMMA_RS_BF16, ISA_DMMA, ISA_FP64_MMA, ISA_FP64_FMA_ALONE
};

struct isa {
    const char *name;      /* "sm_80": the budget key `isa` */
    const char *suffix;    /* "sm80": last part of kernel names */
    const char *vendor;    /* "nvidia" | "amd" */
    const char *extension; /* "cu" | "hip" */
    const char *prim;      /* templates/hooks/PRIM.cuh: how kernels touch the hardware */
    const char *crt_prim;  /* the same, what FP64 by residues needs besides */
    const char *launch;    /* templates/hooks/LAUNCH.cuh: may a kernel start before its predecessor ends */
    /* templates/hooks/NAME.cuh: copies of a stage and fragment loads of warps; NULL: warpgroups alone */
    const char *stage, *fragment;
    /* the same for warpgroups, whose unit reads both operands from shared memory; NULL: none */
    const char *wgmma;
    /* templates/hooks/NAME.cuh with ht_mma for a slice type; NULL: no such unit */
    const char *mma_hooks[SLICE_TYPES];
    /* Of kernels that read the caller's matrices, templates/hooks/NAME.cuh or NULL: */
    const char *mma_bf16;       /* ht_mma of m16n8k16 BF16; without it FP32 FFMA does it all, */
    const char *mfma_f32;       /* or an MMA of 16 x 16 x 4 FP32 numbers */
    const char *wgmma_rs_bf16;  /* BF16 for warpgroups, A from registers */
    const char *dmma;           /* FP64 tensor cores */
    /* of FP64 products: ht_multiply_1688, where FP64 tensor cores are faster than FP64 FMA */
    const char *fp64_mma;
    /* of their families unpacked_mma alone: hipcc 5.2 spills scalars in the others */
    bool only_tiled;
    int mma_sync_rate_percent;  /* mma.sync's part of the matrix unit's rate in budgets */
    const char *warps; /* row of mma.sync, for schemes that no family of warpgroups has; NULL: none */
    const char *other_shape;     /* row with another MMA shape of the same unit, tried as well; NULL: none */
    const char *sim_model;       /* matrix-unit arithmetic in runtime/sim (sim_mma table) */
    /* what bounds take for a matrix unit whose rounding nobody here has seen; NULL: seen, or compared with
     * others' */
    const char *unverified;
    const char *compile_flags;
    int arch;      /* __CUDA_ARCH__ lower bound (750, 800, ...); for AMD what follows gfx, hexadecimal */
    int ptx_arch;  /* __CUDA_ARCH__ that the front end compiles for; 0: arch */
    int wave_size; /* threads of a warp (wavefront) */
    struct mma_shape mma, unpacked; /* of packed operands; of the caller's */
    int mma_k[SLICE_TYPES]; /* k of the first for each slice type; 0: no such unit */
    int register_unit;   /* registers are allocated to a warp in multiples of this (all lanes together) */
    /* more than sm_80's that ptxas needs for the same PTX where it has few left: source in isa.c */
    int outside_registers;
    int accumulation_registers; /* of a thread's registers, those that MMAs alone can use (AccVGPRs) */
    int smem_unit_bytes;        /* shared memory is allocated to a block in multiples of this */
    bool async_copy;            /* global -> shared without registers (cp.async) */
    const char *absent; /* the unit's faster instruction, which no skeleton has; NULL: none */
    bool flushes_subnormals; /* FP16 and BF16 ones become zero as they enter */
    int native_k; /* f16x3 is no worse than native FP32 from this k on; source in isa.c */
    /* k between two FP32 promotions of a promoting chain; 0: never; source in isa.c */
    int promote_k[SLICE_TYPES];
    /* what a changed copy of a row differs in, for banners; NULL: the row itself */
    const char *ablation;
    /* What a chain loses, in 2^-24 of its sum of magnitudes (bench/ACCURACY.md, sections 2 and 3). */
    int align_units[SLICE_TYPES]; /* for one fragment of one product */
    int tiny_units;               /* for one fragment of a product that lies below the sum's last bits */
    int group_units;              /* once, inside the groups that are added together */
};

extern const struct isa isa_table[];
extern const int isa_count;
const struct isa *isa_find(const char *name); /* NULL: none */
bool isa_has(const struct isa *isa, enum isa_feature feature);

/* The row with its mma.sync and fragments of m16n8: itself, or that of `warps`; NULL: none. */
const struct isa *isa_mma_sync(const struct isa *isa);

/* What its kernels multiply with: "mma.sync", "wgmma", "MFMA". */
const char *isa_instruction(const struct isa *isa);

/* Whether its code runs on that architecture alone. */
bool isa_is_exact(const struct isa *isa);
/* The row with the highest capability whose code runs on NVIDIA's 10 * major + minor; NULL: none. */
const struct isa *isa_of_capability(int capability);

#endif
