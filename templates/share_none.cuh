// share_none: launches that follow one another: blocks go to all SMs alike.
constexpr bool HT_SHARES = false;

static int ht_smem_of_share(int bytes, long long, int)
{
    return bytes;
}
