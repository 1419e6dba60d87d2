// check/fallback_none: check/fallback_tile for schemes that no data check starts from: nothing of this is ever called.
template <int UNROLL> HT_DEVICE void ht_fallback_block(const ht_gemm_args &, float, float, long long, int, int)
{
}
