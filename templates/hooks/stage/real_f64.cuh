// stage/real_f64: elements that unpacked kernels multiply without a split: FP64.
typedef double ht_real;
typedef ht_native64_args ht_product_args; // of launchers

HT_DEVICE ht_real ht_real_of(long long bits)
{
    ht_real x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

HT_DEVICE long long ht_bits_of(ht_real x)
{
    long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

HT_DEVICE ht_real ht_add(ht_real x, ht_real y)
{
    return x + y; // nothing that a product could be fused with
}

HT_DEVICE ht_real ht_fma(ht_real x, ht_real y, ht_real z)
{
    return __fma_rn(x, y, z);
}

HT_DEVICE ht_real ht_load(const ht_real *p)
{
    return ht_real_of(ht_ldg_i64((const long long *)(const void *)p));
}

HT_DEVICE void ht_store(ht_real *p, ht_real v)
{
    ht_stg_i64((long long *)(void *)p, ht_bits_of(v));
}

HT_DEVICE ht_real ht_smem_load(unsigned s)
{
    return ht_lds_f64(s);
}

HT_DEVICE void ht_smem_store(unsigned s, ht_real v)
{
    const long long bits = ht_bits_of(v);
    ht_sts8(s, (unsigned)bits, (unsigned)(bits >> 32));
}

// 16 bytes of contiguous elements.
HT_DEVICE void ht_unpack(ht_real *v, uint4 x)
{
    v[0] = ht_real_of((long long)((unsigned long long)x.y << 32 | x.x));
    v[1] = ht_real_of((long long)((unsigned long long)x.w << 32 | x.z));
}

// alpha v + beta C. alpha == 0 ignores A and B, NaN included; beta == 0 does not read C.
HT_DEVICE ht_real ht_axpby(ht_real alpha, ht_real v, ht_real beta, const ht_real *c)
{
    v = alpha != 0.0 ? alpha * v : 0.0;
    if (beta != 0.0)
        v = alpha != 0.0 ? __fma_rn(beta, ht_load(c), v) : beta * ht_load(c);
    return v;
}
