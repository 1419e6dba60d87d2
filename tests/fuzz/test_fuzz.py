"""The fuzzers fail where something is wrong, say how to repeat that alone, and find the same each time."""
import os
import re
import subprocess
import sys

import cflags
import pytest
from conftest import ROOT


def fuzz(*words, **env):
    return subprocess.run(list(map(str, words)), cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True)


def repeats(run, **env):
    """Whether the line that a failed run prints fails again, by itself."""
    words = re.search(r"again: (.*)", run.stdout).group(1).split()
    alone = fuzz(*([sys.executable] if words[0].endswith(".py") else []), *words, **env)
    return alone.returncode == 1 and "1 failed" in alone.stdout


@pytest.mark.whole
@pytest.mark.parametrize("program", ["fuzz", "fuzz64"])
def test_cases_are_the_same_each_time(program):
    words = f"out/t4/{program}-sim", "--seed", 3, "--count", 12
    runs = [fuzz(*words) for _ in range(2)]
    assert runs[0].returncode == 0, runs[0].stdout
    assert re.search(r"cases 0 to 11, .* 0 failed", runs[0].stdout)
    assert len({re.sub(r"[\d.]+ s,", "", run.stdout) for run in runs}) == 1


@pytest.mark.parametrize("program", ["fuzz", "fuzz64"])
def test_what_fails_can_be_repeated(program):
    """Kernels of 32 lanes on a matrix unit of 64."""
    run = fuzz(f"out/t4/{program}-sim", "--seed", 1, "--count", 9, "--failures", 1, HALFTONE_SIM_MODEL="gfx90a")
    assert run.returncode == 1 and "FAILED" in run.stdout
    assert repeats(run, HALFTONE_SIM_MODEL="gfx90a")


def test_many_cases_are_shared_among_cpus():
    """Each case once, and one that fails is told."""
    run = fuzz("sh", "tests/fuzz/many.sh", "out/t4/fuzz-sim", 9)
    ran = [case for first, last in re.findall(r"cases (\d+) to (\d+),", run.stdout) for case in range(int(first), int(last) + 1)]
    assert run.returncode == 0 and sorted(ran) == list(range(9)), run.stdout + run.stderr
    run = fuzz("sh", "tests/fuzz/many.sh", "out/t4/fuzz-sim", 9, HALFTONE_SIM_MODEL="gfx90a")
    assert run.returncode == 1 and re.search(r"FAILED.*\n.*\n +again: ", run.stdout), run.stdout
    assert fuzz("sh", "tests/fuzz/many.sh", "out/t4/fuzz-sim", 0).returncode == 2


def test_fp64_has_the_same_bits_everywhere():
    """By residues, digits, slices and correctly rounded, as far as the sets have all schemes: `make test` leaves some out."""
    runs = [fuzz(f"out/{gpu}/fuzz64-sim", "--seed", 8, "--count", 8) for gpu in ("t4", "h200")]
    bits = [re.search(r"the same everywhere: (\w+)", run.stdout).group(1) for run in runs]
    assert all(run.returncode == 0 for run in runs) and len(set(bits)) == 1 and int(bits[0], 16) != 0, [run.stdout for run in runs]


@pytest.mark.parametrize("case", [93, 453])
def test_fp64_fast_packs_nothing_without_its_scheme(case):
    """The product runs by native64, what is packed is crt14's: MANUAL.md says so of libraries that lack it."""
    run = fuzz("out/t4/fuzz64-sim", "--seed", 1, "--case", case, FUZZ_WITHOUT="crt14")
    assert run.returncode == 0 and "; fp64-fast" in run.stdout and " 1 products (" in run.stdout and " 0 packed" in run.stdout, run.stdout
    with_it = fuzz("out/t4/fuzz64-sim", "--seed", 1, "--case", case)
    assert with_it.returncode == 0 and " 1 packed" in with_it.stdout, with_it.stdout


def test_guards_notice_each_element_beyond():
    """One element of FP32, then of FP64: within C, before and behind it, behind a column and an entry, into A, into both ends of a workspace's guard."""
    run = fuzz("out/test/fuzz/guards", "--count", 16)
    failed = re.findall(r"FAILED (.*)\n    in (.*)\n    again: .* --case (\d+)", run.stdout)
    assert [int(case) for _, _, case in failed] == [case for case in range(16) if case % 8 != 0], run.stdout
    for why, where, _ in failed:
        wanted = r"byte \d+ behind the workspace" if re.search("workspace|guard", where) else "A was written" if "A" in where else r"element -?\d+ .* outside of C"
        assert re.match(wanted, why), (why, where)


def test_builds_are_held_against_the_default_one(monkeypatch, tmp_path):
    """Every compiler, level and flag comes up; another report, a build that fails and one that should are faults."""
    cases = [cflags.case_of(1, i) for i in range(300)]
    assert cases == [cflags.case_of(1, i) for i in range(300)]
    words = " ".join(f"{cc} {flags}" for cc, _, flags, _ in cases)
    assert all(w in words for w in [*cflags.LEVELS, *cflags.FLAGS, *cflags.REFUSED, *(pair[0] for pair in cflags.COMPILERS)])
    built, refused = (subprocess.CompletedProcess([], code, "", said) for code, said in ((0, ""), (2, "x.h:1:2: error: without -ffast-math")))
    monkeypatch.setattr(cflags, "reports", lambda folder, seed: ["a", "b"])
    for made, is_refused, want, fails in ((built, False, "ab", False), (built, False, "ac", True), (refused, False, "ab", True), (built, True, "ab", True),
                                          (refused, True, "ab", False)):
        monkeypatch.setattr(cflags, "build", lambda *_, made=made: made)
        assert bool(cflags.fault(tmp_path, 1, ("gcc", "g++", "-O2", is_refused), list(want))) == fails


@pytest.mark.parametrize("words", [["--seed"], ["--seed", "x"], ["--speed", "1"], ["--count", "1x"]])
def test_slips_are_refused(words):
    run = fuzz("out/t4/fuzz-sim", *words)
    assert run.returncode == 2 and run.stderr.startswith("usage: ")


def test_budgets():
    script = sys.executable, "tests/fuzz/budgets.py", "--seed", 4
    run = fuzz(*script, "--count", 8)
    assert run.returncode == 0 and "0 failed" in run.stdout, run.stdout
    silent = fuzz(*script, "--count", 1, "--generator", "/bin/false")
    assert silent.returncode == 1 and "refused without a line" in silent.stdout
