#!/usr/bin/env python3
"""predicted_fp64.py [--gpus t4,...] [--shapes FILE] [--thin] > TABLE

What the model predicts of native64 beside the roofline, for GPUs that nobody here has: no measurement. It asks out/GPU/libhalftone-sim.so (make
GPU=t4 SCHEMES=native64 generate, then build-sim) for its pick and time. roof_us: the larger of 2 m n k at the data sheet's FP64 rate and of the bytes
of A, B and C at device memory's, at the clock that the model takes: under load on sm_75 and gfx90a, else boost. --thin: shapes of few columns and small K instead of FILE."""
import argparse
import ctypes
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
THIN = [(m, n, k) for m, k in ((65536, 64), (65536, 256), (4096, 4096), (1000000, 16)) for n in (1, 2, 4, 5, 8, 12, 16, 24, 32, 48, 64)] + [
    (n, n, k) for n in (2048, 4096) for k in (1, 2, 3, 4, 8, 16, 24, 32, 64)] + [(n, n, n) for n in (64, 256, 1024, 4096)] + [(8, 100000, 64), (5, 8192, 8192), (16, 16, 100000)]
TEXT, PLAN_BYTES = ("scheme", "kernel"), 1 << 12


class Plan(ctypes.Structure):  # the head of struct halftone_plan (runtime/halftone.h)
    _fields_ = [("size", ctypes.c_size_t), *((name, ctypes.c_char_p) for name in TEXT), *((name, ctypes.c_int) for name in ("bm", "bn", "bk", "wm", "wn", "stages", "splits")),
                ("pack_ns", ctypes.c_int64), ("kernel_ns", ctypes.c_int64), ("predicted_ns", ctypes.c_int64), ("rest", ctypes.c_char * PLAN_BYTES)]


def budget_of(gpu):
    lines = (re.match(r"(\w+)\s*=\s*([^#]*)", line) for line in (ROOT / f"gen/gpus/{gpu}.gpu").read_text().splitlines())
    return {line[1]: line[2].strip() for line in lines if line}


def roof_us(budget, m, n, k):
    value = lambda key: int(budget[key])
    fma = value("fp64_fma_per_cycle") // (2 if budget["isa"] == "gfx90a" else 1) or 2
    clock = value("sustained_clock_mhz" if budget["isa"] in ("sm_75", "gfx90a") else "clock_mhz")
    return max(m * n * k / (value("sms") * clock * fma), 8e-3 * (m * k + k * n + m * n) / value("dram_gbps"))


def shapes_of(options):
    if options.thin:
        return THIN
    lines = (line.split("#")[0].split() for line in options.shapes.read_text().splitlines())
    return [tuple(map(int, line[:3])) for line in lines if line]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpus", default="t4,rtx4090,a800,h200,mi210")
    parser.add_argument("--shapes", type=pathlib.Path, default=ROOT / "bench/shapes.txt")
    parser.add_argument("--thin", action="store_true")
    options = parser.parse_args()
    print("gpu\tm\tn\tk\tkernel\tsplits\tpredicted_us\troof_us\t/roof")
    for gpu in options.gpus.split(","):
        library, handle, budget = ctypes.CDLL(ROOT / f"out/{gpu}/libhalftone-sim.so"), ctypes.c_void_p(), budget_of(gpu)
        if library.halftone_create(ctypes.byref(handle)) != 0 or library.halftone_set_scheme(handle, b"native64") != 0:
            raise SystemExit(f"predicted_fp64.py: {gpu}'s set has no native64")
        for m, n, k in shapes_of(options):
            plan, long = Plan(size=ctypes.sizeof(Plan)), ctypes.c_int64
            if library.halftone_dquery(handle, ctypes.c_char(b"N"), ctypes.c_char(b"N"), long(m), long(n), long(k), long(1), ctypes.byref(plan)) != 0:
                raise SystemExit(f"predicted_fp64.py: {gpu}: no plan of {m} x {n} x {k}")
            roof, us = roof_us(budget, m, n, k), plan.predicted_ns / 1000
            print(f"{gpu}\t{m}\t{n}\t{k}\t{plan.kernel.decode()}\t{plan.splits}\t{us:.1f}\t{roof:.1f}\t{us / roof:.2f}")


if __name__ == "__main__":
    main()
