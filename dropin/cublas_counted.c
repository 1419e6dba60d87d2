/* cublas_counted.c: the functions of cublas_counted.h, made from its table. */
#include "cublas_face.h"

/* What cuBLAS calls within its own calls is not counted apart. */
static void count(const struct cublas_entry *entry, enum dropin_api api, enum dropin_reason why,
                  const int64_t sizes[4]) {
    const struct dropin_policy policy = {0};
    const struct dropin_call call = {.api = api,
                                     .caller = entry->caller,
                                     .op_a = '-',
                                     .op_b = '-',
                                     .m = sizes[0],
                                     .n = sizes[1],
                                     .k = sizes[2],
                                     .batch = sizes[3]};
    if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    dropin_note(&call, &policy, entry->nested ? DROPIN_NESTED : why, NULL, NULL);
}

#define COUNTED(X, name, why, form, S)                                                                       \
    typedef int type_##name(PARAMETERS_##form(S));                                                           \
    int name(PARAMETERS_##form(S)) {                                                                         \
        PREPARE(name)                                                                                        \
        const int64_t sizes[4] = {SIZES_##form};                                                             \
        count(&entry, DROPIN_API_##name, DROPIN_##why, sizes);                                               \
        CALL_ORIGINAL(name, type_##name, ARGUMENTS_##form)                                                   \
    }
CUBLAS_COUNTED(COUNTED, )
