// stage/cp_async_tile: a tile of the caller's matrix copied to shared memory by cp.async, without registers, whatever its alignment.
// Element (row, k) is src[row * row_step + k * k_step]; a stage keeps that orientation, as lines of what is contiguous:
//
//   k contiguous:     ROWS lines of BK numbers, BK + 4 apart
//   rows contiguous:  BK lines of ROWS numbers, ROWS + 8 apart
//
// so that the loads of a fragment, 8 rows x 4 neighbouring k, meet no bank twice: lines lie 20 or 8 banks apart. Copies are of 16 bytes
// where every line begins and ends at a multiple of that, else of 4, or of whole lines from such a multiple on. Beyond the matrix there are zeros.
#ifndef HT_SIMULATOR
// From g, or, where `bytes` is 0, zeros. near: by way of L1.
HT_DEVICE void ht_cp_async4_some(unsigned s, const float *g, int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(s), "l"(__cvta_generic_to_global(g)), "r"(bytes) : "memory");
}

HT_DEVICE void ht_cp_async16_some(unsigned s, const float *g, int bytes, bool near)
{
    if (near)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(s), "l"(__cvta_generic_to_global(g)), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(s), "l"(__cvta_generic_to_global(g)), "r"(bytes) : "memory");
}

HT_DEVICE void ht_cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> HT_DEVICE void ht_cp_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
#endif

// Where a matrix is so small that all blocks ask for the same few lines, L2 is too slow for it (57471 x 107 x 4: 12.9 us, past L1 21.5); 128 lines
// of as many rows push each other out of L1 before they are needed again (292 x 31574 x 1004: 1.6 times the time). Those are never few.
constexpr int NEAR_ROWS = 64;
template <int ROWS, bool K_MAJOR> constexpr int ht_copy_pitch = K_MAJOR ? BK + 4 : ROWS + 8; //@mutate copy-pitch
template <int ROWS> constexpr int ht_copy_bytes = 4 * (ROWS * (BK + 4) > BK * (ROWS + 8) ? ROWS * (BK + 4) : BK * (ROWS + 8));

// Begins to copy a stage, NUMBERS at once; where lines are of rows, its first `used` k. from: its first element; rows, depth: that the matrix has from there on.
template <int ROWS, bool K_MAJOR, int THREADS, int NUMBERS>
HT_DEVICE void ht_copy_vectors(unsigned stage, const float *from, long long ld, int rows, int depth, int used)
{
    constexpr int ALONG = K_MAJOR ? BK : ROWS, LINES = K_MAJOR ? ROWS : BK, PITCH = ht_copy_pitch<ROWS, K_MAJOR>;
    constexpr int PER_LINE = ALONG / NUMBERS, AT_ONCE = THREADS / PER_LINE, PARTS = (LINES + AT_ONCE - 1) / AT_ONCE;
    static_assert(THREADS % PER_LINE == 0, "threads take whole lines");
    const int line = (int)threadIdx.x / PER_LINE, across = (int)threadIdx.x % PER_LINE * NUMBERS;
    const int lines = (K_MAJOR ? rows : depth) - line, run = (K_MAJOR ? depth : rows) - across;
    const int bytes = run > 0 ? NUMBERS * 4 : 0; // all or nothing: compute-sanitizer knows no copies in part
    const unsigned to = stage + (unsigned)(line * PITCH + across) * 4;
    const long long step = ht_opaque(ld * AT_ONCE); // else a multiple of it for every part is kept in a register
    const float *at = from + line * ld + across;
    for (int i = 0; i < PARTS; i++, at += step) {
        const int there = i * AT_ONCE < lines ? bytes : 0; //@mutate copy-pieces
        if (K_MAJOR ? LINES % AT_ONCE == 0 || line + i * AT_ONCE < LINES : line + i * AT_ONCE < used) { //@mutate copy-pieces-2
            if (NUMBERS == 1)
                ht_cp_async4_some(to + (unsigned)(i * AT_ONCE * PITCH * 4), at, there);
            else
                ht_cp_async16_some(to + (unsigned)(i * AT_ONCE * PITCH * 4), at, there, ROWS <= NEAR_ROWS);
        }
    }
}

// Whether lines that are misaligned are copied from the last multiple of 16 bytes on. Number by number 128 of them push each other out of L1
// (54025 x 27 x 747, A transposed: 138 us, so 98); fewer do not, and fragments of lines that begin alike meet no bank twice.
template <int ROWS, bool K_MAJOR> constexpr bool ht_copies_misaligned = K_MAJOR && ROWS > NEAR_ROWS;

// Begins to copy four numbers, of which `there` exist; the others become zeros. Before `start`, and behind the last of `lines` lines that the
// matrix has from there on, there may be nothing, so it is number by number there: compute-sanitizer knows no copies in part.
HT_DEVICE void ht_copy_vec4(unsigned to, const float *from, int there, const float *start, int lines)
{
    const int some = lines <= 0 || there <= 0 ? 0 : there < 4 ? there : 4; //@mutate copy-four-2
    if (from < start || (lines < 4 && some % 4 != 0)) { //@mutate copy-four
        for (int e = 0; e < 4; e++)
            ht_cp_async4_some(to + 4 * e, from + e, e < some && from + e >= start ? 4 : 0);
    } else {
        ht_cp_async16_some(to, from, some * 4, false);
    }
}

// Begins to copy a stage of ROWS lines of k, each from the last multiple of 16 bytes on, so that its first number comes ht_misalign16 of it
// later, and one copy more belongs to it. from: its first element; rows, depth: that the matrix has from there on; start: the matrix's first.
template <int ROWS, int THREADS> HT_DEVICE void ht_copy_misaligned(unsigned stage, const float *from, long long ld, int rows, int depth, const float *start)
{
    constexpr int PER_LINE = BK / 4, AT_ONCE = THREADS / PER_LINE, PITCH = ht_copy_pitch<ROWS, true>;
    static_assert(AT_ONCE % 4 == 0 && ROWS % AT_ONCE == 0, "a thread's lines begin alike");
    static_assert(ROWS <= THREADS && BK + 4 <= PITCH, "a line has room for one copy more, and a thread for it");
    const int line = (int)threadIdx.x / PER_LINE, across = (int)threadIdx.x % PER_LINE * 4;
    const unsigned to = stage + (unsigned)(line * PITCH + across) * 4;
    const long long step = ht_opaque(ld * AT_ONCE); // else a multiple of it for every part is kept in a register
    const float *at = from + line * ld + across;
    const int past = ht_misalign16(at), there = depth - across + past;
    at -= past; //@mutate copy-past-2
    for (int i = 0; i < ROWS / AT_ONCE; i++, at += step)
        ht_copy_vec4(to + (unsigned)(i * AT_ONCE * PITCH * 4), at, there, start, rows - line - i * AT_ONCE);
    const int own = (int)ht_opaque(threadIdx.x); // else what follows from it is kept as well
    const float *const end = from + own * ld + BK;
    const int over = ht_misalign16(end);
    if (own < ROWS && over != 0) //@mutate copy-past
        ht_copy_vec4(stage + (unsigned)(own * PITCH + BK) * 4, end - over, depth - BK + over, start, rows - own);
}
