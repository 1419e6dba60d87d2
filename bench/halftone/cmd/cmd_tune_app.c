/* cmd_tune_app: `halftone tune-app`: which of a program's product sites may have which level of precision. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/child.h"
#include "apps/journal.h"
#include "apps/site_table.h"
#include "cmd/app_args.h"
#include "cmd/cmd.h"
#include "io/args.h"
#include "io/outfile.h"
#include "io/tsv.h"

enum { EXHAUSTIVE_MOST = 65536, TAUS_MOST = 16, LEVELS_TEXT = LOWERING_LEVELS * LEVEL_BYTES, HEAD_BYTES = 4096 };

struct tuning {
    struct app_session session; /* app NULL: the child */
    struct child child;
    struct level_list levels;
    struct journal journal;
    const char *site[LOWERING_SITES];
    int sites, repeats, new_runs;
    int64_t runs_left; /* of --runs */
    int is_stopped;    /* by it */
    struct name_list taus; /* as they were given */
    int missed;            /* of them */
    double tau;            /* the one of this search, whose table is `out` */
    char *out;
    char *journal_path;
    char what[HEAD_BYTES / 2]; /* the program and its data, one line */
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number) {
    (void)number;
    is_interrupted = 1;
}

/* ---- one run ---- */

static void name_levels(const struct tuning *t, const int *level, const char *name[LOWERING_SITES]) {
    for (int i = 0; i < t->sites; i++)
        name[i] = t->levels.name[level[i]];
}

static int run_app(struct tuning *t, const char *const *name, struct lowering_run *out, struct cli_error *f) {
    struct app_run run;
    if (app_execute(t->session.app, t->session.state, &t->session.products, name, t->repeats, 0, &run, f) != 0)
        return -1;
    out->error = run.error;
    memcpy(out->seconds, run.seconds, (size_t)t->sites * sizeof run.seconds[0]);
    return 0;
}

static int run_child(struct tuning *t, const char *const *name, struct lowering_run *out, struct cli_error *f) {
    static const char comments[] = "# of one run of halftone tune-app\n";
    const int status = site_table_write(t->child.table_path, comments, t->site, t->sites, name, f);
    return status == 0 ? child_run(&t->child, 1, out, f) : -1;
}

static int run_levels(void *context, const int *level, struct lowering_run *out, struct cli_error *f) {
    struct tuning *const t = context;
    const char *name[LOWERING_SITES];
    if (journal_find(&t->journal, level, out))
        return 0;
    if (is_interrupted)
        return cli_error_set(f, "interrupted; %s has the runs so far, no table was changed%s, the same command goes on", t->journal_path,
                             t->taus.count > 1 ? " but those of thresholds already said" : "");
    t->is_stopped = t->runs_left == 0;
    if (t->is_stopped)
        return cli_error_set(f, "stopped by --runs");
    t->runs_left -= t->runs_left > 0;
    t->new_runs++;
    name_levels(t, level, name);
    if ((t->session.app != NULL ? run_app(t, name, out, f) : run_child(t, name, out, f)) != 0)
        return -1;
    return journal_append(&t->journal, level, out, f);
}

/* ---- what it says ---- */

static void print_step(void *context, const struct lowering_step *step) {
    const struct tuning *const t = context;
    static const char *const words[] = {"start", "kept", "kept", "undone", "frozen"};
    const char *const site = step->site >= 0 ? t->site[step->site] : "all", *const level = t->levels.name[step->level[step->site >= 0 ? step->site : 0]];
    const double gained = step->seconds_before - step->seconds;
    char share[RATIO_BYTES];
    printf("%-7s %s %s", words[step->outcome], site, level);
    if (step->raised >= 0)
        printf(", %s raised to %s", t->site[step->raised], t->levels.name[step->level[step->raised]]);
    if (step->outcome == LOWERING_START)
        printf(": error %.3g, %.4g ms\n", step->error, 1e3 * step->seconds);
    else if (step->outcome == LOWERING_FROZEN)
        printf("\n");
    else
        printf(": error %.3g, was %.3g; %.4g ms, %s %s\n", step->error, step->error_before, 1e3 * step->seconds,
               ratio_text(share, "%.1f %%", 100 * fabs(gained), step->seconds_before), gained < 0 ? "more" : "less");
    fflush(stdout);
}

static void print_levels(const struct tuning *t, const int *level, FILE *out) {
    for (int i = 0; i < t->sites; i++)
        fprintf(out, "%s%s %s", i > 0 ? ", " : "", t->site[i], t->levels.name[level[i]]);
}

/* One of several thresholds: said, and the others are searched for. */
static int misses_tau(struct tuning *t, double error, struct cli_error *f) {
    if (t->taus.count > 1) {
        printf("missed: even with %s everywhere the error is %.3g, above %.3g\n", t->levels.name[0], error, t->tau);
        t->missed++;
        return 0;
    }
    return cli_error_set(f, "even with %s everywhere the error is %.3g, above --tau %.3g; give a larger --tau, or --levels that begin with a "
                            "higher one (fp32 is the highest); no table was written",
                         t->levels.name[0], error, t->tau);
}

static int write_table(const struct tuning *t, const int *level, double error, double seconds, double before, int runs, struct cli_error *f) {
    char comments[HEAD_BYTES], list[LEVELS_TEXT], share[RATIO_BYTES];
    const char *name[LOWERING_SITES];
    level_list_print(&t->levels, " ", list, sizeof list);
    name_levels(t, level, name);
    snprintf(comments, sizeof comments,
             "# halftone tune-app: %s\n# tau %.3g, error %.9g; products %.4g ms, %.4g ms with %s everywhere; %d runs; levels %.900s\n"
             "# halftone app --sites THIS, or HALFTONE_SITES=THIS, runs it with these\n",
             t->what, t->tau, error, 1e3 * seconds, 1e3 * before, t->levels.name[0], runs, list);
    if (site_table_write(t->out, comments, t->site, t->sites, name, f) != 0)
        return -1;
    printf("%s: ", t->out);
    print_levels(t, level, stdout);
    printf("\nerror %.3g of %.3g allowed; products %.4g ms, %s less than with %s everywhere; %d runs, %d of them now\n", error, t->tau,
           1e3 * seconds, ratio_text(share, "%.1f %%", 100 * (before - seconds), before), t->levels.name[0], runs, t->new_runs);
    return 0;
}

/* ---- searches ---- */

static int search_greedily(struct tuning *t, struct cli_error *f) {
    struct lowering_program p = {.sites = t->sites, .levels = t->levels.count, .tau = t->tau, .run = run_levels, .tell = print_step, .context = t};
    struct lowering_result r;
    for (int i = 0; i < t->sites; i++)
        p.before[i] = i - 1;
    if (lowering_search(&p, &r, f) != 0)
        return -1;
    if (!r.meets_tau)
        return misses_tau(t, r.start.error, f);
    return write_table(t, r.level, r.last.error, lowering_seconds(&r.last, t->sites), lowering_seconds(&r.start, t->sites), r.runs, f);
}

static int search_all(struct tuning *t, struct cli_error *f) {
    int level[LOWERING_SITES] = {0}, best[LOWERING_SITES] = {0}, runs = 0, found = 0;
    struct lowering_run first, run, least = {0};
    double all = 1;
    for (int i = 0; i < t->sites; i++)
        all *= t->levels.count;
    if (all > (double)EXHAUSTIVE_MOST)
        return cli_error_usage(f, "--exhaustive would be %.0f runs; name fewer --levels (at most %d runs)", all, EXHAUSTIVE_MOST);
    for (; runs < (int)all; runs++) {
        for (int i = 0, rest = runs; i < t->sites; i++, rest /= t->levels.count)
            level[i] = rest % t->levels.count;
        if (run_levels(t, level, &run, f) != 0)
            return -1;
        first = runs == 0 ? run : first;
        if (run.error <= t->tau && (!found || lowering_seconds(&run, t->sites) < lowering_seconds(&least, t->sites))) {
            least = run;
            memcpy(best, level, sizeof best);
            found = 1;
        }
    }
    if (!found)
        return misses_tau(t, first.error, f);
    return write_table(t, best, least.error, lowering_seconds(&least, t->sites), lowering_seconds(&first, t->sites), runs, f);
}

/* ---- command line ---- */

struct texts {
    struct app_texts app;
    const char *tau, *out, *levels, *journal, *runs;
    int exhaustive;
};

static char *joined(const char *text, const char *end) {
    char *const whole = malloc(strlen(text) + strlen(end) + 1);
    if (whole != NULL)
        strcat(strcpy(whole, text), end);
    return whole;
}

/* Tau number `i`, and its table: FILE of --out, or where there are several FILE-TAU. */
static int take_tau(struct tuning *t, int i, const char *out, struct cli_error *f) {
    const char *const text = t->taus.name[i];
    char *const start = joined(out, t->taus.count > 1 ? "-" : "");
    const int is_number = args_real(text, &t->tau) == 0;
    free(t->out);
    t->out = start != NULL ? joined(start, t->taus.count > 1 ? text : "") : NULL;
    free(start);
    if (t->out == NULL)
        return cli_error_memory(f, 4096, "a path");
    if (!is_number || !(t->tau > 0))
        return cli_error_usage(f, "--tau takes positive numbers, not '%s'", text);
    if (outfile_check(t->out, f) != 0 || outfile_apart("--journal", t->journal_path, "--out", t->out, f) != 0)
        return -1;
    return outfile_is_stream(t->out) ? cli_error_usage(f, "--out %s: is no ordinary file; a table is written whole, so name one", t->out) : 0;
}

static int take_numbers(struct tuning *t, const struct texts *x, struct cli_error *f) {
    t->runs_left = -1;
    if (x->tau == NULL || x->out == NULL)
        return cli_error_usage(f, "needs --tau T, the largest error, and --out FILE for the table");
    if (args_names("--tau", x->tau, &t->taus, f) != 0)
        return -1;
    if (t->taus.count > TAUS_MOST)
        return cli_error_usage(f, "--tau takes at most %d numbers, not %d", TAUS_MOST, t->taus.count);
    if (x->runs != NULL && args_number("--runs", x->runs, 0, 1000000, &t->runs_left, f) != 0)
        return -1;
    t->journal_path = x->journal != NULL ? joined(x->journal, "") : joined(x->out, ".runs");
    if (t->journal_path == NULL)
        return cli_error_memory(f, 4096, "a path");
    for (int i = t->taus.count; i > 0; i--) /* all before any search; the first is left to begin with */
        if (take_tau(t, i - 1, x->out, f) != 0)
            return -1;
    return 0;
}

static int open_app(struct tuning *t, const char *name, const struct texts *x, struct cli_error *f) {
    struct app_options options;
    const struct app *const app = app_named(name, f);
    if (app == NULL || app_options_take(&x->app, &options, &t->repeats, f) != 0 || app_session_open(&t->session, app, f) != 0 ||
        level_list_read(&t->levels, x->levels, &t->session.products, f) != 0 || app_session_load(&t->session, &options, f) != 0)
        return -1;
    t->sites = app->sites;
    for (int i = 0; i < app->sites; i++)
        t->site[i] = app->site[i];
    snprintf(t->what, sizeof t->what, "%s, %s; set %s, %s%s", app->name, t->session.text, t->session.products.session.set->gpu,
             t->session.products.session.device.name, t->session.products.simulated ? "; times are the model's" : "");
    return 0;
}

static int open_child(struct tuning *t, char **command, const struct texts *x, struct cli_error *f) {
    struct lowering_run first;
    const struct app_texts *const a = &x->app;
    if (a->n != NULL || a->block != NULL || a->data != NULL || a->diagonal != NULL || a->repeats != NULL)
        return cli_error_usage(f, "--n, --block, --data, --diagonal and --repeats are for the programs cholesky and mlp; give a command its own");
    if (command[0] == NULL)
        return cli_error_usage(f, "no command behind --");
    if (level_list_read(&t->levels, x->levels, NULL, f) != 0 || child_open(&t->child, command, t->out, f) != 0 ||
        child_run(&t->child, 0, &first, f) != 0)
        return -1;
    t->sites = t->child.sites;
    for (int i = 0; i < t->sites; i++)
        t->site[i] = t->child.site[i];
    size_t used = (size_t)snprintf(t->what, sizeof t->what, "command");
    for (char **word = command; *word != NULL && used < sizeof t->what; word++)
        used += (size_t)snprintf(t->what + used, sizeof t->what - used, " %s", *word);
    for (char *c = t->what; *c != '\0'; c++)
        *c = *c == '\n' ? ' ' : *c;
    return 0;
}

static int search_each_tau(struct tuning *t, const struct texts *x, struct cli_error *f) {
    for (int i = 0; i < t->taus.count; i++) {
        if (take_tau(t, i, x->out, f) != 0)
            return -1;
        if (t->taus.count > 1)
            printf("# tau %s\n", t->taus.name[i]);
        t->new_runs = 0;
        journal_restart(&t->journal);
        if ((x->exhaustive ? search_all(t, f) : search_greedily(t, f)) != 0)
            return -1;
    }
    return 0;
}

static int search(struct tuning *t, const struct texts *x, struct cli_error *f) {
    char head[HEAD_BYTES], list[LEVELS_TEXT];
    level_list_print(&t->levels, " ", list, sizeof list);
    snprintf(head, sizeof head, "# halftone tune-app %s: %s\n# fastest of %d; levels %.1000s\n# levels of sites, error, seconds of sites\n",
             halftone_version(), t->what, t->repeats, list);
    printf("# %s\n# levels %s\n", t->what, list);
    if (journal_open(&t->journal, t->journal_path, head, t->sites, f) != 0)
        return -1;
    if (t->journal.known > 0)
        printf("# goes on: %s has %d runs\n", t->journal_path, t->journal.known);
    fflush(stdout);
    const int status = search_each_tau(t, x, f);
    journal_close(&t->journal);
    if (status != 0 && t->is_stopped) {
        printf("stopped by --runs after %d runs; %s has them, no table was changed, the same command goes on\n", t->new_runs, t->journal_path);
        return 0;
    }
    if (status == 0 && t->missed > 0)
        return cli_error_set(f, "%d of %d thresholds were missed even with %s everywhere; the others' tables are written: %s-TAU; "
                                "give larger ones, or --levels that begin with a higher one (fp32 is the highest)",
                             t->missed, t->taus.count, t->levels.name[0], x->out);
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct texts x = {.levels = "mixpert"};
    struct tuning t = {.repeats = 1};
    const char *name[1];
    char **command = NULL;
    int count = 0, own = 0;
    const struct option table[] = {APP_OPTIONS(x.app),
                                   {"--tau", &x.tau, NULL},
                                   {"--out", &x.out, NULL},
                                   {"--levels", &x.levels, NULL},
                                   {"--journal", &x.journal, NULL},
                                   {"--runs", &x.runs, NULL},
                                   {"--exhaustive", NULL, &x.exhaustive},
                                   {NULL, NULL, NULL}};
    for (; own < argc && command == NULL; own++)
        if (strcmp(argv[own], "--") == 0)
            command = argv + own + 1;
    if (args_parse(command != NULL ? own - 1 : argc, argv, table, name, 1, &count, f) != 0)
        return -1;
    if (count != (command == NULL))
        return cli_error_usage(f, "which program? halftone tune-app cholesky|mlp ..., or halftone tune-app ... -- COMMAND, not both");
    struct sigaction catch = {.sa_handler = interrupt, .sa_flags = SA_RESTART}; /* a command is read to its end */
    is_interrupted = 0;
    (void)sigaction(SIGINT, &catch, NULL);
    (void)sigaction(SIGTERM, &catch, NULL);
    int status = take_numbers(&t, &x, f);
    AND_THEN(status, command == NULL ? open_app(&t, name[0], &x, f) : open_child(&t, command, &x, f));
    AND_THEN(status, search(&t, &x, f));
    app_session_close(&t.session);
    child_close(&t.child);
    args_names_free(&t.taus);
    free(t.out);
    free(t.journal_path);
    return status;
}

const struct command cmd_tune_app = {
    "tune-app", "lowers the precision of a program's products, site by site, under a largest error",
    "Usage: halftone tune-app cholesky|mlp [--n N] [--data DIR] --tau T[,T...] --out FILE [--levels L]\n"
    "       halftone tune-app --tau T --out FILE [--levels L] -- COMMAND [ARGUMENT...]\n\n"
    "All sites begin with the highest level. The site that takes longest goes one level lower as long as the program's error\n"
    "stays within T; where it does not, the site before it is raised instead, or the site stays (after MixPert, LCTES 2024,\n"
    "section 3.4). At most 2 (levels - 1) runs a site, and two. Prints what each step cost and gained, and writes the table of\n"
    "sites and levels, which `halftone app --sites FILE` or HALFTONE_SITES=FILE runs with, bit for bit.\n\n"
    "A command must print `error NUMBER` on a line of its own. Its sites are the products that a drop-in serves, if it is run as\n"
    "`halftone run -- COMMAND`: calls of one place, function, op and shape are one, with the model's time; or it prints\n"
    "`site NAME SECONDS` for each, and reads the file that HALFTONE_SITES names, as `halftone app` does. One more run finds them.\n\n"
    "  --tau T        the largest error; with several, separated by commas, a search for each, which takes what others ran\n"
    "  --out FILE     the table, written whole at its search's end, or not at all; with several T a table FILE-T for each\n"
    "  --levels L     mixpert (default): mixpert4 to mixpert1; all: fp32, fp32-fast, i8x6, mixpert4, i8x3, mixpert3, mixpert2, tf32,\n"
    "                 half, mixpert1; or accuracies and schemes, the highest first\n"
    "  --exhaustive   every combination instead: levels ^ sites runs\n"
    "  --runs N       stop after N runs; the same command goes on, as after an interruption\n"
    "  --journal FILE where runs are kept as they are made (default: FILE of --out with .runs), a file of its own; searches that\n"
    "                 differ in --tau and --exhaustive alone may share it: none runs what another ran\n"
    "  --n, --block, --diagonal, --data, --repeats: as `halftone app` has them\n\n"
    "In the simulator times are the model's.\n",
    run, 0};
