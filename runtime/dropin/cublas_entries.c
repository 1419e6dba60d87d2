/* cublas_entries.c: the functions that take the place of cuBLAS'. Each has the form and the name of one there, without its
 * version: a preloaded object that has none satisfies references with any. Where halftone does not serve, the original gets the
 * same arguments. */
#include "cublas_face.h"

/* clang-format off */
/* Of a function: who called it, which it is (enum cublas_name), the type of its matrices where its parameters do not say it, and of what kind it is. */
struct called {
    const void *caller;
    short name;
    signed char type;
    unsigned char kind;
};
/* Sizes of 64 bits; parameters that the form has beside are not there. */
enum { IS_WIDE = 1, IS_SHORT = 2 };
#define IS_LONG 0

#define COMPUTE_OF(type) (type == CU_R_64F ? CU_COMPUTE_64F : CU_COMPUTE_32F)
#define TYPE_OF_NAME .a_type = by.type, .b_type = by.type, .c_type = by.type, .compute = COMPUTE_OF(by.type)
#define TYPES_GIVEN .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute
#define ONE_MATRIX .batch = batch
#define OF_ONE const int64_t batch = 1;
#define BATCH_GIVEN .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch
#define ARRAYS_GIVEN .batch = batch, .run = cublas_run_arrays, .done = &done, .least_work = CUBLAS_LEAST_OF_ARRAYS
#define OF_ARRAYS int64_t done = 0;
/* Of a triangle, whose second operand is transposed as the first is not. */
#define TRIANGLE_GIVEN TRIANGLE_BY(cublas_run_triangle)
#define TRIANGLE_BY(runner)                                                                                  \
    .batch = batch, .run = runner, .done = &done, .least_work = CUBLAS_LEAST_OF_TRIANGLE, .uplo = uplo, .origin = entry.origin
#define OF_TRIANGLE                                                                                          \
    int64_t done = 0;                                                                                        \
    const int op_b = op_a == CU_OP_N ? CU_OP_T : CU_OP_N;                                                    \
    const int64_t m = n, batch = 1;
/* Of TRSM, whose product is B less op(A) X or X op(A). */
#define SOLVE_GIVEN TRIANGLE_BY(cublas_run_solve), .side = side, .diag = diag
#define OF_SOLVE                                                                                             \
    int64_t done = 0;                                                                                        \
    const int op_a = side == CU_LEFT ? op : CU_OP_N, op_b = side == CU_LEFT ? CU_OP_N : op;                  \
    const int64_t k = side == CU_LEFT ? m : n, ldc = ldb, batch = 1;                                         \
    const void *const beta = alpha;                                                                          \
    void *const c = b;
/* Of arrays of pointers the original does the products that were not launched. */
#define WITHOUT_DONE a += done, b += done, c += done, batch -= done;

/* The types of originals of a shape, by the width of their sizes, and a call of one of them with its arguments. */
#define SHAPE(shape, PARAMETERS)                                                                             \
    typedef int shape##_of_int(PARAMETERS(int));                                                             \
    typedef int shape##_of_int64(PARAMETERS(int64_t));
#define ORIGINAL_AS(shape, VALUES)                                                                           \
    (by.kind & IS_WIDE ? ((shape##_of_int64 *)original)(VALUES(int64_t)) : ((shape##_of_int *)original)(VALUES(int)))
#define ONE_OF(SHORT, LONG) (by.kind & IS_SHORT ? SHORT : LONG)

/* One function for all names of a form: how the parameters stand in struct cublas_gemm, and the original with the same arguments. */
#define FORM(form, PARAMETERS, TYPES, BATCH, LEAST, LOCAL, REST, ORIGINAL_CALL)                              \
    __attribute__((noinline)) static int form(PARAMETERS(int64_t), struct called by) {                       \
        const enum cublas_name name = (enum cublas_name)by.name;                                             \
        const struct cublas_entry entry = cublas_enter(by.caller, name);                                     \
        LOCAL                                                                                                \
        if (entry.origin == NULL)                                                                            \
            return cublas_has_no_original(name);                                                             \
        const enum dropin_api api = (enum dropin_api)name;                                                   \
        if (!dropin_hand_small_on(api, entry.nested, m, n, k, batch, LEAST)) {                               \
            const struct cublas_gemm g = {.api = api, .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .alpha = alpha, \
                                          .a = a, .b = b, .beta = beta, .c = (void *)(uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc, TYPES, BATCH}; \
            const int served = cublas_serve_gemm(&entry, &g);                                                \
            if (served != CUBLAS_LEFT)                                                                       \
                return served;                                                                               \
            REST                                                                                             \
        }                                                                                                    \
        void (*const original)(void) = entry.origin->function[name];                                         \
        halftone_dropin_thread.depth++;                                                                      \
        const int status = ORIGINAL_CALL;                                                                    \
        halftone_dropin_thread.depth--;                                                                      \
        return status;                                                                                       \
    }

/* Parameters, the same as arguments, and how a name without some of a form's parameters has them. */
#define GEMM(S) CUBLAS_GEMM_ARGS(void, S)
#define GEMM_STRIDED(S) CUBLAS_GEMM_STRIDED_ARGS(void, S)
#define GEMM_BATCHED(S) CUBLAS_GEMM_BATCHED_ARGS(void, S)
#define SYRK(S) CUBLAS_SYRK_ARGS(void, S)
#define SYRKX(S) CUBLAS_SYRKX_ARGS(void, S)
#define TRSM(S) CUBLAS_TRSM_ARGS(void, S)
#define VALUES_BATCHED(S) CUBLAS_GEMM_VALUES(S), (S)batch
#define VALUES_BATCHED_EX(S) CUBLAS_SGEMM_EX_VALUES(S), (S)batch, compute, algo
#define VALUES_SYRK(S) handle, uplo, op_a, (S)n, (S)k, alpha, a, (S)lda, beta, c, (S)ldc
#define VALUES_SYRKX(S) handle, uplo, op_a, (S)n, (S)k, alpha, a, (S)lda, b, (S)ldb, beta, c, (S)ldc
#define VALUES_TRSM(S) handle, side, uplo, op, diag, (S)m, (S)n, alpha, a, (S)lda, b, (S)ldb
#define ALL_PARAMETERS(S, type)
#define TYPES_OF_NAME(S, type) const int a_type = type, b_type = type, c_type = type, compute = COMPUTE_OF(type), algo = 0;
#define COMPUTE_OF_NAME(S, type) const int compute = COMPUTE_OF(type), algo = 0;
#define SECOND_IS_FIRST(S, type) const S ldb = lda; const void *const b = a;

SHAPE(gemm, GEMM)
SHAPE(gemm_strided, GEMM_STRIDED)
SHAPE(gemm_batched, GEMM_BATCHED)
SHAPE(sgemm_ex, CUBLAS_SGEMM_EX_ARGS)
SHAPE(gemm_ex, CUBLAS_GEMM_EX_ARGS)
SHAPE(gemm_strided_ex, CUBLAS_GEMM_STRIDED_EX_ARGS)
SHAPE(gemm_batched_ex, CUBLAS_GEMM_BATCHED_EX_ARGS)
SHAPE(syrk, SYRK)
SHAPE(syrkx, SYRKX)
SHAPE(trsm, TRSM)

FORM(of_gemm, GEMM, TYPE_OF_NAME, ONE_MATRIX, cublas_least_of_one(by.type), OF_ONE, , ORIGINAL_AS(gemm, CUBLAS_GEMM_VALUES))
FORM(of_gemm_ex, CUBLAS_GEMM_EX_ARGS, TYPES_GIVEN, ONE_MATRIX, cublas_least_of_one(a_type), OF_ONE, ,
     ONE_OF(ORIGINAL_AS(sgemm_ex, CUBLAS_SGEMM_EX_VALUES), ORIGINAL_AS(gemm_ex, CUBLAS_GEMM_EX_VALUES)))
FORM(of_strided, CUBLAS_GEMM_STRIDED_EX_ARGS, TYPES_GIVEN, BATCH_GIVEN, cublas_least_of_one(a_type), , ,
     ONE_OF(ORIGINAL_AS(gemm_strided, CUBLAS_GEMM_STRIDED_VALUES), ORIGINAL_AS(gemm_strided_ex, CUBLAS_GEMM_STRIDED_EX_VALUES)))
FORM(of_batched, CUBLAS_GEMM_BATCHED_EX_ARGS, TYPES_GIVEN, ARRAYS_GIVEN, CUBLAS_LEAST_OF_ARRAYS, OF_ARRAYS, WITHOUT_DONE,
     ONE_OF(ORIGINAL_AS(gemm_batched, VALUES_BATCHED), ORIGINAL_AS(gemm_batched_ex, VALUES_BATCHED_EX)))
FORM(of_triangle, SYRKX, TYPE_OF_NAME, TRIANGLE_GIVEN, CUBLAS_LEAST_OF_TRIANGLE, OF_TRIANGLE, ,
     ONE_OF(ORIGINAL_AS(syrk, VALUES_SYRK), ORIGINAL_AS(syrkx, VALUES_SYRKX)))
FORM(of_solve, TRSM, TYPE_OF_NAME, SOLVE_GIVEN, CUBLAS_LEAST_OF_TRIANGLE, OF_SOLVE, , ORIGINAL_AS(trsm, VALUES_TRSM))

/* A function, and the same with sizes of 64 bits. */
#define ONE_ENTRY(name, PARAMETERS, type, kind, LACKS, form, VALUES, S)                                     \
    DROPIN_EXPORT int name(PARAMETERS(S)) {                                                                  \
        const struct called by = {__builtin_return_address(0), NAME_##name, type, kind | (sizeof(S) == sizeof(int64_t) ? IS_WIDE : 0)}; \
        LACKS(S, type)                                                                                       \
        return form(VALUES(S), by);                                                                          \
    }
#define ENTRIES(name, ...)                                                                                   \
    ONE_ENTRY(name, __VA_ARGS__, int)                                                                        \
    ONE_ENTRY(name##_64, __VA_ARGS__, int64_t)

ENTRIES(cublasSgemm_v2, GEMM, CU_R_32F, IS_LONG, ALL_PARAMETERS, of_gemm, CUBLAS_GEMM_VALUES)
ENTRIES(cublasDgemm_v2, GEMM, CU_R_64F, IS_LONG, ALL_PARAMETERS, of_gemm, CUBLAS_GEMM_VALUES)
ENTRIES(cublasSgemmEx, CUBLAS_SGEMM_EX_ARGS, CU_R_32F, IS_SHORT, COMPUTE_OF_NAME, of_gemm_ex, CUBLAS_GEMM_EX_VALUES)
ENTRIES(cublasGemmEx, CUBLAS_GEMM_EX_ARGS, CU_R_32F, IS_LONG, ALL_PARAMETERS, of_gemm_ex, CUBLAS_GEMM_EX_VALUES)
ENTRIES(cublasSgemmStridedBatched, GEMM_STRIDED, CU_R_32F, IS_SHORT, TYPES_OF_NAME, of_strided, CUBLAS_GEMM_STRIDED_EX_VALUES)
ENTRIES(cublasDgemmStridedBatched, GEMM_STRIDED, CU_R_64F, IS_SHORT, TYPES_OF_NAME, of_strided, CUBLAS_GEMM_STRIDED_EX_VALUES)
ENTRIES(cublasGemmStridedBatchedEx, CUBLAS_GEMM_STRIDED_EX_ARGS, CU_R_32F, IS_LONG, ALL_PARAMETERS, of_strided, CUBLAS_GEMM_STRIDED_EX_VALUES)
ENTRIES(cublasSgemmBatched, GEMM_BATCHED, CU_R_32F, IS_SHORT, TYPES_OF_NAME, of_batched, VALUES_BATCHED_EX)
ENTRIES(cublasDgemmBatched, GEMM_BATCHED, CU_R_64F, IS_SHORT, TYPES_OF_NAME, of_batched, VALUES_BATCHED_EX)
ENTRIES(cublasGemmBatchedEx, CUBLAS_GEMM_BATCHED_EX_ARGS, CU_R_32F, IS_LONG, ALL_PARAMETERS, of_batched, VALUES_BATCHED_EX)
ENTRIES(cublasSsyrk_v2, SYRK, CU_R_32F, IS_SHORT, SECOND_IS_FIRST, of_triangle, VALUES_SYRKX)
ENTRIES(cublasDsyrk_v2, SYRK, CU_R_64F, IS_SHORT, SECOND_IS_FIRST, of_triangle, VALUES_SYRKX)
ENTRIES(cublasSsyrkx, SYRKX, CU_R_32F, IS_LONG, ALL_PARAMETERS, of_triangle, VALUES_SYRKX)
ENTRIES(cublasStrsm_v2, TRSM, CU_R_32F, IS_LONG, ALL_PARAMETERS, of_solve, VALUES_TRSM)
/* clang-format on */

/* How an entry begins that has no form. */
#define PREPARE(name)                                                                                        \
    const struct cublas_entry entry = cublas_enter(__builtin_return_address(0), NAME_##name);                \
    if (entry.origin == NULL)                                                                                \
        return cublas_has_no_original(NAME_##name);

/* ---- what tells of a handle's workspace ---- */

typedef int set_stream(void *handle, void *stream);
typedef int set_workspace(void *handle, void *workspace, size_t bytes);
typedef int destroy(void *handle);

/* Resets the workspace to cuBLAS' own. */
DROPIN_EXPORT int cublasSetStream_v2(void *handle, void *stream) {
    PREPARE(cublasSetStream_v2)
    cublas_forget_workspace(handle);
    return ((set_stream *)entry.origin->function[NAME_cublasSetStream_v2])(handle, stream);
}

DROPIN_EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
    PREPARE(cublasSetWorkspace_v2)
    const int status =
        ((set_workspace *)entry.origin->function[NAME_cublasSetWorkspace_v2])(handle, workspace, bytes);
    if (status == CU_SUCCESS && handle != NULL)
        cublas_note_workspace(handle, workspace, bytes);
    return status;
}

DROPIN_EXPORT int cublasDestroy_v2(void *handle) {
    PREPARE(cublasDestroy_v2)
    cublas_forget_workspace(handle);
    return ((destroy *)entry.origin->function[NAME_cublasDestroy_v2])(handle);
}

/* ---- what is counted and goes on ---- */

/* What cuBLAS calls within its own calls is not counted apart. */
__attribute__((noinline)) static void count(const struct cublas_entry *entry, enum dropin_api api, enum dropin_reason why, int64_t m, int64_t n, int64_t k,
                                            int64_t batch) {
    const struct dropin_policy policy = {0};
    const struct dropin_call call = {.api = api,
                                     .name = cublas_name_text((enum cublas_name)api),
                                     .caller = entry->caller,
                                     .op_a = '-',
                                     .op_b = '-',
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .batch = batch};
    if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    dropin_note(&call, &policy, entry->nested ? DROPIN_NESTED : why, NULL, NULL);
}

#define COUNTED(X, name, why, form, S)                                                                       \
    typedef int type_##name(PARAMETERS_##form(S));                                                           \
    DROPIN_EXPORT int name(PARAMETERS_##form(S)) {                                                                         \
        PREPARE(name)                                                                                        \
        count(&entry, DROPIN_API_##name, DROPIN_##why, SIZES_##form);                                        \
        halftone_dropin_thread.depth++;                                                                      \
        const int status = ((type_##name *)entry.origin->function[NAME_##name])(ARGUMENTS_##form);           \
        halftone_dropin_thread.depth--;                                                                      \
        return status;                                                                                       \
    }
CUBLAS_COUNTED(COUNTED, )
