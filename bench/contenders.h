/* contenders: what report and bench compare: --schemes, --accuracy, or all schemes of the library. */
#ifndef BENCH_CONTENDERS_H
#define BENCH_CONTENDERS_H

#include <stdbool.h>

#include "args.h"
#include "engine.h"

enum { CONTENDERS_MOST = 48, CONTENDER_NAME_BYTES = 64 };

struct contenders {
    const char *name[CONTENDERS_MOST]; /* for engine_select */
    int count;
    struct name_list schemes;
    char accuracy[CONTENDERS_MOST][CONTENDER_NAME_BYTES];
};

/* The texts of the two options, NULL where one is missing; both missing: all schemes, with also_auto `auto` before
 * them if the library has it. */
int contenders_choose(struct contenders *c, const struct engine *e, bool also_auto,
                      const char *schemes, const char *accuracies, struct fault *f);
void contenders_free(struct contenders *c);

#endif
