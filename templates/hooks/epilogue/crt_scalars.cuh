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

static __host__ __device__ __forceinline__ unsigned long long value_of(const ht_scalar &x) {
    unsigned long long bits;
    __builtin_memcpy(&bits, &x.f64, sizeof bits);
    return bits;
}

// Before a launch.
static inline bool is_known_power(const ht_result &to) {
    return !to.alpha.at && !to.beta.at && is_power_of_two(value_of(to.alpha), value_of(to.beta));
}

HT_DEVICE unsigned long long read_scalar(const ht_scalar &x) {
    return x.at ? (unsigned long long)ht_ldg_i64((const long long *)x.at) : value_of(x);
}

struct scalars {
    unsigned long long alpha, beta;
    bool is_power; // beta is 0 and alpha a power of two, 2^shift, with a sign
    bool adds;     // alpha and beta are such powers
    int shift;
    unsigned sign;
};

HT_DEVICE scalars load_alpha_beta(const ht_result &to) {
    scalars by = {read_scalar(to.alpha), read_scalar(to.beta), false, false, 0, 0};
    by.is_power = is_power_of_two(by.alpha, by.beta);
    by.adds = is_power_of_two(by.alpha) && is_power_of_two(by.beta);
    by.shift = (int)(by.alpha >> 52 & 0x7ff) - 1023;
    by.sign = ht_crt_sign(by.alpha);
    return by;
}
