/* vendor.c: copies, renames and joins text; see vendor.h. */
#include "cli/vendor.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/manifest.h"
#include "cli/rename.h"

enum { PATH_BYTES = 4096 };

/* How a vendor's sources are compiled, and the runtime's device layer for them. */
struct toolchain {
    const char *vendor, *compiler, *device_layer, *device_body, *language, *package, *link;
    const char
        *c_target; /* option of C sources too, before the instruction set: without one hipcc asks for a GPU */
};
static const struct toolchain toolchains[] = {
    {"nvidia", "nvcc", "dev_cuda.c", "dev_gpu.h", "CUDA", "CUDAToolkit", "CUDA::cudart_static", NULL},
    {"amd", "hipcc", "dev_hip.c", "dev_gpu.h", "HIP", "hip", "hip::host", "--offload-arch="},
    {"simulator", "g++", "dev_sim.c", NULL, "CXX", "Threads", "Threads::Threads", NULL},
};

static const struct toolchain *toolchain_of(const struct library *l, bool simulator) {
    const char *vendor = simulator ? "simulator" : l->set[0].context.isa->vendor;
    for (size_t i = 0; i < sizeof toolchains / sizeof *toolchains; i++) {
        if (strcmp(toolchains[i].vendor, vendor) == 0)
            return &toolchains[i];
    }
    err_bug("a vendor without a toolchain");
}

/* Everything a text is made from. */
struct vendor {
    struct files *files;
    const struct library *library;
    const struct options *request;
    const struct toolchain *toolchain;
    bool is_one_source; /* an amalgamation */
    struct rename rename;
    struct text abi; /* what kernels and runtime both declare */
    unsigned abi_sum; /* of ht_abi.h, ht_cost.h and ht_bound.h */
};

static const char *extension_of(const struct vendor *v, const struct isa *isa) {
    return v->request->simulator ? "cpp" : isa->extension;
}

static const char *flags_of(const struct vendor *v, const struct isa *isa) {
    return v->request->simulator ? "-std=c++17" : isa->compile_flags;
}

/* Without its '_' a prefix is a type, a header and a library: words of C and C++ and headers of theirs it
 * cannot be. */
static bool is_taken(const char *stem) {
    static const char *const words[] = {
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
        "char32_t class compl concept const consteval constexpr constinit const_cast continue co_await "
        "co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern "
        "false float for friend goto if inline int long main mutable namespace new noexcept not not_eq "
        "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
        "return short signed sizeof static static_assert static_cast std struct switch template this "
        "thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
        "volatile wchar_t while xor xor_eq",
        "assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg "
        "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar "
        "wctype unistd cuda cuda_runtime cuda_runtime_api hip linux unix"};
    const size_t len = strlen(stem);
    bool taken = len > 2 && strcmp(stem + len - 2, "_t") == 0; /* POSIX keeps these for types */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (const char *at = words[i]; (at = strstr(at, stem)) != NULL && !taken; at += len)
            taken = (at == words[i] || at[-1] == ' ') && (at[len] == ' ' || at[len] == 0);
    }
    return taken;
}

bool vendor_prefix_ok(const char *prefix) {
    const size_t len = strlen(prefix);
    char stem[RENAME_PREFIX_MAX] = "";
    bool ok = len >= 2 && len < RENAME_PREFIX_MAX && !isdigit((unsigned char)prefix[0]) && prefix[0] != '_' &&
              prefix[len - 1] == '_' && !strstr(prefix, "__");
    for (size_t i = 0; i < len; i++)
        ok = ok && (isalnum((unsigned char)prefix[i]) || prefix[i] == '_') && (unsigned char)prefix[i] < 128;
    if (!ok)
        err_user(NULL, 0,
                 "SYMBOLS '%s' (--prefix) cannot begin C names; letters, digits and '_', from a letter to a "
                 "'_', no two of these in a row, as myproj_",
                 prefix);
    snprintf(stem, sizeof stem, "%.*s", ok ? (int)len - 1 : 0, prefix);
    if (ok && is_taken(stem))
        err_user(NULL, 0,
                 "SYMBOLS '%s' (--prefix): %s, the name of the handle's type and of the header, is a word or "
                 "header of C, C++ or the compiler; choose another, as myproj_",
                 prefix, stem);
    return ok && !is_taken(stem);
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
    "halftone.h",     "ht_abi.h",     "ht_cost.h",     "ht_bound.h",  "ht_pick.h",  "ht_dev.h",
    "ht_accuracy.h",  "ht_call.h",    "ht_pick.c",     "ht_accuracy.c", "ht_handle.c", "ht_check.c",
    "ht_select.c",    "ht_workspace.c", "ht_context.c", "ht_steps.c", "ht_api.c", "ht_query.c", "ht_rho.c"};
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
    rename_text(out, &v->rename, raw.data, raw.len, RENAME_TABLE, NULL);
    text_free(&raw);
}

static void copy_runtime(struct vendor *v, const char *name) {
    struct text raw = {0};
    if (read_source(&raw, v, "runtime", name)) {
        struct text *out = add_file(v, name);
        manifest_banner(out, v->library, "MIT (file LICENSE)");
        if (strcmp(name, "ht_abi.h") == 0)
            write_identity(out, v);
        rename_text(out, &v->rename, raw.data, raw.len, RENAME_ALL, NULL);
    }
    text_free(&raw);
}

static void add_kernel(struct text *out, const struct vendor *v, const struct unit *u) {
    struct text raw = {0};
    if (unit_emit(&raw, u))
        rename_text(out, &v->rename, raw.data, raw.len, RENAME_KERNEL, u->name);
    out->failed = out->failed || raw.failed;
    text_free(&raw);
}

static void add_dispatch(struct text *out, const struct vendor *v) {
    struct text raw = {0};
    manifest_dispatch(&raw, v->library);
    if (!v->is_one_source)
        text_addf(&raw,
                  "#if HT_ABI_SUM != %uu\n#error \"this folder and the one it joins were written by "
                  "different versions\"\n#endif\n",
                  v->abi_sum);
    rename_text(out, &v->rename, raw.data, raw.len, RENAME_TABLE, NULL);
    text_free(&raw);
}

static void add_folder(struct vendor *v) {
    char name[FILE_NAME_MAX];
    for (int i = 0; i < RUNTIME_FILES; i++)
        copy_runtime(v, runtime_files[i]);
    copy_runtime(v, v->toolchain->device_layer);
    if (v->toolchain->device_body)
        copy_runtime(v, v->toolchain->device_body);
    for (int i = 0; i < v->library->units; i++) {
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

static void inline_runtime(struct text *out, struct text *system, const struct vendor *v, const char *name) {
    struct text raw = {0}, body = {0};
    if (read_source(&raw, v, "runtime", name)) {
        inline_lines(&body, system, &raw);
        text_addf(&body, "\n");
        rename_text(out, &v->rename, body.data, body.len, RENAME_ALL, NULL);
    }
    text_free(&raw);
    text_free(&body);
}

static void inline_dispatch(struct text *out, const struct vendor *v) {
    struct text raw = {0}, none = {0};
    add_dispatch(&raw, v);
    inline_lines(out, &none, &raw);
    text_free(&raw);
    text_free(&none);
}

/* The simulator's sources, in the order that they need: what kernels see, and after them what does the
 * work. */
static const char *const sim_seen[] = {"sim_api.h", "sim_f16.h", "sim_mfma.h", "ht_sim.h", NULL};
static const char *const sim_works[] = {
    "sim_mma.h",   "sim_mma_wide.h", "sim_fiber.h",    "sim_internal.h", "sim_async.h",   "sim_f16.c",
    "sim_mfma.c",  "sim_mma.c",      "sim_mma_wide.c", "sim_fiber.cpp",  "sim_error.cpp", "sim_grid.cpp",
    "sim_mem.cpp", "sim_order.cpp",  "sim_async.cpp",  "sim_warp.cpp",   "sim_wgmma.cpp", "sim_stream.cpp",
    "sim_core.cpp", NULL};
static const char *const sim_cuda[] = {"sim_cuda.c", NULL};

/* Sources under their own names, in a namespace without one, as nobody else may see them. */
static void inline_sim(struct text *out, struct text *system, const struct vendor *v,
                       const char *const *names, bool hidden) {
    text_add(out, hidden ? "namespace {\n" : "");
    for (; *names; names++) {
        struct text raw = {0};
        if (read_source(&raw, v, "runtime/sim", *names))
            inline_lines(out, system, &raw);
        text_add(out, "\n");
        text_free(&raw);
    }
    text_add(out, hidden ? "} // namespace\n\n" : "");
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

/* What an amalgamation begins with, before its system headers and behind them. gcc must not make two calls of
 * one, by threading jumps nor by placing a short block twice: the simulator tells calls apart by where they
 * return to. */
static const char sim_first[] =
    "#undef _FORTIFY_SOURCE // its longjmp refuses to leave one stack for another\n"
    "#define HT_SIMULATOR\n#define HT_SIM_LOCAL\n"
    "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#pragma clang diagnostic ignored "
    "\"-Wpass-failed\"\n#else\n"
    "#pragma GCC optimize(\"no-thread-jumps\", \"reorder-blocks-algorithm=simple\", \"fp-contract=off\")\n"
    "#pragma GCC diagnostic ignored \"-Wformat-truncation\"\n#endif\n"
    "#pragma GCC diagnostic ignored \"-Wunused-variable\" // no kernel uses every variable of its skeleton\n";
static const char dim3_behind[] =
    "#ifndef HT_SIMULATOR // where nothing is inlined, dim3's own constructor would be exported\n"
    "union %sht_dim3 {\n    unsigned xyz[3];\n    dim3 made;\n};\n"
    "static inline dim3 %sht_dim3_of(unsigned x, unsigned y = 1, unsigned z = 1)\n{\n"
    "    const union %sht_dim3 both = {{x, y, z}};\n    return both.made;\n}\n"
    "#define dim3(...) %sht_dim3_of(__VA_ARGS__)\n#endif\n";

static void add_amalgamation(struct vendor *v) {
    const struct library *l = v->library;
    const struct isa *isa = l->set[0].context.isa;
    struct text system = {0}, inner = {0}, outer = {0}, guard = {0};
    char name[FILE_NAME_MAX];
    for (int i = 0; i < l->units; i++) {
        if (l->unit[i].context->isa != isa) {
            err_user(
                NULL, 0,
                "an amalgamation is compiled for one instruction set, but %s has %s and %s has %s; vendor a "
                "folder, or one amalgamation for each with SYMBOLS (--prefix) of its own",
                l->set[0].gpu.name, isa->name, l->unit[i].context->gpu->name, l->unit[i].context->isa->name);
            return;
        }
    }
    const bool sim = v->request->simulator;
    copy_runtime(v, runtime_files[0]);
    if (sim)
        inline_sim(&inner, &system, v, sim_seen, true);
    for (int i = 1; i < RUNTIME_FILES; i++) /* sources behind the list of sets, which they read */
        inline_runtime(is_source(runtime_files[i]) ? &outer : &inner, &system, v, runtime_files[i]);
    inline_runtime(&inner, &system, v, v->toolchain->device_layer);
    if (v->toolchain->device_body)
        inline_runtime(&inner, &system, v, v->toolchain->device_body);
    for (int i = 0; i < l->units; i++)
        add_kernel(&inner, v, &l->unit[i]);
    inline_dispatch(&inner, v);
    if (sim) {
        add_cuda_header(v);
        inline_sim(&outer, &system, v, sim_works, true);
        inline_sim(&outer, &system, v, sim_cuda, false);
    } else {
        emit_head(&guard, isa);
    }
    snprintf(name, sizeof name, "halftone.%s", extension_of(v, isa));
    struct text *out = add_file(v, name);
    manifest_banner(out, v->library, "MIT (file LICENSE), of the kernels MIT-0");
    text_add(out, "/* Everything in one file; only the functions of the header are exported. */\n");
    text_add(out, sim ? sim_first : "");
    text_add_bytes(out, guard.data, guard.len);
    text_add_bytes(out, system.data, system.len);
    if (!sim)
        text_addf(out, dim3_behind, v->rename.prefix, v->rename.prefix, v->rename.prefix, v->rename.prefix);
    text_addf(out,
              "%s\n#include \"%s.h\"\n\n#if defined(__GNUC__)\n"
              "#pragma GCC diagnostic ignored \"-Wunused-function\" // the device layer serves others too\n"
              "#endif\n#define %sHT_LOCAL static\n\n",
              sim ? "#include \"cuda_runtime_api.h\"\n" : "", v->rename.stem,
              v->request->prefix ? v->rename.upper : "");
    text_add_bytes(out, inner.data, inner.len);
    text_add_bytes(out, outer.data, outer.len);
    out->failed = out->failed || system.failed || inner.failed || outer.failed || guard.failed;
    text_free(&system);
    text_free(&inner);
    text_free(&outer);
    text_free(&guard);
}

/* ---- what builds it */

/* Names of the kernels of an instruction set, each behind `before`. */
static void add_sources(struct text *out, const struct vendor *v, const struct isa *isa, const char *before,
                        const char *suffix) {
    for (int i = 0; i < v->library->units; i++) {
        const struct unit *u = &v->library->unit[i];
        if (u->context->isa != isa)
            continue;
        text_add(out, before);
        rename_text(out, &v->rename, u->name, strlen(u->name), RENAME_ALL, NULL);
        text_addf(out, "%s", suffix);
    }
}

/* Calls visit for the first unit of each instruction set. */
static void each_isa(struct text *out, const struct vendor *v,
                     void (*visit)(struct text *out, const struct vendor *v, const struct isa *isa)) {
    for (int i = 0; i < v->library->units; i++) {
        if (library_is_first_of_isa(v->library, i))
            visit(out, v, v->library->unit[i].context->isa);
    }
}

static void compile_line(struct text *out, const struct vendor *v, const struct isa *isa) {
    text_addf(out, "%s -O3 ", v->toolchain->compiler);
    /* the shell may not see the brackets of -gencode */
    for (const char *at = flags_of(v, isa); *at;) {
        const size_t len = strcspn(at, " ");
        text_addf(out, memchr(at, '[', len) ? "'%.*s' " : "%.*s ", (int)len, at);
        at += len + (at[len] == ' ');
    }
    if (v->is_one_source)
        text_addf(out, "-c %s.%s && ", v->rename.stem, extension_of(v, isa));
    else
        text_addf(out, "-c *_%s.%s && ", isa->suffix, extension_of(v, isa));
}

static void archive_line(struct text *out, const struct vendor *v) {
    text_addf(out, "rm -f lib%s.a && ar rcs lib%s.a *.o", v->rename.stem, v->rename.stem);
}

static void hole_c_flags(struct text *out, const struct vendor *v) {
    if (v->toolchain->c_target)
        text_addf(out, " %s%s", v->toolchain->c_target, v->library->set[0].context.isa->suffix);
}

static void hole_compile(struct text *out, const struct vendor *v) {
    each_isa(out, v, compile_line);
    if (!v->is_one_source) {
        text_addf(out, "%s -O3", v->toolchain->compiler);
        hole_c_flags(out, v);
        text_add(out, " -c *.c && ");
    }
    archive_line(out, v);
}

/* How this folder and another are made one library: its line as the second of them, then as the first. */
static void hole_join(struct text *out, const struct vendor *v) {
    const struct toolchain *t = v->toolchain;
    struct text kernels = {0};
    if (v->is_one_source) {
        text_add(out, "An amalgamation cannot be joined with another; give each a prefix of its own.");
        return;
    }
    each_isa(&kernels, v, compile_line);
    text_addf(out,
              "A second folder with the same prefix, written by the same version for other GPUs, can go into "
              "the same library. There\n"
              "compile the kernels alone, by the line that its README has here; this folder's line, where it "
              "is the second:\n\n"
              "    %.*s\n\nThen in this folder, where it is the first, with the other one's path:\n\n    "
              "OTHER=path/of/the/other; %s%s -O3",
              (int)kernels.len - 4, kernels.data ? kernels.data : "    ", kernels.data ? kernels.data : "",
              t->compiler);
    hole_c_flags(out, v);
    text_add(out, " -DHT_JOIN=\"\\\"$OTHER/dispatch.c\\\"\" -c *.c && ");
    archive_line(out, v); /* the runtime's objects end otherwise */
    text_addf(out, " \"$OTHER\"/*_%s*.o\n\n`%sgpus` lists all sets of a library.", t->c_target ? "gfx" : "sm",
              v->rename.prefix);
    out->failed = out->failed || kernels.failed;
    text_free(&kernels);
}

static void cmake_set(struct text *out, const struct vendor *v, const struct isa *isa) {
    char extension[16];
    snprintf(extension, sizeof extension, ".%s", extension_of(v, isa));
    text_addf(out, "set(kernels_%s", isa->suffix);
    if (v->is_one_source)
        text_addf(out, " %s%s", v->rename.stem, extension);
    else
        add_sources(out, v, isa, "\n    ", extension);
    text_addf(out,
              ")\nset_source_files_properties(${kernels_%s} PROPERTIES LANGUAGE %s\n    COMPILE_OPTIONS \"",
              isa->suffix, v->toolchain->language);
    for (const char *c = flags_of(v, isa); *c; c++)
        text_addf(out, "%c", *c == ' ' ? ';' : *c);
    text_addf(out, "\")\ntarget_sources(%s PRIVATE ${kernels_%s})\n", v->rename.stem, isa->suffix);
}

/* The runtime's sources but the device layer, under their new names, each with another ending. */
static void add_runtime_names(struct text *out, const struct vendor *v, const char *ending) {
    for (int i = 0; i < RUNTIME_FILES; i++) {
        const char *dot = strchr(runtime_files[i], '.');
        if (!is_source(runtime_files[i]))
            continue;
        rename_text(out, &v->rename, runtime_files[i], (size_t)(dot - runtime_files[i]), RENAME_ALL, NULL);
        text_add(out, ending);
    }
}

static void hole_cmake(struct text *out, const struct vendor *v) {
    each_isa(out, v, cmake_set);
    if (v->is_one_source)
        return;
    text_addf(out, "target_sources(%s PRIVATE ", v->rename.stem);
    add_runtime_names(out, v, ".c ");
    text_addf(out, "dispatch.c %s)\n", v->toolchain->device_layer);
}

static void make_rule(struct text *out, const struct vendor *v, const struct isa *isa) {
    const char *up = v->rename.upper, *pattern = v->is_one_source ? v->rename.stem : "%_";
    const char *suffix = v->is_one_source ? "" : isa->suffix;
    text_addf(out, "$(%sOUT)/%s%s.o: $(%sDIR)/%s%s.%s\n\t$(%sCC) $(%sFLAGS) ", up, pattern, suffix, up,
              pattern, suffix, extension_of(v, isa), up, up);
    text_addf(out, "'");
    for (const char *c = flags_of(v, isa); *c; c++)
        text_addf(out, *c == ' ' ? "' '" : "%c", *c);
    text_addf(out, "' -c $< -o $@\n");
}

static void make_objects(struct text *out, const struct vendor *v, const struct isa *isa) {
    if (v->is_one_source)
        text_addf(out, "%s.o", v->rename.stem);
    else
        add_sources(out, v, isa, " \\\n    ", ".o");
}

static void hole_objects(struct text *out, const struct vendor *v) {
    const char *dot = strchr(v->toolchain->device_layer, '.');
    if (!v->is_one_source) {
        add_runtime_names(out, v, ".o ");
        text_addf(out, "dispatch.o %.*s.o", (int)(dot - v->toolchain->device_layer),
                  v->toolchain->device_layer);
    }
    each_isa(out, v, make_objects);
}

static void hole_rules(struct text *out, const struct vendor *v) {
    each_isa(out, v, make_rule);
}

static void hole_gpus(struct text *out, const struct vendor *v) {
    for (int i = 0; i < v->library->sets; i++)
        text_addf(out, "%s%s (%s)", i > 0 ? ", " : "", v->library->set[i].gpu.title,
                  v->library->set[i].context.isa->name);
}

static void hole_schemes(struct text *out, const struct vendor *v) {
    const struct plan_set *plans = &v->library->set[0].plans;
    for (int i = 0; i < plans->count; i++) {
        if (i == 0 || plans->plan[i - 1].on.s != plans->plan[i].on.s)
            text_addf(out, "%s`%s`", i > 0 ? ", " : "", plans->plan[i].on.s->name);
    }
}

static void hole_recreate(struct text *out, const struct vendor *v) {
    text_addf(out, "out/bin/halftone-gen %s", v->library->recreate);
}

static void hole_exports(struct text *out, const struct vendor *v) {
    if (v->is_one_source || v->request->prefix)
        text_addf(out, "`%s`", v->rename.prefix);
    else
        text_add(out, "`halftone_` (the functions of the header) or `ht_` (kernels and internals)");
}

static const struct hole {
    const char *name;
    void (*write)(struct text *out, const struct vendor *v);
} holes[] = {{"COMPILE", hole_compile}, {"CMAKE", hole_cmake},       {"OBJECTS", hole_objects},
             {"RULES", hole_rules},     {"GPUS", hole_gpus},         {"SCHEMES", hole_schemes},
             {"EXPORTS", hole_exports}, {"RECREATE", hole_recreate}, {"C_FLAGS", hole_c_flags},
             {"JOIN", hole_join}};

/* Length of "NAME@" at the text; 0: something else. */
static size_t hole_length(const char *text, const char *name) {
    const size_t len = strlen(name);
    return strncmp(text, name, len) == 0 && text[len] == '@' ? len + 1 : 0;
}

/* Fills the hole that begins behind an '@', and returns its length; 0: it was make's own, as in $@. */
static size_t fill_hole(struct text *out, const struct vendor *v, const char *at) {
    const struct toolchain *t = v->toolchain;
    const char *const words[][2] = {{"STEM", v->rename.stem},   {"PREFIX", v->rename.prefix},
                                    {"UPPER", v->rename.upper}, {"COMPILER", t->compiler},
                                    {"LANGUAGE", t->language},  {"PACKAGE", t->package},
                                    {"LINK", t->link},          {"VERSION", HT_GENERATOR_VERSION}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (hole_length(at, words[i][0]) > 0) {
            text_add(out, words[i][1]);
            return hole_length(at, words[i][0]);
        }
    }
    for (size_t i = 0; i < sizeof holes / sizeof *holes; i++) {
        if (hole_length(at, holes[i].name) > 0) {
            holes[i].write(out, v);
            return hole_length(at, holes[i].name);
        }
    }
    text_add(out, "@");
    return 0;
}

/* templates/vendor/NAME with its @HOLES@ filled. */
static void fill(struct vendor *v, const char *name, const char *as) {
    struct text raw = {0};
    struct text *out = add_file(v, as);
    const bool ok = read_source(&raw, v, "templates/vendor", name);
    for (const char *at = raw.data; ok && *at;) {
        const size_t len = strcspn(at, "@");
        text_add_bytes(out, at, len);
        at += len;
        if (*at)
            at += 1 + fill_hole(out, v, at + 1);
    }
    text_free(&raw);
}

/* Budgets that were given by path travel with the folder, so that it can be recreated. */
static void add_budgets(struct vendor *v) {
    char path[PATH_BYTES];
    for (const char *at = v->request->gpu; text_entry(&at, path, sizeof path);) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        if (!slash && !strchr(path, '.'))
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
    text_addf(&out, "# " HT_RECREATE "%s\n# Licence: MIT-0\n", v->library->recreate);
    for (int i = 0; i < v->files->count; i++) {
        const struct text *t = &v->files->text[i];
        text_addf(&out, "# checksum %016" PRIx64 " %s\n", text_checksum(TEXT_CHECKSUM_SEED, t->data, t->len),
                  v->files->name[i]);
    }
    rename_text(&out, &v->rename, table.data, table.len, RENAME_TABLE, NULL);
    *files_add(v->files, "manifest") = out;
    text_free(&table);
}

bool vendor_files(struct files *f, const struct library *l, const struct options *r) {
    struct vendor v = {.files = f, .library = l, .request = r, .toolchain = toolchain_of(l, r->simulator),
                       .is_one_source = r->amalgamation || r->simulator};
    struct text shared = {0};
    if (r->prefix && !vendor_prefix_ok(r->prefix))
        return false;
    if (emit_read_abi(&v.abi, l->set[0].context.root) && read_source(&shared, &v, "runtime", "ht_abi.h") &&
        read_source(&shared, &v, "runtime", "ht_cost.h") &&
        read_source(&shared, &v, "runtime", "ht_bound.h")) {
        rename_init(&v.rename, r->prefix, v.abi.data);
        v.abi_sum = (unsigned)text_checksum(TEXT_CHECKSUM_SEED, shared.data, shared.len);
        if (v.is_one_source)
            add_amalgamation(&v);
        else
            add_folder(&v);
        fill(&v, r->simulator ? "sim_README.md" : "README.md", "README.md");
        fill(&v, "CMakeLists.txt", "CMakeLists.txt");
        fill(&v, "rules.mk", "halftone.mk");
        read_source(add_file(&v, "LICENSE"), &v, ".", "LICENSE");
        add_budgets(&v);
        add_manifest(&v);
    }
    text_free(&shared);
    text_free(&v.abi);
    return err_count() == 0;
}
