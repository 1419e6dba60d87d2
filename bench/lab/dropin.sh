#!/bin/sh
# The cuBLAS face under programs as they are: dropin.sh RESULTS [PIECE...], by bench/lab/run dropin, on a machine with a GPU and a python3 that has
# PyTorch, CuPy and JAX. Pieces of dropin_torch.py, dropin_arrays.py and, with two GPUs, dropin_ranks.py (ddp fsdp tensor graph devices) run natively
# and under `halftone run` of SET (default h200), a process each, PIECE_LIMIT seconds at most (60), so that one that hangs costs no other. Left out by
# default, because they take as long as the rest: samples, compiled. RESULTS receives native.tsv, face.tsv, sweep.tsv, curve-*.json, calls.tsv, and
# compare.tsv, which is printed.
set -u
out=$1
shift
: "${PYTHON:=python3}" "${PIECE_LIMIT:=60}"
mkdir -p "$out"
rm -f "$out"/native.tsv "$out"/face.tsv "$out"/calls.tsv "$out"/piece-*
export OMP_NUM_THREADS=4 NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1 # of ranks

piece() { # piece SIDE NAME [WORD]
    side=$1 name=$2
    shift 2
    script=dropin_torch launcher="" before="" log=$out/piece-$side-$name${1:+-$1}
    case $name in
    cupy | jax) script=dropin_arrays ;;
    devices) script=dropin_ranks ;;
    ddp | fsdp | tensor | graph) script=dropin_ranks launcher="-m torch.distributed.run --standalone --nproc-per-node 2" ;;
    esac
    case $side-$name in
    native-*) ;;
    *-products | *-train | *-launch | *-sweep | *-fp64) before="out/${SET:-h200}/halftone run --" ;; # timed: no log of calls
    *-llama) before="out/${SET:-h200}/halftone run --accuracy invariant --" ;;
    *-cupy | *-jax) before="env HALFTONE_DLSYM=1 out/${SET:-h200}/halftone run --log $out/calls.tsv --" ;; # they look functions up
    *-samples | *-compiled) before="env HALFTONE_STRATEGY=eager out/${SET:-h200}/halftone run --log $out/calls.tsv --" ;;
    *) before="out/${SET:-h200}/halftone run --log $out/calls.tsv --" ;;
    esac
    # shellcheck disable=SC2086 # words
    timeout -s KILL "$PIECE_LIMIT" $before "$PYTHON" $launcher "bench/lab/$script.py" "$name" "$out" "$@" >"$log.log" 2>"$log.err"
    echo "exit code $?" >>"$log.log"
}

for name in ${*:-products precision fp64 graphs solvers train curves llama launch sweep cupy jax edges}; do # edges fills the memory
    case $name in
    launch | sweep | edges | devices) ;;
    graphs) piece face graphs cold ;;
    *) piece native "$name" ;;
    esac
    piece face "$name"
done
"$PYTHON" bench/lab/dropin_compare.py "$out" >"$out/compare.tsv"
cat "$out/compare.tsv"
for log in "$out"/piece-*.log; do
    echo "---- ${log##*/piece-}: $(tail -1 "$log")"
    grep -E "^(native|face)     |FAILED" "$log"
    case $(tail -1 "$log") in "exit code 0") ;; *) tail -4 "${log%.log}.err" ;; esac
    grep -A14 -E "^halftone" "${log%.log}.err" | cut -c 1-140
done
