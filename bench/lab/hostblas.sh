#!/bin/sh
# NumPy as it is on the host's memory, by the machine's BLAS and with libhalftone_blas.so preloaded: hostblas.sh RESULTS, on a machine with a
# GPU, nvcc, and a python3 that has NumPy. Builds SET (default h200, lean), then runs hostblas_numpy.py. RESULTS receives
#   numpy.tsv     its lines: the machine's BLAS, the face by default, eager, and with 1 to 12 copying threads; FP64
#   summary.txt   time of the machine's BLAS over the face's (the best of the calls that allocate C, and of those that do not), errors, calls served
#   face.err      what the face said
# Nothing starts after LIMIT seconds (default 75).
set -u
out=$1 set_=${SET:-h200} limit=${LIMIT:-75} start=$(date +%s)
: "${PYTHON:=python3}"
mkdir -p "$out"
: >"$out/numpy.tsv"
: >"$out/face.err"

spent() { echo $(($(date +%s) - start)); }

# numpy NAME PRELOADED SIZE...
numpy() {
    name=$1 face=$2
    shift 2
    [ "$(spent)" -lt "$limit" ] || { echo "$name: skipped after $(spent) s"; return; }
    LD_PRELOAD=$face timeout -s KILL 40 "$PYTHON" bench/lab/hostblas_numpy.py "$name" "$@" >>"$out/numpy.tsv" 2>>"$out/face.err" || echo "$name: exit code $?"
}

schemes=f16x3,bf16x6u,native64
{ make -s -j16 GPU="$set_" LEAN=1 SCHEMES=$schemes generate && make -s -j16 GPU="$set_" LEAN=1 SCHEMES=$schemes build-device; } >"$out/build.log" 2>&1 ||
    { tail -5 "$out/build.log"; exit 0; }
echo "built after $(spent) s; $(nproc) cores"
export HALFTONE_BLAS_START_MS=0 # each size for itself
blas=$PWD/out/$set_/libhalftone_blas.so
"$PYTHON" - <<'END'
import numpy as np
with open("/proc/self/maps") as maps:
    print("NumPy", np.__version__, sorted({line.split("/")[-1].strip() for line in maps if "blas" in line or "mkl" in line}))
END
numpy machine "" 256 512 724 1024 1448 2048 4096
HALFTONE_STRATEGY=eager numpy "face, eager" "$blas" 256 512 724 1024 1448
numpy face "$blas" 512 1024 2048 4096 8192
for threads in 1 2 8 12; do
    HALFTONE_BLAS_THREADS=$threads HALFTONE_STRATEGY=eager numpy "face, $threads" "$blas" 512 1024 2048 4096
done
numpy machine "" 512 1024 2048 4096 --fp64
numpy face "$blas" 512 1024 2048 4096 --fp64
HALFTONE_STRATEGY=eager numpy "face, eager" "$blas" 512 1024 --fp64
numpy machine "" 8192
awk -F'\t' '
    $1 == "machine" { best[$2, $3, $4] = $6; ready[$2, $3, $4] = $7; error[$2, $3, $4] = $8; next }
    { line[++lines] = $0 }
    END { for (i = 1; i <= lines; i++) { $0 = line[i]; show() } }
    function show() {
        printf "%-16s %-8s %5d %-8s %9.2f ms, machine %9.2f, ratio %6.2f; C there already %9.2f ms, ratio %6.2f; first %9.2f; error %.3g, machine %.3g; served %s of %d\n", $1, $2, $3, $4,
            $6 * 1000, best[$2, $3, $4] * 1000, best[$2, $3, $4] / $6, $7 * 1000, ready[$2, $3, $4] / $7, $5 * 1000, $8, error[$2, $3, $4], $9, $9 + $10
    }' "$out/numpy.tsv" | tee "$out/summary.txt"
sort "$out/face.err" | uniq -c | head -20
echo "took $(spent) s"
