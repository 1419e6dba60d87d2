/* main: arguments and the list of passes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emit/emit.h"
#include "base/err.h"
#include "cli/explain.h"
#include "base/files.h"
#include "cli/library.h"
#include "cli/options.h"
#include "cli/tuned.h"
#include "cli/vendor.h"

/* The repository: the folder two above the executable (out/bin/halftone-gen), unless --root says
 * otherwise. */
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

static void read_shape(struct shape *shape, const char *s) {
    int64_t *const part[] = {&shape->m, &shape->n, &shape->k};
    const char *at = s;
    for (int i = 0; i < 3; i++) {
        at = text_number(at, 2147483647, part[i]);
        if (!at || *part[i] < 1 || *at++ != (i < 2 ? 'x' : 0)) {
            err_user(
                NULL, 0,
                "--shape '%s' is not MxNxK with whole numbers from 1 to 2147483647, as in 4096x4096x4096", s);
            return;
        }
    }
    if (shape_flops(shape) == INT64_MAX)
        err_user(NULL, 0,
                 "--shape %s is too large: 2 m n k must stay below 2^63, as in 1000000x1000000x1000000", s);
}

static const struct isa *load_budget(struct gpu *g, const char *root, const char *name) {
    return gpu_load(g, root, name) ? library_isa(g, name) : NULL;
}

/* Name, instruction set, compute capability, product; then the other cards that a set for it suits. */
static void list_gpus(const char *root) {
    struct text names = {0};
    gpu_list(&names, root, "\n");
    for (char *name = names.data ? strtok(names.data, "\n") : NULL; name; name = strtok(NULL, "\n")) {
        struct gpu g;
        if (!gpu_load(&g, root, name))
            continue;
        printf("%-11s %-7s %-5s %s", g.name, g.isa, g.compute_capability, g.title);
        printf(*g.also_for ? "; for cards called: %s\n" : "\n", g.also_for);
    }
    text_free(&names);
}

/* Name, the instructions its kernels multiply with, and what it runs on. */
static void list_isa(const struct isa *isa) {
    const bool amd = strcmp(isa->vendor, "amd") == 0;
    printf("%-13s %-9s ", isa->name, isa_instruction(isa));
    if (amd)
        printf("AMD gfx%x alone%s\n", (unsigned)isa->arch,
               isa->other_shape ? "" : "; no budget names it: tiles of another MMA shape");
    else
        printf("NVIDIA compute capability %d.%d %s%s%s%s\n", isa->arch / 100, isa->arch / 10 % 10,
               isa_is_exact(isa) ? "alone: no later GPU runs it" : "or later",
               isa_is_exact(isa) && !isa->wgmma ? "; no budget names it: scales of tiles" : "",
               isa->absent ? "; no kernels with " : "", isa->absent ? isa->absent : "");
}

/* Name, what a product takes, its bound (|C - AB| <= units * 2^-24 * |A||B|, on sm_80), and for which numbers
 * that holds. */
static void list_scheme(const struct scheme *s) {
    enum { K = 1024 };
    const int64_t units = plan_bound_units(s, isa_find("sm_80"), K);
    printf("%-9s %d x %s, %2d product%s, ", s->name, s->slices, scheme_operands(s), s->products,
           s->products > 1 ? "s" : " ");
    if (s->moduli > 0)
        printf("%d moduli, bound by norms: ", s->moduli);
    else if (units < 0)
        printf("no kernels: ");
    else if (recipe_has(s->recipe, KERNEL_COMBINE))
        printf("slices by the data: ");
    else
        printf("bound %6" PRId64 "%s at k = %d: ", units,
               s->exact_k > 0 ? " k" : s->scale == SCALE_TILE ? " '" : "  ", (int)K);
    printf("%.*s\n", (int)strcspn(s->range_text, ";"), s->range_text);
}

static int run_list(const char *what, const char *root) {
    if (strcmp(what, "gpus") == 0) {
        list_gpus(root);
    } else if (strcmp(what, "schemes") == 0) {
        for (int i = 0; i < scheme_count; i++) {
            if (scheme_find(scheme_table[i].name) == &scheme_table[i])
                list_scheme(&scheme_table[i]);
        }
    } else if (strcmp(what, "isas") == 0) {
        for (int i = 0; i < isa_count; i++)
            list_isa(&isa_table[i]);
    } else {
        err_user(NULL, 0, "list what? gpus, schemes or isas");
    }
    return err_count() > 0;
}

/* What the explanation is held against: another GPU, or this one with values replaced. NULL: nothing, or
 * err_user. */
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

/* The page, the comparison or the report; false after err_user. */
static bool write_explanation(struct listing *l, struct listing *other, const struct options *o) {
    struct text out = {0};
    explain_rank(l);
    if (other)
        explain_rank(other);
    if (o->html)
        return page_write(l, other, o->root, o->html) && printf("wrote %s\n", o->html) > 0;
    if (other)
        compare_print(&out, l, other);
    else
        (o->tsv ? explain_table : explain_print)(&out, l);
    fputs(out.data, stdout);
    text_free(&out);
    return true;
}

static int explain_one(const struct options *o) {
    struct gpu g, changed;
    struct listing l = {.g = &g, .name = g.title, .shape = {4096, 4096, 4096}};
    struct text schemes = {0};
    l.isa = load_budget(&g, o->root, o->gpu);
    library_expand_schemes(&schemes, o->scheme ? o->scheme : scheme_of_role(HT_ROLE_AUTO)->name);
    if (o->model && !model_from_name(o->model, &l.kind))
        err_user(NULL, 0, "unknown model '%s'; known: halftone, egemm, legemm", o->model);
    if (o->shape)
        read_shape(&l.shape, o->shape);
    if (o->tsv && (o->html || o->compare || o->what_ifs > 0))
        err_user(NULL, 0,
                 "--tsv lists the candidates of one budget; leave out --html, --compare and --what-if");
    if ((o->tsv || o->html) && schemes.data && strchr(schemes.data, ','))
        err_user(NULL, 0, "%s shows one scheme; name one of %s", o->tsv ? "--tsv" : "--html", schemes.data);
    struct listing other = l;
    other.name = o->compare ? changed.title : "with --what-if";
    other.isa = err_count() == 0 ? load_other(&changed, &g, o) : NULL;
    other.g = other.isa ? &changed : NULL;
    bool ok = schemes.data && err_count() == 0;
    char name[64];
    for (const char *at = schemes.data; ok && text_entry(&at, name, sizeof name);) {
        struct listing mine = l, theirs = other;
        mine.s = library_scheme(name, l.g, l.isa);
        if (other.g) /* f16x3 is another row where FP16 subnormals are flushed */
            theirs.s = library_scheme(name, other.g, other.isa);
        ok = err_count() == 0 && write_explanation(&mine, other.g ? &theirs : NULL, o);
        explain_free(&mine);
        explain_free(&theirs);
        fputs(ok && *at ? "\n\n" : "", stdout);
    }
    text_free(&schemes);
    return !ok;
}

/* Each GPU of a list by itself, one report behind the other. */
static int run_explain(const struct options *o) {
    struct options one = *o;
    char name[1024];
    int code = 0;
    if (!o->gpu || !strchr(o->gpu, ','))
        return explain_one(o);
    if (o->html || o->tsv || o->compare || o->what_ifs > 0)
        return !err_user(NULL, 0, "--html, --tsv, --compare, --what-if take one GPU, not %s", o->gpu);
    one.gpu = name;
    for (const char *at = o->gpu; code == 0 && text_entry(&at, name, sizeof name);) {
        code = explain_one(&one);
        fputs(code == 0 && *at ? "\n" : "", stdout);
    }
    return code;
}

static struct library library;
static struct files files;

/* The request of `emit` and `vendor`, planned. */
static bool plan_library(const struct options *o, const char *command) {
    if (!o->gpu) {
        struct gpu none;
        load_budget(&none, o->root, NULL); /* says which there are */
    }
    if (!o->out)
        err_user(NULL, 0, "--out DIR is missing");
    return err_count() == 0 && library_plan(&library, o, command);
}

/* The schemes that nobody named and that a set lacks, and what its `auto` cannot promise for want of one. */
static void print_left_out(const struct options *o) {
    for (int i = 0; i < library.sets && !o->scheme; i++) {
        const struct kernel_set *set = &library.set[i];
        for (int k = 0; k < scheme_count; k++) {
            struct text why = {0};
            const struct scheme *s = &scheme_table[k];
            if (!s->on_request && !library_has(&why, &set->gpu, set->context.isa, s))
                printf("%s: scheme %s is left out: %s\n", set->gpu.name, s->name, why.data);
            text_free(&why);
        }
    }
    for (int i = 0; i < library.sets; i++)
        if (plan_lacks_fallback(&library.set[i].plans))
            printf("%s: no scheme %s: auto checks no data, and accuracy fp32 is an error\n",
                   library.set[i].gpu.name, scheme_of_role(HT_ROLE_FALLBACK)->name);
}

static int run_emit(const struct options *o) {
    char file[FILE_NAME_MAX];
    if (!plan_library(o, "emit"))
        return 1;
    for (int i = 0; i < library.units && err_count() == 0; i++) {
        const struct unit *u = &library.unit[i];
        snprintf(file, sizeof file, "%s.%s", u->name, u->context->isa->extension);
        emit_kernel(files_add(&files, file), u->context, u->kind, u->plan);
    }
    if (err_count() == 0)
        manifest_header(files_add(&files, "halftone.h"), &library);
    manifest_dispatch(files_add(&files, "dispatch.c"), &library);
    manifest_rules(files_add(&files, "rules.mk"), &library);
    manifest_table(files_add(&files, "manifest"), &library);
    if (err_count() == 0 && files_emit(&files, o->out)) {
        print_left_out(o);
        printf("%d kernel sources in %s\n", library.units, o->out);
        if (o->tuned)
            tuned_print_loss(&library.tuned);
    }
    files_free(&files);
    tuned_free(&library.tuned);
    return err_count() > 0;
}

static int run_vendor(const struct options *o) {
    if (plan_library(o, "vendor") && vendor_files(&files, &library, o) && vendor_write(&files, o->out)) {
        print_left_out(o);
        printf("%d files in %s; README.md there says how to compile them%s\n", files.count, o->out,
               o->simulator ? ": 20 s of CPU for each scheme at -O3, half of that at -O1" : "");
    }
    files_free(&files);
    return err_count() > 0;
}

/* Budgets that came by path lie in the folder itself. */
static void place_budgets(struct text *out, const char *gpus, const char *folder) {
    for (char name[1024]; gpus && text_entry(&gpus, name, sizeof name); text_add(out, *gpus ? "," : ""))
        text_addf(out, "%s%s%s", strchr(name, '.') ? folder : "", strchr(name, '.') ? "/" : "", name);
}

/* Runs the command in the folder's manifest again, in memory, and compares. */
static int run_verify(const char *folder, const char *root) {
    enum { WORDS_MAX = 32 };
    struct text command = {0}, gpus = {0};
    char *words[WORDS_MAX];
    int count = 0;
    if (vendor_command(&command, folder)) {
        for (char *w = strtok(command.data, " "); w && count < WORDS_MAX; w = strtok(NULL, " "))
            words[count++] = w;
        struct options o = {.root = root};
        if (options_read(&o, VERB_VENDOR, count, words)) {
            place_budgets(&gpus, o.gpu, folder);
            o.gpu = gpus.data;
            if (plan_library(&o, "vendor") && vendor_files(&files, &library, &o) &&
                vendor_compare(&files, folder))
                printf("%s: %d files, all as written by halftone-gen %s\n", folder, files.count,
                       HT_GENERATOR_VERSION);
        }
    }
    files_free(&files);
    text_free_all(&command, &gpus);
    return err_count() > 0;
}

static int run(int argc, char **argv) {
    struct options o = {.root = default_root()};
    const char *command = argc > 1 ? argv[1] : "--help";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0)
        return options_help(VERBS), argc == 1;
    const enum verb verb = options_verb(command);
    if (verb == VERBS || !options_read(&o, verb, argc - 2, argv + 2))
        return 1;
    if (o.help)
        return options_help(verb), 0;
    return verb == VERB_LIST      ? run_list(o.operand, o.root)
           : verb == VERB_EXPLAIN ? run_explain(&o)
           : verb == VERB_EMIT    ? run_emit(&o)
           : verb == VERB_VENDOR  ? run_vendor(&o)
                                  : run_verify(o.operand, o.root);
}

int main(int argc, char **argv) {
    const int code = run(argc, argv);
    const bool ok = fflush(stdout) == 0 && !ferror(stdout);
    return ok ? code : !err_user(NULL, 0, "writing to standard output failed; check where it goes");
}
