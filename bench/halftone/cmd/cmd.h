/* cmd: what main.c knows of a subcommand. */
#ifndef BENCH_CMD_H
#define BENCH_CMD_H

#include <stdint.h>

#include "io/cli_error.h"

struct command {
    const char *name, *summary, *help;
    /* argv after the subcommand's name; 0, or -1 with the fault filled. */
    int (*run)(int argc, char **argv, struct cli_error *f);
    int takes_families; /* --help ends with their list */
};

extern const struct command cmd_mm, cmd_report, cmd_bench, cmd_info, cmd_demo, cmd_probe, cmd_profile, cmd_tune, cmd_contract,
    cmd_breakdown, cmd_check, cmd_run, cmd_app, cmd_tune_app;

/* What `halftone mm` takes of `halftone check`: how many elements of C the plan of a call left to native64; `units` of 2^-53 |A||B|
 * are what the accuracy allows residues. */
struct pair;
struct halftone_plan;
int check_left(const struct pair *p, const struct halftone_plan *plan, double units, int64_t *left, struct cli_error *f);

#endif
