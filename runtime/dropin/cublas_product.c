/* cublas_product.c: a product of a form that is served: a handle of ours, its workspace, the launch; for cuBLAS and AMD's libraries.
 * Nothing is launched before everything that may fail for another reason than the device has been checked, so that the original
 * can run instead. Where the device refuses a launch behind another, and C is read, the call fails. */
#include <stdio.h>
#include <string.h>

#include "cublas_face.h"

typedef int get_stream(void *handle, void **stream);
typedef int get_int(void *handle, int *value);

bool cublas_ask_handle(void (*const get[4])(void), void *handle, struct cublas_setting *s, int *math, int *sm_target) {
    int pointer_mode = CU_POINTER_HOST;
    memset(s, 0, sizeof *s);
    *math = *sm_target = 0;
    if (get[0] == NULL || get[1] == NULL || handle == NULL)
        return false;
    const bool good = ((get_stream *)get[0])(handle, &s->stream) == CU_SUCCESS &&
                      ((get_int *)get[1])(handle, &pointer_mode) == CU_SUCCESS &&
                      (get[2] == NULL || ((get_int *)get[2])(handle, math) == CU_SUCCESS) &&
                      (get[3] == NULL || ((get_int *)get[3])(handle, sm_target) == CU_SUCCESS);
    s->device_scalars = pointer_mode == CU_POINTER_DEVICE;
    return good && (pointer_mode == CU_POINTER_HOST || pointer_mode == CU_POINTER_DEVICE);
}

bool cublas_are_arguments_judged_here(const struct cublas_gemm *g) {
    const bool has_ops = g->op_a >= CU_OP_N && g->op_a <= CU_OP_C && g->op_b >= CU_OP_N && g->op_b <= CU_OP_C;
    return has_ops && g->m >= 0 && g->n >= 0 && g->k >= 0 && g->batch >= 0 && g->alpha != NULL &&
           g->beta != NULL;
}

static char letter(int op) {
    return op == CU_OP_N ? 'N' : 'T';
}

struct dropin_call cublas_describe(const char *name, const void *caller, const struct cublas_gemm *g) {
    const struct dropin_call call = {.api = g->api,
                                     .kind = g->a_type == CU_R_64F ? DROPIN_KIND_FP64 : DROPIN_KIND_FP32,
                                     .name = name,
                                     .caller = caller,
                                     .op_a = letter(g->op_a),
                                     .op_b = letter(g->op_b),
                                     .m = g->m,
                                     .n = g->n,
                                     .k = g->k,
                                     .batch = g->batch,
                                     .triangle = g->origin != NULL,
                                     .least_work = g->run != NULL ? g->least_work : cublas_least_of_one(g->a_type)};
    return call;
}

int cublas_raise_workspace(const struct cublas_run *run, int64_t m, int64_t n, int64_t k, int64_t batch, size_t *bytes) {
    const struct dropin_call *const c = run->call;
    size_t needed = 0;
    const int code = (c->kind == DROPIN_KIND_FP32 ? run->library->workspace_bytes
                                                  : run->library->dworkspace_bytes)(run->handle, c->op_a, c->op_b, m, n, k, batch, &needed);
    *bytes = needed > *bytes ? needed : *bytes;
    return code;
}

int cublas_set_workspace(const struct cublas_run *run, size_t needed) {
    const struct cublas_setting *const s = run->setting;
    const size_t most = dropin_settings()->workspace_max;
    const bool fits = s->workspace != NULL && needed <= s->workspace_bytes && (uintptr_t)s->workspace % HALFTONE_ALIGNMENT == 0;
    if (!fits && most > 0 && needed > most)
        return HALFTONE_WORKSPACE;
    return run->library->set_workspace(run->handle, fits ? s->workspace : NULL, fits ? s->workspace_bytes : 0);
}

/* What is products of other sizes than the call's sets the workspace itself. */
static int prepare(const struct cublas_run *run, bool is_triangle) {
    const struct dropin_call *const c = run->call;
    const struct cublas_setting *const s = run->setting;
    size_t needed = 0;
    int code = run->library->set_stream(run->handle, s->stream);
    if (code == HALFTONE_OK)
        code = run->library->set_pointer_mode(run->handle, s->device_scalars ? HALFTONE_DEVICE : HALFTONE_HOST);
    if (code != HALFTONE_OK || is_triangle)
        return code;
    if (s->workspace != NULL || dropin_settings()->workspace_max > 0)
        code = cublas_raise_workspace(run, c->m, c->n, c->k, c->batch, &needed);
    return code == HALFTONE_OK ? cublas_set_workspace(run, needed) : code;
}

bool cublas_reads_c(enum dropin_kind kind, const void *beta, const struct cublas_setting *s) {
    return s->device_scalars || (kind == DROPIN_KIND_FP32 ? *(const float *)beta != 0.0f : *(const double *)beta != 0.0);
}

/* Of either type: they differ in what the pointers point to. */
typedef int product(halftone *h, char op_a, char op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, int64_t stride_a,
                    const void *b, int64_t ldb, int64_t stride_b, const void *beta, void *c, int64_t ldc, int64_t stride_c, int64_t batch);

int cublas_run_prepared(const struct cublas_run *run, const struct cublas_gemm *g) {
    const struct dropin_call *const c = run->call;
    void (*const function)(void) = c->kind == DROPIN_KIND_FP32 ? (void (*)(void))run->library->sgemm_strided_batched
                                                               : (void (*)(void))run->library->dgemm_strided_batched;
    const int code = ((product *)function)(run->handle, c->op_a, c->op_b, g->m, g->n, g->k, g->alpha, g->a, g->lda, g->stride_a, g->b, g->ldb, g->stride_b,
                                           g->beta, g->c, g->ldc, g->stride_c, g->batch);
    return code != HALFTONE_OK && run->library->changed_c(run->handle) && !g->keeps_c && cublas_reads_c(c->kind, g->beta, run->setting)
               ? DROPIN_CODE_SPOILT
               : code;
}

/* DROPIN_SERVED, or why not and, of halftone's own errors, its words. */
static enum dropin_reason run_around(const struct cublas_run *run, const struct cublas_gemm *g, const struct cublas_around *around,
                                     char detail[256]) {
    if (around != NULL && !around->before(around->data))
        return DROPIN_NO_DRIVER;
    enum dropin_reason why = DROPIN_SERVED;
    int code = prepare(run, g->origin != NULL);
    if (code == HALFTONE_OK && g->run != NULL)
        why = g->run(run, g, &code);
    else if (code == HALFTONE_OK)
        code = cublas_run_prepared(run, g);
    if (why != DROPIN_SERVED)
        return why;
    if (code != HALFTONE_OK) {
        snprintf(detail, 256, "%.90s %.150s", run->library->strerror(code == DROPIN_CODE_SPOILT ? HALFTONE_DEVICE_ERROR : code),
                 run->library->last_detail(run->handle));
        return dropin_reason_of(code);
    }
    return around == NULL || around->after(around->data) ? DROPIN_SERVED : DROPIN_EPILOGUE;
}

/* cuBLAS' own emulation runs where it is faster than its FP64 arithmetic, about whose speed halftone's own has. So what the library
 * would do by its own FP64 arithmetic is left to the original. */
static bool emulation_pays(struct dropin_slot *slot, const struct dropin_call *c) {
    struct dropin_weighed *const at = &slot->weighed[(uint64_t)(c->m * 31 + c->n * 7 + c->k + c->batch) % DROPIN_WEIGHED];
    if (at->batch != c->batch || at->m != c->m || at->n != c->n || at->k != c->k) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        at->pays = dropin_library()->dquery(slot->handle, c->op_a, c->op_b, c->m, c->n, c->k, c->batch, &plan) == HALFTONE_OK &&
                   plan.moduli > 0;
        at->m = c->m, at->n = c->n, at->k = c->k, at->batch = c->batch;
    }
    return at->pays;
}

enum dropin_reason cublas_multiply(const struct dropin_call *call, const struct cublas_gemm *g,
                                   const struct cublas_setting *setting, const struct cublas_around *around,
                                   struct dropin_policy *policy) {
    struct dropin_slot *slot = NULL;
    char detail[256] = "";
    enum dropin_reason why = dropin_decide(call, policy);
    if (why == DROPIN_SERVED) {
        const int device = cublas_device();
        halftone_dropin_thread.depth++;
        if (device < 0)
            why = DROPIN_CONTEXT;
        else if (!dropin_is_warm(device) && cublas_is_capturing(setting->stream))
            why = DROPIN_CAPTURE;
        else
            why = dropin_take(device, policy, &slot);
        if (slot != NULL && policy->if_it_pays && !emulation_pays(slot, call))
            why = DROPIN_NATIVE;
        else if (slot != NULL) {
            const struct cublas_run run = {dropin_library(), slot->handle, call, setting};
            why = run_around(&run, g, around, detail);
        }
        halftone_dropin_thread.depth--;
    }
    dropin_note(call, policy, why, detail[0] != '\0' ? detail : NULL,
                why == DROPIN_SERVED ? slot->handle : NULL);
    if (slot != NULL)
        dropin_give_back(slot);
    return why;
}
