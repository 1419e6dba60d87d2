#!/bin/sh
# LE-GEMM (2025) reports its scheme 1.3 to 1.4 times better than Ootomo's; ours finds the opposite. Ootomo & Yokota add the main
# product outside the matrix unit; what if it stayed inside, as the other schemes' sums do? ootomo_inside.sh RESULTS
# builds the a800 set with that one change in the scheme table (a copy under out/) and writes
# RESULTS/sim-a800-ootomo-inside.tsv: errors of both variants beside legemm and markidis in the arithmetic of sm_80.
set -eu
results=$1 work=out/ootomo-inside
rm -rf "$work"
mkdir -p "$work"
git ls-files | cpio -pdm --quiet "$work"
sed -i '/\.name = "ootomo"/,/\.split_units/s/\.promote = {PROMOTE_EACH_MMA, PROMOTE_NEVER}/.promote = {PROMOTE_NEVER, PROMOTE_NEVER}/' "$work/gen/facts/scheme.c"
! cmp -s gen/facts/scheme.c "$work/gen/facts/scheme.c"
report() { # report FOLDER NAME-OF-OOTOMO SCHEMES
    (cd "$1" && make -s GPU=a800 SCHEMES="$3" LEAN=1 generate >/dev/null && make -s GPU=a800 SCHEMES="$3" LEAN=1 build-sim >/dev/null &&
        out/a800/halftone-sim report --outer 128 --sizes 256,1024,4096 --families uniform,llm,normal --out out/inside-report >/dev/null)
    grep -v '^#\|^family' "$1/out/inside-report/report.tsv" | sed "s/	ootomo	/	$2	/"
}
{
    echo "# m = n = 128, sm_80 arithmetic (simulator); ootomo-inside: main product summed inside the matrix unit; bench/lab/run ootomo"
    report "$work" ootomo-inside ootomo,legemm,markidis >"$work/rows"
    sed -n '/^family/p' "$work/out/inside-report/report.tsv"
    cat "$work/rows"
    rm -rf "$work/out/a800" && cp gen/facts/scheme.c "$work/gen/facts/scheme.c"
    report "$work" ootomo ootomo | grep '	ootomo	'
} >"$results/sim-a800-ootomo-inside.tsv"
rm -rf "$work"
