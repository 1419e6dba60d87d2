// tensor_maps: the wgmma kernel with plain bulk copies against the same with tensor maps (made by tensor_maps.py), same
// panels, turn by turn: times and whether the results are the same bits. Built and run by tensor_maps.sh.
#include <cuda.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../runtime/halftone.h"
#include "../runtime/ht_abi.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
extern "C" int JOIN(KERNEL, _init)(void);
extern "C" int JOIN(KERNEL, _launch)(const struct ht_gemm_args *, void *);
extern "C" int JOIN(KERNEL, _maps_init)(void);
extern "C" int JOIN(KERNEL, _maps_launch)(const void *, void *);

struct mapped_args {
    ht_gemm_args g;
    CUtensorMap a, b;
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "tensor_maps: %s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
}

static CUtensorMap map_of(const unsigned char *panels, int row_blocks, int k_blocks, int box_blocks)
{
    typedef CUresult (*encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                               const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                               CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    must(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found) == cudaSuccess, "entry point");
    CUtensorMap map;
    const cuuint64_t dims[3] = {128, (cuuint64_t)k_blocks * 64, (cuuint64_t)row_blocks};
    const cuuint64_t strides[2] = {128, (cuuint64_t)k_blocks * 8192};
    const cuuint32_t box[3] = {128, 64, (cuuint32_t)box_blocks}, step[3] = {1, 1, 1};
    must(((encode)entry)(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, (void *)panels, dims, strides, box, step,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS, "cuTensorMapEncodeTiled");
    return map;
}

static float *matrix(size_t count, unsigned seed)
{
    std::vector<float> host(count);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(int)seed / 2147483648.0f;
    }
    float *device = nullptr;
    must(cudaMalloc((void **)&device, count * 4) == cudaSuccess, "cudaMalloc");
    must(cudaMemcpy(device, host.data(), count * 4, cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy");
    return device;
}

// Microseconds of one launch, `count` back to back.
template <class Call> static float time_of(int count, Call call)
{
    cudaEvent_t from, to;
    float ms = 0;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventRecord(from, 0);
    for (int i = 0; i < count; i++)
        must(call() == 0, "launch");
    cudaEventRecord(to, 0);
    must(cudaEventSynchronize(to) == cudaSuccess, "kernel");
    cudaEventElapsedTime(&ms, from, to);
    return ms * 1e3f / (float)count;
}

static void compare(halftone *h, int n)
{
    const size_t count = (size_t)n * n;
    float *a = matrix(count, 1), *b = matrix(count, 2), *c = matrix(count, 3), *d = matrix(count, 4);
    size_t bytes = 0;
    unsigned char *pa = nullptr, *pb = nullptr;
    must(halftone_packed_bytes(h, 'A', n, n, 1, &bytes) == 0, "packed bytes");
    cudaMalloc((void **)&pa, bytes);
    cudaMalloc((void **)&pb, bytes);
    must(halftone_pack_ab(h, 'N', 'N', n, n, n, a, n, b, n, pa, pb) == 0, "packing");
    const size_t exponents = bytes - (size_t)((n + 63) / 64) * ((n + 31) / 32) * 8192;
    mapped_args x;
    memset((void *)&x, 0, sizeof x);
    x.g.a_panels = pa + exponents;
    x.g.b_panels = pb + exponents;
    x.g.a_row_absmax = (const int *)pa;
    x.g.b_col_absmax = (const int *)pb;
    x.g.ldc = x.g.m = x.g.n = n;
    x.g.k_blocks = (n + 31) / 32;
    x.g.splits = x.g.batch = 1;
    x.g.alpha = 1;
    x.a = map_of(x.g.a_panels, (n + 63) / 64, x.g.k_blocks, BM / 64);
    x.b = map_of(x.g.b_panels, (n + 63) / 64, x.g.k_blocks, BN / 64);
    const int turns = 9, launches = std::max(4, (int)(0.1 / (2.0 * n * n * (double)n / 200e12)));
    std::vector<float> plain, maps, ratio;
    for (int t = 0; t < turns; t++) {
        x.g.c = c;
        plain.push_back(time_of(launches, [&] { return JOIN(KERNEL, _launch)(&x.g, nullptr); }));
        x.g.c = d;
        maps.push_back(time_of(launches, [&] { return JOIN(KERNEL, _maps_launch)(&x, nullptr); }));
        ratio.push_back(maps.back() / plain.back());
    }
    std::vector<float> one(count), two(count);
    cudaMemcpy(one.data(), c, count * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(two.data(), d, count * 4, cudaMemcpyDeviceToHost);
    std::sort(plain.begin(), plain.end());
    std::sort(maps.begin(), maps.end());
    std::sort(ratio.begin(), ratio.end());
    printf("%d\t%.2f\t%.2f\t%.4f\t%.4f\t%.4f\t%s\n", n, plain[turns / 2], maps[turns / 2], ratio[turns / 2], ratio.front(), ratio.back(),
           memcmp(one.data(), two.data(), count * 4) == 0 ? "equal" : "DIFFERENT");
    for (void *p : {(void *)a, (void *)b, (void *)c, (void *)d, (void *)pa, (void *)pb})
        cudaFree(p);
}

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
int main(void)
{
    halftone *h = nullptr;
    must(halftone_create(&h) == 0 && halftone_set_scheme(h, "f16x3") == 0 && JOIN(KERNEL, _init)() == 0 && JOIN(KERNEL, _maps_init)() == 0, "start");
    printf("# plain bulk copies of atoms against tensor maps, " TEXT(KERNEL) ", %s; microseconds of the kernel, medians of 9 turns\n", halftone_device(h));
    printf("n\tplain_us\tmaps_us\tmaps/plain\tleast\tmost\tbits\n");
    for (int n : {1024, 2048, 4096, 8192})
        compare(h, n);
    return halftone_destroy(h);
}
