#!/bin/sh
# Is the library as fast as at an older revision? compare.sh OLD.tar.gz RESULTS, on a machine with a GPU and nvcc.
# OLD.tar.gz: `git archive --format=tar.gz REV`. SET (default h200) is built from both trees, then both time `auto` beside SGEMM in turns, ROUNDS times
# (default 3): squares of 512 to 8192 and bench/shapes-skinny.txt. RESULTS gets a table a run and compare.tsv: for each shape the median of
# `auto` over SGEMM on both sides, and new over old.
set -eu
old_tar=$1 out=$2 set_=${SET:-h200} rounds=${ROUNDS:-3} here=$(pwd)
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
tar -xzf "$old_tar" -C "$old"
for tree in "$old" "$here"; do
    (cd "$tree" && make -s -j"$(nproc)" GPU="$set_" generate && make -s -j"$(nproc)" GPU="$set_" build-device) >"$out/build.log" 2>&1 || { tail -5 "$out/build.log" >&2; exit 1; }
done
for round in $(seq "$rounds"); do
    for side in old new; do
        tree=$here
        [ $side = new ] || tree=$old
        for list in "--sizes 512,1024,2048,4096,8192" "--shapes $here/bench/shapes-skinny.txt"; do
            table=$out/$side-$round-${list##*[/,]} only=--baselines
            grep -rq -- '"--baselines"' "$tree/bench" || only=--yardsticks # its older name
            # shellcheck disable=SC2086 # an option and its value
            (cd "$tree" && "out/$set_/halftone" bench $list --schemes auto $only sgemm --seconds 0.1 --out "${table%.txt}.tsv" >"$out/bench.log" 2>&1)
        done
    done
done
python3 - "$out" <<'PYTHON' | tee "$out/compare.tsv"
import pathlib, statistics, sys
ratios = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*-[0-9]*.tsv")):
    head = None
    for line in path.read_text().splitlines():
        cells = line.split("\t")
        if line.startswith("#"):
            continue
        if "method" in cells:
            head = cells
        elif head and len(cells) == len(head):
            row = dict(zip(head, cells))
            if row["method"].startswith("auto"):
                key = tuple(row.get(name, "") for name in ("m", "n", "k", "trans"))
                ratios.setdefault(key, {}).setdefault(path.stem.split("-")[0], []).append(float(row["end/sgemm"]))
print("m\tn\tk\ttrans\told\tnew\tnew/old")
for key, sides in ratios.items():
    if len(sides) == 2:
        before, after = (statistics.median(sides[s]) for s in ("old", "new"))
        print(*key[:3], key[3] or "-", f"{before:.3f}", f"{after:.3f}", f"{after / before:.3f}", sep="\t")
PYTHON
