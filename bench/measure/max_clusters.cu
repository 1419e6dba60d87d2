// max_clusters: how many clusters of two blocks as large as wgmma_ss's run at once on this GPU; a kernel of the set launches
// SMS / 2 of them and takes two rounds where fewer fit. nvcc -arch=sm_90a -o max_clusters bench/measure/max_clusters.cu
#include <cstdio>
#include <cuda_runtime.h>

static __global__ void block(void)
{
    extern __shared__ char ring[];
    ring[threadIdx.x] = 0;
}

int main()
{
    enum { THREADS = 384, SMEM_BYTES = 200 * 1024, CLUSTER = 2 };
    int sms = 0, clusters = 0;
    cudaLaunchAttribute shape = {};
    cudaLaunchConfig_t config = {};
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    shape.id = cudaLaunchAttributeClusterDimension;
    shape.val.clusterDim = {CLUSTER, 1, 1};
    config.gridDim = dim3((unsigned)sms / CLUSTER * CLUSTER);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = SMEM_BYTES;
    config.attrs = &shape;
    config.numAttrs = 1;
    cudaError_t code = cudaFuncSetAttribute(block, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveClusters(&clusters, block, &config);
    std::printf("%d multiprocessors, %d clusters of %d blocks at once: %s\n", sms, clusters, CLUSTER, cudaGetErrorString(code));
    return code != cudaSuccess;
}
