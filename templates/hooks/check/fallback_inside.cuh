// check/fallback_inside: what a block of a product's kernel has not cleared of its own tiles, where that is worth no launch: behind its last tile, shared
// out among the warps that have multiplied, when shared memory is theirs. Each looks at some 64 x 64 of the tiles and notes what is missing, few
// results one by one (check/recompute), many as a whole block (check/fallback_tile); then all take what all have noted, in turn.
//
//   notes of a warp:  [ vote | count of results | count of blocks | - | blocks ... | results ... ]   as bits of g.failed
//   terms of a warp:  TERM_BUFFERS times [ a | b ] of TERMS_AT_ONCE k of each lane; a lane reads what it has copied, so nothing waits for other lanes
//
// All that is in flight of results, not registers, hides how far away their terms are; whole loops are short, for code is fetched anew in each call.
constexpr int NOTED_BLOCKS_MOST = 4;                     // that a warp looks at before all take what is noted
constexpr int ALONE_MOST = 32;                           // results of 64 x 64: more, and the block is computed whole
constexpr int NOTED_BLOCKS = 16, NOTED_RESULTS = NOTED_BLOCKS + 4 * NOTED_BLOCKS_MOST; // offsets
constexpr int TERMS_AT_ONCE = 16;                        // of a lane: a copy's
constexpr int TERM_BYTES = 2 * TERMS_AT_ONCE * WAVE * 4; // of a buffer

template <int BYTES> constexpr int ht_term_buffers = BYTES / TERM_BYTES < 4 ? BYTES / TERM_BYTES : 4; // of a warp that has so much shared memory

HT_DEVICE unsigned ht_notes_of(const ht_notes &n, int warp)
{
    return n.first + (unsigned)warp * n.pitch;
}

HT_DEVICE int ht_noted(unsigned at)
{
    return (int)ht_as_uint(ht_lds4(at));
}

HT_DEVICE void ht_note(unsigned at, unsigned x)
{
    ht_sts4(at, ht_as_float(x));
}

// Whether any of WARPS warps says so.
template <int WARPS> HT_DEVICE bool ht_any_of_warps(const ht_notes &n, bool yes)
{
    if (threadIdx.x % WAVE == 0)
        ht_note(ht_notes_of(n, (int)threadIdx.x / WAVE), yes);
    ht_group_barrier<2, WARPS * WAVE>(0);
    int any = 0;
    for (int w = 0; w < WARPS; w++)
        any |= ht_noted(ht_notes_of(n, w)); //@mutate inside-vote
    return any != 0;
}

// Notes what is missing of ROWS x 64 results from (row0, col0) on.
template <int ROWS> HT_DEVICE void ht_note_block(const ht_gemm_args &g, long long entry, int row0, int col0, unsigned notes, ht_noted_counts *counts)
{
    constexpr int HALVES = ROWS / 32, WORDS = 64 * HALVES / WAVE; // words of a column, and of a lane
    const int lane = (int)threadIdx.x % WAVE;
    const unsigned *word = ht_failed_word(g, entry, row0, col0);
    unsigned own[WORDS];
    int count = 0, before = 0;
    for (int i = 0; i < WORDS; i++) { // all are in flight before the first is waited for
        const int at = i * WAVE + lane, row = row0 + at % HALVES * 32, col = col0 + at / HALVES;
        own[i] = row < g.m && col < g.n ? (unsigned)ht_ldg_i32((const int *)word + at / HALVES * 2 + at % HALVES) : 0; //@mutate inside-words
    }
    for (int i = 0; i < WORDS; i++)
        count += ht_count_bits(own[i]);
    for (int m = 1; m < WAVE; m *= 2) {
        const int other = ht_shfl_xor(count, m);
        before += lane & m ? other : 0;
        count += other;
    }
    if (count > ALONE_MOST * ROWS / 64) {
        if (lane == 0) {
            ht_note(notes + NOTED_BLOCKS + (unsigned)counts->blocks * 4, ht_bit_of(g, word, 0));
            ht_count_block(g, row0, col0, ROWS, 64);
        }
        counts->blocks++; //@mutate inside-whole
        return;
    }
    unsigned to = notes + NOTED_RESULTS + (unsigned)(counts->results + before) * 4;
    for (int i = 0; i < WORDS; i++) {
        const int at = i * WAVE + lane;
#pragma unroll 1
        for (unsigned left = own[i]; left != 0; left &= left - 1, to += 4)
            ht_note(to, ht_bit_of(g, word + at / HALVES * 2 + at % HALVES, ht_lowest_bit(left)));
    }
    counts->results += count; //@mutate inside-count
}

// A warp's way through what all have noted of one kind: notes of warp `warp`, of these number `turn`.
struct ht_note_place {
    int warp, turn;
};

// Goes to the warp whose notes have `turn`, if there is one. many: of each note.
template <int WARPS> HT_DEVICE void ht_find_turn(const ht_notes &n, int count_at, int many, ht_note_place *t)
{
    while (t->warp < WARPS) {
        const int count = ht_noted(ht_notes_of(n, t->warp) + (unsigned)count_at) * many;
        if (t->turn < count)
            break;
        t->turn -= count;
        t->warp++;
    }
}

// Results one after the other, some k at a time.
struct ht_term_stream {
    ht_note_place turn;
    int k;
};

HT_DEVICE ht_place ht_result_noted(const ht_gemm_args &g, const ht_notes &n, const ht_note_place &t)
{
    return ht_place_of(g, (unsigned)ht_noted(ht_notes_of(n, t.warp) + NOTED_RESULTS + (unsigned)t.turn * 4));
}

template <int WARPS> HT_DEVICE void ht_next_terms(const ht_gemm_args &g, const ht_notes &n, ht_term_stream *s)
{
    s->k += TERMS_AT_ONCE * WAVE;
    if (s->k < g.a.k)
        return;
    s->k = 0;
    s->turn.turn += WARPS;
    ht_find_turn<WARPS>(n, 4, 1, &s->turn);
}

// Begins to copy a lane's terms from k on; zeros behind the last.
HT_DEVICE void ht_copy_terms(const ht_gemm_args &g, const ht_line_along_k &a, const ht_line_along_k &b, int k, unsigned to)
{
    const float *x = a.at + k * a.step, *y = b.at + k * b.step;
#pragma unroll 4
    for (int i = 0; i < TERMS_AT_ONCE; i++, k += WAVE, x += WAVE * a.step, y += WAVE * b.step) {
        const int bytes = k < g.a.k ? 4 : 0;
        ht_cp_async4_some(to + (unsigned)i * (WAVE * 8), x, bytes);
        ht_cp_async4_some(to + (unsigned)i * (WAVE * 8) + WAVE * 4, y, bytes);
    }
}

// All results that are noted, by WARPS warps in turn; turn: what of them is this warp's first.
template <int WARPS, int TERM_BUFFERS> HT_DEVICE void ht_recompute_noted(const ht_gemm_args &g, const ht_notes &n, ht_note_place turn)
{
    const int lane = (int)threadIdx.x % WAVE;
    ht_find_turn<WARPS>(n, 4, 1, &turn);
    ht_term_stream ahead = {turn, 0}, now = ahead;
    ht_line_along_k a = {nullptr, 0}, b = {nullptr, 0};
    float sum = 0.0f, rest = 0.0f;
#pragma unroll 1
    for (int step = 1 - TERM_BUFFERS, buffer = 0; now.turn.warp < WARPS; step++, buffer = buffer + 1 == TERM_BUFFERS ? 0 : buffer + 1) {
        if (ahead.turn.warp < WARPS) {
            if (ahead.k == 0) {
                const ht_place place = ht_result_noted(g, n, ahead.turn);
                a = ht_line_of(g.a, place.entry, place.row);
                b = ht_line_of(g.b, place.entry, place.col);
            }
            ht_copy_terms(g, a, b, ahead.k + lane, n.terms + (unsigned)(buffer * TERM_BYTES + lane * 4));
            ht_next_terms<WARPS>(g, n, &ahead);
        }
        ht_cp_async_commit();
        if (step < 0)
            continue;
        ht_cp_async_wait<TERM_BUFFERS - 1>(); //@mutate inside-wait
        const unsigned from = n.terms + (unsigned)((buffer + 1 == TERM_BUFFERS ? 0 : buffer + 1) * TERM_BYTES + lane * 4);
#pragma unroll 4
        for (int i = 0; i < TERMS_AT_ONCE; i++)
            ht_add_term(&sum, &rest, ht_lds4(from + (unsigned)i * (WAVE * 8)), ht_lds4(from + (unsigned)i * (WAVE * 8) + WAVE * 4));
        if (now.k + TERMS_AT_ONCE * WAVE >= g.a.k) { //@mutate inside-last
            const ht_place place = ht_result_noted(g, n, now.turn);
            ht_store_recomputed(g, place.entry, place.row, place.col, ht_sum_of_lanes(sum, rest));
            sum = rest = 0.0f;
        }
        ht_next_terms<WARPS>(g, n, &now);
    }
}

// All that is noted, blocks of ROWS x 64 in pieces, by WARPS warps in turn.
template <int WARPS, int ROWS, int TERM_BUFFERS> HT_DEVICE void ht_fallback_noted(const ht_gemm_args &g, const ht_notes &n, ht_noted_counts own)
{
    constexpr int HIGH = ROWS / FALLBACK_HEIGHT, PIECES = HIGH * (64 / FALLBACK_WIDTH);
    ht_note_place turn = {0, (int)threadIdx.x / WAVE};
    if (threadIdx.x % WAVE == 0) {
        ht_note(ht_notes_of(n, turn.turn) + 4, (unsigned)own.results);
        ht_note(ht_notes_of(n, turn.turn) + 8, (unsigned)own.blocks);
    }
    ht_group_barrier<2, WARPS * WAVE>(0); //@mutate inside-noted
#pragma unroll 1
    for (ht_find_turn<WARPS>(n, 8, PIECES, &turn); turn.warp < WARPS; turn.turn += WARPS, ht_find_turn<WARPS>(n, 8, PIECES, &turn)) {
        const ht_place block = ht_place_of(g, (unsigned)ht_noted(ht_notes_of(n, turn.warp) + NOTED_BLOCKS + (unsigned)(turn.turn / PIECES) * 4));
        const int piece = turn.turn % PIECES, row = block.row + piece % HIGH * FALLBACK_HEIGHT, col = block.col + piece / HIGH * FALLBACK_WIDTH; //@mutate inside-piece
        if (row < g.m && col < g.n)
            ht_fallback_piece<1>(g, block.entry, row, col);
    }
    ht_recompute_noted<WARPS, TERM_BUFFERS>(g, n, {0, turn.turn}); // the warp that would have the next piece has the first result
    ht_group_barrier<2, WARPS * WAVE>(0);
}
