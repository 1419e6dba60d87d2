// frag_direct: where a lane's results lie in a 16 x 8 tile of C when operands are read from shared memory as FP32, and how
// its fragments of mma.sync m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16") are made there.
//
// Lane (g = lane / 4, t = lane % 4) has columns 2t, 2t + 1 of the tile and its rows g, g + WAVE / 4, ... The MMA wants
// k = 2t, 2t + 1, 2t + 8, 2t + 9 of rows g, g + 8; sums do not care which k stands where as long as A and B agree, so a
// lane takes k = t, t + 4, t + 8, t + 12: then the 32 lanes of a load touch 32 banks in both orientations (stage_direct).
constexpr int D_REGS = 128 / WAVE; // results of a lane in one tile

HT_DEVICE int ht_d_row(int lane, int i)
{
    return (lane >> 2) + i * (WAVE / 4);
}

HT_DEVICE int ht_d_col(int lane, int j)
{
    return (lane & 3) * 2 + j;
}
