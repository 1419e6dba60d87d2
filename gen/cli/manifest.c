/* manifest.c: tables only; every value was decided in plan or read from the budget. */
#include "cli/library.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/tuned.h"

static const struct scheme *scheme_at(const struct plan_set *set, int i) {
    const struct scheme *s = set->plan[i].on.s;
    return i > 0 && set->plan[i - 1].on.s == s ? NULL : s; /* plans of a scheme are neighbours */
}

static void table_of_set(struct text *out, const struct emit_context *c, const struct plan_set *set) {
    /* one line: what reads the table knows it by its first two */
    text_addf(out,
              "# kernels of %s (%s, %s, copies by %s), halftone-gen %s; licence: MIT-0; " HT_RECREATE "%s\n",
              c->gpu->name, c->gpu->title, c->isa->name, c->isa->async_copy ? "cp.async" : "registers",
              HT_GENERATOR_VERSION, c->recreate);
    text_add(out, "name\tscheme\tvariant\tbm\tbn\tbk\twm\twn\tstages\tthreads\tregs_planned\tsmem_"
                  "bytes\tblocks_per_sm\twhy\tmmas\tloads\tcopies\tcluster\n");
    for (int i = 0; i < set->count; i++) {
        const struct plan *p = &set->plan[i];
        const struct tile *t = &p->tile;
        const struct model_counts counts = model_step_counts(&p->on, t);
        text_addf(out, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%d\n", p->name,
                  p->on.s->name, p->variant == VARIANT_PIPELINE ? "-" : variant_name(p->variant), t->bm,
                  t->bn, t->bk, t->wm, t->wn, t->stages, tile_threads(t, &p->on), p->cost.regs_per_thread,
                  p->cost.smem_bytes, p->cost.blocks_per_sm, p->why, counts.mma, counts.load, counts.copy,
                  t->cluster);
    }
}

void manifest_table(struct text *out, const struct library *l) {
    for (int i = 0; i < l->sets; i++)
        table_of_set(out, &l->set[i].context, &l->set[i].plans);
}

static void dispatch_declarations(struct text *out, const struct library *l) {
    for (int i = 0; i < l->units; i++) {
        const struct unit *u = &l->unit[i];
        if (u->kind == KERNEL_PRODUCT || u->kind == KERNEL_PACK)
            text_addf(out, "int %s_init(void);\n", u->name);
        text_addf(out, "int %s_launch(%s, void *stream);\n", u->name, emit_recipe(u->kind, u->plan)->args);
    }
    text_add(out, "\n");
}

/* The members of a struct of the ABI that has 32-bit integers alone. */
static void dispatch_members(struct text *out, const void *members, size_t bytes) {
    const int32_t *const member = members;
    for (size_t i = 0; i < bytes / sizeof *member; i++)
        text_addf(out, "%s%d", i > 0 ? ", " : "", (int)member[i]);
}

/* Of a set the kernels of FP32 products, or behind them those of FP64 ones. */
struct half {
    const char *mark; /* of its tables' names */
    int first, end;
};

static struct half half_of(const struct plan_set *set, enum number_type matrices) {
    int fp32 = 0;
    while (fp32 < set->count && set->plan[fp32].on.s->in == NUMBER_F32)
        fp32++;
    return matrices == NUMBER_F32 ? (struct half){"", 0, fp32} : (struct half){"64", fp32, set->count};
}

/* Of FP32 products the scheme has what packs: dispatch_schemes. */
static void dispatch_launchers(struct text *out, const struct emit_context *c, const struct plan *p) {
    static const enum kernel_kind kinds[HT_LAUNCHERS] = {KERNEL_PRODUCT, KERNEL_PACK, KERNEL_COMBINE,
                                                         KERNEL_ROUND};
    const struct scheme *const s = p->on.s;
    const bool fp64_packs = s->in == NUMBER_F64 && recipe_has(s->recipe, KERNEL_PACK);
    char name[PLAN_NAME_MAX];
    const int panels = s->recipe->packs == PACKS_BYTES ? s->slices * scheme_alike(s) : 0;
    emit_kernel_name(name, sizeof name, c, KERNEL_PACK, p);
    text_addf(out, "     %d, %d, %s_init, %s%s,\n     {", (int)s->recipe->run,
              panels, p->name, fp64_packs ? name : "NULL", fp64_packs ? "_init" : "");
    for (int i = 0; i < HT_LAUNCHERS; i++) {
        emit_kernel_name(name, sizeof name, c, kinds[i], p);
        const bool is = recipe_has(s->recipe, kinds[i]) && (kinds[i] != KERNEL_PACK || fp64_packs);
        text_addf(out, is ? "%sHT_ANY_LAUNCHER(%s_launch)" : "%sNULL", i > 0 ? ", " : "", name);
    }
    text_add(out, "}},\n");
}

static void dispatch_kernels(struct text *out, const struct emit_context *c, const struct plan_set *set,
                             struct half h) {
    text_addf(out, "static const struct ht_kernel_desc kernels%s_%s[] = {\n", h.mark, c->gpu->name);
    for (int i = h.first; i < h.end; i++) {
        const struct plan *p = &set->plan[i];
        const struct tile *t = &p->tile;
        const struct ht_cost *const cost = &p->cost.formula;
        const bool in_waves = cost->form == HT_TILED_WAVES;
        text_addf(out, "    {\"%s\", \"%s\", \"%s\",\n     \"%s\",\n", p->name, p->on.s->name,
                  variant_name(p->variant), p->why);
        text_add(out, "     {");
        dispatch_members(out, &p->cost.walk, sizeof p->cost.walk);
        text_addf(out, "},\n     %d, %d, %d, %d, %d, %d, %d, %d, %d, %d,\n", t->bk, t->wm, t->wn, t->stages,
                  tile_threads(t, &p->on), p->cost.smem_bytes, p->cost.regs_per_thread,
                  family_fallback_in_kernel(p), p->on.family->has_slices_alone,
                  p->on.family->takes_counts ? model_alone_most(c->gpu, p->on.s) : 0);
        text_addf(out, "     HT_COST_%s(", in_waves ? "TILED_WAVES" : "STREAMING");
        dispatch_members(out, in_waves ? (const void *)&cost->waves : &cost->stream, sizeof cost->waves);
        text_add(out, "),\n");
        dispatch_launchers(out, c, p);
    }
    text_add(out, "};\n\n");
}

/* enum ht_scales. */
static int scales_of(const struct scheme *s) {
    return s->scale == SCALE_ROW ? HT_SCALES_ROWS : s->scale == SCALE_TILE ? HT_SCALES_TILES : HT_SCALES_NONE;
}

static int dispatch_schemes(struct text *out, const struct emit_context *c, const struct plan_set *set,
                            struct half h) {
    char name[PLAN_NAME_MAX], reduce[PLAN_NAME_MAX], few[PLAN_NAME_MAX], one[PLAN_NAME_MAX];
    int count = 0;
    text_addf(out, "static const struct ht_scheme_desc schemes%s_%s[] = {\n", h.mark, c->gpu->name);
    for (int i = h.first; i < h.end; i++) {
        const struct scheme *s = scheme_at(set, i);
        if (!s)
            continue;
        const struct isa *isa = c->isa;
        const struct target on = target_main(c->gpu, isa, s);
        const struct ht_scheme_desc bound = plan_bound_of(&on);
        const bool packs = s->recipe->packs == PACKS_SLICES; /* by the scheme's launcher */
        const char *launcher = packs ? "_launch" : "";
        emit_kernel_name(name, sizeof name, c, KERNEL_PACK, &set->plan[i]);
        emit_kernel_name(reduce, sizeof reduce, c, KERNEL_REDUCE, &set->plan[i]);
        emit_kernel_name(few, sizeof few, c, KERNEL_FEW_ROWS, &set->plan[i]);
        emit_kernel_name(one, sizeof one, c, KERNEL_ONE_ROW, &set->plan[i]);
        text_addf(out, "    {\"%s\",\n     \"%s\",\n     \"", s->name, emit_range_text(s, isa));
        emit_bound_text(out, s, isa);
        text_addf(
            out,
            "\",\n     %d, %d, %d, %d, %d, %d, %d, %d, %d, %d,\n     %s%s, %s%s, %d, %d, %s%s, %d, "
            "%ld, %d, HT_RANGE_%s, %d, ",
            s->slices, scheme_atom_k(s), scheme_slice_bytes(s), scales_of(s), s->products,
            target_fragment_k(&on), bound.align_units, bound.split_units, bound.promote_k,
            isa->flushes_subnormals ? scheme_flush_exponent(s) : 0,
            packs ? name : "NULL", packs ? "_init" : "", packs ? name : "NULL", launcher, s->atom_slices,
            s->exact_k, packs && reduce[0] ? reduce : "NULL", packs && reduce[0] ? "_launch" : "",
            s->simt_k_max, s->checked ? model_pack_tiles(c->gpu, s) : 0, s->checked ? isa->native_k : 0,
            s->range, s->checked ? model_pack_blocks_per_sm(c->gpu, s) : 0);
        text_addf(out, few[0] ? "\"%s\", %s_launch, " : "NULL, NULL, ", few, few);
        text_addf(out, one[0] ? "\"%s\", %s_launch, %d},\n" : "NULL, NULL, 0},\n", one, one,
                  model_one_row_k(c->gpu, isa, s));
        count++;
    }
    text_add(out, "};\n\n");
    return count;
}

/* What a set has of products of one type; nothing of a type that none of its schemes has. */
static int dispatch_half(struct text *out, const struct emit_context *c, const struct plan_set *set,
                         struct half h) {
    if (h.first == h.end)
        return 0;
    dispatch_kernels(out, c, set, h);
    return dispatch_schemes(out, c, set, h);
}

static void dispatch_desc(struct text *out, const struct emit_context *c, struct half h, int schemes) {
    const struct gpu *g = c->gpu;
    const struct ht_machine machine = model_machine(g);
    char reduce[PLAN_NAME_MAX], widen[PLAN_NAME_MAX];
    emit_kernel_name(reduce, sizeof reduce, c, KERNEL_REDUCE, NULL);
    emit_kernel_name(widen, sizeof widen, c, KERNEL_WIDEN, NULL);
    const int tuned = tuned_dispatch(out, c->tuned, h.mark, g->name, h.first, h.end);
    text_addf(out,
              "%sconst struct ht_set_desc ht_set%s_%s = {\n    \"%s\", \"%s\", \"%s\", \"%s\",\n    "
              "%d, %d, " I64 ", " I64 ",\n    " I64 ", " I64 ", " I64 ", " I64 ", " I64 ", " I64 ", " I64
              ",\n    %d, %d, ",
              *h.mark ? "static " : "", h.mark, g->name, g->name, c->isa->name, HT_GENERATOR_VERSION,
              c->isa->sim_model, c->isa->arch, isa_is_exact(c->isa), machine.sms, machine.clock_mhz,
              g->copy_gbps, machine.l2_gbps, machine.dram_gbps, machine.launch_ns, machine.l2_resident_bytes,
              machine.l2_latency_cycles, machine.splitk_partial_cycles, h.end - h.first, schemes);
    if (schemes > 0)
        text_addf(out, "kernels%s_%s, schemes%s_%s,\n", h.mark, g->name, h.mark, g->name);
    else
        text_add(out, "NULL, NULL,\n");
    text_addf(out, "    %s_launch, %s_launch,\n    %d, %s%s%s%s,\n    {", reduce, widen, tuned,
              tuned ? "tuned" : "NULL", tuned ? h.mark : "", tuned ? "_" : "", tuned ? g->name : "");
    for (int role = 0; role < HT_ROLES; role++)
        text_addf(out, "%s\"%s\"", role > 0 ? ", " : "", scheme_of_role((enum ht_role)role)->name);
    text_addf(out, "}, %d,\n    ", scheme_of_role(HT_ROLE_FAST)->moduli);
}

static void dispatch_set(struct text *out, const struct emit_context *c, const struct plan_set *set) {
    const char *const gpu = c->gpu->name;
    const struct half fp32 = half_of(set, NUMBER_F32), fp64 = half_of(set, NUMBER_F64);
    const int schemes = dispatch_half(out, c, set, fp32), schemes64 = dispatch_half(out, c, set, fp64);
    if (schemes64 > 0) {
        dispatch_desc(out, c, fp64, schemes64);
        char reduce[PLAN_NAME_MAX] = "NULL";
        for (int i = fp64.first; i < fp64.end; i++)
            if (recipe_has(set->plan[i].on.s->recipe, KERNEL_REDUCE))
                emit_kernel_name(reduce, sizeof reduce, c, KERNEL_REDUCE, &set->plan[i]);
        text_addf(out, "NULL, %s%s};\n\n", reduce, strcmp(reduce, "NULL") != 0 ? "_launch" : "");
    }
    if (!c->inner)
        text_addf(out, "extern const struct ht_set_desc ht_set_%s;\n", gpu);
    dispatch_desc(out, c, fp32, schemes);
    text_addf(out, "%s%s, NULL};\n\n", schemes64 > 0 ? "&ht_set64_" : "NULL", schemes64 > 0 ? gpu : "");
}

/* Two folders are joined by compiling both tables as one source: what does not fit together is the compiler's
 * error. */
static const char join_head[] = "/* The sets of another folder, of the same prefix and version, join the "
                                "list where this file is compiled with HT_JOIN: the\n * path of that "
                                "folder's dispatch.c in quotes. Of that folder the kernels alone are "
                                "compiled besides. */\n#if defined(HT_MORE_SETS) || "
                                "defined(HT_SETS_ELSEWHERE)\n#error \"two folders are joined with HT_JOIN "
                                "now: see above\"\n#endif\n#ifdef HT_JOINING\n#define HT_JOINED ";
static const char join_list[] =
    "\n#else\n#ifdef HT_JOIN\n#define HT_JOINING\n#include HT_JOIN\n#ifndef HT_JOINED\n#error \"the folder "
    "that HT_JOIN names has another prefix, or was written by another version\"\n#endif\n#else\n#define "
    "HT_JOINED\n#endif\nextern const int ht_list;\nconst int ht_list = 1; /* two lists in one program are "
    "the linker's error */\n";

static void list_sets(struct text *out, const struct library *l) {
    for (int i = 0; i < l->sets; i++)
        text_addf(out, "&ht_set_%s, ", l->set[i].gpu.name);
}

void manifest_dispatch(struct text *out, const struct library *l) {
    text_add(out, "/* dispatch.c: the kernel sets of");
    for (int i = 0; i < l->sets; i++)
        text_addf(out, "%s %s", i > 0 ? "," : "", l->set[i].gpu.name);
    text_addf(out, " as data. Generated by halftone-gen %s; licence: MIT-0.\n * " HT_RECREATE "%s%s%s */\n",
              HT_GENERATOR_VERSION, l->recreate.data, l->tuned.file ? " --tuned " : "",
              l->tuned.file ? l->tuned.file : "");
    text_add(out, "#include \"ht_abi.h\"\n#include \"ht_abi64.h\"\n\n");
    if (!l->set[0].context.inner)
        dispatch_declarations(out, l);
    for (int i = 0; i < l->sets; i++)
        dispatch_set(out, &l->set[i].context, &l->set[i].plans);
    const bool is_open = !l->set[0].context.inner;
    if (is_open) {
        text_add(out, join_head);
        list_sets(out, l);
        text_add(out, join_list);
    }
    text_add(out, "const struct ht_set_desc *const ht_sets[] = {");
    list_sets(out, l);
    text_add(out, is_open ? "HT_JOINED NULL};\n#endif\n" : "NULL};\n");
}

void manifest_banner(struct text *out, const struct library *l, const char *licence) {
    text_addf(
        out,
        "/* Copied by halftone-gen %s, which can also verify vendored copies. Licence: %s.\n * " HT_RECREATE
        "%s */\n",
        HT_GENERATOR_VERSION, licence, l->recreate.data);
}

bool manifest_header(struct text *out, const struct library *l) {
    manifest_banner(out, l, "MIT");
    return emit_read(out, l->set[0].context.root, "runtime", "halftone.h");
}

void manifest_rules(struct text *out, const struct library *l) {
    text_addf(out,
              "# kernel sources and how to compile those of each instruction set. Generated by halftone-gen "
              "%s; licence: MIT-0.\n"
              "# " HT_RECREATE "%s\n",
              HT_GENERATOR_VERSION, l->recreate.data);
    text_addf(out, "HT_EXTENSION := %s\n", l->set[0].context.isa->extension);
    for (int i = 0; i < l->isas; i++) {
        const struct isa *isa = l->isa[i];
        const char *ablation = strrchr(isa->suffix, '_'); /* the Makefile looks a kernel's last word up */
        text_addf(out, "HT_FLAGS_%s := %s\n", ablation ? ablation + 1 : isa->suffix, isa->compile_flags);
    }
    text_add(out, "HT_KERNELS := \\\n");
    for (int i = 0; i < l->units; i++)
        text_addf(out, "    %s%s\n", l->unit[i].name, i + 1 < l->units ? " \\" : "");
}
