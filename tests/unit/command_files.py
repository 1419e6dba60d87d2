"""What the command reads and writes, for its tests: .npy matrices and tables."""
import re
import struct


def npy(rows, cols, numbers=None, descr="<f4", fortran=False):
    """The bytes of a file that stores these numbers, or 0, 1, 2, ..."""
    head = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = struct.pack(f"{descr[0]}{rows * cols}{'d' if descr[1:] == 'f8' else 'f'}", *(range(rows * cols) if numbers is None else numbers))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def store(path, matrix, fortran=False, descr="<f4"):
    path.write_bytes(npy(len(matrix), len(matrix[0]), [x for line in (zip(*matrix) if fortran else matrix) for x in line], descr, fortran))


def load(path):
    """Type, rows."""
    raw = path.read_bytes()
    head = raw[10:10 + struct.unpack("<H", raw[8:10])[0]].decode()
    rows, cols = map(int, re.search(r"\((\d+), (\d+)\)", head).groups())
    descr, by_column = re.search(r"'descr': '(\S+)'", head)[1], "'fortran_order': True" in head
    flat = struct.unpack(f"<{rows * cols}{'d' if descr == '<f8' else 'f'}", raw[10 + len(head):])
    return descr, [flat[i::rows] if by_column else flat[i * cols:(i + 1) * cols] for i in range(rows)]


def rows(path):
    """A table's rows by column."""
    lines = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]
