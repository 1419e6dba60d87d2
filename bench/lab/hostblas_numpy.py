"""NumPy's products from the host's memory, timed and held against FP64: hostblas_numpy.py NAME SIZE... [--fp64]
Run as it is, and once more with libhalftone_blas.so preloaded; knows nothing of the face but its counters, which it prints where they are.
A line for each size: NAME, type, n, product, seconds of the first call, the best of the further ones, the same into memory that is there already,
largest |C - C64| / (|A||B|) over sampled rows in units of 2^-24 (FP64: 2^-53), calls served and left to the original."""
import ctypes
import sys
import time

import numpy as np

ROWS, TIMES = 8, 3


def counters():
    face = ctypes.CDLL(None)
    if not hasattr(face, "halftone_dropin_counters"):
        return "-", "-"
    served, original = ctypes.c_uint64(), ctypes.c_uint64()
    face.halftone_dropin_counters(ctypes.byref(served), ctypes.byref(original))
    face.halftone_dropin_reset()
    return served.value, original.value


def seconds(call):
    start = time.perf_counter()
    c = call()
    return time.perf_counter() - start, c


def error(a, b, c):
    """Of sampled rows: sums of long double where C is FP64, of FP64 elsewhere; without BLAS' products of the type that is examined."""
    unit, wide = (2.0**-24, np.float64) if c.dtype == np.float32 else (2.0**-53, np.longdouble)
    rows = np.linspace(0, len(a) - 1, ROWS).astype(int)
    columns = slice(None) if c.dtype == np.float32 else np.linspace(0, b.shape[1] - 1, 64).astype(int)
    right = b[:, columns].astype(wide)
    exact, size = a[rows].astype(wide) @ right, np.abs(a[rows]).astype(wide) @ np.abs(right)
    return float(np.max(np.abs(c[np.ix_(rows, np.arange(b.shape[1])[columns])] - exact) / size)) / unit


def measure(name, n, dtype):
    r = np.random.default_rng(n)
    times = TIMES if n < 8192 else 2
    a, b = (r.standard_normal((n, n), dtype=dtype) for _ in range(2))
    for product, call, right in (("a @ b", lambda c: np.matmul(a, b, out=c), b), ("a @ a.T", lambda c: np.matmul(a, a.T, out=c), a.T)):
        if product == "a @ a.T" and n != 4096: # of which NumPy itself copies a triangle, for longer than the product takes
            continue
        counters()
        first, c = seconds(lambda: call(None))
        best = min(seconds(lambda: call(None))[0] for _ in range(times))
        ready = min(seconds(lambda: call(c))[0] for _ in range(times))
        served, original = counters()
        print(name, dtype.__name__, n, product, f"{first:.5f}", f"{best:.5f}", f"{ready:.5f}", f"{error(a, right, c):.3g}", served, original, sep="\t", flush=True)


if __name__ == "__main__":
    words = [w for w in sys.argv[2:] if w != "--fp64"]
    for size in words:
        measure(sys.argv[1], int(size), np.float64 if "--fp64" in sys.argv else np.float32)
