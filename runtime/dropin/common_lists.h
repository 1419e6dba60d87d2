/* common_lists.h: the names whose calls are counted, by face, and why a call goes to the original. Everything that
 * says either is made from these two lists: enums, counters, the log, the lines of `halftone run`. */
#ifndef DROPIN_COMMON_LISTS_H
#define DROPIN_COMMON_LISTS_H

#include "blas_names.h"
#include "cublas_products.h"
#include "hip_names.h"

/* Of cuBLAS. The last ones are not served. */
#define DROPIN_COUNTED_ROW(X, name, why, form, S) X(name)
#define DROPIN_CUBLAS_APIS(X)                                                                                \
    CUBLAS_PRODUCTS(X) CUBLASLT_PRODUCTS(X) CUBLAS_COUNTED(DROPIN_COUNTED_ROW, X)

/* Of the host's BLAS. */
#define DROPIN_BLAS_ROW(X, name, type, routine, form, integers, alike) X(name)
#define DROPIN_BLAS_APIS(X) BLAS_NAMES(DROPIN_BLAS_ROW, X)

/* Of hipBLAS and rocBLAS. */
#define DROPIN_HIP_ROW(X, name, library, form, S) X(name)
#define DROPIN_HIP_APIS(X) HIP_BLAS_NAMES(DROPIN_HIP_ROW, X)

#define DROPIN_APIS(X) DROPIN_CUBLAS_APIS(X) DROPIN_BLAS_APIS(X) DROPIN_HIP_APIS(X)

/* X(name, text). The first is no reason: the call was served. */
#define DROPIN_REASONS(X)                                                                                    \
    X(SERVED, "served")                                                                                      \
    X(OFF, "HALFTONE=off, or a variable has a value that it cannot have")                                    \
    X(NESTED, "called by the library of the original itself")                                                \
    X(TYPES, "matrices are not all FP32, or all FP64")                                                                  \
    X(FP64, "FP64 without emulation (HALFTONE_FP64, --fp64 or the site table serves it)")                    \
    X(NATIVE, "the original's FP64 is predicted to be faster than its emulation")                            \
    X(TF32, "TF32 is asked for (HALFTONE_TF32=upgrade serves it)")                                           \
    X(HALF, "16-bit tensor operations are asked for")                                                        \
    X(PEDANTIC, "pedantic arithmetic is asked for")                                                          \
    X(UNKNOWN_FORM, "a compute type, mode or operation that the table does not have")                        \
    X(NO_FORM, "halftone has no kernel of this form (triangles, systems with alpha on the device, many matrices unevenly apart)") \
    X(ARGUMENTS, "arguments that only the original judges: negative, overlapping or missing")                \
    X(SMALL, "smaller than HALFTONE_MIN")                                                                    \
    X(SITE, "the site table says original")                                                                  \
    X(NO_LIBRARY, "libhalftone.so cannot be loaded")                                                         \
    X(NO_KERNELS, "no usable GPU, or no kernels for it in libhalftone.so")                                   \
    X(SET_LACKS, "no scheme of libhalftone.so has this accuracy at this k")                                  \
    X(WORKSPACE, "more workspace than HALFTONE_WORKSPACE_MAX, or device memory is full")                     \
    X(CONTEXT, "another CUDA context than the first that called on this device")                             \
    X(CAPTURE, "the device's first product, while its stream is captured")                                   \
    X(FORKED, "a child of fork() of a process that had used the GPU")                                        \
    X(SM_TARGET, "a number of multiprocessors is asked for")                                                 \
    X(EPILOGUE, "an epilogue that the table does not have, or that the original could not do alone")         \
    X(LAYOUT, "a layout, scale or attribute that the table does not have")                                   \
    X(NO_DRIVER, "libcuda.so.1 is not loaded, and this form needs it")                                       \
    X(HOST, "the CPU is predicted to be faster")                                                             \
    X(START, "starting the GPU takes longer than it would have saved so far")                                \
    X(ROUNDING, "the CPU does not round to nearest")                                                         \
    X(ENDING, "the process is ending")                                                                       \
    X(FAILED, "libhalftone.so reported an error")                                                            \
    X(SPOILT, "a launch failed when C was half computed: the call fails")

/* What HALFTONE_FP64 and --fp64 take. */
#define DROPIN_FP64_VALUES "original, emulated, auto, fp64, fp64-fast, fp64-exact, invariant, bits=N, bound=X or relative=X:rho=Y"

/* Variables of the environment, and the faces that read them: X(name, faces). */
enum { DROPIN_OF_CUBLAS = 1, DROPIN_OF_BLAS = 2, DROPIN_OF_HIP = 4, DROPIN_OF_ALL = 7 };
#define DROPIN_VARIABLES(X)                                                                                  \
    X(HALFTONE, DROPIN_OF_ALL)                                                                               \
    X(HALFTONE_ACCURACY, DROPIN_OF_ALL)                                                                      \
    X(HALFTONE_FP64, DROPIN_OF_CUBLAS | DROPIN_OF_BLAS)                                                      \
    X(HALFTONE_STRATEGY, DROPIN_OF_ALL)                                                                      \
    X(HALFTONE_MIN, DROPIN_OF_ALL)                                                                           \
    X(HALFTONE_SITES, DROPIN_OF_ALL)                                                                         \
    X(HALFTONE_LOG, DROPIN_OF_ALL)                                                                           \
    X(HALFTONE_TF32, DROPIN_OF_CUBLAS | DROPIN_OF_HIP)                                                       \
    X(HALFTONE_DLSYM, DROPIN_OF_CUBLAS)                                                                      \
    X(HALFTONE_WORKSPACE_MAX, DROPIN_OF_ALL)                                                                 \
    X(HALFTONE_LIBRARY, DROPIN_OF_ALL)                                                                       \
    X(HALFTONE_COUNTS, DROPIN_OF_ALL)                                                                        \
    X(HALFTONE_BLAS_CPU, DROPIN_OF_BLAS)                                                                     \
    X(HALFTONE_BLAS_TILE, DROPIN_OF_BLAS)                                                                    \
    X(HALFTONE_BLAS_CPU_GFLOPS, DROPIN_OF_BLAS)                                                              \
    X(HALFTONE_BLAS_COPY_GBPS, DROPIN_OF_BLAS)                                                               \
    X(HALFTONE_BLAS_START_MS, DROPIN_OF_BLAS)                                                                \
    X(HALFTONE_BLAS_THREADS, DROPIN_OF_BLAS)

enum dropin_api {
#define DROPIN_API(name) DROPIN_API_##name,
    DROPIN_APIS(DROPIN_API)
#undef DROPIN_API
        DROPIN_API_COUNT
};

enum dropin_reason {
#define DROPIN_REASON(name, text) DROPIN_##name,
    DROPIN_REASONS(DROPIN_REASON)
#undef DROPIN_REASON
        DROPIN_REASON_COUNT
};

#endif
