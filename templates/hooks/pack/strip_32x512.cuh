// pack/strip_32x512: what is not packed by whole rows and has more k than a block of tiles (ht_pack_mode), in schemes that scale rows.
// A block takes a strip of 32 rows x 512 k and holds it as pack_rows does, while it tells the blocks of the same rows what it has measured
// (absmax_exchange):
//
//   rows r .. r + 31:  [ strip 0: load, publish, collect, write ][ strip 1: load, ... ]  ...
//
// Neither tiles in shared memory nor a second pass through it: half the instructions of tiles, and a load has 128 bytes of a line either way.
//
// Where k is contiguous a block may as well take fewer rows that are longer, up to one of 16384 k, and meets nobody (pack_rows): on an H200
// 1 to 15 % of its time, and up to 40 % below 2048 k. Where rows are contiguous, loads of fewer than 32 would be less than a line. Sums have
// numbers of 16 rows at least.
constexpr int STRIP_ROWS = 32, STRIP_K = 512, STRIP_WARPS = PACK_THREADS / 32;
constexpr int STRIP_PREFETCH = 2;
constexpr int STRIP_BYTES = 3 * ROOM_PARTS * STRIP_ROWS * 4;

// Rows of a block that takes them whole where k is contiguous: 8 of up to 2048 k, 4, 2, or 1 of 16384. 0: strips, of which one has all k,
// or because no block could hold a row.
static int long_rows_of_block(int k_tiles)
{
    const int held = STRIP_ROWS * STRIP_K / 64; // tiles of one row
    int rows = k_tiles > STRIP_K / 64 ? 8 : 0;
    while (k_tiles * rows > held)
        rows /= 2;
    return rows;
}

// The block's number among those of strips. Below 0: one of a sample's, which are first, since they take longer.
HT_DEVICE int strip_block(const ht_pack_args &g)
{
    return (int)blockIdx.x - (g.sample && blockIdx.z == 0 ? (int)HT_SAMPLES : 0);
}

HT_DEVICE absmax_exchange attach_exchange(const ht_pack_args &g, long long entry, int pieces)
{
    int *exchange = exchange_of(g, entry);
    const int strip = strip_block(g) / pieces;
    absmax_exchange at;
    at.pieces = pieces;
    at.piece = strip_block(g) - strip * pieces;
    at.piece_k = STRIP_K;
    at.published = exchange + (long long)strip * pieces * STRIP_ROWS;
    at.arrived = exchange + (long long)row_blocks_of(g) * pieces * 64 + strip;
    return at;
}

// Publishes what the block has measured of row threadIdx.x % STRIP_ROWS, and leaves in room what this warp's share of the strips has.
template <class SHAPE> HT_DEVICE void exchange_rows(const ht_pack_args &g, const rows_tile &at, const absmax_exchange &exchange)
{
    const int row = (int)threadIdx.x % STRIP_ROWS, part = (int)threadIdx.x / STRIP_ROWS;
    if (part == 0)
        ht_st_relaxed_i32(exchange.published + exchange.piece * STRIP_ROWS + row, //@mutate exchange-rows
                          magnitude_of_parts<SHAPE, ROOM_MEASURED, SHAPE::PARTS>(at, row));
    const int found = collect<STRIP_ROWS, PACK_THREADS, STRIP_PREFETCH>(g, at.src, at.row0, exchange);
    ht_sts4(room_at<SHAPE>(at, ROOM_OTHERS, part, row), ht_as_float((unsigned)found));
}

template <bool K_MAJOR, int CHECK>
HT_DEVICE void pack_strip(const ht_pack_args &g, long long entry, int pieces, bool passes)
{
    using shape = rows_shape<K_MAJOR, STRIP_WARPS, STRIP_ROWS, ROWS_LOADS>;
    const int strip = strip_block(g) / pieces, piece = strip_block(g) - strip * pieces;
    rows_tile at = find_rows<shape>(g, entry, strip * STRIP_ROWS, piece * STRIP_K);
    at.room = ht_smem_base<STRIP_BYTES>();
    uint4 x[ROWS_LOADS];
    int order = 0;
    if (g.exchange_is_reset)
        ht_pdl_wait(); // behind all that needs no memory
    else
        ht_pdl_assume_complete(); // clean has waited for all before it
    ht_pdl_trigger();
    load_held<shape>(g, at, piece * STRIP_K, passes, x);
    measure_rows<shape>(at, x);
    ht_barrier();
    if (!g.exchange_is_reset)
        ht_pdl_wait();
    const absmax_exchange exchange = attach_exchange(g, entry, pieces);
    exchange_rows<shape>(g, at, exchange);
    ht_barrier();
    if (threadIdx.x == 0)
        order = ht_add_relaxed_i32(exchange.arrived, 1);
    write_rows<shape, CHECK, ROOM_OTHERS, ROOM_PARTS>(g, at, x); //@mutate pack-strip-3
    if (CHECK > 0) {
        ht_barrier();
        if (threadIdx.x < WAVE)
            store_row_sums<shape, ROOM_OTHERS, ROOM_PARTS>(g, at, pieces, piece);
    }
    leave_exchange<STRIP_ROWS>(attach_exchange(g, entry, pieces), order); // found again: no registers for it in between
}

// Instead of a strip: `rows` rows with all their k.
HT_DEVICE void pack_long_rows(const ht_pack_args &g, long long entry, int rows, bool passes)
{
    if (rows == 8)
        pack_these_rows<true, 8, ROWS_LOADS, 0>(g, entry, passes);
    else if (rows == 4)
        pack_these_rows<true, 4, ROWS_LOADS, 0>(g, entry, passes);
    else if (rows == 2)
        pack_these_rows<true, 2, ROWS_LOADS, 0>(g, entry, passes);
    else
        pack_these_rows<true, 1, ROWS_LOADS, 0>(g, entry, passes);
}

template <int CHECK>
static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, SM_WARPS / STRIP_WARPS)) pack_strips(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    const int block = strip_block(g);
    if (block < 0) {
        if (CHECK > 0)
            sample_place(p, (int)blockIdx.x, ht_smem_base<STRIP_BYTES>());
        return;
    }
    if (block >= p.blocks[second])
        return; // the other operand has more
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    if (!g.k_contiguous)
        pack_strip<false, CHECK>(g, entry, p.pieces, p.passes);
    else if (CHECK > 0 || p.long_rows == 0)
        pack_strip<true, CHECK>(g, entry, p.pieces, p.passes);
    else
        pack_long_rows(g, entry, p.long_rows, p.passes);
}

// stands_by: its blocks take the SMs that the launch before leaves, and wait there for the others.
template <int CHECK> static int launch_strips(const pack_pair &p, unsigned blocks, unsigned batch, bool stands_by, void *stream)
{
    return stands_by ? ht_launch_dependent(pack_strips<CHECK>, blocks, 1, batch, PACK_THREADS, STRIP_BYTES, stream, p)
                     : ht_launch(pack_strips<CHECK>, blocks, 1, batch, PACK_THREADS, STRIP_BYTES, stream, p);
}
