/* cublas_serve.c: a product of cuBLAS by halftone: what its handle says, the form's row (cublas_forms.c), the product. */
#include <string.h>

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

typedef int get_stream(void *handle, void **stream);
typedef int get_int(void *handle, int *value);

/* false: the original must judge the handle. */
static bool ask_handle(const struct cublas_origin *o, void *handle, struct cublas_setting *s, int *math,
                       int *sm_target) {
    int pointer_mode = CU_POINTER_HOST;
    memset(s, 0, sizeof *s);
    *math = CU_MATH_DEFAULT;
    *sm_target = 0;
    if (ORIGINAL(o, get_stream, cublasGetStream_v2) == NULL ||
        ORIGINAL(o, get_int, cublasGetPointerMode_v2) == NULL ||
        ORIGINAL(o, get_int, cublasGetMathMode) == NULL || handle == NULL)
        return false;
    bool good = ORIGINAL(o, get_stream, cublasGetStream_v2)(handle, &s->stream) == CU_SUCCESS &&
                ORIGINAL(o, get_int, cublasGetPointerMode_v2)(handle, &pointer_mode) == CU_SUCCESS &&
                ORIGINAL(o, get_int, cublasGetMathMode)(handle, math) == CU_SUCCESS;
    if (good && ORIGINAL(o, get_int, cublasGetSmCountTarget) != NULL) /* since CUDA 11.4 */
        good = ORIGINAL(o, get_int, cublasGetSmCountTarget)(handle, sm_target) == CU_SUCCESS;
    s->device_scalars = pointer_mode == CU_POINTER_DEVICE;
    return good && (pointer_mode == CU_POINTER_HOST || pointer_mode == CU_POINTER_DEVICE);
}

static bool are_arguments_judged_here(const struct cublas_gemm *g) {
    const bool has_ops = g->op_a >= CU_OP_N && g->op_a <= CU_OP_C && g->op_b >= CU_OP_N && g->op_b <= CU_OP_C;
    return has_ops && g->m >= 0 && g->n >= 0 && g->k >= 0 && g->batch >= 0 && g->alpha != NULL &&
           g->beta != NULL;
}

static char letter(int op) {
    return op == CU_OP_N ? 'N' : 'T';
}

struct dropin_call cublas_describe(const struct cublas_entry *entry, const struct cublas_gemm *g) {
    const struct dropin_call call = {.api = g->api,
                                     .name = cublas_name_text((enum cublas_name)g->api),
                                     .kind = g->a_type == CU_R_64F ? DROPIN_KIND_FP64 : DROPIN_KIND_FP32,
                                     .caller = entry->caller,
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

int cublas_serve_gemm(const struct cublas_entry *entry, const struct cublas_gemm *g) {
    struct dropin_call call = cublas_describe(entry, g);
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
    else if (!are_arguments_judged_here(g) ||
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
