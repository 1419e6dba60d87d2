#!/bin/sh
# Puts NVIDIA's CUDA compiler, from its Python wheels, into a folder of its own: toolchain.sh FOLDER PYTHON
# The wheels lack two names that nvcc and CMake look for: the folder lib64, and libcudart.so without a version.
set -eu
folder=$1 python=$2 here=$(dirname "$0")
cuda=nvidia/cu13
tell() { # nvcc finds its libraries itself; other compilers are told the folder
    root=$(cd "$folder/$cuda" && pwd)
    echo "nvcc: $root/bin/nvcc"
    echo "make finds it by itself; for your own commands: export PATH=\"$root/bin:\$PATH\""
    echo "where a line of the README says /usr/local/cuda, say $root"
}
complete() { # complete FOLDER
    [ -e "$1/$cuda/lib64" ] || ln -s lib "$1/$cuda/lib64"
    [ -e "$1/$cuda/lib/libcudart.so" ] || ln -s libcudart.so.13 "$1/$cuda/lib/libcudart.so"
}
if [ -x "$folder/$cuda/bin/nvcc" ]; then
    complete "$folder"
    tell
    exit 0
fi
rm -rf "$folder.tmp" && mkdir -p "$folder.tmp/wheels"
trap 'rm -rf "$folder.tmp"' EXIT
"$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    -d "$folder.tmp/wheels" -r "$here/toolchain.txt" ||
    { echo "pip could not download NVIDIA's compiler wheels (tests/toolchain.txt)" >&2; exit 1; }
for wheel in "$folder.tmp"/wheels/*.whl; do
    "$python" -m zipfile -e "$wheel" "$folder.tmp"
done
rm -rf "$folder.tmp/wheels"
chmod +x "$folder.tmp/$cuda"/bin/* "$folder.tmp/$cuda"/nvvm/bin/* 2>/dev/null || true
complete "$folder.tmp"
rm -rf "$folder" && mv "$folder.tmp" "$folder"
trap - EXIT
"$folder/$cuda/bin/nvcc" --version | tail -1
tell
