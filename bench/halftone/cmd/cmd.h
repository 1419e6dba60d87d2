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
    cmd_breakdown, cmd_check, cmd_run, cmd_app, cmd_tune_app, cmd_invariance;

#endif
