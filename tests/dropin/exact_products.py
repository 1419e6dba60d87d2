"""Under the BLAS face: DGEMM and DSYRK of 600 elements, prints how many of either are not their sum's nearest double."""
import ctypes
import fractions
import random

M, N, K = 30, 20, 40
face, double = ctypes.CDLL(None), ctypes.c_double
r = random.Random(7)
a, b = ([r.uniform(-1, 1) * 2 ** r.randrange(-8, 9) for _ in range(M * K)] for _ in range(2))
x, y, c = (double * len(a))(*a), (double * len(b))(*b), (double * (M * M))()


def wrong(columns, of_b, is_there):
    sums = ((i, j, sum(fractions.Fraction(a[i + M * p]) * fractions.Fraction(of_b(p, j)) for p in range(K))) for j in range(columns) for i in range(M))
    return sum(float(exact) != c[i + M * j] for i, j, exact in sums if is_there(i, j))


face.cblas_dgemm(102, 111, 111, M, N, K, double(1), x, M, y, K, double(0), c, M)
gemm = wrong(N, lambda p, j: b[p + K * j], lambda i, j: True)
face.cblas_dsyrk(102, 122, 111, M, K, double(1), x, M, double(0), c, M)
print(gemm, wrong(M, lambda p, j: a[j + M * p], lambda i, j: i >= j))
