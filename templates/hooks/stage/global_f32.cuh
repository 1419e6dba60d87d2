// stage/global_f32: a tile of the caller's matrix copied to shared memory, and a stage of it as FP32, for FFMA.
// Element (row, k) is src[row * ld + k] or src[k * ld + row]; a stage keeps that orientation, as lines of what is contiguous:
//
//   k contiguous:     ROWS lines of BK numbers, BK + 4 apart
//   rows contiguous:  BK lines of ROWS numbers, a multiple of 32 and 8 apart
//
// so that 16-byte stores stay aligned, and the loads of a fragment, 8 rows x 4 neighbouring k, meet no bank twice: lines
// lie 4 or 8 banks apart. A thread moves parts of four numbers, the same place of every LINES-th line. Beyond the matrix
// there are zeros. Loads are of 16 bytes where every line begins at a multiple of that, else of 4.
#ifndef HT_SIMULATOR
struct ht_pair {
    float x, y;
};

// Two neighbours at a multiple of 8 bytes.
HT_DEVICE ht_pair ht_ld8(const float *p)
{
    const float2 v = *(const float2 *)p;
    return {v.x, v.y};
}

HT_DEVICE void ht_stg8(float *p, ht_pair v)
{
    *(float2 *)p = make_float2(v.x, v.y);
}
#endif

constexpr int K_PITCH = BK + 4; // numbers from line to line where k is contiguous
template <int ROWS> constexpr int ht_row_pitch = (ROWS + 31) / 32 * 32 + 8; // and where rows are
template <int ROWS>
constexpr int ht_stage_bytes = 4 * (ROWS * K_PITCH > BK * ht_row_pitch<ROWS> ? ROWS * K_PITCH : BK * ht_row_pitch<ROWS>);

// One operand of a block, for one thread.
struct ht_source {
    const float *at;                    // this thread's first part of the stage that is loaded next
    long long part_stride, step_stride; // numbers from part to part and from stage to stage
    int line, lines;                    // of the first part; from part to part
    int across;                         // where in its line
    int rows_left, k_left;              // of the matrix, from the stage's first row and k on
    int row_bytes, k_bytes;             // in shared memory, from row to row and from k to k
    unsigned to;                        // bytes into the operand's stage
    bool k_major, aligned;
};

template <int ROWS, int THREADS>
HT_DEVICE ht_source ht_open_source(const float *src, long long ld, bool k_major, int row, int rows, int k0, int k,
                                   int tid)
{
    const int per_line = (k_major ? BK : ROWS) / 4, pitch = k_major ? K_PITCH : ht_row_pitch<ROWS>;
    ht_source s;
    s.line = tid / per_line;
    s.lines = THREADS / per_line;
    s.across = tid % per_line * 4;
    s.at = src + (k_major ? (long long)(row + s.line) * ld + k0 : (long long)(k0 + s.line) * ld + row) + s.across;
    s.part_stride = s.lines * ld;
    s.step_stride = k_major ? BK : BK * ld;
    s.rows_left = rows - row; //@mutate open-source
    s.k_left = k - k0;
    s.row_bytes = k_major ? pitch * 4 : 4;
    s.k_bytes = k_major ? 4 : pitch * 4;
    s.to = (unsigned)(s.line * pitch + s.across) * 4;
    s.k_major = k_major;
    s.aligned = ((unsigned long long)src | (unsigned long long)ld * 4) % 16 == 0;
    return s;
}

// Up to four neighbours; `there` of them exist.
HT_DEVICE uint4 ht_load_guarded(const float *from, int there)
{
    uint4 v = make_uint4(0, 0, 0, 0);
    if (there > 0)
        v.x = ht_as_uint(ht_ldg4(from));
    if (there > 1)
        v.y = ht_as_uint(ht_ldg4(from + 1));
    if (there > 2)
        v.z = ht_as_uint(ht_ldg4(from + 2));
    if (there > 3) //@mutate load-some
        v.w = ht_as_uint(ht_ldg4(from + 3));
    return v;
}

// Loads this thread's parts of a stage and moves on to the next stage.
template <int ROWS, int PARTS> HT_DEVICE void ht_load_vectors(uint4 *part, ht_source *s)
{
    const int lines = s->k_major ? s->rows_left : s->k_left;
    const int run = (s->k_major ? s->k_left : s->rows_left) - s->across;
    const int own = s->k_major ? ROWS : BK; // lines of a stage
    const long long stride = ht_opaque(s->part_stride); // else a multiple of it for every part is kept in a register
    const float *from = s->at;
    if (s->aligned && run >= 4 && lines >= own && s->line + (PARTS - 1) * s->lines < own) {
#pragma unroll
        for (int i = 0; i < PARTS; i++, from += stride)
            part[i] = ht_ld16(from);
    } else {
#pragma unroll
        for (int i = 0; i < PARTS; i++, from += stride) {
            const int line = s->line + i * s->lines;
            part[i] = ht_load_guarded(from, line < lines && line < own ? run : 0);
        }
    }
    s->at += s->step_stride;
    s->k_left -= BK;
}

// Stores them.
template <int ROWS, int PARTS> HT_DEVICE void ht_store_vectors(unsigned stage, const uint4 *part, const ht_source &s)
{
    const int pitch = s.k_major ? s.row_bytes : s.k_bytes; // of a line, bytes
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        if (s.line + i * s.lines < (s.k_major ? ROWS : BK))
            ht_sts16(stage + s.to + (unsigned)(i * s.lines * pitch), part[i]);
    }
}
