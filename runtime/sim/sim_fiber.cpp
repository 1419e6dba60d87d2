/* sim_fiber: see the header. */
#ifdef _FORTIFY_SOURCE
#undef _FORTIFY_SOURCE /* its longjmp refuses to leave one stack for another */
#endif
#include "sim_fiber.h"

#include <atomic>

#include <sys/mman.h>
#include <unistd.h>
#if !HT_SIM_OWN_SWITCH
#include <ucontext.h>
#endif

#if HT_SIM_ASAN /* of sanitizer/common_interface_defs.h, which is not everywhere */
extern "C" void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t bytes);
extern "C" void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *bytes);
#endif

namespace ht_sim {

/* Pages are committed when touched; unoptimised and sanitized kernels have large frames. */
static const size_t usable_stack_bytes = HT_SIM_ASAN ? 1024 * 1024 : 256 * 1024;

static size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

fiber::~fiber() {
    if (mapping != nullptr)
        munmap(mapping, usable_stack_bytes + page_bytes());
}

/* Of a process, which has 65,530 mappings for everything. */
enum { GUARDED_STACKS = 16384 };

bool fiber_map(fiber *f) {
    size_t page = page_bytes();
    void *p = mmap(nullptr, usable_stack_bytes + page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    /* Stacks grow down into the guard, a mapping of its own. Without it only a runaway kernel would differ, and neighbours are one mapping. */
    static std::atomic<int> stacks{0};
    if (stacks.fetch_add(1) < GUARDED_STACKS)
        (void)mprotect(p, page, PROT_NONE);
    f->mapping = p;
    f->stack_bottom = static_cast<char *>(p) + page;
    f->stack_bytes = usable_stack_bytes;
    return true;
}

#if HT_SIM_OWN_SWITCH
/* What a call keeps (System V ABI, "Register Usage") stays on the stack that is left. A return ends it: lanes of a warp come from one
 * place, so the processor knows where to; after longjmp it would not. */
#ifdef __clang__
__attribute__((naked, noinline))
#else
__attribute__((naked, noipa)) /* other code runs before it returns, which changes registers that it does not name */
#endif
static void leave(void ** /* from: %rdi */, void * /* to: %rsi */) {
    asm(R"(
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
)");
}

static thread_local fiber *now_entered;

void fiber_switch(fiber *from, fiber *to) {
    now_entered = to;
    leave(&from->context, to->context);
}

static void trampoline() {
    fiber *self = now_entered;
    self->entry(self->arg);
}

void fiber_start(fiber *, fiber *f, void (*entry)(void *), void *arg) {
    enum { KEPT = 6 }; /* registers; then where to, and where that would return to */
    void **top = reinterpret_cast<void **>(const_cast<char *>(static_cast<const char *>(f->stack_bottom)) + f->stack_bytes);
    f->entry = entry;
    f->arg = arg;
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(trampoline);
    f->context = top - KEPT;
}
#else
struct starting {
    fiber *home, *self;
    ucontext_t back, context;
};
static thread_local starting *now_starting;

static void before_switch([[maybe_unused]] fiber *from, [[maybe_unused]] const fiber *to) {
#if HT_SIM_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack_bottom, to->stack_bytes);
#endif
}

static void after_switch([[maybe_unused]] const fiber *self) {
#if HT_SIM_ASAN
    __sanitizer_finish_switch_fiber(self->fake_stack, nullptr, nullptr);
#endif
}

void fiber_switch(fiber *from, fiber *to) {
    if (_setjmp(from->context) == 0) {
        before_switch(from, to);
        _longjmp(to->context, 1);
    }
    after_switch(from);
}

/* First code on a new stack: parks itself where fiber_switch finds it and goes back. */
static void trampoline() {
    starting *s = now_starting;
    fiber *self = s->self;
#if HT_SIM_ASAN
    /* The only place that learns the bounds of the host thread's own stack. */
    __sanitizer_finish_switch_fiber(nullptr, &s->home->stack_bottom, &s->home->stack_bytes);
#endif
    if (_setjmp(self->context) == 0) {
        before_switch(self, s->home);
        setcontext(&s->back);
    }
    after_switch(self);
    self->entry(self->arg);
}

void fiber_start(fiber *home, fiber *f, void (*entry)(void *), void *arg) {
    starting s;
    f->entry = entry;
    f->arg = arg;
    f->fake_stack = nullptr;
    s.home = home;
    s.self = f;
    now_starting = &s;
    getcontext(&s.context);
    s.context.uc_stack.ss_sp = const_cast<void *>(f->stack_bottom);
    s.context.uc_stack.ss_size = f->stack_bytes;
    s.context.uc_link = nullptr;
    makecontext(&s.context, trampoline, 0);
    before_switch(home, f);
    swapcontext(&s.back, &s.context);
    after_switch(home);
}
#endif

} // namespace ht_sim
