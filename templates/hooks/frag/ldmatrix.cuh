// frag/ldmatrix: fragments of mma.sync m16n8, loaded by ldmatrix.x4 (PTX ISA, "ldmatrix" and "Matrix Fragments for
// mma.m16n8k16"). One load brings 16 rows x 16 k of A, or two neighbouring 8-column tiles of B. Row and 16-byte chunk
// that a lane addresses:
constexpr int D_REGS = MMA_M * MMA_N / WAVE; // accumulators of a lane in one MMA tile
constexpr int ROW_LANES_STEP = 4, ROW_LANES_END = 32; // lanes that have rows of the same columns, from one to the next

HT_DEVICE int ht_a_row(int lane)
{
    return lane & 15;
}

HT_DEVICE int ht_a_chunk(int lane)
{
    return lane >> 4;
}

HT_DEVICE int ht_b_row(int lane)
{
    return (lane & 7) + (lane >> 4) * 8;
}

HT_DEVICE int ht_b_chunk(int lane)
{
    return lane >> 3 & 1;
}

HT_DEVICE void ht_load_a(unsigned *r, unsigned s)
{
    ht_ldmatrix_x4(r, s);
}

HT_DEVICE void ht_load_b(unsigned *r, unsigned s)
{
    ht_ldmatrix_x4(r, s);
}

// Lane (g = lane / 4, t = lane % 4) holds rows g, g + 8 and columns 2t, 2t + 1 of a 16 x 8 tile; eight lanes write 32
// contiguous bytes of a column.
HT_DEVICE int ht_d_row(int lane, int i)
{
    return (lane >> 2) + i * 8;
}

HT_DEVICE int ht_d_col(int lane, int j)
{
    return (lane & 3) * 2 + j;
}
