// stage/cp_async_f64: steps of the caller's FP64 matrices into shared memory by cp.async, without registers. Neighbouring
// threads take neighbours of the matrix; 16 bytes at a time where k is contiguous and rows begin at multiples of 16
// bytes, else single elements. Where k is contiguous a row's pairs of k lie together: copies of neighbouring lanes that go
// to lines of shared memory far apart take 1.8 clocks each (H100). Eight of a row are exchanged by fours in odd rows, so
// that two rows and four pairs meet no bank twice; else pairs of ROWS + 2 rows lie one after another.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_cp_async8_some(unsigned s, const double *g, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(s), "l"(__cvta_generic_to_global(g)), "r"(bytes) : "memory");
}

HT_DEVICE void ht_cp_async16_some(unsigned s, const float *g, int bytes, bool) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(s), "l"(__cvta_generic_to_global(g)), "r"(bytes) : "memory");
}

HT_DEVICE void ht_cp_async_commit(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> HT_DEVICE void ht_cp_async_wait(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
#endif

// Where pairs of k are in a buffer: bytes of a step of rows and of pairs; odd rows have theirs exchanged by `flip`.
struct ht_layout64 {
    int row_bytes, pair_bytes, flip;
};

template <int ROWS, int PAIRS> HT_DEVICE ht_layout64 ht_layout64_of(int k_contiguous) {
    return {k_contiguous ? PAIRS * 16 : 16, k_contiguous ? 16 : (ROWS + 2) * 16, k_contiguous && PAIRS >= 8 ? 4 : 0};
}

HT_DEVICE unsigned ht_pair_at64(const ht_layout64 &x, int row, int pair) {
    return (unsigned)(row * x.row_bytes + (pair ^ (row & 1) * x.flip) * x.pair_bytes);
}

template <int ROWS, int PAIRS, int THREADS> struct ht_stage64 {
    const double *at; // of this thread's first element of the next step
    long long next;   // from one of its elements (k_contiguous: pairs) to the next
    int row, k;       // its row of the tile, and its first k
    int rows, left;   // rows of the matrix from the tile on, k from `k` on that the matrix has
    bool k_contiguous, wide;
};

template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE ht_stage64<ROWS, PAIRS, THREADS> ht_stage64_of(const double *src, long long ld, int row0, int rows, int depth,
                                                         int k_contiguous) {
    static_assert(THREADS % PAIRS == 0 && (THREADS % ROWS == 0 || ROWS % THREADS == 0) && THREADS <= ROWS * PAIRS * 2, "whole rows");
    ht_stage64<ROWS, PAIRS, THREADS> x;
    const int thread = (int)threadIdx.x;
    x.k_contiguous = k_contiguous != 0;
    x.row = k_contiguous ? thread / PAIRS : thread % ROWS;
    x.k = k_contiguous ? thread % PAIRS * 2 : thread / ROWS;
    x.rows = rows - row0;
    x.left = depth - x.k;
    x.at = src + (k_contiguous ? (row0 + x.row) * ld + x.k : x.k * ld + row0 + x.row);
    x.next = (k_contiguous ? THREADS / PAIRS : THREADS / ROWS) * ld;
    x.wide = k_contiguous && ((unsigned long long)src & 15) == 0 && (ld & 1) == 0;
    return x;
}

// Starts the copies of a step; the stage goes on to the next one.
template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_stage64_issue(ht_stage64<ROWS, PAIRS, THREADS> &x, unsigned to) {
    constexpr int PITCH = (ROWS + 2) * 16, AT_ONCE = THREADS / ROWS, ROWS_AT_ONCE = THREADS / PAIRS;
    const double *at = x.at;
    if (x.k_contiguous) {
        static_assert(ROWS_AT_ONCE % 2 == 0, "rows of a thread are all even or all odd");
        const unsigned s = to + ht_pair_at64(ht_layout64_of<ROWS, PAIRS>(1), x.row, x.k / 2);
#pragma unroll
        for (int i = 0; i < ROWS / ROWS_AT_ONCE; i++, at += x.next) {
            const int there = x.row + i * ROWS_AT_ONCE >= x.rows || x.left <= 0 ? 0 : x.left == 1 ? 8 : 16;
            if (x.wide && there != 8) { // half of 16 bytes may be the matrix' last
                ht_cp_async16_some(s + i * ROWS_AT_ONCE * PAIRS * 16, (const float *)(const void *)at, there, false);
            } else {
                ht_cp_async8_some(s + i * ROWS_AT_ONCE * PAIRS * 16, at, there > 0 ? 8 : 0);
                ht_cp_async8_some(s + i * ROWS_AT_ONCE * PAIRS * 16 + 8, at + 1, there > 8 ? 8 : 0);
            }
        }
        x.at += PAIRS * 2;
    } else {
        const unsigned s = to + ht_pair_at64(ht_layout64_of<ROWS, PAIRS>(0), x.row, x.k / 2) + (unsigned)(x.k % 2 * 8);
#pragma unroll
        for (int i = 0; i < PAIRS * 2 / AT_ONCE; i++, at += x.next) {
            const unsigned k = (unsigned)(i * AT_ONCE / 2 * PITCH + i * AT_ONCE % 2 * 8);
            ht_cp_async8_some(s + k, at, x.row < x.rows && i * AT_ONCE < x.left ? 8 : 0);
        }
        x.at = at;
    }
    x.left -= PAIRS * 2;
}

// What was issued last is a step.
HT_DEVICE void ht_stage64_close(void) {
    ht_cp_async_commit();
}

// Waits for this thread's copies of all steps but the last `PENDING` of them.
template <int PENDING> HT_DEVICE void ht_stage64_wait(void) {
    ht_cp_async_wait<PENDING>();
}

template <int ROWS, int PAIRS, int THREADS>
HT_DEVICE void ht_stage64_land(const ht_stage64<ROWS, PAIRS, THREADS> &, unsigned) {}
