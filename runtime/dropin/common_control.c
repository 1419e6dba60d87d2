/* common_control.c: five functions for the program that runs under a face, in any language that can call C; prototypes: README.md. */
#include <string.h>

#include "common_state.h"

DROPIN_EXPORT const char *halftone_dropin_version(void) {
    return HALFTONE_VERSION_TEXT;
}

/* Of the calling thread, from its next product on; NULL or "": the settings' again. 0, or -1: no accuracy is called that. */
DROPIN_EXPORT int halftone_dropin_accuracy(const char *text) {
    char *const to = halftone_dropin_thread.accuracy;
    if (text == NULL || text[0] == '\0') {
        to[0] = '\0';
        return 0;
    }
    if (!ht_site_is_accuracy(text))
        return -1;
    strcpy(to, text);
    return 0;
}

/* A new step begins: ordinals of the site table count from 1 again. */
DROPIN_EXPORT void halftone_dropin_step(void) {
    __atomic_fetch_add(&halftone_dropin_state.step, 1, __ATOMIC_RELAXED);
}

/* Calls of this process since its start or the last reset. Either may be NULL. 1 if the faces are on, else 0. */
DROPIN_EXPORT int halftone_dropin_counters(uint64_t *served, uint64_t *original) {
    uint64_t sums[2] = {0, 0};
    for (int api = 0; api < DROPIN_API_COUNT; api++)
        for (int why = 0; why < DROPIN_REASON_COUNT; why++)
            if (why != DROPIN_NESTED)
                sums[why != DROPIN_SERVED] +=
                    __atomic_load_n(&halftone_dropin_state.counts.calls[api][why], __ATOMIC_RELAXED);
    if (served != NULL)
        *served = sums[0];
    if (original != NULL)
        *original = sums[1];
    return dropin_settings()->mode != DROPIN_MODE_OFF;
}

DROPIN_EXPORT void halftone_dropin_reset(void) {
    struct dropin_counts *const c = &halftone_dropin_state.counts;
    for (int api = 0; api < DROPIN_API_COUNT; api++)
        for (int why = 0; why < DROPIN_REASON_COUNT; why++)
            __atomic_store_n(&c->calls[api][why], 0, __ATOMIC_RELAXED);
}
