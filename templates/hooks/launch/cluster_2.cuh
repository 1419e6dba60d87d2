// launch/cluster_2: two blocks that share panels. Instruction facts: PTX ISA 9.0, sections "mapa", "barrier.cluster",
// "mbarrier.arrive", "cp.async.bulk".
#ifndef HT_SIMULATOR
// Which of the two this block is: 0 or 1.
HT_DEVICE int ht_cluster_rank(void)
{
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A shared address of this block as the same place of block `rank`; adding bytes to it stays there.
HT_DEVICE unsigned ht_cluster_address(unsigned smem, int rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem), "r"(rank));
    return there;
}

// All threads of both blocks meet. Relaxed: after ht_mbar_init_done both may use each other's mbarriers, other data of one
// are not promised to the other.
HT_DEVICE void ht_cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

// Arrives on an mbarrier of either block. Named with its scope (.release.cluster) the instruction takes 1,500 clocks a stage
// (measured on an H200); what it orders here are reads of the tensor core that a wait has ended.
HT_DEVICE void ht_mbar_arrive_cluster(unsigned bar)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}

// ht_bulk_copy to the same place of both blocks; completes on bar of each.
HT_DEVICE void ht_bulk_copy_multicast(unsigned to, const void *from, int bytes, unsigned bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
                 "%4;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar), "h"((unsigned short)3)
                 : "memory");
}
#endif
