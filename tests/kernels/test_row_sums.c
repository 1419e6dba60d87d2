/* test_row_sums: what packing adds up of each row for the certificate (ht_pack_args, row_sums), in tiles, whole rows and strips, beside
 * bench/accuracy/certificate.c, which has the same in plain C. Links with the CUDA library or the simulator, like test_product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/accuracy/certificate.h"
#include "../../bench/accuracy/families.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "block.h"
#include "choose.h"
#include "handle.h"

enum { EPOCH = 12, CALLS = 2, OPERANDS = 2 };

static const struct ht_set_desc *set;
static const struct ht_scheme_desc *f16x3;

static struct block ints(int64_t count) {
    return block_make((size_t)count * sizeof(int));
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
 * subnormal rows; elements around the limit of what is small and around FP16's least. */
static float mixed(int64_t row, int64_t k) {
    const float sign = bits_at(2, row, k) & 1 ? 1.0f : -1.0f, x = (float)(1 + family_uniform(bits_at(1, row, k))) * sign;
    const int size = (int)(bits_at(0, row, k) % 64);
    switch (row % 11) {
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
    default:
        return ldexpf(x, -size / (row % 11 == 9 ? 1 : 8));
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
    struct block src, panels, absmax, exchange, sums, flag;
};

static struct operand operand_make(const struct packing *p) {
    const int64_t row_blocks = ht_ceil_div(p->rows, 64), ld = (p->k_contiguous ? p->k : p->rows) + p->pad;
    struct operand x = {*p,
                        block_make((size_t)(ld * (p->k_contiguous ? p->rows : p->k)) * sizeof(float)),
                        block_make((size_t)(row_blocks * ht_k_blocks(f16x3, p->k)) * HT_ATOM_BYTES),
                        ints(row_blocks * 64),
                        ints(ht_exchange_ints(f16x3, p->rows, p->k) + ht_sum_ints(p->rows)),
                        ints(ht_row_sums_ints(p->rows)),
                        ints(2)};
    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t k = 0; k < p->k; k++)
            ((float *)x.src.host)[p->k_contiguous ? row * ld + k : k * ld + row] = element(p, row, k);
    }
    block_up(&x.src);
    return x;
}

static void operand_free(struct operand *x) {
    struct block *const all[] = {&x->src, &x->panels, &x->absmax, &x->exchange, &x->sums, &x->flag};
    for (int i = 0; i < 6; i++)
        block_free(all[i]);
}

static struct ht_pack_args args_of(const struct operand *x, int is_reset, int sums) {
    struct ht_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = x->src.device;
    args.panels = x->panels.device;
    args.row_absmax = x->absmax.device;
    args.absmax_exchange = x->exchange.device;
    args.ld = (x->p.k_contiguous ? x->p.k : x->p.rows) + x->p.pad;
    args.rows = (int)x->p.rows;
    args.k = (int)x->p.k;
    args.k_blocks = (int)ht_k_blocks(f16x3, x->p.k);
    args.k_contiguous = x->p.k_contiguous;
    args.batch = 1;
    args.exchange_is_reset = is_reset;
    args.tiles = x->p.tiles;
    args.row_sums = sums ? x->sums.device : NULL;
    args.any_flag = x->flag.device;
    args.epoch = EPOCH;
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
    return raised;
}

/* ---- tests */

static void packing_adds_up_what_is_lost(void **state) {
    (void)state;
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct operand plain[OPERANDS] = {operand_make(&cases[i][0]), operand_make(&cases[i][1])};
        struct operand x[OPERANDS] = {operand_make(&cases[i][0]), operand_make(&cases[i][1])};
        pack(plain, 1, 0);
        for (int call = 0; call < CALLS; call++) { /* the first leaves the exchange to the second */
            for (int j = 0; j < OPERANDS; j++)
                memset(x[j].sums.host, 0x55, x[j].sums.bytes), block_up(&x[j].sums);
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
        for (int j = 0; j < OPERANDS; j++) {
            operand_free(&plain[j]);
            operand_free(&x[j]);
        }
    }
    assert_true(all_raised >= 8 * CALLS);
}

/* An exchange that may hold anything is written first. */
static void an_exchange_of_any_content(void **state) {
    (void)state;
    if (f16x3->pack_tiles == 0)
        skip();
    for (int tiles = HT_PACK_STRIPS; tiles <= 2; tiles += 4) {
        const struct packing p = {100, 700, 0, tiles > 0, tiles, MIXED};
        struct operand x[OPERANDS] = {operand_make(&p), operand_make(&p)};
        for (int j = 0; j < OPERANDS; j++)
            memset(x[j].exchange.host, 0x33, x[j].exchange.bytes), block_up(&x[j].exchange);
        pack(x, 0, 1);
        for (int j = 0; j < OPERANDS; j++) {
            assert_true(compare(&x[j]));
            operand_free(&x[j]);
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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_adds_up_what_is_lost),
        cmocka_unit_test(an_exchange_of_any_content),
    };
    const struct choice all = CHOICE(tests);
    const int code = choose_tests(argc, argv, &all, 1);
    return code != CHOOSE_RUN ? code : cmocka_run_group_tests(tests, open_handle, close_handle);
}
