/* cublas_handles.c: the workspace that a program gave to a handle by cublasSetWorkspace, which cuBLAS has no function to ask for. It
 * holds until the handle gets another stream or is destroyed. Of more handles than the table holds it is not known. */

#include "cublas_face.h"

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

void cublas_find_workspace(const void *handle, void **workspace, size_t *bytes) {
    dropin_lock(DROPIN_LOCK_WORKSPACES);
    const int at = handle != NULL ? find(handle) : -1;
    *workspace = at >= 0 ? known[at].workspace : NULL;
    *bytes = at >= 0 ? known[at].bytes : 0;
    dropin_unlock(DROPIN_LOCK_WORKSPACES);
}
