/* handed_on: cycles of a product that the cuBLAS face hands on because it is small, warm and with caches filled by something else between two calls,
 * as by a launch (bench/decisions/053). Before the tests' fake cuBLAS, without a GPU:
 *
 *     echo 'libcublas.so.13 { global: cublas*; fake_*; local: *; };' >versions
 *     gcc -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared -DMAJOR=13 -Wl,-Bsymbolic -Wl,-soname,libcublas.so.13 -Wl,--version-script=versions \
 *         tests/dropin/fake_cublas.c -o libcublas.so.13
 *     gcc -O2 -o handed_on bench/handed_on.c libcublas.so.13 -Wl,-rpath,$PWD
 *     ./handed_on; LD_PRELOAD=out/t4/libhalftone_cublas.so ./handed_on
 *     LD_PRELOAD=out/t4/libhalftone_cublas.so valgrind --tool=callgrind ./handed_on CALLS     # instructions, of two numbers of calls
 *
 * A line for each amount of other memory: KB, cycles of the time stamp counter at least, of a quarter, the median. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
                   const float *beta, float *c, int ldc);

enum { CALLS = 3000, MOST_KB = 4096 };

static void *handle;
static char others[MOST_KB * 1024];

static void call(void) {
    static const float one = 1, zero = 0, a = 2, b = 3;
    static float c;
    (void)cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1);
}

static int compare(const void *x, const void *y) {
    const uint64_t left = *(const uint64_t *)x, right = *(const uint64_t *)y;
    return left < right ? -1 : left > right;
}

static void measure(size_t kb) {
    static uint64_t took[CALLS];
    for (int i = 0; i < CALLS; i++) {
        unsigned core;
        for (size_t at = 0; at < kb * 1024; at += 64)
            ((volatile char *)others)[at]++;
        _mm_mfence();
        const uint64_t start = __rdtscp(&core);
        call();
        took[i] = __rdtscp(&core) - start;
    }
    qsort(took, CALLS, sizeof *took, compare);
    printf("%zu\t%llu\t%llu\t%llu\n", kb, (unsigned long long)took[0], (unsigned long long)took[CALLS / 4], (unsigned long long)took[CALLS / 2]);
}

int main(int argc, char **argv) {
    if (cublasCreate_v2(&handle) != 0)
        return 1;
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
        call();
    for (size_t kb = 0; argc < 2 && kb <= MOST_KB; kb = kb == 0 ? 64 : 8 * kb)
        measure(kb);
    return 0;
}
