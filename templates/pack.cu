#include "sample.h" //@drop
// ---- packing: one operand into panel atoms ---------------------------------------------------------------------
// A block takes 64 rows x 64 k of the user's matrix, in whichever direction it is contiguous, to shared memory and
// writes it out split and swizzled: SLICES atoms of 64 rows x 128 bytes. Rows and k beyond the matrix become zeros.
//
//   atom row (two 16-bit slices): [ 32 hi | 32 lo ]   16-byte chunk c of row r is stored as chunk c ^ (r & 7)
constexpr int PACK_THREADS = 256;
constexpr int PACK_LD = 65;                    // floats: rows one bank apart, so neither direction conflicts
constexpr int PACK_SMEM_BYTES = 64 * PACK_LD * 4;
constexpr int ATOMS = 64 / ATOM_K;             // atoms a block writes
constexpr int SEGMENT_K = 512;                 // k of one block of the magnitude kernel

HT_DEVICE const float *element(const ht_pack_args &g, int row, int k)
{
    const long long at = g.k_contiguous ? (long long)row * g.ld + k : (long long)k * g.ld + row;
    return g.src + (long long)blockIdx.z * g.src_stride + at;
}

// 16-byte chunk `chunk` (8 k) of all slices of one row.
HT_DEVICE void write_chunk(const ht_pack_args &g, unsigned char *atoms, unsigned tile, int row, int chunk, int exponent)
{
    unsigned packed[SLICES][4];
#pragma unroll
    for (int e = 0; e < 8; e++) {
        float x = ht_lds4(tile + (unsigned)(row * PACK_LD + chunk * 8 + e) * 4);
        if (SCALES_ROWS)
            x = ht_scale_pow2(x, exponent);
        unsigned short slice[SLICES];
        ht_split(x, slice);
        for (int s = 0; s < SLICES; s++)
            packed[s][e / 2] = e % 2 ? packed[s][e / 2] | (unsigned)slice[s] << 16 : slice[s];
    }
    unsigned char *atom = atoms + chunk / (ATOM_K / 8) * 8192 + row * 128;
    for (int s = 0; s < SLICES; s++) {
        const int c = s * (ATOM_K / 8) + chunk % (ATOM_K / 8);
        ht_stg16(atom + ((c ^ (row & 7)) * 16), make_uint4(packed[s][0], packed[s][1], packed[s][2], packed[s][3]));
    }
}

__global__ void __launch_bounds__(PACK_THREADS) pack(const ht_pack_args g)
{
    const int tid = (int)threadIdx.x;
    const int k_tiles = g.k_blocks / ATOMS; // blocks run along k first: consecutive blocks write consecutive atoms
    const int k_tile = (int)blockIdx.x % k_tiles, row_block = (int)blockIdx.x / k_tiles;
    const int k0 = k_tile * 64, row0 = row_block * 64;
    const unsigned tile = ht_smem_base();
    const int fast = tid % 64, slow = tid / 64; // fast runs along the contiguous direction
    float x[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int row = g.k_contiguous ? slow + i * 4 : fast, k = g.k_contiguous ? fast : slow + i * 4;
        x[i] = row0 + row < g.rows && k0 + k < g.k ? ht_ldg4(element(g, row0 + row, k0 + k)) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int row = g.k_contiguous ? slow + i * 4 : fast, k = g.k_contiguous ? fast : slow + i * 4;
        ht_sts4(tile + (unsigned)(row * PACK_LD + k) * 4, x[i]);
    }
    ht_barrier();
    unsigned char *atoms = g.panels + (long long)blockIdx.z * g.panel_stride +
                           ((long long)row_block * g.k_blocks + k_tile * ATOMS) * 8192;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        // eight rows and one atom's chunks side by side in a warp: each store covers whole sectors
        const int unit = i * PACK_THREADS + tid;
        const int per_atom = 64 * (ATOM_K / 8);
        const int row = unit % per_atom / (ATOM_K / 8);
        const int chunk = unit / per_atom * (ATOM_K / 8) + unit % (ATOM_K / 8);
        int exponent = 0;
        if (SCALES_ROWS && row0 + row < g.rows)
            exponent = -ht_row_exponent(ht_ldg_i32(g.exponents + (long long)blockIdx.z * g.exponent_stride + row0 + row));
        write_chunk(g, atoms, tile, row, chunk, exponent);
    }
}

// Largest finite magnitude of each row, as the bits of a float: maxima do not depend on order, so atomics keep the
// result deterministic. The array starts as zeros.
HT_DEVICE int magnitude(float x)
{
    const int bits = (int)(ht_as_uint(x) & 0x7fffffffu);
    return bits < 0x7f800000 ? bits : 0;
}

HT_DEVICE int larger(int x, int y)
{
    return x > y ? x : y;
}

// Thread t walks the contiguous direction: with rows contiguous it keeps one row and four threads share it; with k
// contiguous a warp keeps eight rows.
__global__ void __launch_bounds__(PACK_THREADS) row_magnitudes(const ht_pack_args g)
{
    const int tid = (int)threadIdx.x, segments = (g.k + SEGMENT_K - 1) / SEGMENT_K;
    const int row0 = (int)blockIdx.x / segments * 64, k0 = (int)blockIdx.x % segments * SEGMENT_K;
    int *out = g.exponents + (long long)blockIdx.z * g.exponent_stride;
    if (!g.k_contiguous) {
        const int row = row0 + tid % 64;
        int most = 0;
        for (int k = k0 + tid / 64; k < k0 + SEGMENT_K; k += 32) {
            float x[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x[i] = row < g.rows && k + i * 4 < g.k ? ht_ldg4(element(g, row, k + i * 4)) : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                most = larger(most, magnitude(x[i]));
            }
        }
        if (row < g.rows && most > 0)
            ht_atomic_max_i32(out + row, most);
        return;
    }
    const int lane = tid & 31, warp = tid >> 5;
    for (int r = warp * 8; r < warp * 8 + 8; r++) {
        const int row = row0 + r;
        float x[SEGMENT_K / 32];
        int most = 0;
#pragma unroll
        for (int i = 0; i < SEGMENT_K / 32; i++) {
            x[i] = row < g.rows && k0 + lane + i * 32 < g.k ? ht_ldg4(element(g, row, k0 + lane + i * 32)) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < SEGMENT_K / 32; i++) {
            most = larger(most, magnitude(x[i]));
        }
#pragma unroll
        for (int i = 0; i < 5; i++) {
            most = larger(most, ht_shfl_xor(most, 16 >> i));
        }
        if (lane == 0 && row < g.rows && most > 0)
            ht_atomic_max_i32(out + row, most);
    }
}

__global__ void __launch_bounds__(PACK_THREADS) clear_magnitudes(const ht_pack_args g)
{
    const int row = (int)blockIdx.x * PACK_THREADS + (int)threadIdx.x;
    if (row < g.rows)
        ht_stg_i32(g.exponents + (long long)blockIdx.z * g.exponent_stride + row, 0);
}

static int launch(const ht_pack_args &g, void *stream)
{
    const unsigned row_blocks = (unsigned)((g.rows + 63) / 64), batch = (unsigned)g.batch;
    int code = 0;
    if (SCALES_ROWS) {
        code = ht_launch(clear_magnitudes, (unsigned)((g.rows + PACK_THREADS - 1) / PACK_THREADS), 1, batch,
                         PACK_THREADS, 0, stream, g);
        if (code == 0)
            code = ht_launch(row_magnitudes, (unsigned)((g.k + SEGMENT_K - 1) / SEGMENT_K) * row_blocks, 1, batch,
                             PACK_THREADS, 0, stream, g);
    }
    if (code == 0)
        code = ht_launch(pack, (unsigned)(g.k_blocks / ATOMS) * row_blocks, 1, batch, PACK_THREADS, PACK_SMEM_BYTES,
                         stream, g);
    return code;
}
