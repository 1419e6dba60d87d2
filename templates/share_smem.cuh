// share_smem: where launches overlap, blocks go where room is first: those of a launch that has few would gather on the SMs that are done with the
// launch before, while others stay idle (300 x 300 x 300 by FP64's MMAs in two parts: 12 us; in one 7). So a launch asks for so much shared
// memory that no SM holds more of its blocks than its share.
constexpr bool HT_SHARES = true;
constexpr int SMEM_UNIT = 128; // in which shared memory is given

// What a block asks for that needs `bytes`. blocks: of the launch, of which an SM could hold `most`.
static int ht_smem_of_share(int bytes, long long blocks, int most)
{
    const int share = blocks < (long long)SMS * most ? (int)((blocks + SMS - 1) / SMS) : most;
    const int alone = SMEM_PER_SM / (share + 1) - SMEM_RESERVED + SMEM_UNIT;
    return share < most && alone > bytes ? alone : bytes;
}
