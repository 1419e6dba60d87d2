// launch/pdl: launches for architectures where a kernel may start while its predecessor still runs (PTX ISA 9.0,
// "griddepcontrol"; CUDA programmatic dependent launch). ht_pdl_wait returns when the predecessor and all it wrote are
// there; ht_pdl_trigger lets the successor start. A kernel that waits before it triggers orders more: its
// successor runs after its predecessor. What was there before that the successor may read without waiting; it says so by
// ht_pdl_assume_complete, which the simulator checks. cluster: neighbouring blocks that run together.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_pdl_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

HT_DEVICE void ht_pdl_trigger(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

HT_DEVICE void ht_pdl_assume_complete(void)
{
}

template <class Args>
static int ht_launch_dependent(void (*kernel)(Args), unsigned gx, unsigned gy, unsigned gz, unsigned threads,
                               int smem_bytes, void *stream, const Args &args, int cluster = 1)
{
    Args copy = args;
    void *list[] = {&copy};
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = (unsigned)cluster;
    attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(gx, gy, gz);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = (size_t)smem_bytes;
    config.stream = (cudaStream_t)stream;
    config.attrs = attributes;
    config.numAttrs = cluster > 1 ? 2 : 1;
    return (int)cudaLaunchKernelExC(&config, (const void *)kernel, list);
}
#endif
