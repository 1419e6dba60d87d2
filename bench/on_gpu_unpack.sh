#!/bin/sh
# Unpacks BINARIES.tar.xz, which on_gpu_prepare.sh wrote, where the folder is missing: on_gpu_unpack.sh BINARIES
set -eu
bin=$1
if [ ! -d "$bin" ] && [ -f "$bin.tar.xz" ]; then
    rm -rf "$bin.part"
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$bin.tar.xz" "$bin.part" # not everybody has xz
    mv "$bin.part" "$bin"
fi
