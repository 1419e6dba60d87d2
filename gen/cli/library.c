/* library.c: from a request to plans and the list of sources; see library.h. */
#include "cli/library.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { ENTRY_MAX = 1024 }; /* of a list on the command line */

static void write_recreate(struct library *l, const struct options *o, const char *command) {
    const struct {
        const char *option, *value;
    } options[] = {{" --scheme ", o->scheme}, {" --tiles ", o->tiles}, {" --prefix ", o->prefix},
                   {" --promote ", o->promote}, {" --lean", o->lean ? "" : NULL},
                   {" --cover", o->cover ? "" : NULL},
                   {" --amalgamation-sim", o->simulator ? "" : NULL},
                   {" --amalgamation", o->amalgamation && !o->simulator ? "" : NULL}};
    struct text *const t = &l->recreate;
    char name[ENTRY_MAX];
    text_addf(t, "%s --gpu ", command);
    for (const char *at = o->gpu; text_entry(&at, name, sizeof name);) /* a budget without its folder */
        text_addf(t, "%s%s", text_base_name(name), *at ? "," : "");
    text_add(t, " --out DIR");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].value)
            text_addf(t, "%s%s", options[i].option, options[i].value);
    }
}

/* Other schemes' chains are closed when their papers say; a kernel promotes at the end of a step, or of every
 * 64 k. */
static bool obeys_interval(const struct scheme *s, int interval) {
    const int unit = interval > 64 ? 64 : scheme_atom_k(s);
    if (s->promote[0] != PROMOTE_ISA)
        err_user(NULL, 0, "scheme %s has no promotion interval to change; leave it out of --scheme", s->name);
    else if (interval % unit != 0)
        err_user(NULL, 0, "--promote %d: scheme %s can promote every multiple of %d k", interval, s->name,
                 unit);
    return err_count() == 0;
}

static void plan_one(struct kernel_set *set, const struct scheme *s, const struct options *o) {
    const int first = set->plans.count;
    if (o->promote && !obeys_interval(s, set->changed.promote_k[s->slice]))
        return;
    const struct target on = target_main(&set->gpu, set->context.isa, s);
    if (!plan_scheme(&set->plans, on)) {
        err_user(set->gpu.name, 0,
                 "no tile of scheme %s fits this budget; see `halftone-gen explain --gpu %s --scheme %s`",
                 s->name, set->gpu.name, s->name);
        return;
    }
    if (o->lean)
        plan_lean(&set->plans, first);
    if (o->cover)
        plan_cover(&set->plans, first);
    if (o->tiles)
        plan_tiles(&set->plans, on, o->tiles);
}

void library_expand_schemes(struct text *out, const char *list) {
    for (char name[ENTRY_MAX]; text_entry(&list, name, sizeof name); text_add(out, *list ? "," : "")) {
        if (strcmp(name, "auto") == 0)
            text_addf(out, "%s,%s", scheme_of_role(HT_ROLE_AUTO)->name,
                      scheme_of_role(HT_ROLE_FALLBACK)->name);
        else
            text_add(out, name);
    }
}

bool library_has(struct text *why, const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    const bool has_unit = model_has_unit(g, isa, s), has_family = target_main(g, isa, s).isa != NULL;
    if (!has_unit && why)
        text_addf(why, "there are no %s kernels for %s", slice_title(s->slice), isa->name);
    else if (!has_family && why)
        text_addf(why, "no kernel family makes %s of %s%s", number_title(s->out), number_title(s->in),
                  recipe_has(s->recipe, KERNEL_COMBINE) ? ", combined by a kernel" : "");
    return has_unit && has_family;
}

/* Whether the row of a scheme's name is this GPU's, and has kernels there. */
static bool has_scheme(const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    return library_has(NULL, g, isa, s) && scheme_for(s->name, isa->flushes_subnormals) == s;
}

const struct scheme *library_scheme(const char *name, const struct gpu *g, const struct isa *isa) {
    const struct scheme *s = scheme_for(name, isa->flushes_subnormals), *found = NULL;
    struct text names = {0}, why = {0};
    for (int i = 0; i < scheme_count; i++) {
        if (has_scheme(g, isa, &scheme_table[i]))
            text_addf(&names, "%s%s", names.len > 0 ? ", " : "", scheme_table[i].name);
    }
    if (!s)
        err_user(NULL, 0, "unknown scheme '%s'; this GPU has: %s", name, names.len > 0 ? names.data : "none");
    else if (library_has(&why, g, isa, s))
        found = s;
    else
        err_user(g->name, 0, "scheme %s: %s; this GPU has: %s", name, why.data,
                 names.data ? names.data : "none");
    text_free_all(&names, &why);
    return found;
}

/* The schemes of FP32 or of FP64 matrices among those that are asked for. */
static void plan_schemes(struct kernel_set *set, const struct options *o, enum number_type matrices) {
    const struct isa *isa = set->context.isa;
    const bool all = o->scheme && strcmp(o->scheme, "all") == 0;
    struct text list = {0};
    char name[ENTRY_MAX];
    for (int i = 0; (all || !o->scheme) && i < scheme_count; i++) {
        const struct scheme *s = &scheme_table[i];
        if (s->in == matrices && (all || !s->on_request) && has_scheme(&set->gpu, isa, s))
            plan_one(set, s, o);
    }
    if (o->scheme && !all)
        library_expand_schemes(&list, o->scheme);
    for (const char *at = list.data ? list.data : ""; text_entry(&at, name, sizeof name);) {
        const struct scheme *s = library_scheme(name, &set->gpu, isa);
        if (s && s->in == matrices)
            plan_one(set, s, o);
    }
    text_free(&list);
}

/* The instruction set with another promotion interval: names and banners say so, bounds follow. */
static const struct isa *change_interval(struct kernel_set *set, const struct isa *isa, const char *promote) {
    int64_t k = 0;
    const bool none = strcmp(promote, "none") == 0;
    const char *end = none ? "" : text_number(promote, 65536, &k);
    if (!end || *end != 0 || (!none && k < 16))
        err_user(NULL, 0, "--promote '%s' is neither a number of k from 16 to 65536 nor none", promote);
    if (isa->other_shape)
        err_user(set->gpu.name, 0, "--promote: chains of %s are never promoted; it is for NVIDIA", isa->name);
    set->changed = *isa;
    for (int t = 0; t < SLICE_TYPES; t++)
        set->changed.promote_k[t] = (int)k;
    snprintf(set->suffix, sizeof set->suffix, "p%.8s_%.16s", promote, isa->suffix);
    snprintf(set->ablation, sizeof set->ablation, "promotion interval in k: %.8s", promote);
    set->changed.suffix = set->suffix;
    set->changed.ablation = set->ablation;
    return &set->changed;
}

const struct isa *library_isa(const struct gpu *g, const char *place) {
    const struct isa *isa = isa_find(g->isa);
    const int capability = gpu_capability(g), needs = isa ? isa->arch / 10 : 0;
    const struct isa *right = isa_of_capability(capability);
    if (!isa)
        err_user(place, 0, "isa '%s' is unknown; see halftone-gen list isas", g->isa);
    else if (strcmp(isa->vendor, "nvidia") != 0)
        return isa;
    else if (capability < 0)
        err_user(place, 0, "compute_capability '%s' is not like 8.6", g->compute_capability);
    else if (capability == 0 && isa_is_exact(isa))
        err_user(place, 0,
                 "isa %s runs on compute capability %d.%d alone; add 'compute_capability = %d.%d  # source' "
                 "if this GPU has it, else take the next lower row of halftone-gen list isas without an 'a'",
                 isa->name, needs / 10, needs % 10, needs / 10, needs % 10);
    else if (capability > 0 && (isa_is_exact(isa) ? capability != needs : capability < needs))
        err_user(place, 0, "isa %s runs on compute capability %d.%d %s, this GPU has %s; write isa = %s",
                 isa->name, needs / 10, needs % 10, isa_is_exact(isa) ? "alone" : "or later",
                 g->compute_capability, right ? right->name : "(no row is that low)");
    else
        return isa;
    return NULL;
}

/* A budget that comes by path gives its name to commands, lists and the folder below out/. */
static bool is_budget_name(const char *path) {
    const char *name = text_base_name(path), *dot = strrchr(name, '.');
    bool ok = dot && dot > name && strcmp(dot, ".gpu") == 0 && *name != '.' && *name != '-';
    for (const char *c = name; *c; c++)
        ok = ok && (strchr("_.+@~-", *c) || (*c >= '0' && *c <= '9') ||
                    ((*c | 32) >= 'a' && (*c | 32) <= 'z') || (unsigned char)*c >= 128);
    if (!ok && (name != path || dot))
        err_user(path, 0,
                 "a budget file is called NAME.gpu, NAME of letters, digits and _ + @ ~ - . from a letter or "
                 "digit on");
    return ok || !(name != path || dot);
}

static void load_set(struct library *l, const struct options *o, const char *name) {
    if (l->sets == LIBRARY_SETS_MAX) {
        err_user(NULL, 0, "more than %d GPUs in one library", LIBRARY_SETS_MAX);
        return;
    }
    struct kernel_set *set = &l->set[l->sets];
    if (!is_budget_name(name) || !gpu_load(&set->gpu, o->root, name))
        return;
    const struct isa *isa = library_isa(&set->gpu, name);
    for (int i = 0; i < l->sets; i++) {
        if (strcmp(l->set[i].gpu.name, set->gpu.name) == 0)
            err_user(name, 0, "the GPU %s is named twice", set->gpu.name);
    }
    if (isa && l->sets > 0 && strcmp(l->set[0].context.isa->vendor, isa->vendor) != 0)
        err_user(name, 0, "one library cannot hold kernels for %s (%s) and %s (%s); build two",
                 l->set[0].gpu.name, l->set[0].context.isa->vendor, set->gpu.name, isa->vendor);
    if (isa && o->promote)
        isa = change_interval(set, isa, o->promote);
    if (!isa || err_count() > 0)
        return;
    set->context = (struct emit_context){.root = o->root, .recreate = l->recreate.data,
                                         .inner = o->amalgamation || o->simulator, .gpu = &set->gpu,
                                         .isa = isa};
    plan_schemes(set, o, NUMBER_F32);
    plan_fallback(&set->plans);
    if (err_count() == 0)
        plan_schemes(set, o, NUMBER_F64); /* behind the others: two tables in dispatch.c */
    l->sets++;
}

static void add_unit(struct library *l, enum kernel_kind kind, const struct emit_context *c,
                     const struct plan *p) {
    struct unit *const u = &l->unit[l->units];
    if (l->units == LIBRARY_UNITS_MAX)
        err_bug("more sources than LIBRARY_UNITS_MAX");
    *u = (struct unit){kind, c, p, {0}};
    emit_kernel_name(u->name, sizeof u->name, c, kind, p);
    for (int i = 0; i < l->units; i++)
        if (strcmp(l->unit[i].name, u->name) == 0)
            return;
    l->units++;
    int at = 0;
    while (at < l->isas && l->isa[at] != c->isa)
        at++;
    if (at == LIBRARY_ISAS_MAX)
        err_bug("more instruction sets than LIBRARY_ISAS_MAX");
    l->isa[at] = c->isa;
    l->isas += at == l->isas;
}

/* The kernels of a plan's recipe; p NULL: those of any scheme. */
static void add_units_of(struct library *l, const struct kernel_set *set, const struct plan *p) {
    for (int kind = 0; kind < KERNEL_KINDS; kind++)
        if (emit_has(&set->context, (enum kernel_kind)kind, p))
            add_unit(l, (enum kernel_kind)kind, &set->context, p);
}

static void add_units(struct library *l, const struct kernel_set *set) {
    for (int i = 0; i < set->plans.count; i++)
        add_units_of(l, set, &set->plans.plan[i]);
    add_units_of(l, set, NULL);
}

/* The table goes to the set it was measured with; the first complains where it is none's. */
static void read_tuned(struct library *l, const char *path) {
    struct kernel_set *set = &l->set[0];
    for (int i = 1; i < l->sets; i++) {
        if (tuned_is_of(path, l->set[i].gpu.name))
            set = &l->set[i];
    }
    if (tuned_read(&l->tuned, path, &set->plans, set->gpu.name))
        set->context.tuned = &l->tuned;
}

/* A tile that no scheme of any set has is a user's fault; said once, of the first scheme. */
static void check_tiles(const struct library *l, const char *list) {
    struct tile t;
    bool of_warpgroups;
    while (list && tile_entry(&list, &t, &of_warpgroups)) {
        bool found = false;
        for (int i = 0; i < l->sets; i++)
            found = found || plan_has_tile(&l->set[i].plans, &t, of_warpgroups);
        const struct kernel_set *set = &l->set[0];
        if (!found && l->sets > 0 && set->plans.count > 0)
            plan_refuse_tile(target_main(&set->gpu, set->context.isa, set->plans.plan[0].on.s), &t,
                             of_warpgroups);
    }
}

bool library_plan(struct library *l, const struct options *o, const char *command) {
    char name[ENTRY_MAX];
    if (o->tiles && !plan_tiles_ok(o->tiles))
        return false;
    write_recreate(l, o, command);
    for (const char *at = o->gpu; text_entry(&at, name, sizeof name);)
        load_set(l, o, name);
    if (err_count() == 0)
        check_tiles(l, o->tiles);
    if (err_count() == 0 && o->tuned)
        read_tuned(l, o->tuned);
    for (int i = 0; i < l->sets; i++)
        add_units(l, &l->set[i]);
    return err_count() == 0 && l->sets > 0;
}
