/* crt_table MODULI [FEWEST]: the constants of FP64 by residues as text for kernels, as templates/samples/crt15.h has
 * them. Exit 1: no such scheme. */
#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/ht_crt.h"

static void print_table(const struct ht_crt_table *t) {
    const uint32_t *const from = t->words;
    const int used = t->used;
    printf(used > 1 ? "HT_TABLE unsigned CRT_%s[%d][%d] = {" : "HT_TABLE unsigned CRT_%s[%d] = {", t->name, t->rows, used);
    for (int row = 0; row < t->rows; row++)
        for (int i = 0; i < used; i++)
            printf("%s%s0x%08x%s", (row * used + i) % 8 == 0 ? "\n    " : " ", used > 1 && i == 0 ? "{" : "",
                   (unsigned)from[row * t->width + i],
                   i < used - 1 ? ","
                   : used > 1   ? "},"
                                : ",");
    printf("\n};\n");
}

static int print_constants(int moduli, int fewest) {
    struct ht_crt c;
    struct ht_crt_fewer fewer;
    struct ht_crt_table table[HT_CRT_TABLES];
    if (ht_crt_make(&c, moduli) != 0)
        return 1;
    ht_crt_make_fewer(&fewer, &c, fewest);
    ht_crt_list(table, &c, &fewer);
    printf("// What follows from the %d largest pairwise coprime moduli up to 256; 2^%d < their product < "
           "2^%d.\n",
           moduli, c.product_bits - 1, c.product_bits);
    printf("constexpr int CRT_MODULI = %d, CRT_DIGIT_WORDS = %d, CRT_VALUE_WORDS = %d, CRT_SUM_WORDS = %d;\n",
           moduli, c.digit_words, c.value_words, c.sum_words);
    printf("constexpr int CRT_TOP_WORD = %d, CRT_TOP_SHIFT = %d, CRT_QUOTIENT = %d;\n", c.top_word,
           c.top_shift, c.quotient);
    printf("constexpr int CRT_EXACT_K = %d, CRT_SEGMENT = %d, CRT_POISONED = %d;\n", HT_CRT_EXACT_K,
           HT_CRT_SEGMENT, HT_CRT_POISONED);
    printf("constexpr unsigned long long CRT_LIMIT = 0x%llxull; // times 2^CRT_LIMIT_EXPONENT\n",
           (unsigned long long)c.limit_mantissa);
    printf("constexpr int CRT_LIMIT_EXPONENT = %d, CRT_FEWEST = %d;\n", c.limit_exponent, fewer.fewest);
    for (int i = 0; i < HT_CRT_TABLES; i++)
        print_table(&table[i]);
    return 0;
}

int main(int argc, char **argv) {
    const int moduli = argc > 1 ? atoi(argv[1]) : 0;
    return print_constants(moduli, argc > 2 ? atoi(argv[2]) : moduli < HT_CRT_MOST ? moduli : HT_CRT_FEWEST);
}
