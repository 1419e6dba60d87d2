// accum/carry_i32: chains of exact integers. Level l weighs 2^-8 of level l - 1.

// Moves what exceeds a digit from one level to the level above, before the lower one overflows; the value of both together
// stays. The shift rounds down, so the rest is 0 to 255 whatever the sign.
HT_DEVICE void ht_carry(int *above, int *level)
{
    for (int q = 0; q < D_REGS; q++) {
        above[q] += level[q] >> 8;
        level[q] &= 255;
    }
}
