#!/bin/sh
# Puts NVIDIA's CUDA compiler, from its Python wheels, into a folder of its own: toolchain.sh FOLDER PYTHON
set -eu
folder=$1 python=$2
version='==13.0.*'
[ -x "$folder/nvidia/cu13/bin/nvcc" ] && { echo "$folder has nvcc already"; exit 0; }
rm -rf "$folder.tmp" && mkdir -p "$folder.tmp/wheels"
trap 'rm -rf "$folder.tmp"' EXIT
"$python" -m pip download -q --no-deps --only-binary=:all: -d "$folder.tmp/wheels" \
    "nvidia-cuda-nvcc$version" "nvidia-cuda-runtime$version" "nvidia-cuda-crt$version" "nvidia-nvvm$version" \
    "nvidia-cuda-cccl$version" || { echo "pip could not download NVIDIA's compiler wheels" >&2; exit 1; }
for wheel in "$folder.tmp"/wheels/*.whl; do
    "$python" -m zipfile -e "$wheel" "$folder.tmp"
done
rm -rf "$folder.tmp/wheels"
chmod +x "$folder.tmp"/nvidia/cu13/bin/* "$folder.tmp"/nvidia/cu13/nvvm/bin/* 2>/dev/null || true
rm -rf "$folder" && mv "$folder.tmp" "$folder"
trap - EXIT
"$folder/nvidia/cu13/bin/nvcc" --version | tail -1
