/* wgmma_product: the rolled template wgmma_ss (this file with -DTEMPLATE="...": the template by itself, as it is or broken) in the simulator, against FP64 and bit for bit against
 * one element at a time: the products of the same packed operands in the order that the template promises, with the
 * arithmetic of sm_90. Sample parameters, scheme f16x3.
 *
 * wgmma_product                       runs what `cases` lists
 * wgmma_product M N K SPLITS BETA BATCH   one case
 * Exit 0: right; 1: wrong or the simulator objects; the last line says why. */
#ifdef TEMPLATE
#include "../../runtime/ht_abi.h"

namespace warpgroup {
#include TEMPLATE
}

int wgmma_init(void) {
    return warpgroup::init();
}

int wgmma_launch(const ht_gemm_args &g, void *stream) {
    return warpgroup::launch(g, stream);
}

#else
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "../../bench/halftone/accuracy/families.h"
#include "../../bench/halftone/accuracy/metrics.h"
#include "../../bench/halftone/accuracy/reference.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/sim/sim_api.h"
#include "../../runtime/sim/sim_mma.h"

namespace packing {
#include "../../templates/skeletons/pack.cu"
}
int wgmma_init(void);
int wgmma_launch(const ht_gemm_args &g, void *stream);

struct product_case {
    int m, n, k, splits;
    float beta;
    int batch;
};
static const product_case cases[] = {
    {192, 128, 64, 1, 0, 1},  {192, 128, 384, 1, 0.5f, 1}, {256, 256, 256, 1, 0, 1},
    {1, 1, 1, 1, 0, 1},       {193, 129, 130, 1, -1, 1},   {65, 300, 320, 1, 2, 1},
    {300, 65, 512, 2, 0, 1},  {201, 131, 256, 4, 1.5f, 1}, {100, 130, 192, 1, 0.5f, 3},
    {200, 260, 448, 3, 1, 2}, {387, 130, 64, 1, 0, 1},    {194, 65, 128, 1, 0, 2},
};

/* Arrays that kernels may touch; NaN where nothing is written. */
template <class T> struct device_array {
    std::vector<T> v;
    explicit device_array(size_t count) : v(count) {
        memset(v.data(), 0xff, count * sizeof(T));
        ht_sim_register(v.data(), count * sizeof(T));
    }
    ~device_array() {
        ht_sim_unregister(v.data());
    }
    device_array(const device_array &) = delete;
};

struct operand {
    device_array<unsigned char> panels;
    device_array<int> exponents, meeting; /* meeting: clean, as device_array begins */
    ht_pack_args args = {};
    operand(const float *src, int rows, int k, bool k_contiguous, int batch)
        : panels((size_t)batch * ((rows + 63) / 64) * ((k + 63) / 64) * 2 * HT_ATOM_BYTES),
          exponents((size_t)batch * ((rows + 63) / 64) * 64),
          meeting((size_t)batch * ((rows + 63) / 64) * (64 * ((k + 63) / 64) + 1)) {
        args.src = src;
        args.ld = k_contiguous ? k : rows;
        args.src_stride = (long long)rows * k;
        args.rows = rows;
        args.k = k;
        args.k_contiguous = k_contiguous;
        args.k_blocks = (k + 63) / 64 * 2;
        args.batch = batch;
        args.to.panels = panels.v.data();
        args.to.row_absmax = exponents.v.data();
        args.to.stride = (long long)panels.v.size() / batch;
        args.to.absmax_stride = (long long)exponents.v.size() / batch;
        args.absmax_exchange = meeting.v.data();
        args.exchange_stride = (long long)meeting.v.size() / batch;
        args.exchange_is_reset = 1;
    }
    /* 16 k of a row from k on in one slice. */
    void slice(int entry, int row, int k, int lo, uint16_t *out) const {
        const int chunk = lo * 4 + k % 32 / 8;
        const unsigned char *atom = args.to.panels + entry * args.to.stride +
                                    ((long long)(row / 64) * args.k_blocks + k / 32) * HT_ATOM_BYTES + row % 64 * 128;
        for (int c = 0; c < 2; c++)
            memcpy(out + c * 8, atom + ((chunk + c) ^ (row & 7)) * 16, 16);
    }
    int exponent(int entry, int row) const {
        return packing::ht_row_exponent(args.to.row_absmax[entry * args.to.absmax_stride + row]);
    }
};

static int failed(const char *what) {
    printf("%s: %s\n", what, ht_sim_error());
    return 1;
}

/* Adds the parts of a split as reduce does; alpha is 1. */
static void add_parts(const product_case &p, const std::vector<float> &partial, std::vector<float> &c) {
    const size_t entry = (size_t)p.m * p.n;
    for (size_t i = 0; i < c.size(); i++) {
        float sum = 0;
        for (int s = 0; s < p.splits; s++)
            sum += partial[(i / entry * p.splits + s) * entry + i % entry];
        c[i] = p.beta != 0 ? fmaf(p.beta, c[i], sum) : sum;
    }
}

/* One chain: 64 k, both corrections of each 16 k, then the products of the leading slices. */
static float chain_of(const operand &a, const operand &b, int entry, int row, int col, int k0) {
    static const sim_mma_model *const model = sim_mma_find("sm90");
    uint16_t x[2][16], y[2][16];
    float chain = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int k = k0; k < k0 + 64; k += 16) {
            for (int lo = 0; lo < 2; lo++) {
                a.slice(entry, row, k, lo, x[lo]);
                b.slice(entry, col, k, lo, y[lo]);
            }
            if (turn == 1) {
                chain = sim_dot_f16(model, 16, chain, x[0], y[0]);
                continue;
            }
            chain = sim_dot_f16(model, 16, chain, x[1], y[0]);
            chain = sim_dot_f16(model, 16, chain, x[0], y[1]);
        }
    }
    return chain;
}

static float element_of(const product_case &p, const operand &a, const operand &b, int entry, int row, int col,
                        float old) {
    const long long chunks = a.args.k_blocks / 2;
    float all = 0;
    for (int s = 0; s < p.splits; s++) {
        float sum = 0;
        for (long long c = chunks * s / p.splits; c < chunks * (s + 1) / p.splits; c++)
            sum += chain_of(a, b, entry, row, col, (int)c * 64);
        all += ldexpf(sum, a.exponent(entry, row) + b.exponent(entry, col));
    }
    return p.beta != 0 ? fmaf(p.beta, old, all) : all;
}

/* Grade of the result against FP64 with beta * C0 taken off, at most what f16x3 is good for. */
static int wrong_against_fp64(const product_case &p, const float *a, const float *b, const float *c0,
                              const float *c) {
    for (int entry = 0; entry < p.batch; entry++) {
        struct reference r;
        struct metrics found;
        const size_t at = (size_t)entry * p.m * p.n;
        std::vector<float> rest((size_t)p.m * p.n);
        if (reference_make(&r, 'N', 'N', p.m, p.n, p.k, a + (size_t)entry * p.m * p.k, p.m,
                           b + (size_t)entry * p.k * p.n, p.k, 0, 1) != 0)
            return 1;
        for (size_t i = 0; i < rest.size(); i++) {
            const double own = p.beta != 0 ? (double)p.beta * c0[at + i] : 0;
            rest[i] = (float)(c[at + i] - own);
        }
        const struct metrics_truth truth = reference_truth(&r);
        metrics_compute(&truth, rest.data(), &found);
        reference_free(&r);
        /* The split keeps 22 bits, beta * C adds a rounding of C's own size. */
        if (!(found.grade <= 64)) {
            printf("entry %d: grade %g against FP64\n", entry, found.grade);
            return 1;
        }
    }
    return 0;
}

static int run_case(const product_case &p) {
    const size_t size_a = (size_t)p.m * p.k * p.batch, size_b = (size_t)p.k * p.n * p.batch,
                 size_c = (size_t)p.m * p.n * p.batch;
    device_array<float> a(size_a), b(size_b);
    family_fill(family_find("phi1"), 5, 'A', p.m, p.k, p.k, a.v.data(), p.m);
    for (int e = 0; e < p.batch; e++) {
        family_fill(family_find("phi1"), 5 + e, 'A', p.m, p.n, p.k, &a.v[(size_t)e * p.m * p.k], p.m);
        family_fill(family_find("phi1"), 7 + e, 'B', p.m, p.n, p.k, &b.v[(size_t)e * p.k * p.n], p.k);
    }
    operand pa(a.v.data(), p.m, p.k, false, p.batch), pb(b.v.data(), p.n, p.k, true, p.batch);
    const ht_pack_args both[2] = {pa.args, pb.args};
    if (packing::init() != 0 || packing::launch(both, 2, NULL) != 0)
        return failed("pack");
    for (const operand *o : {&pa, &pb})
        for (int left : o->meeting.v)
            if (left != -1) {
                printf("pack leaves %d where blocks met\n", left);
                return 1;
            }
    device_array<float> c(size_c), part(size_c * p.splits);
    std::vector<float> before(size_c);
    for (size_t i = 0; i < size_c; i++)
        before[i] = p.beta != 0 ? (float)((int)(i % 17) - 8) * 0.125f : NAN;
    c.v = before; /* the same size: the registered address stays */
    ht_gemm_args g = {};
    g.a_packed = both[0].to;
    g.b_packed = both[1].to;
    g.to.ldc = g.m = p.m;
    g.n = p.n;
    g.to.stride = (long long)p.m * p.n;
    g.k_blocks = both[0].k_blocks;
    g.splits = p.splits;
    g.batch = p.batch;
    g.to.alpha.f32 = 1;
    g.to.beta.f32 = p.beta;
    g.to.c = c.v.data();
    g.partial = part.v.data();
    if (wgmma_init() != 0 || wgmma_launch(g, NULL) != 0)
        return failed("wgmma_ss");
    if (p.splits > 1)
        add_parts(p, part.v, c.v);
    if (wrong_against_fp64(p, a.v.data(), b.v.data(), before.data(), c.v.data()))
        return 1;
    for (size_t i = 0; i < size_c; i++) {
        const size_t entry = (size_t)p.m * p.n;
        const float want = element_of(p, pa, pb, (int)(i / entry), (int)(i % entry % p.m), (int)(i % entry / p.m), before[i]);
        if (memcmp(&want, &c.v[i], 4) != 0) {
            printf("element %zu: in order %a, wgmma_ss %a\n", i, (double)want, (double)c.v[i]);
            return 1;
        }
    }
    return 0;
}

static int run_named(const product_case &p) {
    const int code = run_case(p);
    if (code != 0)
        printf("m %d, n %d, k %d, splits %d, beta %g, batch %d: wrong\n", p.m, p.n, p.k, p.splits,
               (double)p.beta, p.batch);
    return code;
}

int main(int argc, char **argv) {
    ht_sim_set_model("sm90");
    if (argc == 7)
        return run_named({atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), (float)atof(argv[5]),
                          atoi(argv[6])});
    for (const product_case &p : cases)
        if (run_named(p) != 0)
            return 1;
    printf("%zu products: right against FP64, the bits of the promised order\n", sizeof cases / sizeof cases[0]);
    return 0;
}
#endif
