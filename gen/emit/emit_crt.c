/* emit_crt.c: the kernels of FP64 by residues beside their product: packing, combination, and the tables of
 * constants that all three have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "emit/emit.h"
#include "../../runtime/ht_crt.h"

enum { WORDS_A_LINE = 8 };

/* `rows` rows of `width` words, of which the first `used` are written. */
static void add_table(struct text *out, const char *name, const void *words, int rows, int used, int width) {
    const uint32_t *const from = words;
    text_addf(out, used > 1 ? "HT_TABLE unsigned %s[%d][%d] = {" : "HT_TABLE unsigned %s[%d] = {", name, rows,
              used);
    for (int i = 0; i < rows * used; i++)
        text_addf(out, "%s%s0x%08x%s", i % WORDS_A_LINE == 0 ? "\n    " : " ",
                  used > 1 && i % used == 0 ? "{" : "", (unsigned)from[i / used * width + i % used],
                  used > 1 && i % used == used - 1 ? "}," : ",");
    text_add(out, "\n};\n");
}

/* As templates/samples/crt15.h has them. */
void emit_crt_tables(struct text *out, const struct scheme *s) {
    struct ht_crt c;
    if (ht_crt_make(&c, s->moduli) != 0)
        err_bug("a scheme whose moduli ht_crt.h does not make");
    text_addf(out,
              "// What follows from the %d largest pairwise coprime moduli up to 256; 2^%d < their product < "
              "2^%d.\nconstexpr int CRT_MODULI = %d, CRT_DIGIT_WORDS = %d, CRT_VALUE_WORDS = %d, "
              "CRT_SUM_WORDS = %d;\nconstexpr int CRT_TOP_WORD = %d, CRT_TOP_SHIFT = %d, CRT_QUOTIENT = %d;\n"
              "constexpr int CRT_EXACT_K = %d, CRT_SEGMENT = %d, CRT_POISONED = %d;\n"
              "constexpr unsigned long long CRT_LIMIT = 0x%" PRIx64 "ull; // times 2^CRT_LIMIT_EXPONENT\n"
              "constexpr int CRT_LIMIT_EXPONENT = %d;\n",
              c.moduli, c.product_bits - 1, c.product_bits, c.moduli, c.digit_words, c.value_words,
              c.sum_words, c.top_word, c.top_shift, (int)c.quotient, HT_CRT_EXACT_K, HT_CRT_SEGMENT,
              HT_CRT_POISONED, c.limit_mantissa, c.limit_exponent);
    add_table(out, "CRT_PRODUCT", c.product, c.value_words, 1, 1);
    add_table(out, "CRT_MODULUS", c.modulus, c.moduli, 1, 1);
    add_table(out, "CRT_BARRETT", c.barrett, c.moduli, 1, 1);
    add_table(out, "CRT_START", c.start, c.moduli, 1, 1);
    add_table(out, "CRT_INVERSE", c.inverse, c.moduli, 1, 1);
    add_table(out, "CRT_ELEMENT", c.element, c.moduli, c.digit_words, 3);
    add_table(out, "CRT_WEIGHT", c.weight, c.moduli, (c.moduli + 3) / 4, 5);
}

/* Combination: of the tile of a plan, whose threads' order of sums it knows. */
void emit_combine_name(char *name, size_t size, const struct plan *p) {
    snprintf(name, size, "ht_%s_combine_%dx%d_w%dx%d_%s", p->on.s->name, p->tile.bm, p->tile.bn, p->tile.wm,
             p->tile.wn, p->on.isa->suffix);
}
