// accum/partial_f64: the same as accum/partial_f32 of FP64 products.
typedef double ht_acc; // element of a chain

// What the lane `lanes` away has.
HT_DEVICE ht_acc ht_shfl_sum(ht_acc v, int lanes)
{
    unsigned half[2];
    __builtin_memcpy(half, &v, sizeof half);
    half[0] = (unsigned)ht_shfl_xor((int)half[0], lanes);
    half[1] = (unsigned)ht_shfl_xor((int)half[1], lanes);
    __builtin_memcpy(&v, half, sizeof v);
    return v;
}
