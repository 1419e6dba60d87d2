#!/usr/bin/env python3
"""shares.py DIR SET... > shares.tsv

Which share of C the certificate of FP64 (bench/ACCURACY64.md, section 18) keeps for residues: by counting, which decides for the whole product; by a
second scheme, element by element; and what is left to native64, as `halftone mm` counts it. Of the operands in DIR (bench/data/real_data.py --fp64) ROWS
rows of A and columns of B, evenly spread, and all k; then of random data with k = 1024. By out/SET/halftone-sim. Needs NumPy."""
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ROWS, K = 256, 1024
random = np.random.default_rng(0)
DRAWN = {"uniform": lambda *shape: random.uniform(-1, 1, shape), "normal": lambda *shape: random.normal(size=shape),
         "relu": lambda *shape: np.maximum(random.normal(size=shape), 0), "cauchy": lambda *shape: random.standard_cauchy(shape),
         "phi2": lambda *shape: random.uniform(-0.5, 0.5, shape) * np.exp(2 * random.normal(size=shape)),
         "phi4": lambda *shape: random.uniform(-0.5, 0.5, shape) * np.exp(4 * random.normal(size=shape)),
         "sparse": lambda *shape: random.normal(size=shape) * (random.uniform(size=shape) < 0.05)}


def run(set_name, *words):
    done = subprocess.run([ROOT / f"out/{set_name}/halftone-sim", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"shares.py: {done.stderr.strip()}")
    return done.stdout


def spread(x):
    """Rows of x."""
    return x[np.linspace(0, len(x) - 1, min(ROWS, len(x))).astype(int)]


def products(folder):
    """(name, A, B transposed), cut."""
    lines = [line for line in (folder / "operands.tsv").read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines, delimiter="\t"):
        a, b = (np.load(folder / row[side], mmap_mode="r") for side in "ab")
        yield row["product"], spread(a.T if row["trans_a"] == "T" else a), spread(b if row["trans_b"] == "T" else b.T)
    for name, draw in DRAWN.items():
        yield name, draw(ROWS, K), draw(ROWS, K)


def row_of(set_name, folder, a, b):
    files = folder / "a.npy", folder / "b.npy"
    for path, x in zip(files, (a, b)):
        np.save(path, np.ascontiguousarray(x))
    asked = run(set_name, "check", *files, "--tb")
    said = run(set_name, "mm", *files, "--tb", "-o", folder / "c.npy")
    scheme, again = re.search(r"scheme (\w+)", said)[1], re.search(r"; (\d+) of (\d+) elements were computed again", said)
    if again is None:
        return [scheme, "n/a", "n/a", "n/a"]
    left, counted = int(again[1]) / int(again[2]), "all of them have:" in asked
    return [scheme, int(counted), f"{0 if counted else 1 - left:.5f}", f"{left:.5f}"]


def main(folder, *sets):
    print("set\tproduct\tm\tn\tk\tscheme\tby_counting\tby_second\tleft")
    with tempfile.TemporaryDirectory() as own:
        for name, a, b in products(Path(folder)):
            for set_name in sets:
                print(set_name, name, len(a), len(b), a.shape[1], *row_of(set_name, Path(own), a, b), sep="\t")


main(*sys.argv[1:])
