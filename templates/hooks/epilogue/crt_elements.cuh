// epilogue/crt_elements: which elements of C a thread makes of residues, and what it reads for them.
constexpr int TAKEN = 4, PIECES = BM * BN / CRT_THREADS / TAKEN;
constexpr int GROUPS = (CRT_MODULI + 3) / 4;

// Bytes of four elements, four moduli to a word: the other way round.
HT_DEVICE void transpose(const unsigned *x, unsigned *y) {
    const unsigned low[2] = {__byte_perm(x[0], x[1], 0x5140), __byte_perm(x[2], x[3], 0x5140)};
    const unsigned high[2] = {__byte_perm(x[0], x[1], 0x7362), __byte_perm(x[2], x[3], 0x7362)};
    y[0] = __byte_perm(low[0], low[1], 0x5410);
    y[1] = __byte_perm(low[0], low[1], 0x7632);
    y[2] = __byte_perm(high[0], high[1], 0x5410);
    y[3] = __byte_perm(high[0], high[1], 0x7632);
}

// Where a thread's elements are.
struct taken {
    const unsigned char *from; // residues of modulus 0
    long long entry;
    int row, col; // of the first element
};

// Of a thread of a block.
HT_DEVICE taken taken_by(const ht_crt_args &g, int block, int thread) {
    const int tile = block / PIECES, piece = block % PIECES, tiles_m = (g.m + BM - 1) / BM,
              at = piece * CRT_THREADS + thread;
    taken x;
    x.entry = blockIdx.z;
    x.from = g.planes + x.entry * g.plane_stride + (long long)tile * (BM * BN) + at * TAKEN;
    const int owner = at / (16 / TAKEN) % CRT_THREADS, // thread of the product
        first = at / (16 / TAKEN) / CRT_THREADS * 16 + at % (16 / TAKEN) * TAKEN;
    x.row = tile % tiles_m * BM + ht_crt_row(owner, first);
    x.col = tile / tiles_m * BN + ht_crt_column(owner, first);
    return x;
}

// Of element e of a thread's, behind its first one.
HT_DEVICE int row_of(int e) {
    return ht_crt_row(0, e) - ht_crt_row(0, 0);
}

HT_DEVICE int column_of(int e) {
    return ht_crt_column(0, e) - ht_crt_column(0, 0);
}

HT_DEVICE long long *element_of(const ht_crt_args &g, const taken &x, int e) {
    return (long long *)g.to.c + x.entry * g.to.stride + (x.col + column_of(e)) * g.to.ldc + x.row + row_of(e);
}

HT_DEVICE int scale_of(const ht_crt_args &g, const taken &x, int e) {
    const int row = x.row + row_of(e), col = x.col + column_of(e);
    return ht_ldg_i32(g.a_packed.exponents + x.entry * g.a_packed.exponent_stride + (row < g.m ? row : g.m - 1)) +
           ht_ldg_i32(g.b_packed.exponents + x.entry * g.b_packed.exponent_stride + (col < g.n ? col : g.n - 1));
}

HT_DEVICE bool is_of_matrix(const ht_crt_args &g, const taken &x, int e) {
    return x.row + row_of(e) < g.m && x.col + column_of(e) < g.n;
}

// Of modulus l, of all of a thread's elements.
HT_DEVICE unsigned load_residues(const ht_crt_args &g, const taken &x, int l) {
    return (unsigned)ht_ldg_i32((const int *)(const void *)(x.from + l * g.plane_modulus_stride));
}

// Of one element e, four moduli to a word.
HT_DEVICE void load_element(const ht_crt_args &g, const taken &x, int e, unsigned *residues, int moduli = CRT_MODULI) {
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        residues[i] = 0;
    }
#pragma unroll
    for (int l = 0; l < CRT_MODULI; l++) {
        if (l < moduli)
            residues[l / 4] |= (load_residues(g, x, l) >> e * 8 & 255u) << l % 4 * 8;
    }
}

// Of all of a thread's elements.
HT_DEVICE void load_elements(const ht_crt_args &g, const taken &x, unsigned (*residues)[GROUPS], int moduli = CRT_MODULI) {
    unsigned word[GROUPS * 4];
#pragma unroll
    for (int l = 0; l < GROUPS * 4; l++) {
        word[l] = l < CRT_MODULI && l < moduli ? load_residues(g, x, l) : 0;
    }
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
        unsigned y[4];
        transpose(word + i * 4, y);
        for (int e = 0; e < 4; e++)
            residues[e][i] = y[e];
    }
}
