// stage/real_f64: elements that kernels read and write as they are: FP64.
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

HT_DEVICE ht_real ht_mul(ht_real x, ht_real y)
{
    return x * y; // no addition follows that it could be fused with
}

HT_DEVICE ht_real ht_fma(ht_real x, ht_real y, ht_real z)
{
    return __fma_rn(x, y, z);
}

HT_DEVICE ht_real ht_load(const ht_real *p)
{
    return ht_real_of(ht_ldg_i64((const long long *)(const void *)p));
}

// alpha or beta.
HT_DEVICE ht_real ht_value_of(const ht_scalar &x)
{
    return x.at ? ht_load((const ht_real *)x.at) : x.f64;
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

// As many elements as 16 bytes hold.
HT_DEVICE void ht_clear_vec(ht_real *v)
{
    v[0] = v[1] = 0.0;
}

// 16 bytes of contiguous elements.
HT_DEVICE void ht_unpack(ht_real *v, uint4 x)
{
    v[0] = ht_real_of((long long)((unsigned long long)x.y << 32 | x.x));
    v[1] = ht_real_of((long long)((unsigned long long)x.w << 32 | x.z));
}

HT_DEVICE uint4 ht_pack(const ht_real *v)
{
    const unsigned long long x = (unsigned long long)ht_bits_of(v[0]), y = (unsigned long long)ht_bits_of(v[1]);
    return make_uint4((unsigned)x, (unsigned)(x >> 32), (unsigned)y, (unsigned)(y >> 32));
}

// What stands for A and B where alpha is 0: beta C keeps its sign of 0. Whether a product has to be multiplied by alpha: where an SM has two FP64
// units, as long as one k.
HT_DEVICE ht_real ht_no_product(ht_real beta)
{
    return beta != 0.0 ? -0.0 : 0.0;
}

HT_DEVICE bool ht_scales(ht_real alpha)
{
    return alpha != 1.0;
}

// alpha v + beta C. alpha == 0 ignores A and B, NaN included; beta == 0 does not read C.
HT_DEVICE ht_real ht_axpby(ht_real alpha, ht_real v, ht_real beta, const ht_real *c)
{
    v = alpha != 0.0 ? alpha * v : 0.0;
    if (beta != 0.0)
        v = alpha != 0.0 ? __fma_rn(beta, ht_load(c), v) : beta * ht_load(c);
    return v;
}
