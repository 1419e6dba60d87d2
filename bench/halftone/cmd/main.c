/* main: the command `halftone`: its table of subcommands, help and exit codes. Only this file prints errors.
 */
#include <stdio.h>
#include <string.h>

#include "../../../runtime/halftone.h"
#include "cmd/cmd.h"
#include "accuracy/families.h"
#include "io/cli_error.h"

static const struct command *const commands[] = {&cmd_mm, &cmd_run, &cmd_check, &cmd_report, &cmd_info, &cmd_bench, &cmd_invariance, &cmd_app, &cmd_tune_app, &cmd_demo,
                                                &cmd_probe, &cmd_profile, &cmd_tune, &cmd_contract, &cmd_breakdown};
enum { COMMANDS = sizeof commands / sizeof commands[0], FOR_USERS = 10 }; /* the others are for authors of budgets and kernels */

static void print_summaries(FILE *out, int from, int to) {
    for (int i = from; i < to; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

static void print_help(FILE *out) {
    fputs("halftone: FP32 and FP64 matrix products on tensor cores, and what they are worth\n\n"
          "Usage: halftone COMMAND [options]; `halftone COMMAND --help` tells more.\n\n",
          out);
    print_summaries(out, 0, FOR_USERS);
    fputs("\nFirst: `halftone mm A.npy B.npy -o C.npy`, `halftone report --sizes 64`, `halftone info`.\n\n"
          "For authors of kernels and of budget files (descriptions of GPUs):\n\n",
          out);
    print_summaries(out, FOR_USERS, COMMANDS);
    fputs("\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 no usable GPU.\n", out);
}

static int is_help(const char *argument) {
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int wants_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i]))
            return 1;
    return 0;
}

/* What was printed must have got to where it goes. */
static int end_output(const char *name) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_OK;
    fprintf(stderr, "halftone %s: writing to standard output failed; check where it goes\n", name);
    return EXIT_FAULT;
}

static int print_help_of(const struct command *command) {
    fputs(command->help, stdout);
    if (command->takes_families) {
        fputs("\nInput families:\n\n", stdout);
        family_list(stdout);
    }
    return end_output(command->name);
}

static int run(const struct command *command, int argc, char **argv) {
    struct cli_error f = {EXIT_OK, ""};
    if (wants_help(argc, argv))
        return print_help_of(command);
    if (command->run(argc, argv, &f) == 0)
        return end_output(command->name);
    fprintf(stderr, "halftone %s: %s\n", command->name, f.text);
    return f.code != EXIT_OK ? (int)f.code : EXIT_FAULT;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const int asks_help = is_help(argv[1]) || strcmp(argv[1], "help") == 0;
    if (asks_help && argc == 2) {
        print_help(stdout);
        return end_output(argv[1]);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("halftone %s\n", halftone_version());
        return end_output(argv[1]);
    }
    const char *const name = argv[asks_help ? 2 : 1]; /* `help mm` is `mm --help` */
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return asks_help ? print_help_of(commands[i]) : run(commands[i], argc - 2, argv + 2);
    fprintf(stderr, "halftone: unknown command '%s'; `halftone --help` lists them\n", name);
    return EXIT_USAGE;
}
