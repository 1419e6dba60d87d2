#!/bin/sh
# on_gpu.sh BINARIES GPU: runs what on_gpu_prepare.sh built on this machine's GPU. GPU: the set that a library of
# a800 and h200 must choose here (h200 on capability 9.0, else a800).
set -u
bin=$1/vendored want=$2 failed=0
expect() { # expect PROGRAM TEXT
    text=$("$bin/$1" 2>&1)
    code=$?
    case "$code $text" in
    "0 "*"$2"*) echo "vendored $1: $text" ;;
    *) echo "vendored $1: FAILED, code $code: $text (expected: $2)" && failed=1 ;;
    esac
}
expect halftone "kernels of a800"
expect both "kernels of $want"
expect right "kernels of a800"
[ "$want" = h200 ] && expect left "kernels of h200" && expect two "15 15" && expect t4h "kernels of h200"
[ "$want" = h200 ] || expect t4h "kernels of t4"
exit $failed
