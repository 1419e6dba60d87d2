/* emit_crt.c: the tables of constants that all kernels of FP64 by residues have. */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "emit/emit.h"
#include "../../runtime/ht_crt.h"

enum { WORDS_A_LINE = 8 };

static void add_table(struct text *out, const struct ht_crt_table *t) {
    const uint32_t *const from = t->words;
    const bool wide = t->used > 1;
    text_addf(out, wide ? "HT_TABLE unsigned CRT_%s[%d][%d] = {" : "HT_TABLE unsigned CRT_%s[%d] = {",
              t->name, t->rows, t->used);
    for (int i = 0, j = 0; i < t->rows * t->used; j = ++i % t->used)
        text_addf(out, "%s%s0x%08x%s", i % WORDS_A_LINE ? " " : "\n    ", wide && j == 0 ? "{" : "",
                  (unsigned)from[i / t->used * t->width + j], wide && j == t->used - 1 ? "}," : ",");
    text_add(out, "\n};\n");
}

/* As templates/samples/crt15.h has them. */
void emit_crt_tables(struct text *out, const struct scheme *s) {
    struct ht_crt c;
    struct ht_crt_fewer fewer;
    struct ht_crt_table table[HT_CRT_TABLES];
    if (ht_crt_make(&c, s->moduli) != 0)
        err_bug("a scheme whose moduli ht_crt.h does not make");
    ht_crt_make_fewer(&fewer, &c, s->moduli < HT_CRT_MOST ? s->moduli : HT_CRT_FEWEST);
    ht_crt_list(table, &c, &fewer);
    text_addf(out,
              "// What follows from the %d largest pairwise coprime moduli up to 256; 2^%d < their product < "
              "2^%d.\nconstexpr int CRT_MODULI = %d, CRT_DIGIT_WORDS = %d, CRT_VALUE_WORDS = %d, "
              "CRT_SUM_WORDS = %d;\nconstexpr int CRT_TOP_WORD = %d, CRT_TOP_SHIFT = %d, CRT_QUOTIENT = %d;\n"
              "constexpr int CRT_EXACT_K = %d, CRT_SEGMENT = %d, CRT_POISONED = %d;\n"
              "constexpr unsigned long long CRT_LIMIT = 0x%" PRIx64 "ull; // times 2^CRT_LIMIT_EXPONENT\n"
              "constexpr int CRT_LIMIT_EXPONENT = %d, CRT_FEWEST = %d;\n",
              c.moduli, c.product_bits - 1, c.product_bits, c.moduli, c.digit_words, c.value_words,
              c.sum_words, c.top_word, c.top_shift, (int)c.quotient, HT_CRT_EXACT_K, HT_CRT_SEGMENT,
              HT_CRT_POISONED, c.limit_mantissa, c.limit_exponent, fewer.fewest);
    for (int i = 0; i < HT_CRT_TABLES; i++)
        add_table(out, &table[i]);
}
