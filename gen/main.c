/* main: arguments and the list of passes. Level 5. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emit.h"
#include "err.h"
#include "explain.h"
#include "files.h"
#include "manifest.h"
#include "page.h"
#include "tuned.h"

static const char usage[] =
    "halftone-gen " HT_GENERATOR_VERSION ": from a GPU's budget to kernels for emulated matrix products\n"
    "  halftone-gen list gpus|schemes|isas\n"
    "  halftone-gen explain --gpu G --scheme S [--model halftone|egemm|legemm] [--shape MxNxK]\n"
    "                       [--tsv | --html FILE] [--what-if KEY=VALUE]... [--compare G2]\n"
    "  halftone-gen emit --gpu G --out DIR [--scheme S,...] [--tiles BMxBNxBK_wWMxWN_sS,...] [--tuned "
    "FILE.tsv]\n"
    "G is a name from `list gpus` or the path of a budget file; --root DIR names the folder with gen/ and "
    "templates/.\n";

enum { WHAT_IFS_MAX = 32 };

struct options {
    const char *gpu, *scheme, *model, *shape, *out, *root, *tiles, *html, *compare, *tuned;
    const char *what_if[WHAT_IFS_MAX];
    int what_ifs;
    bool tsv;
};

/* The repository: the folder two above the executable (out/bin/halftone-gen), unless --root says otherwise. */
static const char *default_root(void) {
    static char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return ".";
        *slash = 0;
    }
    return path;
}

static bool read_options(struct options *o, int argc, char **argv) {
    const struct {
        const char *name;
        const char **value;
    } known[] = {{"--gpu", &o->gpu},     {"--scheme", &o->scheme}, {"--model", &o->model},
                 {"--shape", &o->shape}, {"--out", &o->out},       {"--root", &o->root},
                 {"--tiles", &o->tiles}, {"--html", &o->html},     {"--compare", &o->compare},
                 {"--tuned", &o->tuned}, {"--what-if", NULL}};
    for (int i = 2; i < argc; i++) {
        size_t k = 0;
        if (strcmp(argv[i], "--tsv") == 0) {
            o->tsv = true;
            continue;
        }
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0)
            k++;
        if (k == sizeof known / sizeof *known || i + 1 == argc) {
            err_user(NULL, 0, "%s '%s'; see halftone-gen --help",
                     k == sizeof known / sizeof *known ? "unknown option" : "a value is missing after",
                     argv[i]);
            return false;
        }
        if (known[k].value)
            *known[k].value = argv[++i];
        else if (o->what_ifs < WHAT_IFS_MAX)
            o->what_if[o->what_ifs++] = argv[++i];
        else {
            err_user(NULL, 0, "--what-if stands more than %d times; a budget file says it better",
                     (int)WHAT_IFS_MAX);
            return false;
        }
    }
    return true;
}

static bool read_shape(struct shape *shape, const char *s) {
    int64_t *const part[] = {&shape->m, &shape->n, &shape->k};
    const char *at = s;
    for (int i = 0; i < 3; i++) {
        int64_t v = 0;
        const char *start = at;
        while (*at >= '0' && *at <= '9' && v < 1000000000)
            v = v * 10 + (*at++ - '0');
        if (at == start || v < 1 || v > 2147483647 || *at != (i < 2 ? 'x' : 0)) {
            err_user(
                NULL, 0,
                "--shape '%s' is not MxNxK with whole numbers from 1 to 2147483647, as in 4096x4096x4096", s);
            return false;
        }
        *part[i] = v;
        at++;
    }
    return true;
}

static const struct isa *isa_of(const struct gpu *g, const char *place) {
    const struct isa *isa = isa_find(g->isa);
    if (!isa)
        err_user(place, 0, "isa '%s' is unknown; see halftone-gen list isas", g->isa);
    return isa;
}

static const struct isa *load_budget(struct gpu *g, const char *root, const char *name) {
    struct text list = {0};
    if (name)
        return gpu_load(g, root, name) ? isa_of(g, name) : NULL;
    gpu_list(&list, root);
    err_user(NULL, 0, "--gpu is missing; known budgets:\n%s", list.data ? list.data : "");
    text_free(&list);
    return NULL;
}

static const struct scheme *load_scheme(const char *name) {
    const struct scheme *s = scheme_find(name);
    if (!s)
        err_user(NULL, 0, "unknown scheme '%s'; see halftone-gen list schemes", name);
    return s;
}

static int run_list(const char *what, const char *root) {
    struct text out = {0};
    if (what && strcmp(what, "gpus") == 0) {
        gpu_list(&out, root);
    } else if (what && strcmp(what, "schemes") == 0) {
        for (int i = 0; i < scheme_count; i++)
            text_addf(&out, "%s\n", scheme_table[i].name);
    } else if (what && strcmp(what, "isas") == 0) {
        for (int i = 0; i < isa_count; i++)
            text_addf(&out, "%s\n", isa_table[i].name);
    } else {
        err_user(NULL, 0, "list what? gpus, schemes or isas");
    }
    fputs(out.data ? out.data : "", stdout);
    text_free(&out);
    return err_count() > 0;
}

/* What the explanation is held against: another GPU, or this one with values replaced. NULL: nothing, or err_user. */
static const struct isa *load_other(struct gpu *other, const struct gpu *g, const struct options *o) {
    if (o->compare && o->what_ifs > 0)
        err_user(NULL, 0,
                 "--compare and --what-if do not go together; write the changed values into a budget file "
                 "and compare with that");
    else if (o->compare)
        return load_budget(other, o->root, o->compare);
    else if (o->what_ifs > 0) {
        *other = *g;
        return gpu_override(other, o->what_if, o->what_ifs) ? isa_of(other, "--what-if") : NULL;
    }
    return NULL;
}

/* The report, the comparison or the page; false after err_user. */
static bool write_explanation(struct listing *l, struct listing *other, const struct options *o) {
    struct text out = {0};
    const struct page page = {l, other, l->g->title,
                              o->compare && other ? other->g->title : "with --what-if"};
    if (!o->html && !other)
        explain_print(&out, l->g, l->isa, l->s, l->kind, &l->shape, o->tsv);
    else if (!explain_rank(l) || (other && !explain_rank(other)))
        out.failed = true;
    else if (o->html)
        page_write(&out, &page);
    else
        contrast_print(&out, l, other, page.main_name, page.other_name);
    bool ok = !out.failed;
    if (!ok)
        err_user(NULL, 0, "out of memory");
    else if (o->html)
        ok = files_write_one(&out, o->html) && printf("wrote %s\n", o->html) > 0;
    else
        fputs(out.data ? out.data : "", stdout);
    text_free(&out);
    return ok && fflush(stdout) == 0 && !ferror(stdout);
}

static int run_explain(const struct options *o) {
    struct gpu g, changed;
    struct listing l = {.g = &g, .shape = {4096, 4096, 4096}}, other;
    l.isa = load_budget(&g, o->root, o->gpu);
    l.s = load_scheme(o->scheme ? o->scheme : "f16x3");
    if (o->model && !model_from_name(o->model, &l.kind))
        err_user(NULL, 0, "unknown model '%s'; known: halftone, egemm, legemm", o->model);
    if (o->shape)
        read_shape(&l.shape, o->shape);
    if (o->tsv && (o->html || o->compare || o->what_ifs > 0))
        err_user(NULL, 0,
                 "--tsv lists the candidates of one budget; leave out --html, --compare and --what-if");
    if (err_count() > 0)
        return 1;
    other = l;
    other.g = &changed;
    other.isa = load_other(&changed, &g, o);
    if (err_count() > 0)
        return 1;
    const bool ok = write_explanation(&l, other.isa ? &other : NULL, o);
    explain_free(&l);
    explain_free(&other);
    return !ok;
}

static void plan_one(struct plan_set *set, const struct gpu *g, const struct isa *isa, const struct scheme *s,
                     const char *tiles) {
    plan_scheme(set, g, isa, s);
    if (tiles)
        plan_tiles(set, g, isa, s, tiles);
}

/* Plans every scheme of the list, or (NULL) all that the GPU has a unit for, with the extra tiles asked for. */
static bool plan_all(struct plan_set *set, const struct gpu *g, const struct isa *isa, const char *list,
                     const char *tiles) {
    for (int i = 0; !list && i < scheme_count; i++) {
        const struct scheme *s = &scheme_table[i];
        if (model_has_unit(g, isa, s))
            plan_one(set, g, isa, s, tiles);
        else
            printf("scheme %s is left out: there are no %s kernels for %s\n", s->name, slice_title(s->slice),
                   isa->name);
    }
    while (list && *list) {
        char name[64];
        const size_t len = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, list);
        const struct scheme *s = load_scheme(name);
        if (s && !model_has_unit(g, isa, s))
            err_user(g->name, 0, "scheme %s: there are no %s kernels for %s; leave it out of --scheme", name,
                     slice_title(s->slice), isa->name);
        else if (s)
            plan_one(set, g, isa, s, tiles);
        list += len + (list[len] == ',');
    }
    return err_count() == 0 && set->count > 0;
}

/* Whether this is the last plan of a scheme; plans of a scheme are neighbours. */
static bool closes_scheme(const struct plan_set *set, int i) {
    return i + 1 == set->count || set->plan[i + 1].scheme != set->plan[i].scheme;
}

static void emit_all(struct files *files, const struct emit_context *c, const struct plan_set *set) {
    char name[FILE_NAME_MAX], file[FILE_NAME_MAX + 8];
    for (int i = 0; i < set->count; i++) {
        snprintf(file, sizeof file, "%s.%s", set->plan[i].name, c->isa->extension);
        emit_gemm(files_add(files, file), c, &set->plan[i]);
        const struct scheme *s = set->plan[i].scheme;
        if (!closes_scheme(set, i))
            continue;
        emit_pack_name(name, sizeof name, s, c->isa);
        snprintf(file, sizeof file, "%s.%s", name, c->isa->extension);
        emit_pack(files_add(files, file), c, s);
        if (!scheme_is_exact(s))
            continue;
        emit_reduce_name(name, sizeof name, s, c->isa);
        snprintf(file, sizeof file, "%s.%s", name, c->isa->extension);
        emit_reduce(files_add(files, file), c, s);
    }
    emit_reduce_name(name, sizeof name, NULL, c->isa);
    snprintf(file, sizeof file, "%s.%s", name, c->isa->extension);
    emit_reduce(files_add(files, file), c, NULL);
    manifest_dispatch(files_add(files, "dispatch.c"), c, set);
    manifest_rules(files_add(files, "rules.mk"), c, set);
    manifest_table(files_add(files, "manifest"), c, set);
}

static void print_made(const struct emit_context *c, int kernels, const char *folder) {
    struct text loss = {0};
    if (c->tuned)
        tuned_loss(&loss, c->tuned);
    printf("%d kernels for %s in %s\n%s", kernels, c->gpu->title, folder, loss.data ? loss.data : "");
    text_free(&loss);
}

static int run_emit(const struct options *o) {
    static struct plan_set set;
    static struct files files;
    struct gpu g;
    struct tuned tuned;
    const struct isa *isa = load_budget(&g, o->root, o->gpu);
    if (!o->out)
        err_user(NULL, 0, "--out DIR is missing");
    if (isa && !isa->skeleton)
        err_user(o->gpu, 0, "kernels for isa %s are not written yet; this budget is for `explain`",
                 isa->name);
    if (err_count() > 0 || !plan_all(&set, &g, isa, o->scheme, o->tiles) ||
        (o->tuned && !tuned_read(&tuned, o->tuned, &set, g.name)))
        return 1;
    /* the folder of a budget of the user's own is not written into the files */
    const char *slash = strrchr(o->gpu, '/');
    const struct emit_context c = {.root = o->root,
                                   .gpu_word = slash ? slash + 1 : o->gpu,
                                   .scheme_list = o->scheme,
                                   .tiles = o->tiles,
                                   .gpu = &g,
                                   .isa = isa,
                                   .tuned = o->tuned ? &tuned : NULL};
    emit_all(&files, &c, &set);
    if (err_count() == 0 && files_write(&files, o->out))
        print_made(&c, set.count, o->out);
    files_free(&files);
    if (o->tuned)
        tuned_free(&tuned);
    return err_count() > 0;
}

int main(int argc, char **argv) {
    struct options o = {.root = default_root()};
    const char *command = argc > 1 ? argv[1] : "--help";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        fputs(usage, stdout);
        return argc == 1;
    }
    if (strcmp(command, "list") == 0)
        return run_list(argc > 2 ? argv[2] : NULL,
                        argc > 4 && strcmp(argv[3], "--root") == 0 ? argv[4] : o.root);
    if (!read_options(&o, argc, argv))
        return 1;
    if (strcmp(command, "explain") == 0)
        return run_explain(&o);
    if (strcmp(command, "emit") == 0)
        return run_emit(&o);
    err_user(NULL, 0, "unknown command '%s'; see halftone-gen --help", command);
    return 1;
}
