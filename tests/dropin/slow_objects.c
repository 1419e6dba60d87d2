/* slow_objects.c: dl_iterate_phdr that takes 20 ms, preloaded: so a fork() meets a thread in it. */
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

struct walk {
    int (*look)(struct dl_phdr_info *object, size_t size, void *data);
    void *data;
    int objects;
};

static int look(struct dl_phdr_info *object, size_t size, void *data) {
    struct walk *const w = (struct walk *)data;
    if (w->objects++ == 0)
        usleep(20000);
    return w->look(object, size, w->data);
}

int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *object, size_t size, void *data), void *data) {
    union {
        void *symbol;
        int (*call)(int (*callback)(struct dl_phdr_info *object, size_t size, void *data), void *data);
    } real = {dlsym(RTLD_NEXT, "dl_iterate_phdr")};
    struct walk w = {callback, data, 0};
    return real.call(look, &w);
}
