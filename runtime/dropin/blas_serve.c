/* blas_serve.c: what of a program's calls halftone computes, and the way there and back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas_call.h"
#include "cublas_face.h" /* the current device */

static pthread_once_t end_once = PTHREAD_ONCE_INIT;

/* The end of the process waits for the product that another thread is in, as what it works with is about to go; later ones are the
 * original's. Registered when the library is there, so it runs before what the library has registered. */
static bool is_ending;   /* with the turn */
static bool has_started; /* the device has a handle */
enum { MOST_SECONDS = 10 };

/* One product at a time uses the device; small ones, which stay on the CPU, do not come here. The first comes to the
 * dynamic linker, whose lock a constructor that multiplies may hold: nobody waits for that one without end. */
static bool take_turn(void) {
    if (!__atomic_load_n(&has_started, __ATOMIC_RELAXED))
        return dropin_lock_within(DROPIN_LOCK_TURN, MOST_SECONDS);
    dropin_lock(DROPIN_LOCK_TURN);
    return true;
}

static void process_ends(void) {
    if (halftone_dropin_thread.depth > 0 || !dropin_lock_within(DROPIN_LOCK_TURN, MOST_SECONDS))
        return; /* exit() from within a call: of a signal's handler */
    is_ending = true;
    dropin_unlock(DROPIN_LOCK_TURN);
}

/* What atexit names the object by. The compiler's start files, with which a face is not linked (dropin.mk), have one of their own. */
extern void *__dso_handle;
__attribute__((weak, visibility("hidden"))) void *__dso_handle;

static void await_end(void) {
    (void)atexit(process_ends);
}

/* As the CPU rounds now, which fegetround would say: interval arithmetic wants its own direction of the CPU's BLAS. */
static bool rounds_to_nearest(void) {
    volatile float one = 1, little = 0x1p-30f;
    return one + little == 1 && one - little == 1;
}

/* What no other BLAS keeps: such products are served whatever they cost. */
static bool is_asked_for(const struct dropin_policy *policy) {
    return blas_settings()->all_sizes || (policy->accuracy != NULL && ht_site_is_invariant(policy->accuracy));
}

/* What is known without the library. */
static enum dropin_reason decide(const struct blas_call *x, const struct dropin_call *call, struct dropin_policy *policy) {
    if (blas_wrong_argument(x) != 0)
        return DROPIN_ARGUMENTS;
    const enum dropin_reason why = dropin_decide(call, policy);
    if (why != DROPIN_SERVED)
        return why;
    if (!rounds_to_nearest())
        return DROPIN_ROUNDING;
    const struct blas_settings *const settings = blas_settings();
    if (!settings->good)
        return DROPIN_OFF;
    const double saved_ns = blas_cpu_ns(x) - blas_copy_ns(x);
    if (is_asked_for(policy))
        return DROPIN_SERVED;
    if (saved_ns <= 0)
        return DROPIN_HOST;
    return __atomic_load_n(&has_started, __ATOMIC_RELAXED) || blas_start_pays(saved_ns) ? DROPIN_SERVED : DROPIN_START;
}

/* Tiles of host memory have no workspace for residues, and a question for their time must not be answered for those. The scheme of
 * FP64 arithmetic is the one of a product that only scales C. */
static enum dropin_reason ask_for_native(const struct dropin_library *library, struct dropin_slot *slot) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    slot->set_to[1][0] = '\0';
    const bool good = library->dquery(slot->handle, 'N', 'N', 1, 1, 0, 1, &plan) == HALFTONE_OK &&
                      library->set_scheme(slot->handle, plan.scheme) == HALFTONE_OK;
    return good ? DROPIN_SERVED : DROPIN_SET_LACKS;
}

/* The predicted time of the product is counted in; where there is none the call itself will say why. */
static enum dropin_reason weigh(const struct dropin_library *library, halftone *h, const struct dropin_policy *policy,
                                const struct blas_call *x) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (is_asked_for(policy))
        return DROPIN_SERVED;
    const int code = x->type == BLAS_d ? library->dquery(h, x->op_a, x->op_b, x->m, x->n, x->k, 1, &plan)
                                       : library->query(h, x->op_a, x->op_b, x->m, x->n, x->k, 1, &plan);
    if (code != HALFTONE_OK)
        return DROPIN_SERVED;
    return blas_cpu_ns(x) <= blas_copy_ns(x) + (double)plan.predicted_ns * blas_share(x) ? DROPIN_HOST : DROPIN_SERVED;
}

static int compute(const struct dropin_library *library, halftone *h, const struct blas_call *x) {
    const struct blas_settings *const settings = blas_settings();
    int code = library->set_host_tiles(h, settings->tile, dropin_settings()->workspace_max);
    if (code == HALFTONE_OK)
        code = library->set_host_threads(h, (int)settings->threads);
    if (code != HALFTONE_OK)
        return code;
    if (x->type == BLAS_d)
        return x->routine == BLAS_gemm
                   ? library->dgemm_host(h, x->op_a, x->op_b, x->m, x->n, x->k, x->alpha, x->a, x->lda, x->b, x->ldb, x->beta,
                                         x->c, x->ldc)
                   : library->dsyrk_host(h, x->uplo, x->op_a, x->n, x->k, x->alpha, x->a, x->lda, x->beta, x->c, x->ldc);
    return x->routine == BLAS_gemm
               ? library->sgemm_host(h, x->op_a, x->op_b, x->m, x->n, x->k, x->alpha, x->a, x->lda, x->b, x->ldb, x->beta,
                                     x->c, x->ldc)
               : library->ssyrk_host(h, x->uplo, x->op_a, x->n, x->k, x->alpha, x->a, x->lda, x->beta, x->c, x->ldc);
}

/* A call that failed when some of C was there already: the rest by the original. */
static bool finish(const struct dropin_library *library, halftone *h, const struct blas_call *x, blas_product *product) {
    struct blas_block t;
    bool any = false;
    for (; library->host_left(h, &t.row, &t.col, &t.rows, &t.cols); any = true)
        blas_finish(x, &t, product);
    return any;
}

/* With the turn. */
static bool serve(const struct blas_call *x, const struct dropin_call *call, const struct dropin_policy *policy,
                  blas_product *product) {
    char detail[DROPIN_LINE] = "";
    struct dropin_slot *slot = NULL;
    bool done = false;
    enum dropin_reason why = is_ending ? DROPIN_ENDING : dropin_take(cublas_device(), policy, &slot);
    if (why == DROPIN_SERVED && policy->native)
        why = ask_for_native(dropin_library(), slot);
    if (why == DROPIN_SERVED) {
        (void)pthread_once(&end_once, await_end);
        __atomic_store_n(&has_started, true, __ATOMIC_RELAXED);
        why = weigh(dropin_library(), slot->handle, policy, x);
    }
    if (why == DROPIN_SERVED) {
        const struct dropin_library *const library = dropin_library();
        const int code = compute(library, slot->handle, x);
        done = code == HALFTONE_OK;
        if (!done) {
            why = x->type == BLAS_d && code == HALFTONE_NOT_SUPPORTED ? DROPIN_SET_LACKS : dropin_reason_of(code);
            snprintf(detail, sizeof detail, "%s: %.800s", library->strerror(code), library->last_detail(slot->handle));
            done = finish(library, slot->handle, x, product);
        }
    }
    dropin_note(call, policy, why, detail[0] != '\0' ? detail : NULL, why == DROPIN_SERVED ? slot->handle : NULL);
    if (slot != NULL)
        dropin_give_back(slot);
    return done;
}

bool blas_serve(const struct blas_call *x, blas_product *product) {
    const struct dropin_call call = {.api = x->api,
                                     .name = x->name,
                                     .kind = x->type == BLAS_d ? DROPIN_KIND_FP64_HOST : DROPIN_KIND_FP32,
                                     .caller = x->caller,
                                     .op_a = x->op_a != '\0' ? x->op_a : '?',
                                     .op_b = x->op_b != '\0' ? x->op_b : '?',
                                     .m = x->m,
                                     .n = x->n,
                                     .k = x->k,
                                     .batch = 1,
                                     .triangle = x->routine == BLAS_syrk};
    struct dropin_policy policy;
    memset(&policy, 0, sizeof policy);
    (void)dropin_settings(); /* what is not decided by them is logged all the same */
    struct dropin_thread *const thread = &halftone_dropin_thread;
    const enum dropin_reason why = thread->depth > 0 ? DROPIN_NESTED : decide(x, &call, &policy);
    if (why != DROPIN_SERVED) {
        dropin_note(&call, &policy, why, NULL, NULL);
        return false;
    }
    bool done = false;
    thread->depth++;
    (void)dropin_library(); /* not with the turn: others may be in the dynamic linker */
    if (take_turn()) {
        done = serve(x, &call, &policy, product);
        dropin_unlock(DROPIN_LOCK_TURN);
    } else
        dropin_note(&call, &policy, DROPIN_START, NULL, NULL);
    thread->depth--;
    return done;
}

/* ---- the original ---- */

static void without_blas(const struct blas_call *x) {
    static int said;
    const struct blas_block all = {0, 0, x->m, x->n};
    const int wrong = blas_wrong_argument(x);
    const char *const name = x->name;
    if (wrong != 0)
        dropin_say("%s: parameter %d of the Fortran routine is wrong, and no BLAS is there to say so by xerbla", name, wrong);
    else if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) == 0)
        dropin_say("no library of this program has %s: HALFTONE_BLAS_CPU=FILE names a BLAS; slow loops until then", name);
    if (wrong == 0)
        blas_plain(x, &all);
}

bool blas_enter(const struct blas_call *x, blas_product *product, void **original) {
    *original = NULL;
    if (blas_serve(x, product))
        return true;
    *original = blas_original(x, x->name);
    if (*original == NULL) {
        without_blas(x);
        return true;
    }
    halftone_dropin_thread.depth++;
    return false;
}

void blas_leave(void) {
    halftone_dropin_thread.depth--;
}
