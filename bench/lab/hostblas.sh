#!/bin/sh
# NumPy as it is on the host's memory, by the machine's BLAS and with libhalftone_blas.so of SET (default h200) preloaded: hostblas.sh RESULTS, by
# bench/lab/run hostblas, on a machine with a GPU and a python3 that has NumPy. RESULTS receives numpy.tsv, the lines of hostblas_numpy.py (the machine's
# BLAS, the face by default, eager, and with 1 to 12 copying threads; FP64), and face.err, what the face said.
set -u
out=$1 blas=$PWD/out/${SET:-h200}/libhalftone_blas.so
: >"$out/numpy.tsv"
: >"$out/face.err"

numpy() { # numpy NAME PRELOADED WORD...
    name=$1 face=$2
    shift 2
    LD_PRELOAD=$face timeout -s KILL 60 "${PYTHON:-python3}" bench/lab/hostblas_numpy.py "$name" "$@" >>"$out/numpy.tsv" 2>>"$out/face.err" || echo "$name: exit code $?"
}

export HALFTONE_BLAS_START_MS=0 # each size for itself
numpy machine "" 256 512 724 1024 1448 2048 4096 8192
HALFTONE_STRATEGY=eager numpy "face, eager" "$blas" 256 512 724 1024 1448
numpy face "$blas" 512 1024 2048 4096 8192
for threads in 1 2 8 12; do
    HALFTONE_BLAS_THREADS=$threads HALFTONE_STRATEGY=eager numpy "face, $threads" "$blas" 512 1024 2048 4096
done
numpy machine "" 512 1024 2048 4096 --fp64
numpy face "$blas" 512 1024 2048 4096 --fp64
HALFTONE_STRATEGY=eager numpy "face, eager" "$blas" 512 1024 --fp64
cat "$out/numpy.tsv"
sort "$out/face.err" | uniq -c | head -20
