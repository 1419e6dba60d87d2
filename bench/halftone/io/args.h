/* args: command-line options and lists. Knows nothing of what they mean. */
#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

#include <stdint.h>

#include "io/cli_error.h"

struct option {
    const char *name;   /* "--sizes" or "-o" */
    const char **value; /* gets the next argument (or what follows '='); NULL for a flag */
    int *flag;          /* set to 1 */
};

/* Options in any order; everything else is positional. `--` ends the options. The table ends with a NULL
 * name. */
int args_parse(int argc, char **argv, const struct option *options, const char **positional,
               int positional_most, int *positional_count, struct cli_error *f);

/* A fault where one of `names`, separated by blanks, was given: its value is not NULL, or its flag is set. `why`: what rules it out. */
int args_refuse(const struct option *options, const char *names, const char *why, struct cli_error *f);

/* "64,256,1024" as numbers in [least, most]. */
int args_numbers(const char *option, const char *text, int64_t least, int64_t most, int64_t *out,
                 int out_most, int *count, struct cli_error *f);
int args_number(const char *option, const char *text, int64_t least, int64_t most, int64_t *out,
                struct cli_error *f);
/* A number as 12, .5 or 1e-5 and nothing else; -1: the text is none. */
int args_real(const char *text, double *out);
int args_seconds(const char *option, const char *text, double *out, struct cli_error *f);

/* Splits "a,b,c"; the names are malloc'ed as one block that args_names_free releases. */
struct name_list {
    char *storage;
    const char **name;
    int count;
};
int args_names(const char *option, const char *text, struct name_list *out, struct cli_error *f);
void args_names_free(struct name_list *list);

#endif
