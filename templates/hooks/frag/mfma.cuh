// frag/mfma: fragments of MFMA on wavefronts of 64 lanes, for square shapes: 32x32x8 (16-bit types: two to a fragment of
// 16 k) and 16x16x16 (two to a fragment of 32 k); INT8: twice the k, so four to a fragment. Source: AMD Matrix Instruction Calculator, gfx90a; runtime/sim/sim_mfma.c has
// the layouts as a table.
//
// An MFMA wants of lane l four neighbouring k of row l % M, those from 4 (l / M) on. A and B may take the k of a
// fragment in any order as long as it is the same, so a lane loads one whole 16-byte chunk by ds_read_b128, and each
// MFMA takes one half of all chunks (INT8: a quarter). 32x32x8 with 16-bit types:
//
//   k of a fragment             0 1 2 3   4 5 6 7 | 8 9 10 11   12 13 14 15
//   lanes 0-31 hold chunk 0     MFMA 0    MFMA 1  |
//   lanes 32-63 hold chunk 1                      |  MFMA 0       MFMA 1
//
// LDS serves eight lanes of a ds_read_b128 at a time. They have eight different rows modulo 8, so the swizzle gives
// them eight different chunks: all 32 banks, no conflict.
constexpr int D_REGS = MMA_M * MMA_N / WAVE; // accumulators of a lane in one MMA tile
constexpr int ROW_LANES_STEP = 1, ROW_LANES_END = MMA_M; // lanes that have rows of the same columns, from one to the next

HT_DEVICE int ht_a_row(int lane)
{
    return lane % MMA_M; //@mutate a-row
}

HT_DEVICE int ht_a_chunk(int lane)
{
    return lane / MMA_M; //@mutate a-chunk
}

HT_DEVICE int ht_b_row(int lane)
{
    return lane % MMA_N;
}

HT_DEVICE int ht_b_chunk(int lane)
{
    return lane / MMA_N;
}

HT_DEVICE void ht_load_chunk(unsigned *r, unsigned s)
{
    const uint4 v = ht_lds16(s);
    r[0] = v.x;
    r[1] = v.y;
    r[2] = v.z;
    r[3] = v.w;
}

HT_DEVICE void ht_load_a(unsigned *r, unsigned s)
{
    ht_load_chunk(r, s);
}

HT_DEVICE void ht_load_b(unsigned *r, unsigned s)
{
    ht_load_chunk(r, s);
}

// MFMA gives lane l column l % N of its result, and rows 4 (l / N) .. + 3 of every 256 / N. The hooks ht_mma pass B as the
// first operand, which makes the result the transposed tile: a lane holds one row of C, and neighbouring lanes write
// neighbouring rows of a column.
HT_DEVICE int ht_d_row(int lane, int i)
{
    return lane % MMA_M + i;
}

HT_DEVICE int ht_d_col(int lane, int j)
{
    return j / 4 * (256 / MMA_M) + lane / MMA_M * 4 + j % 4; //@mutate d-col
}
