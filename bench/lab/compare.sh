#!/bin/sh
# Is the library as fast as at an older revision? compare.sh OLD.tar.gz RESULTS, on a machine with a GPU and nvcc.
# OLD.tar.gz: `git archive --format=tar.gz REV`. LISTS names some of squares, skinny, fp64; SCHEMES builds no others. SET (default h200) is built from both trees, then both time `auto` beside SGEMM in turns, ROUNDS times
# (default 3): squares of 512 to 8192 and bench/shapes/skinny.txt; and `fp64` beside DGEMM at 1024 to 8192. RESULTS gets a table a run and
# compare.tsv: for each shape the median over SGEMM or DGEMM on both sides (noise where launches are the host's), and new over old of TFLOPS.
set -eu
old_tar=$1 out=$2 set_=${SET:-h200} rounds=${ROUNDS:-3} here=$(pwd)
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
tar -xzf "$old_tar" -C "$old"
for tree in "$old" "$here"; do
    (cd "$tree" && make -s -j"$(nproc)" GPU="$set_" ${SCHEMES:+SCHEMES=$SCHEMES} generate && make -s -j"$(nproc)" GPU="$set_" ${SCHEMES:+SCHEMES=$SCHEMES} build-device) >"$out/build.log" 2>&1 || { tail -5 "$out/build.log" >&2; exit 1; }
done
for round in $(seq "$rounds"); do
    for side in old new; do
        tree=$here
        [ $side = new ] || tree=$old
        only=--baselines
        grep -rq -- '"--baselines"' "$tree/bench" || only=--yardsticks # its older name
        while read -r name words; do
            case " ${LISTS:-squares skinny fp64} " in *" $name "*) ;; *) continue ;; esac
            # shellcheck disable=SC2086 # options and their values
            (cd "$tree" && "out/$set_/halftone" bench $words --seconds 0.1 --out "$out/$side-$round-$name.tsv" >"$out/bench.log" 2>&1)
        done <<ROWS
squares --sizes 512,1024,2048,4096,8192 --schemes auto $only sgemm
skinny --shapes $here/bench/shapes/skinny.txt --schemes auto $only sgemm
fp64 --sizes 1024,2048,4096,8192 --accuracy fp64
ROWS
    done
done
python3 - "$out" <<'PYTHON' | tee "$out/compare.tsv"
import pathlib, statistics, sys
runs = {} # of a method, shape and side: (over the baseline, TFLOPS) of each round
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
            of_fp64 = row["method"] == "accuracy:fp64"
            if of_fp64 or row["method"].startswith("auto"):
                key = ("fp64" if of_fp64 else "auto", *(row.get(name, "") for name in ("m", "n", "k", "trans")))
                columns = ("tflops/dgemm", "tflops") if of_fp64 else ("end/sgemm", "end_tflops")
                runs.setdefault(key, {}).setdefault(path.stem.split("-")[0], []).append([float(row[c]) for c in columns])
print("method\tm\tn\tk\ttrans\told\tnew\tnew/old")
for key, sides in runs.items():
    if len(sides) == 2:
        (before, slow), (after, fast) = ([statistics.median(column) for column in zip(*sides[s])] for s in ("old", "new"))
        print(*key[:4], key[4] or "-", f"{before:.3f}", f"{after:.3f}", f"{fast / slow:.3f}", sep="\t")
PYTHON
