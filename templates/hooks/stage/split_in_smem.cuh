// stage/split_in_smem: from parts of the caller's FP32 matrices to fragments of BF16 slices, for kernels with MMAs. Numbers are cut once
// for a block, as they are copied into shared memory: a stage of an operand is SLICES planes of BF16, each in the orientation of
// the source, lines of what is contiguous:
//
//   k contiguous:     ROWS lines of BK numbers       rows contiguous:  BK lines of ROWS numbers (ldmatrix transposes)
//
// A line's 16-byte pieces are exchanged (ht_bank_swizzle), so that 8 pieces of neighbouring lines meet no bank twice, as do the
// 8-byte stores of half a warp.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_ldmatrix_x4_trans(unsigned *r, unsigned s)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(s));
}

// x in the low half.
HT_DEVICE unsigned ht_bf16_pair(float x, float y)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}
#endif

template <int ROWS> constexpr int ht_slices_bytes = SLICES * ROWS * BK * 2;                // of an operand's stage //@mutate cut-bytes
template <int ROWS, bool K_MAJOR> constexpr int ht_pitch = (K_MAJOR ? BK : ROWS) * 2; // bytes from line to line

// What a line's pieces are exchanged by, as bytes: as many values as pieces stand side by side in the banks.
template <int PITCH> HT_DEVICE unsigned ht_bank_swizzle(int line)
{
    constexpr int WIDE = PITCH < 128 ? PITCH : 128;
    return (unsigned)(line / (128 / WIDE) & (WIDE / 16 - 1)) << 4;
}

// Three slices of two numbers, each what is left rounded to nearest: 8 bits each and the sign of the rest.
HT_DEVICE void ht_split_pair(float x, float y, unsigned *slice)
{
    for (int s = 0; s < SLICES; s++) {
        slice[s] = ht_bf16_pair(x, y);
        x = __fadd_rn(x, -ht_as_float(slice[s] << 16));
        y = __fadd_rn(y, -ht_as_float(slice[s] & 0xffff0000u));
    }
}

// Cuts this thread's parts of a stage, looks at them and stores them.
template <int ROWS, int PARTS, int THREADS, bool K_MAJOR>
HT_DEVICE void ht_split_vectors(unsigned stage, const uint4 *part, const ht_source &from, ht_value_range *value_range)
{
    constexpr int PITCH = ht_pitch<ROWS, K_MAJOR>, PER_THREAD = K_MAJOR ? ROWS : BK;
    constexpr int LINES = THREADS / (PITCH / 8); // a power of two, and from.line is below it
    const unsigned to =
        stage + (unsigned)(from.line * PITCH + (from.across & 4) * 2) + ((unsigned)(from.across / 8 * 16) ^ ht_bank_swizzle<PITCH>(from.line));
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        if (PER_THREAD % LINES == 0 || from.line + i * LINES < PER_THREAD) {
            const uint4 v = part[i];
            unsigned first[SLICES], second[SLICES];
            ht_observe(value_range, v.x);
            ht_observe(value_range, v.y);
            ht_observe(value_range, v.z);
            ht_observe(value_range, v.w);
            ht_split_pair(ht_as_float(v.x), ht_as_float(v.y), first);
            ht_split_pair(ht_as_float(v.z), ht_as_float(v.w), second);
#pragma unroll
            for (int s = 0; s < SLICES; s++)
                ht_sts8((to ^ ht_bank_swizzle<PITCH>(i * LINES)) + (unsigned)(i * LINES * PITCH + s * ROWS * BK * 2), first[s], second[s]);
        }
    }
}

// Where the piece begins that holds (row, k), one of them a multiple of 8; and from there the piece `rows` and `k`, multiples
// of 16, further.
template <int ROWS, bool K_MAJOR> HT_DEVICE unsigned ht_matrix_at(int row, int k)
{
    constexpr int PITCH = ht_pitch<ROWS, K_MAJOR>;
    const int line = K_MAJOR ? row : k, across = K_MAJOR ? k : row;
    return (unsigned)(line * PITCH) + ((unsigned)(across / 8 * 16) ^ ht_bank_swizzle<PITCH>(line));
}

template <int ROWS, bool K_MAJOR> HT_DEVICE unsigned ht_matrix_on(unsigned at, int rows, int k)
{
    const int lines = K_MAJOR ? rows : k, across = K_MAJOR ? k : rows;
    return (at ^ (unsigned)(across * 2)) + (unsigned)(lines * ht_pitch<ROWS, K_MAJOR>); //@mutate piece-on
}

// Four 8 x 8 matrices of every slice into four neighbouring registers; from slice to slice STRIDE registers.
template <int ROWS, bool K_MAJOR, int STRIDE> HT_DEVICE void ht_load_matrices(unsigned *r, unsigned at)
{
#pragma unroll
    for (int s = 0; s < SLICES; s++) {
        if (K_MAJOR)
            ht_ldmatrix_x4(r + s * STRIDE, at + (unsigned)(s * ROWS * BK * 2));
        else
            ht_ldmatrix_x4_trans(r + s * STRIDE, at + (unsigned)(s * ROWS * BK * 2));
    }
}
