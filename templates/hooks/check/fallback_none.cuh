// check/fallback_none: check/fallback_tile for schemes that have no certificate: nothing of this is ever called.
template <int ROWS> HT_DEVICE void ht_fallback_of_warp(const ht_gemm_args &, long long, int, int)
{
}
