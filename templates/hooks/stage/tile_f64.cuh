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

// What a block copies in each step, a thread of every LINES-th line a pair of each part of LENGTH pairs. Lines of 96 rows have three parts.
template <int ROWS, int DEPTH, int THREADS, bool ALONG_K> struct ht_copy64 {
    static constexpr int PAIRS = (ALONG_K ? DEPTH : ROWS) / 2, LENGTH = PAIRS % 3 == 0 ? PAIRS / 3 : PAIRS, PARTS = PAIRS / LENGTH;
    static constexpr int LINES = THREADS / LENGTH, COUNT = (ALONG_K ? ROWS : DEPTH) / LINES; // lines of a thread
    const double *at; // the thread's first pair of the next step
    long long ld;
    int rows, left; // of the matrix, from the tile's first row on; its k from the next step on
    bool aligned;   // lines begin at multiples of 16 bytes
};

// Which of a pair's elements are there, of `count` from its first on.
HT_DEVICE unsigned ht_valid_elements(int count)
{
    return count >= 2 ? 3 : count == 1 ? 1 : 0;
}

template <int ROWS, int DEPTH, int THREADS, bool ALONG_K>
HT_DEVICE ht_copy64<ROWS, DEPTH, THREADS, ALONG_K> ht_copy64_of(const ht_view &x, long long entry, int k0, int row0, int depth)
{
    using copy = ht_copy64<ROWS, DEPTH, THREADS, ALONG_K>;
    static_assert(THREADS % copy::LENGTH == 0 && (copy::LENGTH & (copy::LENGTH - 1)) == 0, "whole parts of lines, powers of two");
    static_assert(copy::COUNT > 0 && ROWS % 16 == 0 && DEPTH % 16 == 0, "whole lines");
    const int place = (int)threadIdx.x % copy::LENGTH * 2, line = (int)threadIdx.x / copy::LENGTH;
    const double *const src = (const double *)x.src + entry * x.stride + k0 * (ALONG_K ? 1 : x.ld);
    return {src + (ALONG_K ? (row0 + line) * x.ld + place : line * x.ld + row0 + place), x.ld, x.rows - row0, depth,
            ((unsigned long long)src & 15) == 0 && (x.ld & 1) == 0};
}

// Starts a thread's copies of its line i, which begin `from`; `count` elements are there from its first pair on.
template <int ROWS, int DEPTH, int THREADS, bool ALONG_K>
HT_DEVICE void ht_copy64_line(const ht_copy64<ROWS, DEPTH, THREADS, ALONG_K> &, const double *from, unsigned to, int i, int count, bool aligned)
{
    using copy = ht_copy64<ROWS, DEPTH, THREADS, ALONG_K>;
    const int thread = (int)threadIdx.x, line = thread / copy::LENGTH, place = thread % copy::LENGTH * 2;
    // line < LINES, a power of two: its bits and those of i * LINES do not meet
    const unsigned s = (ht_element_at64<ROWS, DEPTH, ALONG_K>(ALONG_K ? line : place, ALONG_K ? place : line) ^
                        (unsigned)((i * copy::LINES & 3) * 32)) +
                       (unsigned)(i * copy::LINES * copy::PAIRS * 16);
#pragma unroll
    for (int part = 0; part < copy::PARTS; part++) {
        const int past = part * copy::LENGTH * 2;
        ht_cp_async_pair(to + s + (unsigned)past * 8, from + past, ht_valid_elements(count - past), aligned);
    }
}

// Starts the copies of the next step. WHOLE: all of it is the matrix's, and aligned; else what lies beyond the matrix is zeros.
template <bool WHOLE, int ROWS, int DEPTH, int THREADS, bool ALONG_K>
HT_DEVICE void ht_copy64_step(ht_copy64<ROWS, DEPTH, THREADS, ALONG_K> &x, unsigned to)
{
    using copy = ht_copy64<ROWS, DEPTH, THREADS, ALONG_K>;
    const int thread = (int)threadIdx.x;
    const int line = thread / copy::LENGTH, place = thread % copy::LENGTH * 2;
    const int length = ALONG_K ? x.left : x.rows, lines = ALONG_K ? x.rows : x.left;
    const bool aligned = WHOLE || (x.aligned && (length >= copy::PAIRS * 2 || length % 2 == 0));
    const double *from = x.at;
#pragma unroll
    for (int i = 0; i < copy::COUNT; i++) {
        ht_copy64_line(x, from, to, i, WHOLE ? copy::PAIRS * 2 : line + i * copy::LINES < lines ? length - place : 0, aligned);
        from += copy::LINES * x.ld;
    }
    x.at = ALONG_K ? x.at + DEPTH : from;
    x.left -= DEPTH;
}

// Whether all of both operands' next step is the matrices', and aligned.
template <int A_ROWS, int B_ROWS, int DEPTH, int THREADS, bool A_K, bool B_K>
HT_DEVICE bool ht_copy64_is_whole(const ht_copy64<A_ROWS, DEPTH, THREADS, A_K> &a, const ht_copy64<B_ROWS, DEPTH, THREADS, B_K> &b)
{
    return a.aligned && b.aligned && a.rows >= A_ROWS && b.rows >= B_ROWS && a.left >= DEPTH;
}

// Starts the copies of that step.
template <bool WHOLE, int A_ROWS, int B_ROWS, int DEPTH, int THREADS, bool A_K, bool B_K>
HT_DEVICE void ht_copy64_issue(ht_copy64<A_ROWS, DEPTH, THREADS, A_K> &a, ht_copy64<B_ROWS, DEPTH, THREADS, B_K> &b, unsigned to)
{
    ht_copy64_step<WHOLE>(a, to);
    ht_copy64_step<WHOLE>(b, to + A_ROWS * DEPTH * 8);
}
