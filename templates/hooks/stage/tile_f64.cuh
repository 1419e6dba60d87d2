// stage/tile_f64: steps of the caller's FP64 matrices, copied into shared memory by cp.async as they lie in the matrix: lines of pairs,
// 16 bytes each, along k where k is contiguous, else along rows. The pairs of a line are exchanged (XOR) by twice its number modulo 4, so that
// half a warp that loads 4 rows at 4 k, 8 bytes each, meets no bank twice, and eight neighbours that write a line do not, either.
#ifndef HT_SIMULATOR
// A pair of the matrix: its elements that `valid` names, zeros for the others; at once where it is aligned, and then L2 fetches 256 bytes, where k is
// contiguous the next step's, too.
HT_DEVICE void ht_cp_async_pair(unsigned s, const double *g, unsigned valid, bool aligned)
{
    asm volatile("{\n"
                 ".reg .pred w, x, y;\n"
                 ".reg .b32 t;\n"
                 "setp.ne.u32 w, %3, 0;\n"
                 "and.b32 t, %2, 1;\n"
                 "setp.eq.u32 x, t, 0;\n"
                 "and.b32 t, %2, 2;\n"
                 "setp.eq.u32 y, t, 0;\n"
                 "@w cp.async.cg.shared.global.L2::256B [%0], [%1], 16, x;\n"
                 "@!w cp.async.ca.shared.global [%0], [%1], 8, x;\n"
                 "@!w cp.async.ca.shared.global [%0 + 8], [%1 + 8], 8, y;\n"
                 "}" ::"r"(s), "l"(__cvta_generic_to_global(g)), "r"(valid), "r"((unsigned)aligned)
                 : "memory");
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

// Bytes from the beginning of a buffer of ROWS x DEPTH to element (row, k).
template <int ROWS, int DEPTH, bool ALONG_K> HT_DEVICE unsigned ht_element_at64(int row, int k)
{
    const int line = ALONG_K ? row : k, at = ALONG_K ? k : row, length = ALONG_K ? DEPTH : ROWS;
    return (unsigned)(line * length * 8 + ((at / 2) ^ ((line & 3) * 2)) * 16 + at % 2 * 8);
}

// From a lane's element, whose row and k are multiples of 8 and 4 but for lane / 4 and lane % 4, to that of `eights` times 8 rows and `quads` times
// 4 k behind it. Buffers begin at multiples of 256 bytes.
template <int ROWS, int DEPTH, bool ALONG_K> HT_DEVICE unsigned ht_element_behind64(unsigned at, int eights, int quads)
{
    return ALONG_K ? (at ^ (unsigned)(quads * 32)) + (unsigned)(eights * DEPTH * 64)
                        : (at ^ (unsigned)(eights % 2 * 64)) + (unsigned)(eights / 2 * 128 + quads * ROWS * 32);
}

// What a thread copies in each step: pair `place` of every LINES-th line.
template <int ROWS, int DEPTH, int THREADS, bool ALONG_K> struct ht_copy64 {
    static constexpr int LENGTH = (ALONG_K ? DEPTH : ROWS) / 2, LINES = THREADS / LENGTH;
    static constexpr int COUNT = ROWS * DEPTH / 2 / THREADS;
    const double *at; // its first pair of the next step
    long long ld;
    int k;          // the pair's first k, or its line
    int left;       // k of the matrix from the next step on
    unsigned valid; // elements of the pair, or lines, that are rows of the matrix: bits 2 i and 2 i + 1
    bool aligned;
};

constexpr unsigned HT_FIRST_ELEMENTS = 0x55555555;

// Bits of pairs of which `count` lines are there; the same of `count` elements of a pair.
template <int COUNT> HT_DEVICE unsigned ht_valid_lines(int count)
{
    return count >= COUNT ? ~0u : count <= 0 ? 0u : (1u << 2 * count) - 1;
}

HT_DEVICE unsigned ht_valid_elements(int count)
{
    return count >= 2 ? ~0u : count == 1 ? HT_FIRST_ELEMENTS : 0u;
}

template <int ROWS, int DEPTH, int THREADS, bool ALONG_K>
HT_DEVICE ht_copy64<ROWS, DEPTH, THREADS, ALONG_K> ht_copy64_of(const double *src, long long ld, int row0, int rows, int depth)
{
    using copy = ht_copy64<ROWS, DEPTH, THREADS, ALONG_K>;
    static_assert(THREADS % copy::LENGTH == 0 && copy::COUNT <= 16 && ROWS % 16 == 0 && DEPTH % 16 == 0, "whole lines; bits of a word");
    const int place = (int)threadIdx.x % copy::LENGTH * 2, line = (int)threadIdx.x / copy::LENGTH, left = rows - row0;
    copy x;
    x.ld = ld;
    x.left = depth;
    x.at = src + (ALONG_K ? (row0 + line) * ld + place : line * ld + row0 + place);
    x.k = ALONG_K ? place : line;
    x.valid = ALONG_K ? ht_valid_lines<copy::COUNT>((left - line + copy::LINES - 1) / copy::LINES) : ht_valid_elements(left - place);
    x.aligned = ((unsigned long long)src & 15) == 0 && (ld & 1) == 0 && (ALONG_K || left >= ROWS || left % 2 == 0);
    return x;
}

// Starts the copies of the next step; beyond the matrix zeros.
template <int ROWS, int DEPTH, int THREADS, bool ALONG_K>
HT_DEVICE void ht_copy64_issue(ht_copy64<ROWS, DEPTH, THREADS, ALONG_K> &x, unsigned to)
{
    using copy = ht_copy64<ROWS, DEPTH, THREADS, ALONG_K>;
    const int there = x.left - x.k, thread = (int)threadIdx.x;
    const unsigned valid =
        x.valid & (ALONG_K ? ht_valid_elements(there) : ht_valid_lines<copy::COUNT>((there + copy::LINES - 1) / copy::LINES));
    const bool aligned = x.aligned && (!ALONG_K || x.left >= DEPTH || x.left % 2 == 0);
    const int line = thread / copy::LENGTH, place = thread % copy::LENGTH * 2;
    const double *at = x.at;
#pragma unroll
    for (int i = 0; i < copy::COUNT; i++) {
        // line < LINES, a power of two: its bits and those of i * LINES do not meet
        const unsigned s = (ht_element_at64<ROWS, DEPTH, ALONG_K>(ALONG_K ? line : place, ALONG_K ? place : line) ^
                            (unsigned)((i * copy::LINES & 3) * 32)) +
                           (unsigned)(i * copy::LINES * copy::LENGTH * 16);
        ht_cp_async_pair(to + s, at, valid >> 2 * i, aligned);
        at += copy::LINES * x.ld;
    }
    x.at = ALONG_K ? x.at + DEPTH : at;
    x.left -= DEPTH;
}
