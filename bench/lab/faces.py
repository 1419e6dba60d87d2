"""An unchanged program, natively or under `halftone run`: faces.py torch|numpy. Products of PyTorch on the GPU or of NumPy on the CPU; prints
the largest componentwise error of a sample in units u |A||B|, and how many elements are the doubles nearest to the exact sums."""
import sys
from fractions import Fraction

import numpy as np

SAMPLE = 12


def sampled(n):
    return np.linspace(0, n - 1, SAMPLE).astype(int)


def judge(name, a, b, c, unit):
    """Exact sums by fractions, of SAMPLE x SAMPLE elements."""
    worst, nearest = 0.0, 0
    for i in sampled(a.shape[0]):
        for j in sampled(b.shape[1]):
            terms = [Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[i], b[:, j])]
            exact, size = sum(terms), sum(abs(t) for t in terms)
            worst = max(worst, float(abs(Fraction(float(c[i, j])) - exact) / size) / unit)
            nearest += float(exact) == float(c[i, j])
    print(f"{name}: largest error {worst:.3g} u|A||B|, {nearest} of {SAMPLE * SAMPLE} correctly rounded", flush=True)


def data(n, dtype):
    rng = np.random.default_rng(n)
    return [rng.uniform(-1, 1, (n, n)).astype(dtype) for _ in range(2)]


def on_gpu():
    import torch
    for dtype, unit, sizes in ((np.float32, 2.0**-24, (512, 2048)), (np.float64, 2.0**-53, (512, 4096))):
        for n in sizes:
            a, b = data(n, dtype)
            c = (torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()).cpu().numpy()
            judge(f"torch {np.dtype(dtype).name} {n}", a, b, c, unit)


def on_cpu():
    for n in (2048, 1500):
        a, b = data(n, np.float64)
        judge(f"numpy float64 {n}", a, b, a @ b, 2.0**-53)
        judge(f"numpy float64 {n}, a @ a.T", a, a.T, a @ a.T, 2.0**-53)


{"torch": on_gpu, "numpy": on_cpu}[sys.argv[1]]()
