/* blas_names.h: the one table of the BLAS face: names of functions, by whom and how they are called. A name whose integers are of
 * another width in some library is not here (cblas_*gemm_batch).
 *
 * ROW(X, name, element type, routine, form, integers, alike): form fortran (all by reference, transposes as letters) or cblas (by
 * value, row- or column-major). `alike`: for SYRK the product of the same library, form and integers; else the name itself.
 *
 *   name           found in
 *   sgemm_         Fortran, R, Octave, LAPACK, reference BLAS, OpenBLAS, MKL (of 64-bit integers the low halves are read, which
 *                  on little-endian machines are the numbers while these are below 2^31)
 *   sgemm          MKL, IBM's ESSL
 *   sgemm_64_      reference BLAS and OpenBLAS with 64-bit integers
 *   cblas_sgemm    C programs, Debian's NumPy
 *   cblas_sgemm64_ OpenBLAS with 64-bit integers; cblas_sgemm_64: reference BLAS from 3.11 on
 *   scipy_...      the wheels of NumPy (64_) and SciPy (both widths) */
#ifndef BLAS_NAMES_H
#define BLAS_NAMES_H

#define BLAS_NAMES_OF(ROW, X, T, R)                                                                          \
    ROW(X, T##R##_, T, R, fortran, int32_t, T##gemm_)                                                        \
    ROW(X, T##R, T, R, fortran, int32_t, T##gemm)                                                            \
    ROW(X, T##R##_64_, T, R, fortran, int64_t, T##gemm_64_)                                                  \
    ROW(X, scipy_##T##R##_, T, R, fortran, int32_t, scipy_##T##gemm_)                                        \
    ROW(X, scipy_##T##R##_64_, T, R, fortran, int64_t, scipy_##T##gemm_64_)                                  \
    ROW(X, cblas_##T##R, T, R, cblas, int32_t, cblas_##T##gemm)                                              \
    ROW(X, cblas_##T##R##64_, T, R, cblas, int64_t, cblas_##T##gemm64_)                                      \
    ROW(X, cblas_##T##R##_64, T, R, cblas, int64_t, cblas_##T##gemm_64)                                      \
    ROW(X, scipy_cblas_##T##R, T, R, cblas, int32_t, scipy_cblas_##T##gemm)                                  \
    ROW(X, scipy_cblas_##T##R##64_, T, R, cblas, int64_t, scipy_cblas_##T##gemm64_)

#define BLAS_NAMES(ROW, X)                                                                                   \
    BLAS_NAMES_OF(ROW, X, s, gemm)                                                                           \
    BLAS_NAMES_OF(ROW, X, s, syrk)                                                                           \
    BLAS_NAMES_OF(ROW, X, d, gemm)                                                                           \
    BLAS_NAMES_OF(ROW, X, d, syrk)

#endif
