"""Shared by the Python tests: where the repository and its tools are. Built by `make test` before pytest starts."""
import fcntl
import hashlib
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import pytest

from copies import ROOT, build_generator, copy_of_repository # noqa: F401

GEN = ROOT / "out" / "bin" / "halftone-gen"
NVIDIA = ["t4", "titanrtx", "rtx6000", "a100", "a800", "rtx3090", "rtxa6000", "rtx4090", "l40s", "h100", "h200", "b200", "rtx5090", "rtxpro6000", "gb10"]
AMD = ["mi210", "mi250x"]
SIM = ["g++", "-std=c++17", "-O0", "-fno-thread-jumps", "-x", "c++", "-DHT_SIMULATOR", "-ffp-contract=off", "-include",
       str(ROOT / "runtime/sim/ht_sim.h"), "-I" + str(ROOT / "runtime"), "-iquote" + str(ROOT / "bench/halftone")]

# Of sources that are there: out/ may remember others.
SIM_OBJECTS = [ROOT / f"out/obj/runtime/sim/{p.stem}.o" for p in sorted((ROOT / "runtime/sim").glob("*.c*"))]


def gen(*args, root=ROOT, check=True, env=None, binary=GEN):
    run = subprocess.run([str(binary), *map(str, args), "--root", str(root)], capture_output=True, text=True,
                         env={**os.environ, **(env or {})})
    if check:
        assert run.returncode == 0, run.stderr
    return run


def explain_rows(*args):
    """What explain ranks, one dict a tile."""
    lines = gen("explain", *args, "--tsv").stdout.splitlines()
    head = lines[0].split("\t")
    return [dict(zip(head, line.split("\t"))) for line in lines[1:]]


def runtime_objects():
    """Of the library for the simulator, all but kernels, dispatch table and simulator."""
    return [ROOT / f"out/obj/runtime/{p.stem}.o" for p in sorted((ROOT / "runtime").glob("ht_*.c"))] + [ROOT / "out/obj/runtime/dev_sim.o"]


def bench_objects(*names):
    return [ROOT / f"out/obj/bench/halftone/{name}.o" for name in names]


def set_with(gpu, has_kernel):
    """The folder of a set, if it has what is asked for; the smallest tiles of each kind, of `make test`, may have not."""
    folder = ROOT / "out" / gpu
    if not has_kernel(folder) and " --cover" in (folder / "manifest").read_text().splitlines()[0]:
        pytest.skip("no such tile in a set of the smallest ones")
    return folder


def example(stem="halftone"):
    """bench/examples/gemm.c, by a library whose names begin so."""
    return (ROOT / "bench/examples/gemm.c").read_text().replace("halftone", stem)


def git(root, *command):
    return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, errors="replace", check=True).stdout


def commit_that_added(path, root=ROOT):
    """Where a rule of the history begins: the commit that added the file which holds it. None without history."""
    try:
        if git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
            return None
        return next(iter(git(root, "log", "--diff-filter=A", "--reverse", "--format=%H", "--", path).split()), None)
    except (OSError, subprocess.CalledProcessError):
        return None


NO_HISTORY = "no history here: a shallow clone, a copy without git, or this file is not committed yet"


def full_disk(bytes_left):
    """preexec_fn: files of the child may not grow beyond this; writing more fails as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, bytes_left))
    return limit


# ---- NumPy, which nothing but tests and studies needs

NUMPY = "numpy==2.2.6 " + " ".join("--hash=sha256:" + digest for digest in ( # of PyPI, for x86-64 and Python 3.10 to 3.13
    "fc7b73d02efb0e18c000e9ad8b83480dfcd5dfd11065997ed4c6747470ae8915", "ba10f8411898fc418a521833e014a77d3ca01c15b0c6cdcce6a0d2897e6dbbdf",
    "fd83c01228a688733f1ded5201c678f0c53ecc1006ffbc404db9f7a899ac6249", "1bc23a79bfabc5d056d106f9befb8d50c31ced2fbc70eedb8155aec74a45798f"))


def fetch_numpy(python, folder):
    """Into this Python; what pip says where it cannot."""
    (folder / "numpy.txt").write_text(NUMPY)
    done = subprocess.run([python, "-m", "pip", "-q", "install", "--require-hashes", "--only-binary=:all:", "-r", folder / "numpy.txt"],
                          capture_output=True, text=True)
    return done.stderr[-200:] if done.returncode else None


def numpy_python():
    """A Python that imports NumPy: this one, the system's, or one in out/test that pip gives it to, once for all processes."""
    for python in dict.fromkeys([sys.executable, shutil.which("python3") or sys.executable, "/usr/bin/python3"]):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
            return python
    folder = ROOT / "out/test/numpy"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = folder / "venv/bin/python"
        if not (folder / "done").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "venv"], check=True)
            if fetch_numpy(python, folder):
                return None
            (folder / "done").touch()
    return python


def python_with(name):
    """A Python that imports what is too large to fetch; else the test is skipped."""
    for python in sys.executable, shutil.which("python3"), "/usr/bin/python3", os.environ.get("HALFTONE_PYTHON"):
        if python and subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode == 0:
            return python
    pytest.skip(f"no Python here imports {name}; HALFTONE_PYTHON names one that does")


# ---- what the command reads and writes: .npy matrices and tables

def npy(rows, cols, numbers=None, descr="<f4", fortran=False):
    """The bytes of a file that stores these numbers, or 0, 1, 2, ..."""
    head = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = struct.pack(f"{descr[0]}{rows * cols}{'d' if descr[1:] == 'f8' else 'f'}", *(range(rows * cols) if numbers is None else numbers))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def store(path, matrix, fortran=False, descr="<f4"):
    path.write_bytes(npy(len(matrix), len(matrix[0]), [x for line in (zip(*matrix) if fortran else matrix) for x in line], descr, fortran))


def load(path):
    """Type, rows."""
    raw = path.read_bytes()
    head = raw[10:10 + struct.unpack("<H", raw[8:10])[0]].decode()
    rows, cols = map(int, re.search(r"\((\d+), (\d+)\)", head).groups())
    descr, by_column = re.search(r"'descr': '(\S+)'", head)[1], "'fortran_order': True" in head
    flat = struct.unpack(f"<{rows * cols}{'d' if descr == '<f8' else 'f'}", raw[10 + len(head):])
    return descr, [flat[i::rows] if by_column else flat[i * cols:(i + 1) * cols] for i in range(rows)]


def rows(path):
    """A table's rows by column."""
    lines = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


# ---- compilers, samples

def nvcc():
    """The compiler that `make` found; without make the same search: wheels, PATH, the usual folder."""
    if "NVCC" in os.environ:
        found = shutil.which(os.environ["NVCC"])
        return found and str(ROOT / found)
    wheels = ROOT / "out/toolchain/nvidia/cu13/bin/nvcc"
    return str(wheels) if wheels.is_file() else shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def sampled(digests, one_in, seed=None):
    """One in so many: all digests together decide, or the seed, so that equal sources have the same sample and every change another one."""
    digests = sorted(digests)
    seed = seed or "".join(digests)
    return {digest for digest in digests if int(digest, 16) % one_in == int(digest_of(seed), 16) % one_in}


def digest_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:24]


# Of these tests `make test` takes one in so many, others after each change of the sources. `make test-rest` takes all that have not passed there.
MUTATIONS = 16
SAMPLED = {  # the first that a name begins with
    "package/test_vendored": 10, "package/": 5, "dropin/": 3, "sim/test_sanitized": 6, "mutation/": 4,
    "kernels/test_crt_kernels": 12, "kernels/test_exact_kernels": 8, "kernels/test_native64": 8, "kernels/test_ozaki": 8,
    "kernels/test_mixpert": 4, "kernels/test_template": 4, "kernels/test_amd.py::test_template": 3,
    "unit/test_contract.py::test_parts_of_a_call": 6, "unit/test_generate": 3, "unit/test_page": 3, "unit/test_apps": 3, "unit/test_options": 3,
}
PASSED = ROOT / "out/test/sampled.txt"


def pytest_addoption(parser):
    parser.addoption("--sample", action="store_true",
                     help="what `make test` runs: a sample of what takes long, nothing that needs whole sets")
    parser.addoption("--rest", action="store_true", help="what has not passed with --sample, and what takes a sample of its own")


def pytest_configure(config):
    config.addinivalue_line("markers", f"mutation: breaks something; --sample takes one in {MUTATIONS}, others after each change of the sources")
    config.addinivalue_line("markers", "whole: needs all tiles or schemes of a set; --sample leaves it out")
    config.addinivalue_line("markers", "part: does a part of its work with --sample")
    if config.getoption("--sample") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Passed())


def sources_digest():
    """Of all that is built and tested."""
    files = [p for folder in ("gen", "templates", "runtime", "bench/halftone", "tests") for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix != ".pyc"]
    return hashlib.sha256(b"".join(str(p.relative_to(ROOT)).encode() + p.read_bytes() for p in sorted(files))).hexdigest()


def one_in(item):
    """How many tests there are for one of them that --sample takes."""
    if item.get_closest_marker("mutation"):
        return MUTATIONS
    return next((rate for path, rate in SAMPLED.items() if item.nodeid.startswith(path)), 1)


def sample_of(items):
    kinds = {}
    for item in items:
        if not item.get_closest_marker("whole"):
            kinds.setdefault(one_in(item), {})[digest_of(item.nodeid)] = item
    seed = sources_digest()
    return {kind[digest].nodeid for rate, kind in kinds.items() for digest in sampled(kind, rate, seed)}


def pytest_collection_modifyitems(config, items):
    sample, rest = config.getoption("--sample"), config.getoption("--rest")
    if not sample and not rest:
        return
    if sample:
        taken = sample_of(items)
        kept = [item for item in items if item.nodeid in taken]
    else:
        head, *passed = PASSED.read_text().splitlines() if PASSED.is_file() else [""]
        passed = set(passed) if head == sources_digest() else set()
        kept = [item for item in items if item.nodeid not in passed or item.get_closest_marker("part")]
        kept.sort(key=lambda item: not item.get_closest_marker("part"))  # the longest first
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


class Passed:
    """Notes which tests have; where several processes run them, the one that started those."""
    def __init__(self):
        self.names = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self):
        PASSED.parent.mkdir(parents=True, exist_ok=True)
        PASSED.write_text("\n".join([sources_digest(), *self.names, ""]))


def seconds_left():
    """HALFTONE_TEST_UNTIL, in seconds since 1970, ends `make test-rest` on a machine that is too slow for all of it (.ci/run)."""
    return float(os.environ.get("HALFTONE_TEST_UNTIL") or "inf") - time.time()


def pytest_runtest_setup(item):
    if item.config.getoption("--rest") and seconds_left() < 0:
        pytest.skip("no time left (HALFTONE_TEST_UNTIL)")


@pytest.fixture(scope="session", autouse=True)
def own_tmpdir():
    """hipcc leaves folders behind in TMPDIR: what tests start has one that goes with them."""
    before = os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        yield
    os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)


@pytest.fixture(scope="session")
def emitted(tmp_path_factory):
    """Folder with the generated sources of a GPU, by its usual schemes or by these; each is generated once."""
    made = {}

    def make(gpu, *schemes):
        if (gpu, schemes) not in made:
            made[gpu, schemes] = tmp_path_factory.mktemp("emit") / gpu
            gen("emit", "--gpu", gpu, "--out", made[gpu, schemes], *(["--scheme", ",".join(schemes)] if schemes else []))
        return made[gpu, schemes]

    return make
