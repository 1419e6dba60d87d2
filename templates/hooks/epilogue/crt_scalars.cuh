// epilogue/crt_scalars: alpha and beta, and which of them are powers of two.

// Of host and device.
static __host__ __device__ __forceinline__ bool is_power_of_two(unsigned long long x) {
    const unsigned long long field = x >> 52 & 0x7ff;
    return (x & 0xfffffffffffffull) == 0 && field != 0 && field != 0x7ff;
}

static __host__ __device__ __forceinline__ bool is_power_of_two(unsigned long long alpha,
                                                                unsigned long long beta) {
    return (beta << 1) == 0 && is_power_of_two(alpha);
}

HT_DEVICE unsigned long long read_scalar(const double *pointer, double value) {
    unsigned long long bits;
    if (pointer)
        return (unsigned long long)ht_ldg_i64((const long long *)(const void *)pointer);
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct scalars {
    unsigned long long alpha, beta;
    bool is_power; // beta is 0 and alpha a power of two, 2^shift, with a sign
    bool adds;     // alpha and beta are such powers
    int shift;
    unsigned sign;
};

HT_DEVICE scalars load_alpha_beta(const ht_crt_combine_args &g) {
    scalars by = {read_scalar(g.alpha_ptr, g.alpha), read_scalar(g.beta_ptr, g.beta), false, false, 0, 0};
    by.is_power = is_power_of_two(by.alpha, by.beta);
    by.adds = is_power_of_two(by.alpha) && is_power_of_two(by.beta);
    by.shift = (int)(by.alpha >> 52 & 0x7ff) - 1023;
    by.sign = ht_crt_sign(by.alpha);
    return by;
}
