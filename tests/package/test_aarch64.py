"""`make TARGET=aarch64`: generator here, simulator and command for that machine, run by qemu; products have the bits that they have here."""
import random
import shutil
import subprocess

import pytest
from conftest import ROOT, copy_of_repository, nvcc, store

QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
AARCH64 = 183  # e_machine
needs_cross = pytest.mark.skipif(not all(map(shutil.which, ("aarch64-linux-gnu-g++", QEMU[0]))), reason="no compiler for aarch64, or no qemu-user")
PRODUCTS = [("--scheme", s) for s in ("f16x3", "i8x6", "half")] + [()]
WIDE = [("--scheme", s) for s in ("native64", "crt15")] + [("--accuracy", "bits=40")]


def run(command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def products(there, command, folder):
    """The results' bytes of whole calls: `auto` with elements that its certificate leaves, FP64's too."""
    results = []
    for args, (a, b) in [(p, "ab") for p in PRODUCTS] + [(p, "cd") for p in WIDE]:
        run([*command, there / "out/t4/halftone-sim", "mm", f"{a}.npy", f"{b}.npy", "-o", "r.npy", *args], cwd=folder)
        results.append((folder / "r.npy").read_bytes())
    return results


@needs_cross
@pytest.mark.whole
def test_bits_are_the_same_on_aarch64(tmp_path):
    there, numbers = copy_of_repository(tmp_path / "there"), random.Random(1)
    for name, descr, rows, cols in ("a", "<f4", 65, 130), ("b", "<f4", 130, 33), ("c", "<f8", 40, 700), ("d", "<f8", 700, 30):
        store(tmp_path / f"{name}.npy", [[numbers.gauss(0, 1) * 2.0 ** numbers.randint(-20, 20) for _ in range(cols)] for _ in range(rows)], descr=descr)
    make = ["make", "-s", "GPU=t4", "DEVICE=0", "COVER=1", "SCHEMES=f16x3,bf16x6u,half,i8x6,native64,crt14,crt15,crt16", "build-sim"]
    run(make, cwd=there)
    here = products(there, [], tmp_path)
    run([*make, "TARGET=aarch64"], cwd=there)
    assert [(there / name).read_bytes()[18] for name in ("out/t4/halftone-sim", "out/bin/halftone-gen")] == [AARCH64, (ROOT / "out/bin/halftone-gen").read_bytes()[18]] # e_machine
    there_too = products(there, QEMU, tmp_path)
    assert [p for p, x, y in zip(PRODUCTS + WIDE, here, there_too) if x != y] == [] and len(set(here)) > 4


@needs_cross
@pytest.mark.skipif(not nvcc(), reason="no nvcc")
@pytest.mark.whole
def test_a_gpus_half_is_built_for_aarch64(tmp_path):
    there = copy_of_repository(tmp_path / "there")
    make = ["make", "-s", "GPU=gb10", "COVER=1", "SCHEMES=half", "TARGET=aarch64"]
    without = subprocess.run([*make, "build-device"], cwd=there, capture_output=True, text=True)
    assert without.returncode == 2 and "CUDA's runtime for aarch64 was not found. To get it: make toolchain TARGET=aarch64" in without.stderr
    run(["make", "-s", "toolchain", "TARGET=aarch64"], cwd=there)
    run([*make, "build-device"], cwd=there)
    built = [there / "out/gb10" / name for name in ("halftone", "libhalftone.so", "libhalftone_cublas.so", "libhalftone_blas.so")]
    assert [path.read_bytes()[18] for path in built] == [AARCH64] * 4
    info = subprocess.run([*QEMU, built[0], "info"], capture_output=True, text=True)
    assert info.returncode == 3 and "no usable GPU or driver was found" in info.stderr and "generated for gb10" in info.stdout
