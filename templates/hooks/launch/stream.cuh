// launch/stream: launches for architectures where a kernel starts when its predecessor has ended.
HT_DEVICE void ht_pdl_wait(void)
{
}

HT_DEVICE void ht_pdl_trigger(void)
{
}

HT_DEVICE void ht_pdl_assume_complete(void)
{
}

template <class Args>
static int ht_launch_dependent(void (*kernel)(Args), unsigned gx, unsigned gy, unsigned gz, unsigned threads,
                               int smem_bytes, void *stream, const Args &args)
{
    return ht_launch(kernel, gx, gy, gz, threads, smem_bytes, stream, args);
}
