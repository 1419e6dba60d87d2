"""The wheel and its module, as a Python user meets them: a fresh environment without a compiler, the simulator, and a pretended
GPU: the simulator's library under a driver that is a fake, for which memory of the process is the device's."""
import base64
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

import pytest
from conftest import ROOT, copy_of_repository, fetch_numpy, full_disk, python_with, store

SET = ["GPU=t4", "SCHEMES=f16x3,bf16x6u,i8x6,native64,crt20", "COVER=1", "DEVICE=0", "NVCC="]
# An array library of ten lines: rows of numbers in the host's memory, or as if on a GPU.
ARRAYS = '''
import array, ctypes, fractions, itertools, math, os, sys, warnings
import halftone_gemm as hg

class Array:
    on_gpu = False

    def __init__(self, shape, kind="f", values=None, strides=None, on_gpu=None, at=0, **face):
        self.data = array.array(kind, values or [((i * 7919) % 1009 - 504) / 512 for i in range(math.prod(shape) + 64)])
        size = self.data.itemsize
        face = {"shape": shape, "typestr": f"<f{size}", "version": 3, "data": (self.data.buffer_info()[0] + at, False),
                "strides": strides and tuple(s * size for s in strides), **face}
        setattr(self, "__cuda_array_interface__" if (self.on_gpu if on_gpu is None else on_gpu) else "__array_interface__", face)
        self.shape, self.strides = shape, strides or tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))

    def __getitem__(self, index):
        return fractions.Fraction(self.data[sum(i * s for i, s in zip(index, self.strides))])

def check(a, b, c, units, alpha=1, before=None, beta=0):
    """Every element, against exact arithmetic; broadcast batches."""
    for *lead, i, j in itertools.product(*map(range, c.shape)):
        at = lambda x, *last: x[(*(l if n > 1 else 0 for l, n in zip(lead[len(lead) - len(x.shape) + 2:], x.shape)), *last)]
        terms = [at(a, i, l) * at(b, l, j) for l in range(a.shape[-1])]
        old = beta * before[(*lead, i, j)] if beta else 0
        room = units * (sum(abs(alpha * t) for t in terms) + abs(old))
        assert abs(alpha * sum(terms) + old - c[(*lead, i, j)]) <= room, (lead, i, j)

def refused(kind, text, call, *args, **options):
    try:
        call(*args, **options)
    except kind as fault:
        assert text in str(fault), fault
        return fault
    raise AssertionError(f"not refused: {text}")
'''


def passes(command, folder=ROOT, **options):
    done = subprocess.run(list(map(str, command)), cwd=folder, text=True, capture_output=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the repository, and the wheel that `make wheel` left there."""
    copy = copy_of_repository(tmp_path_factory.mktemp("wheel") / "copy", built=True)
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    said = passes(["make", "wheel", *SET], copy, env=env).stdout.splitlines()[-1]
    (wheel,) = (copy / "out/wheel").iterdir()
    assert said == f"out/wheel/{wheel.name}"
    return copy, wheel


class Python:
    def __init__(self, folder, wheel):
        passes([sys.executable, "-m", "venv", folder])
        passes([folder / "bin/python", "-m", "pip", "-q", "install", "--no-index", "--no-deps", wheel])
        self.bin, self.env = folder / "bin", {"PATH": str(folder / "bin")}
        self.libraries = next(folder.glob("lib/python*/site-packages")) / "halftone_gemm.libs"

    def __call__(self, code, **env):
        return passes(["python", "-c", ARRAYS + code], self.bin.parent, env={**self.env, **env}).stderr


@pytest.fixture(scope="module")
def python(built, tmp_path_factory):
    """A fresh environment with the wheel alone, whose PATH has no compiler."""
    return Python(tmp_path_factory.mktemp("venv") / "venv", built[1])


@pytest.fixture(scope="module")
def gpu(python, tmp_path_factory):
    """What makes the environment one with a GPU."""
    folder = tmp_path_factory.mktemp("driver")
    passes(["cc", "-shared", "-fPIC", ROOT / "tests/package/fake_cuda.c", "-o", folder / "libcuda.so.1"])
    return {"FAKE_CARD": "7 5 40 Tesla T4", "LD_LIBRARY_PATH": str(folder), "HALFTONE_LIBRARY": str(python.libraries / "lib/libhalftone-sim.so")}


# ---- the wheel

def test_the_same_files_are_the_same_wheel(built, tmp_path):
    copy, wheel = built
    for path in (copy / "out/t4").iterdir():
        os.utime(path, (1, 1))
    passes([sys.executable, "runtime/python/wheel.py", "out/t4", tmp_path], copy, env={**os.environ, "TZ": "Asia/Tokyo"}, umask=0o077)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_what_was_built_for_gpus_is_in_the_wheel_that_names_it(built, tmp_path):
    """Files of the simulator stand for those that nvcc would build; what an earlier build left is not taken."""
    copy, _ = built
    shutil.copytree(copy / "out/t4", tmp_path / "a100+t4", ignore=shutil.ignore_patterns("obj", "sim"))
    for name in "halftone", "libhalftone.so":
        shutil.copy(copy / "out/t4/halftone-sim", tmp_path / "a100+t4" / name)
    for words in ([], ["halftone", "libhalftone.so"]):
        wheel = passes([sys.executable, "runtime/python/wheel.py", tmp_path / "a100+t4", tmp_path / "wheel", *words], copy).stdout.strip()
        with zipfile.ZipFile(wheel) as archive:
            there = {i.filename: i.external_attr >> 16 & 0o777 for i in archive.infolist()}
            assert ("kernels for a100, t4" in archive.read(next(n for n in there if n.endswith("METADATA"))).decode()) == bool(words)
        assert {n: 0o755 for n in ("halftone_gemm.libs/bin/halftone", "halftone_gemm.libs/lib/libhalftone.so")}.items() <= there.items() or not words
        assert "halftone_gemm.libs/bin/halftone-sim" in there and ("halftone_gemm.libs/bin/halftone" in there) == bool(words)
    make = passes(["make", "-n", "wheel", *SET[:3], "NVCC=true"], copy).stdout
    assert "wheel.py out/t4 out/wheel halftone libhalftone.so" in make


def test_a_full_disk_leaves_the_wheel_that_was_there(built):
    copy, wheel = built
    before = wheel.read_bytes()
    done = subprocess.run([sys.executable, "runtime/python/wheel.py", "out/t4", "out/wheel"], cwd=copy, capture_output=True, preexec_fn=full_disk(100000))
    assert done.returncode != 0 and wheel.read_bytes() == before and [p.name for p in wheel.parent.glob("*.whl")] == [wheel.name]


def test_the_wheel_holds_what_it_lists_and_needs_the_c_library_alone(built, tmp_path):
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(tmp_path)
        names = archive.namelist()
    (info,) = tmp_path.glob("*.dist-info")
    rows = {name: (digest, size) for name, digest, size in csv.reader((info / "RECORD").read_text().splitlines())}
    assert sorted(rows) == sorted(names) and rows.pop(f"{info.name}/RECORD") == ("", "")
    for name, (digest, size) in rows.items():
        data = (tmp_path / name).read_bytes()
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=") and size == str(len(data))
    binaries = [tmp_path / n for n in names if (tmp_path / n).read_bytes()[:4] == b"\x7fELF"]
    assert {p.name for p in binaries} == {"halftone-sim", "libhalftone-sim.so", "libhalftone_cublas.so", "libhalftone_blas.so"}
    needed, glibc = set(), 0
    for path in binaries:
        needed |= set(re.findall(r"NEEDED.*\[(\w+)", passes(["readelf", "-d", path]).stdout))
        glibc = max(glibc, *(int(n) for n in re.findall(r"Name: GLIBC_2\.(\d+)", passes(["readelf", "-V", path]).stdout)))
    assert needed <= {"libc", "libm", "libdl", "libpthread", "librt", "ld"}
    assert f"-manylinux_2_{glibc}_" in built[1].name and f"manylinux_2_{glibc}_" in (info / "WHEEL").read_text()
    version = built[1].name.split("-")[1]
    assert f"Version: {version}\n" in (info / "METADATA").read_text() and f'\n__version__ = "{version}"\n' in (tmp_path / "halftone_gemm.py").read_text()


def test_the_module_knows_the_header_s_plan():
    header, module = (ROOT / "runtime/halftone.h").read_text(), (ROOT / "runtime/python/halftone_gemm.py").read_text()
    struct = re.sub(r"/\*.*?\*/", "", re.search(r"struct halftone_plan \{(.*?)\n\};", header, re.S)[1], flags=re.S)
    names = [n for line in struct.split(";") for n in re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", line.strip())]
    fields = module.split("class Plan(ctypes.Structure)")[1].split("\n\n")[0]
    assert re.findall(r'"(\w+)"', fields) == names
    names, numbers = re.search(r"(?m)^([A-Z_, ]+) = ([\d, ]+)  # of halftone.h's codes", module).groups()
    assert all(f"X({name}, {number}," in header for name, number in zip(names.split(", "), numbers.split(", ")))


# ---- in the simulator

def test_products_without_a_gpu_and_without_a_compiler(python):
    """Also in how long: from the start of Python."""
    assert not any(shutil.which(name, path=python.env["PATH"]) for name in ("cc", "gcc", "c++", "nvcc", "make"))
    start = time.time()
    said = python("""
sys.modules["torch"] = type(sys)("torch") # one that is older than its operators' functions
sys.modules["torch"].library = type(sys)("torch.library")
for kind, units, options in ("f", 2**-18, {}), ("d", 2**-46, {}), ("d", 2**-53, {"accuracy": "fp64-exact"}), ("f", 2**-18, {"scheme": "f16x3"}):
    a, b, c = Array((17, 40), kind), Array((40, 9), kind), Array((17, 9), kind)
    assert hg.mm(a, b, out=c, **options) is c
    check(a, b, c, units)
a, b, c = Array((2, 1, 3, 5), "d"), Array((4, 5, 6), "d"), Array((2, 4, 3, 6), "d")
hg.mm(a, b, out=c)
check(a, b, c, 2**-46)
refused(TypeError, "pass one as out=", hg.mm, a, b)
""")
    assert time.time() - start < 20
    assert said.count("RuntimeWarning") == 1 and "this wheel has only the simulator" in said and "simulator computes on the CPU" in said


STRIDES = """
def of(shape, order, kind="d", extra=0):
    *lead, m, n = shape
    last = (n + extra, 1) if order == "C" else (1, m + extra)
    step = max(m * last[0], n * last[1])
    strides = [step * math.prod(lead[i + 1:]) for i in range(len(lead))]
    return Array(shape, kind, strides=(*strides, *last), values=[((i * 7919) % 1009 - 504) / 512 for i in range(step * max(1, math.prod(lead)) + 64)])

for orders in itertools.product("CF", repeat=3):
    for sizes in (3, 5, 4), (1, 5, 4), (3, 1, 4), (3, 5, 1), (1, 1, 1):
        (m, k, n), extra = sizes, 3 if "C" in orders[:2] else 0
        a, b, c, old = of((m, k), orders[0], extra=extra), of((k, n), orders[1], extra=extra), of((m, n), orders[2]), of((m, n), orders[2])
        before = bytes(a.data), bytes(b.data)
        hg.mm(a, b, out=c, alpha=0.5, beta=-2)
        check(a, b, c, 2**-46, fractions.Fraction(1, 2), old, -2)
        assert (bytes(a.data), bytes(b.data)) == before
for shapes in ((2, 3, 2, 4), (3, 4, 5)), ((2, 2, 4), (4, 5)), ((2, 4), (3, 1, 4, 5)), ((3, 2, 4), (3, 4, 5)), ((1, 2, 4), (2, 3, 4, 5)):
    a, b = (of(shape, "C", extra=1) for shape in shapes)
    shape = (*max((s[:-2] for s in shapes), key=lambda s: (len(s), s)), 2, 5)
    for order in "CF":
        c = of(shape, order)
        hg.mm(a, b, out=c)
        check(a, b, c, 2**-46)
class Late: # a scalar that multiplies before it says its value
    def __float__(self):
        hg.mm(of((2, 4), "C"), of((4, 5), "C"), out=of((2, 5), "C"), alpha=7, beta=9)
        return -2.0
a, b, c, old = of((2, 4), "C"), of((4, 5), "C"), of((2, 5), "C"), of((2, 5), "C")
hg.mm(a, b, out=c, alpha=0.5, beta=Late())
check(a, b, c, 2**-46, fractions.Fraction(1, 2), old, -2)
apart = Array((3, 2, 5), "d", strides=(5, 15, 1)) # entries of the batch lie between each other's rows
hg.mm(of((3, 2, 4), "C"), of((4, 5), "C"), out=apart)
check(of((3, 2, 4), "C"), of((4, 5), "C"), apart, 2**-46)
c = Array((2, 3), "d")
hg.mm(Array((2, 0), "d"), Array((0, 3), "d"), out=c)
assert list(c.data[:6]) == [0] * 6
hg.mm(Array((0, 3), "d"), Array((3, 2), "d"), out=Array((0, 2), "d"))
"""


def test_rows_columns_gaps_and_batches_are_read_and_written_where_they_lie(python):
    python(STRIDES)


def test_what_is_refused_says_why_and_writes_nothing(python):
    python("""
warnings.simplefilter("ignore")
a, b, c = Array((3, 4)), Array((4, 5)), Array((3, 5))
before = bytes(c.data)
for kind, text, words, options in (
        (TypeError, "a is float16, b float32", (Array((3, 4), typestr="<f2"), b), {}), (TypeError, "float32, float64", (Array((3, 4), typestr=">f4"), b), {}),
        (TypeError, "float32, float64", (Array((3, 4), typestr="<c8"), b), {}), (TypeError, "a is a builtins.list", ([[1.0]], b), {}),
        (TypeError, "b is a builtins.NoneType", (a, None), {}), (TypeError, "unmasked", (Array((3, 4), mask=a), b), {}),
        (TypeError, "a is float32, b float64", (a, Array((4, 5), "d")), {}), (ValueError, "take", (Array((4,)), b), {}),
        (ValueError, "(3, 4) and (3, 4)", (a, a), {}), (ValueError, "do not go together", (Array((2, 3, 4)), Array((3, 4, 5))), {}),
        (ValueError, "neither its rows nor its columns", (Array((3, 4), strides=(8, 2)), b), {}), (ValueError, "negative", (Array((3, 4), strides=(-4, 1)), b), {}),
        (ValueError, "neither its rows nor its columns", (Array((3, 4), strides=(0, 1)), b), {}), (ValueError, "aligned", (Array((3, 4), at=2), b), {}),
        (ValueError, "out has shape", (a, b), {"out": Array((5, 3))}), (ValueError, "an accuracy or a scheme", (a, b), {"accuracy": "fp32", "scheme": "f16x3"}),
        (ValueError, "out lies where a does", (a, b), {"out": Array((3, 5), data=(a.data.buffer_info()[0] + 8, False))}),
        (ValueError, "some of its elements may be one", (Array((2, 3, 4)), b), {"out": Array((2, 3, 5), strides=(0, 5, 1))}),
        (ValueError, "read-only", (a, b), {"out": Array((3, 5), data=(c.data.buffer_info()[0], True))}),
        (hg.Error, "'bits' for FP32 products is none of half", (a, b), {"accuracy": "bits"}), (hg.Error, "called that: 'fp64-exact' for FP32", (a, b), {"accuracy": "fp64-exact"}),
        (hg.Error, "no scheme 'crt20' for FP32 products; this library has for FP32 auto", (a, b), {"scheme": "crt20"}),
        (hg.Error, "bits=40 is at most", (a, b), {"accuracy": "bits=40"})):
    refused(kind, text, hg.mm, *words, **{"out": c, **options})
    assert bytes(c.data) == before, text
refused(ValueError, "beta is for what is in out", hg.mm, a, b, beta=1)
refused(TypeError, "pass one as out=", hg.mm, a, b)
refused(TypeError, "a is float32, b float64", hg.query, a, Array((4, 5), "d"))
refused(hg.Error, "a lies on a GPU, but libcuda.so.1", hg.mm, Array((3, 4), on_gpu=True), b, out=c)
import pickle
fault = pickle.loads(pickle.dumps(refused(hg.Error, "is none of", hg.mm, a, b, out=c, accuracy="x")))
assert fault.code == 13 and "is none of" in str(fault)
hg.mm(a, b, out=c)
check(a, b, c, 2**-18)
""")


def test_a_process_may_fork_while_a_thread_multiplies(python):
    python("""
import signal, threading, time
warnings.simplefilter("ignore")
a, c, held = Array((3, 3)), Array((3, 3)), threading.Event()
def multiply():
    with hg._lock:
        held.set()
        time.sleep(0.5)
threading.Thread(target=multiply).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
hg.mm(a, a, out=c)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""")


def test_a_plan_and_what_was_computed_again(python):
    python("""
warnings.simplefilter("ignore")
a, b, c = Array((300, 300)), Array((300, 300)), Array((300, 300))
assert hg.last_check() == (0, 0)
plan = hg.query(a, b, scheme="f16x3")
assert plan["scheme"] == "f16x3" and plan["predicted_ns"] > 0 and plan["bm"] > 0 and "binades" in plan["range"] + "binades", plan
hg.query(a, b) # each type has its own setting, of this call
assert [hg.query(Array((4, 6), "d"), Array((6, 5), "d"), accuracy=x)["scheme"] for x in ("fp64-exact", None)] == ["crt20", "native64"]
assert hg.query(a, b, accuracy="bits=12")["error_bound"] <= 2**-12
for i in range(300):
    a.data[i] = 2.0 ** (i % 60 - 30)
    b.data[300 * i] = 2.0 ** (30 - i % 60)
hg.mm(a, b, out=c)
assert hg.query(a, b)["scheme"] == "f16x3" and sum(hg.last_check()) > 0 and hg.last_check() == (0, 0)
""")


# ---- on a GPU that is pretended

def test_arrays_of_a_gpu_are_multiplied_there_on_their_stream(python, gpu):
    """Both GPUs, batches, no array but these; the context that was current is so again."""
    python("Array.on_gpu = True\n" + STRIDES + """
cuda = ctypes.CDLL("libcuda.so.1")
state = lambda name: ctypes.c_int.in_dll(cuda, name).value
for number in 1, 0:
    os.environ["FAKE_MEMORY"] = f"(nil) {number}"
    a, b, c = (Array(shape, "d", stream=stream) for shape, stream in (((3, 4), None), ((4, 5), 77), ((3, 5), 77)))
    hg.mm(a, b, out=c)
    check(a, b, c, 2**-46)
    device, stream = hg._device(number), ctypes.c_void_p()
    device.library.halftone_get_stream(device.handle, ctypes.byref(stream))
    assert (state("fake_current"), state("fake_entered"), stream.value) == (number, 0, 77)
assert hg.query(a, b)["scheme"] == "native64" and len(hg._devices) == 2
refused(ValueError, "streams are [77, 78]", hg.mm, a, Array((4, 5), "d", stream=78), out=c)
refused(ValueError, "per-thread", hg.mm, Array((3, 4), stream=2), Array((4, 5)), out=Array((3, 5)))
refused(ValueError, "a is on GPU 0, b in the host's memory", hg.mm, a, Array((4, 5), "d", on_gpu=False), out=c)
refused(TypeError, "pass one as out=", hg.mm, a, b)
os.environ["FAKE_MEMORY"] = "(nil) 2"
assert refused(hg.Error, "GPU 2 cannot be used: CUDA's code 101", hg.mm, a, b, out=c).code == 11
for number, text in (1, "a is on GPU 0, b on GPU 1"), (-1, "b is in no memory that this process has on a GPU"):
    os.environ["FAKE_MEMORY"] = f"{b.data.buffer_info()[0]:#x} {number}"
    refused(ValueError, text, hg.mm, a, b, out=c)
assert state("fake_entered") == 0
""", **gpu)
    python('refused(hg.Error, "only the simulator", hg.mm, *[Array((4, 4), on_gpu=True)] * 2, out=Array((4, 4), on_gpu=True))', **{**gpu, "HALFTONE_LIBRARY": ""})


def test_arrays_of_the_host_are_multiplied_in_tiles_where_there_is_a_gpu(python, gpu):
    assert "Warning" not in python(STRIDES + """assert not hg._device(None).ordinal and len(hg._devices) == 2
narrow = [Array(shape, typestr="<f2", on_gpu=False) for shape in ((3, 4), (4, 5))]
refused(TypeError, "float16 is taken on GPUs", hg.mm, *narrow, out=Array((3, 5), on_gpu=False))
""", **gpu)


STUB = """#include <stddef.h>
int halftone_create(void **h) { *h = NULL; return %d; }
const char *halftone_strerror(int code) { return code ? "no kernels" : "success"; }
const char *halftone_last_detail(void *h) { return h ? "" : "Tesla V100"; }
int current = 7, used = 7; /* of HIP, which no CUDA library has */
int hipGetDevice(int *device) { *device = current; return 0; }
int hipSetDevice(int device) { current = device; return 0; }
#define NAME(name) int halftone_##name(void) { return 0; }
NAME(set_stream) NAME(set_scheme) NAME(sgemm_strided_batched) NAME(dgemm_strided_batched) NAME(gemm_ex) NAME(sgemm_maxima) NAME(sgemm_partial) NAME(sgemm_finish) int halftone_sgemm_host(void) { used = current; return 0; }
NAME(dgemm_host) NAME(query) NAME(dquery)
"""


@pytest.mark.parametrize("code", [0, 2, 3])
def test_only_where_there_is_no_gpu_the_simulator_computes(built, tmp_path, code):
    """2: none; 3: one that the wheel lacks. 0: GPU 0 of AMD, and then the one that was current. By a library that says so."""
    own = Python(tmp_path / "venv", built[1])
    (tmp_path / "stub.c").write_text(STUB % code)
    passes(["cc", "-shared", "-fPIC", "stub.c", "-o", own.libraries / "lib/libhalftone.so"], tmp_path)
    said = own(f"""
for time in 1, 2:
    a, b, c = Array((3, 4)), Array((4, 5)), Array((3, 5))
    if {code} == 2:
        hg.mm(a, b, out=c)
        check(a, b, c, 2**-18)
    elif {code} == 0:
        hg.mm(a, b, out=c)
        library = hg._device(None).library
        assert [ctypes.c_int.in_dll(library, name).value for name in ("used", "current")] == [0, 7]
    else:
        refused(hg.Error, "no kernels: Tesla V100; `make wheel GPU=native`", hg.mm, a, b, out=c)
""")
    assert said.count("no kernels: Tesla V100. Now halftone's simulator") == (code == 2)


# ---- the commands

def test_the_commands_are_on_path(python, tmp_path):
    store(tmp_path / "A.npy", [[1, 2], [3, 4]])
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nprint(sys.argv[1:], sys.executable, os.environ['LD_PRELOAD'])\n")
    for words in (["halftone-sim"], ["halftone"], ["python", "-m", "halftone_gemm"]):
        done = passes([*words, "mm", "A.npy", "A.npy", "-o", "C.npy"], tmp_path, env=python.env)
        assert "error at most" in done.stdout and ("only the simulator" in done.stderr) == (words != ["halftone-sim"])
    for options in ([], ["--blas"], ["--accuracy", "fp32", "--"], ["--accuracy=fp32"]):
        said = passes(["python", "-m", "halftone_gemm", "run", *options, "script.py", "--", "x"], tmp_path, env=python.env).stdout
        assert said.startswith(f"['--', 'x'] {python.bin}/python") and f"{python.libraries}/bin/../lib/libhalftone_" in said, said
    assert "1" == passes(["python", "-m", "halftone_gemm", "run", "--", "python", "-c", "print(1)"], tmp_path, env=python.env).stdout.strip()
    passes(["halftone-sim", "report", "--sizes", "16", "--families", "uniform", "--schemes", "f16x3", "--html", "p.html"], tmp_path,
           env={"PATH": f"{python.bin}:/usr/bin:/bin"})


# ---- libraries of arrays

def test_numpy(built, tmp_path):
    own = Python(tmp_path / "venv", built[1])
    lacks = fetch_numpy(own.bin / "python", tmp_path)
    if lacks:
        pytest.skip("pip cannot fetch NumPy: " + lacks)
    manual = (ROOT / "runtime/MANUAL.md").read_text().split("From Python\n")[1]
    own("import numpy as np\na, b = np.eye(3), np.ones((3, 3))\n" + "".join(re.findall(r"(?m)^    (.*\n)", manual)) + "assert (c == 3 * b).all()\n" + """
rng = np.random.default_rng(1)
for kind, units in (np.float32, 2**-18), (np.float64, 2**-46):
    a, b = rng.standard_normal((2, 1, 33, 47)).astype(kind), rng.standard_normal((3, 29, 47)).astype(kind).swapaxes(1, 2)
    c, exact = hg.mm(a, b), a.astype(np.longdouble) @ b.astype(np.longdouble)
    assert type(c) is np.ndarray and c.dtype == kind and c.flags.c_contiguous
    assert (abs(c - exact) <= units * (abs(a) @ abs(b))).all()
    assert (abs(hg.mm(np.asfortranarray(a[0, 0]), b[0]) - exact[0, 0]) <= units * (abs(a[0, 0]) @ abs(b[0]))).all()
    old = c.copy()
    assert hg.mm(a, b, out=c, alpha=2, beta=-1) is c and np.allclose(c, old, atol=1e-5)
    assert hg.mm(a[:, :, :0], b).shape == (2, 3, 0, 29) and (hg.mm(a[..., :0], b[:, :0]) == 0).all()
x, y = (z.astype(np.float16) for z in (a, b))
for options in {}, {"accuracy": "invariant"}:
    out = np.empty((2, 3, 33, 29), np.float32)
    c, same = hg.mm(x, y, **options), hg.mm(x.astype(np.float32), y.astype(np.float32), **options)
    assert c.dtype == np.float32 and (c == same).all() and hg.mm(x, y, out=out, **options) is out and (out == same).all()
assert hg.query(x, y, accuracy="invariant")["scheme"] == "i8x6"
refused(TypeError, "out float16: it must be float32", hg.mm, x, y, out=np.empty((2, 3, 33, 29), np.float16))
c = hg.mm(a, b)
c.flags.writeable = False
refused(ValueError, "read-only", hg.mm, a, b, out=c)
refused(TypeError, "unmasked", hg.mm, np.ma.masked_array(a), b)
refused(ValueError, "copy it first", hg.mm, a[..., ::-1], b)
refused(ValueError, "out lies where a does", hg.mm, a[0, 0, :, :33], a[0, 0, :, :33], out=a[0, 0, :, :33])
a, b = rng.standard_normal((21, 50), np.float32), np.asfortranarray(rng.standard_normal((50, 30), np.float32))
ranks = [(a[:, i:j], b[i:j]) for i, j in ((0, 7), (7, 7), (7, 50))]
rows, columns = (np.max([hg.maxima(*x)[i] for x in ranks], 0) for i in (0, 1))
sums = sum(hg.partial(*x, rows, columns) for x in ranks)
whole = hg.mm(a, b, alpha=1.5, accuracy="invariant").view(np.int32)
assert (hg.finish(sums, rows, columns, alpha=1.5).view(np.int32) == whole).all() and np.isnan(hg.finish(sums, rows * 2, columns)).all()
refused(ValueError, "shape (21,) without gaps", hg.partial, a, b, rows[1:], columns)
refused(ValueError, "shape (651,) without gaps", hg.finish, sums, rows[1:], columns)
for kind in np.float64, np.float16:
    refused(TypeError, "in float32", hg.maxima, a.astype(kind), b.astype(kind))
refused(ValueError, "of two matrices", hg.maxima, a[None], b)
refused(ValueError, "of two matrices", hg.maxima, np.float32(1), b)
refused(TypeError, "a is a builtins.list", hg.maxima, a.tolist(), b)
refused(ValueError, "rows is <f4 of shape (21, 1)", hg.partial, a, b, rows[:, None], columns)
refused(TypeError, "rows is a builtins.NoneType", hg.finish, sums, None, columns)
assert hg.finish(np.zeros(22, np.int64), rows, columns[:0]).shape == (21, 0)
np.ones(30, np.float32)  # whose memory the next one of its size takes
assert (hg.maxima(a[:0], b)[1] == 0).all()
refused(hg.Error, "scheme", hg.maxima, a, b, accuracy="fp32")
""")
    assert "float64: numpy's error" in passes(["python", ROOT / "bench/examples/arrays.py"], tmp_path, env=own.env).stdout


TORCH = """
import contextlib, torch
warnings.simplefilter("ignore")
torch.manual_seed(1)
for kind, units in (torch.float32, 2**-18), (torch.float64, 2**-46):
    a, b = torch.randn(2, 1, 7, 5, dtype=kind), torch.randn(3, 6, 5, dtype=kind).mT
    c, exact = hg.mm(a, b), a.double() @ b.double()
    assert c.dtype == kind and ((c - exact).abs() <= units * (a.abs() @ b.abs())).all()
    old = c.clone()
    assert hg.mm(a, b, out=c, alpha=2, beta=-1) is c and torch.allclose(c, old, atol=1e-5)
a, b, w = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 4), (2, 4, 5), (4, 5)))
for other in b, w:
    assert torch.autograd.gradcheck(lambda x, y: hg.mm(x, y, alpha=3), (a, other))
    assert torch.autograd.gradgradcheck(hg.mm, (a, other))
assert torch.autograd.gradcheck(hg.mm, (w.mT, a.mT))
hg.mm(a, w).sum().backward()
compiled = torch.compile(lambda x, y: torch.relu(hg.mm(x, y, accuracy="fp64-exact")) + 1, backend="aot_eager", fullgraph=True)
assert torch.equal(compiled(a, w), torch.relu(hg.mm(a, w, accuracy="fp64-exact")) + 1)
compiled(a, w).sum().backward()
with torch.no_grad():
    out = torch.zeros(2, 3, 5, dtype=torch.float64)
    torch.compile(lambda x, y, z: hg.mm(x, y, out=z), backend="aot_eager", fullgraph=True)(a, w, out)
    assert torch.equal(out, hg.mm(a, w))
traced = torch.jit.trace(lambda x, y: hg.mm(x, y), (a.detach(), w.detach()))
assert torch.equal(traced(-a.detach(), w.detach()), -hg.mm(a.detach(), w.detach()))
refused(ValueError, "a trace would miss", torch.jit.trace, hg.maxima, (torch.rand(3, 4), torch.rand(4, 5)))
with torch.autograd.profiler.profile() as seen:
    hg.mm(a.detach(), w.detach())
assert "halftone::mm" in {x.key for x in seen.key_averages()}
tests = "test_schema", "test_faketensor", "test_autograd_registration", "test_aot_dispatch_dynamic"
torch.library.opcheck(torch.ops.halftone.mm, (a, w, 1.0, "scheme auto"), test_utils=tests)
torch.library.opcheck(torch.ops.halftone.mm_out, (a.detach(), w.detach(), out, 1.0, 0.5, "scheme auto"), test_utils=tests)
meta = hg.mm(a.detach().to("meta"), w.detach().to("meta"))
assert meta.shape == (2, 3, 5) and meta.device.type == "meta"
refused(ValueError, "no gradient", hg.mm, a, w, out=out)
for watch in contextlib.nullcontext, torch.autograd.profiler.profile:
    weighed = (torch.ones_like(out, requires_grad=True) * out).sum()
    with watch():
        hg.mm(a.detach(), w.detach(), out=out)
    refused(RuntimeError, "inplace", weighed.backward)
for i in range(3):
    refused(ValueError, "move some", lambda x, y, z: hg.mm(x, y, out=z), *(x.detach().to("meta" if i == j else "cpu") for j, x in enumerate((a, w, out))))
refused(RuntimeError, "functorch", torch.func.grad(lambda x: hg.mm(x, w.detach()).sum()), a.detach())
refused(TypeError, "some are not", hg.mm, a, w.detach().numpy())
for kind in torch.bfloat16, torch.float16:
    x, y = torch.randn(2, 3, 33, dtype=torch.float32).to(kind).requires_grad_(), torch.randn(7, 33).to(kind).T
    c = hg.mm(x, y, accuracy="invariant")
    assert c.dtype == torch.float32 and torch.equal(c, hg.mm(x.float(), y.float(), accuracy="invariant"))
    c.sum().backward()
    assert x.grad.dtype == kind and torch.allclose(x.grad.float(), y.float().sum(1), rtol=1e-2)
    torch.library.opcheck(torch.ops.halftone.mm, (x, y, 1.0, "scheme auto"), test_utils=tests[:2])
refused(TypeError, "out bfloat16: it must be float32", hg.mm, y.bfloat16().T, y.bfloat16(), out=torch.zeros(7, 7).bfloat16())
refused(TypeError, "type torch.int8", hg.mm, a.to(torch.int8), w.to(torch.int8))
refused(ValueError, "convert or move", hg.mm, a.float(), w)
refused(ValueError, "copy it first", hg.mm, a[..., ::2].detach(), w[::2].detach())
refused(ValueError, "do not go", hg.mm, a, torch.zeros(3, 4, 5, dtype=a.dtype))
negated = torch.randn(3, 4, dtype=torch.complex128).conj().imag
assert negated.is_neg() and torch.allclose(hg.mm(negated, w.detach()), negated @ w.detach())
refused(ValueError, "x.resolve_neg()", hg.maxima, negated, w.detach())
refused(ValueError, "no gradient", hg.maxima, w.mT, w)
w = torch.nn.Parameter(w)
with torch.no_grad():
    assert torch.equal(hg.mm(a, w, alpha=2), 2 * hg.mm(a, w)) and torch.equal(hg.mm(a, w, alpha=-1), -hg.mm(a, w))
from concurrent.futures import ThreadPoolExecutor
pairs = torch.randn(200, 2, 8, 8)
with ThreadPoolExecutor(4) as pool: # calls of one shape share what was made ready
    assert all(torch.equal(hg.mm(*pair), c) for pair, c in zip(pairs, pool.map(lambda pair: hg.mm(*pair), pairs)))
refused(ValueError, "forward mode", torch.func.jvp, lambda x: hg.mm(x, w.detach()), (a.detach(),), (a.detach(),))
refused(TypeError, "layout torch.sparse", hg.query, a, w.detach().to_sparse())
assert hg.mm(torch.zeros(0, 4, dtype=a.dtype), w.detach()).shape == (0, 5)
"""


JAX = """
import numpy as np
import jax, jax.numpy as jnp
warnings.simplefilter("ignore")
jax.config.update("jax_enable_x64", True)
for kind, units in (np.float32, 2**-18), (np.float64, 2**-46):
    a, b = jnp.arange(35, dtype=kind).reshape(5, 7) / 8, jnp.arange(28, dtype=kind).reshape(7, 4) / 4
    c = hg.mm(a, b)
    d = hg.mm(a, -b)
    assert isinstance(c, jax.Array) and c.dtype == kind and bool((abs(c - a @ b) <= units * (abs(a) @ abs(b))).all()) and bool((d == -c).all())
    assert bool((jnp.zeros((5, 4), kind) == 0).all())
refused(ValueError, "read-only", hg.mm, a, b, out=c)
refused(TypeError, "type bfloat16", hg.mm, a.astype(jnp.bfloat16), b)
refused(TypeError, "outside of jit", jax.jit(hg.mm), a, b)
"""


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_other_libraries(python, name):
    own, env = python_with(name), {**os.environ, "PYTHONPATH": str(python.libraries.parent)}
    passes([own, "-c", ARRAYS + {"torch": TORCH, "jax": JAX}[name]], env=env)
    if name == "torch":
        assert "fp32: bf16x6u" in passes([own, ROOT / "bench/examples/training.py"], env=env).stdout
        run = passes([own, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", ROOT / "bench/examples/ranks.py"], env=env)
        assert run.stdout.count("of 2: equal bits") == 2
