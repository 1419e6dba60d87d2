#!/bin/sh
# Puts NVIDIA's CUDA compiler, from its Python wheels, into a folder of its own: toolchain.sh FOLDER PYTHON [aarch64]
# aarch64: CUDA's runtime alone, of that machine, for a compiler that runs here.
# The wheels lack two names that nvcc and CMake look for: the folder lib64, and libcudart.so without a version.
set -eu
folder=$1 python=$2 target=${3:-}
cuda=nvidia/cu13
tell() { # nvcc finds its libraries itself; other compilers are told the folder
    root=$(cd "$folder/$cuda" && pwd)
    [ -z "$target" ] || { echo "CUDA's runtime for $target: $root/lib"; return; }
    echo "nvcc: $root/bin/nvcc"
    echo "make finds it by itself; for your own commands: export PATH=\"$root/bin:\$PATH\""
    echo "where a line of the README says /usr/local/cuda, say $root"
}
complete() { # complete FOLDER
    [ -e "$1/$cuda/lib64" ] || ln -s lib "$1/$cuda/lib64"
    [ -e "$1/$cuda/lib/libcudart.so" ] || ln -s libcudart.so.13 "$1/$cuda/lib/libcudart.so"
}
if [ -x "$folder/$cuda/bin/nvcc" ] || { [ -n "$target" ] && [ -e "$folder/$cuda/lib/libcudart_static.a" ]; }; then
    complete "$folder"
    tell
    exit 0
fi
rm -rf "$folder.tmp" && mkdir -p "$folder.tmp/wheels"
trap 'rm -rf "$folder.tmp"' EXIT
[ -z "$target" ] || echo "nvidia-cuda-runtime==13.0.96 --hash=sha256:ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55" >"$folder.tmp/wheels/names.txt"
[ -n "$target" ] || cat >"$folder.tmp/wheels/names.txt" <<END
nvidia-cuda-nvcc==13.0.88 --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03
nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-crt==13.0.88 --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
nvidia-nvvm==13.0.88 --hash=sha256:c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0
nvidia-cuda-cccl==13.0.85 --hash=sha256:e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649
END
"$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    ${target:+--platform "manylinux2014_$target"} -d "$folder.tmp/wheels" -r "$folder.tmp/wheels/names.txt" ||
    { echo "pip could not download NVIDIA's compiler wheels (tests/toolchain.sh)" >&2; exit 1; }
for wheel in "$folder.tmp"/wheels/*.whl; do
    "$python" -m zipfile -e "$wheel" "$folder.tmp"
done
rm -rf "$folder.tmp/wheels"
chmod +x "$folder.tmp/$cuda"/bin/* "$folder.tmp/$cuda"/nvvm/bin/* 2>/dev/null || true
complete "$folder.tmp"
rm -rf "$folder" && mv "$folder.tmp" "$folder"
trap - EXIT
[ -n "$target" ] || "$folder/$cuda/bin/nvcc" --version | tail -1
tell
