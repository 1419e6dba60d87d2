/* profile_run: the device's results of a unit's tiles, through ht_dev.h and profile_launch. */
#ifndef BENCH_PROFILE_RUN_H
#define BENCH_PROFILE_RUN_H

#include "profile/profile_cases.h"

int profile_run(struct profile_tiles *t, struct cli_error *f); /* fills t->d */

#endif
