/* methods: what report and bench compare: --schemes, --accuracy, or all schemes of the library. */
#ifndef BENCH_METHODS_H
#define BENCH_METHODS_H

#include <stdbool.h>

#include "io/args.h"
#include "measure/session.h"

enum { METHODS_MOST = 48, METHOD_NAME_BYTES = 64 };

struct methods {
    const char *name[METHODS_MOST]; /* for session_select */
    int count;
    struct name_list schemes;
    char accuracy[METHODS_MOST][METHOD_NAME_BYTES];
};

/* For products of one type. The texts of the two options, NULL where one is missing; both missing: all schemes, with also_auto FP32's `auto`
 * before them if the library has it. */
int methods_choose(struct methods *c, struct session *e, int type, bool also_auto, const char *schemes, const char *accuracies,
                   struct cli_error *f);
/* Whether the names are FP64's (or `asked`, by an option); names of both kinds together are an error, and unknown ones are left for the choice. */
int methods_type(struct session *e, int asked, const char *schemes, const char *accuracies, int *is_fp64, struct cli_error *f);
void methods_free(struct methods *c);

#endif
