#!/usr/bin/env python3
"""predicted_levels.py [--gpus t4,...] [--schemes S,...] [--sizes N,...] [--shapes FILE] > model-mixpert-levels.tsv

What the tile model predicts of MixPert's levels and their rivals, for GPUs that nobody here has: no measurement. One run of `halftone-gen explain`
a row (make out/bin/halftone-gen), kernel only. ceiling: the tensor core's data-sheet rate over the scheme's products; native_tflops: the data
sheet's FP32 at the clock that the GPU keeps under load, which the prediction is at, too; /native: predicted over that."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["gpu", "m", "n", "k", "method", "tile", "ceiling_tflops", "predicted_us", "predicted_tflops", "of_ceiling", "bound_by", "native_tflops", "/native"]
SAID = {"ceiling_tflops": r"data-sheet rate over the products is (\S+) TFLOPS", "tile": r"(?m)^Pick: ([^\s,]+)", "predicted_us": r"predicted (\S+) us, \S+ TFLOPS, ",
        "predicted_tflops": r"predicted \S+ us, (\S+) TFLOPS, ", "of_ceiling": r" TFLOPS, (\d+) % of the ceiling", "bound_by": r"; bound by (\w+)",
        "native_tflops": r"where native FP32's peak is (\S+) TFLOPS", "/native": r": (\S+) times that\."}


def predicted(gpu, scheme, shape):
    m, n, k = shape
    run = subprocess.run([ROOT / "out/bin/halftone-gen", "explain", "--gpu", gpu, "--scheme", scheme, "--shape", f"{m}x{n}x{k}", "--root", ROOT],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    found = {column: re.search(said, run.stdout) for column, said in SAID.items()}
    missing = [column for column, match in found.items() if match is None]
    if missing:
        sys.exit(f"predicted_levels.py: explain says nothing of {', '.join(missing)} for {scheme} on {gpu}, {m} x {n} x {k}")
    row = {column: match[1] for column, match in found.items()}
    return row | {"gpu": gpu, "method": scheme, "m": m, "n": n, "k": k, "of_ceiling": f"{int(row['of_ceiling']) / 100:.2f}"}


def shapes_of(options):
    shapes = [(int(n),) * 3 for n in options.sizes.split(",")]
    for line in options.shapes.read_text().splitlines() if options.shapes else []:
        if line.split("#")[0].strip():
            shapes.append(tuple(map(int, line.split("#")[0].split())))
    return shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpus", default="t4,rtx3090,a800,mi210,h100")
    parser.add_argument("--schemes", default="mixpert1,mixpert2,mixpert3,mixpert4,i8x3,i8x6,f16x3")
    parser.add_argument("--sizes", default="1024,4096,8192,24576")
    parser.add_argument("--shapes", type=pathlib.Path)
    options = parser.parse_args()
    version = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--", "gen"], capture_output=True, text=True, check=False).stdout.strip()
    print(f"# halftone: predictions of the tile model by bench/lab/predicted_levels.py, no measurement; gen/ of commit {version or 'unknown'}")
    print("\t".join(COLUMNS))
    for gpu in options.gpus.split(","):
        for shape in shapes_of(options):
            for scheme in options.schemes.split(","):
                row = predicted(gpu, scheme, shape)
                print("\t".join(str(row[column]) for column in COLUMNS))


if __name__ == "__main__":
    main()
