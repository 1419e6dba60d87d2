// stage/global_f64: steps of the caller's FP64 matrices, through registers, into shared memory: pairs of k,
// 16 bytes, of ROWS + 2 rows one after another. A thread takes whole pairs, in the order of the matrix.
struct ht_operand64 {
    const long long *at;
    long long ld;
    int rows, k_contiguous;
};

HT_DEVICE ht_operand64 ht_operand64_of(const ht_view &x, long long entry) {
    return {(const long long *)x.src + entry * x.stride, x.ld, x.rows, x.k_contiguous};
}

// The bits of an element; zeros beyond the matrix.
HT_DEVICE unsigned long long ht_load_element64(const ht_operand64 &x, int row, int k, int depth) {
    if (row >= x.rows || k >= depth)
        return 0;
    const long long at = x.k_contiguous ? row * x.ld + k : k * x.ld + row;
    return (unsigned long long)ht_ldg_i64(x.at + at);
}

// This thread's part of a step of an operand, in the order in which the matrix has it.
template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_load_step64(const ht_operand64 &x, int row0, int k0, int depth, uint4 *piece) {
#pragma unroll
    for (int i = 0; i < ROWS * PAIRS / THREADS; i++) {
        const int unit = i * THREADS + (int)threadIdx.x;
        const int row = x.k_contiguous ? unit / PAIRS : unit % ROWS,
                  pair = x.k_contiguous ? unit % PAIRS : unit / ROWS;
        const unsigned long long first = ht_load_element64(x, row0 + row, k0 + pair * 2, depth);
        const unsigned long long second = ht_load_element64(x, row0 + row, k0 + pair * 2 + 1, depth);
        piece[i] =
            make_uint4((unsigned)first, (unsigned)(first >> 32), (unsigned)second, (unsigned)(second >> 32));
    }
}

template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_store_step64(const ht_operand64 &x, unsigned to, const uint4 *piece) {
#pragma unroll
    for (int i = 0; i < ROWS * PAIRS / THREADS; i++) {
        const int unit = i * THREADS + (int)threadIdx.x;
        const int row = x.k_contiguous ? unit / PAIRS : unit % ROWS,
                  pair = x.k_contiguous ? unit % PAIRS : unit / ROWS;
        ht_sts16(to + (unsigned)(pair * (ROWS + 2) + row) * 16, piece[i]);
    }
}
