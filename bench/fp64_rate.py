"""FP64 products beside cuBLAS' DGEMM: error and rate. python3 bench/fp64_rate.py LIBRARY [SIZES [SCHEMES]], on a GPU, with torch and numpy.

LIBRARY: a set's libhalftone.so. Square products, uniform[-1,1] and (rand - 0.5) exp(randn) (phi = 1). Per method: TFLOPS sustained, its ratio
to DGEMM; of 64 x 64 elements at places spread over C, against sums in long double: relative Frobenius error, and the largest componentwise
error in units of 2^-53 |A||B|. Then the time of each kernel of a call."""
import ctypes
import sys

import numpy
import torch

SCHEMES = ("native64", "crt14", "crt15", "crt16")
PLACES = 64


class Library:
    def __init__(self, path):
        self.lib, self.handle = ctypes.CDLL(path), ctypes.c_void_p()
        self.lib.halftone_last_detail.restype = ctypes.c_char_p
        self.must(self.lib.halftone_create(ctypes.byref(self.handle)))
        self.one, self.zero = ctypes.c_double(1), ctypes.c_double(0)

    def must(self, code):
        if code != 0:
            sys.exit(f"fp64_rate: {code}: {self.lib.halftone_last_detail(self.handle).decode()}")

    def has(self, scheme):
        return self.lib.halftone_set_scheme(self.handle, scheme.encode()) == 0

    def product(self, a, b, c):
        """c = a b; torch's matrices are row after row, so that DGEMM sees all three transposed."""
        n, at, long = a.shape[0], lambda x: ctypes.c_void_p(x.data_ptr()), ctypes.c_int64
        self.must(self.lib.halftone_dgemm(self.handle, ctypes.c_char(b"N"), ctypes.c_char(b"N"), long(n), long(n), long(n), ctypes.byref(self.one),
                                          at(b), long(n), at(a), long(n), ctypes.byref(self.zero), at(c), long(n)))


def operand(family, n):
    x = torch.rand(n, n, dtype=torch.float64, device="cuda")
    return 2 * x - 1 if family == "uniform" else (x - 0.5) * torch.exp(torch.randn(n, n, dtype=torch.float64, device="cuda"))


def truth(a, b):
    """Rows and columns spread over C: the elements where they cross, and those of |A||B|."""
    at = torch.arange(PLACES, device="cuda") * a.shape[0] // PLACES + torch.arange(PLACES, device="cuda") % 7
    at = at.clamp(max=a.shape[0] - 1)
    rows, columns = (x.cpu().numpy().astype(numpy.longdouble) for x in (a[at], b[:, at]))
    return at, rows @ columns, abs(rows) @ abs(columns)


def errors(c, at, exact, size):
    difference = abs(c[at][:, at].cpu().numpy().astype(numpy.longdouble) - exact)
    return float(numpy.sqrt((difference ** 2).sum() / (exact ** 2).sum())), float((difference / size).max() * 2.0 ** 53)


def milliseconds(call, least=0.25):
    """Back to back for `least` seconds, after as long a start."""
    def loop(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)
    call()
    torch.cuda.synchronize()
    times = max(3, int(least * 1000 / max(loop(3) / 3, 1e-3)))
    loop(times // 2 + 1)
    return loop(times) / times


def kernels(call, times=5):
    """Microseconds of each kernel of a call, in their order of time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(times):
            call()
        torch.cuda.synchronize()
    rows = [(e.self_device_time_total / times, e.key) for e in profile.key_averages() if e.self_device_time_total > 0]
    return [(name, took) for took, name in sorted(rows, reverse=True)]


def main():
    library = Library(sys.argv[1])
    sizes = [int(n) for n in sys.argv[2].split(",")] if len(sys.argv) > 2 else [1024, 2048, 4096, 8192]
    schemes = [s for s in (sys.argv[3].split(",") if len(sys.argv) > 3 else SCHEMES) if library.has(s)]
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    print("n\tfamily\tmethod\tTFLOPS\tto dgemm\tFrobenius\tin u|A||B|")
    for n in sizes:
        c = torch.empty(n, n, dtype=torch.float64, device="cuda")
        for family in ("uniform", "phi1"):
            torch.manual_seed(n)
            a, b = operand(family, n), operand(family, n)
            at, exact, size = truth(a, b)
            dgemm = None
            for method in ("dgemm", *schemes):
                if method != "dgemm":
                    library.has(method)
                call = (lambda: torch.mm(a, b, out=c)) if method == "dgemm" else (lambda: library.product(a, b, c))
                c.fill_(float("nan"))
                call()
                torch.cuda.synchronize()
                relative, grade = errors(c, at, exact, size)
                rate = 2 * n ** 3 / milliseconds(call) / 1e9 if family == "uniform" else float("nan")
                dgemm = rate if method == "dgemm" else dgemm
                print(f"{n}\t{family}\t{method}\t{rate:.1f}\t{rate / dgemm:.3f}\t{relative:.2e}\t{grade:.3g}", flush=True)
    print("n\tmethod\tkernel\tus")
    for n in sizes:
        a, b, c = operand("uniform", n), operand("uniform", n), torch.empty(n, n, dtype=torch.float64, device="cuda")
        for method in schemes:
            library.has(method)
            for name, took in kernels(lambda: library.product(a, b, c)):
                print(f"{n}\t{method}\t{name.replace('(anonymous namespace)::', '')[:70]}\t{took:.1f}", flush=True)


main()
