#!/bin/sh
# demo.sh HALFTONE FOLDER: the demo on real data. HALFTONE is the command, FOLDER keeps the digits (fetched once).
# Also shows `halftone mm` on the .npy files. Offline, or without Python and pip, a generated set is used instead.
set -eu
if [ $# -ne 2 ]; then
    echo "usage: demo.sh path/to/halftone FOLDER" >&2
    exit 2
fi
halftone=$1
folder=$2
here=$(dirname "$0")
venv=$here/../../out/venv/bin/python
python=${PYTHON:-python3}
[ ! -x "$venv" ] || python=$venv
mkdir -p "$folder"
set -- # python3 draws the page
! command -v python3 >/dev/null || set -- --html "$folder/neighbours.html"
if [ ! -f "$folder/digits.npy" ]; then
    if ! command -v "$python" >/dev/null; then
        echo "No python3: the handwritten digits cannot be fetched; a generated set is used."
    elif "$python" "$here/digits.py" "$folder"; then
        echo "Handwritten digits: fetched once, $folder/digits.npy (from the scikit-learn wheel)."
    else
        echo "The handwritten digits cannot be had now (reason above); a generated set is used."
    fi
fi
if [ ! -f "$folder/digits.npy" ]; then
    exec "$halftone" demo "$@"
fi
# The .npy route by itself.
echo "halftone mm multiplies .npy files: X'X of the digits, mm digits.npy digits.npy --ta -o xtx.npy"
"$halftone" mm "$folder/digits.npy" "$folder/digits.npy" --ta -o "$folder/xtx.npy"
echo
exec "$halftone" demo --data "$folder/digits.npy" "$@"
