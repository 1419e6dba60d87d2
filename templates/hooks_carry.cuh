// hooks_carry: chains of exact integers. Level l weighs 2^-8 of level l - 1.

HT_DEVICE void ht_clear(int *d)
{
    d[0] = d[1] = d[2] = d[3] = 0;
}

// Moves what exceeds a digit from one level to the level above, before the lower one overflows; the value of both together
// stays. The shift rounds down, so the rest is 0 to 255 whatever the sign.
HT_DEVICE void ht_carry(int *above, int *level)
{
    above[0] += level[0] >> 8;
    above[1] += level[1] >> 8;
    above[2] += level[2] >> 8;
    above[3] += level[3] >> 8;
    level[0] &= 255;
    level[1] &= 255;
    level[2] &= 255;
    level[3] &= 255;
}
