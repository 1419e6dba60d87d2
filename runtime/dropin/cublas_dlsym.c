/* cublas_dlsym.c: dlsym, for programs that look the functions of cuBLAS up by themselves, in a library that they have loaded: JAX,
 * TensorFlow, nvmath, ctypes. HALFTONE_DLSYM=1 switches it on; else it does nothing but go on to the C library's.
 *
 * That finds the place of its caller, which RTLD_NEXT and RTLD_DEFAULT count from, in its return address. So every call that is
 * not replaced goes on by a jump (a sibling call, which compilers make from -Os on), and it sees the program's. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_face.h"

/* Of the environment alone: this may run before anything else in the process. */
static bool is_on(void) {
    static int known; /* 1: off, 2: on */
    int is = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (is == 0) {
        const char *const text = getenv("HALFTONE_DLSYM");
        is = text != NULL && strcmp(text, "1") == 0 ? 2 : 1;
        __atomic_store_n(&known, is, __ATOMIC_RELAXED);
    }
    return is == 2;
}

static bool is_replaced(const char *name) {
    for (int i = 0; i < CUBLAS_NAMES_REPLACED; i++)
        if (strcmp(cublas_name_text((enum cublas_name)i), name) == 0)
            return true;
    return false;
}

static bool begins(const struct dropin_caller *object, const char *text) {
    return strncmp(dropin_base_name(object->path), text, strlen(text)) == 0;
}

/* The face's function where the program has found cuBLAS' own, else NULL. cuDNN asks for what it has made itself.
 * Apart from dlsym, since objects on the stack keep compilers from the jump. */
static __attribute__((noinline)) void *replacement(const void *caller, void *object, const char *name) {
    struct dropin_caller of_caller, of_found;
    void *const found = is_replaced(name) ? dropin_dlsym(object, name) : NULL;
    if (found == NULL || !dropin_find_caller(found, &of_found) || !begins(&of_found, "libcublas"))
        return NULL;
    if (!dropin_find_caller(caller, &of_caller) || begins(&of_caller, "libcublas") ||
        begins(&of_caller, "libcudnn") || dropin_settings()->mode == DROPIN_MODE_OFF)
        return NULL;
    cublas_note_lookup((uintptr_t)caller - of_caller.offset, of_found.path);
    return cublas_own(name);
}

DROPIN_EXPORT void *dlsym(void *restrict object, const char *restrict name) {
    dropin_symbol_finder *const real = dropin_real_dlsym();
    if (real == NULL)
        return NULL;
    if (object != RTLD_NEXT && object != RTLD_DEFAULT && strncmp(name, "cublas", 6) == 0 && is_on()) {
        void *const own = replacement(__builtin_return_address(0), object, name);
        if (own != NULL)
            return own;
    }
    return real(object, name);
}
