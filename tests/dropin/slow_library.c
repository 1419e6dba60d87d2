/* slow_library.c: libhalftone.so that can be caught at the moment: HOLD=load holds in its constructor, HOLD=create in its first
 * halftone_create. Either makes the file HOLD_FILE, then waits for the file HOLD_FILE.go, or 5 s. HOLD=linker: the first halftone_create waits for
 * HOLD_FILE.go and then comes to the dynamic linker. All else is the library's that this is linked to. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct halftone;
int halftone_create(struct halftone **h);

static bool is_asked(const char *where) {
    const char *const hold = getenv("HOLD");
    return hold != NULL && strcmp(hold, where) == 0;
}

static void hold(void) {
    char go[4096];
    const int file = open(getenv("HOLD_FILE"), O_WRONLY | O_CREAT, 0600);
    (void)close(file);
    snprintf(go, sizeof go, "%s.go", getenv("HOLD_FILE"));
    for (int i = 0; i < 500 && access(go, F_OK) != 0; i++)
        usleep(10000);
}

__attribute__((constructor)) static void loads(void) {
    if (is_asked("load"))
        hold();
}

int halftone_create(struct halftone **h) {
    static bool was_here;
    union {
        void *symbol;
        int (*call)(struct halftone **h);
    } real = {dlsym(RTLD_NEXT, "halftone_create")};
    const bool is_first = !__atomic_exchange_n(&was_here, true, __ATOMIC_RELAXED);
    if (is_first && (is_asked("create") || is_asked("linker")))
        hold();
    if (is_first && is_asked("linker"))
        (void)dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
    return real.call(h);
}
