#!/bin/sh
# The promotion study: error against the length of a chain. promotion.sh RESULTS COMMIT NAME GPU gpu|sim [OUTER [SIZES]]
# One set for each interval, with the ablation option of the generator. The budget says one SM that holds one block: then k is
# never split, and a chain is as long as the interval. A scheme is left out where one step of its kernels is longer than the interval.
# RESULTS receives NAME-promotion.tsv (h200-promotion.tsv). m = n = OUTER, k = SIZES. In the simulator native FP32 is the CPU's loop.
set -eu
out=$1 commit=$2 name=$3 gpu=$4 what=$5 outer=${6:-128} sizes=${7:-64,256,1024,4096,16384,65536}
export MAKEFLAGS="${MAKEFLAGS:--j2}"
mkdir -p "$out" out/study
table=$out/$name-promotion.tsv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() { # build INTERVAL: $program
    case $1 in
    16) schemes=tf32x3 ;;
    32) schemes="f16x3 tf32x3" ;;
    *) schemes="f16x3 bf16x6 bf16x9 tf32x3" ;;
    esac
    [ "$gpu" != t4 ] || schemes=f16x3 # sm_75 has FP16 alone
    set_=${gpu}_p$1
    sed "s/^name *=.*/name = $set_  # the promotion study/; s/^\(sms\|blocks_per_sm\) *=.*/\1 = 1  # no split-K/" \
        "gen/gpus/$gpu.gpu" >"out/study/$set_.gpu"
    set -- GPU="out/study/$set_.gpu" SCHEMES="$schemes" LEAN=1 PROMOTE="$1"
    make -s "$@" generate >/dev/null
    if [ "$what" = sim ]; then
        make -s "$@" build-sim >/dev/null
        program=out/$set_/halftone-sim
    else
        make -s "$@" build-device >/dev/null
        program=out/$set_/halftone
    fi
}

for interval in 16 32 64 128 256 512 1024 none; do
    [ "$gpu,$interval" != t4,16 ] || continue # TF32's
    build "$interval"
    "$program" report --outer "$outer" --sizes "$sizes" --families uniform,llm --commit "$commit" --out "$work" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    [ -f "$work/head" ] || grep '^#' "$work/report.tsv" >"$work/head"
    awk -F'\t' -v OFS='\t' -v p="$interval" '
        /^#/ { next }
        !("family" in at) { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { who = $at["method"] }
        who ~ /^(auto|cublas-tf32|cublas-bf16x9)$/ { next } # auto is f16x3
        { print who, p, $at["family"], $at["k"], $at["n"], $at["rel_frobenius"], $at["grade"], $at["bound"] }' "$work/report.tsv" >>"$work/rows"
    rm -r "out/$set_" "out/study/$set_.gpu"
done
{
    sed 's/^# halftone: \([^,]*\), set \([a-z0-9]*\)_p[0-9a-z]*/# halftone: \1, set \2/' "$work/head"
    echo "# promotion study: chains of the matrix unit closed after each interval of k; no split-K (one SM); bench/lab/run promotion"
    printf 'method\tinterval\tfamily\tk\tn\trel_frobenius\tgrade\tbound\n'
    sort -s -t "$(printf '\t')" -k1,1 -k3,3 "$work/rows" | awk -F'\t' '$1 !~ /^c/ || !seen[$0 = $1 "\t-" substr($0, index($0, "\t" $3 "\t"))]++'
} >"$table"
echo "wrote $table"
