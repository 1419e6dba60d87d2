#include "../samples/machine.h" //@drop
#include "../hooks/launch/stream.cuh" //@drop
// ---- matrices of 16 bits become floats, exactly: one or two in one launch, before anything else reads them --------
// A line is the direction in which a matrix is contiguous. A warp takes 512 elements of it, four elements a lane and four times: 8 bytes in, 16 out.
// Where 8 bytes of a line do not begin at a multiple of 8, and at its end, they are read one by one. Behind the end, as far as 16 bytes go, are zeros.
constexpr int WIDEN_THREADS = 256, WIDEN_UNIT = 4, WIDEN_STEP = 32 * WIDEN_UNIT, WIDEN_PARTS = 4, WIDEN_RUN = WIDEN_PARTS * WIDEN_STEP;
constexpr int WIDEN_LINES = WIDEN_THREADS / 32, WIDEN_GRID = 65535;

struct widen_pair {
    ht_widen_args matrix[2];
};

// A NaN stays one, and of BF16 keeps its bits.
HT_DEVICE unsigned widened(unsigned bits, int is_bf16)
{
    return is_bf16 ? bits << 16 : ht_as_uint(ht_f16_value((unsigned short)bits)); //@mutate widened
}

HT_DEVICE unsigned long long load_four(const unsigned short *from, long long left, bool is_aligned)
{
    if (is_aligned && left >= WIDEN_UNIT) //@mutate widen-aligned
        return (unsigned long long)ht_ldg_i64((const long long *)from);
    unsigned long long four = 0;
    for (int i = 0; i < WIDEN_UNIT && i < left; i++)
        four |= (unsigned long long)ht_ldg_u16(from + i) << 16 * i; //@mutate widen-some
    return four;
}

HT_DEVICE void store_four(float *to, unsigned long long four, int is_bf16)
{
    const unsigned x = (unsigned)four, y = (unsigned)(four >> 32);
    ht_stg16(to, make_uint4(widened(x & 0xffff, is_bf16), widened(x >> 16, is_bf16), widened(y & 0xffff, is_bf16), widened(y >> 16, is_bf16)));
}

static __global__ void __launch_bounds__(WIDEN_THREADS) widen(const widen_pair p)
{
    const bool second = (int)blockIdx.z >= p.matrix[0].batch;
    const ht_widen_args g = second ? p.matrix[1] : p.matrix[0];
    const long long entry = (int)blockIdx.z - (second ? p.matrix[0].batch : 0);
    const unsigned short *const src = (const unsigned short *)g.src + entry * g.src_stride; //@mutate widen-entry
    const long long first = (long long)blockIdx.x * WIDEN_RUN + (int)threadIdx.x % 32 * WIDEN_UNIT;
    const bool is_aligned = ((unsigned long long)src | (unsigned long long)(2 * g.ld)) % 8 == 0;
    ht_pdl_wait();
    ht_pdl_trigger();
    const long long left = g.length - first;
    if (left <= 0)
        return;
    for (long long line = (long long)blockIdx.y * WIDEN_LINES + threadIdx.x / 32; line < g.lines; line += (long long)gridDim.y * WIDEN_LINES) {
        const unsigned short *const from = src + line * g.ld + first;
        float *const to = g.to + entry * g.to_stride + line * g.to_ld + first;
        unsigned long long four[WIDEN_PARTS];
#pragma unroll
        for (int i = 0; i < WIDEN_PARTS; i++) {
            four[i] = load_four(from + i * WIDEN_STEP, left - i * WIDEN_STEP, is_aligned);
        }
#pragma unroll
        for (int i = 0; i < WIDEN_PARTS; i++) {
            if (left > i * WIDEN_STEP)
                store_four(to + i * WIDEN_STEP, four[i], g.is_bf16);
        }
    }
}

static int launch(const ht_widen_args *matrices, int count, void *stream)
{
    widen_pair p = {};
    long long runs = 0, lines = 0;
    unsigned batch = 0;
    for (int i = 0; i < count; i++) {
        p.matrix[i] = matrices[i];
        const long long of_line = ((long long)matrices[i].length + WIDEN_RUN - 1) / WIDEN_RUN;
        runs = of_line > runs ? of_line : runs;
        lines = matrices[i].lines > lines ? matrices[i].lines : lines;
        batch += (unsigned)matrices[i].batch;
    }
    const long long rows = (lines + WIDEN_LINES - 1) / WIDEN_LINES;
    return ht_launch_dependent(widen, (unsigned)runs, (unsigned)(rows < WIDEN_GRID ? rows : WIDEN_GRID), batch, WIDEN_THREADS, 0, stream, p);
}
