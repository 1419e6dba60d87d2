#!/bin/sh
# MixPert's levels on a card of compute capability 9.0: on_gpu_mixpert.sh RESULTS [SECONDS [PART...]], in a checkout, on a machine with that GPU
# and nvcc. No part begins after SECONDS (default 115). Set h100 with the levels (by mma.sync) and their rivals (wgmma) is built into out/h100
# unless halftone and mixpert_kernel are there (`on_gpu_mixpert.sh - 0 build` makes them on any machine with nvcc; 15 minutes on two cores).
# Parts, in this order unless named:
#   bits      every kernel against the host's reference of the paper, bit for bit, all transposes, odd sizes: mixpert-bits.txt
#   sanitize  the same products, as they stand, under compute-sanitizer's four tools, all at once: mixpert-sanitize.txt
#   squares   N x N x N, 1024 to 8192, beside cuBLAS SGEMM, with and without packing: mixpert-squares.tsv
#   families  4096 x 4096 x 4096 of families of inputs (FAMILIES="a,b" names others): speed, errors, share of blocks that meet an outlier: mixpert-families.tsv
#   paper     errors at the paper's largest N, 24576, uniform data, and of normal data at that k: mixpert-24576.tsv
#   programs  bench/shapes-mixpert.txt, uniform data, all levels and their rivals: mixpert-programs.tsv
#   normal    the same of normal data, level IV, I and the rivals of IV: mixpert-programs-normal.tsv
#   large     N = 16384, and a perceptron of 24576: mixpert-large.tsv, mixpert-24576.txt
#   mma       the rivals by mma.sync as well, and set t4's kernels: needs nvcc, 40 s with 16 cores: mixpert-bits.txt, mixpert-levels.tsv
set -eu
out=$1 seconds=${2:-115} began=$(date +%s) each=${EACH:-0.05} levels=mixpert1,mixpert2,mixpert3,mixpert4 rivals=f16x3,i8x3,i8x6,i8x10
[ $# -lt 2 ] || shift
shift
[ $# -gt 0 ] || set -- bits sanitize squares families paper programs normal large
set_=out/h100 all=$levels,$rivals,f16x3,bf16x6u,bf16x6,tf32x3,half,tf32
[ "$out" = - ] && out=$(mktemp -d) || mkdir -p "$out"
make_set() { # make_set GPU SET SCHEMES
    make -s GPU="$1" SCHEMES="$3" LEAN=1 generate
    # Code of sm_90 for sets of sm_75 and sm_80, so that nothing is compiled while it is timed.
    [ "$2" = h100 ] || sed -i 's/arch=compute_\([78][05]\),code=\[[^]]*\]/arch=compute_\1,code=sm_90/' "out/$2/rules.mk"
    make -s -j"$(nproc)" GPU="$1" SCHEMES="$3" LEAN=1 "out/$2/libhalftone.a" "out/$2/halftone" >"$out/mixpert-build-$2.log" 2>&1 || tail -5 "$out/mixpert-build-$2.log"
}
make_bits() { # make_bits SET
    cc -std=c11 -O2 -ffp-contract=off tests/kernels/mixpert_kernel.c tests/kernels/mixpert_reference.c out/obj/bench/accuracy/families.o out/obj/bench/io/threads.o \
        "out/$1/libhalftone.a" -o "out/$1/mixpert_kernel" -L/usr/local/cuda/lib64 -lcudart_static -lstdc++ -ldl -lrt -lpthread -lm
}
build() {
    [ -x $set_/halftone ] || make_set h100 h100 "$(echo "$all" | tr , '\n' | sort -u | paste -sd , -)"
    [ -x $set_/mixpert_kernel ] || make_bits h100
}
check() { # check SET
    code=0
    "out/$1/mixpert_kernel" transposes >"$out/bits-$1" 2>&1 || code=$?
    { grep -c 'of the bound' "$out/bits-$1" | sed "s/^/set $1: products equal bit for bit: /"; tail -2 "$out/bits-$1"; echo "exit code $code"; } >>"$out/mixpert-bits.txt"
    rm "$out/bits-$1"
}
bench() { # bench NAME OPTION...: a table, with as many shapes as there is time for
    name=$1 left=$((seconds - ($(date +%s) - began)))
    shift
    timeout $((left > 1 ? left : 1)) $set_/halftone bench "$@" --baselines sgemm --seconds "$each" --out "$out/$name.tsv" >"$out/log" 2>&1 || tail -3 "$out/log"
}
show() { # show TABLE: what of it is read first
    awk -F'\t' '/^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i; print "m n k scheme end_tflops kernel_tflops end/sgemm packing_% pack/copy rel_Frobenius"; next }
        { e = $at["end_tflops"]; k = $at["kernel_tflops"]
          print $at["m"], $at["n"], $at["k"], $at["method"], e, k, $at["end/sgemm"], (k + 0 > 0 ? sprintf("%.1f", 100 * (1 - e / k)) : "-"), $at["pack/copy"],
              $at["rel_frobenius"] }' "$1"
}
part_build() { build; }
part_bits() { check h100; cat "$out/mixpert-bits.txt"; }
part_sanitize() {
    for tool in memcheck racecheck initcheck synccheck; do
        for level in $(echo $levels | tr , ' '); do
            { timeout "$seconds" compute-sanitizer --tool $tool --error-exitcode 99 $set_/mixpert_kernel "$level" >"$out/sanitize-$tool-$level" 2>&1 || echo "exit code $?" >>"$out/sanitize-$tool-$level"; } &
        done
    done
    wait
    for log in "$out"/sanitize-*; do
        echo "${log##*/sanitize-}: $(grep -c 'of the bound$' "$log") products; $(tail -1 "$log")"
    done | tee "$out/mixpert-sanitize.txt"
}
part_squares() { bench mixpert-squares --sizes 1024,2048,4096,8192 --schemes $levels,$rivals,bf16x6,tf32x3; show "$out/mixpert-squares.tsv"; }
part_paper() {
    for family in uniform "normal --outer 4096"; do
        $set_/halftone report --sizes 24576 --families $family --schemes mixpert4,mixpert1,f16x3,i8x6 --out "$out/report" >"$out/log" 2>&1 || tail -3 "$out/log"
        # The second table without its head.
        sed "${first:+/^#/d;/^family/d}" "$out/report/report.tsv" >>"$out/mixpert-24576.tsv"
        rm -r "$out/report"
        first=no
    done
    cut -f 1,3,4,6,7 "$out/mixpert-24576.tsv" | grep -v '^#'
}
part_programs() { bench mixpert-programs --shapes bench/shapes-mixpert.txt --schemes $levels,f16x3,i8x3,i8x6; show "$out/mixpert-programs.tsv"; }
part_normal() {
    bench mixpert-programs-normal --family normal --shapes bench/shapes-mixpert.txt --schemes mixpert4,mixpert1,f16x3,i8x6
    show "$out/mixpert-programs-normal.tsv"
}
part_large() {
    bench mixpert-large --sizes 16384 --schemes mixpert4,mixpert1,f16x3,i8x6
    show "$out/mixpert-large.tsv"
    $set_/halftone app mlp --n 24576 --accuracy cublas-sgemm,mixpert4,mixpert1 | tee "$out/mixpert-24576.txt"
}
part_families() {
    names=${FAMILIES:-uniform,uniform01,normal,integers,relu,phi1,lognormal,outliers,softmax}
    $set_/halftone check --families $names --n 4096 --k 4096 --rows 64 --out "$out/blocks.tsv" >"$out/log" 2>&1 || tail -3 "$out/log"
    : >"$out/mixpert-families.tsv"
    for family in $(echo $names | tr , ' '); do
        bench family --family "$family" --sizes 4096 --schemes mixpert4,mixpert1,f16x3,i8x6,i8x10,bf16x6u,auto
        [ -s "$out/mixpert-families.tsv" ] || { grep '^#' "$out/family.tsv" | grep -v '^# data:'; echo "# outlier_blocks: halftone check, of 64 x 64 blocks of C"
            printf 'family\toutlier_blocks\tmethod\tend_tflops\tend/sgemm\trel_frobenius\tgrade\n'; } >>"$out/mixpert-families.tsv"
        share=$(awk -F'\t' -v f="$family" '/^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i } $1 == f { print $at["outlier_blocks"] }' "$out/blocks.tsv")
        awk -F'\t' -v OFS='\t' -v f="$family" -v s="$share" '/^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { print f, s, $at["method"], $at["end_tflops"], $at["end/sgemm"], $at["rel_frobenius"], $at["grade"] }' "$out/family.tsv" >>"$out/mixpert-families.tsv"
    done
    rm -f "$out/family.tsv" "$out/blocks.tsv"
    grep -v '^#' "$out/mixpert-families.tsv"
}
part_mma() {
    budget=out/h200mma.gpu
    sed -e 's/^name = h200 /name = h200mma /' -e 's/^isa = sm_90a /isa = sm_80 /' gen/gpus/h200.gpu >$budget
    make -s out/bin/halftone-gen
    make_set $budget h200mma $levels,f16x3,i8x3,i8x6
    make_set t4 t4 $levels
    for s in h200mma t4; do make_bits $s; check $s; done
    cat "$out/mixpert-bits.txt"
    out/h200mma/halftone bench --sizes 1024,2048,4096,8192 --schemes $levels,f16x3,i8x3,i8x6 --baselines sgemm --seconds 0.08 --out "$out/mixpert-levels.tsv" >"$out/log" 2>&1 ||
        tail -3 "$out/log"
    show "$out/mixpert-levels.tsv"
}
case " $* " in " mma ") ;; *) build ;; esac
for part; do
    [ $(($(date +%s) - began)) -lt "$seconds" ] || [ "$part" = build ] || { echo "$part: no time left"; continue; }
    echo "part $part after $(($(date +%s) - began)) s"
    "part_$part" || echo "part $part failed"
done
rm -f "$out/log"
echo "$(($(date +%s) - began)) s"
