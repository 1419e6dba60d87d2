#!/bin/sh
# What `auto` makes of data that people multiply, beside SGEMM: on_gpu_families.sh RESULTS [OLD], on a machine with a GPU and nvcc.
# SET (default h200) is built with SCHEMES; with cmocka (C_INCLUDE_PATH, LIBRARY_PATH) the certificate's tests run on the GPU, HASHES names
# what result_hashes-sim printed for the same set. Then FAMILIES at SIZES, `auto` and `bf16x6u`: TFLOPS over SGEMM's and errors, and of
# uniform data where the time goes. OLD: another tree, which times uniform, outlier and softmax data. RESULTS gets tables and logs.
# Nothing begins after DEADLINE seconds.
set -u
out=$(mkdir -p "$1" && cd "$1" && pwd) old=${2:-} set_=${SET:-h200} here=$(pwd) began=$(date +%s)
schemes=${SCHEMES:-f16x3,bf16x6u} families=${FAMILIES:-uniform relu outliers lognormal softmax dscaled20 cauchy sparse onehotnoise}
sizes=${SIZES:-512,1024,2048,4096}
export LD_LIBRARY_PATH="${LIBRARY_PATH:-}:${LD_LIBRARY_PATH:-}"
make_in() { # make_in TREE LOG TARGET...
    (cd "$1" && log=$2 && shift 2 && make -s -k -j14 GPU="$set_" SCHEMES="$schemes" "$@" >>"$log" 2>&1) || { echo "$2: failed"; grep -m3 error "$2"; }
}
in_time() {
    [ $(($(date +%s) - began)) -lt "${DEADLINE:-105}" ]
}
built="out/$set_"
{ make_in "$here" "$out/build.log" generate; make_in "$here" "$out/build.log" build-device; } &
[ -z "$old" ] || { make_in "$old" "$out/build-old.log" generate; make_in "$old" "$out/build-old.log" build-device; } &
wait
make_in "$here" "$out/build-tests.log" "$built/test_check" "$built/test_auto" "$built/test_direct" "$built/result_hashes"
echo "built after $(($(date +%s) - began)) s"

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
test_of() { # test_of NAME COMMAND...
    name=$1
    shift
    timeout 40 "$@" >"$out/$name.log" 2>&1
    echo "$name: exit $?, $(grep -hE 'PASSED|FAILED  |ERROR SUMMARY' "$out/$name.log" | tail -2 | tr '\n' ' ')"
    grep -m4 -E 'Error|ERROR.*---|has |holds|grade' "$out/$name.log"
}
for test in test_check test_auto test_direct; do
    [ ! -x "$built/$test" ] || test_of "$test" "$built/$test" &
done
for tool in memcheck racecheck initcheck; do
    [ -z "$sanitizer" ] || [ ! -x "$built/test_check" ] ||
        HALFTONE_TEST_SMALL=1 test_of "$tool" "$sanitizer" --tool "$tool" --error-exitcode 99 "$built/test_check" 'kernels*' &
done
if [ -x "$built/result_hashes" ] && "$built/result_hashes" >"$out/hashes.tsv" 2>"$out/hashes.log" && [ -f "${HASHES:-}" ]; then
    cut -f 1-5 "$out/hashes.tsv" >"$out/hashes-gpu"
    cut -f 1-5 "$HASHES" >"$out/hashes-sim"
    echo "hashes: $(wc -l <"$out/hashes-gpu") lines, $(diff "$out/hashes-gpu" "$out/hashes-sim" | grep -c '^<') differ"
    diff "$out/hashes-gpu" "$out/hashes-sim" | grep -m8 '^[<>]'
fi
wait
echo "tested after $(($(date +%s) - began)) s"

table() { # table TREE NAME FAMILY SIZES
    (cd "$1" && timeout 40 "$built/halftone" bench --family "$3" --sizes "$4" --schemes auto,bf16x6u --baselines sgemm --seconds "${SECONDS_EACH:-0.02}" \
        --out "$out/$2.tsv") >"$out/$2.log" 2>&1 || tail -2 "$out/$2.log"
    [ ! -f "$out/$2.tsv" ] || awk -F '\t' -v name="$2" '/^#/ { next } $1 == "m" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { printf "%s %s %s: %.1f TFLOPS, %s x sustained, %s x single, error %s grade %s\n", name, $1, $6, $at["end_tflops"],
          $at["end/sgemm"], $at["end_single/sgemm"], $at["rel_frobenius"], $at["grade"] }' "$out/$2.tsv"
}
for family in $families; do
    in_time || break
    table "$here" "$family" "$family" "$sizes"
    case $family in
    uniform | outliers | softmax) [ -z "$old" ] || table "$old" "old-$family" "$family" "$sizes" ;;
    esac
    [ "$family" != uniform ] || "$built/halftone" breakdown --sizes 1024,4096 | tee "$out/breakdown.tsv"
done
