/* cmd_breakdown: `halftone breakdown`: what packing and product of a scheme, and the certificate of `auto`, cost, each alone, together and within
 * calls. Calls the set's launchers as the library does, leaving parts out; results are not looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/ht_abi.h"
#include "../../../runtime/ht_cost.h"
#include "../../../runtime/ht_pick.h"
#include "io/args.h"
#include "cmd/cmd.h"
#include "measure/session.h"
#include "measure/device_info.h"
#include "accuracy/families.h"
#include "measure/timing.h"

enum { ROUNDS = 5, BLOCKS_MOST = 24, SIZES_MOST = 16 };
enum { PACKS = 1, SUMS = 2, MULTIPLIES = 4, TESTS = 8, FALLS_BACK = 16, BLOCKS = 32, COPIES = 64 };
enum { APART = 128, WITHIN = 256, AS_WELL = 512 }; /* in turns; the first half of such calls; the second, which comes with the row before */
enum { CHECK = SUMS | TESTS | FALLS_BACK | BLOCKS };
enum { APART_CALLS = 32 }; /* of packing, then as many of the product */

static const struct {
    const char *name;
    int parts;
} rows[] = {
    {"packing", PACKS},
    {"packing that adds up", PACKS | SUMS},
    {"product", MULTIPLIES},
    {"product that tests", MULTIPLIES | TESTS},
    {"product that tests, fallback", MULTIPLIES | TESTS | FALLS_BACK},
    {"product that tests, blocks with many, fallback", MULTIPLIES | TESTS | BLOCKS | FALLS_BACK},
    {"packing, product", PACKS | MULTIPLIES},
    {"packing, product: 32 and 32", PACKS | MULTIPLIES | APART},
    {"packing within such calls", PACKS | WITHIN},
    {"product within such calls", MULTIPLIES | AS_WELL},
    {"copy of A and B, product", COPIES | MULTIPLIES}, /* the driver's, what packing at least moves */
    {"copy within such calls", COPIES | WITHIN},
    {"product within such calls, with a copy", COPIES | MULTIPLIES | AS_WELL},
    {"packing that adds up, product", PACKS | SUMS | MULTIPLIES},
    {"packing that adds up, product that tests", PACKS | SUMS | MULTIPLIES | TESTS},
    {"packing that adds up, product that tests, fallback", PACKS | SUMS | MULTIPLIES | TESTS | FALLS_BACK},
    {"packing that adds up, product that tests, blocks with many, fallback", PACKS | SUMS | MULTIPLIES | TESTS | BLOCKS | FALLS_BACK},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

struct job {
    const struct ht_set_desc *set;
    const struct ht_scheme_desc *scheme;
    struct ht_choice choice;
    int fallback, parts;
    int is_inside, blocks_first; /* as auto has it at this size: the product falls back itself; the kernel of blocks with many, -1: none */
    int checks; /* rows with the certificate, auto's of this scheme */
    const struct family *family;
    struct device_info *facts; /* NULL: no driver that copies */
    void *copy;                 /* of A and B */
    struct ht_pack_args pack[2];
    struct ht_gemm_args gemm;
    void *block[BLOCKS_MOST];
    int blocks;
};

static void *room(struct job *j, int64_t bytes, struct cli_error *f) {
    void *memory = NULL;
    if (session_device_check(ht_dev_alloc(&memory, (size_t)bytes), "device memory", f) == 0)
        j->block[j->blocks++] = memory;
    return memory;
}

static float *matrix(struct job *j, char which, int64_t n, struct cli_error *f) {
    float *host = malloc((size_t)(n * n) * sizeof *host), *memory = room(j, n * n * 4, f);
    int status = host == NULL ? cli_error_memory(f, (double)(n * n) * 4, "a matrix") : memory == NULL ? -1 : 0;
    if (status == 0) {
        family_fill(j->family, 1, which, n, n, n, host, n);
        status = session_device_check(ht_dev_upload(memory, host, (size_t)(n * n) * 4), "copy to the device", f);
    }
    free(host);
    return status == 0 ? memory : NULL;
}

/* An operand's arguments; its meeting place is clean, as the handle's own is after the first call. */
static int open_operand(struct job *j, int is_a, int64_t n, struct cli_error *f) {
    const struct ht_scheme_desc *s = j->scheme;
    const int64_t row_blocks = ht_ceil_div(n, HT_ATOM_ROWS), exchange = ht_exchange_ints(s, n, n) + ht_sum_ints(n);
    struct ht_pack_args *p = &j->pack[!is_a];
    p->src = matrix(j, is_a ? 'A' : 'B', n, f);
    p->to.panels = room(j, row_blocks * ht_k_blocks(s, n) * HT_ATOM_BYTES, f);
    p->to.row_absmax = room(j, row_blocks * HT_ATOM_ROWS * 4, f);
    p->absmax_exchange = room(j, (exchange + 1) * 4, f);
    p->to.row_sums = room(j, ht_row_sums_ints(n) * 4, f);
    p->to.any_flag = room(j, 8, f);
    p->epoch = 1;
    if (p->src == NULL || p->to.panels == NULL || p->to.row_absmax == NULL || p->absmax_exchange == NULL ||
        p->to.row_sums == NULL || p->to.any_flag == NULL)
        return -1;
    p->ld = n;
    p->rows = p->k = (int)n;
    p->k_contiguous = !is_a;
    p->k_blocks = (int)ht_k_blocks(s, n);
    p->batch = p->exchange_is_reset = 1;
    if (session_device_check(ht_dev_memset_async(p->to.any_flag, 0, 8, NULL), "flag", f) != 0)
        return -1;
    return session_device_check(ht_dev_memset_async(p->absmax_exchange, 0xff, (size_t)(exchange + 1) * 4, NULL), "absmax exchange", f);
}

static int open_product(struct job *j, int64_t n, struct cli_error *f) {
    struct ht_gemm_args *g = &j->gemm;
    g->to.c = room(j, n * n * 4, f);
    const int64_t partial = ht_partial_bytes(n, n, 1, j->choice.splits, ht_partial_size(j->scheme->exact_k));
    g->partial = partial > 0 ? room(j, partial, f) : NULL;
    if (g->to.c == NULL || (partial > 0 && g->partial == NULL))
        return -1;
    g->a_packed = j->pack[0].to;
    g->b_packed = j->pack[1].to;
    g->a = (struct ht_view){.src = j->pack[0].src, .ld = n, .rows = (int)n, .k = (int)n};
    g->b = (struct ht_view){.src = j->pack[1].src, .ld = n, .rows = (int)n, .k = (int)n, .k_contiguous = 1};
    g->to.ldc = g->m = g->n = (int)n;
    g->k_blocks = j->pack[0].k_blocks;
    g->splits = j->choice.splits;
    g->batch = 1;
    g->to.alpha.f32 = 1;
    const int64_t blocks = ht_ceil_div(n, HT_ATOM_ROWS) * ht_ceil_div(n, HT_ATOM_ROWS), words = blocks * (HT_FAILED_BYTES / 4);
    g->failed_capacity = (int)ht_failed_capacity(blocks);
    g->failed = room(j, (words + g->failed_capacity + 1) * 4, f);
    if (g->failed == NULL)
        return -1;
    g->failed_list = g->failed + words;
    g->failed_count = j->pack[0].failed_count = (int *)(void *)(g->failed_list + g->failed_capacity);
    return session_device_check(ht_dev_memset_async(g->failed_count, 0, sizeof(int), NULL), "count", f);
}

/* The scheme of that name among those that pack. */
static int open_scheme(struct job *j, const char *scheme, int plain, struct cli_error *f) {
    char list[400] = "";
    for (int i = 0; i < j->set->schemes; i++) {
        const struct ht_scheme_desc *const s = &j->set->scheme[i];
        if (s->pack == NULL)
            continue;
        session_add_name(list, sizeof list, s->name, list[0] != '\0' ? ", " : "");
        j->scheme = strcmp(s->name, scheme) == 0 ? s : j->scheme;
    }
    if (j->scheme == NULL)
        return cli_error_usage(f, "this set has no scheme '%s' that packs; it has %s", scheme, list[0] != '\0' ? list : "none");
    j->fallback = ht_pick_fallback(j->set, j->set->role[HT_ROLE_FALLBACK]);
    j->checks = !plain && j->scheme->pack_tiles > 0 && j->fallback >= 0;
    return 0;
}

static int open_job(struct job *j, int64_t n, struct cli_error *f) {
    const struct ht_shape x = {n, n, n, 1, 1};
    j->choice = ht_pick(j->set, j->scheme->name, x, HT_PARTIAL_LIMIT_BYTES);
    j->is_inside = ht_fallback_in_kernel(j->set, &j->choice, x);
    j->blocks_first = j->checks && !j->is_inside ? ht_pick_blocks(j->set, j->set->role[HT_ROLE_FALLBACK], &j->choice, x,
                                                                  ht_asks_sample(j->set, j->scheme, &j->choice, x))
                                                 : -1;
    j->copy = j->facts != NULL ? room(j, 8 * n * n, f) : NULL;
    if ((j->facts != NULL && j->copy == NULL) || open_operand(j, 1, n, f) != 0 || open_operand(j, 0, n, f) != 0 || open_product(j, n, f) != 0)
        return -1;
    const struct ht_kernel_desc *kernel = j->set->kernel;
    int (*const init[])(void) = {j->scheme->pack_init, kernel[j->choice.kernel].init, j->checks ? kernel[j->fallback].init : NULL,
                                 j->blocks_first >= 0 ? kernel[j->blocks_first].init : NULL};
    for (int i = 0; i < 4 && init[i] != NULL; i++)
        if (session_device_check(ht_dev_check(init[i]()), "kernel", f) != 0)
            return -1;
    return 0;
}

static void close_job(struct job *j) {
    (void)ht_dev_stream_sync(NULL);
    for (int i = 0; i < j->blocks; i++)
        (void)ht_dev_free(j->block[i]);
}

static int copy(const struct job *j) {
    const size_t bytes = (size_t)j->gemm.m * (size_t)j->gemm.a.k * sizeof(float);
    const int code = device_info_copy(j->facts, j->copy, j->pack[0].src, bytes);
    return code == 0 ? device_info_copy(j->facts, (char *)j->copy + bytes, j->pack[1].src, bytes) : code;
}

/* The parts that `parts` names. */
static int launch(const struct job *j, int parts, struct cli_error *f) {
    struct ht_pack_args pack[2] = {j->pack[0], j->pack[1]};
    struct ht_gemm_args gemm = j->gemm;
    int code = 0;
    for (int i = 0; i < 2 && !(parts & SUMS); i++)
        pack[i].to.row_sums = NULL;
    if (!(parts & TESTS))
        gemm.failed = NULL;
    gemm.fallback_in_kernel = parts & FALLS_BACK && j->is_inside;
    if (gemm.fallback_in_kernel)
        gemm.failed_count = pack[0].failed_count = NULL; /* nobody reads the list */
    struct ht_gemm_args fallback = gemm;
    fallback.splits = 1;
    if (parts & COPIES && copy(j) != 0)
        return cli_error_set(f, "device copy failed");
    if (parts & PACKS)
        code = j->scheme->pack(pack, 2, NULL);
    if (code == 0 && parts & MULTIPLIES)
        code = ht_launch_gemm(&j->set->kernel[j->choice.kernel], &gemm, NULL);
    if (code == 0 && parts & MULTIPLIES && gemm.splits > 1)
        code = (j->scheme->reduce != NULL ? j->scheme->reduce : j->set->reduce)(&gemm, NULL);
    if (code == 0 && parts & BLOCKS)
        code = ht_launch_gemm(&j->set->kernel[j->blocks_first], &fallback, NULL);
    if (code == 0 && parts & FALLS_BACK && !j->is_inside)
        code = ht_launch_gemm(&j->set->kernel[j->fallback], &fallback, NULL);
    return session_device_check(ht_dev_check(code), "launch", f);
}

static int call(void *context, struct cli_error *f) {
    const struct job *j = context;
    int status = 0;
    if (!(j->parts & APART))
        return launch(j, j->parts, f);
    for (int i = 0; i < 2 * APART_CALLS && status == 0; i++)
        status = launch(j, i < APART_CALLS ? PACKS : MULTIPLIES, f);
    return status;
}

static int call_half(void *context, int half, struct cli_error *f) {
    const struct job *j = context;
    return launch(j, half ? MULTIPLIES : j->parts & COPIES ? COPIES : PACKS, f);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A set's kernels need not be able to do all of it. */
static int is_possible(const struct job *j, int parts) {
    return (!(parts & COPIES) || j->facts != NULL) && (!(parts & CHECK) || j->checks) && (!(parts & BLOCKS) || j->blocks_first >= 0);
}

/* Who falls back, and which row is all that auto does at this size. */
static const char *title(const struct job *j, int parts) {
    const int whole = PACKS | SUMS | MULTIPLIES | TESTS | FALLS_BACK | (j->blocks_first >= 0 ? BLOCKS : 0);
    if (parts & FALLS_BACK && j->is_inside)
        return parts == whole ? " inside: auto" : " inside";
    return parts == whole ? ": auto" : "";
}

/* A row in every round, microseconds a call; of whole calls also the clock and the power that were read last. */
struct measured {
    double us[ROUNDS];
    struct timing last;
};

static int measure_row(struct job *j, const struct timing_plan *plan, int round, struct measured *row, struct cli_error *f) {
    if (timing_measure(plan, call, j, &row->last, f) != 0)
        return -1;
    row->us[round] = row->last.median_s * 1e6 / (j->parts & APART ? APART_CALLS : 1);
    return 0;
}

/* Two rows: the halves of one loop of calls. */
static int measure_halves(struct job *j, const struct timing_plan *plan, int round, struct measured *row, struct cli_error *f) {
    double seconds[2];
    if (in_loop_measure(call_half, j, plan->seconds, plan->simulated, seconds, f) != 0)
        return -1;
    for (int half = 0; half < 2; half++) {
        row[half].us[round] = seconds[half] * 1e6;
        row[half].last = timing_none;
    }
    return 0;
}

/* Rounds over all rows, so that a drifting clock meets all of them. */
static int measure(struct job *j, const struct timing_plan *plan, int64_t n, struct cli_error *f) {
    struct measured row[ROW_COUNT];
    const int rounds = plan->simulated ? 1 : ROUNDS;
    j->parts = j->checks ? PACKS | SUMS : PACKS; /* what rows that do not pack work on */
    if (call(j, f) != 0)
        return -1;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < ROW_COUNT; i++) {
            j->parts = rows[i].parts;
            if (!is_possible(j, j->parts) || j->parts & AS_WELL)
                continue;
            if ((j->parts & WITHIN ? measure_halves : measure_row)(j, plan, round, &row[i], f) != 0)
                return -1;
        }
    }
    for (int i = 0; i < ROW_COUNT; i++) {
        if (!is_possible(j, rows[i].parts))
            continue;
        double *us = row[i].us;
        qsort(us, (size_t)rounds, sizeof us[0], compare);
        printf("%lld\t%s%s\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\n", (long long)n, rows[i].name, title(j, rows[i].parts), us[rounds / 2], us[0],
               us[rounds - 1], row[i].last.clock_mhz, row[i].last.power_watts);
    }
    fflush(stdout);
    return 0;
}

static int run_sizes(const struct session *e, const struct timing_plan *plan, const struct job *model, const int64_t *sizes, int count,
                     struct cli_error *f) {
    int status = 0;
    printf("# halftone breakdown: %s, set %s, scheme %s; device: %s; family %s\n# median, least and most of %d rounds, us a call, back to back; "
           "clock and power as read in the last round, -1: not read\n",
           halftone_version(), e->set->gpu, model->scheme->name, e->device.name, model->family->name, plan->simulated ? 1 : ROUNDS);
    printf("n\tparts\tmedian_us\tleast_us\tmost_us\tclock_mhz\tpower_watts\n");
    for (int i = 0; i < count && status == 0; i++) {
        struct job j = *model;
        status = open_job(&j, sizes[i], f);
        AND_THEN(status, measure(&j, plan, sizes[i], f));
        close_job(&j);
    }
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct session e;
    struct timing_plan plan = {0};
    const char *sizes = NULL, *seconds = "0.05", *name = "uniform", *scheme = NULL, *none[1];
    int64_t size[SIZES_MOST];
    int count = 0, positional = 0, plain = 0;
    const struct option options[] = {{"--sizes", &sizes, NULL},   {"--seconds", &seconds, NULL}, {"--family", &name, NULL},
                                     {"--scheme", &scheme, NULL}, {"--plain", NULL, &plain},     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &positional, f) != 0 ||
        args_seconds("--seconds", seconds, &plan.seconds, f) != 0)
        return -1;
    const struct family *family = family_find(name);
    if (family == NULL)
        return cli_error_usage(f, "no family '%s'; `halftone report --list` prints them", name);
    int status = session_open(&e, f);
    struct job model = {.set = e.set, .family = family};
    plan.simulated = status == 0 && e.device.simulated;
    AND_THEN(status, open_scheme(&model, scheme != NULL ? scheme : e.set->role[HT_ROLE_AUTO], plain, f));
    if (status == 0 && !plan.simulated)
        plan.facts = model.facts = device_info_open();
    AND_THEN(status, args_numbers("--sizes", sizes != NULL ? sizes : plan.simulated ? "64" : "1024,2048,4096,8192", 1, 65536, size,
                                  SIZES_MOST, &count, f));
    AND_THEN(status, run_sizes(&e, &plan, &model, size, count, f));
    device_info_close(model.facts);
    session_close(&e);
    return status;
}

const struct command cmd_breakdown = {
    "breakdown", "what packing, product and the certificate of auto cost, one by one",
    "Usage: halftone breakdown [--sizes 1024,...] [--scheme N] [--plain] [--family F] [--seconds S]\n\n"
    "Times packing and product of a scheme on square matrices: each alone, together, in turns of 32 and 32, and both within a\n"
    "loop of calls, by events between them; also with the driver's copy of A and B in the place of packing. Of f16x3 the\n"
    "certificate of auto as well: packing adds up what splitting loses of each row, the product tests its results, and those that fail\n"
    "are computed again (fallback): by the product itself (inside), or by a launch behind it, on Hopper, in large products, after\n"
    "one for blocks of C with many of them (blocks with many); the line of all of it says auto. In the simulator times mean\n"
    "nothing.\n\n"
    "  --sizes LIST   default 1024,2048,4096,8192\n"
    "  --scheme N     default f16x3, the one that auto checks\n"
    "  --plain        without the certificate\n"
    "  --family F     of inputs, as halftone report has them (default uniform); dscaled fails the certificate everywhere\n"
    "  --seconds S    per measurement, after a warm-up (default 0.05); up to seventeen measurements of five rounds for each size\n",
    run, 1};
