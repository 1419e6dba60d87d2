/* cublas_face.h: what the files of the cuBLAS face say to each other. */
#ifndef DROPIN_CUBLAS_FACE_H
#define DROPIN_CUBLAS_FACE_H

#include "common.h"
#include "cublas_names.h"

#pragma GCC visibility push(hidden)

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

/* cublas_origin.c. `name` is what is called, `caller` the place in the program. */
struct cublas_entry cublas_enter(const void *caller, enum cublas_name name);
/* The object at this load address has looked a function of cuBLAS up in the file of this path. */
void cublas_note_lookup(uintptr_t object, const char *path);
const char *cublas_name_text(enum cublas_name name); /* which begin as those of enum dropin_api */
/* Says once that there is no original of this name; the status of a call that cannot be made. */
int cublas_has_no_original(enum cublas_name name);
/* The face's own function of this name. */
void *cublas_own(const char *name);

struct cublas_gemm;
struct cublas_setting;
/* With a handle of ours at hand. */
struct cublas_run {
    const struct dropin_library *library;
    halftone *handle;
    const struct dropin_call *call;
    const struct cublas_setting *setting;
};
/* What is more than one product. DROPIN_SERVED: *code is a product's; else nothing was launched. */
typedef enum dropin_reason cublas_runner(const struct cublas_run *run, const struct cublas_gemm *gemm, int *code);

/* A product of any form; what a form lacks has the value that it stands for: one matrix is a batch of 1, with strides of 0. */
struct cublas_gemm {
    enum dropin_api api;
    void *handle;
    int op_a, op_b;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int a_type, b_type, c_type, compute;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    cublas_runner *run;         /* of arrays: a, b and c are arrays of pointers on the device; of a triangle; else NULL */
    int64_t *done;              /* of arrays how many products were launched; of a triangle 0, or, where the original did a part: 1 + its status */
    double least_work;          /* of those; see struct dropin_call */
    const struct cublas_origin *origin; /* of a triangle, C's or, of TRSM, A's: the original, and which of the two */
    bool keeps_c;               /* what beta is of is another matrix than what is written */
    int uplo, side, diag;       /* of TRSM c is b, k is the triangle's rows, and the other operand's operation is none */
};

static inline size_t cublas_element_bytes(enum dropin_kind kind) {
    return kind == DROPIN_KIND_FP32 ? sizeof(float) : sizeof(double);
}

/* How a product runs: asked of the handle, or of a description. */
struct cublas_setting {
    void *stream;
    bool device_scalars;
    void *workspace; /* the program's; NULL: none */
    size_t workspace_bytes;
};

/* cublas_forms.c: DROPIN_SERVED, or why this form is the original's, by its types, compute type and math mode. */
enum dropin_reason cublas_judge_form(const struct cublas_gemm *gemm, int math, enum dropin_kind *kind);
/* The same by a library's rows, of which the first that holds decides: numbers of its enums and ours. */
struct cublas_form {
    unsigned char type, compute, math, why, kind;
};
enum { CUBLAS_ANY = 255 };
enum dropin_reason cublas_judge_by(const struct cublas_form *rows, size_t count, const struct cublas_gemm *gemm, int math, enum dropin_kind *kind);

/* cublas_product.c: with the handle's stream, scalars and workspace set. DROPIN_CODE_SPOILT: a product that failed has changed a C that it reads: nobody
 * can do it again. */
int cublas_run_prepared(const struct cublas_run *run, const struct cublas_gemm *gemm);
/* Whether a product reads C; a beta on the device counts as not zero. */
bool cublas_reads_c(enum dropin_kind kind, const void *beta, const struct cublas_setting *setting);
/* Raises *bytes to the workspace of a product of these sizes, with the call's operations. */
int cublas_raise_workspace(const struct cublas_run *run, int64_t m, int64_t n, int64_t k, int64_t batch, size_t *bytes);
/* The program's block where it has so many bytes, else memory of the stream. */
int cublas_set_workspace(const struct cublas_run *run, size_t bytes);
/* cublas_arrays.c, cublas_triangle.c, cublas_solve.c: likewise, triangles with the workspace to be set. Least work of arrays, which are read: the device then waits for the host, some 20 us of
 * at least 300; of a triangle, which has up to 20 small launches beside its products, or blocks that only the original solves (bench/decisions/057). */
cublas_runner cublas_run_arrays, cublas_run_triangle, cublas_run_solve;
/* Of one product: 128 cubed, from where on halftone was no slower than cuBLAS where it was measured; of FP64, where whether it pays is asked of the
 * model from here on, 256 cubed: a question costs microseconds. */
static inline double cublas_least_of_one(int type) {
    return type == CU_R_64F ? 256.0 * 256.0 * 256.0 : 128.0 * 128.0 * 128.0;
}
#define CUBLAS_LEAST_OF_ARRAYS (2048.0 * 2048.0 * 2048.0)
#define CUBLAS_LEAST_OF_TRIANGLE (4096.0 * 4096.0 * 4096.0)

/* cublas_product.c. The call's status; CUBLAS_LEFT: the original's to do. */
enum { CUBLAS_LEFT = -1 };
static inline int cublas_status_of(enum dropin_reason why) {
    return why == DROPIN_SERVED ? CU_SUCCESS : why == DROPIN_SPOILT ? CU_EXECUTION_FAILED : CUBLAS_LEFT;
}
/* What a form does on the stream around the product, with a handle at hand and nothing launched yet; false: the original runs. */
struct cublas_around {
    bool (*before)(const void *data), (*after)(const void *data);
    const void *data;
};
/* What a handle says, by its library's getters of stream, pointer mode, math mode, multiprocessors; the last two may be absent. false:
 * the original must judge it. */
bool cublas_ask_handle(void (*const get[4])(void), void *handle, struct cublas_setting *setting, int *math, int *sm_target);
bool cublas_are_arguments_judged_here(const struct cublas_gemm *gemm);
struct dropin_call cublas_describe(const char *name, const void *caller, const struct cublas_gemm *gemm);
/* A product whose form is served: decide, take a handle, multiply, note. `around` may be NULL. */
enum dropin_reason cublas_multiply(const struct dropin_call *call, const struct cublas_gemm *gemm,
                                   const struct cublas_setting *setting, const struct cublas_around *around,
                                   struct dropin_policy *policy);

/* cublas_serve.c */
int cublas_serve_gemm(const struct cublas_entry *entry, const struct cublas_gemm *gemm);
struct dropin_call cublas_describe_entry(const struct cublas_entry *entry, const struct cublas_gemm *gemm);
/* Workspaces that programs give to their handles. */
void cublas_note_workspace(const void *handle, void *workspace, size_t bytes);
void cublas_forget_workspace(const void *handle);

/* cublas_driver.c: of libcuda.so.1, where the process has loaded it. */
/* The current one; 0 where there is no driver or no context; -1: its context is not the first that called on this device, and a
 * handle of ours is of that. */
int cublas_device(void);
bool cublas_is_capturing(void *stream);
/* On the stream; false: not done. Rows of `width` bytes, each side's so many apart as its pitch. */
bool cublas_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t rows, void *stream);
bool cublas_fill(void *memory, float number, size_t floats, void *stream);
void *cublas_allocate(size_t bytes, void *stream); /* NULL: none */
void cublas_free(void *memory, void *stream);
/* To the host's memory, behind what is on the stream: complete after cublas_wait. false: not done. */
bool cublas_read(void *to, const void *from, size_t bytes, void *stream);
bool cublas_wait(void *stream);

/* The function behind a name, as type T. */
#define ORIGINAL(origin, T, name) ((T *)(origin)->function[NAME_##name])

/* A call of cublasLtMatmul as its descriptions say it. */
struct lt_problem {
    struct cublas_gemm gemm; /* of D, as columns: operands are exchanged where the order is rows */
    enum dropin_kind kind;
    struct cublas_setting setting;
    int epilogue, order;
    const void *bias;
    int bias_type;
    const void *c;
    int64_t c_ld, c_stride;
    int64_t rows, cols; /* of D, in its order */
};

/* lt_read.c: fills what the descriptions say of p. DROPIN_SERVED, or why the original must do it. */
enum dropin_reason lt_read(const struct cublas_origin *origin, void *desc, void *const layouts[4],
                           struct lt_problem *p);
/* lt_epilogue.c: D = act(bias + D), by cuBLASLt itself: a product 1 long, with D added. false: not done. */
bool lt_apply_epilogue(const struct cublas_origin *origin, void *handle, void *d_layout,
                       const struct lt_problem *p);

#pragma GCC visibility pop

#endif
