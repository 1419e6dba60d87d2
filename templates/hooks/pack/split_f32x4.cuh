// pack/split_f32x4: for packing, four contiguous elements in all slices, as words of each, slice by slice.
constexpr int WORD_K = 4 / SLICE_BYTES; // k of a word

// Words first .. first + SLICE_BYTES - 1 of each slice.
template <int WORDS> HT_DEVICE void ht_split_four(unsigned (*packed)[WORDS], int first, const float *x)
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        unsigned slice[SLICES];
        ht_split(x[e], slice);
        for (int s = 0; s < SLICES; s++) {
            unsigned *word = &packed[s][first + e / WORD_K];
            *word = e % WORD_K ? *word | slice[s] << (e % WORD_K * SLICE_BYTES * 8) : slice[s];
        }
    }
}
