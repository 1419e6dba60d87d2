// frag_direct: where a lane's results lie in a 16 x 8 tile of C, as mma.sync m16n8k16 has it (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"): lane (g = lane / 4, t = lane % 4) has columns 2t, 2t + 1 of the tile and its rows g, g + WAVE / 4, ...
constexpr int D_REGS = 128 / WAVE; // results of a lane in one tile

HT_DEVICE int ht_d_row(int lane, int i)
{
    return (lane >> 2) + i * (WAVE / 4);
}

HT_DEVICE int ht_d_col(int lane, int j)
{
    return (lane & 3) * 2 + j;
}
