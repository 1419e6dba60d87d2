/* vendor.c: copies, renames and joins text; see vendor.h. */
#include "cli/vendor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "cli/library.h"

enum { PATH_BYTES = 4096 };

/* How a vendor's sources are compiled, and the runtime's device layer for them. */
struct toolchain {
    const char *vendor, *compiler, *device_layer, *device_body, *language, *package, *link;
    const char *c_target; /* option of C sources too: without one hipcc asks for a GPU */
};
static const struct toolchain toolchains[] = {
    {"nvidia", "nvcc", "dev_cuda.c", "dev_gpu.h", "CUDA", "CUDAToolkit", "CUDA::cudart_static", NULL},
    {"amd", "hipcc", "dev_hip.c", "dev_gpu.h", "HIP", "hip", "hip::host", " --offload-arch="},
    {"simulator", "g++", "dev_sim.c", NULL, "CXX", "Threads", "Threads::Threads", NULL},
};

static const struct toolchain *toolchain_of(const struct library *l, bool simulator) {
    const char *vendor = simulator ? "simulator" : l->set[0].context.isa->vendor;
    const size_t i = TEXT_ROW(vendor, toolchains);
    if (i == sizeof toolchains / sizeof *toolchains)
        err_bug("a vendor without a toolchain");
    return &toolchains[i];
}

/* Everything a text is made from. */
struct vendor {
    struct files *files;
    const struct library *library;
    const struct options *request;
    const struct toolchain *toolchain;
    bool is_one_source; /* an amalgamation */
    struct rename rename;
    const struct isa *isa; /* that a line is about */
    struct text system, inner, outer; /* an amalgamation's includes, its text, and what stands behind that */
    struct text shared; /* names that kernels and runtime both know */
    unsigned abi_sum; /* of ht_abi.h, ht_cost.h and ht_bound.h */
};

static const char *extension_of(const struct vendor *v, const struct isa *isa) {
    return v->request->simulator ? "cpp" : isa->extension;
}

static const char *flags_of(const struct vendor *v, const struct isa *isa) {
    return v->request->simulator ? "-std=c++17" : isa->compile_flags;
}

/* Without its '_' a prefix is a type, a header and a library: words of C and C++ and headers of theirs it
 * cannot be, nor what the sources take from those, nor x: X_OK is unistd.h's. Names of theirs have ht_. */
static bool is_taken(const char *stem) {
    static const char words[] =
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
        "char32_t class compl concept const consteval constexpr constinit const_cast continue co_await "
        "co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern "
        "false float for friend goto if inline int long main mutable namespace new noexcept not not_eq "
        "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
        "return short signed sizeof static static_assert static_cast std struct switch template this "
        "thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
        "volatile wchar_t while xor xor_eq "
        "assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg "
        "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar "
        "wctype unistd cuda cuda_runtime cuda_runtime_api hip linux unix f r w x "
        "NULL EOF FILE NAN INFINITY nan free malloc calloc realloc memcpy memmove memset memcmp strlen "
        "strcmp strncmp strchr strstr snprintf fprintf printf stdin stdout stderr exit abort getenv sqrt "
        "ldexp block";
    const size_t len = strlen(stem);
    return (len > 2 && strcmp(stem + len - 2, "_t") == 0) || /* POSIX keeps these for types */
           (strncasecmp(stem, "ht", 2) == 0 && (len == 2 || stem[2] == '_')) ||
           text_has_word(words, stem, len);
}

static bool prefix_ok(const char *prefix) {
    static const char letters[] = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    enum { NO_LETTERS = 11 };
    const size_t len = strlen(prefix);
    char stem[RENAME_PREFIX_MAX] = "";
    if (len < 2 || len >= RENAME_PREFIX_MAX || strspn(prefix, letters) < len ||
        memchr(letters, prefix[0], NO_LETTERS) || prefix[len - 1] != '_' || strstr(prefix, "__"))
        return err_user(NULL, 0,
                        "SYMBOLS '%s' (--prefix) cannot begin C names; letters, digits and '_', from a "
                        "letter to a '_', no two of these in a row, as myproj_", prefix);
    memcpy(stem, prefix, len - 1);
    return !is_taken(stem) ||
           err_user(NULL, 0,
                    "SYMBOLS '%s' (--prefix): %s, the name of the handle's type and of the header, is a word "
                    "or header of C, C++, the compiler or the sources; choose another, as myproj_",
                    prefix, stem);
}

/* Appends the text with its names changed, and frees it. */
static void add_renamed(struct text *out, const struct vendor *v, struct text *raw, enum rename_scope scope,
                        const char *kernel) {
    rename_text(out, &v->rename, raw->data, raw->len, scope, kernel);
    text_free(raw);
}

static bool read_source(struct text *out, const struct vendor *v, const char *folder, const char *name) {
    return emit_read(out, v->library->set[0].context.root, folder, name);
}

/* A file under its renamed name. */
static struct text *add_file(struct vendor *v, const char *name) {
    struct text renamed = {0};
    rename_text(&renamed, &v->rename, name, strlen(name), RENAME_ALL, NULL);
    struct text *out = files_add(v->files, renamed.data);
    text_free(&renamed);
    return out;
}

/* ---- the folder */

/* The runtime but the device layer, each header behind those that it includes. */
static const char *const runtime_files[] = {
    "halftone.h", "ht_ieee.h", "ht_abi.h", "ht_abi64.h", "ht_crt.h", "ht_fenv.h", "ht_cost.h", "ht_bound.h",
    "ht_pick.h", "ht_dev.h", "ht_site_line.h", "ht_accuracy.h", "ht_call.h", "ht_pick.c", "ht_accuracy.c",
    "ht_error.c", "ht_check.c", "ht_context.c", "ht_workspace.c", "ht_lend.c", "ht_recipe_slices.c",
    "ht_recipe_native64.c", "ht_recipe_residues.c", "ht_recipe_ozaki.c", "ht_select.c",
    "ht_plan.c", "ht_settings.c", "ht_site_line.c", "ht_site.c", "ht_handle.c",
    "ht_packed.c", "ht_product.c", "ht_query.c", "ht_rho.c", "ht_host.h", "ht_host_copy.c",
    "ht_host.c"};
enum { RUNTIME_FILES = sizeof runtime_files / sizeof *runtime_files };

static bool is_source(const char *name) {
    return strcmp(strchr(name, '.'), ".c") == 0;
}

/* What the runtime copy of a folder says before ht_abi.h's own text: its list of sets is that of this
 * folder's dispatch.c, not of any in the archive, and folders are joined only where both have the same
 * text. */
static void write_identity(struct text *out, const struct vendor *v) {
    struct text raw = {0};
    text_addf(&raw, "#ifndef HT_ABI_SUM\n#define HT_ABI_SUM %uu\n#define ht_sets ht_sets_of_%s\n#endif\n",
              v->abi_sum, v->library->set[0].gpu.name);
    add_renamed(out, v, &raw, RENAME_TABLE, NULL);
}

static void copy_runtime(struct vendor *v, const char *name) {
    struct text raw = {0};
    if (read_source(&raw, v, "runtime", name)) {
        struct text *out = add_file(v, name);
        const bool is_page = strstr(name, ".md") != NULL;
        text_add(out, is_page ? "<!--\n" : "");
        manifest_banner(out, v->library, "MIT (file LICENSE)");
        text_add(out, is_page ? "-->\n" : "");
        if (strcmp(name, "ht_abi.h") == 0)
            write_identity(out, v);
        add_renamed(out, v, &raw, RENAME_ALL, NULL);
    }
}

static void add_kernel(struct text *out, const struct vendor *v, const struct unit *u) {
    struct text raw = {0};
    emit_kernel(&raw, u->context, u->kind, u->plan);
    add_renamed(out, v, &raw, RENAME_KERNEL, u->name);
}

static void add_dispatch(struct text *out, const struct vendor *v) {
    struct text raw = {0};
    manifest_dispatch(&raw, v->library);
    if (!v->is_one_source)
        text_addf(&raw,
                  "#if HT_ABI_SUM != %uu\n#error \"this folder and the one it joins were written by "
                  "different versions\"\n#endif\n",
                  v->abi_sum);
    add_renamed(out, v, &raw, RENAME_TABLE, NULL);
}

static void add_folder(struct vendor *v) {
    char name[FILE_NAME_MAX];
    for (int i = 0; i < RUNTIME_FILES; i++)
        copy_runtime(v, runtime_files[i]);
    copy_runtime(v, v->toolchain->device_layer);
    if (v->toolchain->device_body)
        copy_runtime(v, v->toolchain->device_body);
    for (int i = 0; i < v->library->units && err_count() == 0; i++) {
        const struct unit *u = &v->library->unit[i];
        snprintf(name, sizeof name, "%s.%s", u->name, u->context->isa->extension);
        add_kernel(add_file(v, name), v, u);
    }
    add_dispatch(add_file(v, "dispatch.c"), v);
}

/* ---- the amalgamation */

/* Lines of a source without its includes; those in angle brackets go to `system`, each once. */
static void inline_lines(struct text *out, struct text *system, const struct text *raw) {
    const char *at = raw->data, *end = raw->data + raw->len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t len = newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);
        if (strncmp(at, "#include <", 10) == 0) {
            char line[256];
            snprintf(line, sizeof line, "%.*s", (int)len, at);
            if (!system->data || !strstr(system->data, line))
                text_add(system, line);
        } else if (strncmp(at, "#include \"", 10) != 0) {
            text_add_bytes(out, at, len);
        }
        at += len;
    }
}

/* A source below `folder`; the simulator's keep their names. */
static void inline_source(struct text *out, struct vendor *v, const char *folder, const char *name) {
    struct text raw = {0}, body = {0};
    if (read_source(&raw, v, folder, name))
        inline_lines(&body, &v->system, &raw);
    text_add(&body, "\n");
    if (strcmp(folder, "runtime") == 0)
        rename_text(out, &v->rename, body.data, body.len, RENAME_ALL, NULL);
    else
        text_add_bytes(out, body.data, body.len);
    text_free_all(&raw, &body);
}

/* The simulator's sources, in the order that they need: what kernels see, and after them what does the
 * work. */
static const char sim_seen[] = "sim_api.h,sim_f16.h,sim_mfma.h,ht_sim.h";
static const char sim_works[] =
    "sim_mma.h,sim_fiber.h,sim_internal.h,sim_async.h,sim_f16.c,sim_mfma.c,sim_mma.c,sim_mma_wide.c,"
    "sim_fiber.cpp,sim_error.cpp,sim_mem.cpp,sim_order.cpp,sim_async.cpp,sim_warp.cpp,sim_wgmma.cpp,"
    "sim_stream.cpp,sim_core.cpp,sim_launch.cpp,sim_calls.cpp";

/* In a namespace without a name, as nobody else may see them. */
static void inline_hidden(struct text *out, struct vendor *v, const char *names) {
    text_add(out, "namespace {\n");
    for (char name[FILE_NAME_MAX]; text_entry(&names, name, sizeof name);)
        inline_source(out, v, "runtime/sim", name);
    text_add(out, "} // namespace\n\n");
}

/* The simulator's cuda_runtime_api.h, whose functions get the prefix. */
static void add_cuda_header(struct vendor *v) {
    static const char *const results[] = {"cudaError_t cuda", "const char *cuda"};
    struct text raw = {0}, *out = add_file(v, "cuda_runtime_api.h");
    const bool ok = read_source(&raw, v, "runtime/sim/cuda", "cuda_runtime_api.h");
    manifest_banner(out, v->library, "MIT (file LICENSE)");
    for (const char *at = raw.data; ok && *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL)) {
        for (int i = 0; i < 2; i++) {
            const size_t before = strlen(results[i]) - 4;
            if (strncmp(at, results[i], before + 4) == 0) {
                const int len = (int)strcspn(at + before, "(");
                text_addf(out, "#define %.*s %s%.*s\n", len, at + before, v->rename.prefix, len, at + before);
            }
        }
    }
    text_add_bytes(out, raw.data, raw.len);
    text_free(&raw);
}

static bool has_one_isa(const struct library *l) {
    int i = 0;
    while (l->isas > 1 && l->unit[i].context->isa == l->isa[0])
        i++;
    if (l->isas > 1)
        err_user(NULL, 0,
                 "an amalgamation is compiled for one instruction set, but %s has %s and %s has %s; vendor a "
                 "folder, or one amalgamation for each with SYMBOLS (--prefix) of its own",
                 l->set[0].gpu.name, l->isa[0]->name, l->unit[i].context->gpu->name, l->isa[1]->name);
    return l->isas < 2;
}

/* ---- what builds it */

/* Kernels of the instruction set under their new names, or the one source. */
static void add_sources(struct text *out, const struct vendor *v, const char *before, const char *ending) {
    for (int i = 0; i < v->library->units && !v->is_one_source; i++) {
        const struct unit *u = &v->library->unit[i];
        if (u->context->isa != v->isa)
            continue;
        text_add(out, before);
        rename_text(out, &v->rename, u->name, strlen(u->name), RENAME_ALL, NULL);
        text_add(out, ending);
    }
    if (v->is_one_source)
        text_addf(out, "%s%s", v->rename.stem, ending);
}

/* The runtime's sources, each with another ending. */
static void add_runtime_names(struct text *out, const struct vendor *v, const char *ending) {
    for (int i = 0; i < RUNTIME_FILES + 2; i++) {
        const char *name = i < RUNTIME_FILES    ? runtime_files[i]
                           : i == RUNTIME_FILES ? "dispatch.c"
                                                : v->toolchain->device_layer;
        if (!is_source(name))
            continue;
        rename_text(out, &v->rename, name, strcspn(name, "."), RENAME_ALL, NULL);
        text_addf(out, "%s%s", ending, i < RUNTIME_FILES + 1 ? " " : "");
    }
}

/* The compiler's options, `between` in place of blanks. */
static void add_flags(struct text *out, const struct vendor *v, const char *between) {
    for (const char *c = flags_of(v, v->isa); *c; c++)
        text_addf(out, *c == ' ' ? "%s" : "%.1s", *c == ' ' ? between : c);
}

static void add_own_sources(struct text *out, const struct vendor *v, const char *before) {
    char ending[16];
    snprintf(ending, sizeof ending, ".%s", extension_of(v, v->isa));
    text_add(out, v->is_one_source ? " " : "");
    add_sources(out, v, before, ending);
}

/* One command that compiles the kernels of each instruction set; the shell may not see the brackets of
 * -gencode. */
static void add_commands(struct text *out, const struct vendor *outer, const char *between) {
    struct vendor v = *outer;
    for (int i = 0; i < v.library->isas; i++) {
        v.isa = v.library->isa[i];
        text_addf(out, "%s%s -O3 ", i > 0 ? between : "", v.toolchain->compiler);
        for (const char *at = flags_of(&v, v.isa); *at;) {
            const size_t len = strcspn(at, " ");
            text_addf(out, memchr(at, '[', len) ? "'%.*s' " : "%.*s ", (int)len, at);
            at += len + (at[len] == ' ');
        }
        text_addf(out, "-c %s%s.%s", v.is_one_source ? v.rename.stem : "*_",
                  v.is_one_source ? "" : v.isa->suffix, extension_of(&v, v.isa));
    }
}

static void add_objects(struct text *out, const struct vendor *outer, const char *before) {
    struct vendor v = *outer;
    if (!v.is_one_source)
        add_runtime_names(out, &v, ".o");
    for (int i = 0; i < v.library->isas; i++) {
        v.isa = v.library->isa[i];
        add_sources(out, &v, before, ".o");
    }
}

static void add_gpus(struct text *out, const struct vendor *v, const char *between) {
    for (int i = 0; i < v->library->sets; i++)
        text_addf(out, "%s%s (%s)", i > 0 ? between : "", v->library->set[i].gpu.title,
                  v->library->set[i].context.isa->name);
}

static void add_schemes(struct text *out, const struct vendor *v, const char *between) {
    const struct plan_set *plans = &v->library->set[0].plans;
    for (int i = 0; i < plans->count; i++) {
        if (i == 0 || plans->plan[i - 1].on.s != plans->plan[i].on.s)
            text_addf(out, "%s`%s`", i > 0 ? between : "", plans->plan[i].on.s->name);
    }
}

static void add_guard(struct text *out, const struct vendor *v, const char *before) {
    text_add(out, before);
    emit_head(out, v->isa);
}

static void add_banner(struct text *out, const struct vendor *v, const char *licence) {
    manifest_banner(out, v->library, licence);
}

/* Fills the hole NAME@ that begins behind an '@', and returns its length; 0: it was make's own, as in $@. */
static size_t fill_hole(struct text *out, const struct vendor *v, const char *at) {
    const struct toolchain *t = v->toolchain;
    const char *prefix = v->is_one_source || v->request->prefix ? v->rename.prefix : NULL;
    static const char exported[] = " (the functions of the header) or `ht_` (kernels and internals)";
    const struct {
        const char *name, *text; /* or what stands before, between or behind what `write` lists */
        void (*write)(struct text *out, const struct vendor *v, const char *text);
    } holes[] = {{"STEM", v->rename.stem, NULL}, {"PREFIX", v->rename.prefix, NULL},
                 {"UPPER", v->rename.upper, NULL}, {"COMPILER", t->compiler, NULL},
                 {"LANGUAGE", t->language, NULL}, {"PACKAGE", t->package, NULL}, {"LINK", t->link, NULL},
                 {"VERSION", HT_GENERATOR_VERSION, NULL}, {"COMMAND", v->library->recreate.data, NULL},
                 {"SUFFIX", v->isa->suffix, NULL}, {"EXTENSION", extension_of(v, v->isa), NULL},
                 {"ARCHS", t->c_target ? "gfx" : "sm", NULL}, {"C_TARGET", t->c_target, NULL},
                 {"C_SUFFIX", t->c_target ? v->library->set[0].context.isa->suffix : "", NULL},
                 {"PATTERN", v->is_one_source ? v->rename.stem : "%_", NULL},
                 {"PATTERN_SUFFIX", v->is_one_source ? "" : v->isa->suffix, NULL},
                 {"UPPER_OR_NONE", v->request->prefix ? v->rename.upper : "", NULL},
                 {"EXPORTS", prefix ? prefix : "halftone_", NULL}, {"EXPORTED", prefix ? "" : exported, NULL},
                 {"SYSTEM", v->system.data, NULL}, {"INNER", v->inner.data, NULL},
                 {"OUTER", v->outer.data, NULL},
                 {"KERNELS", " && ", add_commands}, {"OBJECTS", " \\\n    ", add_objects},
                 {"SOURCES", "\n    ", add_own_sources}, {"RUNTIME", ".c", add_runtime_names},
                 {"FLAG_LIST", ";", add_flags}, {"FLAG_WORDS", "' '", add_flags}, {"GPUS", ", ", add_gpus},
                 {"SCHEMES", ", ", add_schemes}, {"GUARD", "", add_guard},
                 {"BANNER", "MIT (file LICENSE), of the kernels MIT-0", add_banner}};
    for (size_t i = 0; i < sizeof holes / sizeof *holes; i++) {
        const size_t len = strlen(holes[i].name);
        if (strncmp(at, holes[i].name, len) != 0 || at[len] != '@')
            continue;
        if (holes[i].write)
            holes[i].write(out, v, holes[i].text);
        else
            text_add(out, holes[i].text ? holes[i].text : "");
        return len + 1;
    }
    text_add(out, "@");
    return 0;
}

static const char *line_behind(const char *at) {
    return at + strcspn(at, "\n") + (strchr(at, '\n') != NULL);
}

static const char each_isa[] = "@ISA@";

/* Length of the mark that the line begins with; whether it is for this folder. */
static size_t read_mark(const struct vendor *v, const char *line, bool *is_wanted) {
    const struct {
        const char *mark;
        bool is_wanted;
    } marks[] = {{each_isa, true}, {"@FOLDER@", !v->is_one_source}, {"@AMALGAMATION@", v->is_one_source},
                 {"@SIMULATOR@", v->request->simulator}, {"@DEVICE@", !v->request->simulator}, {"", true}};
    size_t i = 0;
    while (strncmp(line, marks[i].mark, strlen(marks[i].mark)) != 0)
        i++;
    *is_wanted = marks[i].is_wanted;
    return strlen(marks[i].mark);
}

/* Lines of a template with their @HOLES@ filled, the first `mark` bytes of each left out. */
static void fill_lines(struct text *out, const struct vendor *v, const char *at, const char *end,
                       size_t mark) {
    while (at < end) {
        const char *const next = line_behind(at);
        for (at += mark; at < next;) {
            if (*at == '@')
                at += 1 + fill_hole(out, v, at + 1);
            else
                text_add_bytes(out, at++, 1);
        }
    }
}

/* templates/vendor/NAME. Lines that begin with @FOLDER@, @AMALGAMATION@, @SIMULATOR@ or @DEVICE@ are for one
 * of two, groups of those with @ISA@ stand once for each instruction set. */
static void fill(struct vendor *v, const char *name, const char *as) {
    struct text raw = {0}, *out = add_file(v, as);
    read_source(&raw, v, "templates/vendor", name);
    for (const char *at = raw.data, *end; at && *at; at = end) {
        bool is_wanted;
        const size_t mark = read_mark(v, at, &is_wanted);
        const bool is_for_each = strncmp(at, each_isa, strlen(each_isa)) == 0;
        end = line_behind(at);
        while (is_for_each && strncmp(end, each_isa, strlen(each_isa)) == 0)
            end = line_behind(end);
        for (int i = 0; is_wanted && i < (is_for_each ? v->library->isas : 1); i++) {
            v->isa = is_for_each ? v->library->isa[i] : v->library->set[0].context.isa;
            fill_lines(out, v, at, end, mark);
        }
    }
    text_free(&raw);
}

static void add_amalgamation(struct vendor *v) {
    const struct library *l = v->library;
    const bool sim = v->request->simulator;
    struct text dispatch = {0};
    char name[FILE_NAME_MAX];
    if (!has_one_isa(l))
        return;
    copy_runtime(v, runtime_files[0]);
    if (sim)
        inline_hidden(&v->inner, v, sim_seen);
    for (int i = 1; i < RUNTIME_FILES; i++) /* sources behind the list of sets, which they read */
        inline_source(is_source(runtime_files[i]) ? &v->outer : &v->inner, v, "runtime", runtime_files[i]);
    inline_source(&v->inner, v, "runtime", v->toolchain->device_layer);
    if (v->toolchain->device_body)
        inline_source(&v->inner, v, "runtime", v->toolchain->device_body);
    for (int i = 0; i < l->units && err_count() == 0; i++)
        add_kernel(&v->inner, v, &l->unit[i]);
    add_dispatch(&dispatch, v);
    inline_lines(&v->inner, &v->system, &dispatch); /* its includes are those of the files above */
    if (sim) {
        add_cuda_header(v);
        inline_hidden(&v->outer, v, sim_works);
        inline_source(&v->outer, v, "runtime/sim", "sim_cuda.c");
    }
    snprintf(name, sizeof name, "halftone.%s", extension_of(v, l->set[0].context.isa));
    fill(v, "amalgamation", name);
    text_free(&dispatch);
}

/* Budgets that were given by path travel with the folder, so that it can be recreated. */
static void add_budgets(struct vendor *v) {
    char path[PATH_BYTES];
    for (const char *at = v->request->gpu; text_entry(&at, path, sizeof path);) {
        const char *const name = text_base_name(path);
        if (name == path && !strchr(path, '.'))
            continue;
        if (files_index(v->files, name) >= 0)
            err_user(path, 0, "the folder has a file of the name %s already; rename the budget file", name);
        else if (!text_read_file(files_add(v->files, name), path))
            err_user(path, 0, "cannot be read");
    }
}

static void add_manifest(struct vendor *v) {
    struct text table = {0}, out = {0};
    manifest_table(&table, v->library);
    text_addf(&out, "# " HT_RECREATE "%s\n# Licence: MIT-0\n", v->library->recreate.data);
    for (int i = 0; i < v->files->count; i++) {
        const struct text *t = &v->files->text[i];
        text_addf(&out, "# checksum %016" PRIx64 " %s\n", text_checksum(TEXT_CHECKSUM_SEED, t->data, t->len),
                  v->files->name[i]);
    }
    add_renamed(&out, v, &table, RENAME_TABLE, NULL);
    *files_add(v->files, "manifest") = out;
}

bool vendor_files(struct files *f, const struct library *l, const struct options *r) {
    struct vendor v = {.files = f, .library = l, .request = r, .toolchain = toolchain_of(l, r->simulator),
                       .is_one_source = r->amalgamation || r->simulator};
    struct text abi = {0}, headers = {0};
    if (r->prefix && !prefix_ok(r->prefix))
        return false;
    if (emit_read_headers(&abi, &headers, l->set[0].context.root)) {
        rename_names(&v.shared, abi.data, abi.len);
        rename_init(&v.rename, r->prefix, v.shared.data);
        v.abi_sum = (unsigned)text_checksum(TEXT_CHECKSUM_SEED, headers.data, headers.len);
        if (v.is_one_source)
            add_amalgamation(&v);
        else
            add_folder(&v);
        fill(&v, r->simulator ? "sim_README.md" : "README.md", "README.md");
        fill(&v, "CMakeLists.txt", "CMakeLists.txt");
        fill(&v, "rules.mk", "halftone.mk");
        copy_runtime(&v, "MANUAL.md");
        read_source(add_file(&v, "LICENSE"), &v, ".", "LICENSE");
        add_budgets(&v);
        add_manifest(&v);
    }
    text_free_all(&abi, &headers, &v.shared, &v.system, &v.inner, &v.outer);
    return err_count() == 0;
}
