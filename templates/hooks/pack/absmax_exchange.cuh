// pack/absmax_exchange: blocks that hold pieces of the same rows tell each other the absmax that they have found. Each number travels
// alone in its own word, so no fence is needed. A word that is not published yet holds -1; the last block to read the words of its rows
// makes them so again for the next launch. Blocks that meet have neighbouring numbers and mostly run together, so the wait is short. It is also
// bounded: should the others not get a place on the GPU (many such kernels at once), a thread measures what it waited for itself.
constexpr int PACK_THREADS = 256;
constexpr int WAIT_TURNS = 4096; // a few milliseconds

// Of one block.
struct absmax_exchange {
    int *published, *arrived; // of its rows: their magnitudes for each piece, and who has read them
    int pieces, piece;        // of k
    int piece_k;
};

// Absmax of every `step`th piece of a row from `first` on, from the matrix: for a thread that waited in vain.
HT_DEVICE int measure_pieces(const ht_pack_args &g, const float *src, long long row, const absmax_exchange &at, int first, int step)
{
    unsigned most = 0;
    for (int piece = first; piece < at.pieces && row < g.rows; piece += step) {
        const int k0 = piece * at.piece_k;
        for (int k = k0; k - k0 < at.piece_k && k < g.k; k++) { //@mutate measure-pieces
            const float x = ht_ldg4(src + (g.k_contiguous ? row * g.ld + k : k * g.ld + row));
            most = larger_key(most, ht_as_uint(x) * 2 + KEY_OF_ZERO);
        }
    }
    return magnitude_of_key(most);
}

// Collects numbers for row row0 + threadIdx.x % ROWS: every (THREADS / ROWS)th piece, this thread's share of a block's THREADS. PREFETCH loads are
// under way at once: one after the other, their latencies would add up to more than the block's own loads take.
template <int ROWS, int THREADS, int PREFETCH> HT_DEVICE int collect(const ht_pack_args &g, const float *src, int row0, const absmax_exchange &at)
{
    constexpr int THREADS_PER_ROW = THREADS / ROWS;
    const int row = (int)threadIdx.x % ROWS, share = (int)threadIdx.x / ROWS;
    const int *own = at.published + row;
    int most = 0, turns = 0;
    bool vain = false;
    for (int first = share; first < at.pieces; first += THREADS_PER_ROW * PREFETCH) {
        int one[PREFETCH];
#pragma unroll
        for (int i = 0; i < PREFETCH; i++) {
            one[i] = first + i * THREADS_PER_ROW < at.pieces ? ht_ld_relaxed_i32(own + (first + i * THREADS_PER_ROW) * ROWS) : 0;
        }
#pragma unroll
        for (int i = 0; i < PREFETCH; i++) {
            while (one[i] < 0 && turns < WAIT_TURNS) {
                turns++;
                one[i] = ht_ld_relaxed_i32(own + (first + i * THREADS_PER_ROW) * ROWS);
            }
            vain = vain || one[i] < 0;
            most = larger(most, one[i]);
        }
    }
    return vain ? measure_pieces(g, src, row0 + row, at, share, THREADS_PER_ROW) : most; //@mutate collect
}

// The last block to have read the published magnitudes leaves the meeting as it was before: 32 threads of its first warp do, while the
// others go on. `order`: what thread 0 found in at.arrived, which counts from -1; 0 in other threads.
template <int ROWS> HT_DEVICE void leave_exchange(const absmax_exchange &at, int order)
{
    if (threadIdx.x >= WAVE)
        return;
    order |= ht_shfl_xor(order, 16);
    order |= ht_shfl_xor(order, 8);
    order |= ht_shfl_xor(order, 4);
    order |= ht_shfl_xor(order, 2);
    order |= ht_shfl_xor(order, 1);
    if (threadIdx.x >= 32 || order != at.pieces - 2) // the upper half of a wavefront of 64 has not heard of it
        return;
    for (int i = (int)threadIdx.x; i < at.pieces * ROWS; i += 32) //@mutate leave-exchange
        ht_st_relaxed_i32(at.published + i, -1);
    if (threadIdx.x == 0)
        ht_st_relaxed_i32(at.arrived, -1);
}
