#!/bin/sh
# What needs a GPU, in calls of less than ten minutes: on_gpu.sh PART BINARIES RESULTS COMMIT
# PART: check (correctness, sanitizers, vendored sets; SETS in the environment names fewer; three to five minutes each), bench (the tables of the README), direct (small and skinny
# products by scheme bf16x6u), tall (tall-skinny, small K), random (random shapes), splits (every split of k, for the model), odd (odd sizes beside their even neighbours), small (single calls and packing at n = 256 to 3072), skinny (and transposes), few (calls that pack nothing), auto
# (what the data check costs), parts (where), within (packing and product in a loop of calls), limits (schemes of BF16 and TF32 slices beside what cuBLAS' rates allow), report
# (errors, with their page), contract (whether auto keeps the accuracy contract; SCHEME in the environment names another) or profile
# (the matrix unit's arithmetic beside candidate models).
# BINARIES (made by on_gpu_prepare.sh) holds a folder for each kernel set; RESULTS receives tables and logs.
set -u
part=$1 bin=$2 out=$3 commit=$4
sh bench/on_gpu_unpack.sh "$bin" || exit 1
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
toolkit=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
stamp="--commit $commit --toolkit ${toolkit:-unknown}"

check() {
    {
        nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader
        for set in ${SETS:-h200 a800 t4}; do
            echo "==== check of $set, commit $commit"
            sh tests/gpu/check_gpu.sh "$bin/$set"
        done
        echo "==== vendored folders"
        sh tests/package/vendored/on_gpu.sh "$bin" h200
        echo "==== template and generated kernel"
        "$bin/a800/template_bits"
    } >"$out/check.log" 2>&1
    grep -E "^(--|====|vendored|[0-9]+ elements|[0-9]+ results)|passed|failed|skipped" "$out/check.log"
}

table() { # table SET NAME OPTIONS...
    set=$1 name=$2
    shift 2
    "$bin/$set/halftone" bench $stamp --out "$out/$name.tsv" "$@" 2>/dev/null
}

tables() {
    table h200 h200-native-schemes --sizes 512,1024,2048,4096,8192,16384 --schemes f16x3,i8x6,i8x3 --seconds 0.3
    table h200 h200-native-others --sizes 1024,4096 --seconds 0.15
    table h200 h200-native-shapes --shapes bench/shapes-short.txt --schemes f16x3,i8x6 --seconds 0.1
    table a800 h200-a800set-schemes --sizes 1024,4096,8192 --seconds 0.2
    table t4 h200-t4set-schemes --sizes 1024,4096 --schemes f16x3,legemm,egemm --seconds 0.2
    table a800 h200-ablations --sizes 4096,8192 --schemes egemm,legemm --kernels all --seconds 0.2
}

# Every kernel of bf16x6u on small and skinny shapes, 36 x 6 rows: about five minutes.
direct() {
    table h200 h200-native-direct --shapes bench/shapes-direct.txt --schemes bf16x6u --kernels all --seconds 0.05
    table h200 h200-native-direct-pick --shapes bench/shapes-direct.txt --schemes bf16x6u,f16x3 --seconds 0.1
}

# Odd sizes, each after its neighbour of even size: about a minute.
odd() {
    table h200 h200-native-odd --shapes bench/shapes-odd.txt --schemes f16x3,i8x6 --seconds 0.1
}

# Where launches and packing count: single calls beside sustained ones, packing in microseconds. About 20 s.
small() {
    table h200 h200-native-small --sizes 256,512,768,1024,1536,2048,3072 --schemes auto,f16x3,i8x6 --seconds 0.12
}

# Calls that pack nothing: every kernel of bf16x6u over small and thin shapes, then auto beside SGEMM: a minute.
few() {
    "$bin/h200/halftone" tune --shapes bench/shapes-small.txt --schemes bf16x6u --seconds 0.004 --out "$out/tune-h200-direct.tsv"
    table h200 h200-native-few --shapes bench/shapes-small.txt --schemes auto --baselines sgemm --seconds 0.02
}

# The same over shapes at random, auto in all four ways the matrices can lie: more than three minutes.
random() {
    "$bin/h200/halftone" tune --shapes bench/shapes-random.txt --schemes bf16x6u --seconds 0.003 --out "$out/tune-h200-random.tsv"
    table h200 h200-native-random --shapes bench/shapes-random.txt --schemes auto --trans NN,NT,TN,TT --baselines sgemm --seconds 0.01
}

# What the model of kernels that read the matrices is fitted to: each of bf16x6u's kernels in every number of parts, 392 shapes: five minutes.
splits() {
    cat bench/shapes-random.txt bench/shapes-small.txt bench/shapes-tall-skinny.txt bench/shapes-more.txt >"$out/shapes.txt"
    "$bin/h200/halftone" tune --shapes "$out/shapes.txt" --schemes bf16x6u --splits --seconds 0.003 --out "$out/tune-h200-splits.tsv"
}

# Tall-skinny matrices with small K: auto beside SGEMM, both ways A can lie, and every kernel of bf16x6u: 40 s.
tall() {
    table h200 h200-native-tall --shapes bench/shapes-tall-skinny.txt --schemes auto --trans NN,TN --baselines sgemm --seconds 0.02
    "$bin/h200/halftone" tune --shapes bench/shapes-tall-skinny.txt --schemes bf16x6u --seconds 0.004 --out "$out/tune-h200-tall.tsv"
}

# Skinny shapes by auto, and transposes: 50 s.
skinny() {
    table h200 h200-native-skinny --shapes bench/shapes-skinny.txt --schemes auto --seconds 0.05
    table h200 h200-native-transposes --sizes 4096 --trans NN,NT,TN,TT --schemes f16x3,i8x6 --seconds 0.2
}

# What the data check costs: auto beside f16x3, which is the same without the check, and bf16x6u. About two minutes.
auto() {
    table h200 h200-native-auto --sizes 256,512,1024,2048,4096,8192 --schemes auto,f16x3,bf16x6u --seconds 0.3
}

# The same by parts of a call, and where no data suit f16x3. About 40 seconds.
parts() {
    { echo "# commit $commit"; "$bin/h200/halftone" breakdown --sizes 1024,2048,4096; } | tee "$out/h200-native-parts.tsv"
    { echo "# commit $commit"; "$bin/h200/halftone" breakdown --sizes 512,1024,2048 --family dscaled; } | tee "$out/h200-native-parts-wild.tsv"
}

# What packing and product take within calls, in which one leaves the clock and the caches to the other: about three minutes.
within() {
    for scheme in f16x3 i8x6; do
        { echo "# commit $commit"; "$bin/h200/halftone" breakdown --sizes 2048,3072,3584,4096,4608,5120,6144,8192 --scheme $scheme --plain --seconds 0.2; } |
            tee "$out/h200-native-within-$scheme.tsv"
    done
}

# About a minute.
limits() {
    table h200 h200-native-limits --sizes 1024,4096,8192 --schemes bf16x3,bf16x6,bf16x9,tf32x3 --seconds 0.3
}

# Every family, `auto` and every scheme, beside native FP32 and cuBLAS' modes. The CPU's references and random numbers are
# the cost: about 12 CPU seconds a family, most of it in parallel; 60 to 90 s on 16 cores.
report() {
    mkdir -p "$out/report"
    "$bin/h200/halftone" report --sizes 64,256,1024,4096 $stamp --out "$out/report" 2>&1 | tail -6
    cp "$out/report/report.tsv" "$out/h200-report.tsv"
}

contract() {
    for kind in "" --special; do
        start=$(date +%s)
        "$bin/h200/halftone" contract $kind --scheme "${SCHEME:-auto}" $stamp --out "$out/h200-contract$kind.tsv" 2>&1
        echo "exit code $?, $(($(date +%s) - start)) s"
    done
}

# Any set's command will do: SET. Fails when no model matches or the simulator differs; the table is there all the same.
profile() {
    code=0 table=$(mktemp)
    "$bin/${SET:-h200}/halftone" profile --out "$table" >"$out/profile.txt" 2>"$out/profile.log" || code=$?
    cat "$out/profile.txt"
    grep '^halftone' "$out/profile.log"
    [ ! -s "$table" ] || { echo "# commit: $commit"; cat "$table"; } >"$out/profile.tsv"
    rm "$table"
    exit $code
}

case $part in
check) check ;;
bench) tables ;;
direct) direct ;;
odd) odd ;;
small) small ;;
skinny) skinny ;;
few) few ;;
tall) tall ;;
random) random ;;
auto) auto ;;
parts) parts ;;
within) within ;;
report) report ;;
splits) splits ;;
limits) limits ;;
profile) profile ;;
contract) contract ;;
*) echo "on_gpu.sh: '$part' is none of check, bench, direct, tall, random, splits, odd, small, skinny, few, auto, parts, within, limits, report, contract, profile" >&2; exit 2 ;;
esac
