"""arrays.py [cupy]: products of NumPy or CuPy in FP32 and FP64, beside the library's own.

    pip install out/wheel/*.whl numpy && python3 bench/examples/arrays.py"""
import importlib
import sys

import halftone_gemm as hg

np = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")
rng = np.random.default_rng(1)
for kind in "float32", "float64":
    a = rng.standard_normal((96, 128)).astype(kind)
    b = rng.standard_normal((64, 128)).astype(kind).T  # a view: it is read where it lies
    exact = hg.mm(a.astype("float64"), b.astype("float64"), accuracy="fp64-exact")
    own, ours = (float((abs(c - exact) / (abs(a) @ abs(b))).max()) for c in (a @ b, hg.mm(a, b)))
    print(f"{kind}: {np.__name__}'s error {own:.1e} |A||B|, {hg.query(a, b)['scheme']}'s {ours:.1e}")
    assert ours < 4 * own

hg.last_check()  # begins to count
c = np.ones((96, 64))
hg.mm(a, b, out=c, alpha=2.0, beta=1.0)  # C = 2 AB + C
print("a batch:", hg.mm(rng.standard_normal((8, 1, 16, 24)), rng.standard_normal((3, 24, 32))).shape)
print("%d results and %d blocks did not pass the test and were computed again" % hg.last_check())
