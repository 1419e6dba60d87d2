/* cublas_counted.c: the functions of cublas_counted.h, made from its table. */
#include "cublas_face.h"

/* What cuBLAS calls within its own calls is not counted apart. */
__attribute__((noinline)) static void count(const struct cublas_entry *entry, enum dropin_api api, enum dropin_reason why, int64_t m, int64_t n, int64_t k,
                                            int64_t batch) {
    const struct dropin_policy policy = {0};
    const struct dropin_call call = {.api = api,
                                     .name = cublas_name_text((enum cublas_name)api),
                                     .caller = entry->caller,
                                     .op_a = '-',
                                     .op_b = '-',
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .batch = batch};
    if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    dropin_note(&call, &policy, entry->nested ? DROPIN_NESTED : why, NULL, NULL);
}

#define COUNTED(X, name, why, form, S)                                                                       \
    typedef int type_##name(PARAMETERS_##form(S));                                                           \
    int name(PARAMETERS_##form(S)) {                                                                         \
        PREPARE(name)                                                                                        \
        count(&entry, DROPIN_API_##name, DROPIN_##why, SIZES_##form);                                        \
        CALL_ORIGINAL(name, type_##name, ARGUMENTS_##form)                                                   \
    }
CUBLAS_COUNTED(COUNTED, )
