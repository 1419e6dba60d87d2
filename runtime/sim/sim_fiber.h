/* sim_fiber: stacks of execution that give way to each other by name. Knows nothing of warps or blocks.
 *
 * x86-64 has a switch of its own. Elsewhere ucontext starts a fiber on its stack once; after that
 * _setjmp/_longjmp switch without system calls. A fiber never leaves the host thread that started it. A fiber
 * that is not resumed any more costs nothing: its stack holds no object with a destructor (kernels have none),
 * and is started afresh or freed. */
#ifndef HT_SIM_FIBER_H
#define HT_SIM_FIBER_H

#include <setjmp.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define HT_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HT_SIM_ASAN 1
#endif
#endif
#ifndef HT_SIM_ASAN
#define HT_SIM_ASAN 0
#endif

#if defined(__x86_64__) && defined(__LP64__) && !HT_SIM_ASAN
#define HT_SIM_OWN_SWITCH 1
#else
#define HT_SIM_OWN_SWITCH 0
#endif

namespace ht_sim {

struct fiber {
#if HT_SIM_OWN_SWITCH
    void *context = nullptr; /* the top of its stack, while it is parked */
#else
    jmp_buf context;
#endif
    void *mapping = nullptr; /* guard page, then the stack; NULL for a host thread's own stack */
    const void *stack_bottom = nullptr;
    size_t stack_bytes = 0;
    void *fake_stack = nullptr; /* AddressSanitizer's, while the fiber is parked */
    void (*entry)(void *) = nullptr;
    void *arg = nullptr;

    fiber() = default;
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;
    ~fiber();
};

/* Gives the fiber a stack; false when there is no memory. */
bool fiber_map(fiber *f);

/* Starts or restarts `f` at the top of its stack; called from `home`, to which it returns at once. The first
 * switch to `f` calls entry(arg), which must never return. */
void fiber_start(fiber *home, fiber *f, void (*entry)(void *), void *arg);

/* Parks `from` (the running one) and runs `to`. */
void fiber_switch(fiber *from, fiber *to);

} // namespace ht_sim
#endif
