#!/usr/bin/env python3
"""Builds of set t4 in the simulator by other compilers, levels and flags, as distributions and users have them. Each must give what the
default build gives: the fuzzers' whole reports, bit sums and worst errors among them. What says that there is no NaN must be refused in
one line. A case is a function of (seed, index) alone: --seed S --case I repeats it."""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from copies import copy_of_repository # noqa: E402

SCHEMES = "f16x3,bf16x6u,native64,crt15"
COMPILERS = [("gcc", "g++"), ("clang", "clang++")]
LEVELS = ["-O0", "-O1", "-Os", "-O2", "-O3", "-O3 -march=native"]
FLAGS = ["-ffp-contract=fast", "-funsigned-char", "-fwrapv", "-fno-strict-aliasing", "-fstack-protector-strong", "-fno-inline", "-DNDEBUG",
         "-D_GLIBCXX_ASSERTIONS", "-frounding-math", "-fno-builtin", "-fno-math-errno", "-fvisibility=hidden", "-g"]
REFUSED = ["-ffast-math", "-Ofast", "-ffinite-math-only"]
REPORT = re.compile(r"[\d.]+ s,")  # what two runs differ in


def run(folder, *words, **env):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": "", "MAKELEVEL": "", **env})


def build(folder, cc, cxx, flags):
    words = f"GPU=t4 DEVICE=0 LEAN=1 SCHEMES={SCHEMES} CC={cc} CXX={cxx} WARN=-w".split() + [f"CFLAGS={flags}"]
    done = run(folder, "make", *words, "generate")
    return done if done.returncode else run(folder, "make", *words, "out/t4/fuzz-sim", "out/t4/fuzz64-sim")


def reports(folder, seed):
    """What both fuzzers say, without times."""
    runs = [run(folder, f"out/t4/{program}", "--seed", seed, "--count", count) for program, count in (("fuzz-sim", 40), ("fuzz64-sim", 10))]
    return [REPORT.sub("", r.stdout + r.stderr) for r in runs]


def case_of(seed, index):
    """cc, cxx, flags, whether they must be refused."""
    rng = random.Random(f"{seed} {index}")
    cc, cxx = rng.choice([pair for pair in COMPILERS if shutil.which(pair[0]) and shutil.which(pair[1])])
    flags = " ".join([rng.choice(LEVELS), *rng.sample(FLAGS, rng.randrange(1, 4))])
    refused = rng.randrange(6) == 0
    return cc, cxx, f"{flags} {rng.choice(REFUSED)}" if refused else flags, refused


def fault(folder, seed, case, want):
    """What is wrong with a build; "": nothing."""
    cc, cxx, flags, refused = case
    done = build(folder, cc, cxx, flags)
    said = done.stdout + done.stderr
    if refused:
        return "" if done.returncode and re.search(r"error: .*-ffast-math", said) else "not refused in a line that names -ffast-math"
    if done.returncode:
        return "no build:\n" + said[-2000:]
    return "".join(f"another report:\n{got}instead of\n{report}" for got, report in zip(reports(folder, seed), want) if got != report)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--case", type=int)
    asked = parser.parse_args()
    span = range(asked.case, asked.case + 1) if asked.case is not None else range(asked.first, asked.first + asked.count)
    start, failed, index = time.monotonic(), 0, span.start - 1
    with tempfile.TemporaryDirectory() as name:
        folder = copy_of_repository(pathlib.Path(name) / "copy")
        usual = build(folder, "gcc", "g++", "-O2")
        if usual.returncode:
            sys.exit("the default build fails:\n" + usual.stderr[-2000:])
        want = reports(folder, asked.seed)
        for index in span:
            case = case_of(asked.seed, index)
            why = fault(folder, asked.seed, case, want)
            if why:
                failed += 1
                print(f"FAILED {why}\n    in CC={case[0]} CXX={case[1]} CFLAGS='{case[2]}'\n    again: tests/fuzz/cflags.py --seed {asked.seed} --case {index}",
                      flush=True)
            if time.monotonic() - start > asked.seconds:
                break
    print(f"fuzz cflags: seed {asked.seed}, cases {span.start} to {index}, {time.monotonic() - start:.1f} s, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
