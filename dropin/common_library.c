/* common_library.c: libhalftone.so, loaded at the first call that it can serve, and its handles: some for each device, each for one
 * thread at a time, with workspace of the stream (HALFTONE_POOL), so that a call keeps nothing behind itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_state.h"

/* ---- loading ---- */

/* The folder of the object that this is compiled into, with the slash. */
static bool own_folder(char path[DROPIN_PATH]) {
    Dl_info facts;
    if (dladdr((const void *)&halftone_dropin_state, &facts) == 0 || facts.dli_fname == NULL)
        return false;
    const char *const slash = strrchr(facts.dli_fname, '/');
    if (slash == NULL || (size_t)(slash - facts.dli_fname) + 2 > DROPIN_PATH)
        return false;
    memcpy(path, facts.dli_fname, (size_t)(slash - facts.dli_fname) + 1);
    path[slash - facts.dli_fname + 1] = '\0';
    return true;
}

static void *open_library(const struct dropin_settings *settings) {
    char path[DROPIN_PATH + 32];
    if (settings->library[0] != '\0')
        return dlopen(settings->library, RTLD_NOW | RTLD_LOCAL);
    void *found = NULL;
    if (own_folder(path)) {
        strcat(path, "libhalftone.so");
        found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    snprintf(path, sizeof path, "libhalftone.so.%d", HALFTONE_VERSION_MAJOR);
    return found != NULL ? found : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The library's members are its functions in this order, and nothing else. NULL, or the name that is not there. */
static const char *bind_functions(struct dropin_state *s) {
#define NAME(name) #name "\0"
    static const char names[] = DROPIN_FUNCTIONS(NAME);
#undef NAME
    char *to = (char *)&s->library;
    for (const char *name = names; name[0] != '\0'; name += strlen(name) + 1) {
        char whole[64];
        snprintf(whole, sizeof whole, "halftone_%s", name);
        void *const at = dropin_dlsym(s->library_object, whole);
        if (at == NULL)
            return name;
        memcpy(to, &at, sizeof at);
        to += sizeof at;
    }
    return NULL;
}

/* What pthread_atfork is in glibc, whose own copy of it would be the only function that a face calls through a PLT: four sections more. By the object
 * glibc forgets functions of what is unloaded, which a face never is. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

bool dropin_at_fork(void (*in_child)(void)) {
    return __register_atfork(NULL, NULL, in_child, NULL) == 0;
}

/* A child has no use of what its parent did on the GPU, and the lock may be another thread's. */
static void note_fork(void) {
    struct dropin_state *const s = &halftone_dropin_state;
    s->forked = true;
    (void)pthread_mutex_init(&s->lock, NULL);
}

static void load_with_lock(struct dropin_state *s) {
    s->library_object = open_library(&s->settings);
    const char *const why = s->library_object == NULL ? dlerror() : NULL;
    const char *const lacks = s->library_object != NULL ? bind_functions(s) : NULL;
    s->load_failed = s->library_object == NULL || lacks != NULL;
    if (s->library_object == NULL)
        dropin_say("%.400s; nothing is served in this process",
                   why != NULL ? why : "libhalftone.so was not found");
    else if (lacks != NULL)
        dropin_say("libhalftone.so has no halftone_%s: it is of another version; nothing is served in this process",
                   lacks);
    else
        s->loaded = true;
}

const struct dropin_library *dropin_library(void) {
    struct dropin_state *const s = &halftone_dropin_state;
    if (__atomic_load_n(&s->loaded, __ATOMIC_ACQUIRE))
        return &s->library;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->loaded && !s->load_failed)
        load_with_lock(s);
    (void)pthread_mutex_unlock(&s->lock);
    return s->loaded ? &s->library : NULL;
}

/* ---- handles ---- */

enum dropin_reason dropin_reason_of(int code) {
    switch (code) {
    case HALFTONE_NO_GPU:
    case HALFTONE_WRONG_GPU:
        return DROPIN_NO_KERNELS;
    case HALFTONE_UNKNOWN_SCHEME:
    case HALFTONE_UNKNOWN_ACCURACY:
    case HALFTONE_ACCURACY:
        return DROPIN_SET_LACKS;
    case HALFTONE_OUT_OF_DEVICE_MEMORY:
    case HALFTONE_WORKSPACE:
        return DROPIN_WORKSPACE;
    case HALFTONE_TOO_LARGE:
    case HALFTONE_NOT_SUPPORTED:
        return DROPIN_ARGUMENTS;
    case DROPIN_CODE_SPOILT:
        return DROPIN_SPOILT;
    default:
        return code < 0 ? DROPIN_ARGUMENTS : DROPIN_FAILED;
    }
}

bool dropin_is_warm(int device) {
    return device >= 0 && device < DROPIN_DEVICES &&
           __atomic_load_n(&halftone_dropin_state.handles[device], __ATOMIC_ACQUIRE) != 0;
}

/* Only the first failure of a device is said. */
static enum dropin_reason make_handle(const struct dropin_library *library, int device,
                                      struct dropin_slot **slot) {
    struct dropin_state *const s = &halftone_dropin_state;
    struct dropin_slot *const made = (struct dropin_slot *)calloc(1, sizeof *made);
    if (made == NULL)
        return DROPIN_FAILED;
    const int code = library->create(&made->handle);
    (void)pthread_mutex_lock(&s->lock);
    const bool is_first = s->handles[device] == 0;
    if (code == HALFTONE_OK)
        s->handles[device] = s->handles[device] < 0 ? 1 : s->handles[device] + 1;
    else if (is_first)
        s->handles[device] = -1;
    if (!s->fork_is_watched)
        s->fork_is_watched = dropin_at_fork(note_fork);
    (void)pthread_mutex_unlock(&s->lock);
    if (code != HALFTONE_OK) {
        if (is_first)
            dropin_say("%s: %.400s; the original runs", library->strerror(code), library->last_detail(NULL));
        free(made);
        return dropin_reason_of(code);
    }
    (void)library->set_workspace_source(made->handle,
                                        HALFTONE_POOL); /* else the handle's own, which serves too */
    made->device = device;
    *slot = made;
    return DROPIN_SERVED;
}

static enum dropin_reason set_policy(const struct dropin_library *library, const struct dropin_policy *policy,
                                     struct dropin_slot *slot) {
    char wanted[DROPIN_TEXT + 2];
    const bool by_accuracy = policy->accuracy != NULL;
    const char *const text = by_accuracy ? policy->accuracy : policy->scheme;
    char *const set_to = slot->set_to[policy->fp64];
    if (strlen(text) + 2 > DROPIN_TEXT)
        return DROPIN_SET_LACKS;
    snprintf(wanted, sizeof wanted, "%c%s", by_accuracy ? 'a' : 's', text);
    if (strcmp(wanted, set_to) == 0)
        return DROPIN_SERVED;
    const int code = (policy->fp64 ? (by_accuracy ? library->dset_accuracy : library->dset_scheme)
                                   : (by_accuracy ? library->set_accuracy : library->set_scheme))(slot->handle, text);
    if (code != HALFTONE_OK)
        return dropin_reason_of(code);
    strcpy(set_to, wanted);
    return DROPIN_SERVED;
}

enum dropin_reason dropin_take(int device, const struct dropin_policy *policy, struct dropin_slot **slot) {
    struct dropin_state *const s = &halftone_dropin_state;
    const struct dropin_library *const library = dropin_library();
    *slot = NULL;
    if (library == NULL)
        return DROPIN_NO_LIBRARY;
    if (device < 0 || device >= DROPIN_DEVICES)
        return DROPIN_NO_KERNELS;
    (void)pthread_mutex_lock(&s->lock);
    const bool is_hopeless = s->handles[device] < 0;
    struct dropin_slot *const idle = s->idle[device];
    if (idle != NULL)
        s->idle[device] = idle->next;
    (void)pthread_mutex_unlock(&s->lock);
    *slot = idle;
    enum dropin_reason why = is_hopeless ? DROPIN_NO_KERNELS : DROPIN_SERVED;
    if (why == DROPIN_SERVED && idle == NULL)
        why = make_handle(library, device, slot);
    if (why == DROPIN_SERVED)
        why = set_policy(library, policy, *slot);
    if (why != DROPIN_SERVED && *slot != NULL) {
        dropin_give_back(*slot);
        *slot = NULL;
    }
    return why;
}

void dropin_give_back(struct dropin_slot *slot) {
    struct dropin_state *const s = &halftone_dropin_state;
    (void)pthread_mutex_lock(&s->lock);
    slot->next = s->idle[slot->device];
    s->idle[slot->device] = slot;
    (void)pthread_mutex_unlock(&s->lock);
}
