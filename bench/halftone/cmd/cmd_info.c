/* cmd_info: `halftone info`: version, device, schemes and kernels of this build; --why: the kernels that the
 * library weighs for a product. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "measure/session.h"
#include "measure/device_info.h"
#include "measure/weigh.h"
#include "io/tsv.h"
#include "measure/baseline_cublas.h"
#include "../../../runtime/ht_bound.h"
#include "../../../runtime/ht_pick.h"

static void print_set(const struct ht_set_desc *set) {
    printf("halftone %s, kernels generated for %s (%s)\n", halftone_version(), set->gpu, set->isa);
    printf("code needs %s %s\n", set->isa, set->arch_exact ? "exactly" : "or later");
}

static void print_device(const struct session *e) {
    const char *why = "";
    printf("backend: %s%s\n", e->device.backend,
           !e->device.simulated                             ? ""
           : strstr(e->device.name, "_assumed") != NULL ? " (CPU; the matrix unit's arithmetic is assumed, not compared with a card)"
                                                        : " (CPU, bit-exact model of the matrix unit)");
    printf("device: %s, %d multiprocessors", e->device.name, e->device.sms);
    if (e->device.memory_bytes > 0)
        printf(", %.1f GiB", (double)e->device.memory_bytes / 1073741824.0);
    putchar('\n');
    if (e->device.simulated) {
        puts("model: HALFTONE_SIM_MODEL in the environment chooses another matrix unit");
        return;
    }
    struct device_info *facts = device_info_open();
    if (facts == NULL) { /* not NVIDIA's */
        puts("driver: unknown");
        return;
    }
    int version = device_info_cuda_version(facts);
    printf("driver: %s (CUDA %d.%d)\n", device_info_driver(facts), version / 1000, version % 1000 / 10);
    device_info_close(facts);
    struct baseline *y = baseline_open(&why);
    if (y != NULL)
        printf("baseline: cuBLAS %d\n", baseline_version(y));
    else
        printf("baseline: none (%s)\n", why);
    baseline_close(y);
}

/* For a terminal, or with every column; then the table is gone. */
static int print_table(struct tsv *t, const char *title, int raw, struct cli_error *f) {
    printf("\n%s%s\n", raw ? "# " : "", title);
    const int status = raw ? tsv_print_raw(t, stdout, NULL, f) : tsv_print(t, stdout, f);
    tsv_free(t);
    return status;
}

static int print_ranges(const struct ht_set_desc *set, const char *title, struct cli_error *f) {
    static const struct tsv_column columns[] = {{"scheme", 1}, {"range", 1}};
    struct tsv t;
    tsv_init(&t, columns, 2);
    for (int i = 0; i < set->schemes; i++) {
        tsv_text(&t, set->scheme[i].name);
        tsv_text(&t, set->scheme[i].range_text);
        tsv_end_row(&t);
    }
    return print_table(&t, title, 0, f);
}

static int print_schemes(const struct ht_set_desc *set, int is_fp64, int raw, struct cli_error *f) {
    static const struct tsv_column columns[] = {{"scheme", 1}, {"slices", 1}, {"products", 1}, {"units at k=1024", 1}, {"bound", 1}, {"range", 0}},
                                   columns64[] = {{"scheme", 1}, {"products", 1}, {"bound", 1}, {"range", 0}};
    struct tsv t;
    tsv_init(&t, is_fp64 ? columns64 : columns, is_fp64 ? 4 : 6);
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *s = &set->scheme[i];
        tsv_text(&t, s->name);
        if (!is_fp64)
            tsv_integer(&t, s->slices);
        tsv_integer(&t, s->products);
        if (!is_fp64)
            tsv_integer(&t, ht_bound_units(s, 1024));
        tsv_text(&t, s->bound_text);
        tsv_text(&t, s->range_text);
        tsv_end_row(&t);
    }
    const int status = print_table(&t, is_fp64 ? "Schemes for FP64 products" : "Schemes (bound: |C - AB| <= units * 2^-24 * |A||B|, componentwise, in range)",
                                   raw, f);
    return status != 0 || raw ? status : print_ranges(set, is_fp64 ? "Ranges of FP64's" : "Ranges (the data for which these bounds hold)", f);
}

static int print_kernels(const struct ht_set_desc *set, int raw, struct cli_error *f) {
    /* what is not shown stands in the name */
    static const struct tsv_column columns[] = {{"kernel", 1}, {"variant", 0},    {"tile", 0},
                                                {"warp", 0},   {"stages", 0},     {"threads", 1},
                                                {"regs", 1},   {"smem bytes", 1}, {"why", 1}};
    struct tsv t;
    char text[64];
    tsv_init(&t, columns, 9);
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *k = &set->kernel[i];
        tsv_text(&t, k->name);
        tsv_text(&t, k->variant[0] ? k->variant : "-");
        snprintf(text, sizeof text, "%dx%dx%d", k->tile.bm, k->tile.bn, k->bk);
        tsv_text(&t, text);
        snprintf(text, sizeof text, "%dx%d", k->wm, k->wn);
        tsv_text(&t, text);
        tsv_integer(&t, k->stages);
        tsv_integer(&t, k->threads);
        tsv_integer(&t, k->regs_planned);
        tsv_integer(&t, k->smem_bytes);
        tsv_text(&t, k->why);
        tsv_end_row(&t);
    }
    return print_table(&t, "Kernels (scheme_family_tile_warp tile_stages; wg: warpgroup; regs: planned; ablations run only by name)", raw, f);
}

static void print_auto(const struct session *e) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (halftone_set_scheme(e->handle, "auto") == HALFTONE_OK &&
        halftone_query(e->handle, 'N', 'N', 4096, 4096, 4096, 1, &plan) == HALFTONE_OK)
        printf("\nDefault scheme: %s\n", plan.why_scheme);
}

static int query(const struct session *e, int type, int64_t m, int64_t n, int64_t k, struct halftone_plan *plan) {
    return (type == HALFTONE_FP64 ? halftone_dquery : halftone_query)(e->handle, 'N', 'N', m, n, k, 1, plan);
}

/* Largest k at which the accuracy that is set can be had, for m = n = 4096; 0: none. */
static int64_t largest_k(const struct session *e, int type) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int64_t k = 0;
    for (int64_t step = INT64_C(1) << 24; step > 0; step /= 2)
        if (k + step <= INT64_C(1) << 24 && query(e, type, 4096, 4096, k + step, &plan) == HALFTONE_OK)
            k += step;
    return k;
}

/* The scheme that an accuracy gives at a few shapes, through the library's own questions. */
static void add_accuracy(struct tsv *t, const struct session *e, int type, const char *text) {
    static const int64_t shapes[][3] = {{512, 512, 512}, {4096, 4096, 4096}, {128, 128, 65536}};
    char method[64];
    snprintf(method, sizeof method, SESSION_ACCURACY "%s", text);
    const int set = session_ask(e, type, method);
    tsv_text(t, text);
    for (int i = 0; i < 3; i++) {
        const int64_t *shape = shapes[i];
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        char cell[96];
        int code = set;
        if (code == HALFTONE_OK)
            code = query(e, type, shape[0], shape[1], shape[2], &plan);
        if (code == HALFTONE_OK)
            snprintf(cell, sizeof cell, "%s (%lld, %.4g us)", plan.scheme, (long long)plan.bound_units,
                     (double)plan.predicted_ns / 1000);
        else
            snprintf(cell, sizeof cell, "%s", code == HALFTONE_ACCURACY ? "none" : halftone_strerror(code));
        tsv_text(t, cell);
    }
    tsv_integer(t, set == HALFTONE_OK ? largest_k(e, type) : 0);
    tsv_end_row(t);
}

/* Those that have names, and examples of those that want a number. */
static int print_accuracies(const struct session *e, int type, int raw, struct cli_error *f) {
    static const struct tsv_column columns[] = {
        {"accuracy", 1}, {"512 x 512 x 512", 1}, {"4096 x 4096 x 4096", 1}, {"128 x 128 x 65536", 1}, {"up to k", 1}};
    static const char *const examples[] = {"bits=6", "bits=9", "bits=12", "bits=14", "bits=15", "bits=16", "bits=17", "bound=1e-4", NULL},
                             *const examples64[] = {"bits=36", "bits=40", "bits=44", NULL};
    const int is_fp64 = type == HALFTONE_FP64;
    const char *name;
    struct tsv t;
    tsv_init(&t, columns, 5);
    for (int i = 0; (name = halftone_accuracies(type, i)) != NULL; i++)
        if (strchr(name, '=') == NULL)
            add_accuracy(&t, e, type, name);
    for (const char *const *example = is_fp64 ? examples64 : examples; *example != NULL; example++)
        add_accuracy(&t, e, type, *example);
    if (!raw && !is_fp64)
        puts("\nAn accuracy is what a result must keep (its name is no scheme's) and gives the cheapest scheme that has it\n"
             "(in brackets: units of its bound, predicted time); none: HALFTONE_ACCURACY; up to k: the largest k at\n"
             "4096 x 4096, of 16777216");
    return print_table(&t, is_fp64 ? "Accuracies of FP64 products (units of 2^-53 of |A||B|, crt and i8x28: of k max|a| max|b|; predicted time)" : "Accuracies",
                       raw, f);
}

static int print_fp64(const struct session *e, const struct ht_set_desc *set, int raw, struct cli_error *f) {
    if (set->fp64 == NULL || set->fp64->schemes == 0)
        return 0;
    const int status = print_schemes(set->fp64, 1, raw, f);
    return status == 0 && e != NULL ? print_accuracies(e, HALFTONE_FP64, raw, f) : status;
}

static double percent_behind(const struct halftone_plan *p, const struct halftone_plan *pick) {
    return 100 * ((double)p->predicted_ns / (double)pick->predicted_ns - 1);
}

static void add_candidate(struct tsv *t, const struct halftone_plan *p, const struct halftone_plan *pick) {
    tsv_text(t, p->kernel);
    tsv_text(t, p->scheme);
    tsv_integer(t, p->splits);
    tsv_real(t, (double)p->pack_ns / 1000, 5);
    tsv_real(t, (double)p->kernel_ns / 1000, 5);
    tsv_real(t, (double)p->predicted_ns / 1000, 5);
    tsv_real(t, percent_behind(p, pick), 4);
    tsv_end_row(t);
}

/* plan[0]: the pick; the others by time. */
static int print_weighed(const char *product, const struct halftone_plan *plan, int plans, int raw,
                         struct cli_error *f) {
    static const struct tsv_column columns[] = {{"kernel", 1},     {"scheme", 1},     {"splits", 1},
                                                {"packing us", 1}, {"product us", 1}, {"whole us", 1},
                                                {"behind %", 1}};
    const char *const mark = raw ? "# " : "";
    struct tsv t;
    tsv_init(&t, columns, 7);
    for (int i = 0; i < plans; i++)
        add_candidate(&t, &plan[i], plan);
    printf("%sproduct: %s\n%sscheme: %s (%s)\n%spick: %s, %.5g us (its tile: %s)\n", mark, product, mark,
           plan->scheme, plan->why_scheme, mark, plan->kernel, (double)plan->predicted_ns / 1000, plan->why);
    if (plans > 1) {
        const double late = (double)(plan[1].predicted_ns - plan->predicted_ns) / 1000,
                     percent = percent_behind(&plan[1], plan);
        printf("%srunner-up: %s, %.4g us (%.4g %%) %s\n", mark, plan[1].kernel, late < 0 ? -late : late,
               late < 0 ? -percent : percent, late < 0 ? "ahead, but it may compute twice" : "behind");
    }
    printf("%sworkspace: %zu bytes\n", mark, plan->workspace_bytes);
    return print_table(&t, "Candidates, each in its best number of splits of k", raw, f);
}

/* What the library weighs for a product. */
static int weigh(const struct session *e, int type, const int64_t size[3], int raw, struct cli_error *f) {
    const int is_fp64 = type == HALFTONE_FP64;
    char product[80];
    struct halftone_plan pick = HALFTONE_PLAN_INIT;
    if (session_check(e, query(e, type, size[0], size[1], size[2], &pick), "this product", f) != 0)
        return -1;
    const int kernels = (is_fp64 ? e->set->fp64 : e->set)->kernels;
    struct halftone_plan *const plan = malloc(((size_t)kernels + 1) * sizeof *plan);
    if (plan == NULL)
        return cli_error_memory(f, kernels * (double)sizeof *plan, "the candidates");
    plan[0] = pick;
    int plans = 1;
    for (int i = 0; i < kernels; i++) {
        struct halftone_plan one;
        int at = plans;
        if (!weigh_kernel(e->handle, is_fp64, size[0], size[1], size[2], i, &one) ||
            strcmp(one.kernel, pick.kernel) == 0)
            continue;
        for (; at > 1 && one.predicted_ns < plan[at - 1].predicted_ns; at--)
            plan[at] = plan[at - 1];
        plan[at] = one;
        plans++;
    }
    snprintf(product, sizeof product, "FP%d, %lld x %lld, k = %lld", is_fp64 ? 64 : 32, (long long)size[0],
             (long long)size[1], (long long)size[2]);
    const int status = print_weighed(product, plan, plans, raw, f);
    free(plan);
    return status;
}

/* `accuracy` NULL: the library's default. */
static int explain(const char *const text[3], int type, const char *accuracy, int raw, struct cli_error *f) {
    static const char *const names[] = {"M", "N", "K"};
    int64_t size[3];
    char method[128];
    struct session e;
    for (int i = 0; i < 3; i++)
        if (args_number(names[i], text[i], 1, INT32_MAX, &size[i], f) != 0)
            return -1;
    if (session_open(&e, f) != 0)
        return -1;
    snprintf(method, sizeof method, SESSION_ACCURACY "%.100s", accuracy != NULL ? accuracy : "");
    int status = accuracy != NULL ? session_ask_or_say(&e, type, method, f) : 0;
    AND_THEN(status, weigh(&e, type, size, raw, f));
    session_close(&e);
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    int raw = 0, why = 0, is_fp64 = 0, count = 0;
    const char *accuracy = NULL, *sizes[3];
    const struct option options[] = {{"--tsv", NULL, &raw},
                                     {"--why", NULL, &why},
                                     {"--fp64", NULL, &is_fp64},
                                     {"--accuracy", &accuracy, NULL},
                                     {NULL, NULL, NULL}};
    struct session e;
    if (args_parse(argc, argv, options, sizes, 3, &count, f) != 0)
        return -1;
    if (count != (why ? 3 : 0))
        return cli_error_usage(f, "a product is asked about by three sizes: halftone info --why M N K");
    if (why)
        return explain(sizes, is_fp64 ? HALFTONE_FP64 : HALFTONE_FP32, accuracy, raw, f);
    if (args_refuse(options, "--fp64 --accuracy", "without --why nothing is asked about a product", f) != 0)
        return -1;
    for (int i = 0; ht_sets[i] != NULL; i++)
        print_set(ht_sets[i]);
    int has_device = session_open(&e, f) == 0; /* without one the rest is still worth reading */
    if (has_device)
        print_device(&e);
    const struct ht_set_desc *set = has_device ? e.set : ht_sets[0];
    struct cli_error table_fault;
    int status = print_schemes(set, 0, raw, &table_fault);
    if (status == 0 && has_device && !raw)
        print_auto(&e);
    if (status == 0 && has_device)
        status = print_accuracies(&e, HALFTONE_FP32, raw, &table_fault);
    AND_THEN(status, print_fp64(has_device ? &e : NULL, set, raw, &table_fault));
    AND_THEN(status, print_kernels(set, raw, &table_fault));
    if (status == 0 && set->fp64 != NULL && set->fp64->kernels > 0)
        status = print_kernels(set->fp64, raw, &table_fault);
    if (has_device)
        session_close(&e);
    if (status != 0)
        *f = table_fault;
    return has_device ? status : -1;
}

const struct command cmd_info = {"info", "version, device, schemes and kernels of this build",
                                 "Usage: halftone info [--tsv]\n"
                                 "       halftone info --why M N K [--fp64] [--accuracy A] [--tsv]\n\n"
                                 "Prints version, backend, device, schemes with their bounds and ranges, "
                                 "accuracies with the scheme that each "
                                 "gives\nat three shapes and up to which k it can be had, and kernels; then the same of FP64 products.\n"
                                 "--why: how a product of M x N results would run: its scheme and why, its kernel, the "
                                 "others that are\nweighed, predicted times. Transposes change none of it. "
                                 "--accuracy: as in `halftone mm`.\n"
                                 "--tsv: tables with every column, tab-separated, one line a row.\n"
                                 "Exit code 3 when there is no usable GPU.\n",
                                 run, 0};
