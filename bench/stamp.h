/* stamp: the lines at the head of every table: which program on which device made it. */
#ifndef BENCH_STAMP_H
#define BENCH_STAMP_H

#include <stddef.h>

#include "engine.h"
#include "facts.h"
#include "yardstick.h"

enum { STAMP_BYTES = 1024 };

struct stamp {
    const char *commit, *toolkit;
};

struct stamp stamp_built(void); /* what the build knew */
/* Comment lines "# key: value"; yardstick and facts may be NULL. */
void stamp_write(char out[STAMP_BYTES], const struct stamp *s, const struct engine *e,
                 const struct yardstick *y, const struct device_facts *facts);

#endif
