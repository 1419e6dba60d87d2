/* main: arguments and the list of passes. Level 5. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emit.h"
#include "err.h"
#include "explain.h"
#include "files.h"
#include "library.h"
#include "manifest.h"
#include "page.h"
#include "tuned.h"
#include "vendor.h"

static const char usage[] =
    "halftone-gen " HT_GENERATOR_VERSION ": from a GPU's budget to kernels for emulated matrix products\n"
    "  halftone-gen list gpus|schemes|isas\n"
    "  halftone-gen explain --gpu G --scheme S [--model halftone|egemm|legemm] [--shape MxNxK]\n"
    "                       [--tsv | --html FILE] [--what-if KEY=VALUE]... [--compare G2]\n"
    "  halftone-gen emit --gpu G,... --out DIR [--scheme S,...] [--lean] [--tiles BMxBNxBK_wWMxWN_sS,...]\n"
    "                    [--tuned FILE.tsv] [--promote K|none, an ablation]\n"
    "  halftone-gen vendor --gpu G,... --out DIR [--scheme S,...] [--lean] [--prefix P_] [--amalgamation]\n"
    "  halftone-gen verify DIR\n"
    "G is a name from `list gpus` or the path of a budget file; --root DIR names the folder with gen/ and "
    "templates/.\n";

enum { WHAT_IFS_MAX = 32 };

struct options {
    const char *gpu, *scheme, *model, *shape, *out, *root, *tiles, *prefix, *html, *compare, *tuned, *promote;
    const char *what_if[WHAT_IFS_MAX];
    int what_ifs;
    bool tsv, lean, amalgamation;
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
                 {"--tuned", &o->tuned}, {"--prefix", &o->prefix},
                 {"--promote", &o->promote}, {"--what-if", NULL}};
    const struct {
        const char *name;
        bool *value;
    } flags[] = {{"--tsv", &o->tsv}, {"--lean", &o->lean}, {"--amalgamation", &o->amalgamation}};
    for (int i = 2; i < argc; i++) {
        size_t k = 0;
        size_t flag = 0;
        while (flag < sizeof flags / sizeof *flags && strcmp(argv[i], flags[flag].name) != 0)
            flag++;
        if (flag < sizeof flags / sizeof *flags) {
            *flags[flag].value = true;
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
    if (ht_mul(2, ht_mul(ht_mul(shape->m, shape->n), shape->k)) == INT64_MAX) {
        err_user(NULL, 0, "--shape %s is too large: 2 m n k must stay below 2^63, as in 1000000x1000000x1000000", s);
        return false;
    }
    return true;
}

static const struct isa *load_budget(struct gpu *g, const char *root, const char *name) {
    struct text list = {0};
    if (name)
        return gpu_load(g, root, name) ? library_isa(g, name) : NULL;
    gpu_list(&list, root);
    err_user(NULL, 0, "--gpu is missing; known budgets:\n%s", list.data ? list.data : "");
    text_free(&list);
    return NULL;
}

static const struct scheme *load_scheme(const char *name, const struct isa *isa) {
    const struct scheme *s = scheme_for(name, isa && isa->flushes_subnormals);
    if (!s)
        err_user(NULL, 0, "unknown scheme '%s'; see halftone-gen list schemes", name);
    return s;
}

/* Name, instruction set, compute capability, product; then the other cards that a set for it suits. */
static void list_gpus(struct text *out, const char *root) {
    struct text names = {0};
    gpu_list(&names, root);
    for (char *name = names.data ? strtok(names.data, "\n") : NULL; name; name = strtok(NULL, "\n")) {
        struct gpu g;
        if (!gpu_load(&g, root, name))
            continue;
        text_addf(out, "%-11s %-7s %-5s %s", g.name, g.isa, g.compute_capability, g.title);
        text_addf(out, *g.also_for ? "; for cards called: %s\n" : "\n", g.also_for);
    }
    text_free(&names);
}

/* Name, the instructions its kernels multiply with, and what it runs on. */
static void list_isa(struct text *out, const struct isa *isa) {
    const bool amd = strcmp(isa->vendor, "amd") == 0;
    text_addf(out, "%-13s %-9s ", isa->name, amd ? "MFMA" : isa->warpgroup ? "wgmma" : "mma.sync");
    if (amd)
        text_addf(out, "AMD gfx%x alone%s\n", (unsigned)isa->arch, isa->other_shape ? "" : "; no budget names it: tiles of another MMA shape");
    else
        text_addf(out, "NVIDIA compute capability %d.%d %s\n", isa->arch / 100, isa->arch / 10 % 10,
                  isa_is_exact(isa) ? "alone: no later GPU runs it" : "or later");
}

static int run_list(const char *what, const char *root) {
    struct text out = {0};
    if (what && strcmp(what, "gpus") == 0) {
        list_gpus(&out, root);
    } else if (what && strcmp(what, "schemes") == 0) {
        for (int i = 0; i < scheme_count; i++) {
            if (scheme_find(scheme_table[i].name) == &scheme_table[i])
                text_addf(&out, "%s\n", scheme_table[i].name);
        }
    } else if (what && strcmp(what, "isas") == 0) {
        for (int i = 0; i < isa_count; i++)
            list_isa(&out, &isa_table[i]);
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
        return gpu_override(other, o->what_if, o->what_ifs) ? library_isa(other, "--what-if") : NULL;
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
    l.s = load_scheme(o->scheme ? o->scheme : "f16x3", l.isa);
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
    if (other.isa) /* f16x3 is another row where FP16 subnormals are flushed */
        other.s = load_scheme(l.s->name, other.isa);
    if (err_count() > 0)
        return 1;
    const bool ok = write_explanation(&l, other.isa ? &other : NULL, o);
    explain_free(&l);
    explain_free(&other);
    return !ok;
}

static struct library library;
static struct files files;

/* The request of `emit` and `vendor`, planned. */
static bool plan_library(const struct options *o, const char *command, struct library_request *request) {
    if (!o->gpu) {
        struct gpu none;
        load_budget(&none, o->root, NULL); /* says which there are */
    }
    if (!o->out)
        err_user(NULL, 0, "--out DIR is missing");
    const struct library_request asked = {.command = command,
                                          .root = o->root,
                                          .gpus = o->gpu,
                                          .schemes = o->scheme,
                                          .tiles = o->tiles,
                                          .prefix = o->prefix,
                                          .tuned = o->tuned,
                                          .promote = o->promote,
                                          .lean = o->lean,
                                          .amalgamation = o->amalgamation};
    *request = asked;
    return err_count() == 0 && library_plan(&library, request);
}

/* The schemes that nobody named and that a set lacks. */
static void print_left_out(const struct options *o) {
    for (int i = 0; i < library.sets && !o->scheme; i++) {
        const struct kernel_set *set = &library.set[i];
        for (int k = 0; k < scheme_count; k++) {
            const struct scheme *s = &scheme_table[k];
            if (!model_has_unit(&set->gpu, set->context.isa, s))
                printf("%s: scheme %s is left out: there are no %s kernels for %s\n", set->gpu.name, s->name,
                       slice_title(s->slice), set->context.isa->name);
        }
    }
}

static int run_emit(const struct options *o) {
    char file[FILE_NAME_MAX];
    struct library_request request;
    if (o->prefix || o->amalgamation)
        err_user(NULL, 0, "--prefix and --amalgamation are for vendor");
    if (!plan_library(o, "emit", &request))
        return 1;
    for (int i = 0; i < library.units; i++) {
        const struct unit *u = &library.unit[i];
        snprintf(file, sizeof file, "%s.%s", u->name, u->context->isa->extension);
        unit_emit(files_add(&files, file), u);
    }
    manifest_header(files_add(&files, "halftone.h"), &library);
    manifest_dispatch(files_add(&files, "dispatch.c"), &library);
    manifest_rules(files_add(&files, "rules.mk"), &library);
    manifest_table(files_add(&files, "manifest"), &library);
    if (err_count() == 0 && files_emit(&files, o->out)) {
        struct text loss = {0};
        print_left_out(o);
        if (o->tuned)
            tuned_loss(&loss, &library.tuned);
        printf("%d kernel sources in %s\n%s", library.units, o->out, loss.data ? loss.data : "");
        text_free(&loss);
    }
    files_free(&files);
    tuned_free(&library.tuned);
    return err_count() > 0;
}

static int run_vendor(const struct options *o) {
    struct library_request request;
    if (o->tuned || o->promote)
        err_user(NULL, 0, "%s is for emit", o->tuned ? "--tuned" : "--promote");
    if (plan_library(o, "vendor", &request) && vendor_files(&files, &library, &request) &&
        vendor_write(&files, o->out)) {
        print_left_out(o);
        printf("%d files in %s; README.md there says how to compile them\n", files.count, o->out);
    }
    files_free(&files);
    return err_count() > 0;
}

/* Budgets that came by path lie in the folder itself. */
static void place_budgets(struct text *out, const char *gpus, const char *folder) {
    while (gpus && *gpus) {
        const size_t len = strcspn(gpus, ",");
        const bool by_path = memchr(gpus, '.', len) != NULL;
        text_addf(out, "%s%s%.*s%s", by_path ? folder : "", by_path ? "/" : "", (int)len, gpus,
                  gpus[len] ? "," : "");
        gpus += len + (gpus[len] != 0);
    }
}

/* Runs the command in the folder's manifest again, in memory, and compares. */
static int run_verify(const char *folder, const char *root) {
    enum { WORDS_MAX = 32 };
    struct text command = {0}, gpus = {0};
    struct library_request request;
    char *words[WORDS_MAX] = {NULL, NULL};
    int count = 2;
    if (vendor_command(&command, folder)) {
        for (char *w = strtok(command.data, " "); w && count < WORDS_MAX; w = strtok(NULL, " "))
            words[count++] = w;
        struct options o = {.root = root};
        if (read_options(&o, count, words)) {
            place_budgets(&gpus, o.gpu, folder);
            o.gpu = gpus.data;
            if (plan_library(&o, "vendor", &request) && vendor_files(&files, &library, &request) &&
                vendor_compare(&files, folder))
                printf("%s: %d files, all as written by halftone-gen %s\n", folder, files.count,
                       HT_GENERATOR_VERSION);
        }
    }
    files_free(&files);
    text_free(&command);
    text_free(&gpus);
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
    if (strcmp(command, "verify") == 0 && argc > 2)
        return run_verify(argv[2], argc > 4 && strcmp(argv[3], "--root") == 0 ? argv[4] : o.root);
    if (!read_options(&o, argc, argv))
        return 1;
    if (strcmp(command, "explain") == 0)
        return run_explain(&o);
    if (strcmp(command, "emit") == 0)
        return run_emit(&o);
    if (strcmp(command, "vendor") == 0)
        return run_vendor(&o);
    err_user(NULL, 0, "unknown command '%s'; see halftone-gen --help", command);
    return 1;
}
