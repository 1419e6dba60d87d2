#!/usr/bin/env python3
"""random_shapes.py [COUNT] [SEED]: shapes for `halftone bench --shapes`: m, n and k each 2^u with u uniform in [0, 16], rounded,
A, B and C of at most 2^26 numbers, at most 2^36 FMAs, at least one matrix of 2^10 numbers.

Without words 120 of seed 1: those say how `auto` does where no list of ours has looked.
"""
import random
import sys


def shapes(count, seed):
    chance = random.Random(seed)
    while count > 0:
        m, n, k = (round(2 ** chance.uniform(0, 16)) for _ in range(3))
        sizes = (m * k, k * n, m * n)
        if max(sizes) <= 1 << 26 and max(sizes) >= 1 << 10 and m * n * k <= 1 << 36:
            yield m, n, k
            count -= 1


count, seed = (int(text) for text in (sys.argv[1:] + ["120", "1"][len(sys.argv) - 1:]))
print(f"# m n k: at random, bench/lab/random_shapes.py {count} {seed}")
for shape in shapes(count, seed):
    print(*shape)
