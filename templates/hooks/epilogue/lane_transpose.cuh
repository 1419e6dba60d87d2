// epilogue/lane_transpose: lanes that exchange numbers so that neighbours in memory lie in neighbouring lanes when they are stored.

// COUNT lanes, LANES apart, turn their COUNT numbers: v[j] of the l-th of them becomes v[l] of the j-th. STEP: how far apart those are who
// trade half of what they have; less and less.
template <int COUNT, int LANES, int STEP> HT_DEVICE void ht_lane_exchange(ht_acc *v)
{
    const bool upper = (int)threadIdx.x & STEP * LANES;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        if (!(j & STEP))
            ht_lane_trade(upper, &v[j], &v[j | STEP], STEP * LANES); //@mutate trade
    }
}

template <int COUNT, int LANES> HT_DEVICE void ht_lane_transpose(ht_acc *v)
{
    static_assert(COUNT == 2 || COUNT == 4 || COUNT == 8, "one to three trades");
    if (COUNT > 4)
        ht_lane_exchange<COUNT, LANES, COUNT / 2>(v);
    if (COUNT > 2)
        ht_lane_exchange<COUNT, LANES, 2>(v);
    ht_lane_exchange<COUNT, LANES, 1>(v);
}
