/* cublas_client.c: see cublas_client.h. Linked to a fake libcublas. Device memory is host memory that the simulator is told of. */
#include "cublas_client.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/dropin/cublas_names.h"

/* Of the library that this is linked to, as a program's headers declare them. */
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
int cublasSetPointerMode_v2(void *handle, int mode);
int cublasSetMathMode(void *handle, int mode);
int cublasSetSmCountTarget(void *handle, int count);
#define PAIR(name, ARGS)                                                                                     \
    int cublas##name(ARGS(int));                                                                             \
    int cublas##name##_64(ARGS(int64_t));
#define PAIR_OF(name, ARGS, T)                                                                               \
    int cublas##name(ARGS(T, int));                                                                          \
    int cublas##name##_64(ARGS(T, int64_t));
PAIR(Sgemm_v2, CUBLAS_SGEMM_ARGS) PAIR_OF(Ssyrk_v2, CUBLAS_SYRK_ARGS, float)
PAIR_OF(Dsyrk_v2, CUBLAS_SYRK_ARGS, double) PAIR_OF(Ssyrkx, CUBLAS_SYRKX_ARGS, float)
PAIR_OF(Strsm_v2, CUBLAS_TRSM_ARGS, float) PAIR(Dgemm_v2, CUBLAS_DGEMM_ARGS)
PAIR(DgemmStridedBatched, CUBLAS_DGEMM_STRIDED_ARGS) PAIR(SgemmStridedBatched, CUBLAS_SGEMM_STRIDED_ARGS)
PAIR(SgemmEx, CUBLAS_SGEMM_EX_ARGS) PAIR_OF(SgemmBatched, CUBLAS_GEMM_BATCHED_ARGS, float)
PAIR_OF(DgemmBatched, CUBLAS_GEMM_BATCHED_ARGS, double) PAIR(GemmBatchedEx, CUBLAS_GEMM_BATCHED_EX_ARGS)
PAIR(GemmEx, CUBLAS_GEMM_EX_ARGS) PAIR(GemmStridedBatchedEx, CUBLAS_GEMM_STRIDED_EX_ARGS)
int fake_cublas_major(void);
long fake_cublas_calls(void);

int client_major(void) {
    return fake_cublas_major();
}

/* ---- the words ---- */

enum { M, N, K, LDA, LDB, LDC, SA, SB, SC, BATCH, OPA, OPB, TYPE_A, TYPE_B, TYPE_C, COMPUTE, ALGO, MATH, POINTERS, SM, NULLS, WORKSPACE, STREAM, SEED, LATE, APART, UPLO, SIDE, DIAG, ZERO, NUMBERS };
static const char *const words_of[NUMBERS] = {"m", "n", "k", "lda", "ldb", "ldc", "sa", "sb", "sc", "batch", "opa", "opb", "ta", "tb",
                                              "tc", "compute", "algo", "math", "pointers", "sm", "nulls", "workspace", "stream", "seed", "late", "apart", "uplo", "side", "diag", "zero"};
/* How the matrices of an array of pointers lie: evenly; the first two exchanged; A's last one misaligned, which only the original takes. */
enum { EVEN, EXCHANGED, MISALIGNED };
enum { NO_ALPHA = 1, NO_HANDLE = 2, NAN_C = 4 };

struct form {
    char api[40];
    long long is[NUMBERS];
    int is_fp64, is_triangle, is_solve; /* of C a triangle; TRSM, whose B stands as C, and whose `zero` is where A's diagonal is 0 */
    double alpha, beta;
};

static int read_words(const char *words, struct form *f) {
    char text[512], *rest = NULL;
    memset(f, 0, sizeof *f);
    f->is[M] = f->is[N] = f->is[K] = 40;
    f->is[BATCH] = 1;
    f->is[COMPUTE] = 68;
    f->is[LDA] = f->is[LDB] = f->is[LDC] = f->is[SA] = f->is[SB] = f->is[SC] = -1;
    f->alpha = 1;
    f->is[ZERO] = -1;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *const value = strchr(word, '=');
        int known = 0;
        if (value == NULL)
            return 1;
        *value = '\0';
        if (strcmp(word, "api") == 0)
            known = snprintf(f->api, sizeof f->api, "%s", value + 1) > 0;
        if (strcmp(word, "alpha") == 0)
            known = 1, f->alpha = atof(value + 1);
        if (strcmp(word, "beta") == 0)
            known = 1, f->beta = atof(value + 1);
        for (int i = 0; i < NUMBERS; i++)
            if (strcmp(word, words_of[i]) == 0)
                known = 1, f->is[i] = atoll(value + 1);
        if (!known)
            return 1;
    }
    if (f->api[0] == 'D')
        f->is[TYPE_A] = f->is[TYPE_B] = f->is[TYPE_C] = CU_R_64F;
    f->is_fp64 = f->is[TYPE_A] == CU_R_64F && f->is[TYPE_B] == CU_R_64F && f->is[TYPE_C] == CU_R_64F;
    f->is_triangle = strstr(f->api, "syrk") != NULL;
    f->is_solve = strstr(f->api, "trsm") != NULL;
    if (f->is_triangle)
        f->is[M] = f->is[N], f->is[OPB] = f->is[OPA] == 0;
    if (f->is_triangle && strstr(f->api, "syrkx") == NULL) /* its second operand is the first */
        f->is[LDB] = f->is[LDA];
    if (f->is_solve)
        f->is[K] = f->is[SIDE] == CU_LEFT ? f->is[M] : f->is[N];
    const long long rows[3] = {f->is[OPA] == 0 && !f->is_solve ? f->is[M] : f->is[K], f->is[OPB] == 0 ? f->is[K] : f->is[N], f->is[M]};
    const long long columns[3] = {f->is[OPA] == 0 || f->is_solve ? f->is[K] : f->is[M], f->is[OPB] == 0 ? f->is[N] : f->is[K], f->is[N]};
    for (int i = 0; i < 3; i++) {
        if (f->is[LDA + i] == -1)
            f->is[LDA + i] = rows[i] > 0 ? rows[i] + 3 : 1;
        if (f->is[SA + i] == -1)
            f->is[SA + i] = f->is[LDA + i] * (columns[i] > 0 ? columns[i] : 1);
    }
    return 0;
}

/* ---- memory ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void (*registers)(void *p, size_t bytes);
static void (*forgets)(void *p);
static int (*holds)(void *stream);
static void (*lets_go)(void *stream);

/* Where the faces' library plays the device, it must know the memory. SIMULATOR: which is not to be loaded by this. */
static void find_simulator(void) {
    const char *const path = getenv("SIMULATOR") != NULL ? getenv("SIMULATOR") : getenv("HALFTONE_LIBRARY");
    if (path == NULL)
        return;
    void *const simulator = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *const add = simulator != NULL ? dlsym(simulator, "ht_sim_register") : NULL;
    void *const drop = simulator != NULL ? dlsym(simulator, "ht_sim_unregister") : NULL;
    void *const hold = simulator != NULL ? dlsym(simulator, "ht_sim_hold") : NULL;
    void *const let_go = simulator != NULL ? dlsym(simulator, "ht_sim_let_go") : NULL;
    memcpy(&holds, &hold, sizeof holds);
    memcpy(&lets_go, &let_go, sizeof lets_go);
    memcpy(&registers, &add, sizeof registers);
    memcpy(&forgets, &drop, sizeof forgets);
}

/* A child multiplies by the original, and locks of the simulator may be those of threads that it has not. */
void client_is_child(void) {
    registers = NULL;
    forgets = NULL;
}

void client_begin(void) {
    (void)pthread_once(&once, find_simulator);
}

static void *device_memory(size_t bytes) {
    void *const p = aligned_alloc(1024, (bytes + 2047) / 1024 * 1024);
    if (p == NULL)
        abort();
    memset(p, 0x7f, bytes);
    client_begin();
    if (registers != NULL)
        registers(p, bytes);
    return p;
}

static void give_back(void *p) {
    if (forgets != NULL)
        forgets(p);
    free(p);
}

static double next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(*state >> 40) / (1 << 23) - 1;
}

/* Element of an array of either type. */
static double get(const struct form *f, const void *x, size_t i) {
    return f->is_fp64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void put(const struct form *f, void *x, size_t i, double value) {
    if (f->is_fp64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

static size_t width(const struct form *f) {
    return f->is_fp64 ? sizeof(double) : sizeof(float);
}

/* ---- a call and its check ---- */

struct matrices {
    void *x[3], *scalars, *before;
    size_t count[3];
    double host[2];  /* alpha and beta as the call takes them */
    char **pointers, *apart; /* of an array of them; and where a misaligned matrix lies */
};

/* Of a triangle that is not of C the call knows nothing. */
static int has_element(const struct form *f, long long i, long long j) {
    return !f->is_triangle || (f->is[UPLO] == CU_LOWER ? i >= j : i <= j);
}

/* A of TRSM: what must not be read is NaN; rows are small beside the diagonal, lest X grow without bound. */
static void make_triangle(const struct form *f, struct matrices *x) {
    for (long long j = 0; j < f->is[K]; j++)
        for (long long i = 0; i < f->is[LDA]; i++) {
            const size_t at = (size_t)(i + j * f->is[LDA]);
            const double value = get(f, x->x[0], at);
            const int is_there = f->alpha != 0 && i < f->is[K] && (f->is[UPLO] == CU_LOWER ? i >= j : i <= j) && (i != j || f->is[DIAG] == CU_NON_UNIT);
            put(f, x->x[0], at, !is_there ? (double)NAN : i != j ? value / 16 : i == f->is[ZERO] ? 0 : 1 + value / 2);
        }
}

static void make_matrices(const struct form *f, struct matrices *x) {
    uint64_t state = (uint64_t)f->is[SEED] + 1;
    for (int i = 0; i < 3; i++) {
        const long long stride = f->is[SA + i] > 0 ? f->is[SA + i] : 0, columns[3] = {f->is[OPA] == 0 || f->is_solve ? f->is[K] : f->is[M], f->is[OPB] == 0 ? f->is[N] : f->is[K], f->is[N]};
        const long long one = f->is[LDA + i] * (columns[i] > 0 ? columns[i] : 1), more = f->is[BATCH] > 1 ? (f->is[BATCH] - 1) * stride : 0;
        x->count[i] = (size_t)((one > 0 ? one : 1) + more) + 16;
        x->x[i] = device_memory(x->count[i] * width(f));
        for (size_t j = 0; j < x->count[i]; j++) /* of FP64 all bits */
            put(f, x->x[i], j, i == 2 && f->is[NULLS] & NAN_C ? (double)NAN : next_random(&state) * (f->is_fp64 ? 1 + 0x1p-25 * next_random(&state) : 1));
    }
    if (f->is_solve)
        make_triangle(f, x);
    x->scalars = device_memory(2 * sizeof(double));
    put(f, x->scalars, 0, f->alpha);
    put(f, x->scalars, 1, f->beta);
    memcpy(x->host, x->scalars, sizeof x->host);
    x->before = malloc(x->count[2] * width(f));
    memcpy(x->before, x->x[2], x->count[2] * width(f));
}

static void free_matrices(struct matrices *x) {
    for (int i = 0; i < 3; i++)
        give_back(x->x[i]);
    give_back(x->scalars);
    if (x->pointers != NULL) {
        give_back(x->pointers);
        give_back(x->apart);
    }
    free(x->before);
}

static int is_of_c(const struct form *f, size_t at) {
    const long long strided = strstr(f->api, "Batched") != NULL, stride = strided && f->is[SC] > 0 ? f->is[SC] : 0;
    const long long span = f->is[LDC] * f->is[N], first = stride > 0 && (long long)at >= span ? ((long long)at - span) / stride : 0;
    for (long long i = first; i < (strided ? f->is[BATCH] : 1) && i * stride <= (long long)at; i++) {
        const long long within = (long long)at - i * stride;
        if (within / f->is[LDC] < f->is[N] && within % f->is[LDC] < f->is[M] && has_element(f, within % f->is[LDC], within / f->is[LDC]))
            return 1;
    }
    return 0;
}

/* Error of one element of C in units of 2^-24, of FP64 2^-53, of the absolute sum. */
static double error_of(const struct form *f, const struct matrices *x, long long entry, long long i, long long j) {
    const long long a = entry * f->is[SA], b = entry * f->is[SB];
    const size_t at = (size_t)(entry * f->is[SC] + i + j * f->is[LDC]);
    long double sum = 0, size = 0;
    for (long long p = 0; f->alpha != 0 && p < f->is[K]; p++) {
        const long double term = (long double)get(f, x->x[0], (size_t)(a + (f->is[OPA] == 0 ? i + p * f->is[LDA] : p + i * f->is[LDA]))) *
                                 get(f, x->x[f->is_triangle && strstr(f->api, "syrkx") == NULL ? 0 : 1], (size_t)(b + (f->is[OPB] == 0 ? p + j * f->is[LDB] : j + p * f->is[LDB])));
        sum += term;
        size += fabsl(term);
    }
    const long double old = f->beta != 0 ? (long double)f->beta * get(f, x->before, at) : 0;
    const double got = get(f, x->x[2], at);
    const long double error = fabsl(got - (f->alpha * sum + old));
    size = fabs(f->alpha) * size + fabsl(old);
    return isnan(got) ? (double)INFINITY : error == 0 ? 0 : (double)(error / (size * (f->is_fp64 ? 0x1p-53L : 0x1p-24L)));
}

/* ---- TRSM: what remains of each equation, beside the size of its terms ---- */

/* Element (i, j) of the triangle that stands before X's columns, or, transposed, its rows. */
static double in_triangle(const struct form *f, const struct matrices *x, long long i, long long j) {
    const int is_transposed = (f->is[SIDE] == CU_RIGHT) != (f->is[OPA] != 0);
    const long long row = is_transposed ? j : i, col = is_transposed ? i : j;
    if (row == col && f->is[DIAG] == CU_UNIT)
        return 1;
    return (f->is[UPLO] == CU_LOWER ? row >= col : row <= col) ? get(f, x->x[0], (size_t)(row + col * f->is[LDA])) : 0;
}

static int class_of(double value) {
    return isnan(value) ? 2 : isinf(value) ? (value > 0 ? 1 : -1) : 0;
}

/* Of line `line`, a column of X on the left and a row on the right. What is not finite must be so as by substitution. */
static double error_of_line(const struct form *f, const struct matrices *x, long long line, double *by_substitution) {
    const int left = f->is[SIDE] == CU_LEFT, is_ahead = (f->is[UPLO] == CU_LOWER) == (left == (f->is[OPA] == 0));
    const long long step = left ? 1 : f->is[LDC], from = left ? line * f->is[LDC] : line, rows = f->is[K];
    double worst = 0;
    for (long long k = 0; k < rows; k++) {
        const long long i = is_ahead ? k : rows - 1 - k;
        const long double side = f->alpha != 0 ? (long double)f->alpha * get(f, x->before, (size_t)(from + i * step)) : 0;
        long double rest = side, size = fabsl(side), sum = side;
        for (long long j = is_ahead ? 0 : i; f->alpha != 0 && j < (is_ahead ? i + 1 : rows); j++) {
            const long double term = (long double)in_triangle(f, x, i, j) * get(f, x->x[2], (size_t)(from + j * step));
            rest -= term;
            size += fabsl(term);
            if (i != j)
                sum -= (long double)in_triangle(f, x, i, j) * by_substitution[j];
        }
        by_substitution[i] = f->alpha != 0 ? (double)(sum / in_triangle(f, x, i, i)) : 0;
        const double got = get(f, x->x[2], (size_t)(from + i * step));
        if (class_of(got) != class_of(by_substitution[i]))
            return INFINITY;
        if (class_of(got) == 0 && f->alpha == 0)
            worst = got != 0 ? INFINITY : worst;
        else if (class_of(got) == 0 && rest != 0)
            worst = fmax(worst, (double)(fabsl(rest) / (size * 0x1p-24L)));
    }
    return worst;
}

static double error_of_solve(const struct form *f, const struct matrices *x) {
    double *const by_substitution = malloc((size_t)(f->is[K] + 1) * sizeof *by_substitution);
    double worst = 0;
    for (long long line = 0; f->is[K] > 0 && line < f->is[f->is[SIDE] == CU_LEFT ? N : M]; line++)
        worst = fmax(worst, error_of_line(f, x, line, by_substitution));
    free(by_substitution);
    return worst;
}

static void write_error(const struct form *f, const struct matrices *x, int status, char text[32]) {
    double worst = 0;
    int spoilt = 0;
    for (size_t at = 0; at < x->count[2]; at++)
        if (status != CU_SUCCESS || !is_of_c(f, at))
            spoilt |= memcmp((const char *)x->x[2] + at * width(f), (const char *)x->before + at * width(f), width(f)) != 0;
    const long long entries = strstr(f->api, "Batched") != NULL ? f->is[BATCH] : 1;
    if (status == CU_SUCCESS && f->is_solve)
        worst = error_of_solve(f, x);
    for (long long entry = 0; status == CU_SUCCESS && !f->is_solve && entry < entries; entry++)
        for (long long j = 0; j < f->is[N]; j++)
            for (long long i = 0; i < f->is[M]; i++)
                worst = has_element(f, i, j) ? fmax(worst, error_of(f, x, entry, i, j)) : worst;
    if (spoilt)
        snprintf(text, 32, "spoilt");
    else if (status == CU_SUCCESS)
        snprintf(text, 32, "%.3g", worst);
    else
        snprintf(text, 32, "-");
}

/* The matrices of an array of pointers, on the device. */
static void make_arrays(const struct form *f, struct matrices *x) {
    const long long n = f->is[BATCH] > 0 ? f->is[BATCH] : 1;
    char **const pointers = x->pointers = (char **)device_memory((size_t)n * 3 * sizeof *pointers);
    x->apart = (char *)device_memory((size_t)f->is[SA] * width(f) + 16);
    for (int j = 0; j < 3; j++)
        for (long long i = 0; i < n; i++)
            pointers[j * n + (f->is[APART] == EXCHANGED && i < 2 ? 1 - i : i)] = (char *)x->x[j] + (size_t)(i * f->is[SA + j]) * width(f);
    if (f->is[APART] == MISALIGNED) {
        memcpy(x->apart + 2, pointers[n - 1], (size_t)f->is[SA] * width(f));
        pointers[n - 1] = x->apart + 2;
    }
}

/* Arguments of each form; I: the type of sizes. */
#define OPS(I) handle, opa, opb, (I)is[M], (I)is[N], (I)is[K], alpha
#define GEMM(I) OPS(I), a, (I)is[LDA], b, (I)is[LDB], beta, c, (I)is[LDC]
#define STRIDED(I) OPS(I), a, (I)is[LDA], is[SA], b, (I)is[LDB], is[SB], beta, c, (I)is[LDC], is[SC], (I)is[BATCH]
#define SGEMM_EX(I) OPS(I), a, ta, (I)is[LDA], b, tb, (I)is[LDB], beta, c, tc, (I)is[LDC]
#define GEMM_EX(I) SGEMM_EX(I), compute, algo
#define STRIDED_EX(I) \
    OPS(I), a, ta, (I)is[LDA], is[SA], b, tb, (I)is[LDB], is[SB], beta, c, tc, (I)is[LDC], is[SC], (I)is[BATCH], compute, algo
#define BATCHED(I) OPS(I), of, (I)is[LDA], of_b, (I)is[LDB], beta, of_c, (I)is[LDC], (I)is[BATCH]
#define BATCHED_EX(I) OPS(I), of, ta, (I)is[LDA], of_b, tb, (I)is[LDB], beta, of_c, tc, (I)is[LDC], (I)is[BATCH], compute, algo
#define SYRK(I) handle, uplo, opa, (I)is[N], (I)is[K], alpha, a, (I)is[LDA], beta, c, (I)is[LDC]
#define SYRKX(I) handle, uplo, opa, (I)is[N], (I)is[K], alpha, a, (I)is[LDA], b, (I)is[LDB], beta, c, (I)is[LDC]
#define TRSM(I) handle, side, uplo, opa, diag, (I)is[M], (I)is[N], alpha, a, (I)is[LDA], c, (I)is[LDC]

static int call(const struct form *f, void *handle, const void *alpha, const void *beta, const struct matrices *x) {
    const long long *const is = f->is, n = is[BATCH] > 0 ? is[BATCH] : 1;
    const int opa = (int)is[OPA], opb = (int)is[OPB], ta = (int)is[TYPE_A], tb = (int)is[TYPE_B], tc = (int)is[TYPE_C];
    const int compute = (int)is[COMPUTE], algo = (int)is[ALGO], side = (int)is[SIDE], uplo = (int)is[UPLO], diag = (int)is[DIAG];
    const void *const a = x->x[0], *const b = x->x[1], *const of = x->pointers;
    const void *const of_b = x->pointers != NULL ? x->pointers + n : NULL, *const of_c = x->pointers != NULL ? x->pointers + 2 * n : NULL;
    void *const c = x->x[2];
#define CALLED(name, ...)                                                                                    \
    if (strcmp(f->api, #name) == 0)                                                                          \
        return cublas##name(__VA_ARGS__);
#ifdef ONLY_32_BITS
#define BOTH(name, ARGS) CALLED(name, ARGS(int))
#else
#define BOTH(name, ARGS) CALLED(name, ARGS(int)) CALLED(name##_64, ARGS(int64_t))
#endif
    BOTH(Sgemm_v2, GEMM) BOTH(Dgemm_v2, GEMM) BOTH(SgemmEx, SGEMM_EX) BOTH(GemmEx, GEMM_EX)
    BOTH(SgemmStridedBatched, STRIDED) BOTH(DgemmStridedBatched, STRIDED) BOTH(GemmStridedBatchedEx, STRIDED_EX)
    BOTH(SgemmBatched, BATCHED) BOTH(DgemmBatched, BATCHED) BOTH(GemmBatchedEx, BATCHED_EX)
    BOTH(Ssyrk_v2, SYRK) BOTH(Dsyrk_v2, SYRK) BOTH(Ssyrkx, SYRKX) BOTH(Strsm_v2, TRSM)
    return -1;
}

int client_call(const char *words) {
    struct form f;
    struct matrices x;
    void *handle = NULL, *workspace = NULL;
    if (read_words(words, &f) != 0)
        return 1;
    memset(&x, 0, sizeof x);
    make_matrices(&f, &x);
    if (strstr(f.api, "Batched") != NULL && strstr(f.api, "Strided") == NULL)
        make_arrays(&f, &x);
    if (cublasCreate_v2(&handle) != CU_SUCCESS)
        return 1;
    (void)cublasSetStream_v2(handle, (void *)(intptr_t)f.is[STREAM]);
    (void)cublasSetPointerMode_v2(handle, (int)f.is[POINTERS]);
    (void)cublasSetMathMode(handle, (int)f.is[MATH]);
    (void)cublasSetSmCountTarget(handle, (int)f.is[SM]);
    if (f.is[WORKSPACE] > 0) {
        workspace = device_memory((size_t)f.is[WORKSPACE]);
        (void)cublasSetWorkspace_v2(handle, workspace, (size_t)f.is[WORKSPACE]);
    }
    const int late = f.is[LATE] && holds != NULL && holds((void *)(intptr_t)f.is[STREAM]) == 0;
    if (late) /* the device reads them when it gets there */
        put(&f, x.scalars, 0, 1e20), put(&f, x.scalars, 1, 1e20);
    const uint64_t served = served_so_far();
    const long original = fake_cublas_calls();
    char *const scalars = (char *)(f.is[POINTERS] == CU_POINTER_DEVICE ? x.scalars : x.host);
    void *const used = f.is[NULLS] & NO_HANDLE ? NULL : handle, *const alpha = f.is[NULLS] & NO_ALPHA ? NULL : scalars, *const beta = scalars + width(&f);
    const int status = call(&f, used, alpha, beta, &x);
    char error[32];
    if (late) {
        put(&f, x.scalars, 0, f.alpha);
        put(&f, x.scalars, 1, f.beta);
        lets_go((void *)(intptr_t)f.is[STREAM]);
    }
    write_error(&f, &x, status, error);
    printf("%d %s %llu %ld\n", status, error, (unsigned long long)(served_so_far() - served), fake_cublas_calls() - original);
    if (workspace != NULL)
        give_back(workspace);
    free_matrices(&x);
    return cublasDestroy_v2(handle);
}
