// stage/real_f32: elements that kernels read and write as they are: FP32.
typedef float ht_real;
typedef ht_gemm_args ht_product_args; // of launchers

HT_DEVICE ht_real ht_add(ht_real x, ht_real y)
{
    return __fadd_rn(x, y);
}

HT_DEVICE ht_real ht_mul(ht_real x, ht_real y)
{
    return __fmul_rn(x, y);
}

HT_DEVICE ht_real ht_fma(ht_real x, ht_real y, ht_real z)
{
    return __fmaf_rn(x, y, z);
}

HT_DEVICE ht_real ht_load(const ht_real *p)
{
    return ht_ldg4(p);
}

// alpha or beta.
HT_DEVICE ht_real ht_value_of(const ht_scalar &x)
{
    return x.at ? ht_load((const ht_real *)x.at) : x.f32;
}

HT_DEVICE void ht_store(ht_real *p, ht_real v)
{
    ht_stg4(p, v);
}

HT_DEVICE ht_real ht_smem_load(unsigned s)
{
    return ht_lds4(s);
}

HT_DEVICE void ht_smem_store(unsigned s, ht_real v)
{
    ht_sts4(s, v);
}

// As many elements as 16 bytes hold.
HT_DEVICE void ht_clear_vec(ht_real *v)
{
    v[0] = v[1] = v[2] = v[3] = 0.0f;
}

// 16 bytes of contiguous elements.
HT_DEVICE void ht_unpack(ht_real *v, uint4 x)
{
    v[0] = ht_as_float(x.x);
    v[1] = ht_as_float(x.y);
    v[2] = ht_as_float(x.z);
    v[3] = ht_as_float(x.w);
}

HT_DEVICE uint4 ht_pack(const ht_real *v)
{
    return make_uint4(ht_as_uint(v[0]), ht_as_uint(v[1]), ht_as_uint(v[2]), ht_as_uint(v[3]));
}

// What stands for A and B where alpha is 0; whether a product has to be multiplied by alpha: one multiplication is nothing here.
HT_DEVICE ht_real ht_no_product(ht_real)
{
    return 0.0f;
}

HT_DEVICE bool ht_scales(ht_real)
{
    return true;
}

// alpha v + beta old. alpha == 0 ignores A and B, NaN included, beta == 0 C.
HT_DEVICE ht_real ht_axpby(ht_real alpha, ht_real v, ht_real beta, ht_real old)
{
    v = alpha != 0.0f ? __fmul_rn(alpha, v) : 0.0f;
    return beta != 0.0f ? __fmaf_rn(beta, old, v) : v;
}

// The same with C, which beta == 0 does not read.
HT_DEVICE ht_real ht_axpby(ht_real alpha, ht_real v, ht_real beta, const ht_real *c)
{
    return ht_axpby(alpha, v, beta, beta != 0.0f ? ht_ldg4(c) : 0.0f);
}
