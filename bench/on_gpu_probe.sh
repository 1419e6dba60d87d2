#!/bin/sh
# `halftone probe` twice, held against a budget written by hand: on_gpu_probe.sh BINARIES RESULTS [GPU [SET]]
# BINARIES is made by on_gpu_prepare.sh; RESULTS receives both budgets, value by value comparisons with ratios, and the
# tiles of every scheme from each of the three budgets. GPU: the hand-written budget (h200); SET: whose command (a800).
set -eu
bin=$1 out=$2 gpu=${3:-h200} set=${4:-a800}
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
gen() { "$bin/halftone-gen" "$@" --root .; }
for run in first second; do
    mkdir -p "$out/$run"
    "$bin/$set/halftone" probe --out "$out/$run/$gpu.gpu"
done
gen explain --gpu "$out/first/$gpu.gpu" --compare "$out/second/$gpu.gpu" >"$out/probe-noise.txt"
gen explain --gpu "$gpu" --compare "$out/first/$gpu.gpu" >"$out/probe-against-$gpu.txt"
gen explain --gpu "$gpu" --compare "$out/first/$gpu.gpu" --html "$out/probe-against-$gpu.html"
sed -n '/budget values/,$p' "$out/probe-against-$gpu.txt"
echo "second run against the first:"
sed -n '/budget values/,$p' "$out/probe-noise.txt"

# Kernels of the sets that the three budgets give; a name in one column only is a pick that moved.
picks() { # picks BUDGET FOLDER
    gen emit --gpu "$1" --out "$out/set-$2" >/dev/null
    sed 1,2d "$out/set-$2/manifest" | cut -f1,14 | sort >"$out/picks-$2.tsv"
    rm -r "$out/set-$2"
}
picks "$gpu" hand
picks "$out/first/$gpu.gpu" first
picks "$out/second/$gpu.gpu" second
for pair in "hand first" "first second"; do
    set -- $pair
    cut -f1 "$out/picks-$1.tsv" >"$out/a"
    cut -f1 "$out/picks-$2.tsv" >"$out/b"
    echo "kernels of $1 and $2: $(comm -12 "$out/a" "$out/b" | wc -l) the same, only $1: $(comm -23 "$out/a" "$out/b" | tr '\n' ' '); only $2: $(comm -13 "$out/a" "$out/b" | tr '\n' ' ')"
done
rm "$out/a" "$out/b"
for s in $(gen list schemes); do
    for n in 1024 4096; do
        for budget in "$gpu" "$out/first/$gpu.gpu" "$out/second/$gpu.gpu"; do
            gen explain --gpu "$budget" --scheme "$s" --shape "${n}x${n}x${n}" --tsv |
                awk -F'\t' -v s="$s" -v n="$n" -v b="$budget" 'NR == 2 { print s, n, $2 "x" $3 "x" $4 "_w" $5 "x" $6 "_s" $8, $14 " us", $15, b }'
        done
    done
done >"$out/probe-picks.txt"
cat "$out/probe-picks.txt"
