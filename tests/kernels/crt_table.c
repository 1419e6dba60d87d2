/* crt_table MODULI: the constants of FP64 by residues as text for kernels, as templates/samples/crt15.h has
 * them. Exit 1: no such scheme. */
#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/ht_crt.h"

/* Rows of `width` words of a table, of which `used` are needed. */
static void print_table(const char *name, const void *words, int rows, int used, int width) {
    const uint32_t *const from = words;
    printf(used > 1 ? "HT_TABLE unsigned %s[%d][%d] = {" : "HT_TABLE unsigned %s[%d] = {", name, rows, used);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < used; i++)
            printf("%s%s0x%08x%s", (row * used + i) % 8 == 0 ? "\n    " : " ", used > 1 && i == 0 ? "{" : "",
                   (unsigned)from[row * width + i],
                   i < used - 1 ? ","
                   : used > 1   ? "},"
                                : ",");
    printf("\n};\n");
}

static int print_constants(int moduli) {
    struct ht_crt c;
    if (ht_crt_make(&c, moduli) != 0)
        return 1;
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
    printf("constexpr int CRT_LIMIT_EXPONENT = %d;\n", c.limit_exponent);
    print_table("CRT_PRODUCT", c.product, c.value_words, 1, 1);
    print_table("CRT_MODULUS", c.modulus, moduli, 1, 1);
    print_table("CRT_BARRETT", c.barrett, moduli, 1, 1);
    print_table("CRT_START", c.start, moduli, 1, 1);
    print_table("CRT_INVERSE", c.inverse, moduli, 1, 1);
    print_table("CRT_ELEMENT", c.element, moduli, c.digit_words, 3);
    print_table("CRT_WEIGHT", c.weight, moduli, (moduli + 3) / 4, 5);
    return 0;
}

int main(int argc, char **argv) {
    return argc < 2 || print_constants(atoi(argv[1]));
}
