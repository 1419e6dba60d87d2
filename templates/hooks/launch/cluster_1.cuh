// launch/cluster_1: blocks that share nothing. The hooks of launch/cluster_2 for a block by itself.
HT_DEVICE int ht_cluster_rank(void)
{
    return 0;
}

HT_DEVICE unsigned ht_cluster_address(unsigned smem, int rank)
{
    (void)rank;
    return smem;
}

HT_DEVICE void ht_cluster_barrier(void)
{
    ht_barrier();
}

HT_DEVICE void ht_mbar_arrive_cluster(unsigned bar)
{
    ht_mbar_arrive(bar);
}

HT_DEVICE void ht_bulk_copy_multicast(unsigned to, const void *from, int bytes, unsigned bar)
{
    ht_bulk_copy(to, from, bytes, bar);
}
