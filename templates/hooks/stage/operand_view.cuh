// stage/operand_view: what kernels that read the caller's matrices share: which matrix is P and which Q,
// which k a block has, and how an element of C is stored. P is A and Q is B, or the other way round
// where that takes fewer blocks (C is then written transposed).

// One operand: element (row, k) is src[row * row_step + k * k_step].
struct ht_operand_view {
    const ht_real *src;
    long long row_step, k_step, stride; // elements; from batch entry to batch entry
    int rows;
    int k_major; // lines are rows, else k
    int wide;         // every line begins at a multiple of 16 bytes
};

// What each block asks for first lies together: each further line of constants comes late.
struct unpacked_args {
    int k, splits; // as g has them
    int folded;    // blockIdx.x counts tiles of P's rows, so many, once for each tile of Q's; 0: of P's only
    int part_steps, longer_parts; // of BK in a split-K slice, of which the first few have one more
    int swap_ab;                  // P is B, Q is A
    int chain_k;                  // products that are added up in a row, where the kernel leaves it open
    ht_operand_view p, q;
    ht_product_args g;
};

// A line apart by one number alone is the only one: its numbers then are contiguous along k.
static inline ht_operand_view ht_operand_view_of(const ht_view &x)
{
    const bool one_line = !x.k_contiguous && x.ld == 1, lines_of_k = x.k_contiguous || one_line;
    const bool wide = ((unsigned long long)x.src | (unsigned long long)x.stride * sizeof(ht_real)) % 16 == 0 &&
                      (one_line || x.ld * (long long)sizeof(ht_real) % 16 == 0);
    return {(const ht_real *)x.src, lines_of_k ? x.ld : 1, lines_of_k ? 1 : x.ld, x.stride, x.rows, lines_of_k, wide};
}

static inline unpacked_args ht_unpacked_args(const ht_product_args &g, int swap_ab)
{
    const int steps = (int)((g.a.k + (long long)BK - 1) / BK);
    return {g.a.k, g.splits, 0, steps / g.splits, steps % g.splits, swap_ab, 0,
            ht_operand_view_of(swap_ab ? g.b : g.a), ht_operand_view_of(swap_ab ? g.a : g.b), g};
}

// A grid of tiles and split-K slices, in which a block finds its place without a division if it can: that takes longer than some products.
struct ht_tile_grid {
    unsigned x, y;
};

static inline ht_tile_grid ht_grid_of(unpacked_args *args, unsigned p_tiles, unsigned q_tiles)
{
    constexpr unsigned HIGH = 65535; // what the y extent can count
    if (args->splits == 1 && q_tiles <= HIGH)
        return {p_tiles, q_tiles};
    args->folded = q_tiles > 1 ? (int)p_tiles : 0;
    return {p_tiles * q_tiles, (unsigned)args->splits};
}

// Which tile of P's and of Q's rows a block has, and which split-K slice. zero: added to what says so.
struct ht_tile_coord {
    int p_tile, q_tile, split;
};

HT_DEVICE ht_tile_coord ht_tile_coord_of(const unpacked_args &args, int zero)
{
    const int x = (int)blockIdx.x + zero, y = (int)blockIdx.y + zero;
    if (args.folded != 0)
        return {x % args.folded, x / args.folded, y};
    return {x, args.splits == 1 ? y : 0, args.splits == 1 ? 0 : y};
}

// The k of a part, in whole steps of BK but at the end: [begin, end).
struct ht_k_range {
    int begin, end;
};

HT_DEVICE ht_k_range ht_k_range_of(const unpacked_args &args, int split)
{
    if (args.splits == 1)
        return {0, args.k};
    const int longer = split < args.longer_parts ? split : args.longer_parts;
    const int begin = (args.part_steps * split + longer) * BK, steps = args.part_steps + (split < args.longer_parts);
    return {begin, args.k - begin < steps * BK ? args.k : begin + steps * BK};
}

// Numbers between a multiple of 16 bytes and p.
HT_DEVICE int ht_misalign16(const ht_real *p)
{
    return (int)((unsigned long long)p % 16 / sizeof(ht_real));
}

// C, or a part of it, by rows of P and of Q.
struct ht_output_view {
    ht_real *c;
    long long row_step, col_step;
    ht_real alpha, beta;
    bool whole;
};

HT_DEVICE ht_output_view ht_output_view_of(const unpacked_args &args, int split)
{
    const ht_product_args &g = args.g;
    ht_output_view to;
    to.whole = g.splits == 1;
    const long long ld = to.whole ? g.to.ldc : (long long)g.m;
    to.c = to.whole ? (ht_real *)g.to.c + (long long)blockIdx.z * g.to.stride
                    : g.partial + ((long long)blockIdx.z * g.splits + split) * g.n * ld;
    to.row_step = args.swap_ab ? ld : 1;
    to.col_step = args.swap_ab ? 1 : ld;
    to.alpha = !to.whole ? 1 : ht_value_of(g.to.alpha);
    to.beta = !to.whole ? 0 : ht_value_of(g.to.beta);
    return to;
}

// What is stored for v.
HT_DEVICE ht_real ht_element(const ht_output_view &to, const ht_real *c, ht_real v)
{
    return to.whole ? ht_axpby(to.alpha, v, to.beta, c) : v;
}
