#!/usr/bin/env python3
"""predicted_levels.py [GPU,...:SCHEME,...:SIZE,... ...] > model-papers.tsv

What the tile model predicts of the papers' schemes on the papers' GPUs, which nobody here has: no measurement. A size is N or MxNxK. One run of
`halftone-gen explain` a row (make out/bin/halftone-gen), kernel only. ceiling: the tensor core's data-sheet rate over the scheme's products;
native_tflops: the data sheet's FP32 at the clock that the GPU keeps under load, which the prediction is at, too; /native: predicted over that."""
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPERS = ["t4,rtx6000:egemm:1024,4096,8192,4096x4096x8192,16384x4096x4096",
          "a800,mi210:legemm,markidis,ootomo,half:4096,8192,4096x16384x4096,4096x4096x16384",
          "a100,rtx3090:mixpert1,mixpert4,tf32x3,bf16x6:1024,8192,24576,2048x2048x32768"]
COLUMNS = ["gpu", "m", "n", "k", "method", "tile", "ceiling_tflops", "predicted_us", "predicted_tflops", "of_ceiling", "bound_by", "native_tflops", "/native"]
SAID = {"ceiling_tflops": r"data-sheet rate over the products is (\S+) TFLOPS", "tile": r"(?m)^Pick: ([^\s,]+)", "predicted_us": r"predicted (\S+) us, \S+ TFLOPS, ",
        "predicted_tflops": r"predicted \S+ us, (\S+) TFLOPS, ", "of_ceiling": r" TFLOPS, (\d+) % of the ceiling", "bound_by": r"; bound by (\w+)",
        "native_tflops": r"where native FP32's peak is (\S+) TFLOPS", "/native": r": (\S+) times that\."}


def predicted(gpu, scheme, size):
    m, n, k = size.split("x") if "x" in size else (size,) * 3
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


def main():
    version = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--", "gen"], capture_output=True, text=True, check=False).stdout.strip()
    print(f"# halftone: predictions of the tile model by bench/lab/predicted_levels.py, no measurement; gen/ of commit {version or 'unknown'}")
    print("\t".join(COLUMNS))
    for gpus, schemes, sizes in (what.split(":") for what in sys.argv[1:] or PAPERS):
        for gpu, size, scheme in itertools.product(gpus.split(","), sizes.split(","), schemes.split(",")):
            row = predicted(gpu, scheme, size)
            print("\t".join(str(row[column]) for column in COLUMNS))


if __name__ == "__main__":
    main()
