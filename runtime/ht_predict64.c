/* ht_predict64.c: which kernel an FP64 product of a scheme runs, and in what time. */
#include "ht_call.h"
#include "ht_cost.h"

int ht_residues_kernel(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].residues != NULL)
            return i;
    return NO_KERNEL;
}

/* What packs for a scheme of residues or digits; NULL: another scheme. */
static const struct ht_crt_launch *packs_bytes_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    const int kernel = ht_residues_kernel(set, s);
    return kernel != NO_KERNEL ? set->kernel[kernel].residues : NULL;
}

int ht_moduli_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    const struct ht_crt_launch *const by = packs_bytes_of(set, s);
    return by != NULL && by->digits == NULL ? by->moduli : 1;
}

/* Products of a scheme that one launch makes: one for each modulus or pair of slices; 1 of the others. */
static int64_t products_of(const halftone *h, const struct ht_scheme_desc *s, int64_t k) {
    const struct ht_set_desc *const set = h->set64;
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].ozaki != NULL)
            return ht_ozaki_products(&ht_asked(h, true)->ozaki, k);
    return ht_moduli_of(set, s);
}

bool ht_is_forced64(const halftone *h, const struct ht_scheme_desc *s) {
    return h->forced_kernel64 != NO_KERNEL && strcmp(h->set64->kernel[h->forced_kernel64].scheme, s->name) == 0;
}

struct ht_choice ht_pick64(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *s) {
    const int64_t partial_bytes = h->without_workspace ? 0 : HT_PARTIAL_LIMIT_BYTES, batch = at_least_one(x->batch),
                  products = products_of(h, s, x->k), m = at_least_one(x->m), n = at_least_one(x->n);
    if (ht_is_forced64(h, s))
        return ht_pick_splits(h->set64, h->forced_kernel64, m, n, x->k, ht_mul(batch, products), partial_bytes);
    return ht_pick_products(h->set64, s->name, m, n, x->k, batch, products, partial_bytes);
}

/* Digits have no planes, and one launch less. */
int64_t ht_residues_ns(const struct ht_set_desc *set, const struct ht_crt_launch *by, int64_t m, int64_t n,
                       int64_t k, int64_t batch) {
    const int64_t operands = ht_mul(ht_mul(ht_add(m, n), k), 16 + by->moduli),
                  c = by->digits != NULL ? 0 : ht_mul(ht_mul(m, n), 8 + by->moduli);
    return ht_add(ht_mul(ht_add(operands, c), batch) / set->copy_gbps, (by->digits != NULL ? 2 : 3) * set->launch_ns);
}

bool ht_predict64(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *s, int64_t *ns) {
    const struct ht_choice choice = ht_pick64(h, x, s);
    const struct ht_crt_launch *const by = packs_bytes_of(h->set64, s);
    *ns = choice.predicted_ns;
    if (by != NULL)
        *ns = ht_add(*ns, ht_residues_ns(h->set64, by, at_least_one(x->m), at_least_one(x->n), x->k,
                                         at_least_one(x->batch)));
    return choice.kernel >= 0 && !ht_exceeds_exact_k(s, x->k) && (by == NULL || x->k <= HT_CRT_K_MOST);
}
