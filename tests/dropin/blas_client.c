/* blas_client.c: a program that calls a BLAS under each name of the face's table, with -DMAIN, or loaded by a program (linker.c, CALLS).
 *     all | NAME         calls of every name, or of one: transposes, orders, triangles, odd leading dimensions, sizes to 200; elements are
 *                        small integers, so each result is compared exactly with loops of its own
 *     size, dsize M N K  one sgemm_, dgemm_ of this size
 *     wrong              calls with wrong arguments: C stays
 *     threads            eight threads at once
 *     fork               a child before and one after the process has called
 *     busyfork           children of a process of which another thread is in a product
 *     while FILE         a child as soon as FILE is there, which a thread's first product makes; FILE.go when the child has ended
 *     storm N            N children of a process whose other threads are in products
 *     exit               exit(7) while a thread of the process is in a product
 *     rounding           calls of sgemm_ and dgemm_ while the CPU rounds upward
 *     small              one sgemm_ of 3 x 3 x 3 and one wrong one
 * Prints calls, wrong results, and what the face counted: served and original (-1: no face). */
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/dropin/blas_names.h"

#define TYPE_s float
#define TYPE_d double
int client(int argc, char **argv);

/* A problem as a call has it; row: row-major. */
struct problem {
    int row, uplo, ta, tb; /* letters */
    int64_t m, n, k, lda, ldb, ldc;
    int alpha, beta;
    double *a, *b, *c;
};

#define PROTOTYPE_gemm_fortran(name, t, INT)                                                                           \
    void name(const char *, const char *, const INT *, const INT *, const INT *, const TYPE_##t *, const TYPE_##t *, const INT *, \
              const TYPE_##t *, const INT *, const TYPE_##t *, TYPE_##t *, const INT *);
#define PROTOTYPE_gemm_cblas(name, t, INT)                                                                             \
    void name(int, int, int, INT, INT, INT, TYPE_##t, const TYPE_##t *, INT, const TYPE_##t *, INT, TYPE_##t, TYPE_##t *, INT);
#define PROTOTYPE_syrk_fortran(name, t, INT)                                                                           \
    void name(const char *, const char *, const INT *, const INT *, const TYPE_##t *, const TYPE_##t *, const INT *, const TYPE_##t *, \
              TYPE_##t *, const INT *);
#define PROTOTYPE_syrk_cblas(name, t, INT)                                                                             \
    void name(int, int, int, INT, INT, TYPE_##t, const TYPE_##t *, INT, TYPE_##t, TYPE_##t *, INT);
#define PROTOTYPE(X, name, t, routine, form, INT, alike) PROTOTYPE_##routine##_##form(name, t, INT)
BLAS_NAMES(PROTOTYPE, )

static int number(int letter) {
    return letter == 'N' ? 111 : letter == 'T' ? 112 : letter == 'C' ? 113 : letter == 'U' ? 121 : letter == 'L' ? 122 : 0;
}

/* Arrays of the type, and back. */
#define CALL_gemm_fortran(name, t, INT)                                                                                \
    const char ta = (char)p->ta, tb = (char)p->tb;                                                                     \
    const INT m = (INT)p->m, n = (INT)p->n, k = (INT)p->k, lda = (INT)p->lda, ldb = (INT)p->ldb, ldc = (INT)p->ldc;    \
    const TYPE_##t alpha = (TYPE_##t)p->alpha, beta = (TYPE_##t)p->beta;                                               \
    name(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
#define CALL_gemm_cblas(name, t, INT)                                                                                  \
    name(p->row ? 101 : 102, number(p->ta), number(p->tb), (INT)p->m, (INT)p->n, (INT)p->k, (TYPE_##t)p->alpha, a, (INT)p->lda, b, \
         (INT)p->ldb, (TYPE_##t)p->beta, c, (INT)p->ldc);
#define CALL_syrk_fortran(name, t, INT)                                                                                \
    const char uplo = (char)p->uplo, ta = (char)p->ta;                                                                 \
    const INT n = (INT)p->n, k = (INT)p->k, lda = (INT)p->lda, ldc = (INT)p->ldc;                                      \
    const TYPE_##t alpha = (TYPE_##t)p->alpha, beta = (TYPE_##t)p->beta;                                               \
    name(&uplo, &ta, &n, &k, &alpha, a, &lda, &beta, c, &ldc);
#define CALL_syrk_cblas(name, t, INT)                                                                                  \
    name(p->row ? 101 : 102, number(p->uplo), number(p->ta), (INT)p->n, (INT)p->k, (TYPE_##t)p->alpha, a, (INT)p->lda,  \
         (TYPE_##t)p->beta, c, (INT)p->ldc);

enum { MOST = 256 * 256 };
#define RUN(X, name, t, routine, form, INT, alike)                                                                     \
    static void run_##name(const struct problem *p) {                                                                  \
        TYPE_##t *const a = malloc(3 * MOST * sizeof *a), *const b = a + MOST, *const c = b + MOST;                    \
        (void)b;                                                                                                       \
        for (int i = 0; i < MOST; i++)                                                                                 \
            a[i] = (TYPE_##t)p->a[i], b[i] = (TYPE_##t)p->b[i], c[i] = (TYPE_##t)p->c[i];                              \
        CALL_##routine##_##form(name, t, INT)                                                                          \
        for (int i = 0; i < MOST; i++)                                                                                 \
            p->c[i] = (double)c[i];                                                                                    \
        free(a);                                                                                                       \
    }
BLAS_NAMES(RUN, )

struct entry {
    const char *name;
    int is_syrk, is_cblas;
    void (*run)(const struct problem *p);
};
#define IS_gemm 0
#define IS_syrk 1
#define IS_fortran 0
#define IS_cblas 1
#define ENTRY(X, name, t, routine, form, INT, alike) {#name, IS_##routine, IS_##form, run_##name},
static const struct entry entries[] = {BLAS_NAMES(ENTRY, )};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* ---- a problem ---- */

static double small_integer(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(int)(*seed >> 28) - 7;
}

static void fill(struct problem *p, unsigned seed) {
    double *const all = malloc(3 * MOST * sizeof *all);
    p->a = all;
    p->b = all + MOST;
    p->c = all + 2 * MOST;
    for (int i = 0; i < 3 * MOST; i++)
        all[i] = small_integer(&seed);
}

static double at(const double *x, bool across, int64_t row, int64_t col, int64_t ld) {
    return x[across ? row * ld + col : row + col * ld];
}

static int compare(const struct problem *p, const double *before, bool is_syrk) {
    int wrong = 0;
    for (int64_t i = 0; i < (p->row ? p->n : p->m); i++) /* places that belong to nobody */
        wrong += p->c[i + (p->row ? p->m : p->n) * p->ldc] != before[i + (p->row ? p->m : p->n) * p->ldc];
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const bool is_done = !is_syrk || (p->uplo == 'U' ? i <= j : i >= j);
            const double old = at(before, p->row, i, j, p->ldc);
            double sum = 0;
            for (int64_t l = 0; l < p->k && is_done; l++) {
                const double x = at(p->a, (p->ta != 'N') != p->row, i, l, p->lda);
                const double y = is_syrk ? at(p->a, (p->ta != 'N') != p->row, j, l, p->lda) : at(p->b, (p->tb != 'N') != p->row, l, j, p->ldb);
                sum += x * y;
            }
            wrong += at(p->c, p->row, i, j, p->ldc) != (is_done ? p->alpha * sum + p->beta * old : old);
        }
    return wrong;
}

static int run_one(const struct entry *e, struct problem p, unsigned seed) {
    double *const before = malloc(MOST * sizeof *before);
    const bool a_is_k = (p.ta == 'N') == p.row, b_is_k = (p.tb == 'N') != p.row;
    p.lda = (a_is_k ? p.k : p.m) + 3;
    p.ldb = (b_is_k ? p.k : p.n) + 1;
    p.ldc = (p.row ? p.n : p.m) + 5;
    fill(&p, seed);
    memcpy(before, p.c, MOST * sizeof *before);
    e->run(&p);
    const int wrong = compare(&p, before, e->is_syrk);
    free(before);
    free(p.a);
    return wrong != 0;
}

static int run_name(const struct entry *e, int *calls) {
    static const int sizes[][3] = {{3, 2, 4}, {65, 33, 70}, {1, 64, 9}, {200, 130, 31}, {0, 5, 5}, {7, 7, 0}, {129, 1, 200}};
    static const char ops[] = "NTC";
    int wrong = 0;
    for (unsigned i = 0; i < 18; i++) {
        const int *const s = sizes[(i + (unsigned)(e - entries)) % 7];
        struct problem p = {.row = e->is_cblas && i & 1, .uplo = i & 2 ? 'U' : 'L', .ta = ops[i % 3], .tb = ops[i / 3 % 3], .alpha = (int)(i % 4) - 1,
                            .beta = (int)(i / 2 % 3)};
        p.m = e->is_syrk ? s[1] : s[0];
        p.n = s[1];
        p.k = s[2];
        wrong += run_one(e, p, i);
        ++*calls;
    }
    return wrong;
}

/* ---- commands ---- */

static int run_all(const char *name, int *calls) {
    int wrong = 0;
    for (int i = 0; i < ENTRIES; i++)
        if (strcmp(name, "all") == 0 || strcmp(entries[i].name, name) == 0) {
            const int of_name = run_name(&entries[i], calls);
            if (of_name > 0)
                printf("%s: %d wrong\n", entries[i].name, of_name);
            wrong += of_name;
        }
    return wrong;
}

static int run_wrong(int *calls) {
    float a[4] = {1, 2, 3, 4}, c[4] = {5, 6, 7, 8};
    const float one = 1;
    const int two = 2, minus = -1, zero = 0;
    sgemm_("X", "N", &two, &two, &two, &one, a, &two, a, &two, &one, c, &two);
    sgemm_("N", "?", &two, &two, &two, &one, a, &two, a, &two, &one, c, &two);
    sgemm_("N", "N", &minus, &two, &two, &one, a, &two, a, &two, &one, c, &two);
    sgemm_("N", "N", &two, &two, &two, &one, a, &zero, a, &two, &one, c, &two);
    sgemm_("N", "N", &two, &two, &two, &one, a, &two, a, &two, &one, c, &zero);
    ssyrk_("A", "N", &two, &two, &one, a, &two, &one, c, &two);
    ssyrk_("U", "N", &two, &minus, &one, a, &two, &one, c, &two);
    cblas_sgemm(100, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    cblas_sgemm(101, 7, 111, 2, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    cblas_sgemm64_(101, 111, 111, 2, 2, 2, 1, a, 2, a, 1, 1, c, 2);
    cblas_ssyrk(101, 120, 111, 2, 2, 1, a, 2, 1, c, 2);
    /* of 32 bits these would be right */
    const int64_t wide = ((int64_t)1 << 32) + 2, two_wide = 2;
    sgemm_64_("N", "N", &wide, &two_wide, &two_wide, &one, a, &two_wide, a, &two_wide, &one, c, &two_wide);
    scipy_sgemm_64_("N", "N", &two_wide, &two_wide, &wide, &one, a, &two_wide, a, &two_wide, &one, c, &two_wide);
    cblas_sgemm64_(102, 111, 111, wide, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    cblas_sgemm_64(102, 111, 111, 2, 2, wide, 1, a, 2, a, 2, 1, c, 2);
    scipy_cblas_sgemm64_(101, 111, 111, 2, wide, 2, 1, a, 2, a, 2, 1, c, 2);
    *calls += 16;
    return c[0] != 5 || c[1] != 6 || c[2] != 7 || c[3] != 8;
}

static int run_small(int *calls) {
    const struct problem p = {.uplo = 'L', .ta = 'N', .tb = 'T', .m = 3, .n = 3, .k = 3, .alpha = 2, .beta = 1};
    ++*calls;
    return run_one(&entries[0], p, 1);
}

static void *run_thread(void *data) {
    int calls = 0;
    *(int *)data = run_name(&entries[0], &calls) + run_name(&entries[5], &calls);
    return NULL;
}

static int run_threads(int *calls) {
    pthread_t thread[8];
    int wrong[8], sum = 0;
    for (int i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, run_thread, &wrong[i]);
    for (int i = 0; i < 8; i++) {
        pthread_join(thread[i], NULL);
        sum += wrong[i];
    }
    *calls += 8 * 36;
    return sum;
}

static void print_counts(const char *who, int calls, int wrong) {
    union {
        void *symbol;
        int (*call)(uint64_t *, uint64_t *);
    } counters = {dlsym(RTLD_DEFAULT, "halftone_dropin_counters")};
    uint64_t served = 0, original = 0;
    if (counters.symbol != NULL)
        counters.call(&served, &original);
    printf("%s%d %d %lld %lld\n", who, calls, wrong, counters.symbol != NULL ? (long long)served : -1LL,
           counters.symbol != NULL ? (long long)original : -1LL);
    fflush(stdout);
}

static int run_fork(int *calls) {
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0) {
            int of_child = 0;
            const int bad = run_name(&entries[0], &of_child);
            print_counts("child ", of_child, bad);
            _exit(bad);
        }
        int status = 0;
        (void)waitpid(child, &status, 0);
        wrong += status != 0;
        wrong += run_name(&entries[0], calls);
    }
    return wrong;
}

static volatile int products; /* of the thread that goes on and on */

static void *run_forever(void *data) {
    (void)data;
    for (int calls = 0;; products++)
        if (run_name(&entries[0], &calls) != 0)
            abort();
    return NULL;
}

static void begin_forever(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run_forever, NULL);
    while (products == 0)
        usleep(1000);
}

static int run_busy_fork(int *calls) {
    int wrong = 0;
    begin_forever();
    for (int i = 0; i < 8; i++) {
        const pid_t child = fork();
        if (child == 0) {
            int of_child = 0;
            const struct itimerval most = {.it_value = {.tv_sec = 20}};
            (void)setitimer(ITIMER_REAL, &most, NULL);
            _exit(run_name(&entries[0], &of_child) != 0);
        }
        int status = 0;
        (void)waitpid(child, &status, 0);
        wrong += status != 0;
        ++*calls;
        usleep(3000);
    }
    return wrong;
}

/* 1: wrong, or it hung. */
static int run_child(int *calls) {
    const pid_t child = fork();
    int status = 0, of_child = 0;
    if (child == 0) {
        alarm(10);
        const int wrong = run_name(&entries[0], &of_child);
        print_counts("child ", of_child, wrong);
        _exit(wrong != 0);
    }
    ++*calls;
    return waitpid(child, &status, 0) != child || status != 0;
}

static int run_while(const char *file, int *calls) {
    char go[4096];
    pthread_t thread;
    int of_thread = 0;
    snprintf(go, sizeof go, "%s.go", file);
    pthread_create(&thread, NULL, run_thread, &of_thread);
    while (access(file, F_OK) != 0)
        usleep(1000);
    const int wrong = run_child(calls);
    (void)close(open(go, O_WRONLY | O_CREAT, 0600));
    pthread_join(thread, NULL);
    return wrong + of_thread;
}

static int run_storm(int children, int *calls) {
    int wrong = 0;
    begin_forever();
    begin_forever();
    while (children-- > 0)
        wrong += run_child(calls);
    return wrong;
}

/* Elements are integers: exact whichever way. */
static int run_rounding(int *calls) {
    (void)fesetround(FE_UPWARD);
    const int wrong = run_name(&entries[0], calls) + run_all("dgemm_", calls);
    (void)fesetround(FE_TONEAREST);
    return wrong;
}

static void say_end(void) {
    printf("atexit\n");
}

static int run_exit(void) {
    begin_forever();
    atexit(say_end);
    usleep(5000);
    exit(7);
}

#define RUN_SIZE(function, T, gemm)                                                                          \
    static int function(char **argv, int *calls) {                                                           \
        const int m = atoi(argv[0]), n = atoi(argv[1]), k = atoi(argv[2]);                                   \
        T *const a = calloc((size_t)m * (size_t)k, sizeof *a), *const b = calloc((size_t)k * (size_t)n, sizeof *b); \
        T *const c = calloc((size_t)m * (size_t)n, sizeof *c);                                               \
        const T one = 1, zero = 0;                                                                           \
        a[0] = 3, b[0] = 5;                                                                                  \
        gemm("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);                                        \
        ++*calls;                                                                                            \
        const int wrong = c[0] != 15;                                                                        \
        free(a), free(b), free(c);                                                                           \
        return wrong;                                                                                        \
    }
RUN_SIZE(run_size, float, sgemm_)
RUN_SIZE(run_double_size, double, dgemm_)

int client(int argc, char **argv) {
    int calls = 0, wrong = 0;
    const char *const command = argc > 1 ? argv[1] : "all";
    if (strcmp(command, "wrong") == 0)
        wrong = run_wrong(&calls);
    else if (strcmp(command, "threads") == 0)
        wrong = run_threads(&calls);
    else if (strcmp(command, "fork") == 0)
        wrong = run_fork(&calls);
    else if (strcmp(command, "busyfork") == 0)
        wrong = run_busy_fork(&calls);
    else if (strcmp(command, "rounding") == 0)
        wrong = run_rounding(&calls);
    else if (strcmp(command, "while") == 0 && argc > 2)
        wrong = run_while(argv[2], &calls);
    else if (strcmp(command, "storm") == 0 && argc > 2)
        wrong = run_storm(atoi(argv[2]), &calls);
    else if (strcmp(command, "exit") == 0)
        wrong = run_exit();
    else if (strcmp(command, "size") == 0 && argc > 4)
        wrong = run_size(argv + 2, &calls);
    else if (strcmp(command, "dsize") == 0 && argc > 4)
        wrong = run_double_size(argv + 2, &calls);
    else if (strcmp(command, "small") == 0)
        wrong = run_small(&calls) + run_wrong(&calls);
    else
        wrong = run_all(command, &calls);
    print_counts("", calls, wrong);
    return 0;
}

#ifdef MAIN
int main(int argc, char **argv) {
    return client(argc, argv);
}
#endif
