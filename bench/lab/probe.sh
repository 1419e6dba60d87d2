#!/bin/sh
# `halftone probe` twice, held against a budget written by hand: probe.sh BINARIES RESULTS [GPU [SET]]
# BINARIES is made by `run prepare`; without a GPU, RESULTS/first and RESULTS/second may hold the budgets already. RESULTS receives
#   first/GPU.gpu, second/GPU.gpu   the budgets
#   probe-GPU.tsv                   every value of the three budgets, with ratios
#   probe-picks.tsv                 for twelve shapes and the schemes below: the tile picked from each budget, with both predicted times
#   probe-GPU.html                  the page of explain --compare
# GPU: the hand-written budget (h200); SET: whose command (a800).
set -eu
bin=$1 out=$2 gpu=${3:-h200} set=${4:-a800}
schemes="f16x3 i8x6 bf16x6 tf32x3"
shapes="512x512x512 1024x1024x1024 2048x2048x2048 4096x4096x4096 8192x8192x8192 4096x128x4096 4096x16x4096 128x128x32768
    65536x256x128 16384x64x64 513x4096x31 1001x999x1003"
gen() { "$bin/halftone-gen" "$@" --root .; }
for run in first second; do
    mkdir -p "$out/$run"
    [ -f "$out/$run/$gpu.gpu" ] || "$bin/$set/halftone" probe --out "$out/$run/$gpu.gpu"
done
hand=gen/gpus/$gpu.gpu first=$out/first/$gpu.gpu second=$out/second/$gpu.gpu

awk -F' *[=#] *' '
    BEGIN { print "key\thand\tfirst\tsecond\tfirst/hand\tsecond/first" }
    FNR == 1 { file++ }
    $1 ~ /^[a-z]/ && $2 != "" { if (!($1 in seen)) { seen[$1] = 1; key[++keys] = $1 } value[file, $1] = $2 }
    function ratio(x, y) { return x ~ /^[0-9]+$/ && y > 0 ? sprintf("%.3f", x / y) : x == y ? "same" : "other" }
    END {
        for (i = 1; i <= keys; i++) {
            k = key[i]
            print k "\t" value[1, k] "\t" value[2, k] "\t" value[3, k] "\t" ratio(value[2, k], value[1, k]) "\t" ratio(value[3, k], value[2, k])
        }
    }' "$hand" "$first" "$second" >"$out/probe-$gpu.tsv"

# The first two files are tables of explain --tsv: picks of both, and what the first budget thinks of the other's.
side_by_side() { # side_by_side SCHEME SHAPE
    awk -F'\t' -v scheme="$1" -v shape="$2" '
        function tile() { return $2 "x" $3 "x" $4 "_w" $5 "x" $6 "_s" $8 ($19 > 1 ? "_c" $19 : "") }
        FNR == 1 { file++; next }
        $1 != "reject" { us[file, tile()] = $14 }
        $1 == "pick" { pick[file] = tile() }
        END {
            if (pick[1] == "" && pick[2] == "") exit
            other = (1, pick[2]) in us ? us[1, pick[2]] : "n/a"
            print scheme "\t" shape "\t" pick[1] "\t" us[1, pick[1]] "\t" pick[2] "\t" us[2, pick[2]] "\t" \
                  (pick[1] == pick[2] ? "equal" : "different") "\t" other
        }' "$out/of-hand" "$out/of-first"
}
echo "scheme	shape	hand_pick	hand_us	first_pick	first_us	picks	hand_us_of_first_pick" >"$out/probe-picks.tsv"
for scheme in $schemes; do
    for shape in $shapes; do
        gen explain --gpu "$hand" --scheme "$scheme" --shape "$shape" --tsv >"$out/of-hand"
        gen explain --gpu "$first" --scheme "$scheme" --shape "$shape" --tsv >"$out/of-first"
        side_by_side "$scheme" "$shape"
    done
done >>"$out/probe-picks.tsv"
rm "$out/of-hand" "$out/of-first"
gen explain --gpu "$hand" --compare "$first" --html "$out/probe-$gpu.html" >/dev/null
cat "$out/probe-$gpu.tsv" "$out/probe-picks.tsv"
grep '^# Noise' "$first" "$second"
grep -c 'equal	' "$out/probe-picks.tsv" | sed 's/$/ picks equal/'
