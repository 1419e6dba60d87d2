/* stamp: the lines at the head of every table: which program on which device made it. */
#ifndef BENCH_STAMP_H
#define BENCH_STAMP_H

#include <stddef.h>

#include "measure/session.h"
#include "measure/device_info.h"
#include "measure/baseline_cublas.h"

enum { STAMP_BYTES = 1024 };

struct stamp {
    const char *commit, *toolkit;
};

struct stamp stamp_built(void); /* what the build knew */
/* Comment lines "# key: value"; baseline and facts may be NULL. */
void stamp_write(char out[STAMP_BYTES], const struct stamp *s, const struct session *e,
                 const struct baseline *y, const struct device_info *facts);

#endif
