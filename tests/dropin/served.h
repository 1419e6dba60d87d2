/* served.h: how many calls the drop-in that is loaded has served; 0: there is none. */
#ifndef TESTS_DROPIN_SERVED_H
#define TESTS_DROPIN_SERVED_H
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t served_so_far(void) {
    int (*counters)(uint64_t *served, uint64_t *original);
    void *const at = dlsym(RTLD_DEFAULT, "halftone_dropin_counters");
    uint64_t served = 0;
    memcpy(&counters, &at, sizeof counters);
    if (counters != NULL)
        counters(&served, NULL);
    return served;
}
#endif
