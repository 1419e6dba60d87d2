// epilogue/exact_dot: alpha a b + beta c of a row a and a column b, exactly, rounded once: a warp adds products
// as integers of all their bits. A pass over k adds what falls into a window of EXACT_WORDS words, each lane
// its k; a sum of a row and a column that residues left undecided needs one window, wider data as many as hold
// products. Lane 0 adds the windows, lowest bits last, in an array that reaches from the smallest product of
// alpha and subnormal numbers to the largest: word EXACT_GUARD begins with 2^EXACT_LOW times alpha's unit.
// Why no window overflows: the notes on accuracy, section 14.
constexpr int EXACT_WORDS = 8, EXACT_BELOW = 96; // bits of the first window below 2^-(s + t)
constexpr int EXACT_SPAN = 96;                    // of exponents whose products a further window takes
constexpr int EXACT_LOW = -2176, EXACT_GUARD = 32, EXACT_ARRAY = 208;
constexpr int EXACT_NONE = -(1 << 20), EXACT_AHEAD = 4;
constexpr unsigned EXACT_IS_NAN = 1, EXACT_IS_PLUS = 2, EXACT_IS_MINUS = 4; // a sum that is NaN, has +Inf, -Inf

// A row of A, a column of B: k elements, from one to the next `step`.
struct exact_vectors {
    const long long *a, *b;
    long long a_step, b_step;
    int k;
};

struct exact_sum {
    unsigned word[EXACT_WORDS]; // of two's complement
    int most;                   // exponent of the largest unit of a product below the window
    unsigned special;
};

// A product of which a factor is NaN or infinite.
HT_DEVICE unsigned exact_special(unsigned long long x, unsigned long long y)
{
    if (ht_crt_is_nan(x) || ht_crt_is_nan(y) || ht_crt_is_zero(x) || ht_crt_is_zero(y))
        return EXACT_IS_NAN;
    return ht_crt_sign(x) != ht_crt_sign(y) ? EXACT_IS_MINUS : EXACT_IS_PLUS;
}

// Words up by BY of them where the shift has that many.
template <int BY> HT_DEVICE void exact_move(unsigned *word, int shift)
{
    const bool moves = (shift & 32 * BY) != 0;
#pragma unroll
    for (int w = EXACT_WORDS - 1; w >= 0; w--) {
        const unsigned lower = w >= BY ? word[w >= BY ? w - BY : 0] : 0;
        word[w] = moves ? lower : word[w];
    }
}

// word += the product of x and y times 2^shift, less than 2^256 of them.
HT_DEVICE void exact_add(unsigned *word, unsigned long long x, unsigned long long y, int shift, bool negative)
{
    const unsigned long long x0 = (unsigned)x, x1 = x >> 32, y0 = (unsigned)y, y1 = y >> 32, low = x0 * y0,
                             middle = x0 * y1 + x1 * y0 + (low >> 32), high = x1 * y1 + (middle >> 32);
    const unsigned product[4] = {(unsigned)low, (unsigned)middle, (unsigned)high, (unsigned)(high >> 32)};
    const int bits = shift & 31;
    unsigned moved[EXACT_WORDS];
    moved[0] = product[0] << bits;
#pragma unroll
    for (int w = 1; w < 4; w++) {
        moved[w] = (unsigned)(((unsigned long long)product[w] << 32 | product[w - 1]) << bits >> 32);
    }
    moved[4] = (unsigned)((unsigned long long)product[3] << bits >> 32);
#pragma unroll
    for (int w = 5; w < EXACT_WORDS; w++) {
        moved[w] = 0;
    }
    exact_move<1>(moved, shift);
    exact_move<2>(moved, shift);
    exact_move<4>(moved, shift);
    const unsigned flip = negative ? 0xffffffffu : 0u;
    unsigned long long carry = flip & 1;
#pragma unroll
    for (int w = 0; w < EXACT_WORDS; w++) {
        carry += (unsigned long long)word[w] + (moved[w] ^ flip);
        word[w] = (unsigned)carry;
        carry >>= 32;
    }
}

// x y, where its unit is from 2^base on and below 2^end.
HT_DEVICE void exact_take(exact_sum *sum, unsigned long long x, unsigned long long y, int base, int end)
{
    if (!ht_crt_is_finite(x) || !ht_crt_is_finite(y)) {
        sum->special |= exact_special(x, y);
        return;
    }
    int left, right;
    const unsigned long long a = ht_crt_mantissa_of(x, &left), b = ht_crt_mantissa_of(y, &right);
    const int unit = left + right;
    if (a == 0 || b == 0 || unit >= end)
        return;
    if (unit < base)
        sum->most = unit > sum->most ? unit : sum->most;
    else
        exact_add(sum->word, a, b, unit - base, ht_crt_sign(x) != ht_crt_sign(y));
}

// Sums of all lanes, in each of them.
HT_DEVICE void exact_reduce(exact_sum *sum)
{
#pragma unroll 1
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2) {
        unsigned long long carry = 0;
#pragma unroll
        for (int w = 0; w < EXACT_WORDS; w++) {
            carry += (unsigned long long)sum->word[w] + (unsigned)ht_shfl_xor((int)sum->word[w], lanes);
            sum->word[w] = (unsigned)carry;
            carry >>= 32;
        }
        const int other = ht_shfl_xor(sum->most, lanes);
        sum->most = other > sum->most ? other : sum->most;
        sum->special |= (unsigned)ht_shfl_xor((int)sum->special, lanes);
    }
}

// One pass over k.
HT_DEVICE void exact_pass(const exact_vectors &v, int base, int end, exact_sum *sum)
{
    const int lane = (int)threadIdx.x % WAVE;
#pragma unroll
    for (int w = 0; w < EXACT_WORDS; w++) {
        sum->word[w] = 0;
    }
    sum->most = EXACT_NONE;
    sum->special = 0;
#pragma unroll 1
    for (int k = lane; k < v.k; k += WAVE * EXACT_AHEAD) {
        unsigned long long x[EXACT_AHEAD], y[EXACT_AHEAD];
#pragma unroll
        for (int i = 0; i < EXACT_AHEAD; i++) {
            const bool there = k + i * WAVE < v.k;
            x[i] = there ? (unsigned long long)ht_ldg_i64(v.a + (k + i * WAVE) * v.a_step) : 0;
            y[i] = there ? (unsigned long long)ht_ldg_i64(v.b + (k + i * WAVE) * v.b_step) : 0;
        }
#pragma unroll 1
        for (int i = 0; i < EXACT_AHEAD; i++) {
            exact_take(sum, x[0], y[0], base, end);
#pragma unroll
            for (int j = 0; j < EXACT_AHEAD - 1; j++) { // no addresses that depend on i
                x[j] = x[j + 1];
                y[j] = y[j + 1];
            }
        }
    }
    exact_reduce(sum);
}

// Words [low, high) of the array at `at` in shared memory, of lane 0 alone.
struct exact_array {
    unsigned at;
    int low, high;
};

HT_DEVICE unsigned exact_word(const exact_array &x, int w)
{
    return ht_as_uint(ht_lds4(x.at + (unsigned)w * 4));
}

HT_DEVICE void exact_set(const exact_array &x, int w, unsigned value)
{
    ht_sts4(x.at + (unsigned)w * 4, ht_as_float(value));
}

// Words down from the lowest and up to the highest that there were, of zeros.
HT_DEVICE void exact_widen(exact_array *x, int low, int high)
{
#pragma unroll 1
    for (; x->low > low; x->low--)
        exact_set(*x, x->low - 1, 0);
#pragma unroll 1
    for (; x->high < high; x->high++)
        exact_set(*x, x->high, 0);
}

// x += words times 2^(32 from), and all words above are `sign`.
template <int WORDS>
HT_DEVICE void exact_add_words(const exact_array &x, const unsigned *word, int from, unsigned sign)
{
    unsigned long long carry = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        carry += (unsigned long long)exact_word(x, from + w) + word[w];
        exact_set(x, from + w, (unsigned)carry);
        carry >>= 32;
    }
#pragma unroll 1
    for (int w = from + WORDS; w < x.high; w++) {
        carry += (unsigned long long)exact_word(x, w) + sign;
        exact_set(x, w, (unsigned)carry);
        carry >>= 32;
    }
}

// The magnitude of two's complement; its sign.
HT_DEVICE unsigned exact_magnitude(const exact_array &x)
{
    if (x.high == x.low || exact_word(x, x.high - 1) >> 31 == 0)
        return 0;
    unsigned long long carry = 1;
#pragma unroll 1
    for (int w = x.low; w < x.high; w++) {
        carry += ~exact_word(x, w);
        exact_set(x, w, (unsigned)carry);
        carry >>= 32;
    }
    return 0x80000000u;
}

// x times a factor below 2^53.
HT_DEVICE void exact_multiply(exact_array *x, unsigned long long factor)
{
    const unsigned long long f0 = (unsigned)factor, f1 = factor >> 32;
    unsigned long long carry = 0, before = 0;
    exact_widen(x, x->low, x->high + 2);
#pragma unroll 1
    for (int w = x->low; w < x->high; w++) {
        const unsigned long long word = exact_word(*x, w), one = word * f0, other = before * f1,
                                 sum = (carry & 0xffffffffu) + (one & 0xffffffffu) + (other & 0xffffffffu);
        exact_set(*x, w, (unsigned)sum);
        carry = (carry >> 32) + (one >> 32) + (other >> 32) + (sum >> 32);
        before = word;
    }
}

// The magnitude x, whose word EXACT_GUARD begins with 2^unit, to nearest.
HT_DEVICE unsigned long long exact_round(const exact_array &x, int unit, unsigned sign)
{
    int top = x.high - 1;
#pragma unroll 1
    while (top >= x.low && exact_word(x, top) == 0)
        top--;
    if (top < x.low)
        return 0;
    unsigned word[3];
    word[2] = exact_word(x, top);
    word[1] = top - 1 >= x.low ? exact_word(x, top - 1) : 0;
    word[0] = top - 2 >= x.low ? exact_word(x, top - 2) : 0;
    unsigned below = 0;
#pragma unroll 1
    for (int w = x.low; w < top - 2; w++)
        below |= exact_word(x, w);
    const int shift = ht_crt_normalize<3>(word);
    word[0] |= below != 0 ? 1u : 0u;
    return ht_crt_round<3>(word, unit + (top - EXACT_GUARD) * 32 + 31 - shift, sign);
}

// The product of two mantissas from bit `position` on, as words; in which word they begin.
HT_DEVICE int exact_place(unsigned long long x, unsigned long long y, int position, unsigned *word)
{
    unsigned zeros[EXACT_WORDS];
#pragma unroll
    for (int w = 0; w < EXACT_WORDS; w++) {
        zeros[w] = 0;
    }
    exact_add(zeros, x, y, position & 31, false);
#pragma unroll
    for (int w = 0; w < 6; w++) {
        word[w] = zeros[w];
    }
    return position >> 5;
}

struct exact_scalars {
    unsigned long long alpha, beta, c;
};

// alpha x + beta c of x in two's complement; special: of x.
HT_DEVICE unsigned long long exact_axpby(exact_array *x, unsigned special, const exact_scalars &by)
{
    const bool has_c = !ht_crt_is_zero(by.beta);
    unsigned sign = exact_magnitude(*x);
    if (special != 0 || !ht_crt_is_finite(by.alpha) ||
        (has_c && !(ht_crt_is_finite(by.beta) && ht_crt_is_finite(by.c)))) {
        const bool has_nan = (special & EXACT_IS_NAN) != 0 ||
                             special == (EXACT_IS_PLUS | EXACT_IS_MINUS),
                   is_infinite = special != 0 && !ht_crt_is_nan(by.alpha);
        unsigned any = 0;
#pragma unroll 1
        for (int w = x->low; w < x->high; w++)
            any |= exact_word(*x, w);
        sign = special == 0 ? sign : (special & EXACT_IS_MINUS) != 0 ? 0x80000000u : 0;
        const unsigned long long infinity =
            CRT_INFINITY | (unsigned long long)ht_crt_sign(by.alpha) << 32;
        return ht_crt_nonfinite(has_nan, special == 0 && any == 0, sign, is_infinite ? infinity : by.alpha,
                                by.beta, by.c);
    }
    int unit, beta_unit, c_unit;
    unsigned long long factor = ht_crt_mantissa_of(by.alpha, &unit);
    if ((factor & 0xfffffffffffffull) == 0) {
        factor = 1;
        unit += 52;
    }
    unit += EXACT_LOW;
    sign ^= ht_crt_sign(by.alpha);
    if (factor != 1)
        exact_multiply(x, factor);
    if (has_c && !ht_crt_is_zero(by.c)) {
        const unsigned long long beta = ht_crt_mantissa_of(by.beta, &beta_unit),
                                 c = ht_crt_mantissa_of(by.c, &c_unit);
        unsigned word[6];
        const int from =
            exact_place(beta, c, beta_unit + c_unit - unit + EXACT_GUARD * 32, word);
        const unsigned minus = (ht_crt_sign(by.beta) ^ ht_crt_sign(by.c)) != sign ? 0xffffffffu : 0u;
        if (x->low == x->high)
            x->low = x->high = from;
        exact_widen(x, x->low < from ? x->low : from, (x->high > from + 6 ? x->high : from + 6) + 1);
        unsigned long long carry = minus & 1;
#pragma unroll
        for (int w = 0; w < 6; w++) {
            carry += word[w] ^ minus;
            word[w] = (unsigned)carry;
            carry >>= 32;
        }
        exact_add_words<6>(*x, word, from, minus);
        sign ^= exact_magnitude(*x);
    }
    return exact_round(*x, unit, sign);
}

// By a warp: of a row and a column whose exponents add up to `scale`; smem: its array. The result is lane 0's.
HT_DEVICE unsigned long long exact_dot(const exact_vectors &v, int scale, const exact_scalars &by, unsigned smem)
{
    exact_array x = {smem, 0, 0};
    exact_sum sum;
    const bool poisoned = scale >= CRT_POISONED / 2;
    int base = poisoned ? EXACT_LOW : (31 - scale - EXACT_BELOW) >> 5 << 5, end = 1 << 20;
    base = base < EXACT_LOW ? EXACT_LOW : base;
    bool first = true;
    unsigned special = 0;
#pragma unroll 1
    do {
        exact_pass(v, base, poisoned ? EXACT_LOW : end, &sum);
        special |= sum.special;
        if (threadIdx.x % WAVE == 0) {
            const int from = EXACT_GUARD + ((base - EXACT_LOW) >> 5);
            if (first)
                x.low = x.high = from;
            exact_widen(&x, from, first ? from + EXACT_WORDS : x.high);
            exact_add_words<EXACT_WORDS>(x, sum.word, from,
                                         sum.word[EXACT_WORDS - 1] >> 31 ? 0xffffffffu : 0u);
        }
        first = false;
        end = base;
        base = (sum.most >> 5 << 5) - (EXACT_SPAN - 32);
        base = base < EXACT_LOW ? EXACT_LOW : base;
    } while (sum.most != EXACT_NONE && special == 0);
    return threadIdx.x % WAVE == 0 ? exact_axpby(&x, special, by) : 0;
}
