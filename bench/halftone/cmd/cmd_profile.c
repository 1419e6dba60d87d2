/* cmd_profile: `halftone profile`: names the arithmetic of this machine's matrix unit and holds the simulator's table against
 * it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/halftone.h"
#include "io/args.h"
#include "cmd/cmd.h"
#include "measure/session.h"
#include "io/outfile.h"
#include "profile/profile_cases.h"
#include "profile/profile_search.h"
#include "io/progress.h"
#include "io/tsv.h"

enum { RANDOM_TILES = 10000, TEXT = 512, NEAREST = 3 };

struct report {
    struct session session;
    const struct sim_mma_model *simulator; /* NULL: its table has no such architecture */
    char simulator_name[32];
    int64_t random, seed;
    const char *only; /* part of the names of the units asked for */
    struct tsv table;
    char wrong[TEXT]; /* the first unit that no model matches, or that the simulator computes otherwise */
};

static const struct tsv_column columns[] = {
    {"unit", 1}, {"model", 1},  {"verdict", 1},   {"failed", 1},     {"tiles", 1}, {"case", 1},
    {"row", 1},  {"column", 1}, {"unit_bits", 1}, {"model_bits", 1}, {"inputs", 1}};

static void add_row(struct report *r, const struct profile_tiles *t, const char *model,
                    const struct profile_verdict *v) {
    char text[TEXT];
    tsv_text(&r->table, t->unit->name);
    tsv_text(&r->table, model);
    tsv_text(&r->table, v->failed == 0 ? "matches" : "fails");
    tsv_integer(&r->table, v->failed);
    tsv_integer(&r->table, t->count);
    if (v->failed == 0) {
        for (int i = 0; i < 6; i++)
            tsv_text(&r->table, "-");
    } else {
        profile_tile_name(t, v->tile, text, sizeof text);
        tsv_text(&r->table, text);
        tsv_integer(&r->table, v->row);
        tsv_integer(&r->table, v->column);
        snprintf(text, sizeof text, "%08x", v->unit);
        tsv_text(&r->table, text);
        snprintf(text, sizeof text, "%08x", v->model);
        tsv_text(&r->table, text);
        profile_tile_dot(t, v->tile, v->row, v->column, text, sizeof text);
        tsv_text(&r->table, text);
    }
    tsv_end_row(&r->table);
}

/* "17 tiles, first 'case' at row 0, column 3: unit 3f800001, model 3f800000" */
static void describe(const struct profile_tiles *t, const struct profile_verdict *v, char *text,
                     size_t size) {
    char name[64];
    profile_tile_name(t, v->tile, name, sizeof name);
    snprintf(text, size, "%d of %d tiles, first '%s' at row %d, column %d: unit %08x, model %08x", v->failed,
             t->count, name, v->row, v->column, v->unit, v->model);
}

static int compare(const void *a, const void *b) {
    const struct profile_candidate *const *x = a, *const *y = b;
    const int difference = (*x)->verdict.failed - (*y)->verdict.failed;
    return difference != 0 ? difference : (*x < *y ? -1 : 1);
}

/* The failed candidates, nearest first. */
static void print_failed(const struct profile_search *s, const struct profile_tiles *t) {
    static const struct profile_candidate *order[PROFILE_CANDIDATES_MOST];
    char name[TEXT], first[TEXT];
    int failed = 0;
    for (int i = 0; i < s->count; i++)
        if (s->candidate[i].verdict.failed > 0)
            order[failed++] = &s->candidate[i];
    qsort(order, (size_t)failed, sizeof *order, compare);
    printf("  %d candidate%s fail%s%s\n", failed, failed == 1 ? "" : "s", failed == 1 ? "s" : "",
           failed > 0 ? "; the nearest:" : "");
    for (int i = 0; i < failed && i < NEAREST; i++) {
        profile_model_name(t->unit, &order[i]->model, name, sizeof name);
        describe(t, &order[i]->verdict, first, sizeof first);
        printf("    %s: %s\n", name, first);
    }
}

static void print_twins(const struct profile_search *s) {
    const char *gap = "  no input told it from: ";
    char change[TEXT];
    for (int i = 0; i < s->count; i++) {
        if (i == s->best || s->candidate[i].verdict.failed > 0)
            continue;
        profile_model_change(&s->candidate[s->best].model, &s->candidate[i].model, change, sizeof change);
        printf("%s%s", gap, change);
        gap = "; ";
    }
    if (gap[0] == ';')
        putchar('\n');
}

static void print_simulator(struct report *r, const struct profile_tiles *t) {
    struct profile_verdict v;
    char text[TEXT];
    if (r->simulator == NULL) {
        printf("  the simulator has no model of %s\n", r->simulator_name);
        return;
    }
    profile_simulator(&v, t, r->simulator);
    snprintf(text, sizeof text, "simulator %s", r->simulator_name);
    add_row(r, t, text, &v);
    if (v.failed == 0) {
        printf("  the simulator's %s: the same on all tiles\n", r->simulator_name);
        return;
    }
    describe(t, &v, text, sizeof text);
    printf("  THE SIMULATOR'S %s DIFFERS: %s\n", r->simulator_name, text);
    if (r->wrong[0] == '\0')
        snprintf(
            r->wrong, sizeof r->wrong,
            "%s: the simulator's %s computes otherwise (%.300s); correct its row in runtime/sim/sim_mma.c",
            t->unit->name, r->simulator_name, text);
}

static void print_unit(struct report *r, const struct profile_search *s, const struct profile_tiles *t) {
    const struct profile_candidate *best = &s->candidate[s->best];
    char name[TEXT];
    profile_model_name(t->unit, &best->model, name, sizeof name);
    if (best->verdict.failed == 0) {
        printf("%s: %s\n  the same bits on all of %d tiles, %d directed, %d random\n", t->unit->name, name,
               t->count, t->directed, t->random);
    } else {
        printf("%s: NO MODEL MATCHES\n", t->unit->name);
        snprintf(r->wrong, sizeof r->wrong,
                 "%s: none of %d models matches; nearest, on %d of %d tiles wrong: %.300s", t->unit->name,
                 s->count, best->verdict.failed, t->count, name);
    }
    print_twins(s);
    print_failed(s, t);
    print_simulator(r, t);
    for (int i = 0; i < s->count; i++) {
        profile_model_name(t->unit, &s->candidate[i].model, name, sizeof name);
        add_row(r, t, name, &s->candidate[i].verdict);
    }
}

static int profile_one(struct report *r, const struct profile_unit *unit, struct cli_error *f) {
    static struct profile_search search;
    struct profile_tiles tiles;
    if (profile_tiles_make(&tiles, unit, (int)r->random, (uint64_t)r->seed, !r->session.device.simulated, f) !=
        0)
        return -1;
    int status = profile_run(&tiles, f);
    AND_THEN(status, profile_search(&search, &tiles, f));
    if (status == 0)
        print_unit(r, &search, &tiles);
    profile_tiles_free(&tiles);
    return status;
}

static int is_asked(const struct report *r, const struct profile_unit *unit) {
    return profile_unit_runs(unit, r->session.device.capability) && strstr(unit->name, r->only) != NULL;
}

static int profile_all(struct report *r, struct cli_error *f) {
    struct progress progress;
    int status = 0, runs = 0;
    for (int i = 0; i < PROFILE_UNITS; i++)
        runs += is_asked(r, &profile_units[i]);
    if (runs == 0)
        return cli_error_usage(f, "--only %s: no instruction of %s has that in its name", r->only,
                           r->session.device.name);
    progress_start(&progress, runs);
    for (int i = 0; i < PROFILE_UNITS && status == 0; i++) {
        if (!is_asked(r, &profile_units[i]))
            continue;
        progress_step(&progress, profile_units[i].name);
        status = profile_one(r, &profile_units[i], f);
    }
    progress_end(&progress);
    return status;
}

static int write_table(const struct report *r, const char *path, struct cli_error *f) {
    char comments[TEXT];
    snprintf(comments, sizeof comments,
             "# halftone profile %s\n# device: %s\n# simulator: %s\n# random tiles of each unit: %" PRId64
             ", seed %" PRId64 "\n",
             halftone_version(), r->session.device.name, r->simulator_name, r->random, r->seed);
    return tsv_write(&r->table, path, comments, f);
}

static int open_device(struct report *r, struct cli_error *f) {
    if (session_open(&r->session, f) != 0)
        return -1;
    if (profile_launch == NULL || strncmp(r->session.set->isa, "gfx", 3) == 0) {
        cli_error_set(f, "knows the matrix units of NVIDIA only; %s has %s's", r->session.device.name,
                  r->session.set->isa);
        session_close(&r->session);
        return -1;
    }
    const int capability = r->session.device.capability / 10;
    snprintf(r->simulator_name, sizeof r->simulator_name, "sm%d", capability);
    r->simulator = sim_mma_find(r->simulator_name);
    if (r->simulator == NULL && capability >= 100) { /* one row for 10.x and one for 12.x, not yet compared with a card */
        snprintf(r->simulator_name, sizeof r->simulator_name, "sm%d_assumed", capability / 10 * 10);
        r->simulator = sim_mma_find(r->simulator_name);
    }
    return 0;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct report r = {.random = RANDOM_TILES, .seed = 1, .only = ""};
    const char *out = NULL, *tiles = NULL, *seed = NULL, *none[1];
    int count = 0;
    const struct option options[] = {{"--out", &out, NULL},
                                     {"--tiles", &tiles, NULL},
                                     {"--seed", &seed, NULL},
                                     {"--only", &r.only, NULL},
                                     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 ||
        (tiles != NULL && args_number("--tiles", tiles, 1, 1000000, &r.random, f) != 0) ||
        (seed != NULL && args_number("--seed", seed, 0, INT32_MAX, &r.seed, f) != 0) ||
        outfile_check(out, f) != 0 || open_device(&r, f) != 0)
        return -1;
    tsv_init(&r.table, columns, (int)(sizeof columns / sizeof *columns));
    printf("device: %s\n", r.session.device.name);
    int status = profile_all(&r, f);
    if (status == 0 && out != NULL)
        status = write_table(&r, out, f);
    if (status == 0 && r.wrong[0] != '\0')
        status = cli_error_set(f, "%s", r.wrong);
    tsv_free(&r.table);
    session_close(&r.session);
    return status;
}

const struct command cmd_profile = {
    "profile", "names the arithmetic of this GPU's matrix unit, bit by bit",
    "Usage: halftone profile [--out FILE.tsv] [--tiles 10000] [--seed 1] [--only TEXT]\n\n"
    "Runs every matrix instruction that the kernels use (mma.sync; on compute capability 9.0 also wgmma) on "
    "directed and\n"
    "random tiles, and compares each result, bit by bit, with candidate models on the CPU: alignment width, "
    "cut or\n"
    "rounded, how many products are added at once and in which order, subnormal numbers, NaN, overflow, "
    "TF32's low bits,\n"
    "and ordinary FP32 or FP16 arithmetic. Names the model that matches, what no input told from it, and on "
    "which input\n"
    "the others fail; --out writes all of them as a table. --tiles: random ones; --only: instructions with "
    "this in their name. Then holds the simulator's arithmetic of this "
    "architecture\n"
    "against the same tiles. In the simulator's build it profiles the simulated unit.\n"
    "Exit code 1 when no model matches a unit or the simulator differs from it.\n",
    run, 0};
