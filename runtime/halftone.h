/* halftone.h: FP32 and FP64 matrix products on tensor cores.
 *
 *     halftone *h;
 *     if (halftone_create(&h) != HALFTONE_OK) ...            // no GPU, wrong GPU: a code, never a crash
 *     float one = 1, zero = 0;
 *     int code = halftone_sgemm(h, 'N', 'T', m, n, k, &one, A, lda, B, ldb, &zero, C, ldc);
 *     if (code != HALFTONE_OK) puts(halftone_strerror(code));
 *     halftone_destroy(h);
 *
 * What the functions mean and promise is said in MANUAL.md: next to a vendored copy of this header, in
 * share/doc/halftone of an installation, next to this header in a checkout. Numbers below are its sections.
 *
 * Matrices are column-major and lie in device memory, aligned to 4 bytes (doubles: 8); m, n, k, leading
 * dimensions and strides count elements, sizes of memory bytes. op is 'N', 'T' or 'C'. Every function returns
 * a code (8): 0, -argument, or one of HALFTONE_CODES. A setter that fails changes nothing. Texts of
 * getters last until the handle is set anew. A call waits for nothing, unless it is said. */
#ifndef HALFTONE_H
#define HALFTONE_H

#include <stddef.h>
#include <stdint.h>

/* Of this header; halftone_version() is the library's. As a number for #if: 10000 major + 100 minor +
 * patch. */
#define HALFTONE_VERSION_MAJOR 0
#define HALFTONE_VERSION_MINOR 2
#define HALFTONE_VERSION_PATCH 0
#define HALFTONE_VERSION (10000 * HALFTONE_VERSION_MAJOR + 100 * HALFTONE_VERSION_MINOR + HALFTONE_VERSION_PATCH)
#define HALFTONE_VERSION_TEXT "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define HALFTONE_ARGUMENT_ERRORS(X)                                                        \
    X(1, "transa", "is none of N, T, C")                                                   \
    X(2, "transb", "is none of N, T, C")                                                   \
    X(3, "m", "is negative")                                                               \
    X(4, "n", "is negative")                                                               \
    X(5, "k", "is negative")                                                               \
    X(6, "alpha", "is a NULL pointer")                                                     \
    X(7, "A", "is a NULL pointer, not aligned, or was packed for another product")         \
    X(8, "lda", "leading dimension is smaller than the rows of A as stored")               \
    X(9, "B", "is a NULL pointer, not aligned, or was packed for another product")         \
    X(10, "ldb", "leading dimension is smaller than the rows of B as stored")              \
    X(11, "beta", "is a NULL pointer")                                                     \
    X(12, "C", "is a NULL pointer or not aligned")                                         \
    X(13, "ldc", "leading dimension is smaller than the rows of C")                        \
    X(14, "stride A", "is negative")                                                       \
    X(15, "stride B", "is negative")                                                       \
    X(16, "stride C", "lets entries of the batch overlap")                                  \
    X(17, "batch", "is negative")                                                          \
    X(18, "result", "is a NULL pointer, not aligned to 256 bytes, overlaps another, not a listed choice, or a struct whose size is not set") \
    X(19, "uplo", "is none of U, L")

#define HALFTONE_CODES(X)                                                                  \
    X(OK, 0, "success")                                                                    \
    X(NULL_HANDLE, 1, "the handle is NULL")                                                \
    X(NO_GPU, 2, "no usable GPU or driver was found")                                      \
    X(WRONG_GPU, 3, "this library has no kernels for this GPU; see halftone_last_detail")             \
    X(OUT_OF_DEVICE_MEMORY, 4, "out of device memory")                                     \
    X(OUT_OF_HOST_MEMORY, 5, "out of host memory")                                         \
    X(WORKSPACE, 6, "the workspace is too small and may not grow; see halftone_workspace_bytes") \
    X(UNKNOWN_SCHEME, 7, "this library has no scheme of that name; see halftone_schemes")  \
    X(UNKNOWN_KERNEL, 8, "this library has no kernel of that name; see halftone_kernels")  \
    X(TOO_LARGE, 9, "a size or an extent is larger than the library or the address space can hold") \
    X(NOT_SUPPORTED, 10, "this combination is not supported")                              \
    X(DEVICE_ERROR, 11, "the device reported an error; see halftone_last_detail")          \
    X(SIM_VIOLATION, 12, "the simulator caught a kernel breaking a rule of the hardware; see halftone_last_detail") \
    X(UNKNOWN_ACCURACY, 13, "no accuracy is called that; see halftone_last_detail")        \
    X(ACCURACY, 14, "no scheme of this library has that accuracy; see halftone_last_detail")           \
    X(SITE, 15, "a line of the site table is wrong, or its file cannot be read; see halftone_last_detail")
/* clang-format on */

enum halftone_code {
#define HALFTONE_CODE(name, value, text) HALFTONE_##name = value,
    HALFTONE_CODES(HALFTONE_CODE)
#undef HALFTONE_CODE
};

enum halftone_pointer_mode { HALFTONE_HOST, HALFTONE_DEVICE };
enum halftone_workspace_source { HALFTONE_OWN, HALFTONE_POOL };
enum halftone_type { HALFTONE_FP32 = 32, HALFTONE_FP64 = 64, HALFTONE_FP16 = 16, HALFTONE_BF16 = 17 };

/* Largest m, n, k, batch: 2^31 less room for rounding up to tiles and for strides of loops. */
#define HALFTONE_SIZE_MAX INT64_C(2146435072)
/* Alignment that workspaces and packed operands need; what device allocators return has it. */
#define HALFTONE_ALIGNMENT 256

typedef struct halftone halftone;

/* ---- handle ---- */

/* On failure *handle is NULL; halftone_last_detail(NULL) tells more. */
int halftone_create(halftone **handle);

/* Frees everything, after waiting for the device. Streams that were used may be gone. Graphs that hold blocks
 * of the handle must not run any more (4). NULL is allowed. */
int halftone_destroy(halftone *handle);

/* cudaStream_t, with an AMD set hipStream_t, or NULL, of the calls that follow (3). */
int halftone_set_stream(halftone *handle, void *stream);

/* Device memory of yours for the calls that follow, on whatever stream (4); NULL and 0: from the source
 * again. */
int halftone_set_workspace(halftone *handle, void *workspace, size_t bytes);

/* Cuts calls that need more workspace into blocks (4); 0: no limit (default). HALFTONE_WORKSPACE: none is
 * small enough. */
int halftone_set_workspace_limit(halftone *handle, size_t bytes);
int halftone_get_workspace_limit(halftone *handle, size_t *bytes);

/* HALFTONE_OWN (default) or HALFTONE_POOL (4). HALFTONE_NOT_SUPPORTED: the device has no stream-ordered
 * memory, or the source is none of the two; HALFTONE_OUT_OF_DEVICE_MEMORY, HALFTONE_DEVICE_ERROR: no pool
 * was made. */
int halftone_set_workspace_source(halftone *handle, int source);

/* Gives all device memory that the handle keeps back, after waiting for the device; the handle's present
 * stream must exist. Graphs that hold blocks of the handle must not run any more. HALFTONE_NOT_SUPPORTED:
 * the stream is being captured. */
int halftone_trim(halftone *handle);

/* "auto" or a name from halftone_schemes, for the type that has the scheme; "auto" for both, "fp32:auto"
 * and "fp64:auto" for one. */
int halftone_set_scheme(halftone *handle, const char *name);

/* An accuracy instead of a scheme (7, 9); the later call of the two holds, for each type.
 *   FP32: "half" "tf32" "fp32-fast" "fp32" "invariant:3" "invariant:6" "invariant:10"
 *   FP64: "fp64" "fp64-fast" "fp64-exact"
 *   both: "invariant" "bits=N" "bound=X" "relative=X:rho=Y"; "fp32:" or "fp64:" before it: one type
 * "reproducible" is another name of "invariant": the bits of C(i, j) depend on row i of op(A), column j of
 * op(B), alpha, beta and C(i, j) alone (7). */
int halftone_set_accuracy(halftone *handle, const char *text);

/* HALFTONE_HOST (default) or HALFTONE_DEVICE: where alpha and beta are (3). */
int halftone_set_pointer_mode(halftone *handle, int mode);

/* Adds a line to the site table (10); an empty one or a comment adds none, NULL empties the table.
 * HALFTONE_SITE: it is malformed or says what a library cannot do. HALFTONE_UNKNOWN_SCHEME,
 * HALFTONE_UNKNOWN_ACCURACY, HALFTONE_ACCURACY: this library lacks what it asks for; if it lacks that for
 * one type only, products of that type fail with the code. halftone_last_detail says what and the cure. */
int halftone_set_site(halftone *handle, const char *line);
/* Adds all lines of a file, or none; halftone_last_detail begins with FILE:LINE. */
int halftone_read_sites(halftone *handle, const char *path);
/* The name of the products that follow, at most 63 characters (else HALFTONE_SITE); NULL or "": none. */
int halftone_at_site(halftone *handle, const char *name);
/* The line with this index as it was given, and how many products it has decided; NULL and 0 past
 * the end. The text lasts until the table is emptied. */
int halftone_get_site(halftone *handle, int index, const char **line, int64_t *products);
/* Which line decided the last product, from 1; 0: none. Of a product to come halftone_query says it. */
int halftone_last_site(const halftone *handle);

/* HALFTONE_RECOMPUTE_NOTHING: "auto" without its test, for data that are known; f16x3 then has its own
 * range (6). */
enum halftone_recompute { HALFTONE_RECOMPUTE_ALL, HALFTONE_RECOMPUTE_NOTHING };
int halftone_set_recompute(halftone *handle, int what);

/* Results that "auto" computed again, or "fp64" by FP64 arithmetic: single ones, and those of whole blocks. */
struct halftone_checked {
    int64_t alone, in_blocks;
};
/* With NULL: from here on the handle counts on the device, in 16 bytes that it keeps. Then: what was
 * counted since the last time, on all streams (let them meet first), in the order of the present one;
 * asynchronous if `result` is pinned memory. HALFTONE_NOT_SUPPORTED: counting was not begun, or would begin in a
 * capture. */
int halftone_last_check(halftone *handle, struct halftone_checked *result);

/* For benches and ablations: run this kernel whatever the shape and the scheme set; NULL: choose again.
 * "auto" still tests the results of f16x3's. A kernel for FP64 runs where its scheme does, native64's
 * tiles also for what residues leave; HALFTONE_NOT_SUPPORTED: the FP64 product would not use it. */
int halftone_set_kernel(halftone *handle, const char *name);

/* What the handle is set to, for one type HALFTONE_FP32 or HALFTONE_FP64. NULL: accuracy where a scheme
 * was set by name; scheme where the accuracy chooses; kernel where none was set; workspace where it comes
 * from the source. */
int halftone_get_stream(halftone *handle, void **stream);
int halftone_get_workspace(halftone *handle, void **workspace, size_t *bytes);
int halftone_get_workspace_source(halftone *handle, int *source);
int halftone_get_scheme(halftone *handle, int type, const char **name);
int halftone_get_accuracy(halftone *handle, int type, const char **text);
int halftone_get_pointer_mode(halftone *handle, int *mode);
int halftone_get_kernel(halftone *handle, const char **name);
int halftone_get_recompute(halftone *handle, int *what);

/* ---- products ---- */

/* Where op(B) is op(A)^T, of the same memory, and beta is 0, C is symmetric in bits, in host memory (12) too. */
int halftone_sgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *beta, float *c, int64_t ldc);

/* C_i = alpha op(A_i) op(B_i) + beta C_i, entry i at X + i * stride_x. Stride 0 of A or B: one matrix for
 * all entries, packed once. */
int halftone_sgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const float *alpha, const float *a, int64_t lda,
                                   int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b,
                                   const float *beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch);

/* A and B are of the type HALFTONE_BF16 or HALFTONE_FP16, argument 18, and aligned to 2 bytes; HALFTONE_FP32 is taken
 * too. They become floats first, so C has the bits that the function above gives for these floats. That takes more
 * workspace than halftone_workspace_bytes says: for A and for B so many bytes, of matrices rows x cols as stored. */
#define HALFTONE_WIDE_BYTES(rows, cols, entries) ((((int64_t)(rows) + 7) / 8 * 8 * (cols) * (entries) * 4 + 1023) / 1024 * 1024)
int halftone_gemm_ex(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *alpha,
                     const void *a, int64_t lda, int64_t stride_a, const void *b, int64_t ldb, int64_t stride_b,
                     const float *beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch, int type);

/* FP64 (9). */
int halftone_dgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const double *alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                   const double *beta, double *c, int64_t ldc);
int halftone_dgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const double *alpha, const double *a, int64_t lda,
                                   int64_t stride_a, const double *b, int64_t ldb, int64_t stride_b,
                                   const double *beta, double *c, int64_t ldc, int64_t stride_c, int64_t batch);

/* ---- products over ranks ---- */

/* C = alpha op(A) op(B) + beta C of FP32 with the bits of accuracy "invariant", where ranks share k: each has m x k_r
 * of op(A) and k_r x n of op(B), for any k_r, 0 too. Each calls, all under one "invariant" accuracy or scheme (7):
 *     halftone_sgemm_maxima(h, ..., rowmax, colmax);             // then all-reduce MAX of both
 *     halftone_sgemm_partial(h, ..., rowmax, colmax, partial);   // then all-reduce SUM
 *     halftone_sgemm_finish(h, m, n, &alpha, partial, rowmax, colmax, &beta, C, ldc);
 * All arrays are the device's. -18: one is NULL or misaligned. HALFTONE_NOT_SUPPORTED: another accuracy; sites are not
 * asked. HALFTONE_TOO_LARGE: k_r above 2^24. HALFTONE_WORKSPACE: the limit is too small, nothing is cut.
 *
 * The largest magnitude of each row of op(A), m floats, and each column of op(B), n; Inf where there is NaN or Inf.
 * They may be reduced as floats or as int32. rowmax or colmax NULL: that operand is not read. */
int halftone_sgemm_maxima(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *a,
                          int64_t lda, const float *b, int64_t ldb, float *rowmax, float *colmax);
/* 64-bit integers: sums, column-major without gaps, then m + n + 1 that tell scheme, scales and k. */
#define HALFTONE_PARTIAL_WORDS(m, n) ((int64_t)(m) * (n) + (m) + (n) + 1)
int halftone_sgemm_partial(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *a,
                           int64_t lda, const float *b, int64_t ldb, const float *rowmax, const float *colmax,
                           int64_t *partial);
/* Of at most 4095 ranks. A row or column of which a rank had other maxima, or larger elements, is NaN. So is all of C
 * if all k_r together are above 2^24 or schemes differ. */
int halftone_sgemm_finish(halftone *handle, int64_t m, int64_t n, const float *alpha, const int64_t *partial,
                          const float *rowmax, const float *colmax, const float *beta, float *c, int64_t ldc);

/* ---- packed operands ---- */

/* Operands packed once for many products (11). HALFTONE_NOT_SUPPORTED: the scheme or accuracy that is set
 * has none. -7, -9: the operand was not packed for this product. */

/* Bytes of `batch` packed operands in a row; which: 'A' (rows = m) or 'B' (rows = n). */
int halftone_packed_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch,
                          size_t *bytes);
int halftone_pack_a(halftone *handle, char transa, int64_t m, int64_t k, const float *a, int64_t lda,
                    void *packed);
int halftone_pack_b(halftone *handle, char transb, int64_t k, int64_t n, const float *b, int64_t ldb,
                    void *packed);
/* Both in one launch, which is faster. -18: packed operands overlap. */
int halftone_pack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, void *packed_a,
                     void *packed_b);
/* Packed operands are arguments 7 and 9. */
int halftone_sgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const float *alpha,
                          const void *packed_a, const void *packed_b, const float *beta, float *c,
                          int64_t ldc);

/* FP64: operands of crt14 to crt20, which the handle knows by address. k = 0 takes NULL. */
int halftone_dpacked_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes);
int halftone_dpack_a(halftone *handle, char transa, int64_t m, int64_t k, const double *a, int64_t lda, void *packed);
int halftone_dpack_b(halftone *handle, char transb, int64_t k, int64_t n, const double *b, int64_t ldb, void *packed);
int halftone_dpack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *a,
                      int64_t lda, const double *b, int64_t ldb, void *packed_a, void *packed_b);
int halftone_dgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const double *alpha, const void *packed_a,
                          const void *packed_b, const double *beta, double *c, int64_t ldc);

/* ---- matrices in host memory ---- */

/* A, B and C in pageable host memory (12); waits until C is complete. HALFTONE_NOT_SUPPORTED: the handle's
 * stream is being captured. SSYRK: C = alpha op(A) op(A)^T + beta C, op(A) n x k, only the triangle uplo
 * ('U', 'L'). */
int halftone_sgemm_host(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *alpha,
                        const float *a, int64_t lda, const float *b, int64_t ldb, const float *beta, float *c,
                        int64_t ldc);
int halftone_ssyrk_host(halftone *handle, char uplo, char trans, int64_t n, int64_t k, const float *alpha, const float *a,
                        int64_t lda, const float *beta, float *c, int64_t ldc);
int halftone_dgemm_host(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *alpha,
                        const double *a, int64_t lda, const double *b, int64_t ldb, const double *beta, double *c,
                        int64_t ldc);
int halftone_dsyrk_host(halftone *handle, char uplo, char trans, int64_t n, int64_t k, const double *alpha, const double *a,
                        int64_t lda, const double *beta, double *c, int64_t ldc);
/* After a failure: rows [row, row + rows) and columns [col, col + cols) of C that are missing, one tile a
 * call, then 0 rows; 0 at once: C is untouched. */
int halftone_host_left(halftone *handle, int64_t *row, int64_t *col, int64_t *rows, int64_t *cols);

/* Largest rows and columns of a tile (64 or more; 0: 4096), and the device memory for tiles besides
 * workspace (0: half of the device's); a long k makes tiles smaller. */
int halftone_set_host_tiles(halftone *handle, int64_t tile, size_t bytes);

/* Threads that copy to and from pinned memory, the caller's among them (1 to 64; 0: one for each 6 MB, at
 * most 12 and three quarters of the CPUs). They exist only during the call and take no signals. */
int halftone_set_host_threads(halftone *handle, int threads);

/* ---- how much cancels ---- */

/* Estimates rho of "relative=X:rho=Y" (7, 13); allocates and waits. HALFTONE_NOT_SUPPORTED: the stream is
 * being captured, the matrices hold NaN or Inf, or nothing is left of AB. *rho is INFINITY after a
 * failure. */
int halftone_estimate_rho(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *a,
                          int64_t lda, const float *b, int64_t ldb, double *rho);

/* ---- questions: none of these touches the device ---- */

enum { HALFTONE_WHY_BYTES = 256 };

/* Begin with HALFTONE_PLAN_INIT: the library writes no more than `size`, so older programs run with newer
 * libraries; a member that the library does not know yet stays 0. */
struct halftone_plan {
    size_t size;                 /* set by the caller: sizeof(struct halftone_plan) */
    const char *scheme, *kernel; /* kernel "": no product is run (a size is 0) */
    int bm, bn, bk;              /* tile of a block */
    int wm, wn;                  /* tile of a warp */
    int stages;                  /* shared-memory buffers */
    int splits;                  /* ordered parts of k */
    int64_t pack_ns;             /* predicted packing of A and B */
    int64_t kernel_ns;           /* predicted product with split-K reduction; about 2^60: anything longer */
    int64_t predicted_ns;        /* their sum */
    size_t workspace_bytes;
    int64_t bound_units; /* |C - op(A)op(B)| <= bound_units * 2^-24 * |A||B| componentwise, in range */
    double error_bound;  /* bound_units * 2^-24 */
    /* 1: in the bound |A||B| stands for k * largest of the row of A * largest of the column of B; 2: for
     * A' B', each element of which is the largest magnitude of its tile (16 rows x 32 k of A, 32 k x 8
     * columns of B) */
    int fixed_point;
    const char *bound; /* the bound in words */
    const char *range; /* inputs for which it holds */
    const char *why;   /* the shape that the kernel was planned for, and what limits it there */
    char why_scheme[HALFTONE_WHY_BYTES]; /* why this scheme; of several that would do, what was compared */
    int unit_exponent; /* bound_units count 2^this: -24, of FP64 products -53 */
    int moduli;        /* of an FP64 product by residues, else 0 */
    int64_t blocks;    /* calls that a limit of the workspace makes of this one; 1 */
    int64_t native_ns; /* of an FP64 product: what native64 is predicted to take; 0: the library lacks it */
    int site;          /* line of the site table that decided, from 1; 0: none, the handle's own setting */
};

#define HALFTONE_PLAN_INIT                                                                                        \
    { sizeof(struct halftone_plan), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, -24, 0, 1, 0, 0 }

/* What halftone_sgemm (batch 1) or the batched call, with operands that are not shared, would run (13). A single row
 * of op(A) or column of op(B) that lies contiguous by a leading dimension of 1 may run another kernel: same bits, no more workspace. */
int halftone_query(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch,
                   struct halftone_plan *plan);

/* Workspace of that call; a shared (stride 0) or packed operand needs less, a limit that cuts the call
 * leaves what fits it. */
int halftone_workspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                             int64_t batch, size_t *bytes);

/* Both for FP64; bound_units then counts 2^-53, and error_bound is bound_units * 2^-53. */
int halftone_dquery(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch,
                    struct halftone_plan *plan);
int halftone_dworkspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                              int64_t batch, size_t *bytes);

/* Name of the scheme (of one type, or 0: of either) or kernel with this index, NULL past the end. NULL
 * handle: those of the first GPU. */
const char *halftone_schemes(const halftone *handle, int type, int index);
const char *halftone_kernels(const halftone *handle, int index);
/* What halftone_set_accuracy takes for one type, or 0: for either; NULL past the end. */
const char *halftone_accuracies(int type, int index);

const char *halftone_version(void); /* HALFTONE_VERSION_TEXT of the library */
/* Name of the budget with this index that this library has kernels for ("a800"), NULL past the end; the
 * budget whose kernels the handle runs (NULL handle: the first); the device that the handle runs on. */
const char *halftone_gpus(int index);
const char *halftone_gpu(const halftone *handle);
const char *halftone_device(const halftone *handle);

/* Never NULL. The second: numbers or the backend's words of the handle's last failure, "" after a success;
 * NULL handle: of this thread's last halftone_create. */
const char *halftone_strerror(int code);
const char *halftone_last_detail(const halftone *handle);

/* 1: the handle's last call, a product of device memory that failed, may have changed C. 0: it has not. */
int halftone_changed_c(const halftone *handle);

#ifdef __cplusplus
}
#endif
#endif
