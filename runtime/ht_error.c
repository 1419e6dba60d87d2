/* ht_error.c: codes and texts, and what every public call begins and fails with. */
#include "ht_call.h"

#include <stdarg.h>
#include <stdio.h>

const char *halftone_strerror(int code) {
    switch (code) {
#define TEXT_OF_ARGUMENT(number, name, rule)                                                                 \
    case -(number):                                                                                          \
        return "argument " #number " (" name "): " rule;
        HALFTONE_ARGUMENT_ERRORS(TEXT_OF_ARGUMENT)
#undef TEXT_OF_ARGUMENT
#define TEXT_OF_CODE(name, value, text)                                                                      \
    case value:                                                                                              \
        return text;
        HALFTONE_CODES(TEXT_OF_CODE)
#undef TEXT_OF_CODE
    default:
        return "not a code of halftone";
    }
}

int ht_fail(halftone *h, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(h->detail, sizeof h->detail, format, list);
    va_end(list);
    return code;
}

int ht_fail_device(halftone *h, int dev_code) {
    static const int code_of[] = {HALFTONE_OK, HALFTONE_NO_GPU, HALFTONE_OUT_OF_DEVICE_MEMORY,
                                  HALFTONE_DEVICE_ERROR, HALFTONE_SIM_VIOLATION}; /* by enum ht_dev_code */
    if (dev_code == HT_DEV_OK)
        return HALFTONE_OK;
    return ht_fail(h, code_of[dev_code], "%s", ht_dev_detail());
}

int ht_launched(halftone *h, int backend_code) {
    return ht_fail_device(h, ht_dev_check(backend_code));
}

int ht_make_ready(halftone *h, int (*init)(void), unsigned char *ready) {
    const int code = *ready ? HALFTONE_OK : ht_launched(h, init());
    *ready = code == HALFTONE_OK;
    return code;
}

int ht_begin(halftone *h) {
    if (h == NULL)
        return HALFTONE_NULL_HANDLE;
    h->detail[0] = '\0';
    h->capture = CAPTURE_NOT_ASKED;
    h->changed_c = false;
    return HALFTONE_OK;
}

int ht_in_own_fenv(int (*rest)(void *of), void *of) {
    const struct ht_fenv callers = ht_fenv_enter();
    const int code = rest(of);
    ht_fenv_leave(callers);
    return code;
}
