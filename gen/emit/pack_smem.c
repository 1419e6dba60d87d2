/* pack_smem.c: how much shared memory a packing block takes, in tiles and in bytes; see emit.h. */
#include "emit/emit.h"

/* Tiles of 64 x 64 elements that a packing block keeps in shared memory: large pieces make the exchange of
 * magnitudes cheap, several blocks on an SM load and write while others wait. Three blocks where each then
 * has at least four tiles, else two, else one. Measured on the H200 (bench/decisions/006). */
enum { PACK_ENOUGH = 4, PACK_FEW = 3, PACK_TILE = 64 * 64, PACK_ROOM = 13 * 64 };
static int64_t pack_tiles_in(const struct scheme *s, int64_t bytes) {
    return (bytes - PACK_ROOM * number_bytes(s->scale_type)) / (PACK_TILE * number_bytes(s->in));
}

static int64_t pack_tiles_beside(const struct gpu *g, const struct scheme *s, int blocks) {
    return pack_tiles_in(s, g->smem_per_sm_bytes / blocks - g->smem_reserved_per_block_bytes);
}

int emit_pack_blocks_per_sm(const struct gpu *g, const struct scheme *s) {
    return pack_tiles_beside(g, s, 3) >= PACK_ENOUGH ? 3 : pack_tiles_beside(g, s, 2) >= PACK_FEW ? 2 : 1;
}

long emit_pack_tiles(const struct gpu *g, const struct scheme *s) {
    const int blocks = emit_pack_blocks_per_sm(g, s);
    const int64_t tiles =
        blocks > 1 ? pack_tiles_beside(g, s, blocks) : pack_tiles_in(s, g->smem_per_block_bytes);
    return (long)(tiles > PACK_ENOUGH ? PACK_ENOUGH : tiles < 1 ? 1 : tiles);
}

/* Shared memory that a packing block may ask for: kernels for sm_80 run on sm_86 and sm_89 too, which have 99
 * KB for a block (CUDA C++ Programming Guide, technical specifications per compute capability). */
long emit_pack_smem(const struct emit_context *c) {
    enum { LEAST_OF_AMPERE = 101376 };
    const long own = (long)c->gpu->smem_per_block_bytes;
    return isa_is_exact(c->isa) || own < LEAST_OF_AMPERE ? own : LEAST_OF_AMPERE;
}
