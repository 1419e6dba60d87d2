/* hip_face.h: what the files of the AMD face say to each other; products go through cublas_multiply. */
#ifndef DROPIN_HIP_FACE_H
#define DROPIN_HIP_FACE_H

#include "common.h"
#include "cublas_face.h"
#include "hip_names.h"

enum hip_library { HIP_hipblas, HIP_rocblas };

struct hip_call {
    enum hip_library library;
    const char *name;
    const void *caller, *own;
    struct cublas_gemm gemm;  /* types by the numbers of this library, operations by cuBLAS' */
    const void *old_c;        /* what beta is multiplied with, where rocBLAS has it apart; else c */
    int old_c_type;
    int64_t old_ldc, old_stride_c;
    unsigned flags;
};

/* true: served, or failed where nobody can do it again: *status is the answer. false: *original is to be called, then hip_leave; NULL: there is none, *status is the answer. */
bool hip_enter(const struct hip_call *x, void **original, int *status);
void hip_leave(void);

/* hip_original.c: what the caller would have reached under this name; *nested: the caller is one of the two libraries. */
void *hip_original(enum hip_library library, const void *caller, const char *name, const void *own, bool *nested);

#endif
