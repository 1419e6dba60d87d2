"""Shared by the Python tests: where the repository and its tools are. Built by `make test` before pytest starts."""
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from copies import ROOT, build_generator, copy_of_repository # noqa: F401

GEN = ROOT / "out" / "bin" / "halftone-gen"
NVIDIA = ["t4", "titanrtx", "rtx6000", "a100", "a800", "rtx3090", "rtxa6000", "rtx4090", "l40s", "h100", "h200", "b200", "rtx5090", "rtxpro6000", "gb10"]
AMD = ["mi210", "mi250x"]
SIM = ["g++", "-std=c++17", "-O0", "-fno-thread-jumps", "-x", "c++", "-DHT_SIMULATOR", "-ffp-contract=off", "-include",
       str(ROOT / "runtime/sim/ht_sim.h"), "-I" + str(ROOT / "runtime"), "-iquote" + str(ROOT / "bench/halftone")]


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


MUTATIONS = 4  # one in so many in `make test`


def pytest_addoption(parser):
    parser.addoption("--sample", action="store_true",
                     help="what `make test` runs: a sample of the mutations and of the kernels that are compiled, nothing that needs whole sets")
    parser.addoption("--rest", action="store_true", help="what --sample leaves out, and what takes a sample of its own")


def pytest_configure(config):
    config.addinivalue_line("markers", "mutation: breaks something; --sample takes one in so many, others after each change of a template")
    config.addinivalue_line("markers", "whole: needs sets of all schemes; --sample leaves it out")
    config.addinivalue_line("markers", "part: does a part of its work with --sample")


def pytest_collection_modifyitems(config, items):
    sample, rest = config.getoption("--sample"), config.getoption("--rest")
    if not sample and not rest:
        return
    templates = "".join(path.read_text() for path in sorted((ROOT / "templates").rglob("*")) if path.is_file())
    cases = {digest_of(item.nodeid): item for item in items if item.get_closest_marker("mutation")}
    taken = {cases[digest] for digest in sampled(cases, MUTATIONS, templates)}
    part = [item for item in items if not item.get_closest_marker("whole") and (not item.get_closest_marker("mutation") or item in taken)]
    kept = part if sample else [item for item in items if item not in part or item.get_closest_marker("part")]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept if sample else sorted(kept, key=lambda item: not item.get_closest_marker("part"))  # the longest first


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
