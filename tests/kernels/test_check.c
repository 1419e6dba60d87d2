/* test_check: the certificate from inside, by the descriptors, beside bench/halftone/accuracy/certificate.c, which has the same in plain C: what packing
 * adds up of each row, in tiles, whole rows and strips, and which results kernels and reduction leave. What users see of it: test_auto; what
 * computes the rest: test_direct. Links with the CUDA library or the simulator, like test_product. */
#include <math.h>

#include "../../bench/halftone/accuracy/certificate.h"
#include "../../bench/halftone/accuracy/families.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "../../runtime/sim/sim_f16.h"
#include "../test.h"
#include "exact_sum.h"
#include "handle.h"

enum { EPOCH = 12, CALLS = 2, OPERANDS = 2 };

static const struct ht_set_desc *set;
static const struct ht_scheme_desc *f16x3;

/* Memory of a test, or until drop_kept: a host copy and a device copy. */
struct block {
    void *host, *device;
    size_t bytes;
};

static void block_up(const struct block *b) {
    OK(ht_dev_upload(b->device, b->host, b->bytes));
}

static void block_down(const struct block *b) {
    OK(ht_dev_download(b->host, b->device, b->bytes));
}

/* All bytes of both copies. */
static void fill(const struct block *b, int byte) {
    memset(b->host, byte, b->bytes);
    block_up(b);
}

static struct block filled(size_t bytes) {
    const struct block b = {keep(malloc(bytes), free), kept_on_device(bytes), bytes};
    fill(&b, 0xff);
    return b;
}

static struct block ints(int64_t count) {
    return filled((size_t)count * sizeof(int));
}

/* ---- operands */

enum content { FRIENDLY, SPARSE, MIXED };

struct packing {
    int64_t rows, k, pad;
    int k_contiguous, tiles;
    enum content content;
};

static uint64_t bits_at(uint64_t stream, int64_t row, int64_t k) {
    return family_bits(19, stream, (uint64_t)row, (uint64_t)k);
}

/* Mixed, row by row: all sizes down to FP32's least; three nonzero elements; zeros; NaN or Inf in one place, with and without others;
 * subnormal rows; elements around the limit of what is small and around FP16's least; Inf among large ones; all just below that limit. */
static float mixed(int64_t row, int64_t k) {
    const float sign = bits_at(2, row, k) & 1 ? 1.0f : -1.0f, x = (float)(1 + family_uniform(bits_at(1, row, k))) * sign;
    const int size = (int)(bits_at(0, row, k) % 64);
    switch (row % 13) {
    case 1:
        return k % 97 == row % 97 && k < 291 ? ldexpf(x, -size) : 0.0f;
    case 2:
        return k % 2 ? -0.0f : 0.0f;
    case 3:
        return k == 7 ? NAN : 0.0f;
    case 4:
        return k == 40 ? -INFINITY : ldexpf(x, -size);
    case 5:
        return k == 0 ? 0x1p-130f : ldexpf(x, -130 - size % 20);
    case 6:
        return k == 0 ? 1.0f : (k % 3 == 0 ? 0x1p-16f : k % 3 == 1 ? 0x1.fffffep-17f : 0x1p-39f) * sign;
    case 7:
        return k == 0 ? 0x1p127f : k % 5 == 0 ? 0x1p-149f : ldexpf(x, 120 - size);
    case 8: /* nearly all just count, or just do not */
        return k == 0 ? 1.0f : (k % 2 ? 0x1p-28f : 0x1.ffcp-29f) * sign;
    case 11:
        return k == 40 ? INFINITY : x;
    case 12:
        return k == 0 ? 1.0f : 0x1.8p-17f * sign;
    default:
        return ldexpf(x, -size / (row % 13 == 9 ? 1 : 8));
    }
}

static float element(const struct packing *p, int64_t row, int64_t k) {
    if (p->content == MIXED)
        return mixed(row, k);
    if (p->content == SPARSE && (k + row) % p->k >= CERTIFICATE_FEW - (row == 40)) /* one product is missing */
        return 0.0f;
    return (float)(0.5 + family_uniform(bits_at(3, row, k)) / 2) * (bits_at(4, row, k) & 1 ? 1.0f : -1.0f);
}

struct operand {
    struct packing p;
    struct block src, panels, absmax, exchange, sums, flag; /* behind two flags the count of failed results */
};

static struct operand operand_make(const struct packing *p) {
    const int64_t row_blocks = ht_ceil_div(p->rows, 64), ld = (p->k_contiguous ? p->k : p->rows) + p->pad;
    struct operand x = {*p,
                        filled((size_t)(ld * (p->k_contiguous ? p->rows : p->k)) * sizeof(float)),
                        filled((size_t)(row_blocks * ht_k_blocks(f16x3, p->k)) * HT_ATOM_BYTES),
                        ints(row_blocks * 64),
                        ints(ht_exchange_ints(f16x3, p->rows, p->k) + ht_sum_ints(p->rows)),
                        ints(ht_row_sums_ints(p->rows)),
                        ints(3)};
    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t k = 0; k < p->k; k++)
            ((float *)x.src.host)[p->k_contiguous ? row * ld + k : k * ld + row] = element(p, row, k);
    }
    block_up(&x.src);
    return x;
}

static struct ht_pack_args args_of(const struct operand *x, int is_reset, int sums) {
    struct ht_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = x->src.device;
    args.ld = (x->p.k_contiguous ? x->p.k : x->p.rows) + x->p.pad;
    args.rows = (int)x->p.rows;
    args.k = (int)x->p.k;
    args.k_contiguous = x->p.k_contiguous;
    args.to = (struct ht_packed){.panels = x->panels.device, .row_absmax = x->absmax.device,
                                 .row_sums = sums ? x->sums.device : NULL, .any_flag = x->flag.device};
    args.absmax_exchange = x->exchange.device;
    args.k_blocks = (int)ht_k_blocks(f16x3, x->p.k);
    args.batch = 1;
    args.exchange_is_reset = is_reset;
    args.tiles = x->p.tiles;
    args.epoch = EPOCH;
    args.failed_count = (int *)x->flag.device + 2;
    return args;
}

/* Both in one launch. */
static void pack(struct operand *x, int is_reset, int sums) {
    const struct ht_pack_args args[OPERANDS] = {args_of(&x[0], is_reset, sums), args_of(&x[1], is_reset, sums)};
    assert_int_equal(ht_dev_check(f16x3->pack_init()), HT_DEV_OK);
    assert_int_equal(ht_dev_check(f16x3->pack(args, OPERANDS, NULL)), HT_DEV_OK);
    for (int i = 0; i < OPERANDS; i++) {
        struct block *const out[] = {&x[i].panels, &x[i].absmax, &x[i].exchange, &x[i].sums, &x[i].flag};
        for (int j = 0; j < 5; j++)
            block_down(out[j]);
    }
}

/* ---- what is expected */

static struct certificate_row row_of(const struct packing *p, int64_t row) {
    static float x[4096];
    assert_true(p->k <= 4096);
    for (int64_t k = 0; k < p->k; k++)
        x[k] = row < p->rows ? element(p, row, k) : 0.0f;
    return certificate_of_row(x, p->k, 1, f16x3->flush_exponent ? CERTIFICATE_FLUSHES : CERTIFICATE_KEEPS);
}

static int compare(const struct operand *x) {
    const struct packing *p = &x->p;
    const int64_t row_blocks = ht_ceil_div(p->rows, 64);
    const int *sums = x->sums.host, *four = sums + row_blocks * 64, *flag = x->flag.host;
    int raised = 0;
    for (int64_t block = 0; block < row_blocks; block++) {
        int64_t products = 0, got = 0;
        for (int64_t row = block * 64; row < block * 64 + 64; row++) {
            const struct certificate_row r = row_of(p, row);
            const int64_t want = r.is_finite ? r.lost : -1;
            if (sums[row] != want)
                fail_msg("%lldx%lld, tiles %d: row %lld has %d, not %lld", (long long)p->rows, (long long)p->k, p->tiles,
                         (long long)row, sums[row], (long long)want);
            products += r.normal - (r.most > 0 ? CERTIFICATE_FEW : 0);
            raised |= want != 0;
        }
        for (int i = 0; i < HT_COUNTS_PER_BLOCK; i++) {
            got += four[block * HT_COUNTS_PER_BLOCK + i];
            raised |= four[block * HT_COUNTS_PER_BLOCK + i] < 0;
        }
        if (got != products)
            fail_msg("%lldx%lld, tiles %d: 64 rows from %lld have %lld, not %lld", (long long)p->rows, (long long)p->k, p->tiles,
                     (long long)(block * 64), (long long)got, (long long)products);
    }
    assert_int_equal(flag[0], EPOCH);
    assert_int_equal(flag[1] == EPOCH, raised);
    assert_int_equal(flag[2], 0);
    return raised;
}

/* ---- tests */

TEST(packing_adds_up_what_is_lost) {
    if (f16x3->pack_tiles == 0)
        skip();
    static const struct packing cases[][OPERANDS] = {
        {{70, 200, 1, 1, 1, MIXED}, {130, 200, 0, 0, 1, MIXED}},
        {{128, 448, 0, 0, 2, MIXED}, {64, 448, 3, 1, 2, SPARSE}},
        {{1, 64, 0, 1, 1, MIXED}, {33, 64, 0, 0, 1, FRIENDLY}},
        {{200, 500, 4, 1, HT_PACK_ROWS, MIXED}, {70, 500, 2, 0, HT_PACK_ROWS, MIXED}},
        {{128, 1024, 0, 0, HT_PACK_ROWS, FRIENDLY}, {64, 1024, 0, 1, HT_PACK_ROWS, SPARSE}},
        {{70, 1100, 1, 1, HT_PACK_STRIPS, MIXED}, {128, 1100, 0, 0, HT_PACK_STRIPS, MIXED}},
        {{64, 1536, 0, 0, HT_PACK_STRIPS, SPARSE}, {70, 1536, 0, 1, HT_PACK_STRIPS, FRIENDLY}},
        {{40, 512, 0, 0, HT_PACK_STRIPS, MIXED}, {96, 512, 4, 1, HT_PACK_STRIPS, FRIENDLY}}};
    int all_raised = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++, drop_kept(0)) {
        struct operand plain[OPERANDS] = {operand_make(&cases[i][0]), operand_make(&cases[i][1])};
        struct operand x[OPERANDS] = {operand_make(&cases[i][0]), operand_make(&cases[i][1])};
        pack(plain, 1, 0);
        for (int call = 0; call < CALLS; call++) { /* the first leaves the exchange to the second */
            for (int j = 0; j < OPERANDS; j++)
                fill(&x[j].sums, 0x55);
            pack(x, (i + (size_t)call) % 2 == 0 || call > 0, 1);
            for (int j = 0; j < OPERANDS; j++) {
                const int raised = compare(&x[j]);
                assert_true(cases[i][j].content != FRIENDLY || !raised);
                assert_true(cases[i][j].content != SPARSE || raised);
                all_raised += raised;
                assert_memory_equal(x[j].panels.host, plain[j].panels.host, plain[j].panels.bytes);
                assert_memory_equal(x[j].absmax.host, plain[j].absmax.host, plain[j].absmax.bytes);
                for (size_t at = 0; at < x[j].exchange.bytes / sizeof(int); at++)
                    assert_int_equal(((const int *)x[j].exchange.host)[at], -1);
            }
        }
    }
    assert_true(all_raised >= 8 * CALLS);
}

/* The slices of an element of a 16-bit panel: 32 k of the one, then of the other, 16 bytes at a time, exchanged by row (skeletons/pack.cu). */
static uint16_t packed_slice(const struct operand *x, int64_t row, int64_t k, int slice) {
    const int64_t atom = row / 64 * ht_k_blocks(f16x3, x->p.k) + k / 32, chunk = (slice * 4 + k % 32 / 8) ^ (row & 7);
    uint16_t bits;
    memcpy(&bits, (const char *)x->panels.host + atom * HT_ATOM_BYTES + row % 64 * 128 + chunk * 16 + k % 8 * 2, sizeof bits);
    return bits;
}

TEST(packing_writes_the_references_slices) {
    if (f16x3->pack_tiles == 0 || f16x3->flush_exponent != 0)
        skip();
    static const struct packing cases[OPERANDS] = {{70, 200, 1, 1, 1, MIXED}, {64, 200, 0, 0, 1, FRIENDLY}};
    struct operand x[OPERANDS] = {operand_make(&cases[0]), operand_make(&cases[1])};
    pack(x, 1, 0);
    for (int i = 0; i < OPERANDS; i++) {
        int ties = 0, exact = 0;
        for (int64_t row = 0; row < cases[i].rows; row++) {
            const int exponent = row_of(&cases[i], row).exponent;
            for (int64_t k = 0; k < cases[i].k; k++) {
                const float y = element(&cases[i], row, k) * ldexpf(1.0f, -exponent);
                float slice[2];
                certificate_split(y, slice);
                for (int s = 0; s < 2 && isfinite(y); s++)
                    if (sim_f16_value(packed_slice(&x[i], row, k, s)) != slice[s])
                        fail_msg("(%lld, %lld): slice %d of %a is %a, not %a", (long long)row, (long long)k, s, (double)y,
                                 (double)sim_f16_value(packed_slice(&x[i], row, k, s)), (double)slice[s]);
                ties += fabsf(y) >= 0x1p-2f && isfinite(y) && y - slice[0] != slice[1];
                exact += fabsf(y) >= 0x1p11f && isfinite(y) && y == slice[0];
            }
        }
        assert_true(i == 0 ? exact > 0 : ties > 1000);
    }
}

/* An exchange that may hold anything is written first. */
TEST(an_exchange_of_any_content) {
    if (f16x3->pack_tiles == 0)
        skip();
    for (int tiles = HT_PACK_STRIPS; tiles <= 2; tiles += 4) {
        const struct packing p = {100, 700, 0, tiles > 0, tiles, MIXED};
        struct operand x[OPERANDS] = {operand_make(&p), operand_make(&p)};
        for (int j = 0; j < OPERANDS; j++)
            fill(&x[j].exchange, 0x33);
        pack(x, 0, 1);
        for (int j = 0; j < OPERANDS; j++)
            assert_true(compare(&x[j]));
    }
}

/* ---- which results are stored */

enum { M = 200, N = 100, K = 160, BATCH = 2, CLEAR = 0, SET = 1, CAPACITY = BATCH * M * N, LITTLE_CAPACITY = 100 };

/* list: the count, and the list behind it. */
struct product {
    struct operand a, b;
    struct block a_sums, b_sums, flags, partial, whole, tested, failed, list;
    struct ht_gemm_args args;
};

/* As packing could leave them, whatever the data: nothing lost, much lost, NaN or Inf, and 64 rows with too few elements. */
static void fill_sums(struct block *sums, int64_t rows, int entries, uint64_t stream) {
    const int64_t ints_of = ht_row_sums_ints(rows), padded = ht_ceil_div(rows, 64) * 64;
    for (int64_t i = 0; i < entries * ints_of; i++) {
        const uint64_t bits = family_bits(5, stream, (uint64_t)i, 0);
        int *x = (int *)sums->host + i;
        if (i % ints_of < padded)
            *x = bits % 3 == 0 ? 0 : bits % 41 == 1 ? -1 : (int)((bits >> 8 & 0xffffff) << bits % 5);
        else
            *x = stream == 1 && i % ints_of == padded + 5 ? -400 : 100; /* A's second 64 rows */
    }
    block_up(sums);
}

static void flags_up(const struct product *p, int a, int b) {
    int *const flags = p->flags.host;
    flags[0] = flags[2] = EPOCH;
    flags[1] = a ? EPOCH : EPOCH - 1;
    flags[3] = b ? EPOCH : EPOCH - 1;
    block_up(&p->flags);
}

static struct product product_open(enum content a) {
    const struct packing pa = {M, K, 0, 0, 0, a}, pb = {N, K, 0, 1, 0, FRIENDLY};
    struct operand both[OPERANDS] = {operand_make(&pa), operand_make(&pb)};
    struct product p;
    memset(&p, 0, sizeof p);
    pack(both, 1, 0);
    p.a = both[0];
    p.b = both[1];
    p.a_sums = ints(BATCH * ht_row_sums_ints(M));
    p.b_sums = ints(ht_row_sums_ints(N)); /* shared by the batch */
    p.flags = ints(4);
    p.partial = ints((int64_t)BATCH * 2 * M * N);
    p.whole = ints((int64_t)BATCH * M * N);
    p.tested = ints((int64_t)BATCH * M * N);
    p.failed = filled((size_t)(BATCH * ht_ceil_div(M, 64) * ht_ceil_div(N, 64)) * HT_FAILED_BYTES);
    p.list = ints(1 + CAPACITY);
    fill_sums(&p.a_sums, M, BATCH, 1);
    fill_sums(&p.b_sums, N, 1, 2);
    p.args.a_packed = (struct ht_packed){.panels = p.a.panels.device, .row_absmax = p.a.absmax.device, .row_sums = p.a_sums.device,
                                         .any_flag = p.flags.device, .sums_stride = ht_row_sums_ints(M)};
    p.args.b_packed = (struct ht_packed){.panels = p.b.panels.device, .row_absmax = p.b.absmax.device, .row_sums = p.b_sums.device,
                                         .any_flag = (int *)p.flags.device + 2};
    p.args.a = (struct ht_view){.src = p.a.src.device, .ld = M, .rows = M, .k = K};
    p.args.b = (struct ht_view){.src = p.b.src.device, .ld = K, .rows = N, .k = K, .k_contiguous = 1};
    p.args.partial = p.partial.device;
    p.args.to.ldc = p.args.m = M;
    p.args.to.stride = M * N;
    p.args.n = N;
    p.args.k_blocks = (int)ht_k_blocks(f16x3, K);
    p.args.batch = BATCH;
    p.args.to.alpha.f32 = 1;
    return p;
}

/* The list with space for so many entries, of which none is there yet. */
static void open_list(const struct product *p, int capacity, struct ht_gemm_args *args) {
    memset(p->list.host, 0x77, p->list.bytes);
    *(int *)p->list.host = 0;
    block_up(&p->list);
    args->failed_count = p->list.device;
    args->failed_list = (unsigned *)p->list.device + 1;
    args->failed_capacity = capacity;
}

/* Each bit that is set has one entry, and none is behind these; where they are more than there is space for only the count says so. */
static void compare_list(const struct product *p, const char *name, int64_t left, int capacity) {
    const uint32_t *words = p->failed.host, *entry = (const uint32_t *)p->list.host + 1;
    const int count = *(const int *)p->list.host, listed = count < capacity ? count : capacity;
    static unsigned char seen[BATCH * 256 * 128];
    memset(seen, 0, sizeof seen);
    if (left <= capacity ? count != left : count <= capacity)
        fail_msg("%s: %lld results have failed, %d of at most %d are listed", name, (long long)left, count, capacity);
    for (int i = 0; i < listed; i++) {
        if (entry[i] >= sizeof seen || !(words[entry[i] / 32] >> entry[i] % 32 & 1) || seen[entry[i]]++)
            fail_msg("%s: entry %d is %u, which has not failed or is there twice", name, i, entry[i]);
    }
    for (int i = listed; i < CAPACITY; i++)
        assert_int_equal(entry[i], 0x77777777);
}

/* C begins as NaNs of all ones. */
static void run(const struct product *p, const struct ht_kernel_desc *kernel, int splits, int tests, int capacity, const struct block *c) {
    struct ht_gemm_args args = p->args;
    fill(c, 0xff);
    args.to.c = c->device;
    args.splits = splits;
    args.failed = tests ? p->failed.device : NULL;
    open_list(p, capacity, &args);
    fill(&p->failed, 0xff);
    assert_int_equal(ht_dev_check(kernel->init()) + ht_dev_check(ht_launch_gemm(kernel, &args, NULL)), HT_DEV_OK);
    if (splits > 1)
        assert_int_equal(ht_dev_check(set->reduce(&args, NULL)), HT_DEV_OK);
    block_down(c);
    block_down(&p->failed);
    block_down(&p->list);
}

static double threshold_of(const struct block *sums, const struct block *absmax, int64_t entry, int64_t row, int64_t rows) {
    const int *x = (const int *)sums->host + entry * ht_row_sums_ints(rows);
    const int *four = x + ht_ceil_div(rows, 64) * 64 + row / 64 * 4;
    const int is_sparse = four[0] + four[1] + four[2] + four[3] < 0;
    return (double)certificate_threshold(x[row], ((const int *)absmax->host)[row] == 0, x[row] >= 0 && !is_sparse, CERTIFICATE_TAU);
}

static int exponent_of(const struct block *absmax, int64_t row) {
    float most;
    memcpy(&most, (const int *)absmax->host + row, sizeof most);
    return certificate_exponent(most);
}

static int is_cleared(const struct product *p, int64_t entry, int64_t row, int64_t col) {
    const float c = ((const float *)p->whole.host)[(entry * N + col) * M + row];
    const double acc = ldexp((double)c, -exponent_of(&p->a.absmax, row) - exponent_of(&p->b.absmax, col));
    return certificate_passes((float)acc, (float)threshold_of(&p->a_sums, &p->a.absmax, entry, row, M),
                              (float)threshold_of(&p->b_sums, &p->b.absmax, 0, col, N));
}

/* What is not cleared may be stored, since C is not read: beta is 0. */
static void compare_tested(const struct product *p, const char *name, int splits, int capacity) {
    int64_t stored = 0, left = 0;
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int64_t entry = i / (M * N), row = i % M, col = i / M % N, high = ht_ceil_div(M, 64), wide = ht_ceil_div(N, 64);
        const int64_t block = (entry * wide + col / 64) * high + row / 64;
        const uint32_t word = ((const uint32_t *)p->failed.host)[block * (HT_FAILED_BYTES / 4) + col % 64 * 2 + row % 64 / 32];
        const int cleared = is_cleared(p, entry, row, col), has_failed = word >> row % 32 & 1;
        const uint32_t whole = ((const uint32_t *)p->whole.host)[i], got = ((const uint32_t *)p->tested.host)[i];
        if ((got != whole && (cleared || got != UINT32_MAX)) || has_failed == cleared)
            fail_msg("%s in %d parts: entry %lld, (%lld, %lld) is %scleared, holds %08x, untested %08x, its bit is %d", name, splits,
                     (long long)entry, (long long)row, (long long)col, cleared ? "" : "not ", got, whole, has_failed);
        stored += cleared;
        left += !cleared;
    }
    assert_true(stored > BATCH * M * N / 5 && left > BATCH * M * N / 100);
    compare_list(p, name, left, capacity);
}

/* Where no row has lost anything all is stored, but for a flag, and all bits are written; but of A's second 64 rows, if these have too few
 * elements. */
static void only_rows_of_few_are_left(const struct ht_kernel_desc *kernel, int splits, int few) {
    const size_t before = kept_count;
    struct product p = product_open(FRIENDLY);
    int64_t left = 0;
    fill(&p.a_sums, 0);
    fill(&p.b_sums, 0);
    for (int64_t entry = 0; few && entry < BATCH; entry++)
        ((int *)p.a_sums.host)[entry * ht_row_sums_ints(M) + ht_ceil_div(M, 64) * 64 + 5] = -1;
    block_up(&p.a_sums);
    flags_up(&p, 1, 1);
    run(&p, kernel, splits, CLEAR, CAPACITY, &p.whole);
    run(&p, kernel, splits, SET, CAPACITY, &p.tested);
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int64_t entry = i / (M * N), row = i % M, col = i / M % N;
        const int64_t block = (entry * ht_ceil_div(N, 64) + col / 64) * ht_ceil_div(M, 64) + row / 64;
        const uint32_t word = ((const uint32_t *)p.failed.host)[block * (HT_FAILED_BYTES / 4) + col % 64 * 2 + row % 64 / 32];
        const int fails = few && row / 64 == 1;
        if ((word >> row % 32 & 1) != (uint32_t)fails)
            fail_msg("%s in %d parts: (%lld, %lld) has %s bit", kernel->name, splits, (long long)row, (long long)col, fails ? "no" : "a");
        if (!fails)
            assert_int_equal(((const uint32_t *)p.tested.host)[i], ((const uint32_t *)p.whole.host)[i]);
        left += fails;
    }
    compare_list(&p, kernel->name, left, CAPACITY);
    drop_kept(before);
}

/* Which operand has lost something. */
enum side { BOTH, A_ALONE, B_ALONE };

/* a: MIXED has rows whose scales are near the ends of FP32's range. The flag that is set is that of an operand that has lost something. */
static void all_kernels_leave(enum content a, enum side side) {
    struct product p = product_open(a);
    const struct block *spared = side == A_ALONE ? &p.b_sums : side == B_ALONE ? &p.a_sums : NULL;
    if (spared != NULL)
        fill(spared, 0);
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *kernel = &set->kernel[i];
        if (strcmp(kernel->scheme, "f16x3") != 0)
            continue;
        for (int splits = 1; splits <= 2; splits++) {
            if (only_part() && splits != 1 + i % 2) /* of a kernel one of both */
                continue;
            flags_up(&p, side != B_ALONE, side == B_ALONE);
            run(&p, kernel, splits, CLEAR, CAPACITY, &p.whole);
            run(&p, kernel, splits, SET, CAPACITY, &p.tested);
            compare_tested(&p, kernel->name, splits, CAPACITY);
            run(&p, kernel, splits, SET, LITTLE_CAPACITY, &p.tested);
            compare_tested(&p, kernel->name, splits, LITTLE_CAPACITY);
            flags_up(&p, 0, 0); /* nobody looks at sums where no flag is set */
            run(&p, kernel, splits, SET, CAPACITY, &p.tested);
            assert_memory_equal(p.tested.host, p.whole.host, p.whole.bytes);
            for (int few = 0; side == B_ALONE && few < 2; few++)
                only_rows_of_few_are_left(kernel, splits, few);
        }
    }
}

TEST(kernels_leave_what_is_not_cleared) {
    if (f16x3->pack_tiles == 0)
        skip();
    all_kernels_leave(MIXED, BOTH);
    all_kernels_leave(FRIENDLY, A_ALONE);
    all_kernels_leave(FRIENDLY, B_ALONE);
}

/* Many partials, of which four lanes each have a share; rows that are no multiple of 32. */
TEST(the_reduction_of_many_partials_leaves_them_too) {
    enum { SPLITS = 20 };
    if (f16x3->pack_tiles == 0)
        skip();
    struct product p = product_open(MIXED);
    struct block many = ints((int64_t)BATCH * SPLITS * M * N);
    for (int64_t i = 0; i < (int64_t)BATCH * SPLITS * M * N; i++)
        ((float *)many.host)[i] = ldexpf((float)family_uniform(bits_at(9, i, 0)), exponent_of(&p.a.absmax, i % M) + exponent_of(&p.b.absmax, i / M % N) + 26);
    block_up(&many);
    struct ht_gemm_args args = p.args;
    args.partial = many.device;
    args.splits = SPLITS;
    flags_up(&p, 1, 0);
    for (int tests = CLEAR; tests <= SET; tests++) {
        const struct block *c = tests ? &p.tested : &p.whole;
        fill(c, 0xff);
        args.to.c = c->device;
        args.failed = tests ? p.failed.device : NULL;
        open_list(&p, CAPACITY, &args);
        assert_int_equal(ht_dev_check(set->reduce(&args, NULL)), HT_DEV_OK);
        block_down(c);
    }
    block_down(&p.failed);
    block_down(&p.list);
    compare_tested(&p, "the reduction", SPLITS, CAPACITY);
}

/* ---- kernels that compute what they do not clear themselves */

enum { LOST_BY_EACH = 12000000 }; /* lost by each row, so that of 1000 results a few fail */

static float in_place(const struct product *p, float beta, int64_t i) {
    const int64_t row = i % M, col = i / M % N;
    struct fp64_sum sum = {0, 0, 0};
    for (int64_t k = 0; k < K; k++)
        fp64_add(&sum, ((const float *)p->a.src.host)[k * M + row], ((const float *)p->b.src.host)[col * K + k]);
    sum.magnitude *= 128; /* both errors of each term are kept in FP32 */
    const float got = ((const float *)p->tested.host)[i];
    return fp64_is(&sum, 1, beta, 1, got) ? got : fp64_result(sum.value, 1, beta, 1);
}

/* compare_tested for these: p->whole has the sums, C was 1. */
static void compare_computed(const struct product *p, const char *name, float beta) {
    int64_t left = 0;
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int cleared = is_cleared(p, i / (M * N), i % M, i / M % N);
        const float whole = ((const float *)p->whole.host)[i], got = ((const float *)p->tested.host)[i];
        const float want = !cleared ? in_place(p, beta, i) : beta != 0.0f ? fmaf(beta, 1, whole) : whole;
        if (memcmp(&got, &want, sizeof got) != 0)
            fail_msg("%s: (%lld, %lld) is %scleared and holds %a, not %a", name, (long long)(i % M), (long long)(i / M % N), cleared ? "" : "not ",
                     (double)got, (double)want);
        left += !cleared;
    }
    assert_true(left > 20);
}

static void compute_inside(struct product *p, const struct ht_kernel_desc *kernel, float beta) {
    struct ht_gemm_args args = p->args;
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++)
        ((float *)p->tested.host)[i] = 1;
    block_up(&p->tested);
    args.to.c = p->tested.device;
    args.splits = 1;
    args.to.beta.f32 = beta;
    args.failed = p->failed.device;
    args.fallback_in_kernel = 1;
    assert_int_equal(ht_dev_check(ht_launch_gemm(kernel, &args, NULL)), HT_DEV_OK);
    block_down(&p->tested);
}

TEST(kernels_compute_what_they_leave) {
    for (int few = 0; few < 2; few++) {
        struct product p = product_open(FRIENDLY);
        for (int64_t i = 0; few && i < BATCH * ht_row_sums_ints(M); i++)
            ((int *)p.a_sums.host)[i] = LOST_BY_EACH;
        block_up(&p.a_sums);
        fill(&p.b_sums, 0);
        flags_up(&p, 1, 0);
        for (int i = 0; i < set->kernels; i++) {
            if (!set->kernel[i].fallback_in_kernel || set->kernel[i].tile.unpacked)
                continue;
            run(&p, &set->kernel[i], 1, CLEAR, CAPACITY, &p.whole);
            for (int has_beta = 0; has_beta < 2; has_beta++) {
                compute_inside(&p, &set->kernel[i], has_beta ? -0.5f : 0);
                compare_computed(&p, set->kernel[i].name, has_beta ? -0.5f : 0);
            }
        }
    }
}

static int open_handle(void **state) {
    (void)state;
    if (create_handle() != 0)
        return -1;
    set = set_of_handle();
    for (int i = 0; set != NULL && i < set->schemes; i++)
        f16x3 = strcmp(set->scheme[i].name, "f16x3") == 0 ? &set->scheme[i] : f16x3;
    return set == NULL || f16x3 == NULL;
}

FOR_ALL(open_handle, close_handle)
