/* ht_fenv.h: the floating-point environment of the library's own arithmetic: to nearest, with subnormal
 * numbers, without traps, whatever the caller computes in. The caller's is put back, with its exception
 * flags. No function of libm, which the runtime does not link. */
#ifndef HT_FENV_H
#define HT_FENV_H

#include <stdint.h>

#if defined(__x86_64__)
struct ht_fenv {
    unsigned mxcsr;
    unsigned short x87; /* the control word, by which printf of glibc rounds; nothing here computes there */
};
static inline void ht_fenv_leave(struct ht_fenv callers) {
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(callers.mxcsr), "m"(callers.x87) : "memory");
}
static inline struct ht_fenv ht_fenv_enter(void) {
    const struct ht_fenv own = {0x1f80, 0x37f};
    struct ht_fenv callers;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(callers.mxcsr), "=m"(callers.x87) : : "memory");
    ht_fenv_leave(own);
    return callers;
}
#elif defined(__aarch64__)
struct ht_fenv {
    uint64_t control, status;
};
static inline void ht_fenv_leave(struct ht_fenv callers) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(callers.control), "r"(callers.status) : "memory");
}
static inline struct ht_fenv ht_fenv_enter(void) {
    const struct ht_fenv own = {0, 0};
    struct ht_fenv callers;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(callers.control), "=r"(callers.status));
    ht_fenv_leave(own);
    return callers;
}
#else
#include <fenv.h>
struct ht_fenv {
    fenv_t all;
};
static inline struct ht_fenv ht_fenv_enter(void) {
    struct ht_fenv callers;
    (void)fegetenv(&callers.all);
    (void)fesetenv(FE_DFL_ENV);
    return callers;
}
static inline void ht_fenv_leave(struct ht_fenv callers) {
    (void)fesetenv(&callers.all);
}
#endif

/* Of a function that is called between the two: compilers move arithmetic past them. */
#define HT_IN_OWN_FENV __attribute__((noinline))

#endif
