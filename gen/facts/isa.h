/* isa: the table of instruction sets. A new instruction set of a known skeleton is one row here, one
 * `templates/arch_*` hook file and a budget. */
#ifndef HT_ISA_H
#define HT_ISA_H

#include <stdbool.h>

#include "facts/slice.h"

enum { ISA_HOOKS_MAX = 2, ISA_FP32_MMA_K = 4 };

/* Skeletons of kernels that read the operands as they are: slices in warpgroup MMAs, in MMAs, multiply-adds from shared memory, multiply-adds of a
 * matrix and a few vectors, the same of a tall matrix with few k; DMMA; the same for blocks that fail the data check. */
enum direct_kind { DIRECT_NONE, DIRECT_WGMMA, DIRECT_TILE, DIRECT_FMA, DIRECT_THIN, DIRECT_TALL, DIRECT_DMMA, DIRECT_RESCUE, DIRECT_KINDS };

struct isa {
    const char *name;      /* "sm_80": the budget key `isa` */
    const char *suffix;    /* "sm80": last part of kernel names */
    const char *vendor;    /* "nvidia" | "amd" */
    const char *extension; /* "cu" | "hip" */
    const char *skeleton;  /* templates/SKELETON.cu */
    const char *prim;      /* templates/PRIM.cuh: how kernels touch the hardware */
    const char *launch;    /* templates/LAUNCH.cuh: whether a kernel may start before its predecessor ends */
    const char *hooks[ISA_HOOKS_MAX]; /* templates/HOOKS.cuh, in this order, up to the first NULL: stages, fragments */
    const char *mma_hooks[SLICE_TYPES]; /* templates/NAME.cuh with ht_mma for a slice type; NULL: no such unit */
    /* ht_mma of m16n8k16 BF16 for kernels that read the operands as they are; NULL: FP32 multiply-adds do it all */
    const char *direct_mma;
    const char *direct_wgmma; /* the same for warpgroups; NULL: none */
    const char *dmma; /* templates/NAME.cuh with DMMA; NULL: none */
    const char *fp32_mma; /* in their place: templates/NAME.cuh with an MMA of 16 x 16 x 4 FP32 numbers; NULL: none */
    bool tiles_only; /* of those kernels DIRECT_TILE alone: hipcc 5.2 spills scalars in the others */
    enum direct_kind direct; /* in rows of isa_direct */
    int sync_percent; /* in rows of isa_direct: mma.sync's part of the unit's rate in budgets */
    const char *other_shape;     /* row with another MMA shape of the same unit, tried as well; NULL: none */
    const char *sim_model;       /* matrix-unit arithmetic in runtime/sim (sim_mma table) */
    const char *unverified; /* what bounds take for a matrix unit whose rounding nobody here has seen; NULL: seen, or compared with others' */
    const char *compile_flags;
    int arch;      /* __CUDA_ARCH__ lower bound (750, 800, ...); for AMD what follows gfx, hexadecimal */
    int ptx_arch;  /* __CUDA_ARCH__ that the front end compiles for; 0: arch */
    int wave_size; /* threads of a warp (wavefront) */
    int mi, ni;    /* MMA shape used by the skeleton */
    int mma_k[SLICE_TYPES]; /* its k for each slice type; 0: no such unit */
    int fragment_k; /* k of one FP16 fragment load (two m16n8k8 share one 16-wide load); others the same in bytes */
    int b_tiles;         /* MMA column tiles that one load of B brings */
    int d_cols;          /* columns among the accumulators that a lane has of an MMA tile */
    int latency_divisor; /* the budget's MMA latency is that of the unit's main shape; this one's: divided */
    int register_unit;   /* registers are allocated to a warp in multiples of this (all lanes together) */
    int outside_registers;   /* more than sm_80's that ptxas needs for the same PTX where it has few left: source in isa.c */
    int accumulation_registers; /* of a thread's registers, those that MMAs alone can use (AccVGPRs) */
    int smem_unit_bytes;        /* shared memory is allocated to a block in multiples of this */
    bool async_copy;            /* global -> shared without registers (cp.async) */
    const char *absent; /* the unit's faster instruction, which no skeleton has; NULL: none */
    bool warpgroup; /* the matrix unit takes both operands from shared memory, for four warps at once (wgmma) */
    bool flushes_subnormals; /* FP16 and BF16 ones become zero as they enter */
    int native_k; /* f16x3 is no worse than native FP32 from this k on; source in isa.c */
    int promote_k[SLICE_TYPES]; /* k between two FP32 promotions of a promoting chain; 0: never; source in isa.c */
    const char *ablation;       /* what a changed copy of a row differs in, for banners; NULL: the row itself */
    /* What a chain loses, in 2^-24 of its sum of magnitudes (bench/ERROR_BOUNDS.md, sections 2 and 3). */
    int align_units[SLICE_TYPES]; /* for one fragment of one product */
    int tiny_units;               /* for one fragment of a product that lies below the sum's last bits */
    int group_units;              /* once, inside the groups that are added together */
};

extern const struct isa isa_table[];
extern const int isa_count;
const struct isa *isa_find(const char *name); /* NULL: none */
/* The same instruction set as kernels see it that read the operands as they are: warp-synchronous whatever else it can do. */
const struct isa *isa_direct(const struct isa *isa, enum direct_kind kind);

/* k of one MMA and of one fragment load for a slice type. A load brings the same bytes of k whatever the type; mma.sync
 * takes as many (m16n8k16 FP16 and BF16, m16n8k8 TF32, m16n8k32 INT8), MFMA the same k (32x32x8). */
int isa_mma_k(const struct isa *isa, enum slice_type t);
int isa_fragment_k(const struct isa *isa, enum slice_type t);

/* What its kernels multiply with: "mma.sync", "wgmma", "MFMA". */
const char *isa_instruction(const struct isa *isa);

/* Whether its code runs on that architecture alone. */
bool isa_is_exact(const struct isa *isa);
/* The row with the highest capability whose code runs on NVIDIA's 10 * major + minor; NULL: none. */
const struct isa *isa_of_capability(int capability);

#endif
