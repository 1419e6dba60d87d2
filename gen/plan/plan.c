/* plan.c: ranks tiles with the halftone model, keeps the winners, adds the papers' tiles and ablations. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "../../runtime/ht_cost.h"

/* Shapes whose best tiles a kernel set holds, the important ones first: a tile that wins one of them becomes
 * a kernel, up to TILES_MAX; the runtime chooses among the kernels by the same cost formula, split-K
 * included. Many waves, a few waves, less than one wave, long k in few tiles, the ends of the scale, a little more than a wave. */
static const struct shape plan_shapes[] = {
    {4096, 4096, 4096}, {1024, 1024, 1024}, {2048, 2048, 2048}, {8192, 8192, 8192},
    {512, 512, 512},    {4096, 64, 4096},   {128, 128, 4096},   {1536, 1536, 1536},
    {640, 640, 640},    {1152, 1152, 1152},
};
enum { TILES_MAX = 6, TILES_MAX_OTHERS = 3, HALVES = 1 }; /* of FP16 schemes, of the others; more where tiles may have half an atom */
enum { RESCUE_REGISTERS = 16 }; /* where it is among tiles and entries, the check's numbers (ptxas) */
enum { FALLBACK_REGISTERS = 254, FALLBACK_MMA_K = 16 }; /* of fallback_dmma, all of them (ptxas); k of m16n8k16 */

struct best {
    const struct gpu *g;
    const struct isa *isa;
    const struct scheme *s;
    struct shape shape;
    const struct isa *found; /* whose MMA shape the best tile has; NULL: none so far */
    struct tile tile;
    struct cost cost;
};

static void visit_best(void *context, const struct tile *t) {
    struct best *b = context;
    const struct gpu *g = b->g;
    const struct shape *x = &b->shape;
    struct cost cost;
    model_cost(MODEL_HALFTONE, g, b->isa, b->s, t, x, &cost);
    if (!cost.fits)
        return;
    int splits;
    const int64_t ns = ht_best_ns(&cost.coefficients, t->bm, t->bn, g->sms, model_clock_mhz(g), g->l2_gbps,
                                  g->dram_gbps, g->launch_ns, x->m, x->n, x->k, 1, INT64_MAX, &splits);
    if (splits > 1)
        cost.predicted_ns = ns;
    cost.score = -cost.predicted_ns;
    if (b->found && !model_better(MODEL_HALFTONE, &cost, t, &b->cost, &b->tile))
        return;
    b->found = b->isa;
    b->tile = *t;
    b->cost = cost;
}

const char *variant_name(enum variant v) {
    static const char *const names[] = {"", "plain", "nointerleave", "manual", "rescue"};
    return names[v];
}

int plan_promote_k(const struct scheme *s, const struct isa *isa) {
    return s->promote[0] == PROMOTE_EACH_MMA ? 0 : model_promote_k(s, isa, 0);
}

static void plan_name(struct plan *p) {
    char tile[TILE_NAME_MAX];
    tile_name(tile, &p->tile);
    snprintf(p->name, sizeof p->name, "ht_%s_%s%s%s_%s", p->scheme->name, tile, p->variant == VARIANT_PIPELINE ? "" : "_",
             variant_name(p->variant), p->isa->suffix);
}

static void plan_add(struct plan_set *set, const struct best *b, enum variant variant, const char *why) {
    struct plan *p = &set->plan[set->count];
    if (set->count == PLANS_MAX)
        err_bug("more plans than PLANS_MAX");
    memset(p, 0, sizeof *p);
    p->gpu = b->g;
    p->isa = b->isa;
    p->scheme = b->s;
    p->tile = b->tile;
    p->cost = b->cost;
    p->variant = variant;
    p->raster = model_raster_rows(b->g, &p->tile) / tile_cluster_m(&p->tile);
    const int set_registers = model_fragment_registers(b->isa, b->s, &b->tile);
    if (variant == VARIANT_NOINTERLEAVE) /* two whole k steps of fragments live side by side */
        p->cost.regs_per_thread += (b->s->slices - 1) * set_registers;
    if (variant == VARIANT_PLAIN) /* no next k step */
        p->cost.regs_per_thread -= set_registers;
    const int promote_k = scheme_is_exact(b->s) ? b->s->carry_k : plan_promote_k(b->s, b->isa);
    p->promote_steps = promote_k > b->tile.bk ? promote_k / b->tile.bk : promote_k > 0;
    plan_name(p);
    snprintf(p->why, sizeof p->why, "%s", why);
    for (int i = 0; i < set->count; i++) {
        if (strcmp(set->plan[i].name, p->name) == 0)
            return; /* the same tile won another shape */
    }
    set->count++;
}

/* A chain that is added outside the unit after each fragment must be as long in every kernel of a set: its scheme's
 * bound is one number. */
static const struct isa *next_shape(const struct isa *isa, const struct scheme *s) {
    return isa->other_shape && s->promote[0] != PROMOTE_EACH_MMA ? isa_find(isa->other_shape) : NULL;
}

/* The model's best tile over every MMA shape of the unit. */
static void find_best(struct best *b) {
    const struct isa *const main_shape = b->isa;
    b->found = NULL;
    for (; b->isa; b->isa = next_shape(b->isa, b->s))
        tile_enumerate(b->isa, b->s, visit_best, b);
    b->isa = main_shape;
}

static void plan_picks(struct plan_set *set, struct best *b) {
    char why[PLAN_WHY_MAX];
    const bool own = b->s->checked || scheme_is_exact(b->s);
    const int end = set->count + (b->s->slice == SLICE_F16 ? TILES_MAX : TILES_MAX_OTHERS) + (own && b->isa->warpgroup ? HALVES : 0);
    for (size_t i = 0; i < sizeof plan_shapes / sizeof *plan_shapes && set->count < end; i++) {
        b->shape = plan_shapes[i];
        find_best(b);
        if (!b->found) {
            err_user(b->g->name, 0,
                     "no tile of scheme %s fits this budget; see `halftone-gen explain --gpu %s --scheme %s`",
                     b->s->name, b->g->name, b->s->name);
            return;
        }
        snprintf(why, sizeof why, "fastest by model halftone at %lldx%lldx%lld, bound by %s",
                 (long long)b->shape.m, (long long)b->shape.n, (long long)b->shape.k, b->cost.binding);
        struct best won = *b;
        won.isa = b->found;
        plan_add(set, &won, VARIANT_PIPELINE, why);
    }
}

/* A tile named by its geometry, costed by the halftone model; 0 when it does not fit. */
static int plan_fixed(struct best *b, const struct tile *t) {
    b->shape = plan_shapes[0];
    b->tile = *t;
    model_cost(MODEL_HALFTONE, b->g, b->isa, b->s, t, &b->shape, &b->cost);
    return b->cost.fits;
}

/* EGEMM-TC Table 4 on every GPU it fits, with and without its interleaving (section 7.4). */
static void plan_egemm(struct plan_set *set, struct best *b) {
    const int stages = b->isa->async_copy ? 3 : 1;
    const struct tile t = {128, 128, 32, 64, 32, isa_mma_k(b->isa, b->s->slice), stages, 1};
    if (!plan_fixed(b, &t))
        return;
    plan_add(set, b, VARIANT_PIPELINE, "EGEMM-TC Table 4");
    plan_add(set, b, VARIANT_NOINTERLEAVE,
             "EGEMM-TC Table 4, loads not interleaved with MMAs (section 7.4 ablation)");
}

/* LE-GEMM Table 2 (A800) where it fits, and its ablations of section 5.6: a hand-picked tile, no pipeline. */
static void plan_legemm(struct plan_set *set, struct best *b) {
    const int warp = b->isa->wave_size; /* the paper's double buffer; without cp.async a T4 hides more with two blocks */
    const int stages = b->isa->async_copy || warp == 64 ? 2 : 1;
    const struct tile paper = {128, 256, 32, 64, warp, isa_mma_k(b->isa, b->s->slice), stages, 1};
    const struct tile reference = {128, 128, 32, 64, warp, isa_mma_k(b->isa, b->s->slice), stages, 1};
    const struct tile manual = {64, 64, 32, 32, 32, isa_mma_k(b->isa, b->s->slice), stages, 1};
    if (plan_fixed(b, &paper))
        plan_add(set, b, VARIANT_PIPELINE, "LE-GEMM Table 2, A800");
    const bool fits = plan_fixed(b, &reference);
    if (fits)
        plan_add(set, b, VARIANT_PIPELINE,
                 "LE-GEMM Table 2, MI210 (128,128,32): base of its pipeline ablation");
    struct tile plain = fits ? reference : manual;
    plain.stages = 1;
    if (plan_fixed(b, &plain))
        plan_add(set, b, VARIANT_PLAIN, "LE-GEMM section 5.6 ablation: no pipeline");
    if (plan_fixed(b, &manual))
        plan_add(set, b, VARIANT_MANUAL, "LE-GEMM section 5.6 ablation: hand-picked tile");
    struct best other = *b;
    other.isa = next_shape(b->isa, b->s);
    if (!other.isa)
        return;
    const struct tile fragment = {128, 128, 64, 64, 64, isa_mma_k(other.isa, b->s->slice), 1, 1};
    if (plan_fixed(&other, &fragment))
        plan_add(set, &other, VARIANT_PIPELINE, "LE-GEMM Table 2's tile of C from its other fragment, (16,16,16)");
}

struct wanted {
    const struct tile *tile;
    bool found;
};

static void visit_wanted(void *context, const struct tile *t) {
    struct wanted *w = context;
    w->found = w->found || tile_compare(t, w->tile) == 0;
}

static bool is_in_space(const struct tile *t, const struct isa *isa, const struct scheme *s) {
    struct wanted w = {t, false};
    tile_enumerate(isa, s, visit_wanted, &w);
    return w.found;
}

/* The instruction set whose search space of the scheme has the tile, wk filled in; NULL: none. */
static const struct isa *isa_of_tile(struct tile *t, const struct isa *isa, const struct scheme *s) {
    const struct isa *const plain = model_scheme_isa(isa, s), *const warpgroups = model_warpgroup_isa(plain, s);
    t->wk = isa_mma_k(plain, s->slice);
    return warpgroups && is_in_space(t, warpgroups, s) ? warpgroups : is_in_space(t, plain, s) ? plain : NULL;
}

bool plan_tiles_ok(const char *list) {
    struct tile t;
    for (const char *at = list; *at;) {
        const int used = tile_scan(at, &t);
        if (used == 0) {
            err_user(NULL, 0, "--tiles '%s' is not a list like 128x128x32_w64x32_s4,64x128x32_w64x64_s8_c2", list);
            return false;
        }
        at += used + (at[used] == ',');
    }
    return true;
}

void plan_tiles(struct plan_set *set, const struct gpu *g, const struct isa *isa, const struct scheme *s, const char *list) {
    struct tile t;
    for (int used; *list && (used = tile_scan(list, &t)) > 0; list += used + (list[used] == ',')) {
        struct best b = {.g = g, .isa = isa_of_tile(&t, isa, s), .s = s};
        if (b.isa && plan_fixed(&b, &t))
            plan_add(set, &b, VARIANT_PIPELINE, "asked for with --tiles");
    }
}

bool plan_has_tile(const struct plan_set *set, const struct tile *t) {
    for (int i = 0; i < set->count; i++) {
        struct tile wanted = *t;
        wanted.wk = set->plan[i].tile.wk;
        if (set->plan[i].variant == VARIANT_PIPELINE && tile_compare(&wanted, &set->plan[i].tile) == 0)
            return true;
    }
    return false;
}

enum { NEAR_TILES = 3 };

struct near {
    struct best *b;
    const struct tile *wanted;
    struct tile tile[NEAR_TILES];
    int distance[NEAR_TILES], count;
};

/* Keeps the tiles that fit and are nearest by the sum of relative differences. */
static void visit_near(void *context, const struct tile *t) {
    struct near *n = context;
    const struct tile *w = n->wanted;
    const int pairs[][2] = {{t->bm, w->bm}, {t->bn, w->bn}, {t->bk, w->bk}, {t->wm, w->wm}, {t->wn, w->wn}, {t->stages, w->stages}, {t->cluster, w->cluster}};
    int distance = 0, at = n->count;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        distance += (pairs[i][0] > pairs[i][1] ? pairs[i][0] - pairs[i][1] : pairs[i][1] - pairs[i][0]) * 256 / (pairs[i][0] + pairs[i][1]);
    while (at > 0 && n->distance[at - 1] > distance)
        at--;
    if (at == NEAR_TILES || !plan_fixed(n->b, t))
        return;
    n->count += n->count < NEAR_TILES;
    for (int i = n->count - 1; i > at; i--) {
        n->tile[i] = n->tile[i - 1];
        n->distance[i] = n->distance[i - 1];
    }
    n->tile[at] = *t;
    n->distance[at] = distance;
}

void plan_refuse_tile(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t) {
    struct tile wanted = *t;
    struct best b = {.g = g, .isa = isa_of_tile(&wanted, isa, s), .s = s};
    char name[TILE_NAME_MAX], other[TILE_NAME_MAX], list[NEAR_TILES * TILE_NAME_MAX] = "";
    tile_name(name, t);
    if (b.isa && !plan_fixed(&b, &wanted)) {
        err_user(NULL, 0, "tile %s does not fit %s with scheme %s: %s", name, g->name, s->name, b.cost.reason);
        return;
    }
    struct near n = {.b = &b, .wanted = t};
    const struct isa *const plain = model_scheme_isa(isa, s), *const warpgroups = model_warpgroup_isa(plain, s);
    b.isa = warpgroups ? warpgroups : plain;
    tile_enumerate(b.isa, s, visit_near, &n);
    for (int i = 0; i < n.count; i++) {
        tile_name(other, &n.tile[i]);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "", other);
    }
    err_user(NULL, 0, "tile %s is not in the search space of scheme %s on %s; near it are %s", name, s->name, g->name, n.count > 0 ? list : "none");
}

/* Kernels that read the operands as they are: a tile for each kind of shape. Operands may change places, so 64 x 32 is 32 x 64 as well. What others
 * do better is left out: beside DMMA the multiply-adds and mma.sync were worth 0.2 % of 212 shapes on the H200 (bench/decisions/040). */
enum beside { ANYTHING, NO_WARPGROUPS, NO_DMMA, TILES_ALONE };

static bool is_planned(const struct gpu *g, const struct isa *isa, enum direct_kind kind, enum beside beside) {
    const bool dmma = isa->dmma != NULL && 2 * g->fp64_fma_per_cycle >= g->fp32_fma_per_cycle; /* not where it is cut down: H20, H800 */
    const bool exists = kind == DIRECT_WGMMA ? isa->direct_wgmma != NULL : kind == DIRECT_DMMA ? dmma : true;
    if (isa->tiles_only)
        return kind == DIRECT_TILE;
    return exists && !(beside == NO_WARPGROUPS && isa->direct_wgmma) && !(beside == NO_DMMA && dmma) && beside != TILES_ALONE;
}

static void plan_direct(struct plan_set *set, struct best *b) {
    static const struct {
        enum direct_kind kind;
        int bm, bn, bk, wm, wn, stages; /* wm 0: what makes 256 threads */
        enum beside beside;
        const char *why;
    } rows[] = {{DIRECT_WGMMA, 128, 64, 32, 16, 64, 2, ANYTHING, "reads the operands as they are, two warpgroups side by side; many tiles"},
                {DIRECT_WGMMA, 64, 64, 32, 16, 64, 2, ANYTHING, "reads the operands as they are, two warpgroups by turns; a wave of tiles"},
                {DIRECT_WGMMA, 64, 32, 32, 16, 32, 2, ANYTHING, "reads the operands as they are, two warpgroups by turns; few tiles"},
                {DIRECT_TILE, 128, 64, 32, 32, 32, 2, NO_WARPGROUPS, "reads the operands as they are; many tiles"},
                {DIRECT_TILE, 64, 64, 32, 32, 32, 2, NO_DMMA, "reads the operands as they are; a wave of tiles"},
                {DIRECT_TILE, 64, 32, 32, 32, 16, 2, NO_DMMA, "reads the operands as they are; few tiles"},
                {DIRECT_TILE, 32, 32, 32, 16, 16, 2, NO_DMMA, "reads the operands as they are; very few tiles"},
                {DIRECT_TILE, 128, 8, 32, 32, 8, 2, TILES_ALONE, "reads the operands as they are; a matrix and up to eight vectors"},
                {DIRECT_DMMA, 64, 64, 16, 32, 32, 4, ANYTHING, "DMMA; a large C with few k"},
                {DIRECT_DMMA, 128, 32, 16, 32, 32, 4, ANYTHING, "DMMA; the same, up to 32 columns"},
                {DIRECT_DMMA, 64, 32, 16, 32, 16, 4, ANYTHING, "DMMA; the same, fewer tiles"},
                {DIRECT_DMMA, 32, 32, 16, 16, 16, 4, ANYTHING, "DMMA; the same, few tiles"},
                {DIRECT_FMA, 128, 64, 16, 128, 16, 2, NO_DMMA, "multiply-adds; few k, or few columns"},
                {DIRECT_FMA, 64, 64, 16, 64, 16, 2, NO_DMMA, "multiply-adds; few k, or few tiles"},
                {DIRECT_FMA, 128, 32, 16, 64, 16, 2, NO_DMMA, "multiply-adds; few k, up to 32 columns"},
                {DIRECT_FMA, 128, 16, 16, 32, 16, 2, NO_DMMA, "multiply-adds; few k, up to 16 columns"},
                {DIRECT_THIN, 8, 1, 256, 0, 1, 1, ANYTHING, "multiply-adds; a matrix and a vector"},
                {DIRECT_THIN, 16, 4, 256, 0, 4, 1, ANYTHING, "multiply-adds; a matrix and up to four vectors"},
                {DIRECT_TALL, 128, 1, 64, 0, 1, 1, ANYTHING, "multiply-adds; a tall matrix with few k and a vector"},
                {DIRECT_TALL, 128, 2, 64, 0, 2, 1, ANYTHING, "multiply-adds; a tall matrix with few k and two vectors"},
                {DIRECT_TALL, 128, 4, 64, 0, 4, 1, ANYTHING, "multiply-adds; a tall matrix with few k and up to four vectors"}};
    const struct isa *const isa = b->isa;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum { THREADS = 256 };
        if (!is_planned(b->g, isa, rows[i].kind, rows[i].beside))
            continue;
        b->isa = isa_direct(isa, rows[i].kind);
        const int wm = rows[i].wm > 0 ? rows[i].wm : rows[i].bm * isa->wave_size / THREADS;
        const int wn = rows[i].kind == DIRECT_TILE && rows[i].wn < b->isa->ni ? b->isa->ni : rows[i].wn;
        const struct tile t = {rows[i].bm, rows[i].bn < wn ? wn : rows[i].bn, rows[i].bk, wm, wn, isa_mma_k(isa, b->s->slice), rows[i].stages, 1};
        if (plan_fixed(b, &t))
            plan_add(set, b, VARIANT_PIPELINE, rows[i].why);
    }
    b->isa = isa;
}

/* Tiles of one 64 x 64 block each: a block of the check that fails is computed, its neighbours are not. */
static bool is_for_rescue(const struct plan *p) {
    return (p->isa->direct == DIRECT_TILE || p->isa->direct == DIRECT_DMMA) && p->tile.bm == 64 && p->tile.bn == 64;
}

/* By DMMA, from registers alone (templates/fallback_dmma.cu). */
static void fallback_by_dmma(struct best *b) {
    b->isa = isa_direct(isa_find(b->isa->name), DIRECT_RESCUE);
    b->tile.bk = FALLBACK_MMA_K;
    b->tile.stages = 1;
    b->cost.smem_bytes = 0;
    b->cost.regs_per_thread = FALLBACK_REGISTERS;
    b->cost.blocks_per_sm = model_occupancy(b->g, b->isa, tile_warps(&b->tile), FALLBACK_REGISTERS, 0, NULL);
    b->cost.coefficients.blocks_per_sm = b->cost.blocks_per_sm;
}

/* The plan that the kernel for data that fail a check is made of; -1: none. */
static int rescue_base(const struct plan_set *set) {
    int at = -1;
    for (int i = 0; i < set->count; i++)
        at = is_for_rescue(&set->plan[i]) ? i : at;
    return at;
}

static bool plan_has_check(const struct plan_set *set) {
    for (int i = 0; i < set->count; i++)
        if (set->plan[i].scheme->checked)
            return true;
    return false;
}

bool plan_lacks_rescue(const struct plan_set *set) {
    for (int i = 0; i < set->count; i++)
        if (set->plan[i].variant == VARIANT_RESCUE)
            return false;
    return plan_has_check(set);
}

void plan_rescue(struct plan_set *set) {
    const int at = rescue_base(set);
    if (!plan_has_check(set) || at < 0)
        return;
    const struct plan *p = &set->plan[at];
    struct best b = {.g = p->gpu, .isa = p->isa, .s = p->scheme, .tile = p->tile, .cost = p->cost};
    b.cost.regs_per_thread += RESCUE_REGISTERS;
    b.cost.coefficients.whole_k = 1;
    if (isa_find(p->isa->name)->warpgroup)
        fallback_by_dmma(&b);
    const int before = set->count;
    plan_add(set, &b, VARIANT_RESCUE, "between packing and a product with a data check: blocks of C that fail it");
    const struct plan rescue = set->plan[before];
    memmove(&set->plan[at + 2], &set->plan[at + 1], (size_t)(before - at - 1) * sizeof *p);
    set->plan[at + 1] = rescue;
}

void plan_scheme(struct plan_set *set, const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    struct best b = {.g = g, .isa = model_scheme_isa(isa, s), .s = s};
    if (scheme_is_direct(s)) {
        plan_direct(set, &b);
        return;
    }
    plan_picks(set, &b);
    if (isa->warpgroup)
        return; /* the papers' tiles and ablations are of warp-synchronous kernels */
    if (strcmp(s->name, "egemm") == 0)
        plan_egemm(set, &b);
    if (strcmp(s->name, "legemm") == 0)
        plan_legemm(set, &b);
}

static int pick(const struct plan_set *set, int first, int64_t m, int64_t n, int64_t k) {
    int64_t best_ns = INT64_MAX;
    int best = -1;
    for (int i = first; i < set->count; i++) {
        const struct plan *p = &set->plan[i];
        const struct gpu *g = p->gpu;
        int splits;
        if (p->variant != VARIANT_PIPELINE || (p->isa->direct == DIRECT_WGMMA && k <= p->scheme->fma_k))
            continue;
        const int64_t ns = ht_best_ns(&p->cost.coefficients, p->tile.bm, p->tile.bn, g->sms, g->sustained_clock_mhz,
                       g->l2_gbps, g->dram_gbps, g->launch_ns, m, n, k, 1, HT_PARTIAL_LIMIT_BYTES, &splits);
        if (best < 0 || ns < best_ns) {
            best = i;
            best_ns = ns;
        }
    }
    return best;
}

void plan_lean(struct plan_set *set, int first) {
    static const int64_t grid[] = {16,   32,   64,   96,   128,  192,  256,   384,   512,   768,  1024,
                                   1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
    enum { POINTS = sizeof grid / sizeof *grid };
    bool kept[PLANS_MAX] = {false};
    const int base = rescue_base(set);
    if (base >= first)
        kept[base] = true; /* else `auto` could not look at data */
    for (int i = 0; i < POINTS * POINTS * POINTS; i++) {
        const int at = pick(set, first, grid[i % POINTS], grid[i / POINTS % POINTS], grid[i / POINTS / POINTS]);
        if (at >= 0)
            kept[at] = true;
    }
    int count = first;
    for (int i = first; i < set->count; i++) {
        if (kept[i])
            set->plan[count++] = set->plan[i];
    }
    set->count = count;
}
