"""Holds the tile model against a bench TSV: what `halftone-gen explain` predicts for each measured tile beside what
was measured, their rank correlation, and what the model's pick among them loses. Exit 1 if a pick loses more than
5 %.

    sed 's/^name = h200 /name = mma /; s/^isa = sm_90a /isa = sm_80 /' gen/gpus/h200.gpu >out/mma.gpu
    python3 bench/model_check.py bench/results/h200-a800set-tiles-fit.tsv out/mma.gpu [out/bin/halftone-gen [ROOT]]

The budget is of the GPU that ran the kernels, not of their set, but its `isa` is theirs: here mma.sync on an H200. Kernels
are compared packed, without split-K."""
import csv
import re
import subprocess
import sys

LIMIT = 0.05
NAME = re.compile(r"ht_(\w+?)(?:_w?g?mma)?_(\d+)x(\d+)x(\d+)_wg?(\d+)x(\d+)_s(\d+)(?:_c(\d+))?_[a-z]*\d+a?$")


def measured(path):
    """{(scheme, (m, n, k)): {tile: TFLOPS}}; ablations have other names and drop out."""
    groups = {}
    with open(path, encoding="utf-8") as lines:
        for row in csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"):
            match = NAME.match(row["kernel"])
            if match:
                key = (row["method"], tuple(int(row[x]) for x in "mnk"))
                groups.setdefault(key, {})[tuple(int(x or 1) for x in match.groups()[1:])] = float(row["kernel_tflops"])
    return groups


def predicted(generator, root, gpu, scheme, shape):
    """{tile: (rank, TFLOPS)} of the tiles that fit."""
    command = [generator, "explain", "--root", root, "--gpu", gpu, "--scheme", scheme, "--shape",
               "x".join(map(str, shape)), "--tsv"]
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    flops = 2 * shape[0] * shape[1] * shape[2]
    return {tuple(int(row[x]) for x in ("bm", "bn", "bk", "wm", "wn", "stages", "cluster")):
            (int(row["rank"]), flops / float(row["predicted_us"]) / 1e6)
            for row in csv.DictReader(table, delimiter="\t") if row["verdict"] != "reject"}


def ranks(values):
    """1 for the smallest; equal values share the mean of their ranks."""
    return [sum(y < x for y in values) + (values.count(x) + 1) / 2 for x in values]


def correlation(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread ** 0.5 if spread else float("nan")


def compare(scheme, shape, group, model):
    """Prints one group; what the pick loses."""
    tiles = sorted((tile for tile in group if tile in model), key=lambda tile: model[tile][0])
    for tile in group.keys() - model.keys():
        print(f"{scheme} {tile}: does not fit this budget, left out")
    if not tiles:
        print(f"{scheme} {shape}: nothing is compared; the budget's isa must be that of these kernels")
        return 1.0
    best = max(group[tile] for tile in tiles)
    print(f"\n{scheme} {shape[0]} x {shape[1]} x {shape[2]}: tiles in the model's order, TFLOPS")
    for tile in tiles:
        print("  %-26s predicted %7.1f  measured %7.1f  error %+5.1f %%  of best %5.1f %%" % (
            "%dx%dx%d_w%dx%d_s%d_c%d" % tile, model[tile][1], group[tile],
            100 * (model[tile][1] / group[tile] - 1), 100 * group[tile] / best))
    loss = 1 - group[tiles[0]] / best
    rank = correlation(list(range(len(tiles))), ranks([-group[tile] for tile in tiles]))
    print(f"  rank correlation {rank:.3f}; the pick loses {100 * loss:.1f} %")
    return loss


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    generator = sys.argv[3] if len(sys.argv) > 3 else "out/bin/halftone-gen"
    root = sys.argv[4] if len(sys.argv) > 4 else "."
    worst = max((compare(scheme, shape, group, predicted(generator, root, sys.argv[2], scheme, shape))
                 for (scheme, shape), group in sorted(measured(sys.argv[1]).items())), default=1.0)
    print(f"\nworst pick loses {100 * worst:.1f} % (limit {100 * LIMIT:.0f} %)")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main()
