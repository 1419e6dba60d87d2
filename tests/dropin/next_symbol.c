/* next_symbol: two objects with one function each of the same name; the first adds 1 to what RTLD_NEXT finds from its place. */
#include <dlfcn.h>
#include <string.h>

int counted(void);

#ifdef LAST
int counted(void) {
    return 10;
}
#else
int counted(void) {
    int (*next)(void);
    void *const at = dlsym(RTLD_NEXT, "counted");
    memcpy(&next, &at, sizeof next);
    return next != NULL ? next() + 1 : -1;
}
#endif
