/* tile: the geometry of one kernel and the project's search space; see tile.h. No costs, no opinions: whether
 * a tile fits a GPU is the model's business.
 *
 * The space. bm, bn: whole panel atoms of 64 rows, powers of two as in both papers. bk: one or two atoms,
 * at most 64 unless one atom is wider (INT8: 128). An even number of fragment steps, because fragments are
 * double-buffered. wm, wn: whole fragments, as one load brings them. A block has 1 to 16 warps, and its
 * threads copy a stage in whole 16-byte parts. Without an asynchronous copy a stage passes through registers,
 * so that more than two buffers have no use; with it at least two are needed for anything to be in flight. */
#include "model/tile.h"

#include <stdio.h>
#include <string.h>

#include "../../runtime/ht_abi.h"
#include "base/text.h"

enum { WARPS_MAX = 16, K_MAX = 64, COPY_BYTES = 16 };

int tile_warps(const struct tile *t) {
    return (t->bm / t->wm) * (t->bn / t->wn);
}

enum { WARPGROUP_THREADS = 128, PART_COLUMNS = 64 };

int tile_groups(const struct tile *t, const struct target *on) {
    return t->bm < on->skeleton->group_rows ? on->skeleton->group_rows / t->bm : 1;
}

int tile_threads(const struct tile *t, const struct target *on) {
    return on->skeleton->persistent ? (tile_warpgroups(t) + 1) * WARPGROUP_THREADS
                                    : tile_warps(t) * tile_groups(t, on) * on->isa->wave_size;
}

int tile_warpgroups(const struct tile *t) {
    return t->bn / t->wn;
}

int tile_parts(const struct tile *t) {
    return t->wn / PART_COLUMNS;
}

int tile_part_registers(const struct tile *t) {
    return t->bm * PART_COLUMNS / WARPGROUP_THREADS;
}

int tile_part_rows(const struct tile *t) {
    return t->bm < HT_ATOM_ROWS ? t->bm : HT_ATOM_ROWS;
}

int tile_stage_bytes(const struct tile *t, const struct scheme *s) {
    return (t->bm + t->bn) * t->bk * s->slices * scheme_slice_bytes(s);
}

int tile_cluster_m(const struct tile *t) {
    return t->bn >= t->bm ? t->cluster : 1;
}

int tile_cluster_n(const struct tile *t) {
    return t->bn >= t->bm ? 1 : t->cluster;
}

/* Worked example: f16x3, 64 x 128 x 32 in twos: 8192 of A and half of B's 16384. */
int tile_fetched_bytes(const struct tile *t, const struct scheme *s) {
    const int edge = t->bm / tile_cluster_n(t) + t->bn / tile_cluster_m(t);
    return edge * t->bk * s->slices * scheme_slice_bytes(s);
}

struct ht_tile tile_walk(const struct target *on, const struct tile *t, int blocks_per_sm) {
    const struct skeleton *k = on->skeleton;
    const int step_k = k->line_k > 0 ? k->line_k : t->bk;
    const int bytes =
        k->unpacked ? (t->bm + t->bn) * step_k * number_bytes(on->s->in) : tile_fetched_bytes(t, on->s);
    return (struct ht_tile){
        .bm = t->bm, .bn = t->bn, .step_k = step_k, .step_bytes = bytes, .blocks_per_sm = blocks_per_sm,
        .cluster_m = tile_cluster_m(t), .cluster_n = tile_cluster_n(t), .unpacked = k->unpacked,
        .swap_ab_min_gain = k->swap_ab_min_gain, .persistent = k->persistent, .exact_k = on->s->exact_k,
        .no_split_k = k->no_split_k, .in_block_k_splits = k->in_block_k_splits,
        .element_bytes = number_bytes(on->s->in)};
}

int tile_compare(const struct tile *x, const struct tile *y) {
    const int differences[] = {x->bm - y->bm, x->bn - y->bn, x->bk - y->bk,         x->wm - y->wm,
                               x->wn - y->wn, x->wk - y->wk, x->stages - y->stages, x->cluster - y->cluster};
    for (unsigned i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        if (differences[i] != 0)
            return differences[i] < 0 ? -1 : 1;
    }
    return 0;
}

void tile_name(char name[TILE_NAME_MAX], const struct tile *t, bool of_warpgroups) {
    snprintf(name, TILE_NAME_MAX, "%dx%dx%d_%s%dx%d_s%d%s", t->bm, t->bn, t->bk,
             of_warpgroups ? "wg" : "w", t->wm, t->wn, t->stages, t->cluster > 1 ? "_c2" : "");
}

int tile_scan(const char *text, struct tile *t, bool *of_warpgroups) {
    enum { LARGEST = 65536 };
    int *const field[] = {&t->bm, &t->bn, &t->bk, &t->wm, &t->wn, &t->stages, &t->cluster};
    static const char *const before[] = {"", "x", "x", "_w", "x", "_s", "_c"};
    const char *at = text;
    t->cluster = 1;
    *of_warpgroups = false;
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        const char *const mark = i == 3 && *of_warpgroups ? "_wg" : before[i];
        int64_t number;
        if (i == 6 && strncmp(at, "_c", 2) != 0)
            break;
        if (strncmp(at, mark, strlen(mark)) != 0 || !(at = text_number(at + strlen(mark), LARGEST, &number)))
            return 0;
        *field[i] = (int)number;
        if (i == 2)
            *of_warpgroups = strncmp(at, "_wg", 3) == 0;
    }
    return *at == 0 || *at == ',' ? (int)(at - text) : 0;
}

/* Whether the warp tile is made of whole fragments and divides the block into 1 to 16 warps. */
static bool warps_divide(const struct tile *t, const struct mma_shape *mma) {
    if (t->bm % t->wm || t->bn % t->wn || t->wm % mma->m || t->wn % (mma->n * mma->b_tiles))
        return false;
    int warps = tile_warps(t);
    return warps >= 1 && warps <= WARPS_MAX;
}

/* A warpgroup multiplies 64 columns of C at a time with all bm rows (one wgmma: up to 256); a stage is one
 * atom of k. 32 rows, half an atom, only with the fewest columns and alone: for fewer tiles than there are
 * SMs. */
void tile_space_wgmma_ss(const struct target *on, tile_visit *visit, void *context) {
    enum { ROWS_MIN = HT_ATOM_ROWS / 2, ROWS_MAX = 256, WARPGROUPS_MAX = 3, PARTS_MAX = 2 };
    struct tile t = {.wk = target_mma_k(on), .bk = scheme_atom_k(on->s)};
    for (t.bm = ROWS_MIN; t.bm <= ROWS_MAX; t.bm = t.bm < HT_ATOM_ROWS ? HT_ATOM_ROWS : t.bm + HT_ATOM_ROWS) {
        const int columns = t.bm < HT_ATOM_ROWS ? PART_COLUMNS : WARPGROUPS_MAX * PARTS_MAX * PART_COLUMNS;
        t.wm = t.bm;
        for (t.bn = PART_COLUMNS; t.bn <= columns; t.bn += PART_COLUMNS) {
            for (t.wn = PART_COLUMNS; t.wn <= PARTS_MAX * PART_COLUMNS; t.wn += PART_COLUMNS) {
                if (t.bn % t.wn != 0 || tile_warpgroups(&t) > WARPGROUPS_MAX)
                    continue;
                for (t.stages = 2; t.stages <= TILE_RING_MAX; t.stages++) {
                    for (t.cluster = 1; t.cluster <= (t.bm < HT_ATOM_ROWS ? 1 : TILE_CLUSTER_MAX);
                         t.cluster++)
                        visit(context, &t);
                }
            }
        }
    }
}

/* Unpacked warpgroups: 64 rows, all columns each; threads split eights of Q, so 128 rows need 64 columns. */
void tile_space_unpacked_wgmma(const struct target *on, tile_visit *visit, void *context) {
    static const int sizes[][2] = {{64, 32}, {64, 64}, {128, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct tile t = {sizes[i][0], sizes[i][1], 32, on->mma->m, sizes[i][1], target_mma_k(on), 2, 1};
        visit(context, &t);
    }
}

/* 4 or 8 warps and steps of 32 k, so that a thread always moves the same place of a line; rows down to one
 * MMA tile's columns for skinny GEMMs. Of a tile that warpgroups have, too, --tiles gives theirs. */
void tile_space_unpacked_mma(const struct target *on, tile_visit *visit, void *context) {
    enum { BM_MIN = 32, BM_MAX = 256, BN_MIN = 8, BN_MAX = 64, WM_MAX = 64, WN_MAX = 32 };
    struct tile t = {.bk = 32, .wk = target_mma_k(on), .stages = 2, .cluster = 1};
    for (t.bm = BM_MIN; t.bm <= BM_MAX; t.bm *= 2) {
        for (t.bn = BN_MIN; t.bn <= BN_MAX; t.bn *= 2) {
            for (t.wm = on->mma->m; t.wm <= WM_MAX; t.wm *= 2) {
                for (t.wn = on->mma->n; t.wn <= WN_MAX && t.wn <= t.bn; t.wn *= 2) {
                    if (tile_warps(&t) == 4 || tile_warps(&t) == 8)
                        visit(context, &t);
                }
            }
        }
    }
}

/* Four or eight warps of at most 64 x 32, whose sums leave registers for two sets of fragments; each thread
 * copies a pair of both operands at least. 96 rows fill waves that 64 and 128 do not. */
void tile_space_fp64_mma_tile(const struct target *on, tile_visit *visit, void *context) {
    static const int sides[] = {16, 32, 64, 96, 128};
    enum { SIDES = 5, WARP_MIN = 16, WM_MAX = 64, WN_MAX = 32, SIDE_OF_WARP = 4 };
    struct tile t = {.bk = 16, .wk = target_mma_k(on), .stages = 4, .cluster = 1};
    for (int i = 0; i < SIDES * SIDES; i++) {
        t.bm = sides[i / SIDES];
        t.bn = sides[i % SIDES];
        for (t.wm = WARP_MIN; t.wm <= WM_MAX; t.wm += WARP_MIN) {
            for (t.wn = WARP_MIN; t.wn <= WN_MAX && t.wn <= t.wm; t.wn *= 2) {
                const int warps = tile_warps(&t), side = t.bm < t.bn ? t.bm : t.bn;
                if (t.bm % t.wm + t.bn % t.wn == 0 && (warps == 4 || warps == 8) &&
                    warps * SIDE_OF_WARP <= side)
                    visit(context, &t);
            }
        }
    }
}

/* Warps of 32 x 32, in which an FMA warp's lanes are shared out (arch/fma64). */
void tile_space_fp64_tile(const struct target *on, tile_visit *visit, void *context) {
    enum { SIDE = 32, BM_MAX = 128 };
    struct tile t = {.wm = SIDE, .wn = SIDE, .wk = target_mma_k(on), .stages = 2, .cluster = 1};
    for (t.bm = SIDE; t.bm <= BM_MAX; t.bm *= 2) {
        for (t.bn = SIDE; t.bn <= t.bm; t.bn *= 2) {
            t.bk = t.bm * t.bn > SIDE * SIDE ? 16 : 8; /* one warp loads all of a step */
            visit(context, &t);
        }
    }
}

/* The family's planned tiles. Stages beyond two are for asynchronous copies, which have no use for fewer. */
void tile_space_planned(const struct target *on, tile_visit *visit, void *context) {
    for (int i = 0; i < SKELETON_TILES_MAX && on->skeleton->tiles[i].why; i++) {
        const struct planned_tile *row = &on->skeleton->tiles[i];
        const struct tile t = {row->bm, row->bn, row->bk, row->wm, row->wn, target_mma_k(on), row->stages, 1};
        const bool whole = row->wm % on->mma->m + row->wn % on->mma->n + row->bk % target_fragment_k(on) == 0;
        if ((row->stages > 2) == on->isa->async_copy && whole)
            visit(context, &t);
    }
}

void tile_space_mma_warp(const struct target *on, tile_visit *visit, void *context) {
    static const int block_sizes[] = {64, 128, 256};
    static const int warp_sizes[] = {16, 32, 64, 128};
    enum { SIZES = 3, WM_FIRST = 1 };
    /* Integer sums have up to four accumulators, which leave room for few columns, of registers or of the
     * instruction cache; 128 columns of 8-wide fragments leave no registers at all. */
    const int wn_first = on->s->slice == SLICE_S8 ? 0 : WM_FIRST, wn_end = SIZES + (on->mma->n >= 16);
    const int wn_sizes = wn_end - wn_first;
    const int atom_k = scheme_atom_k(on->s), k_max = atom_k > K_MAX ? atom_k : K_MAX;
    const int stages_min = on->isa->async_copy ? 2 : 1, stages_max = on->isa->async_copy ? 5 : 2;
    struct tile t = {.wk = target_mma_k(on), .cluster = 1};
    for (int m = 0; m < SIZES; m++) {
        for (int n = 0; n < SIZES; n++) {
            for (t.bk = atom_k; t.bk <= 2 * atom_k && t.bk <= k_max; t.bk += atom_k) {
                for (int i = 0; i < SIZES * wn_sizes; i++) {
                    t.bm = block_sizes[m];
                    t.bn = block_sizes[n];
                    t.wm = warp_sizes[WM_FIRST + i / wn_sizes];
                    t.wn = warp_sizes[wn_first + i % wn_sizes];
                    if (t.bk % (2 * target_fragment_k(on)) != 0 || !warps_divide(&t, on->mma))
                        continue;
                    if (tile_stage_bytes(&t, on->s) % (tile_threads(&t, on) * COPY_BYTES) != 0)
                        continue;
                    for (t.stages = stages_min; t.stages <= stages_max; t.stages++)
                        visit(context, &t);
                }
            }
        }
    }
}
