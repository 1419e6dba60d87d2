/* halftone.h: single-precision matrix products on tensor cores. This header is the manual and the whole API.
 *
 *     halftone *h;
 *     if (halftone_create(&h) != HALFTONE_OK) ...            // no GPU, wrong GPU: a code, never a crash
 *     float one = 1, zero = 0;
 *     int code = halftone_sgemm(h, 'N', 'T', m, n, k, &one, A, lda, B, ldb, &zero, C, ldc);
 *     if (code != HALFTONE_OK) puts(halftone_strerror(code));
 *     halftone_destroy(h);
 *
 * 1. What a call does. The product is emulated: each FP32 operand is split into slices (packing),
 *    the slices are multiplied on the matrix units, and the parts are put together in FP32. A SCHEME says
 *    how; a KERNEL is one generated tile of a scheme. Both are chosen by pure functions of the shape, so
 *    equal calls give equal bits.
 *
 * 2. Meaning of the arguments: those of the BLAS routine SGEMM. Matrices are column-major, C = alpha op(A)
 *    op(B) + beta C, op by 'N' (as is), 'T' or 'C' (transposed), in either case. A, B and C are device
 *    pointers, aligned to 4 bytes; sizes are 64-bit. beta == 0 does not read C (a NaN there vanishes);
 *    alpha == 0 or k == 0 reads neither A nor B and only scales C; m == 0 or n == 0 returns at once. (Then, with
 *    beta == 1, a zero of C keeps its sign where the host reads alpha, and may become +0 where the device does, except in
 *    fixed-point schemes and residues, which give +0 in both ways.) C must not overlap A or B, nor entries of a batch each
 *    other. Sizes above HALFTONE_SIZE_MAX, or extents that no address could span, give
 *    HALFTONE_TOO_LARGE.
 *
 *    Row-major matrices, as in C and NumPy, are the column-major transposes of themselves, and the transpose of op(A) op(B) is
 *    op(B)^T op(A)^T. So exchange A and B with all that belongs to them, and m and n; nothing is copied or transposed. For a C of
 *    m rows and n columns, leading dimensions being elements from row to row (n or more of C; of A k, or m if it is transposed):
 *
 *        halftone_sgemm(h, transb, transa, n, m, k, &alpha, B, ldb, A, lda, &beta, C, ldc);
 *
 *    Errors number the arguments as they stand in the call: -8 is then ldb. Batched calls likewise; of packed operands
 *    halftone_pack_a takes B, and halftone_pack_b A.
 *
 * 3. Order. Every call is asynchronous on the handle's stream (default: the null stream). alpha and beta
 *    are read by the host during the call, or, after halftone_set_pointer_mode(h, HALFTONE_DEVICE), by the
 *    device when it gets there. A call whose workspace suffices allocates nothing and waits for nothing.
 *    The stream may be changed between any two calls; calls on different streams may run at once and share
 *    no memory of the handle's. Only a workspace of yours (4) is used by every call: with it let the new
 *    stream wait for the old one first. A stream's work must be done before the stream is destroyed, since
 *    the next one may get its name. cudaStreamPerThread is another stream in each thread under one name:
 *    wait for it before the handle goes to another thread.
 *
 * 4. Workspace. Packed operands and split-K sums need device memory: halftone_workspace_bytes says how
 *    much. It comes from one of three sources, which make no difference to the bits of a result.
 *
 *    HALFTONE_OWN, the default: blocks that the handle keeps for each stream. A block grows when a call needs
 *    more (this allocates and waits for the stream); from the first call that scales rows of more than 64 k
 *    on there are up to 34 MB beside it through which packing blocks exchange their rows' largest elements. A
 *    block that was outgrown is kept, because a graph may hold its address, until halftone_trim or
 *    halftone_destroy; blocks so kept are together no larger than the one in use. Blocks are kept for 32
 *    streams; the next stream gets those of the one that was not used for longest, after waiting for the
 *    device.
 *
 *    HALFTONE_POOL, by halftone_set_workspace_source: each call allocates on its stream (cudaMallocAsync,
 *    hipMallocAsync) from a pool of the handle's and gives back behind itself. All streams share what is
 *    there, nobody waits, and nothing lies idle but what halftone_trim returns to the system.
 *
 *    A block of yours, by halftone_set_workspace: one that is too small gives HALFTONE_WORKSPACE before
 *    anything is launched, never a slower or less accurate way.
 *
 *    Capture. All calls may be captured in a CUDA graph, also the first of a handle. The graph holds the
 *    addresses of A, B, C, scalars on the device, and the workspace, and its replays give the bits of the
 *    plain call. A block of yours must outlive the graph, a block of the handle's lives until halftone_trim
 *    or halftone_destroy; with either a replay counts as a call on the stream it was captured on, so order it
 *    with the others there. Memory of the pool is the graph's own: such a graph needs neither the handle nor
 *    any order, except of its own replays (CUDA neither clones it nor instantiates it twice at once). The
 *    handle's own block serves where it is large enough already,
 *    else the pool; where the device has no pools a call that needs more is refused with
 *    HALFTONE_WORKSPACE, and the capture goes on: make the call once before.
 *
 * 5. Threads. One handle per thread at a time. A handle belongs to the device that was current when it was
 *    created; make that device current before each call. Handles share nothing.
 *    The caller's rounding mode changes no result, nor does flushing of subnormal numbers. Both stay as they are, and so do the
 *    caller's exception flags.
 *
 * 6. Accuracy. `halftone_query` reports for each scheme its range of inputs and an a-priori bound on |C -
 *    op(A)op(B)| in units of 2^-24 |A||B|, componentwise; within the range the bound always holds. Named schemes run their
 *    paper's algorithm as it is, without a look at the data. The fixed-point schemes i8x3, i8x6, i8x10 have exact integer
 *    sums: their results are the same bits on every device and in the simulator, whatever kernel, split, batch or packing;
 *    they never switch to another scheme by themselves, so look at their range. "bf16x6u" (u: unpacked) reads the matrices as
 *    they are, packs nothing and takes every input, with NaN and Inf where native FP32 has them; it is the fastest for small
 *    and skinny products. On GPUs without BF16 tensor cores the same scheme is FP32 FMAs, on AMD's FP32 MFMAs.
 *
 *    "auto", the default, is for every input. Where k is long enough it runs f16x3 and tests each result against what splitting lost of
 *    its row of A and column of B: what is large beside that has f16x3's bound and 17 units. What is not, and what rows and columns with
 *    NaN or Inf or with fewer than 8 nonzero elements (64 rows together) give, is computed again from the matrices, by a launch
 *    behind the product or where that would count by the product itself: alone, rounded once, or where 64 x 64 results have more than 16 of
 *    them (by the product itself 32) as bf16x6u does: on Hopper in FP64, but in calls of about 3500 and more only what bf16x6u's slices cannot hold.
 *    Small k, small and skinny shapes run bf16x6u alone. This is decided on the device: no call waits, and graphs may hold it.
 *    Where nearly all results fail, as of matrices whose columns of A and rows of B are scaled by many binades one against the other, f16x3 is
 *    computed for nothing: ask for scheme "bf16x6u" where you know that. halftone_query says which scheme a shape begins with, not what the data will make
 *    of it. A library without bf16x6u has no check: its "auto" is f16x3, unchecked, as `why_scheme` says, and outside
 *    f16x3's range small elements lose bits silently; accuracy "fp32" is an error there (7).
 *
 *    What "auto" promises on every input: the bound that halftone_query reports; NaN and Inf where native FP32 has them; overflow,
 *    underflow and subnormal results as native. What is tested beside that, on the families of inputs of
 *    `halftone report --families` (uniform, normal, one-signed, wide exponents, scaled rows, cancellation and others): errors
 *    (largest and Frobenius) at most twice those of native FP32, not above them on uniform and normal data. That is no promise
 *    for all data: where native FP32 happens to round next to nothing, other orders of summation are worse. An example are rows
 *    x, -nextafter(x), x, ... times ones: added one after the other they are exact, and auto's errors, though a hundredth of
 *    the bound, are as large as the result, which is about 2^-24 |A||B|; bf16x6u's may be, too. Where so much cancels use
 *    i8x10, whose sums are exact (its error is 0 there), or FP64.
 *
 * 7. Asking for an accuracy. halftone_set_accuracy takes, instead of a scheme's name, what the result must keep;
 *    each call then runs the scheme that is predicted to be fastest for its m, n, k and batch, packing included,
 *    among those whose a-priori bound at this k suffices. u = 2^-24; all bounds are componentwise. Names of accuracies and
 *    of schemes are different lists: what is called "half" or "tf32" in both is a demand here, and there a way to compute.
 *
 *      text            |C - R| is at most           for inputs
 *      half            (2^14 + 64 + 2k) u |A||B|    in the scheme's range; magnitudes in [2^-14, 65504] always are
 *                                                   if rows and columns span less than 2^16
 *      tf32            the same                     of all FP32 exponents
 *      fp32-fast       (256 + k) u |A||B|, and      whose elements are no smaller than 2^-16 of the largest in
 *                      slices keep 22 bits          their row of A or column of B: SGEMM's accuracy for ordinary
 *                                                   data, nothing is checked
 *      fp32            what "auto" promises (6)     of every kind: by "auto", the default; without scheme bf16x6u, which
 *                                                   auto's check needs, HALFTONE_ACCURACY
 *      reproducible    17 u k max|a| max|b|         that are finite, k <= 2^24; see below
 *      bits=N          2^-N |A||B|                  of all FP32 exponents
 *      bound=X         X |A||B|                     of all FP32 exponents
 *      relative=X:rho=Y   (X / Y) |A||B|, so ||C - R||_F <= X ||AB||_F where || |A||B| ||_F <= Y ||AB||_F
 *
 *    Schemes for every input count everywhere: bf16x6u, and "auto" where it checks the data, with the bound that auto has
 *    at this shape. "All FP32 exponents": every element is 0 or has a magnitude from 2^-102 to below 2^128 - 2^119,
 *    and where all products of an element of C are below 2^-126 the bound takes them as if they were that; units that
 *    flush subnormals (AMD's) may lose 2^-119 more for each k. What exactly the scheme that runs needs, halftone_query
 *    says in `range`. R = alpha op(A) op(B) + beta C, |A||B| stands
 *    for |alpha| |op(A)||op(B)| and beta C adds u |beta C|. The bound of a scheme is
 *
 *      units(k) = split + L + L / 25 + 4,   L = align ceil(min(k, promote) / mma_k) + ceil(k / promote) - 1,
 *
 *    with the scheme's constants on this GPU (ht_abi.h: split_units, align_units, promote_k, mma_k), rounded down
 *    where it divides; without promotion the chain is k long and the last two terms vanish.
 *
 *    What no scheme reaches at this k, or what this library lacks the scheme for, is the error HALFTONE_ACCURACY, never a silent
 *    downgrade; halftone_last_detail names the best scheme and its bound, or the scheme that is missing.
 *    Asked for when even k = 1 is out of reach, halftone_set_accuracy itself says so. More bits never give a larger bound. A worst case is pessimistic: bits=17 is out of reach for most k,
 *    while random data keep 22 bits. halftone_query says in `why_scheme` what was compared.
 *
 *    reproducible: the same bits on every GPU and on the CPU, whatever kernel, split, batch or packing, because all
 *    sums are exact integers; it never switches to another arithmetic. "reproducible:3", ":6" (the default) and
 *    ":10" are i8x3, i8x6 and i8x10: bounds of 2065, 17 and 5 u, elements kept to 2^-14, 2^-22 and 2^-30 of the
 *    largest in their row of A or column of B. The bound is relative to that largest: where elements differ widely
 *    the small ones are lost, by no more than it says. A row of A or column of B that holds NaN or Inf makes its row
 *    or column of C NaN, also where FP32 would give Inf.
 *
 *    A packed operand belongs to one scheme, so packing and packed products work with accuracies fp32 and reproducible and are
 *    refused with HALFTONE_NOT_SUPPORTED for the others: set the scheme that halftone_query names. A kernel set by
 *    halftone_set_kernel runs whatever accuracy was asked for.
 *
 * 8. Errors. 0 is success. Negative codes: argument number -code is wrong. Numbers are SGEMM's own, the
 *    same in every function here; 14 to 19 are arguments that SGEMM does not have. Arguments are checked
 *    in the order of their numbers before anything is launched. Positive codes: everything else. All of
 *    them are in the table below; halftone_strerror gives the texts, halftone_last_detail the numbers or
 *    the backend's own words. The library never prints, exits or aborts. What can be known before is: plans, workspace and
 *    kernels of all parts of a product are there before its first launch. halftone_changed_c says whether a product that failed
 *    all the same had changed C by then.
 *
 * 9. FP64. halftone_dgemm and halftone_dgemm_strided_batched are BLAS's DGEMM: everything above about arguments (pointers
 *    aligned to 8 bytes), order, workspace, threads and errors holds for them, alpha and beta are doubles, and
 *    halftone_dquery and halftone_dworkspace_bytes answer for them. The setters are those of FP32. A handle keeps a setting for each
 *    type, and a name of one type leaves the other's as it is. Names of both (scheme "auto"; accuracies reproducible, bits=N, bound=X,
 *    relative=X:rho=Y) set both; a prefix chooses: "fp64:bits=40", "fp32:auto". What only one of the two can keep (bits=40) is set all
 *    the same, and products of the other answer HALFTONE_ACCURACY. The accuracies for FP64:
 *
 *      fp64            |C - R| <= (k + 4) 2^-53 |A||B| on every input, with NaN, Inf, overflow and subnormal results as native
 *                      DGEMM has them: the default. By scheme native64, FP64 tensor cores on compute capability 8.0, 9.0 and
 *                      10.0, else, and for vectors on NVIDIA, FP64 FMAs, which are slow where a GPU has few (1/32 or 1/64 of its FP32 rate); or, where that is
 *                      predicted faster, by crt15 (crt14, crt16) for the elements of C that the data certify, native64 for the rest
 *      bits=N          2^-N |A||B|, in the same ways; HALFTONE_ACCURACY where (k + 4) 2^-53 is more. bound=X and
 *                      relative=X:rho=Y likewise
 *      fp64-fast       the one predicted fastest of native64, crt14 and, from k = 36 on, where its bound is no larger than crt14's, i8x28
 *      fp64-exact      alpha A B + beta C as exact numbers, rounded once to nearest even: each element is the double closest to it,
 *                      whatever the exponents, alpha and beta, subnormal results and overflow included, NaN and Inf as IEEE
 *                      arithmetic has them for exact sums (a finite sum never overflows on the way), an exact zero as +0, also
 *                      of C = -0 where alpha or k is 0, whoever reads alpha; so have it reproducible and fixed-point schemes. By crt20,
 *                      or as few of its moduli as whole data need (rows of A, columns of B that are integers times a power of two);
 *                      the elements that its 77 bits do not decide are computed from A and B with all their bits, without a word to
 *                      the host: slow where they are many (products whose exponents span hundreds of binades, sums that cancel)
 *      reproducible    crt16: the same bits on every GPU and on the CPU. So are fp64-exact's
 *
 *    Schemes crt14 to crt20 (Ozaki-II) make integers of rows and columns, multiply their residues by INT8 tensor cores, and
 *    round once. Their bound is relative to norms, 2^-L (|a|_2 |b|_1 + |a|_1 |b|_2) of a row and a column with L 54.6 (crt14),
 *    62.2 (crt16) to 77.2, not to |A||B|: elements far below their row's norm lose bits. By name, fp64-fast and reproducible nothing
 *    looks at the data. Accuracies fp64, bits=N and bound=X certify: packing counts of each row of A and column of B the elements that are not
 *    far below its root mean square, and an element of C whose row and column have 5k/4 of them together is within the bound.
 *    Others (many zeros, exponents over many binades, NaN, Inf) are computed by native64 behind the product, in the same call, without
 *    a question to the host: correct, and where that is much of C slower than native64 alone, by packing and launches, or by the
 *    product too where some of C is certified. A row of
 *    A or column of B with NaN or Inf makes its row or column of C NaN. They need workspace, about a byte an element of A, B
 *    and C for each modulus. halftone_dquery gives their bound as fixed_point, relative to k max|a| max|b|. k is at most 2^29.
 *    i8x28 makes seven digits of INT8 of each element, relative to the largest of its row of A or column of B, multiplies those that matter
 *    and writes C in one kernel: |C - R| <= 5 2^-53 k max|a| max|b|, so elements far below their row's largest lose bits; NaN, Inf and
 *    rounding as crt14 to crt20 have them, the same bits on every GPU. For small products where FP64 is slow. k is at most 131,072;
 *    workspace is 7 bytes an element of A and B.
 *    ozaki (on request: SCHEMES=) is the scheme of Mukunoki et al. (2020): as many FP16 slices as the data need for DGEMM's
 *    probable error, at most 16, chosen on the device; "ozaki:d=7" has 7, "ozaki-cr" splits to the end, at most 24 slices
 *    ("ozaki-cr:d=40": 40; 128 is the most), and rounds each element correctly (for an alpha that is a power of two and beta
 *    = 0; else the correctly rounded A B enters one FMA). Equal bits on every GPU. Rows and columns with NaN or Inf, or
 *    which need more slices, are NaN. k is at most 2^18; of a batch one entry runs after the other; workspace is 2 bytes an
 *    element of A and B for each slice that there may be, 8 more for each element, and 1 GiB at most for sums.
 *    k = 0, or an alpha of 0 that the host sees, is done by native64. Bounds leave out what FP64 cannot hold: results below
 *    2^-1022 may be off by k units of 2^-1075 besides, as DGEMM's. Where A B is below 2^-1074 and |alpha| above 1, or A B above
 *    2^1024 and |alpha| below 1, native64 gives 0 or Inf, as DGEMM does; residues, which packed operands always take, give the
 *    right result. Equal calls give equal bits with every scheme. A library that was generated without a scheme that a call
 *    needs (SCHEMES=) answers HALFTONE_NOT_SUPPORTED, or HALFTONE_ACCURACY where an accuracy needs it; without native64 no
 *    product of FP64 is certain to run.
 *
 * 10. Sites. A handle can have a table that says which products run with another accuracy or scheme than it is set to itself. A line
 *    is conditions and, last, what is done where all of them hold; of the lines that hold the first counts, and products for which
 *    none holds run as the handle says:
 *
 *        site=layer* m=4096 n=1-64 accuracy=fp32-fast
 *        op=NT k=65536- scheme=i8x6                     # '#' begins a comment
 *
 *    site is a pattern of the shell for the name that halftone_at_site gave the products (without it: whatever their name); op is the
 *    transposes ('C' counts as T) of A and B; m, n, k and batch are N, N-M, N- or -M and the sizes of the call, also where it runs in
 *    blocks or, for matrices of the host, in tiles. A line whose accuracy or scheme is for both types
 *    (9 above) is for all products, any other for those of its type; the prefixes fp32: and fp64: choose here, too. The text is that of a drop-in's table
 *    (HALFTONE_SITES), but for api=, ordinal= and "original", which a library cannot know.
 *
 *    The table is the handle's, so threads have their own. What decides is the call's name, transposes and sizes, never its data, and
 *    it does so when the call is made: a graph keeps what it was captured with. Packing and products of packed operands take the
 *    lines that ask for site= and k= alone, since who packs one side knows no more: a matrix belongs to the scheme of the site at which
 *    it is packed, so give its products that name, too. halftone_estimate_rho and FP32 products with a kernel set by
 *    halftone_set_kernel do not ask the table.
 *    A product that the handle remembers (64 of them) costs a hash and a comparison, 50 ns of the host; another one a walk over the
 *    lines, 30 ns each. */
#ifndef HALFTONE_H
#define HALFTONE_H

#include <stddef.h>
#include <stdint.h>

/* Of this header; halftone_version() is the library's. As a number for #if: 10000 major + 100 minor + patch. */
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
enum halftone_type { HALFTONE_FP32 = 32, HALFTONE_FP64 = 64 };

/* Largest m, n, k, batch: 2^31 less room for rounding up to tiles and for strides of loops. */
#define HALFTONE_SIZE_MAX INT64_C(2146435072)
/* Alignment that workspaces and packed operands need; what device allocators return has it. */
#define HALFTONE_ALIGNMENT 256

typedef struct halftone halftone;

/* ---- handle ---- */

/* On failure *handle is NULL; halftone_last_detail(NULL) tells more. */
int halftone_create(halftone **handle);

/* Frees everything, after waiting for the device where there is something to free. Streams that were used may be gone; graphs
 * that captured calls on the handle's own blocks must not run any more. NULL is allowed. */
int halftone_destroy(halftone *handle);

/* cudaStream_t, with an AMD set hipStream_t (or NULL) of the calls that follow; see 3 above. */
int halftone_set_stream(halftone *handle, void *stream);

/* Device memory of yours for the calls that follow, on whatever stream; NULL and 0: back to the source below. */
int halftone_set_workspace(halftone *handle, void *workspace, size_t bytes);

/* No call of the handle takes more workspace than this; 0: no limit (default). Calls that would are cut into blocks of the batch,
 * of rows and of columns, 256 at least, whose operands are packed again for each: halftone_query says how many (blocks) and what
 * they take. crt* pack k in parts, too (splits), whose residues add up: 256 MB are enough for any m and n and k up to 2^26, of fp64-exact 2^25.
 * HALFTONE_WORKSPACE where no blocks are small enough, and for packed operands; FP64's accuracies then run native64
 * where it serves, which needs none. Schemes of fixed point (i8x*, crt*) have the same bits in any blocks. */
int halftone_set_workspace_limit(halftone *handle, size_t bytes);
int halftone_get_workspace_limit(halftone *handle, size_t *bytes);

/* HALFTONE_OWN (default) or HALFTONE_POOL: where workspace comes from without a block of yours; see 4 above. What the
 * handle keeps already stays until halftone_trim. HALFTONE_NOT_SUPPORTED: the device has no stream-ordered memory, or the
 * source is none of the two; HALFTONE_OUT_OF_DEVICE_MEMORY, HALFTONE_DEVICE_ERROR: no pool could be made. On failure
 * nothing changes. */
int halftone_set_workspace_source(halftone *handle, int source);

/* Gives all device memory that the handle keeps back to the system, after waiting for the device; the next call allocates
 * anew. Graphs that captured calls on the handle's own blocks must not run any more, as with halftone_destroy; those that
 * hold memory of the pool may. The handle's present stream must exist; HALFTONE_NOT_SUPPORTED while it is being captured. */
int halftone_trim(halftone *handle);

/* "auto", a name from halftone_schemes, or an earlier name of one: "fp32" is taken for bf16x6u. It is set for the products whose type
 * has the scheme; "auto" for both types, "fp32:auto" and "fp64:auto" for one. */
int halftone_set_scheme(halftone *handle, const char *name);

/* An accuracy instead of a scheme, as in 7 and 9 above. For FP32 products: "half", "tf32", "fp32-fast", "fp32", "reproducible:3", ":6",
 * ":10". For FP64 products: "fp64", "fp64-fast", "fp64-exact". For both: "reproducible", "bits=N", "bound=X", "relative=X:rho=Y"; with the
 * prefix "fp32:" or "fp64:" for one. One that only one type can keep is set for both, and products of the other answer
 * HALFTONE_ACCURACY. For each type the later of this and halftone_set_scheme holds. On failure nothing changes. */
int halftone_set_accuracy(halftone *handle, const char *text);

/* HALFTONE_HOST (default) or HALFTONE_DEVICE: where alpha and beta are. */
int halftone_set_pointer_mode(halftone *handle, int mode);

/* Adds a line to the site table (10 above); an empty one or a comment adds none, NULL empties the table. HALFTONE_SITE: it is malformed
 * or says what a library cannot do; HALFTONE_UNKNOWN_SCHEME, HALFTONE_UNKNOWN_ACCURACY, HALFTONE_ACCURACY: it asks for what this library
 * lacks. Where it is for FP32 and FP64 products and one of them is lacking, such products fail with that code. halftone_last_detail says
 * what and the cure. On failure nothing changes. */
int halftone_set_site(halftone *handle, const char *line);
/* Adds all lines of a file, or none: HALFTONE_SITE and the codes above, halftone_last_detail beginning with FILE:LINE. */
int halftone_read_sites(halftone *handle, const char *path);
/* The name of the products that follow, of at most 63 characters (else HALFTONE_SITE); NULL or "": none. */
int halftone_at_site(halftone *handle, const char *name);
/* The line with this index as it was given, and how many products it has decided; NULL and 0 past the end. Texts last until the table is
 * emptied. */
int halftone_get_site(halftone *handle, int index, const char **line, int64_t *products);
/* Which line decided the last product, from 1; 0: none. Of a product to come halftone_query says it (`site`, `why_scheme`). */
int halftone_last_site(const halftone *handle);

/* HALFTONE_RECOMPUTE_ALL (default): what "auto" promises (6), at the price of computing again what its test does not clear.
 * HALFTONE_RECOMPUTE_NOTHING: the same choice between f16x3 and bf16x6u by shape, without the test, for data that are known or for a time
 * that the data may not change. Then f16x3's own bound holds for elements down to 2^-16 of the largest in their row of A or column of B; a smaller one is
 * off by up to 2^-40 of that largest, and a row of A or column of B with NaN or Inf makes its row or column of C NaN.
 * What was packed under one serves the other; named schemes and other accuracies are not concerned. */
enum halftone_recompute { HALFTONE_RECOMPUTE_ALL, HALFTONE_RECOMPUTE_NOTHING };
int halftone_set_recompute(halftone *handle, int what);

/* What "auto" has computed again: results alone, and all those of blocks (64 x 64, or parts of one) that were computed whole. */
struct halftone_checked {
    int64_t alone, in_blocks;
};
/* With NULL: from here on the handle counts, on the device, on whatever stream its calls run; 16 bytes, kept until halftone_destroy. Then: what was
 * counted since the last time, in the order of the handle's present stream, asynchronously if `result` is pinned memory: read it when the stream
 * has got there. Before the first, or where the stream is being captured for the first: HALFTONE_NOT_SUPPORTED. Calls on several
 * streams are counted together: let them meet before. */
int halftone_last_check(halftone *handle, struct halftone_checked *result);

/* For benches and ablations: run this kernel whatever the shape and the scheme set; NULL: choose again. While "auto" is set
 * a kernel of f16x3 has its results tested. A kernel of FP64 products runs where its scheme does, whatever the shape, a tile of native64
 * also where residues leave elements to it; an FP64 product that would leave the kernel out is refused with HALFTONE_NOT_SUPPORTED. */
int halftone_set_kernel(halftone *handle, const char *name);

/* What the handle is set to, scheme and accuracy for one type, HALFTONE_FP32 or HALFTONE_FP64. Accuracy: NULL where a scheme was set by
 * name, which `scheme` then is; else the text that it was set by, without a prefix. Scheme: NULL where the accuracy chooses. Kernel: NULL where none was set.
 * Workspace: NULL and 0 where it comes from the source. Texts last until the handle is set anew. */
int halftone_get_stream(halftone *handle, void **stream);
int halftone_get_workspace(halftone *handle, void **workspace, size_t *bytes);
int halftone_get_workspace_source(halftone *handle, int *source);
int halftone_get_scheme(halftone *handle, int type, const char **name);
int halftone_get_accuracy(halftone *handle, int type, const char **text);
int halftone_get_pointer_mode(halftone *handle, int *mode);
int halftone_get_kernel(halftone *handle, const char **name);
int halftone_get_recompute(halftone *handle, int *what);

/* ---- products ---- */

int halftone_sgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *beta, float *c, int64_t ldc);

/* C_i = alpha op(A_i) op(B_i) + beta C_i, entry i at X + i * stride_x (elements), argument order of cuBLAS.
 * Stride 0 of A or B: one matrix shared by all entries and packed once. */
int halftone_sgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const float *alpha, const float *a, int64_t lda,
                                   int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b,
                                   const float *beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch);

/* FP64 products: see 9 above. */
int halftone_dgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const double *alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                   const double *beta, double *c, int64_t ldc);
int halftone_dgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const double *alpha, const double *a, int64_t lda,
                                   int64_t stride_a, const double *b, int64_t ldb, int64_t stride_b,
                                   const double *beta, double *c, int64_t ldc, int64_t stride_c, int64_t batch);

/* ---- packed operands ---- */

/* An operand that is used often (weights, centroids) can be packed once; not under scheme bf16x6u, which packs nothing
 * (HALFTONE_NOT_SUPPORTED). The blob is plain device memory
 * without a header: row exponents (for schemes that scale rows) rounded up to 1024 bytes, then panels; for "auto" also
 * what each row lost and the matrix itself, twice the bytes in all. It
 * belongs to the scheme, the size and the version of the library it was packed for; of "auto" it serves under the scheme that auto starts
 * from, too. A handle knows, by their addresses, the operands that it packed (none of a capture), until halftone_trim
 * or until it packs over them, and refuses (-7, -9, before anything is launched; halftone_last_detail says what they were packed for) a
 * product of their size under another scheme. Any other blob is taken as it is, since it may have been copied or packed by another
 * handle: under another scheme or as another size it gives garbage. Before one of another scheme and the same size comes to lie at an
 * address where this handle packed another, call halftone_trim. It does not depend on transposes, on the other operand or on the kernel.
 * Results are bit for bit those of halftone_sgemm. */

/* Bytes of `batch` blobs one after the other; which: 'A' (rows = m) or 'B' (rows = n). */
int halftone_packed_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch,
                          size_t *bytes);
int halftone_pack_a(halftone *handle, char transa, int64_t m, int64_t k, const float *a, int64_t lda,
                    void *packed);
int halftone_pack_b(halftone *handle, char transb, int64_t k, int64_t n, const float *b, int64_t ldb,
                    void *packed);
/* Both in one launch: faster than one after the other. Packed operands that overlap are an argument error (-18). */
int halftone_pack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, void *packed_a,
                     void *packed_b);
/* Wrong packed_a and packed_b are arguments 7 and 9. Needs workspace only for split-K sums, and with "auto" 9 bits for 8 elements of C. */
int halftone_sgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const float *alpha,
                          const void *packed_a, const void *packed_b, const float *beta, float *c,
                          int64_t ldc);

/* The same of FP64: what crt14 to crt20 make of an operand, by the scheme that is set or that the accuracy takes at this k:
 * reproducible crt16, fp64-exact crt20, fp64-fast crt14, fp64 and bits=N the fewest moduli whose certificate ordinary data can
 * pass; no prediction is asked. Packed besides: measures of rows, for fp64 and bits=N their counts, and for
 * these and fp64-exact the matrix itself (8 bytes an element), from which results are computed that residues do not give.
 * Results are bit for bit those of halftone_dgemm by the same scheme. HALFTONE_NOT_SUPPORTED: native64 and ozaki have no packed
 * operands, and for fp64 or bits=N no moduli of the library are certified at this k (k = 1, and
 * k = 0, where halftone_dgemm_packed reads no operand and takes NULL).
 *
 * Memory is plain device memory of the caller's; what was packed there the handle knows by its address, for products of its own
 * alone, until something is packed over it. Errors -7 and -9 of a product, before anything is launched, halftone_last_detail
 * says which: this handle has packed nothing at that address; rows or k are another product's; it was packed for another
 * scheme or accuracy than is set now. A copy elsewhere is not known. A matrix may be packed by either function, and serve on either side.
 * Workspace is that of the product alone, a byte an element of C for each modulus; a limit does not cut it. */
int halftone_dpacked_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch, size_t *bytes);
int halftone_dpack_a(halftone *handle, char transa, int64_t m, int64_t k, const double *a, int64_t lda, void *packed);
int halftone_dpack_b(halftone *handle, char transb, int64_t k, int64_t n, const double *b, int64_t ldb, void *packed);
int halftone_dpack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *a,
                      int64_t lda, const double *b, int64_t ldb, void *packed_a, void *packed_b);
int halftone_dgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const double *alpha, const void *packed_a,
                          const void *packed_b, const double *beta, double *c, int64_t ldc);

/* ---- matrices in host memory ---- */

/* The products of SGEMM and SSYRK, DGEMM and DSYRK, with A, B and C in the host's memory, pageable as it is; C is complete on return. C is computed in
 * tiles: operands are copied through pinned buffers and packed once, copies and products of different tiles overlap. k is never
 * divided, so each element has the accuracy of one product of this k; which bits it has depends on the tiles. The handle keeps pinned
 * and device memory for the next such call until halftone_trim. alpha and beta are read by the host, whatever the pointer mode.
 * HALFTONE_NOT_SUPPORTED while the handle's stream is being captured.
 *
 * SSYRK: C = alpha op(A) op(A)^T + beta C of which only the triangle that uplo ('U', 'L') names is read and written; op(A) is n x k.
 *
 * After a failure C is untouched or holds some finished tiles. Which are missing halftone_host_left says, one of them a call (C's rows
 * [row, row + rows), columns [col, col + cols)), and then 0; 0 at once: C is untouched. */
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
int halftone_host_left(halftone *handle, int64_t *row, int64_t *col, int64_t *rows, int64_t *cols);

/* Largest rows and columns of a tile (from 64 on; 0: 4096), and the device memory that the tiles may take beside the handle's
 * workspace (0: half of the device's). Where a long k leaves no room tiles are made smaller. */
int halftone_set_host_tiles(halftone *handle, int64_t tile, size_t bytes);

/* Threads that copy between the caller's memory and pinned memory, the caller's among them (1 to 64; 0: one for each 6 MB, up to 12
 * and to three quarters of the CPUs). They exist during the call alone and take no signals. */
int halftone_set_host_threads(halftone *handle, int threads);

/* ---- how much cancels ---- */

/* For "relative=X:rho=Y" in 7 above: estimates rho = ||A||_F ||B||_F / ||op(A)op(B)||_F from eight random vectors of +-1, which are
 * multiplied by B and A (a few thousandths of the product's work). That is at least || |A||B| ||_F / ||AB||_F, 1.3 to 1.6
 * times it on data with random signs and equal to it on constant matrices; more where large elements meet small ones. The
 * estimate is within a factor of two of it, nearly always; the same data give the same number. At least 1; 1 where a size is 0 or
 * A or B is zero. Norms may lie anywhere, also where those of A, B or AB overflow or underflow in FP32. Unlike products this call
 * allocates, waits for the stream and is refused (HALFTONE_NOT_SUPPORTED)
 * while the stream is being captured; also where the matrices hold NaN or Inf, or nothing is left of AB at all. Whenever it
 * fails *rho is INFINITY, from which no accuracy follows. */
int halftone_estimate_rho(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *a,
                          int64_t lda, const float *b, int64_t ldb, double *rho);

/* ---- questions: none of these touches the device ---- */

enum { HALFTONE_WHY_BYTES = 256 };

/* Begin with HALFTONE_PLAN_INIT: `size` says how much of the struct the program knows, and the library writes no more, so one that
 * was compiled with an older header runs with a newer library; a member that the library does not know yet stays 0. */
struct halftone_plan {
    size_t size;                 /* set by the caller: sizeof(struct halftone_plan) */
    const char *scheme, *kernel; /* kernel "": no product is run (a size is 0) */
    int bm, bn, bk;              /* tile of a block */
    int wm, wn;                  /* tile of a warp */
    int stages;                  /* shared-memory buffers */
    int splits;                  /* ordered parts of k */
    int64_t pack_ns;             /* predicted packing of A and B */
    int64_t kernel_ns;           /* predicted product, split-K reduction included; about 2^60, 36 years, stands for anything longer */
    int64_t predicted_ns;        /* their sum */
    size_t workspace_bytes;
    int64_t bound_units; /* |C - op(A)op(B)| <= bound_units * 2^-24 * |A||B| componentwise, in range */
    double error_bound;  /* bound_units * 2^-24 */
    /* 1: in the bound |A||B| stands for k * largest of the row of A * largest of the column of B; 2: for A' B', in which each
     * element has the largest magnitude of its tile (16 rows x 32 k of A, 32 k x 8 columns of B) */
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

/* What halftone_sgemm (batch 1) or the batched call, with operands that are not shared, would run. */
int halftone_query(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch,
                   struct halftone_plan *plan);

/* Workspace of the same call; with a shared (stride 0) or packed operand it needs less, or, where a limit cuts the call, what fits the limit. */
int halftone_workspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                             int64_t batch, size_t *bytes);

/* Both questions of halftone_dgemm and its batched call; bound_units counts 2^-53, and error_bound is bound_units * 2^-53. */
int halftone_dquery(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch,
                    struct halftone_plan *plan);
int halftone_dworkspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                              int64_t batch, size_t *bytes);

/* Name of the scheme or kernel with this index, NULL past the end. NULL handle: those of the first GPU. Schemes for one type,
 * HALFTONE_FP32 or HALFTONE_FP64, or for either: 0. */
const char *halftone_schemes(const halftone *handle, int type, int index);
const char *halftone_kernels(const halftone *handle, int index);
/* What halftone_set_accuracy takes for one type or for either (0), NULL past the end; the last three are "bits=N", "bound=X" and
 * "relative=X:rho=Y". */
const char *halftone_accuracies(int type, int index);

const char *halftone_version(void); /* HALFTONE_VERSION_TEXT of the library */
/* Name of the budget with this index that this library has kernels for ("a800"), NULL past the end; the budget
 * whose kernels the handle runs (NULL handle: the first); the device that the handle runs on. */
const char *halftone_gpus(int index);
const char *halftone_gpu(const halftone *handle);
const char *halftone_device(const halftone *handle);

/* Never NULL. The second: numbers or backend's words behind the handle's last failure, "" after a success; NULL
 * handle: of this thread's last halftone_create. */
const char *halftone_strerror(int code);
const char *halftone_last_detail(const halftone *handle);

/* 1: the handle's last call, a product of device memory that failed, may have changed C: a part of what it launches was refused when
 * another part had been launched. 0: C is as it was, and with any beta the product can still be computed in another way. */
int halftone_changed_c(const halftone *handle);

#ifdef __cplusplus
}
#endif
#endif
