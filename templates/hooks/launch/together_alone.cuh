// launch/together_alone: launch/together_cluster where there are no clusters: a block meets nobody.
constexpr int HT_TOGETHER_MOST = 1;

HT_DEVICE void ht_together_meet(void)
{
    ht_barrier();
}

template <class Args>
static int ht_launch_together(void (*kernel)(Args), unsigned gx, unsigned gz, unsigned threads, int smem_bytes,
                              void *stream, const Args &args, int)
{
    return ht_launch_dependent(kernel, gx, 1, gz, threads, smem_bytes, stream, args);
}
