"""The host's emulation of f16x3 (bench/halftone/accuracy/f16x3_host.h), with which tests/unit/test_certificate.c searches for large errors, has the
kernels' bits."""
import ctypes
import random
import struct
import subprocess

import pytest
from command_files import store
from conftest import ROOT

SOURCES = ["bench/halftone/accuracy/f16x3_host.c", "bench/halftone/accuracy/certificate.c", *(f"runtime/sim/{n}.c" for n in ("sim_f16", "sim_mma", "sim_mma_wide"))]
M, N, K = 24, 20, 120 # one k-split


class Unit(ctypes.Structure):
    _fields_ = [("model", ctypes.c_char_p), ("promote_k", ctypes.c_int), ("corrections_first", ctypes.c_int)]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    library = tmp_path_factory.mktemp("host") / "host.so"
    subprocess.run(["gcc", "-std=c11", "-O1", "-shared", "-fPIC", "-iquote", str(ROOT / "bench/halftone"), "-o", library, *(ROOT / s for s in SOURCES), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.f16x3_host_dot.restype = ctypes.c_float
    loaded.f16x3_host_dot.argtypes = [ctypes.POINTER(Unit), ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float), ctypes.c_int]
    loaded.certificate_exponent.argtypes = [ctypes.c_float]
    return loaded


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


@pytest.mark.parametrize("gpu,unit", [("a800", Unit(b"sm80", 32, 0)), ("h200", Unit(b"sm90", 64, 1))], ids=["a800", "h200"])
def test_the_hosts_emulation_has_the_kernels_bits(gpu, unit, host, tmp_path):
    """Elements over 40 binades, zeros and FP16's subnormals among them."""
    draw = random.Random(3)
    element = lambda: 0.0 if draw.random() < 0.1 else single((1 + draw.random()) * 2.0 ** draw.randint(-30, 10) * draw.choice((-1, 1)))
    a, b = ([[element() for _ in range(K)] for _ in range(rows)] for rows in (M, N))
    for name, x in ("a", a), ("b", b):
        store(tmp_path / f"{name}.npy", x)
    run = subprocess.run([ROOT / f"out/{gpu}/halftone-sim", "mm", "a.npy", "b.npy", "--tb", "--scheme", "f16x3", "-o", "c.npy"], cwd=tmp_path,
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    got = struct.unpack(f"<{M * N}f", (tmp_path / "c.npy").read_bytes()[-4 * M * N:])
    row = lambda x, e: (ctypes.c_float * K)(*(v * 2.0 ** -e for v in x))
    for i in range(M):
        for j in range(N):
            ea, eb = (host.certificate_exponent(max(map(abs, x))) for x in (a[i], b[j]))
            # the command computes the transpose, whose left operand is B
            assert host.f16x3_host_dot(unit, row(b[j], eb), row(a[i], ea), K) * 2.0 ** (ea + eb) == got[i * N + j], (i, j)
