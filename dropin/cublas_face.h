/* cublas_face.h: what the files of the cuBLAS face say to each other. */
#ifndef DROPIN_CUBLAS_FACE_H
#define DROPIN_CUBLAS_FACE_H

#include "common.h"
#include "cublas_names.h"

/* Functions of one copy of cuBLAS that is loaded, as one or more callers would have found them. */
struct cublas_origin {
    void (*function[CUBLAS_NAMES])(void);
    struct cublas_origin *next;
};

/* Where a call comes from. origin NULL: nothing to call. nested: the caller is cuBLAS itself, or a call of ours is under way. */
struct cublas_entry {
    const void *caller;
    const struct cublas_origin *origin;
    bool nested;
};

/* cublas_origin.c. `name` is what is called, at `own`. */
struct cublas_entry cublas_enter(const void *caller, enum cublas_name name);
/* Says once that there is no original of this name; the status of a call that cannot be made. */
int cublas_has_no_original(enum cublas_name name);
/* Addresses of the face's own functions, by enum cublas_name; NULL for those that are not replaced. */
extern void (*const cublas_own[CUBLAS_NAMES])(void);

/* A product of any form; what a form lacks has the value that it stands for. */
struct cublas_gemm {
    enum dropin_api api;
    void *handle;
    int op_a, op_b;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int a_type, b_type, c_type, compute;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    bool strided;
};

/* cublas_forms.c: DROPIN_SERVED, or why this form is the original's. */
enum dropin_reason cublas_judge_form(int compute, int math, bool all_fp32);

/* How a product runs: asked of the handle, or of a description. */
struct cublas_setting {
    void *stream;
    bool device_scalars;
    void *workspace; /* the program's; NULL: none */
    size_t workspace_bytes;
};

/* cublas_product.c. true: served, all is launched. */
bool cublas_serve_gemm(const struct cublas_entry *entry, const struct cublas_gemm *gemm);
/* What both faces of cuBLAS do with a product whose form is served: decide, take a handle, multiply. */
enum dropin_reason cublas_multiply(const struct dropin_call *call, const struct cublas_gemm *gemm,
                                   const struct cublas_setting *setting, struct dropin_policy *policy);

/* cublas_handles.c: workspaces that programs have given to their handles. */
void cublas_note_workspace(const void *handle, void *workspace, size_t bytes);
void cublas_forget_workspace(const void *handle);
void cublas_find_workspace(const void *handle, void **workspace, size_t *bytes);

/* cublas_driver.c: of libcuda.so.1, where the process has loaded it. */
int cublas_device(void); /* the current one; 0 where there is no driver */
bool cublas_is_capturing(void *stream);

#endif
