#!/bin/sh
# The promotion study: error against the length of a chain. promotion.sh BINARIES RESULTS COMMIT [NAME GPU [OUTER [SIZES]]]
# BINARIES is made by promotion_prepare.sh; RESULTS receives NAME-promotion.tsv (h200-promotion.tsv). m = n = OUTER, k = SIZES.
# Runs where there is no GPU too, with the simulator's binaries: then native FP32 is the CPU's loop.
set -eu
bin=$1 out=$2 commit=$3 name=${4:-h200} gpu=${5:-h200} outer=${6:-128} sizes=${7:-64,256,1024,4096,16384,65536}
mkdir -p "$out"
table=$out/$name-promotion.tsv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for interval in 16 32 64 128 256 512 1024 none; do
    program=$bin/study-${gpu}_p$interval
    [ -x "$program" ] || continue
    "$program" report --outer "$outer" --sizes "$sizes" --families uniform,llm --commit "$commit" --out "$work" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    [ -f "$work/head" ] || grep '^#' "$work/report.tsv" >"$work/head"
    awk -F'\t' -v OFS='\t' -v p="$interval" '
        /^#/ { next }
        !("family" in at) { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { who = $at["method"] }
        who ~ /^(auto|cublas-tf32|cublas-bf16x9)$/ { next } # auto is f16x3
        { print who, p, $at["family"], $at["k"], $at["n"], $at["rel_frobenius"], $at["grade"], $at["bound"] }' "$work/report.tsv" >>"$work/rows"
done
{
    sed 's/^# halftone: \([^,]*\), set \([a-z0-9]*\)_p[0-9a-z]*/# halftone: \1, set \2/' "$work/head"
    echo "# promotion study: chains of the matrix unit closed after each interval of k; no split-K (one SM); bench/lab/run promotion"
    printf 'method\tinterval\tfamily\tk\tn\trel_frobenius\tgrade\tbound\n'
    sort -s -t "$(printf '\t')" -k1,1 -k3,3 "$work/rows" | awk -F'\t' '$1 !~ /^c/ || !seen[$0 = $1 "\t-" substr($0, index($0, "\t" $3 "\t"))]++'
} >"$table"
echo "wrote $table"
