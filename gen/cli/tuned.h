/* tuned: reads a table of `halftone tune` into kernels by shape, for `emit --tuned`. Decides nothing itself:
 * for each shape and scheme the fastest measured kernel that is dispatchable. */
#ifndef HT_TUNED_H
#define HT_TUNED_H

#include "plan/plan.h"
#include "base/text.h"

struct tuned_entry {
    struct shape shape;
    int plan, splits;         /* index into the plan set, and the split-K it was measured with */
    int64_t best_ns, pick_ns; /* pick_ns: of the analytic choice; 0: not in the table */
};

struct tuned {
    const char *file; /* without folders */
    uint64_t checksum;
    int count, capacity;
    struct tuned_entry *entry; /* by shape, then plan's scheme, in the order of the table */
};

/* Whether the table names the set of this GPU; false also where it cannot be read. */
bool tuned_is_of(const char *path, const char *gpu);

/* False after err_user: the table is of another set, or names a kernel that the set has not. */
bool tuned_read(struct tuned *t, const char *path, const struct plan_set *set, const char *gpu);
void tuned_free(struct tuned *t);

/* The entries of plans from `first` to before `end`, counted from there, as C for dispatch.c, the array's
 * name ending in mark and GPU; how many. What the analytic pick loses, as a sentence. */
int tuned_dispatch(struct text *out, const struct tuned *t, const char *mark, const char *gpu, int first,
                   int end);
void tuned_print_loss(const struct tuned *t);
#endif
