/* threads: work on a range of items by several threads. See threads.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/threads.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

enum { THREADS_MOST = 64, COST_LEAST = 100000 };

struct part {
    int (*work)(void *context, int64_t first, int64_t last);
    void *context;
    int64_t first, last;
};

int threads_count(int wanted, int64_t items, int64_t cost) {
    long count = wanted > 0 ? wanted : sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1 || cost < COST_LEAST)
        count = 1;
    if (count > THREADS_MOST)
        count = THREADS_MOST;
    if (count > items)
        count = items > 0 ? (long)items : 1;
    return (int)count;
}

static void *run_part(void *argument) {
    const struct part *p = argument;
    return p->work(p->context, p->first, p->last) == 0 ? NULL : argument; /* not NULL: failed */
}

int threads_run(int threads, int64_t items, int (*work)(void *context, int64_t first, int64_t last),
                void *context) {
    struct part part[THREADS_MOST];
    pthread_t thread[THREADS_MOST];
    int started[THREADS_MOST] = {0}, failed = 0;
    for (int i = 0; i < threads; i++) {
        part[i] = (struct part){work, context, items * i / threads, items * (i + 1) / threads};
        started[i] = i > 0 && pthread_create(&thread[i], NULL, run_part, &part[i]) == 0;
        if (i > 0 && !started[i] && run_part(&part[i]) != NULL)
            failed = 1;
    }
    if (run_part(&part[0]) != NULL)
        failed = 1;
    for (int i = 1; i < threads; i++) {
        void *result = NULL;
        if (started[i] && (pthread_join(thread[i], &result) != 0 || result != NULL))
            failed = 1;
    }
    return failed ? -1 : 0;
}
