#!/usr/bin/env python3
"""bias.py SET [SCHEME[:KERNEL]...] > bias.tsv

Which way errors go: C = A B of ROWS x k x ROWS by each scheme of library HALFTONE_LIBRARY, a GPU's or the simulator's, against FP64. An error counts as
positive where |C| is too large, in units of 2^-24 |A||B|; NumPy's FP32 products are the row `cpu`. Family `gram` is normal X times X^T, of which the diagonal
counts. `shrink` is by how much all of |C| together is too small, in units of 2^-24. KERNEL: for shapes of this size `bf16x6u` has FP64 units, not its
tiles. Needs NumPy, and runtime/python in PYTHONPATH."""
import sys

import numpy as np

import halftone_gemm as hg

ROWS, DRAWS, SIZES = 64, {"gram": 8}, (1024, 4096)
random = np.random.default_rng(0)
FAMILIES = {"uniform[-1,1]": lambda *shape: random.uniform(-1, 1, shape), "normal": lambda *shape: random.normal(size=shape),
            "uniform[0,1]": lambda *shape: random.uniform(0, 1, shape), "uniform[0.5,2.5]": lambda *shape: random.uniform(0.5, 2.5, shape),
            "gram": lambda *shape: random.normal(size=shape)}


def multiply(a, b, scheme, kernel):
    device = hg._device(0)
    device.check(device.library.halftone_set_kernel(device.handle, kernel.encode() or None))
    return hg.mm(a, b, scheme=scheme)


def errors(family, k, scheme):
    """Errors and exact results, both as if these were positive, and |A||B|; drawn anew for each scheme alike."""
    global random
    random = np.random.default_rng(k)
    for _ in range(DRAWS.get(family, 1)):
        a, b = (FAMILIES[family](ROWS, k).astype(np.float32) for _ in range(2))
        b = a if family == "gram" else b
        c = a @ b.T if scheme == "cpu" else multiply(a, b.T, *scheme.partition(":")[::2])
        exact, size = a.astype(float) @ b.T.astype(float), np.abs(a).astype(float) @ np.abs(b).T.astype(float)
        yield [x.diagonal() if family == "gram" else x.ravel() for x in ((c - exact) * np.sign(exact), np.abs(exact), size)]


def main():
    print("set", "family", "k", "scheme", "mean", "std", "mean/std", "below_percent", "shrink", sep="\t")
    for family in FAMILIES:
        for k in SIZES:
            for scheme in ("cpu", *(sys.argv[2:] or ["f16x3", "bf16x6u"])):
                off, exact, size = (np.concatenate(x) for x in zip(*errors(family, k, scheme)))
                units = off / size * 2.0**24
                print(sys.argv[1], family, k, scheme, f"{units.mean():.4f}", f"{units.std():.4f}", f"{units.mean() / units.std():.2f}",
                      f"{100 * (off < 0).mean():.0f}", f"{-off.sum() / exact.sum() * 2**24:.2f}", sep="\t", flush=True)


if __name__ == "__main__":
    main()
