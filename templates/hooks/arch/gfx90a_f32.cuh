// arch/gfx90a_f32: MFMA on FP32 for unpacked_tile, in the place of FFMA: nothing is cut. Source of the layout: AMD
// Matrix Instruction Calculator, gfx90a; runtime/sim/sim_mfma.h has it as a table, and the arithmetic: FFMA one k
// after the other, rounded to nearest, subnormals kept, so the bits are those of the loop that it replaces.
//
// Of 16 x 16 x 4, lane l loads one number of A, row l % 16 and k l / 16, and one of B. As the hooks of the other types do, B
// comes first: the result is the transposed tile, lane l has row l % 16 of C and columns 4 (l / 16) .. + 3.
#ifndef HT_SIMULATOR
HT_MFMA(f32_16x16x4f32, float, ht_f32x4, float)
#endif

constexpr int D_REGS = 256 / WAVE; // results of a lane in one tile

HT_DEVICE int ht_d_row(int lane, int i)
{
    return lane % 16 + i;
}

HT_DEVICE int ht_d_col(int lane, int j)
{
    return lane / 16 * 4 + j; //@mutate gfx90a-f32-d-col
}

constexpr int FP32_K = 4, FP32_STEPS = BK / FP32_K; // k of an MFMA, and MFMAs of a tile whose loads are in one run of code
constexpr bool FP32_APART = true;
constexpr int A_PER_LANE = 1, B_PER_LANE = 1;       // numbers that a lane loads for one

HT_DEVICE int ht_lane_k(int lane)
{
    return lane / 16; //@mutate own-k
}

HT_DEVICE int ht_lane_row(int lane, int)
{
    return lane % 16; //@mutate own-row
}

HT_DEVICE int ht_lane_col(int lane, int)
{
    return lane % 16; //@mutate own-col
}

// d += x * y^T over four k.
HT_DEVICE void ht_multiply(float *d, const float *x, const float *y)
{
    const unsigned a = ht_as_uint(*x), b = ht_as_uint(*y);
    ht_mfma_f32_16x16x4f32(d, &b, &a); //@mutate gfx90a-f32-multiply
}

// Whether any thread of the block says yes; a barrier, and the stages are free for it. (HIP's own takes shared memory and scalars.)
template <int WARPS> HT_DEVICE bool ht_any_of_block(bool yes, unsigned smem, int tid)
{
    int any = yes;
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2)
        any |= ht_shfl_xor(any, lanes);
    ht_barrier();
    if (tid % WAVE == 0)
        ht_sts4(smem + (unsigned)(tid / WAVE) * 4, any ? 1.0f : 0.0f);
    ht_barrier();
    float sum = 0;
    for (int w = 0; w < WARPS; w++)
        sum = __fadd_rn(sum, ht_lds4(smem + (unsigned)w * 4));
    ht_barrier();
    return sum > 0.0f;
}
