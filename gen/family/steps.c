/* steps: kernels beside products: they widen, pack, combine, round and reduce. */
#include "family/rows.h"

/* Tiles of 64 x 64 elements that a packing block keeps in shared memory: large pieces make the exchange of
 * magnitudes cheap, several blocks on an SM load and write while others wait. Three blocks where each then
 * has at least four tiles, else two of at least three, else one. Measured on the H200
 * (bench/decisions/006). */
enum { PACK_ENOUGH = 4, PACK_FEW = 3, PACK_TILE = 64 * 64, PACK_ROOM = 4 * 13 * 64 };
static int64_t pack_tiles_in(const struct scheme *s, int64_t bytes) {
    return (bytes - PACK_ROOM) / (PACK_TILE * number_bytes(s->in));
}

static int64_t pack_tiles_beside(const struct gpu *g, const struct scheme *s, int blocks) {
    return pack_tiles_in(s, g->smem_per_sm_bytes / blocks - g->smem_reserved_per_block_bytes);
}

int model_pack_blocks_per_sm(const struct gpu *g, const struct scheme *s) {
    return pack_tiles_beside(g, s, 3) >= PACK_ENOUGH ? 3 : pack_tiles_beside(g, s, 2) >= PACK_FEW ? 2 : 1;
}

long model_pack_tiles(const struct gpu *g, const struct scheme *s) {
    if (s->scale != SCALE_ROW)
        return 1; /* no block waits for another */
    const int blocks = model_pack_blocks_per_sm(g, s);
    const int64_t tiles =
        blocks > 1 ? pack_tiles_beside(g, s, blocks) : pack_tiles_in(s, g->smem_per_block_bytes);
    return (long)(tiles > PACK_ENOUGH ? PACK_ENOUGH : tiles < 1 ? 1 : tiles);
}

/* Shared memory that a packing block may ask for: kernels for sm_80 run on sm_86 and sm_89 too, which have 99
 * KB for a block (CUDA C++ Programming Guide, technical specifications per compute capability). */
long model_pack_smem_most(const struct gpu *g, const struct isa *isa) {
    enum { LEAST_OF_AMPERE = 101376 };
    const long own = (long)g->smem_per_block_bytes;
    return isa_is_exact(isa) || own < LEAST_OF_AMPERE ? own : LEAST_OF_AMPERE;
}

/* A warp of one_row, of which a block has at most 16, has 1024 k: four bytes an element of a row that is
 * fetched ahead, and a byte a digit of x. What warps tell each other takes less than LEFT. */
int model_one_row_k(const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    enum { WARP_K = 1024, MOST = 16, LEFT = 512 };
    if (s->slices == 0)
        return 0;
    const long warp = WARP_K * ((isa->async_copy ? 4 : 0) + s->slices);
    const long warps = (model_pack_smem_most(g, isa) - LEFT) / warp;
    return WARP_K * (int)(warps < MOST ? warps : MOST);
}

const struct family family_pack = {
    .file = "pack", .has_init = true, .folds = "PREFETCH_LOADS CHUNK_K UNITS",
    .hooks = {"=launch", "scheme/row_scale", "=scheme", "=split", "check/certificate", "pack/common",
              "pack/row_sums", "pack/absmax_exchange", "pack/outlier_tiles", "pack/row_resident",
              "pack/strip_32x512"}
};

const struct family family_few_rows = {
    .file = "few_rows", .folds = "STEPS TILES FOURS LOADS SLICES ACCS",
    .hooks = {"=launch", "scheme/row_scale", "=scheme", "=split", "pack/common", "pack/absmax_exchange",
              "=partial", "stage/real_f32", "=stage_sync", "=mma_sync"}
};

const struct family family_one_row = {
    .file = "one_row", .folds = "LOADS SLICES ACCS",
    .hooks = {"=launch", "scheme/row_scale", "=scheme", "=split", "pack/common", "=partial",
              "stage/real_f32", "=stage_sync"}
};

const struct family family_reduce = {
    .file = "reduce", .folds = "", .hooks = {"=launch", FP32_SUMS}
};

const struct family family_widen = {
    .file = "widen", .folds = "", .hooks = {"=launch"}
};

const struct family family_fp64_reduce = {
    .file = "reduce", .folds = "", OF_FP64,
    .hooks = {"=launch", "stage/real_f64", "=two_sum", "=partial"}
};

const struct family family_crt_pack = {
    .file = "crt_pack", OF_FP64, .has_init = true, .folds = "HELD AT_ONCE CRT_DIGIT_WORDS",
    .hooks = {"=launch", "=together", "=tables", "pack/crt_digits", "check/crt_spans", "check/crt_counts",
              "check/crt_abs", "=element", "check/crt_sample"}
};

const struct family family_crt_combine = {
    .file = "crt_combine", OF_FP64,
    .folds = "PIECES GROUPS TAKEN CRT_MODULI CRT_THREADS CRT_VALUE_WORDS",
    .hooks = {"=launch", "=fragment", "=tables", "check/crt_counts", "check/crt_abs", "=crt_order",
              CRT_TO_C}
};

const struct family family_crt_exact = {
    .file = "crt_exact", OF_FP64, .folds = "TAKEN CRT_VALUE_WORDS",
    .hooks = {"=launch", "=fragment", "=tables", "check/crt_spans", "=crt_order", CRT_TO_C,
              "epilogue/crt_fewer", "epilogue/exact_dot"}
};

const struct family family_ozaki_pack = {
    .file = "ozaki_pack", OF_FP64, .has_init = true,
    .folds = "OZ_THREADS OZ_ROWS OZ_LANES OZ_WARPS START_ROWS START_K",
    .hooks = {"=launch", "pack/ozaki_element"}
};

const struct family family_ozaki_combine = {
    .file = "ozaki_combine", OF_FP64, .folds = "PIECES CRT_THREADS",
    .hooks = {"=launch", "=fragment", "pack/ozaki_element", "epilogue/crt_order_mma",
              "epilogue/ozaki_sum"}
};
