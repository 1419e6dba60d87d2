#!/usr/bin/env python3
"""digits.py FOLDER: writes FOLDER/digits.npy, the 1797 handwritten digits that the scikit-learn wheel carries.

float32, 1797 x 64, C order, one digit of 8 x 8 pixels per row, whole numbers 0..16 as they are in the file: nothing is
scaled. The wheel is fetched once with pip into a temporary folder and only its digits.csv.gz is kept, as digits.npy.
Needs nothing but Python's own library and pip. Exit code 3 when the digits cannot be had (offline, no pip), with one
line on stderr; the demo then uses a generated set and says so.
Source of the data: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI repository, 1998.
"""
import gzip
import os
import struct
import sys
import tempfile
import zipfile
from pathlib import Path

from wheel import PLATFORM, SCIKIT_LEARN, NoWheel, fetch

NOT_AVAILABLE = 3
MEMBER = "sklearn/datasets/data/digits.csv.gz"
PIXELS = 64


def give_up(reason):
    print("digits.py: " + reason, file=sys.stderr)
    sys.exit(NOT_AVAILABLE)


def read_pixels(wheel):
    try:
        with zipfile.ZipFile(wheel) as archive:
            text = gzip.decompress(archive.read(MEMBER)).decode("ascii")
        rows = [[float(cell) for cell in line.split(",")[:PIXELS]] for line in text.split()]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        give_up("the wheel does not hold the digits as expected (%s)" % error)
    if len(rows) < 2 or any(len(row) != PIXELS or min(row) < 0 or max(row) > 16 for row in rows):
        give_up("the wheel's digits are not rows of 64 numbers 0..16")
    return rows


def write_npy(path, rows, folder):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), PIXELS)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    temporary = os.path.join(folder, "digits.npy")
    with open(temporary, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("ascii"))
        for row in rows:
            out.write(struct.pack("<%df" % PIXELS, *row))
    os.replace(temporary, path)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: digits.py FOLDER")
    path = os.path.join(sys.argv[1], "digits.npy")
    if os.path.exists(path):
        return
    os.makedirs(sys.argv[1], exist_ok=True)
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        try:
            wheel = fetch(SCIKIT_LEARN, Path(folder), *PLATFORM)
        except NoWheel as error:
            give_up(str(error))
        write_npy(path, read_pixels(wheel), folder)


main()
