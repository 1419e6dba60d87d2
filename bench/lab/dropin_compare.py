"""Native beside the face: dropin_compare.py RESULTS, of dropin_torch.py's and dropin_arrays.py's lines. Exit code 1: a line says FAILED."""
import json
import pathlib
import sys


def read(path):
    rows = {}
    if path.exists():
        for line in path.read_text().splitlines():
            piece, what, value, unit = line.split("\t")
            rows[piece, what] = (value, unit)
    return rows


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def say_distances(results, name, exact):
    """How far loss curves are from the one of FP64: the largest and the mean distance, of each seed. Returns whether the face's mean
    distances are no larger than those of the native orders of a batch, for each seed."""
    sides = [side + order for side in ("native", "face") for order in ("", "-flipped", "-rolled", "-turned")]
    curves = {side: path for side in sides if (path := results / f"curve-{name}{side}.json").exists()}
    means = {"native": [], "face": []}
    if not exact.exists():
        return True
    for side, path in curves.items():
        mine, other = json.loads(path.read_text()), json.loads(exact.read_text())
        if not isinstance(mine[0], list):
            mine, other = [mine], [other]
        off = [[abs(x - y) for x, y in zip(left, right)] for left, right in zip(mine, other)]
        print(f"curves\t{name}{side} from FP64, largest, by seed\t" + " ".join(f"{max(row):.3g}" for row in off))
        print(f"curves\t{name}{side} from FP64, mean, by seed\t" + " ".join(f"{sum(row) / len(row):.3g}" for row in off))
        print(f"curves\t{name}{side} minus FP64, mean, by seed\t" + " ".join(f"{sum(x - y for x, y in zip(left, right)) / len(left):.3g}" for left, right in zip(mine, other)))
        means[side.split("-")[0]].append([sum(row) / len(row) for row in off])
    if len(means["native"]) < 2 or not means["face"]:
        return True
    inside = [mine <= max(column) for mine, column in zip(means["face"][0], zip(*means["native"]))]
    print(f"curves\t{name}face as near to FP64 as the farthest of {len(means['native'])} native orders, by seed\t" + " ".join("yes" if x else "no" for x in inside))
    return all(inside)


def far_samples(results):
    """Samples whose error is more than twice the native one, and more than an FP32 rounding (2^-23 of the largest element)."""
    paths = [results / f"samples-{side}.json" for side in ("native", "face")]
    if not all(path.exists() for path in paths):
        return []
    native, face = (json.loads(path.read_text()) for path in paths)
    far = [f"{name}: {native[name]:.3g} natively, {face[name]:.3g}" for name in native if not face.get(name, 1) <= max(2 * native[name], 2.0 ** -23)]
    print(f"samples\tmore than twice as far as natively\t{len(far)} of {len(native)}")
    return [f"samples: {text}" for text in far]


def main():
    results = pathlib.Path(sys.argv[1])
    native, face = read(results / "native.tsv"), read(results / "face.tsv")
    print("piece\twhat\tnative\tface\tunit\tnative/face")
    for key in dict.fromkeys([*native, *face]):
        left, right = native.get(key, ("-", ""))[0], face.get(key, ("-", ""))[0]
        x, y = number(left), number(right)
        ratio = f"{x / y:.3f}" if x is not None and y else "-"
        print(*key, left, right, (native.get(key) or face[key])[1], ratio, sep="\t")
    failed = [f"curves: {name}face is farther from FP64 than every native order" for name, exact in (("", ""), ("ddp-", "ddp-"), ("fsdp-", "ddp-"))
              if not say_distances(results, name, results / f"curve-{exact}fp64.json")]
    failed += far_samples(results)
    failed += [f"{key[0]}: {key[1]} {rows[key][0]}" for rows in (native, face) for key in rows if "FAILED" in key[1] + rows[key][0]]
    for line in failed:
        print("FAILED\t" + line)
    return 1 if failed else 0


sys.exit(main())
