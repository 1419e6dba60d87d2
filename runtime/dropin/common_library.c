/* common_library.c: libhalftone.so, loaded at the first call that it can serve, and its handles: some for each device, each for one
 * thread at a time, with workspace of the stream (HALFTONE_POOL), so that a call keeps nothing behind itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_state.h"

/* ---- loading ---- */

static void *open_file(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* By name, else in the folder of the object that this is compiled into, else where the dynamic linker looks. */
static void *open_library(const struct dropin_settings *settings) {
    static const char NAME[] = "libhalftone.so";
    char path[DROPIN_PATH + 32];
    struct dropin_caller face;
    if (settings->file[DROPIN_FILE_LIBRARY][0] != '\0')
        return open_file(settings->file[DROPIN_FILE_LIBRARY]);
    void *found = NULL;
    if (dropin_find_caller(&halftone_dropin_state, &face)) {
        const size_t folder = (size_t)(dropin_base_name(face.path) - face.path);
        snprintf(path, sizeof path, "%.*s%s", (int)folder, face.path, NAME);
        found = folder > 0 ? open_file(path) : NULL;
    }
    snprintf(path, sizeof path, "%s.%d", NAME, HALFTONE_VERSION_MAJOR);
    return found != NULL ? found : open_file(path);
}

/* The library's members are its functions in this order, and nothing else. NULL, or the name that is not there. */
static const char *bind_functions(void *object, struct dropin_library *library) {
#define NAME(name) #name "\0"
    static const char names[] = DROPIN_FUNCTIONS(NAME);
#undef NAME
    char *to = (char *)library;
    for (const char *name = names; name[0] != '\0'; name += strlen(name) + 1) {
        char whole[64];
        snprintf(whole, sizeof whole, "halftone_%s", name);
        void *const at = dropin_dlsym(object, whole);
        if (at == NULL)
            return name;
        memcpy(to, &at, sizeof at);
        to += sizeof at;
    }
    return NULL;
}

/* By each thread that comes before the first is done, without a lock: the dynamic linker makes them wait. */
static void load(struct dropin_state *s) {
    struct dropin_library found;
    dropin_lock(DROPIN_LOCK_STATE); /* from here on fork() is watched */
    dropin_add(&s->counts.begun, 1);
    dropin_unlock(DROPIN_LOCK_STATE);
    void *const object = open_library(&s->settings);
    const char *const why = object == NULL ? dlerror() : NULL;
    const char *const lacks = object != NULL ? bind_functions(object, &found) : NULL;
    dropin_lock(DROPIN_LOCK_STATE);
    const bool is_first = !s->loaded && !s->load_failed, good = object != NULL && lacks == NULL;
    if (is_first && good) {
        s->library = found;
        __atomic_store_n(&s->loaded, true, __ATOMIC_RELEASE);
    }
    s->load_failed = s->load_failed || (is_first && !good);
    dropin_unlock(DROPIN_LOCK_STATE);
    if (!is_first || good)
        return;
    if (object == NULL)
        dropin_say("%.400s%s", why != NULL ? why : "libhalftone.so was not found", dropin_nothing);
    else
        dropin_say("libhalftone.so has no halftone_%s: it is of another version%s", lacks, dropin_nothing);
}

const struct dropin_library *dropin_library(void) {
    struct dropin_state *const s = &halftone_dropin_state;
    if (__atomic_load_n(&s->loaded, __ATOMIC_ACQUIRE))
        return &s->library;
    if (!__atomic_load_n(&s->load_failed, __ATOMIC_RELAXED))
        load(s);
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
    struct dropin_slot *const made = (struct dropin_slot *)malloc(sizeof *made);
    if (made == NULL)
        return DROPIN_FAILED;
    memset(made, 0, sizeof *made);
    const int code = library->create(&made->handle);
    dropin_lock(DROPIN_LOCK_STATE);
    const bool is_first = s->handles[device] == 0;
    if (code == HALFTONE_OK)
        s->handles[device] = s->handles[device] < 0 ? 1 : s->handles[device] + 1;
    else if (is_first)
        s->handles[device] = -1;
    dropin_unlock(DROPIN_LOCK_STATE);
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
    char wanted[DROPIN_TEXT + 8]; /* "fp64:" and the text, behind a letter */
    const bool by_accuracy = policy->accuracy != NULL && strcmp(policy->accuracy, "auto") != 0; /* which is a scheme's name */
    const char *const text = policy->accuracy != NULL ? policy->accuracy : policy->scheme;
    char *const set_to = slot->set_to[policy->fp64];
    if (strlen(text) + sizeof "afp64:" > DROPIN_TEXT)
        return DROPIN_SET_LACKS;
    snprintf(wanted, sizeof wanted, "%cfp%d:%s", by_accuracy ? 'a' : 's', policy->fp64 ? 64 : 32, text);
    if (strcmp(wanted, set_to) == 0)
        return DROPIN_SERVED;
    const int code = (by_accuracy ? library->set_accuracy : library->set_scheme)(slot->handle, wanted + 1);
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
    dropin_lock(DROPIN_LOCK_STATE);
    const bool is_hopeless = s->handles[device] < 0;
    struct dropin_slot *const idle = s->idle[device];
    if (idle != NULL)
        s->idle[device] = idle->next;
    dropin_unlock(DROPIN_LOCK_STATE);
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
    dropin_lock(DROPIN_LOCK_STATE);
    slot->next = s->idle[slot->device];
    s->idle[slot->device] = slot;
    dropin_unlock(DROPIN_LOCK_STATE);
}
