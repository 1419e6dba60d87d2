#!/bin/sh
# The cuBLAS face under programs as they are: dropin.sh RESULTS [PIECE...], on a machine with a GPU, nvcc, and a python3 that has PyTorch,
# CuPy and JAX. Builds SET (default h200, lean; SCHEMES), then runs the pieces of dropin_torch.py and dropin_arrays.py (default all but samples and
# compiled, which take as long as the rest) natively, beside the compiler, and under `halftone run`. Each piece is a process with a limit of
# 20 s (PIECE_LIMIT; natively 45 s, those whose times count are one), so one that hangs costs no other; none starts after LIMIT seconds (default 105). RESULTS
# receives native.tsv, face.tsv, sweep.tsv, curve-*.json, calls.tsv, and compare.tsv, which is printed.
set -u
out=$1
shift
pieces="$*" logged="" set_=${SET:-h200} schemes=${SCHEMES:-f16x3,bf16x6u,native64,crt15} limit=${LIMIT:-105} piece_limit=${PIECE_LIMIT:-20} start=$(date +%s)
: "${PYTHON:=python3}"
mkdir -p "$out"
rm -f "$out"/native.tsv "$out"/face.tsv "$out"/calls.tsv "$out"/piece-*

spent() { echo $(($(date +%s) - start)); }

# piece SIDE SCRIPT NAMES [WORD]; with `logged` set, calls go to calls.tsv.
piece() {
    side=$1 script=$2 names=$3
    shift 3
    log=$out/piece-$side-$names${1:+-$1}
    if [ "$(spent)" -ge "$limit" ]; then
        echo "skipped after $(spent) s" >"$log.err"
        return
    fi
    before="" seconds=$piece_limit
    if [ "$side" = native ]; then seconds=$((piece_limit > 45 ? piece_limit : 45)); else before="out/$set_/halftone run ${logged:+--log $out/calls.tsv} --"; fi
    # shellcheck disable=SC2086 # words
    timeout -s KILL "$seconds" $before "$PYTHON" "bench/lab/$script.py" "$names" "$out" "$@" >"$log.log" 2>"$log.err"
    echo "exit code $?, until $(spent) s" >>"$log.log"
}

[ -n "$pieces" ] || pieces="products precision fp64 graphs solvers edges train curves launch sweep cupy jax"

# Of NAME..., those that were asked for.
wanted() {
    for name in "$@"; do
        case " $pieces " in *" $name "*) echo "$name" ;; esac
    done
}

# BUILT=1: out/SET is there, built elsewhere.
[ "${BUILT:-0}" = 1 ] || { make -s -j14 GPU="$set_" LEAN=1 SCHEMES="$schemes" generate && make -s -j14 GPU="$set_" LEAN=1 SCHEMES="$schemes" build-device; } >"$out/build.log" 2>&1 &
build=$!
"$PYTHON" -c 'import torch; print("PyTorch", torch.__version__, torch.cuda.get_device_name(), "CUDA", torch.version.cuda)'
# No times of these are compared, so they run beside one another. CuPy and JAX look functions up.
start_untimed() {
    logged=yes
    for name in $(wanted precision graphs solvers curves); do
        piece face dropin_torch "$name" &
        waited="$waited $!"
    done
    [ -z "$(wanted graphs)" ] || { piece face dropin_torch graphs cold & waited="$waited $!"; }
    for name in $(wanted samples compiled); do
        HALFTONE_STRATEGY=eager piece face dropin_torch "$name" &
        waited="$waited $!"
    done
    logged=""
}

wait_for_untimed() {
    # shellcheck disable=SC2086 # words
    [ -z "$waited" ] || wait $waited
    waited=
}

waited=
native=$(wanted products solvers train fp64)
# shellcheck disable=SC2086 # words
[ -z "$native" ] || piece native dropin_torch "$(echo $native | tr ' ' ,)"
for name in $(wanted cupy jax); do
    piece native dropin_arrays "$name"
done
for name in $(wanted precision curves samples compiled); do
    piece native dropin_torch "$name" &
    waited="$waited $!"
done
[ "${BUILT:-0}" = 0 ] || start_untimed
wait_for_untimed
wait $build || { tail -5 "$out/build.log"; exit 0; }
echo "built, and native pieces run, after $(spent) s"
for name in $(wanted products train launch sweep fp64); do
    piece face dropin_torch "$name"
done
logged=yes
for name in $(wanted cupy jax); do
    HALFTONE_DLSYM=1 piece face dropin_arrays "$name"
done
[ "${BUILT:-0}" = 1 ] || start_untimed
wait_for_untimed
[ -z "$(wanted edges)" ] || piece face dropin_torch edges # fills the memory
"$PYTHON" bench/lab/dropin_compare.py "$out" >"$out/compare.tsv"
cat "$out/compare.tsv"
for log in "$out"/piece-*.log; do
    echo "---- ${log##*/piece-}: $(tail -1 "$log")"
    grep -E "^(native|face)     " "$log"
    case $(tail -1 "$log") in "exit code 0"*) ;; *) tail -4 "${log%.log}.err" ;; esac
    grep -A14 -E "^halftone" "${log%.log}.err" | cut -c 1-140
done
echo "took $(spent) s"
