/* threads: work on a range of items by several threads. Knows nothing of what the items are. */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <stdint.h>

/* One per processor, or `wanted` if that is not 0, but no more than there are items, and one where `cost` (of all items
 * together, in FMAs or the like) is so small that starting threads takes longer. */
int threads_count(int wanted, int64_t items, int64_t cost);

/* Calls work(context, first, last) on even parts of [0, items), each on a thread of its own. 0, or -1 if one of them did
 * not return 0. */
int threads_run(int threads, int64_t items, int (*work)(void *context, int64_t first, int64_t last),
                void *context);

#endif
