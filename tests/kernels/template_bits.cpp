/* template_bits: the rolled template and the generated kernel give the same bits at equal parameters (templates/README.md). Compiled once for the simulator and once by nvcc (-x cu); the kernel of the set is named by -DKERNEL=...,
 * templates/samples/mma_warp.h holds its parameters. Exit 0: equal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../templates/skeletons/mma_warp.cu"

#include "../../bench/halftone/accuracy/families.h"
#include "../../runtime/ht_dev.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

extern "C" int GLUE(KERNEL, _init)(void);
extern "C" int GLUE(KERNEL, _launch)(const struct ht_gemm_args *args, void *stream);
extern "C" int ht_pack_f16x3_sm80_init(void);
extern "C" int ht_pack_f16x3_sm80_launch(const struct ht_pack_args *operands, int count, void *stream);

enum { M = 200, N = 150, K = 448, K_PADDED = 448, ROWS_A = 256, ROWS_B = 192 };

static void *device(size_t bytes, const void *host) {
    void *p = NULL;
    if (ht_dev_alloc(&p, bytes) != HT_DEV_OK || (host && ht_dev_upload(p, host, bytes) != HT_DEV_OK)) {
        printf("no device memory: %s\n", ht_dev_detail());
        exit(2);
    }
    return p;
}

static ht_pack_args operand(const float *src, int rows, int padded, bool k_contiguous, long long ld) {
    ht_pack_args p = {};
    p.src = src;
    p.ld = ld;
    p.rows = rows;
    p.k = K;
    p.k_contiguous = k_contiguous;
    p.k_blocks = K_PADDED / 32;
    p.batch = 1;
    p.to.panels = (unsigned char *)device((size_t)padded * K_PADDED * 4, NULL);
    p.to.row_absmax = (int *)device((size_t)padded * 4, NULL);
    p.absmax_exchange = (int *)device((size_t)padded / 64 * (K_PADDED + 1) * 4, NULL);
    return p;
}

static int failed(const char *what, int code) {
    printf("%s: code %d %s\n", what, code, ht_dev_detail());
    return 2;
}

int main(void) {
    static float a[M * K], b[K * N], c[2][M * N];
    struct ht_dev_info info;
    if (ht_dev_open(ht_sets[0], &info) != HT_DEV_OK)
        return failed("open", 0);
    family_fill(family_find("phi1"), 5, 'A', M, N, K, a, M);
    family_fill(family_find("phi1"), 5, 'B', M, N, K, b, K);
    ht_pack_args both[2] = {operand((float *)device(sizeof a, a), M, ROWS_A, false, M),
                            operand((float *)device(sizeof b, b), N, ROWS_B, true, K)};
    int code = ht_dev_check(ht_pack_f16x3_sm80_init());
    if (code == HT_DEV_OK)
        code = ht_dev_check(ht_pack_f16x3_sm80_launch(both, 2, NULL));
    if (code != HT_DEV_OK)
        return failed("pack", code);
    for (int way = 0; way < 2; way++) {
        memset(c[way], 0xff, sizeof c[way]);
        ht_gemm_args g = {};
        g.a_packed = both[0].to;
        g.b_packed = both[1].to;
        g.to.c = device(sizeof c[way], c[way]);
        g.to.ldc = g.m = M;
        g.n = N;
        g.k_blocks = K_PADDED / 32;
        g.splits = g.batch = 1;
        g.to.alpha.f32 = 1;
        code = ht_dev_check(way ? GLUE(KERNEL, _init)() : init());
        if (code == HT_DEV_OK)
            code = ht_dev_check(way ? GLUE(KERNEL, _launch)(&g, NULL) : launch(g, NULL));
        if (code != HT_DEV_OK || ht_dev_download(c[way], g.to.c, sizeof c[way]) != HT_DEV_OK)
            return failed(way ? "generated kernel" : "template", code);
    }
    for (int i = 0; i < M * N; i++) {
        if (memcmp(&c[0][i], &c[1][i], 4) != 0 || c[0][i] != c[0][i]) {
            printf("element %d: template %a, generated %a\n", i, (double)c[0][i], (double)c[1][i]);
            return 1;
        }
    }
    printf("%d elements, bit for bit\n", M * N);
    return 0;
}
