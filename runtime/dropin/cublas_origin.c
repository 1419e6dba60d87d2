/* cublas_origin.c: what a caller would have called without the face. Each caller has its own cuBLAS: the one among the
 * dependencies of the object that its code lies in. What was found is remembered by return address, for each thread, until
 * the process unloads something. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_face.h"

_Static_assert((int)NAME_cublasSgemm_v2 == (int)DROPIN_API_cublasSgemm_v2 && (int)NAME_cublasStrsmBatched_64 == (int)DROPIN_API_cublasStrsmBatched_64,
               "names begin as the counted ones");

const char *cublas_name_text(enum cublas_name name) {
#define TEXT(name) #name "\0"
    static const char texts[] = CUBLAS_ALL(TEXT);
#undef TEXT
    return dropin_text_at(texts, (int)name);
}

static struct cublas_origin *origins; /* grows only; equal ones are one */

/* Where the face begins and ends in memory; the linker has these names. */
extern const char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

/* A function of the face. A table of their addresses would cost each process a relocation a function. */
static bool is_own(const void *at) {
    return (uintptr_t)at >= (uintptr_t)__ehdr_start && (uintptr_t)at < (uintptr_t)_end;
}

void *cublas_own(const char *name) {
    struct dropin_caller ours;
    void *const face = dropin_find_caller(&origins, &ours) ? dlopen(ours.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return face != NULL ? dropin_dlsym(face, name) : NULL; /* kept: a face is never unloaded */
}

/* Fills what `find` gives; false: nothing. */
static bool fill(struct cublas_origin *o, void *(*find)(const void *where, const char *name), const void *where) {
    bool any = false;
    for (int i = 0; i < CUBLAS_NAMES; i++) {
        void *at = find(where, cublas_name_text((enum cublas_name)i));
        if (is_own(at))
            at = NULL;
        memcpy(&o->function[i], &at, sizeof at);
        any = any || at != NULL;
    }
    return any;
}

static void *find_for_caller(const void *caller, const char *name) {
    return dropin_next_symbol((const struct dropin_caller *)caller, name, NULL);
}

static void *find_in_object(const void *object, const char *name) {
    return dropin_dlsym((void *)(uintptr_t)object, name);
}

/* ---- callers that are linked to no cuBLAS: they have looked the function up, or call through libffi ---- */

/* Where an object last found a function of cuBLAS by dlsym; of the objects that come after the table is full nothing is known. */
enum { LOOKED_UP = 16 };
static struct {
    uintptr_t object; /* its load address; 0: free */
    char path[DROPIN_PATH];
} looked_up[LOOKED_UP];

void cublas_note_lookup(uintptr_t object, const char *path) {
    dropin_lock(DROPIN_LOCK_LOOKUPS);
    int at = 0;
    while (at < LOOKED_UP - 1 && looked_up[at].object != 0 && looked_up[at].object != object)
        at++;
    looked_up[at].object = object;
    strcpy(looked_up[at].path, path);
    dropin_unlock(DROPIN_LOCK_LOOKUPS);
}

/* The object's own lookup, else the last of the first that looked one up; false: nobody has. */
static bool find_lookup(uintptr_t object, char path[DROPIN_PATH]) {
    dropin_lock(DROPIN_LOCK_LOOKUPS);
    int at = 0;
    while (at < LOOKED_UP && looked_up[at].object != object)
        at++;
    strcpy(path, looked_up[at < LOOKED_UP ? at : 0].path);
    dropin_unlock(DROPIN_LOCK_LOOKUPS);
    return path[0] != '\0';
}

static bool fill_by_lookup(struct cublas_origin *o, uintptr_t caller) {
    char path[DROPIN_PATH];
    void *const object = find_lookup(caller, path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (object == NULL)
        return false;
    const bool any = fill(o, find_in_object, object);
    (void)dlclose(object);
    return any;
}

static bool fill_by_name(struct cublas_origin *o, enum cublas_name name) {
    void *const object = dropin_loaded(name == NAME_cublasLtMatmul ? "libcublasLt.so.13\0libcublasLt.so.12\0libcublasLt.so.11\0"
                                                                   : "libcublas.so.13\0libcublas.so.12\0libcublas.so.11\0");
    if (object == NULL)
        return false;
    const bool any = fill(o, find_in_object, object);
    (void)dlclose(object);
    return any;
}

static bool is_equal(const struct cublas_origin *x, const struct cublas_origin *y) {
    int i = 0;
    while (i < CUBLAS_NAMES && x->function[i] == y->function[i])
        i++;
    return i == CUBLAS_NAMES;
}

static const struct cublas_origin *publish(const struct cublas_origin *found) {
    struct cublas_origin *made = NULL, *first = __atomic_load_n(&origins, __ATOMIC_ACQUIRE);
    for (;;) {
        for (const struct cublas_origin *o = first; o != NULL; o = o->next)
            if (is_equal(o, found)) {
                free(made);
                return o;
            }
        if (made == NULL)
            made = (struct cublas_origin *)malloc(sizeof *made);
        if (made == NULL)
            return NULL;
        *made = *found;
        made->next = first;
        if (__atomic_compare_exchange_n(&origins, &first, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return made;
    }
}

static const struct cublas_origin *find_origin(const void *address, enum cublas_name name, bool *nested) {
    struct dropin_caller caller;
    struct cublas_origin found = {0};
    const bool known = dropin_find_caller(address, &caller);
    *nested = known && strncmp(dropin_base_name(caller.path), "libcublas", 9) == 0;
    if (known && fill(&found, find_for_caller, &caller) && found.function[name] != NULL)
        return publish(&found);
    memset(&found, 0, sizeof found);
    if (fill_by_lookup(&found, known ? (uintptr_t)address - caller.offset : 0) &&
        found.function[name] != NULL)
        return publish(&found);
    memset(&found, 0, sizeof found);
    return fill_by_name(&found, name) && found.function[name] != NULL ? publish(&found) : NULL;
}

struct cublas_entry cublas_enter(const void *caller, enum cublas_name name) {
    struct dropin_found *const found = dropin_recall(caller, NULL);
    if (found->what == NULL)
        found->what = find_origin(caller, name, &found->nested);
    return (struct cublas_entry){caller, (const struct cublas_origin *)found->what, found->nested || halftone_dropin_thread.depth > 0};
}

int cublas_has_no_original(enum cublas_name name) {
    static bool said;
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        dropin_say("%s was called, and no cuBLAS that has it is loaded: the call fails with "
                   "CUBLAS_STATUS_NOT_SUPPORTED",
                   cublas_name_text(name));
    return CU_NOT_SUPPORTED;
}
