// launch/together_cluster: neighbouring blocks that run together and meet once, as a cluster. Instruction facts: PTX ISA
// 9.0, "barrier.cluster".
constexpr int HT_TOGETHER_MOST = 8; // blocks: what every GPU with clusters has

#ifndef HT_SIMULATOR
// All threads of the cluster; what they wrote before is seen by all behind it.
HT_DEVICE void ht_cluster_meet(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}
#endif

HT_DEVICE void ht_together_meet(void)
{
    ht_cluster_meet();
}

template <class Args>
static int ht_launch_together(void (*kernel)(Args), unsigned gx, unsigned gz, unsigned threads, int smem_bytes,
                              void *stream, const Args &args, int blocks)
{
    return ht_launch_dependent(kernel, gx, 1, gz, threads, smem_bytes, stream, args, blocks);
}
