// One tile of fp64_mma_tile for bench/fp64_tiles.cu: TEMPLATE, with a sample of its own, called NAME.
#include <cuda_runtime.h>
#include "../runtime/ht_abi.h"
#include "../runtime/ht_abi64.h"
namespace
{
#include TEMPLATE

// As many split-K slices as fill the GPU once, without the reduction that adds them up.
int slices_of(int m, int n, int k)
{
    enum { SMS = 132, LEAST_K = 256 };
    const long long tiles = (long long)((m + BM - 1) / BM) * ((n + BN - 1) / BN);
    const int fill = (int)(SMS * MIN_BLOCKS / tiles), most = k / LEAST_K;
    return fill > most ? (most > 1 ? most : 1) : fill > 1 ? fill : 1;
}

int run(const double *a, const double *b, double *c, double *partial, int m, int n, int k, int a_k, int b_k)
{
    ht_native64_args g = {};
    g.a_src = a, g.b_src = b, g.c = c, g.partial = partial;
    g.a_ld = a_k ? k : m, g.b_ld = b_k ? k : n, g.ldc = m;
    g.m = m, g.n = n, g.k = k, g.a_k_contiguous = a_k, g.b_k_contiguous = b_k;
    g.batch = 1, g.splits = slices_of(m, n, k), g.alpha = 1, g.beta = 0;
    return launch(g, 0) != 0 ? -1 : g.splits;
}
} // namespace

void fp64_tiles_add(const char *name, int (*init)(void),
                    int (*run)(const double *, const double *, double *, double *, int, int, int, int, int));
static const bool added = (fp64_tiles_add(NAME, init, run), true);
