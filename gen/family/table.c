/* table: the list of kernel families; see family.h. Operands may be swapped, so a planned 64 x 32 is 32 x 64
 * as well. What others do better is left out: beside DMMA FFMA and mma.sync were worth 0.2 % of 212 shapes on
 * the H200 (bench/decisions/040). */
#include <string.h>

#include "base/err.h"
#include "family/rows.h"

/* By preference: of families that can, the first serves; kernels of a set come in this order. */
#define FAMILIES(ROW)                                                                                        \
    ROW(wgmma_ss) ROW(mma_warp) ROW(unpacked_wgmma) ROW(unpacked_mma) ROW(dmma) ROW(simt_small_k) ROW(gemv)  \
    ROW(tall_skinny) ROW(fp64_gemv) ROW(fp64_small_k) ROW(fp64_tall) ROW(fp64_mma_tile) ROW(fp64_tile)       \
    ROW(fallback) ROW(pack) ROW(reduce) ROW(fp64_reduce) ROW(few_rows) ROW(one_row) ROW(widen)               \
    ROW(crt_wgmma_ss) ROW(planes_residues) ROW(crt_pack) ROW(crt_combine) ROW(crt_exact)                     \
    ROW(digits_mma_warp) ROW(planes_sums) ROW(ozaki_pack) ROW(ozaki_combine)
#define DECLARE(name) extern const struct family family_##name;
#define ADDRESS(name) &family_##name,
#define NAME(name) #name,
FAMILIES(DECLARE)
const struct family *const kernel_families[] = {FAMILIES(ADDRESS)};
static const char *const names[] = {FAMILIES(NAME)};
const int kernel_family_count = (int)(sizeof names / sizeof *names);

const struct family *family_of(const char *name) {
    const size_t i = TEXT_ROW(name, names);
    if (i == (size_t)kernel_family_count)
        err_bug("a family that the list lacks");
    return kernel_families[i];
}

bool family_has_warpgroup_tiles(const struct family *k) {
    return strcmp(k->team, "warpgroup") == 0;
}

struct target target_of(const struct gpu *g, const struct isa *isa, const struct family *family,
                        const struct scheme *s) {
    return (struct target){g, isa, family, s, family->unpacked ? &isa->unpacked : &isa->mma};
}

static bool is_searched(const struct isa *isa, const struct family *k, const struct scheme *s) {
    return k->searched && k->unpacked == !s->recipe->packs && k->in == s->in && k->out == s->out &&
           k->leaves_sums == recipe_has(s->recipe, KERNEL_COMBINE) &&
           (k->in == NUMBER_F32 || k->unpacked || k->sum == s->sum) &&
           isa_has(isa, k->needs) && (s->scale != SCALE_TILE || k->scales_tiles);
}

/* From that place of the list on. */
static struct target first_from(const struct gpu *g, const struct isa *isa, int at, const struct scheme *s) {
    while (at < kernel_family_count && !is_searched(isa, kernel_families[at], s))
        at++;
    if (at == kernel_family_count)
        return (struct target){.g = g, .s = s};
    return target_of(g, isa, kernel_families[at], s);
}

struct target target_main(const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    const struct target on = first_from(g, isa, 0, s);
    return on.isa || !isa->warps ? on : first_from(g, isa_find(isa->warps), 0, s);
}

bool target_next(struct target *on) {
    const char *const name = on->family->unpacked ? NULL : on->isa->other_shape;
    const struct isa *other = name && on->s->scale != SCALE_TILE ? isa_find(name) : NULL; /* one k step: 32 */
    int at = 0;
    while (kernel_families[at] != on->family)
        at++;
    *on = other ? target_of(on->g, other, on->family, on->s) : first_from(on->g, on->isa, at + 1, on->s);
    return on->isa != NULL;
}

struct model_counts model_step_counts(const struct target *on, const struct tile *t) {
    return on->family->counts ? on->family->counts(on, t) : (struct model_counts){0};
}

bool model_step_of(const struct target *on, const struct tile *t, int blocks_per_sm,
                   struct model_step *step) {
    const struct model_step none = {0};
    *step = on->family->step ? on->family->step(on, t, blocks_per_sm) : none;
    return on->family->step != NULL;
}
