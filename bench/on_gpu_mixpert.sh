#!/bin/sh
# MixPert's levels on a card of compute capability 9.0: on_gpu_mixpert.sh RESULTS, in a checkout, on a machine with that GPU and nvcc: about two minutes
# with 16 cores.
# Two libraries are built: set h200 (our schemes, by wgmma), and the levels with the same rivals by mma.sync: the h200's budget with sm_80's
# instructions, and set t4's levels (sm_75), both as code of sm_90, so that nothing is compiled while it is timed. RESULTS receives
#   mixpert-bits.txt     every kernel against the host's reference of the paper, bit for bit, all transposes, odd sizes; last line: exit code
#   mixpert-report.tsv   rel. Frobenius errors of the levels, i8x*, f16x3 and cuBLAS SGEMM on families of inputs, k = 256, 1024, 4096
#   mixpert-levels.tsv, mixpert-wgmma.tsv   times beside cuBLAS SGEMM, 1024 to 8192, with and without packing: mma.sync, wgmma
set -eu
out=$1 levels=mixpert1,mixpert2,mixpert3,mixpert4 rivals=f16x3,i8x3,i8x6
budget=out/h200mma.gpu
mkdir -p "$out" out
sed -e 's/^name = h200 /name = h200mma /' -e 's/^isa = sm_90a /isa = sm_80 /' gen/gpus/h200.gpu >$budget
make -s out/bin/halftone-gen
build() { # build GPU SET SCHEMES
    make -s GPU="$1" SCHEMES="$3" LEAN=1 generate
    sed -i 's/arch=compute_\([78][05]\),code=\[[^]]*\]/arch=compute_\1,code=sm_90/' "out/$2/rules.mk"
    make -s GPU="$1" SCHEMES="$3" LEAN=1 "out/$2/libhalftone.a" "out/$2/halftone" >"$out/mixpert-build-$2.log" 2>&1 || tail -5 "$out/mixpert-build-$2.log"
}
build $budget h200mma $levels,$rivals
build h200 h200 $rivals & build t4 t4 $levels & wait
check() { # check SET
    cc -std=c11 -O2 -ffp-contract=off tests/kernels/mixpert_kernel.c tests/kernels/mixpert_reference.c out/obj/bench/accuracy/families.o out/obj/bench/io/threads.o \
        "out/$1/libhalftone.a" -o "out/$1/mixpert_kernel" -L/usr/local/cuda/lib64 -lcudart_static -lstdc++ -ldl -lrt -lpthread -lm
    code=0
    "out/$1/mixpert_kernel" transposes >"$out/bits-$1" 2>&1 || code=$?
    { grep -c 'of the bound' "$out/bits-$1" | sed "s/^/set $1: products equal bit for bit: /"; tail -2 "$out/bits-$1"; echo "exit code $code"; } >>"$out/mixpert-bits.txt"
}
: >"$out/mixpert-bits.txt"
check h200mma
check t4
rm -f "$out"/bits-*
out/h200mma/halftone bench --sizes 1024,2048,4096,8192 --schemes $levels,f16x3,i8x3,i8x6 --baselines sgemm --seconds 0.08 --out "$out/mixpert-levels.tsv" >"$out/log" 2>&1 || tail -3 "$out/log"
out/h200/halftone bench --sizes 1024,2048,4096,8192 --schemes f16x3,i8x3,i8x6 --baselines sgemm --seconds 0.08 --out "$out/mixpert-wgmma.tsv" >"$out/log" 2>&1 || tail -3 "$out/log"
timeout 25 out/h200mma/halftone report --sizes 256,1024,4096 --families uniform,uniform01,normal,outliers,phi1 --schemes $levels,i8x3,i8x6,f16x3 --out "$out/mixpert-report" >"$out/log" 2>&1 || tail -3 "$out/log"
[ ! -d "$out/mixpert-report" ] || { mv "$out/mixpert-report/report.tsv" "$out/mixpert-report.tsv" && rm -r "$out/mixpert-report"; }
rm -f "$out/log"
cat "$out/mixpert-bits.txt"
for table in "$out/mixpert-levels.tsv" "$out/mixpert-wgmma.tsv"; do
    [ -f "$table" ] || continue
    awk -F'\t' '/^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i; print "n scheme kernel end_tflops kernel_tflops end/sgemm packing_% pack/copy rel_Frobenius"; next }
        { e = $at["end_tflops"]; k = $at["kernel_tflops"]
          print $at["n"], $at["method"], $at["kernel"], e, k, $at["end/sgemm"], (k + 0 > 0 ? sprintf("%.1f", 100 * (1 - e / k)) : "-"), $at["pack/copy"], $(at["grade"] - 1) }' "$table"
done
[ ! -f "$out/mixpert-report.tsv" ] || awk -F'\t' '/^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i; print "family k method rel_Frobenius grade"; next }
    { print $at["family"], $at["k"], $at["method"], $(at["grade"] - 1), $at["grade"] }' "$out/mixpert-report.tsv"
