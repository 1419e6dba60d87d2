// stage/global_f64: steps of the caller's FP64 matrices, through registers, into shared memory: pairs of k,
// 16 bytes, of ROWS + 2 rows one after another. A thread takes whole pairs, in the order of the matrix.
// Where pairs of k are in a buffer: bytes of a step of pairs.
struct ht_layout64 {
    int pair_bytes;
};

template <int ROWS, int PAIRS> HT_DEVICE ht_layout64 ht_layout64_of(int) {
    return {(ROWS + 2) * 16};
}

HT_DEVICE unsigned ht_pair_at64(const ht_layout64 &x, int row, int pair) {
    return (unsigned)(pair * x.pair_bytes + row * 16);
}

template <int ROWS, int PAIRS, int THREADS> struct ht_stage64 {
    const double *src;
    long long ld;
    int row0, rows, k, depth; // k: of the next step
    bool k_contiguous;
    uint4 piece[ROWS * PAIRS / THREADS]; // pairs in flight
};

template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE ht_stage64<ROWS, PAIRS, THREADS> ht_stage64_of(const double *src, long long ld, int row0, int rows, int depth,
                                                         int k_contiguous) {
    static_assert(ROWS * PAIRS % THREADS == 0, "whole loads");
    ht_stage64<ROWS, PAIRS, THREADS> x;
    x.src = src;
    x.ld = ld;
    x.row0 = row0;
    x.rows = rows;
    x.k = 0;
    x.depth = depth;
    x.k_contiguous = k_contiguous != 0;
    return x;
}

// The bits of an element; zeros beyond the matrix.
template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE unsigned long long ht_load_element64(const ht_stage64<ROWS, PAIRS, THREADS> &x, int row, int k) {
    if (row >= x.rows || k >= x.depth)
        return 0;
    const long long at = x.k_contiguous ? row * x.ld + k : k * x.ld + row;
    return (unsigned long long)ht_ldg_i64((const long long *)(const void *)x.src + at);
}

// Unit i of this thread: its row of the tile and its pair of the step.
template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_place64(const ht_stage64<ROWS, PAIRS, THREADS> &x, int i, int *row, int *pair) {
    const int unit = i * THREADS + (int)threadIdx.x;
    *row = x.k_contiguous ? unit / PAIRS : unit % ROWS;
    *pair = x.k_contiguous ? unit % PAIRS : unit / ROWS;
}

// Starts the loads of a step; the stage goes on to the next one.
template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_stage64_issue(ht_stage64<ROWS, PAIRS, THREADS> &x, unsigned) {
#pragma unroll
    for (int i = 0; i < ROWS * PAIRS / THREADS; i++) {
        int row, pair;
        ht_place64(x, i, &row, &pair);
        const unsigned long long first = ht_load_element64(x, x.row0 + row, x.k + pair * 2);
        const unsigned long long second = ht_load_element64(x, x.row0 + row, x.k + pair * 2 + 1);
        x.piece[i] =
            make_uint4((unsigned)first, (unsigned)(first >> 32), (unsigned)second, (unsigned)(second >> 32));
    }
    x.k += PAIRS * 2;
}

HT_DEVICE void ht_stage64_close(void) {}
template <int PENDING> HT_DEVICE void ht_stage64_wait(void) {}

// Writes what was loaded.
template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_stage64_land(const ht_stage64<ROWS, PAIRS, THREADS> &x, unsigned to) {
#pragma unroll
    for (int i = 0; i < ROWS * PAIRS / THREADS; i++) {
        int row, pair;
        ht_place64(x, i, &row, &pair);
        ht_sts16(to + ht_pair_at64(ht_layout64_of<ROWS, PAIRS>(0), row, pair), x.piece[i]);
    }
}
