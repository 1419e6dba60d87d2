/* options.c: two tables, verbs and options; all else reads them. */
#include "cli/options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "emit/emit.h"
#include "base/err.h"

#define PROGRAM "out/bin/halftone-gen"

static const struct verb_row {
    const char *name, *operand, *what, *example;
} verbs[VERBS] = {
    [VERB_LIST] = {"list", "gpus|schemes|isas",
                   "what there is: GPUs with a budget, schemes, instruction sets", "list schemes"},
    [VERB_EXPLAIN] = {"explain", NULL, "every candidate tile: what it uses, its predicted time, why one won",
                      "explain --gpu a800 --scheme f16x3 --shape 4096x4096x4096"},
    [VERB_EMIT] = {"emit", NULL, "the kernels of a set, with what builds them into a library",
                   "emit --gpu a800 --out out/a800"},
    [VERB_VENDOR] = {"vendor", NULL, "the whole library as a folder of sources for another project",
                     "vendor --gpu a800,h200 --out ../app/gemm --scheme f16x3,bf16x6u --prefix app_"},
    [VERB_VERIFY] = {"verify", "DIR", "whether such a folder is still as it was written",
                     "verify ../app/gemm"},
};

enum { LIST = 1 << VERB_LIST, EXPLAIN = 1 << VERB_EXPLAIN, EMIT = 1 << VERB_EMIT };
enum { VENDOR = 1 << VERB_VENDOR, VERIFY = 1 << VERB_VERIFY };
#define AT(field) offsetof(struct options, field)

static const struct option_row {
    const char *name;
    int of; /* the verbs that take it */
    size_t at;
    const char *value; /* NULL: a flag */
    const char *what;
} options[] = {
    {"--gpu", EXPLAIN | EMIT | VENDOR, AT(gpu), "G,...", "names from `list gpus`, or paths of budget files"},
    {"--scheme", EXPLAIN | EMIT | VENDOR, AT(scheme), "S,...",
     "names from `list schemes`; auto: what the default needs; all (but in explain): those on request, too"},
    {"--out", EMIT | VENDOR, AT(out), "DIR", "a new or empty folder, or one that the same verb wrote"},
    {"--lean", EMIT | VENDOR, AT(lean), NULL, "only the tiles that are chosen for some shape"},
    {"--cover", EMIT, AT(cover), NULL,
     "for tests: the smallest tile of each family, scheme and hooks"},
    {"--tiles", EMIT | VENDOR, AT(tiles), "T,...",
     "these tiles too, as in names of kernels: 128x128x32_w64x32_s4"},
    {"--tuned", EMIT, AT(tuned), "FILE.tsv", "a table of `halftone tune`: its shapes get the fastest kernel"},
    {"--promote", EMIT, AT(promote), "K", "an ablation: k between promotions, or none"},
    {"--prefix", VENDOR, AT(prefix), "P_", "of all exported names, in place of halftone_"},
    {"--amalgamation", VENDOR, AT(amalgamation), NULL, "one source and one header instead"},
    {"--amalgamation-sim", VENDOR, AT(simulator), NULL,
     "the same with the simulator inside, for g++ and clang++"},
    {"--model", EXPLAIN, AT(model), "M", "halftone (default), egemm or legemm"},
    {"--shape", EXPLAIN, AT(shape), "MxNxK", "the product; 4096x4096x4096 if not given"},
    {"--tsv", EXPLAIN, AT(tsv), NULL, "the candidates as a table"},
    {"--html", EXPLAIN, AT(html), "FILE", "a page instead of text; needs python3"},
    {"--compare", EXPLAIN, AT(compare), "G", "beside another GPU"},
    {"--what-if", EXPLAIN, AT(what_if), "KEY=N",
     "beside the same GPU with a changed budget; may be repeated"},
    {"--root", LIST | EXPLAIN | EMIT | VENDOR | VERIFY, AT(root), "DIR",
     "the folder with gen/, runtime/ and templates/"},
};
enum { OPTIONS = sizeof options / sizeof *options };

enum verb options_verb(const char *name) {
    const enum verb verb = (enum verb)TEXT_ROW(name, verbs);
    if (verb == VERBS)
        err_user(NULL, 0, "unknown command '%s'; see halftone-gen --help", name);
    return verb;
}

void options_help(enum verb verb) {
    if (verb == VERBS) {
        printf("halftone-gen %s: from a GPU's budget to kernels for emulated matrix products\n\n",
               HT_GENERATOR_VERSION);
        for (int i = 0; i < VERBS; i++)
            printf("  %-8s %s\n           " PROGRAM " %s\n", verbs[i].name, verbs[i].what, verbs[i].example);
        puts("\n" PROGRAM
             " VERB --help lists the options of a verb. `make help` has the same in make's words.");
        return;
    }
    const struct verb_row *v = &verbs[verb];
    printf("halftone-gen %s%s%s: %s\n\n", v->name, v->operand ? " " : "", v->operand ? v->operand : "",
           v->what);
    for (int i = 0; i < OPTIONS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s", options[i].name, options[i].value ? options[i].value : "");
        if (options[i].of >> verb & 1)
            printf("  %-18s %s\n", name, options[i].what);
    }
    printf("\n  " PROGRAM " %s\n", v->example);
}

/* Values may become file names and comments: no control bytes anywhere, in a name (a path's last part) no
 * quotes. */
static bool is_clean(const char *option, const char *value) {
    const char *slash = strrchr(value, '/'), *name = slash && slash[1] ? slash + 1 : value;
    for (const char *c = value; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127)
            return err_user(NULL, 0, "%s: the value holds the control byte %d; names are plain text", option,
                            (int)*c);
    }
    return name[strcspn(name, "'\"`\\")] == 0 ||
           err_user(NULL, 0, "%s: '%s' holds a quote or a backslash; choose a name without", option, name);
}

static bool read_value(struct options *o, const struct option_row *row, char *value) {
    size_t len = value ? strlen(value) : 0;
    if (!value || strncmp(value, "--", 2) == 0 || len == 0)
        return err_user(NULL, 0, "a value is missing after '%s'; it takes %s: %s", row->name, row->value,
                        row->what);
    if (!is_clean(row->name, value))
        return false;
    while (len > 1 && value[len - 1] == '/')
        value[--len] = 0;
    const char **at = (const char **)(void *)((char *)o + row->at);
    if (at == o->what_if && o->what_ifs == WHAT_IFS_MAX)
        err_user(NULL, 0, "--what-if stands more than %d times; a budget file says it better",
                 (int)WHAT_IFS_MAX);
    else if (at == o->what_if)
        o->what_if[o->what_ifs++] = value;
    else
        *at = value;
    return err_count() == 0;
}

/* A known option that is another verb's, or none at all. */
static void report_unknown(enum verb verb, const struct option_row *row, const char *word) {
    int other = 0;
    while (row && !(row->of >> other & 1))
        other++;
    if (row)
        err_user(NULL, 0, "%s is for %s; see halftone-gen %s --help", row->name, verbs[other].name,
                 verbs[verb].name);
    else
        err_user(NULL, 0, "unknown option '%s'; see halftone-gen %s --help", word, verbs[verb].name);
}

bool options_read(struct options *o, enum verb verb, int count, char **words) {
    for (int i = 0; i < count; i++) {
        const size_t at = TEXT_ROW(words[i], options);
        const struct option_row *row = at < OPTIONS ? &options[at] : NULL;
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
            o->help = true;
        else if (!row && words[i][0] != '-' && verbs[verb].operand && !o->operand)
            o->operand = words[i];
        else if (!row || !(row->of >> verb & 1)) {
            report_unknown(verb, row, words[i]);
            return false;
        } else if (!row->value)
            *(bool *)((char *)o + row->at) = true;
        else if (!read_value(o, row, i + 1 < count ? words[i + 1] : NULL))
            return false;
        else
            i++;
    }
    if (verbs[verb].operand && !o->operand && !o->help)
        err_user(NULL, 0, "%s what? halftone-gen %s %s", verbs[verb].name, verbs[verb].name,
                 verbs[verb].operand);
    return err_count() == 0;
}
