/* isa: the table of instruction sets. Level 1. A new instruction set of a known skeleton is one row here, one
 * `templates/arch_*` hook file and a budget. */
#ifndef HT_ISA_H
#define HT_ISA_H

#include <stdbool.h>

#include "slice.h"

struct isa {
    const char *name;      /* "sm_80": the budget key `isa` */
    const char *suffix;    /* "sm80": last part of kernel names */
    const char *vendor;    /* "nvidia" | "amd" */
    const char *extension; /* "cu" | "hip" */
    const char *skeleton;  /* templates/SKELETON.cu; NULL while kernels for it are not written yet */
    const char *hooks;     /* templates/HOOKS.cuh */
    const char *launch;    /* templates/LAUNCH.cuh: whether a kernel may start before its predecessor ends */
    const char
        *mma_hooks[SLICE_TYPES]; /* templates/NAME.cuh with ht_mma for a slice type; NULL: no such unit */
    const char *sim_model;       /* matrix-unit arithmetic in runtime/sim (sim_mma table) */
    const char *compile_flags;
    int arch;       /* __CUDA_ARCH__ lower bound (750, 800, ...); 90 for gfx90a */
    int wave_size;  /* threads of a warp (wavefront) */
    int mi, ni, ki; /* FP16 MMA shape used by the skeleton; other types have the same k in bytes: isa_mma_k */
    int fragment_k; /* k of one FP16 fragment load: ki or a multiple (two m16n8k8 share one 16-wide load) */
    int register_unit;   /* registers are allocated to a warp in multiples of this (all lanes together) */
    int smem_unit_bytes; /* shared memory is allocated to a block in multiples of this */
    bool async_copy;     /* global -> shared without registers (cp.async) */
    bool warpgroup;      /* the matrix unit takes both operands from shared memory, for four warps at once (wgmma) */
    bool flushes_f16_subnormals;
    int promote_k; /* FP32 promotion interval for promoting chains, in k; source in isa.c */
};

extern const struct isa isa_table[];
extern const int isa_count;
const struct isa *isa_find(const char *name); /* NULL: none */

/* k of one MMA and of one fragment load for a slice type: an MMA takes the same bytes of k whatever its type (m16n8k16
 * FP16 and BF16, m16n8k8 TF32, m16n8k32 INT8). */
int isa_mma_k(const struct isa *isa, enum slice_type t);
int isa_fragment_k(const struct isa *isa, enum slice_type t);

#endif
