/* test_tile: the rows of isa and scheme, and the search space. Build with gen/{facts,model} and
 * -lcmocka. */

#include "../../gen/family/family.h"
#include "../../runtime/ht_site_line.h"
#include "../test.h"

struct seen {
    struct target on;
    struct tile last;
    int count, wanted;
    struct tile want;
};

/* Warpgroups: parts of 64 columns, all rows of the block, one atom of k a stage. */
static void check_warpgroups(const struct target *on, const struct tile *t) {
    const int groups = tile_warpgroups(t);
    assert_int_equal(t->bm % 64 + t->bn % t->wn + t->wn % 64, t->bm < 64 ? 32 : 0);
    assert_true(t->bm >= 64 || (t->bm == 32 && t->bn == 64 && t->cluster == 1)); /* half an atom: the smallest, alone */
    assert_int_equal(t->wm, t->bm);
    assert_int_equal(t->wk, target_mma_k(on));
    assert_int_equal(t->bk, scheme_atom_k(on->s));
    assert_true(t->bm <= 256 && groups >= 1 && groups <= 3 && tile_parts(t) <= 2 && groups * t->wn == t->bn);
    assert_true(t->stages >= 2 && t->stages <= 8);
}

/* Kernels that read the operands as they are: 4 or 8 warps, whose threads move the same place of whole lines. */
static void check_unpacked(const struct target *on, const struct tile *t) {
    const int warps = tile_warps(t), threads = tile_threads(t, on);
    if (on->s->in == NUMBER_F64 && on->isa->fp64_mma) { /* two sets of fragments beside the sums; threads copy pairs of every so-manieth line, or of its thirds */
        const int a_part = t->bm % 3 == 0 ? t->bm / 6 : t->bm / 2, b_part = t->bn % 3 == 0 ? t->bn / 6 : t->bn / 2;
        assert_true((warps == 4 || warps == 8) && t->bk == 16 && t->stages == 4 && t->wm * t->wn <= 64 * 32);
        assert_int_equal(t->bm % t->wm + t->bn % t->wn + t->wm % 16 + t->wn % 8, 0);
        assert_int_equal(threads % a_part + threads % b_part + t->bm * 8 % threads + t->bn * 8 % threads, 0);
        return;
    }
    if (on->s->in == NUMBER_F64) { /* warps of 32 x 32, whose threads load whole pairs of k */
        assert_true(t->wm == 32 && t->wn == 32 && t->bk % 8 == 0 && t->stages == 2 && warps <= 16);
        assert_int_equal(t->bm * t->bk / 2 % threads + t->bn * t->bk / 2 % threads, 0);
        return;
    }
    assert_true((warps == 4 || warps == 8) && t->bk == 32 && t->stages == 2);
    assert_int_equal(t->bm % t->wm + t->bn % t->wn + t->wm % on->mma->m + t->wn % on->mma->n, 0);
    assert_int_equal(threads % (t->bm / 4) + threads % (t->bn / 4) + threads % (t->bk / 4), 0);
    assert_int_equal(64 % t->bm * (t->bm % 64) + 64 % t->bn * (t->bn % 64), 0); /* whole blocks of 64, or within one */
}

/* A thread copies 16-byte chunks of rows of all digits; results of 96 bits lie where stages did. */
static void check_digits(const struct target *on, const struct tile *t) {
    const int threads = tile_threads(t, on);
    assert_int_equal(t->bk, target_fragment_k(on));
    assert_int_equal(64 % t->bm + 64 % t->bn + t->bm % t->wm + t->bn % t->wn, 0);
    assert_int_equal(t->wm % on->mma->m + t->wn % (on->mma->n * on->mma->b_tiles), 0);
    assert_int_equal(2 * (t->bm + t->bn) % threads, 0);
    assert_true(t->bm * t->bn * 12 <= t->stages * tile_stage_bytes(t, on->s));
    assert_true(on->isa->async_copy ? t->stages == 3 : t->stages == 2);
}

static void visit(struct seen *v, const struct tile *t) {
    const int atom_k = scheme_atom_k(v->on.s), warps = tile_warps(t);
    if (v->count++ > 0)
        assert_true(tile_compare(&v->last, t) < 0); /* in order, none twice */
    v->last = *t;
    v->wanted += tile_compare(t, &v->want) == 0;
    if (v->on.family->unpacked) {
        check_unpacked(&v->on, t);
        return;
    }
    if (v->on.family->persistent) {
        check_warpgroups(&v->on, t);
        return;
    }
    if (v->on.s->in == NUMBER_F64 && v->on.s->split == SPLIT_DIGITS) {
        check_digits(&v->on, t);
        return;
    }
    EQUAL({t->bm % 64 + t->bn % 64, 0}, {t->bm % t->wm + t->bn % t->wn, 0},
          {t->wm % v->on.mma->m + t->wn % (v->on.mma->n * v->on.mma->b_tiles), 0});
    assert_int_equal(t->bk % atom_k + t->bk % (2 * target_fragment_k(&v->on)), 0);
    assert_true(t->bk <= (atom_k > 64 ? atom_k : 64));
    assert_int_equal(t->wk, target_mma_k(&v->on));
    assert_true(warps >= 1 && warps <= 16);
    assert_true(v->on.isa->async_copy ? t->stages >= 2 && t->stages <= 5 : t->stages >= 1 && t->stages <= 2);
    /* every thread copies whole 16-byte parts of a stage: skeleton mma_warp counts on it */
    assert_int_equal(tile_stage_bytes(t, v->on.s) % (tile_threads(t, &v->on) * 16), 0);
}

static void visit_all(struct seen *v) {
    struct tile t;
    for (int at = 0; tile_next(&v->on, &at, &t);)
        visit(v, &t);
}

/* Warpgroups that read the operands as they are: two of them in each block, side by side or taking turns. */
TEST(direct_warpgroups) {
    struct seen v = {.on = target_main(NULL, isa_find("sm_90a"), scheme_find("bf16x6u"))};
    visit_all(&v);
    assert_int_equal(v.count, 3);
    const struct tile few = {64, 32, 32, 16, 32, 16, 2, 1}, many = {128, 64, 32, 16, 64, 16, 2, 1};
    EQUAL({tile_groups(&few, &v.on), 2}, {tile_groups(&many, &v.on), 1},
          {tile_threads(&few, &v.on), tile_threads(&many, &v.on)});
    assert_true(target_next(&v.on));
    assert_int_equal(tile_groups(&few, &v.on), 1);
    assert_false(target_next(&v.on));
}

TEST(every_space_is_ordered_and_legal) {
    int families = 0;
    for (int i = 0; i < isa_count; i++) {
        for (int s = 0; s < scheme_count; s++) {
            const struct scheme *scheme = &scheme_table[s];
            struct seen v = {.on = target_main(NULL, &isa_table[i], scheme)};
            if (scheme->recipe->packs && !isa_table[i].mma_hooks[scheme->slice])
                continue;
            do {
                int family = 0;
                v.count = 0;
                while (kernel_families[family] != v.on.family)
                    family++;
                families |= 1 << family;
                visit_all(&v);
                if (2 * target_fragment_k(&v.on) > (scheme_atom_k(scheme) > 64 ? scheme_atom_k(scheme) : 64))
                    assert_int_equal(v.count, 0); /* i8x10 from 16x16x16: two fragments are more than a stage */
                else if (scheme->split == SPLIT_DIGITS && scheme->in == NUMBER_F64)
                    assert_in_range(v.count, 0, 3); /* none of whole fragments of 64 k; gfx90a's besides where there are two stages */
                else if (scheme->moduli > 0)
                    assert_int_equal(v.count, 2); /* of many tiles of C, of few */
                else if (scheme->split == SPLIT_OZAKI)
                    assert_in_range(v.count, 2, 3); /* these, and sm_75's of two stages */
                else if (!scheme->recipe->packs)
                    assert_in_range(v.count, 3, 50);
                else if (v.count <= 50 || v.count >= 1000)
                    fail_msg("%s, %s: %d tiles", v.on.isa->name, scheme->name, v.count);
            } while (target_next(&v.on));
        }
    }
    for (int f = 0; f < kernel_family_count; f++)
        assert_int_equal(families >> f & 1, kernel_families[f]->searched);
}

TEST(the_papers_tiles_are_in_the_space) {
    const struct {
        const char *isa, *scheme;
        struct tile t;
    } cases[] = {{"sm_75", "egemm", {128, 128, 32, 64, 32, 8, 1, 1}},
                 {"sm_80", "legemm", {128, 256, 32, 64, 64, 16, 2, 1}},
                 {"gfx90a", "legemm", {128, 128, 32, 32, 32, 8, 2, 1}},
                 {"sm_80", "half", {128, 128, 64, 64, 64, 16, 5, 1}},
                 {"sm_90a", "f16x3", {192, 128, 32, 192, 64, 16, 4, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen v = {
            .on = target_main(NULL, isa_find(cases[i].isa), scheme_find(cases[i].scheme)), .want = cases[i].t};
        visit_all(&v);
        assert_int_equal(v.wanted, 1);
    }
}

TEST(geometry) {
    const struct tile t = {128, 128, 32, 64, 32, 16, 3, 1};
    assert_int_equal(tile_warps(&t), 8);
    const struct target sm80 = target_main(NULL, isa_find("sm_80"), scheme_find("f16x3"));
    const struct target gfx90a = target_main(NULL, isa_find("gfx90a"), scheme_find("egemm"));
    EQUAL({tile_threads(&t, &sm80), 256}, {tile_threads(&t, &gfx90a), 512});
    assert_int_equal(tile_stage_bytes(&t, scheme_find("f16x3")), 32768); /* 256 rows of 128 bytes */
    assert_int_equal(tile_stage_bytes(&t, scheme_find("half")), 16384);
    const struct tile wide = {64, 128, 32, 64, 64, 16, 8, 2}, tall = {192, 128, 32, 192, 64, 16, 4, 2};
    assert_int_equal(tile_fetched_bytes(&t, scheme_find("f16x3")), 32768);
    assert_int_equal(tile_fetched_bytes(&wide, scheme_find("f16x3")), 8192 + 16384 / 2); /* B is shared along m */
    assert_int_equal(tile_cluster_m(&wide) * 10 + tile_cluster_n(&wide), 21);
    assert_int_equal(tile_fetched_bytes(&tall, scheme_find("f16x3")), 24576 / 2 + 16384);
    assert_int_equal(tile_cluster_m(&tall) * 10 + tile_cluster_n(&tall), 12);
    struct tile larger = t;
    larger.stages = 4;
    EQUAL({tile_compare(&t, &t), 0}, {tile_compare(&t, &larger), -1}, {tile_compare(&larger, &t), 1});
    larger = t;
    larger.bm = 64;
    larger.stages = 5;
    assert_int_equal(tile_compare(&larger, &t), -1);
}

TEST(rows_are_consistent) {
    for (int i = 0; i < scheme_count; i++) {
        const struct scheme *s = &scheme_table[i];
        const bool for_flushing = scheme_find(s->name) != s; /* a second row of the name */
        assert_ptr_equal(scheme_for(s->name, for_flushing), s);
        struct ht_site_line line = {.verb = 's', .of = HT_OF_BOTH}; /* HT_SCHEME_TYPES */
        snprintf(line.text, sizeof line.text, "%s", s->name);
        assert_true(ht_site_line_is_of(&line, true) == (s->in == NUMBER_F64) && ht_site_line_is_of(&line, false) == (s->in == NUMBER_F32));
        assert_int_equal(s->hooks == NULL, s->in == NUMBER_F64 && s->split != SPLIT_DIGITS); /* elements are multiplied as they are */
        assert_true(s->hooks == NULL || strncmp(s->hooks, "scheme/", 7) == 0);
        if (s->slice == SLICE_F16 && s->hooks != NULL)
            assert_int_equal(strncmp(s->hooks + 7, s->name, strlen(s->name)), 0);
        assert_int_equal(scheme_atom_k(s) * s->atom_slices * scheme_slice_bytes(s), 128);
        assert_int_equal(scheme_atom_group(s) * s->atom_slices, s->slices);
        assert_non_null(s->recipe);
        assert_int_equal(s->recipe->fixed_point || s->scale == SCALE_TILE || s->moduli > 0, s->slice == SLICE_S8);
        assert_int_equal(scheme_levels(s), s->scale != SCALE_TILE ? 0 : s->slices == 2 ? 3 : 4);
        assert_true(scheme_levels(s) == 0 || 32 * 3 * 127 * 127 < 1 << 22); /* accum/tile_levels: a level as a float */
        int used = 0;
        for (int p = 0; p < s->products; p++) {
            assert_true(s->product[p].a < s->slices && s->product[p].b < s->slices);
            assert_true(s->product[p].acc < s->accumulators);
            used |= 1 << s->product[p].acc;
        }
        assert_int_equal(used, (1 << s->accumulators) - 1);
        assert_true(s->split_units > 0 || strcmp(s->name, "bf16x9") == 0 || s->in == NUMBER_F64 || !s->recipe->packs);
        assert_non_null(s->bound_text);
        assert_non_null(s->range_text);
        assert_true(s->scale == SCALE_RESIDUAL ? s->residual_shift > 0
                                               : s->residual_shift == 0 || for_flushing);
        /* A scheme that promises accuracy for every exponent may not leave its residual to be flushed. */
        if (s->slice == SLICE_BF16 && s->recipe->packs) /* the unit that flushes FP16 subnormals flushes BF16's */
            assert_non_null(s->flushed_range_text);
        if (s->scale == SCALE_ROW && s->slice == SLICE_F16)
            assert_int_equal(s->flushed_range_text != NULL, s->residual_shift > 0);
    }
    assert_null(scheme_find("f16x4"));
    for (int i = 0; i < isa_count; i++) {
        const struct isa *isa = &isa_table[i];
        assert_ptr_equal(isa_find(isa->name), isa);
        for (enum slice_type type = SLICE_F16; type < SLICE_TYPES; type++) {
            assert_int_equal(isa->mma_k[type] > 0, isa->mma_hooks[type] != NULL);
            assert_true(isa->promote_k[type] == 0 || 64 % isa->promote_k[type] == 0 || isa->promote_k[type] % 64 == 0);
            if (isa->mma_k[type] > 0)
                assert_int_equal(isa->mma.fragment_k * 2 / slice_bytes(type) % isa->mma_k[type], 0);
        }
        assert_true(isa->prim && isa->launch && (isa->fragment ? isa->stage : isa->wgmma) && isa->mma_sync_rate_percent > 0);
        const struct isa *other = isa->other_shape ? isa_find(isa->other_shape) : isa;
        assert_non_null(other);
        assert_int_equal(other->arch, isa->arch);
        assert_string_equal(other->sim_model, isa->sim_model);
        assert_int_equal(other->align_units[SLICE_F16] * isa->mma.fragment_k,
                         isa->align_units[SLICE_F16] * other->mma.fragment_k);
    }
    assert_null(isa_find("sm_70"));
    assert_int_equal(scheme_for("f16x3", true)->accumulators, 2);
    assert_int_equal(scheme_for("f16x3", false)->accumulators, 1);
    assert_int_equal(scheme_flush_exponent(scheme_for("f16x3", true)), -25);
    assert_int_equal(scheme_flush_exponent(scheme_find("egemm")), -14);
    assert_int_equal(scheme_flush_exponent(scheme_find("bf16x6")), -126);
    assert_int_equal(scheme_flush_exponent(scheme_find("i8x6")), 0);
    assert_null(scheme_for("f16x4", true));
    assert_string_equal(isa_find("sm_80")->compile_flags, "-gencode arch=compute_80,code=[sm_80,compute_80]");
}

/* split_units by exhaustion over FP32 significands near 1: the residual of two RN slices is at most 2 units,
 * of two RZ slices at most 6 (scheme.c, head). A significand is an integer of 24 bits; a slice keeps its
 * top 11. */
static uint32_t keep_11(uint32_t x, int round) {
    int drop = 0;
    while (x >> drop >> 11 != 0)
        drop++;
    uint32_t low = x & ((1u << drop) - 1), kept = x >> drop, half = drop ? 1u << (drop - 1) : 0;
    if (round && drop && (low > half || (low == half && kept % 2 == 1)))
        kept++;
    return kept << drop;
}

TEST(split_errors_match_the_derivation) {
    int64_t worst_rn = 0, worst_rz = 0;
    for (uint32_t x = 1u << 23; x < 1u << 24; x++) {
        int64_t rest = (int64_t)x - keep_11(x, 1);
        uint32_t size = (uint32_t)(rest < 0 ? -rest : rest), kept = keep_11(size, 1);
        int64_t error = kept > size ? kept - size : size - kept;
        worst_rn = error > worst_rn ? error : worst_rn;
        size = x - keep_11(x, 0);
        error = size - keep_11(size, 0);
        worst_rz = error > worst_rz ? error : worst_rz;
    }
    /* one unit of the last place of a 24-bit significand is 2^-23 of 2^e: two units of 2^-24 */
    EQUAL({2 * worst_rn, 2}, {2 * worst_rz, 6});
    assert_int_equal(scheme_find("egemm")->split_units, 2 * 2 + 1);
    assert_int_equal(scheme_find("markidis")->split_units, 2 * 6 + 1);
    assert_int_equal(scheme_find("f16x3")->split_units, 2 * 2 + 4 + 1);
    assert_int_equal(scheme_find("ootomo")->split_units, 2 * 2 + 4 + 1);
    assert_int_equal(scheme_find("legemm")->split_units, 2 * 6 + 16 + 1);
    assert_int_equal(scheme_find("half")->split_units, 2 * 8192 + 4);
}
