#!/usr/bin/env python3
"""Mutated budget files through halftone-gen: values at and between the ends of their ranges, broken lines, wrong bytes. Each is taken, with
exit code 0 and nothing on stderr, or refused with exit code 1 and lines that begin with the file's place; what is refused leaves no file.
A case is a function of (seed, index) alone: --seed S --case I repeats it."""
import argparse
import collections
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE_SECONDS = 60
SCHEMES = "half markidis ootomo egemm legemm f16x3 bf16 bf16x3 bf16x6 bf16x9 tf32 tf32x3 bf16x6u i8x3 i8x6 i8x10".split()
HOSTILE = ["", "0", "-1", "1", "9223372036854775807", "9223372036854775808", "99999999999999999999999", "1e3", "0x10", "1 2", "+5", "5.0", "nan",
           "'", "\"", "%s%n", "$(id)", "../x", "a" * 600]


def ranges():
    """Smallest and largest sane value of each numeric key."""
    text = (ROOT / "gen/facts/gpu.h").read_text()
    return {key: (int(low), int(high)) for key, low, high in re.findall(r"X\((\w+), (-?\d+), (\d+),", text)}


def inside(rng, low, high):
    """Ends, their neighbours, small numbers, and numbers of every size."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice([low, high, low + 1, high - 1])
    if kind == 1:
        return min(high, max(low, 1 << rng.randrange(0, 31)))
    if kind == 2:
        return min(high, low + rng.randrange(100))
    return min(high, max(low, int(2 ** (rng.random() * max(high, 2).bit_length()))))


def replace_value(line, value):
    return re.sub(rb"=[^#]*", b"= " + value.encode() + b"  ", line, count=1)


def mutate_line(rng, lines, limits):
    """One line of the file, as a careless user would change it."""
    at = rng.randrange(len(lines))
    key = lines[at].split(b"=")[0].strip().decode(errors="replace")
    kind = rng.randrange(10)
    if key in limits and kind < 6:
        low, high = limits[key]
        value = str(inside(rng, low, high)) if kind < 5 else rng.choice([str(low - 1), str(high + 1)])
        lines[at] = replace_value(lines[at], value)
    elif kind == 6:
        lines[at] = replace_value(lines[at], rng.choice(HOSTILE))
    elif kind == 7:
        del lines[at]
    elif kind == 8:
        lines.insert(at, rng.choice(lines))
    elif kind == 9 and lines[at]:
        place = rng.randrange(len(lines[at]))
        lines[at] = lines[at][:place] + bytes([rng.randrange(256)]) + lines[at][place + rng.randrange(2):]


def mutated(rng, limits):
    """A budget file, and its name for the report."""
    base = rng.choice(sorted((ROOT / "gen/gpus").glob("*.gpu")))
    lines = base.read_bytes().split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        if rng.random() < 0.6: # a number that is as good as any
            at = rng.choice([i for i, line in enumerate(lines) if line.split(b"=")[0].strip().decode(errors="replace") in limits] or [0])
            low, high = limits.get(lines[at].split(b"=")[0].strip().decode(errors="replace"), (0, 1))
            lines[at] = replace_value(lines[at], str(inside(rng, low, high)))
        elif lines:
            mutate_line(rng, lines, limits)
    data = b"\n".join(lines)
    if rng.random() < 0.05:
        data = data[: rng.randrange(len(data) + 1)]
    return data, base.stem


def shape(rng):
    size = lambda: rng.choice([1, 2, 17, 64, 100, 1000, 4096, 65536, 10**6, 2**31 - 1])
    return f"{size()}x{size()}x{size()}"


def command(rng, budget, folder, limits):
    """Words behind halftone-gen, and what the command may write."""
    out = folder / "out"
    scheme = rng.choice(SCHEMES)
    kind = rng.randrange(8)
    if kind < 4:
        words = ["explain", "--gpu", budget, "--scheme", scheme, "--shape", shape(rng), "--model", rng.choice(["halftone", "halftone", "egemm", "legemm"])]
        key = rng.choice(sorted(limits))
        extra = [[], ["--tsv"], ["--html", out], ["--what-if", f"{key}={inside(rng, *limits[key])}"], ["--compare", rng.choice(["t4", "h200", "mi210"])]]
        return words + extra[rng.choice([0, 0, 1, 2, 3, 4])], out
    if kind < 7:
        return ["emit", "--gpu", budget, "--out", out, "--scheme", scheme] + rng.choice([[], ["--lean"]]), out
    if rng.random() < 0.5:
        return ["emit", "--gpu", budget, "--out", out], out
    return ["vendor", "--gpu", budget, "--out", out, "--scheme", scheme, "--lean"] + rng.choice([[], ["--amalgamation"], ["--prefix", "my_"]]), out


def fault_of(words, run, budget, folder, out):
    """What is wrong with how the command ended; None: nothing."""
    left = sorted(p.name for p in folder.iterdir() if p not in (budget, out))
    lines = run.stderr.decode(errors="replace").split("\n")
    if left:
        return f"leaves {left}"
    if run.returncode == 0:
        whole = run.stdout and (words[1] != "emit" or (out / "manifest").is_file())
        return "exit 0 with words on stderr" if run.stderr else None if whole else "exit 0 and nothing came of it"
    if run.returncode != 1:
        return f"exit {run.returncode}"
    if out.exists():
        return "refused, but something was written"
    if lines[-1] != "" or len(lines) < 2:
        return "refused without a line"
    for line in lines[:-1]:
        if not re.match(r"[\w./-]+(:\d+)?: ..........", line) or not line.isprintable():
            return "a line without a place, or with bytes that no terminal should get"
    return None


def run_case(args, limits, index, totals):
    """None, or what is wrong and the command's last words."""
    rng = random.Random(f"{args.seed} {index}")
    data, name = mutated(rng, limits)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="halftone_fuzz_"))
    try:
        budget = folder / "my.gpu"
        budget.write_bytes(data)
        words, out = command(rng, budget, folder, limits)
        words = [str(args.generator), *map(str, words), "--root", str(ROOT)]
        try:
            run = subprocess.run(words, capture_output=True, timeout=CASE_SECONDS)
        except subprocess.TimeoutExpired:
            return "takes too long", " ".join(words), ""
        fault = fault_of(words, run, budget, folder, out)
        totals["taken" if run.returncode == 0 else "refused"] += 1
        totals[words[1]] += 1
        if args.case is not None:
            print(f"  {name}: {' '.join(words)}: exit {run.returncode}\n{run.stderr.decode(errors='replace')}")
            if args.keep:
                args.keep.write_bytes(data)
        if fault and run.returncode < 0:
            fault = f"killed by signal {signal.Signals(-run.returncode).name}"
        return (fault, f"{name}: {' '.join(words)}", run.stderr.decode(errors="replace")[-2000:]) if fault else None
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--failures", type=int, default=20)
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--keep", type=pathlib.Path, help="with --case: the budget file goes there")
    parser.add_argument("--generator", type=pathlib.Path, default=ROOT / "out/bin/halftone-gen", help="for example one built with sanitizers")
    args = parser.parse_args()
    limits, totals, failures, start = ranges(), collections.Counter(), 0, time.monotonic()
    first, count = (args.first, args.count) if args.case is None else (args.case, 1)
    index = first
    while index < first + count and failures < args.failures and time.monotonic() - start < args.seconds:
        wrong = run_case(args, limits, index, totals)
        if wrong:
            failures += 1
            print(f"FAILED {wrong[0]}\n    in {wrong[1]}\n    {wrong[2]}\n    again: {sys.argv[0]} --seed {args.seed} --case {index}", flush=True)
        index += 1
    print(f"fuzz budgets: seed {args.seed}, cases {first} to {index - 1}, {time.monotonic() - start:.1f} s, {failures} failed\n  {dict(totals)}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
