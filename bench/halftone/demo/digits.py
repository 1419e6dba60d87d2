#!/usr/bin/env python3
"""digits.py FOLDER: writes FOLDER/digits.npy, the 1797 handwritten digits that the scikit-learn wheel carries.

float32, 1797 x 64, C order, one digit of 8 x 8 pixels per row, whole numbers 0..16 as they are in the file: nothing is
scaled. The wheel is fetched once with pip into a temporary folder and only its digits.csv.gz is kept, as digits.npy.
Needs nothing but Python's own library and pip. Exit code 3 when the digits cannot be had (offline, no pip), with one
line on stderr; the demo then uses a generated set and says so.
Source of the data: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI repository, 1998.
"""
import glob
import gzip
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

NOT_AVAILABLE = 3
# One wheel for every Python and machine: only a table is read from it, nothing is run.
WHEEL = "scikit-learn==1.7.2 --hash=sha256:89877e19a80c7b11a2891a27c21c4894fb18e2c2e077815bcade10d34287b20d"
PLATFORM = ["--platform", "manylinux2014_x86_64", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
MEMBER = "sklearn/datasets/data/digits.csv.gz"
PIXELS = 64


def give_up(reason):
    print("digits.py: " + reason, file=sys.stderr)
    sys.exit(NOT_AVAILABLE)


def fetch_wheel(folder):
    wanted = os.path.join(folder, "wanted.txt")
    with open(wanted, "w") as out:
        out.write(WHEEL + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
               "--only-binary=:all:", "--retries", "1", "--timeout", "15", "--dest", folder, *PLATFORM, "-r", wanted]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        give_up("pip could not be run (%s)" % error)
    wheels = glob.glob(os.path.join(folder, "*.whl"))
    if done.returncode != 0 or not wheels:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        lines = [line for line in lines if line.startswith("ERROR: ")] or lines
        give_up("pip could not fetch scikit-learn (%s)" % (lines[-1] if lines else "no message"))
    return wheels[0]


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
        write_npy(path, read_pixels(fetch_wheel(folder)), folder)


main()
