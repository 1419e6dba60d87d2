/* common_caller.c: the object that an address lies in, and the symbol that this object would have found without a face before it.
 * dladdr is avoided: it walks the symbols of an object, of which libtorch_cuda.so has hundreds of thousands. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "common_state.h"

struct search {
    uintptr_t address;
    struct dropin_caller *caller;
};

static void read_build_id(const struct dl_phdr_info *o, const ElfW(Phdr) * note, char id[20]) {
    const char *at = (const char *)(o->dlpi_addr + note->p_vaddr);
    const char *const end = at + note->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) head;
        memcpy(&head, at, sizeof head);
        const char *const bytes = at + sizeof head + (head.n_namesz + 3) / 4 * 4;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && head.n_descsz >= 8) {
            for (int i = 0; i < 8; i++)
                snprintf(id + 2 * i, 3, "%02x", (unsigned)(unsigned char)bytes[i]);
            return;
        }
        at = bytes + (head.n_descsz + 3) / 4 * 4;
    }
}

static int look_into(struct dl_phdr_info *o, size_t size, void *data) {
    const struct search *const s = (const struct search *)data;
    bool found = false;
    (void)size;
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *const p = &o->dlpi_phdr[i];
        found = found || (p->p_type == PT_LOAD && s->address - (o->dlpi_addr + p->p_vaddr) < p->p_memsz);
    }
    if (!found)
        return 0;
    snprintf(s->caller->path, sizeof s->caller->path, "%s", o->dlpi_name != NULL ? o->dlpi_name : "");
    s->caller->offset = s->address - o->dlpi_addr;
    for (int i = 0; i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_NOTE && s->caller->build_id[0] == '\0')
            read_build_id(o, &o->dlpi_phdr[i], s->caller->build_id);
    return 1;
}

static int walk(int (*look)(struct dl_phdr_info *object, size_t size, void *data), void *data) {
    dropin_lock(DROPIN_LOCK_OBJECTS);
    const int found = dl_iterate_phdr(look, data);
    dropin_unlock(DROPIN_LOCK_OBJECTS);
    return found;
}

bool dropin_find_caller(const void *address, struct dropin_caller *caller) {
    memset(caller, 0, sizeof *caller);
    struct search s = {(uintptr_t)address, caller};
    return walk(look_into, &s) != 0;
}

const char *dropin_base_name(const char *path) {
    const char *base = path;
    while (*path != '\0')
        if (*path++ == '/')
            base = path;
    return base;
}

void dropin_site(const void *address, char *text, size_t bytes) {
    struct dropin_caller caller;
    if (dropin_find_caller(address, &caller))
        snprintf(text, bytes, "%s+0x%llx", caller.path[0] != '\0' ? dropin_base_name(caller.path) : "program",
                 (unsigned long long)caller.offset);
    else
        snprintf(text, bytes, "?");
}

static int read_unloads(struct dl_phdr_info *o, size_t size, void *data) {
    *(unsigned long long *)data = size >= offsetof(struct dl_phdr_info, dlpi_tls_modid) ? o->dlpi_subs : 0;
    return 1;
}

struct dropin_found *dropin_recall(const void *caller, const void *name) {
    static _Thread_local struct dropin_found found[32];
    unsigned long long unloads = 0;
    (void)walk(read_unloads, &unloads);
    struct dropin_found *const at = &found[((uintptr_t)caller >> 2 ^ (uintptr_t)name) % (sizeof found / sizeof *found)];
    if (at->caller != caller || at->name != name || at->unloads != unloads)
        at->what = NULL;
    at->caller = caller, at->name = name, at->unloads = unloads;
    return at;
}

dropin_symbol_finder *dropin_real_dlsym(void) {
    static dropin_symbol_finder *real; /* equal words, whichever thread writes them */
    const char *version = "GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_2.17\0";
    dropin_symbol_finder *f = __atomic_load_n(&real, __ATOMIC_RELAXED);
    for (; f == NULL && version[0] != '\0'; version = dropin_text_at(version, 1)) {
        void *const found = dlvsym(RTLD_NEXT, "dlsym", version);
        memcpy(&f, &found, sizeof f);
    }
    __atomic_store_n(&real, f, __ATOMIC_RELAXED);
    return f;
}

void *dropin_dlsym(void *object, const char *name) {
    dropin_symbol_finder *const f = dropin_real_dlsym();
    return f != NULL ? f(object, name) : NULL;
}

void *dropin_loaded(const char *names) {
    void *found = NULL;
    for (; names[0] != '\0' && found == NULL; names = dropin_text_at(names, 1))
        found = dlopen(names, RTLD_LAZY | RTLD_NOLOAD);
    return found;
}

void *dropin_next_symbol(const struct dropin_caller *caller, const char *name, const void *own) {
    void *found = NULL;
    if (caller->path[0] == '\0') {
        found = dropin_dlsym(RTLD_NEXT, name);
        return found != own ? found : NULL;
    }
    void *const object = dlopen(caller->path, RTLD_LAZY | RTLD_NOLOAD);
    if (object == NULL)
        return NULL;
    found = dropin_dlsym(object, name);
    (void)dlclose(object);
    return found != own ? found : NULL;
}
