/* cublas_serve.c: a product of cuBLAS by halftone: what its handle says, the form's row (cublas_forms.c), the product. */
#include "cublas_face.h"

/* ---- the workspace that a program gave to a handle by cublasSetWorkspace, which cuBLAS has no function to ask for. It holds until the
 * handle gets another stream or is destroyed. Of more handles than the table holds it is not known. ---- */

enum { HANDLES = 256 };

static struct {
    const void *handle;
    void *workspace;
    size_t bytes;
} known[HANDLES];
static int used; /* no entry behind it is */

/* The entry of a handle, of NULL a free one; -1: none. */
static int find(const void *handle) {
    for (int i = 0; i < used; i++)
        if (known[i].handle == handle)
            return i;
    return handle == NULL && used < HANDLES ? used++ : -1;
}

void cublas_note_workspace(const void *handle, void *workspace, size_t bytes) {
    dropin_lock(DROPIN_LOCK_WORKSPACES);
    int at = find(handle);
    if (at < 0)
        at = find(NULL);
    if (at >= 0) {
        known[at].handle = workspace != NULL && bytes > 0 ? handle : NULL;
        known[at].workspace = workspace;
        known[at].bytes = bytes;
    }
    dropin_unlock(DROPIN_LOCK_WORKSPACES);
}

void cublas_forget_workspace(const void *handle) {
    dropin_lock(DROPIN_LOCK_WORKSPACES);
    const int at = find(handle);
    if (at >= 0 && handle != NULL)
        known[at].handle = NULL;
    dropin_unlock(DROPIN_LOCK_WORKSPACES);
}

static void find_workspace(const void *handle, void **workspace, size_t *bytes) {
    dropin_lock(DROPIN_LOCK_WORKSPACES);
    const int at = handle != NULL ? find(handle) : -1;
    *workspace = at >= 0 ? known[at].workspace : NULL;
    *bytes = at >= 0 ? known[at].bytes : 0;
    dropin_unlock(DROPIN_LOCK_WORKSPACES);
}

/* ---- the product ---- */

/* false: the original must judge the handle. */
static bool ask_handle(const struct cublas_origin *o, void *handle, struct cublas_setting *s, int *math, int *sm_target) {
    void (*const get[])(void) = {o->function[NAME_cublasGetStream_v2], o->function[NAME_cublasGetPointerMode_v2],
                                 o->function[NAME_cublasGetMathMode], o->function[NAME_cublasGetSmCountTarget]};
    return get[2] != NULL && cublas_ask_handle(get, handle, s, math, sm_target);
}

struct dropin_call cublas_describe_entry(const struct cublas_entry *entry, const struct cublas_gemm *g) {
    return cublas_describe(cublas_name_text((enum cublas_name)g->api), entry->caller, g);
}

int cublas_serve_gemm(const struct cublas_entry *entry, const struct cublas_gemm *g) {
    struct dropin_call call = cublas_describe_entry(entry, g);
    struct dropin_policy policy = {0};
    struct cublas_setting setting;
    int math, sm_target;
    enum dropin_reason why = DROPIN_SERVED;
    if (entry->nested)
        why = DROPIN_NESTED;
    else if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    else if (dropin_is_surely_small(&call))
        why = DROPIN_SMALL;
    else if (!cublas_are_arguments_judged_here(g) ||
             !ask_handle(entry->origin, g->handle, &setting, &math, &sm_target))
        why = DROPIN_ARGUMENTS;
    else
        why = cublas_judge_form(g, math, &call.kind);
    if (why == DROPIN_SERVED && sm_target != 0)
        why = DROPIN_SM_TARGET;
    if (why == DROPIN_SERVED) {
        find_workspace(g->handle, &setting.workspace, &setting.workspace_bytes);
        why = cublas_multiply(&call, g, &setting, NULL, &policy);
        const int status = cublas_status_of(why);
        return status == CUBLAS_LEFT && g->origin != NULL ? (int)*g->done - 1 : status;
    }
    dropin_note(&call, &policy, why, NULL, NULL);
    return CUBLAS_LEFT;
}
