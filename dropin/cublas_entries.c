/* cublas_entries.c: the functions that take the place of cuBLAS'. Each has the form and the name of one there, without its
 * version: a preloaded object that has none satisfies references with any. Where halftone does not serve, the original gets the
 * same arguments. */
#include "cublas_face.h"

/* clang-format off */
/* Of a function: who called it, which it is, and the type of its matrices where its parameters do not say it. */
struct called {
    const void *caller;
    enum cublas_name name;
    int type;
};

#define TYPE_OF_NAME .a_type = by.type, .b_type = by.type, .c_type = by.type, .compute = by.type == CU_R_64F ? CU_COMPUTE_64F : CU_COMPUTE_32F
#define TYPES_GIVEN .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute
#define MATRIX_TYPES_GIVEN .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = CU_COMPUTE_32F
#define ONE_MATRIX .batch = batch
#define OF_ONE const int64_t batch = 1;
#define BATCH_GIVEN .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch, .strided = true
#define ARRAYS_GIVEN .batch = batch, .run = cublas_run_arrays, .done = &done, .least_work = CUBLAS_LEAST_OF_ARRAYS
/* Of a triangle, whose second operand is the first, transposed. */
#define TRIANGLE_GIVEN                                                                                       \
    .batch = batch, .run = cublas_run_triangle, .done = &done, .least_work = CUBLAS_LEAST_OF_TRIANGLE, .uplo = uplo, .origin = entry.origin
#define OF_TRIANGLE                                                                                          \
    int64_t done = 0;                                                                                        \
    const int op_b = op_a == CU_OP_N ? CU_OP_T : CU_OP_N;                                                    \
    const int64_t m = n, ldb = lda, batch = 1;                                                               \
    const void *const b = a;
/* Where the original did a part it has done the rest. */
#define UNLESS_DONE                                                                                          \
    if (done > 0)                                                                                            \
        return (int)(done - 1);
/* Of arrays of pointers the original does the products that were not launched. */
#define WITHOUT_DONE a += done, b += done, c += done, batch -= done;

/* One function for all names of a form: how the parameters stand in struct cublas_gemm, and the original with the same arguments. Its sizes may have
 * 32 bits: of an argument, in a register or on the stack, it then reads the lower half (calling conventions of x86-64 and AArch64), so one call is both. */
#define FORM(form, PARAMETERS, VALUES, TYPES, BATCH, LEAST, LOCAL, REST)                                     \
    typedef int form##_function(PARAMETERS(int64_t));                                                        \
    __attribute__((noinline)) static int form(PARAMETERS(int64_t), struct called by) {                       \
        const struct cublas_entry entry = cublas_enter(by.caller, by.name);                                  \
        LOCAL                                                                                                \
        if (entry.origin == NULL)                                                                            \
            return cublas_has_no_original(by.name);                                                          \
        const enum dropin_api api = (enum dropin_api)((int)by.name + FIRST_API);                             \
        if (!dropin_hand_small_on(api, entry.nested, m, n, k, batch, LEAST)) {                               \
            const struct cublas_gemm g = {.api = api, .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .alpha = alpha, \
                                          .a = a, .b = b, .beta = beta, .c = (void *)(uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc, TYPES, BATCH}; \
            if (cublas_serve_gemm(&entry, &g))                                                               \
                return CU_SUCCESS;                                                                           \
            REST                                                                                             \
        }                                                                                                    \
        halftone_dropin_thread.depth++;                                                                      \
        const int status = ((form##_function *)entry.origin->function[by.name])(VALUES(int64_t));            \
        halftone_dropin_thread.depth--;                                                                      \
        return status;                                                                                       \
    }
enum { FIRST_API = DROPIN_API_cublasSgemm_v2 }; /* names begin as the counted ones, below */

#define GEMM(S) CUBLAS_GEMM_ARGS(void, S)
#define GEMM_STRIDED(S) CUBLAS_GEMM_STRIDED_ARGS(void, S)
#define GEMM_BATCHED(S) CUBLAS_GEMM_BATCHED_ARGS(void, S)
#define VALUES_GEMM(S) handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, (S)lda, b, (S)ldb, beta, c, (S)ldc
#define VALUES_STRIDED(S)                                                                                    \
    handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, (S)lda, stride_a, b, (S)ldb, stride_b, beta, c, (S)ldc, stride_c, (S)batch
#define VALUES_BATCHED(S) VALUES_GEMM(S), (S)batch
#define VALUES_SGEMM_EX(S) handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, a_type, (S)lda, b, b_type, (S)ldb, beta, c, c_type, (S)ldc
#define VALUES_GEMM_EX(S) VALUES_SGEMM_EX(S), compute, algo
#define SYRK(S) CUBLAS_SYRK_ARGS(void, S)
#define VALUES_SYRK(S) handle, uplo, op_a, (S)n, (S)k, alpha, a, (S)lda, beta, c, (S)ldc
#define VALUES_BATCHED_EX(S) VALUES_SGEMM_EX(S), (S)batch, compute, algo
#define VALUES_STRIDED_EX(S)                                                                                 \
    handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, a_type, (S)lda, stride_a, b, b_type, (S)ldb, stride_b,   \
        beta, c, c_type, (S)ldc, stride_c, (S)batch, compute, algo

FORM(gemm, GEMM, VALUES_GEMM, TYPE_OF_NAME, ONE_MATRIX, cublas_least_of_one(by.type), OF_ONE, )
FORM(gemm_strided, GEMM_STRIDED, VALUES_STRIDED, TYPE_OF_NAME, BATCH_GIVEN, cublas_least_of_one(by.type), , )
FORM(gemm_batched, GEMM_BATCHED, VALUES_BATCHED, TYPE_OF_NAME, ARRAYS_GIVEN, CUBLAS_LEAST_OF_ARRAYS, int64_t done = 0;, WITHOUT_DONE)
FORM(syrk, SYRK, VALUES_SYRK, TYPE_OF_NAME, TRIANGLE_GIVEN, CUBLAS_LEAST_OF_TRIANGLE, OF_TRIANGLE, UNLESS_DONE)
FORM(sgemm_ex, CUBLAS_SGEMM_EX_ARGS, VALUES_SGEMM_EX, MATRIX_TYPES_GIVEN, ONE_MATRIX, cublas_least_of_one(a_type), OF_ONE, )
FORM(gemm_ex, CUBLAS_GEMM_EX_ARGS, VALUES_GEMM_EX, TYPES_GIVEN, ONE_MATRIX, cublas_least_of_one(a_type), OF_ONE, )
FORM(gemm_strided_ex, CUBLAS_GEMM_STRIDED_EX_ARGS, VALUES_STRIDED_EX, TYPES_GIVEN, BATCH_GIVEN, cublas_least_of_one(a_type), , )
FORM(gemm_batched_ex, CUBLAS_GEMM_BATCHED_EX_ARGS, VALUES_BATCHED_EX, TYPES_GIVEN, ARRAYS_GIVEN, CUBLAS_LEAST_OF_ARRAYS, int64_t done = 0;, WITHOUT_DONE)

/* A function, and the same with sizes of 64 bits. */
#define ONE_ENTRY(name, form, PARAMETERS, VALUES, type, S)                                                   \
    DROPIN_EXPORT int name(PARAMETERS(S));                                                                   \
    int name(PARAMETERS(S)) {                                                                                \
        const struct called by = {__builtin_return_address(0), NAME_##name, type};                            \
        return form(VALUES(S), by);                                                                          \
    }
#define ENTRIES(name, form, PARAMETERS, VALUES, type)                                                        \
    ONE_ENTRY(name, form, PARAMETERS, VALUES, type, int)                                                     \
    ONE_ENTRY(name##_64, form, PARAMETERS, VALUES, type, int64_t)
/* clang-format on */

ENTRIES(cublasSgemm_v2, gemm, GEMM, VALUES_GEMM, CU_R_32F)
ENTRIES(cublasDgemm_v2, gemm, GEMM, VALUES_GEMM, CU_R_64F)
ENTRIES(cublasSgemmStridedBatched, gemm_strided, GEMM_STRIDED, VALUES_STRIDED, CU_R_32F)
ENTRIES(cublasDgemmStridedBatched, gemm_strided, GEMM_STRIDED, VALUES_STRIDED, CU_R_64F)
ENTRIES(cublasSgemmBatched, gemm_batched, GEMM_BATCHED, VALUES_BATCHED, CU_R_32F)
ENTRIES(cublasDgemmBatched, gemm_batched, GEMM_BATCHED, VALUES_BATCHED, CU_R_64F)
ENTRIES(cublasSsyrk_v2, syrk, SYRK, VALUES_SYRK, CU_R_32F)
ENTRIES(cublasDsyrk_v2, syrk, SYRK, VALUES_SYRK, CU_R_64F)
ENTRIES(cublasSgemmEx, sgemm_ex, CUBLAS_SGEMM_EX_ARGS, VALUES_SGEMM_EX, CU_R_32F)
ENTRIES(cublasGemmEx, gemm_ex, CUBLAS_GEMM_EX_ARGS, VALUES_GEMM_EX, CU_R_32F)
ENTRIES(cublasGemmStridedBatchedEx, gemm_strided_ex, CUBLAS_GEMM_STRIDED_EX_ARGS, VALUES_STRIDED_EX, CU_R_32F)
ENTRIES(cublasGemmBatchedEx, gemm_batched_ex, CUBLAS_GEMM_BATCHED_EX_ARGS, VALUES_BATCHED_EX, CU_R_32F)

/* ---- what tells of a handle's workspace ---- */

typedef int set_stream(void *handle, void *stream);
typedef int set_workspace(void *handle, void *workspace, size_t bytes);
typedef int destroy(void *handle);

DROPIN_EXPORT int cublasSetStream_v2(void *handle, void *stream);
DROPIN_EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
DROPIN_EXPORT int cublasDestroy_v2(void *handle);

/* Resets the workspace to cuBLAS' own. */
int cublasSetStream_v2(void *handle, void *stream) {
    PREPARE(cublasSetStream_v2)
    cublas_forget_workspace(handle);
    return ((set_stream *)entry.origin->function[NAME_cublasSetStream_v2])(handle, stream);
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
    PREPARE(cublasSetWorkspace_v2)
    const int status =
        ((set_workspace *)entry.origin->function[NAME_cublasSetWorkspace_v2])(handle, workspace, bytes);
    if (status == CU_SUCCESS && handle != NULL)
        cublas_note_workspace(handle, workspace, bytes);
    return status;
}

int cublasDestroy_v2(void *handle) {
    PREPARE(cublasDestroy_v2)
    cublas_forget_workspace(handle);
    return ((destroy *)entry.origin->function[NAME_cublasDestroy_v2])(handle);
}

/* The products' names, as DROPIN_CUBLAS_APIS has them, and behind them those of all other functions. */
DROPIN_FACE(CUBLAS_ALL, cublasSgemm_v2)

const char *cublas_name_text(enum cublas_name name) {
    return dropin_text_at(dropin_face_names, (int)name);
}

_Static_assert((int)NAME_cublasStrsm_v2_64 == (int)DROPIN_API_cublasStrsm_v2_64 - (int)DROPIN_API_cublasSgemm_v2,
               "names begin as the counted ones");
