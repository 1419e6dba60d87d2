#!/bin/sh
# demo.sh HALFTONE FOLDER: the demo on real data. HALFTONE is the command, FOLDER keeps the digits (fetched once).
# Also shows `halftone mm` on the .npy files. Offline, or without python3 and pip, a generated set is used instead.
set -eu
if [ $# -ne 2 ]; then
    echo "usage: demo.sh path/to/halftone FOLDER" >&2
    exit 2
fi
halftone=$1
folder=$2
mkdir -p "$folder"
here=$(dirname "$0")
if ! command -v python3 >/dev/null; then
    echo "no python3: the handwritten digits cannot be fetched; using a generated set"
elif python3 "$here/digits.py" "$folder"; then
    echo "handwritten digits: $folder/digits.npy (from the scikit-learn wheel)"
else
    echo "the handwritten digits cannot be had now (reason above); using a generated set"
fi
if [ ! -f "$folder/digits.npy" ]; then
    exec "$halftone" demo
fi
# The .npy route by itself: the 64 x 64 matrix X'X.
"$halftone" mm "$folder/digits.npy" "$folder/digits.npy" --ta -o "$folder/xtx.npy"
exec "$halftone" demo --data "$folder/digits.npy"
