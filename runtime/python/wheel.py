#!/usr/bin/env python3
"""wheel.py SET FOLDER [FILE ...]: a wheel of the set's libraries and commands, the same bytes for the same files.

FILE: what of the set was built for GPUs. A folder beside the module holds what `make install` puts below PREFIX."""
import base64
import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SET, FOLDER, DEVICE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
VERSION = re.search(r'HALFTONE_VERSION_TEXT "(.*)"', (SET / "halftone.h").read_text())[1]
MACHINES = {62: "x86_64", 183: "aarch64"}  # of an ELF header

FILES = {"halftone_gemm.py": ROOT / "runtime/python/halftone_gemm.py", **{f"halftone_gemm.libs/{name}": path for name, path in {
    **{f"bin/{name}": SET / name for name in ("halftone", "halftone-sim") if name in ("halftone-sim", *DEVICE)},
    **{f"lib/{name}": SET / name for name in ("libhalftone.so", "libhalftone-sim.so") if name in ("libhalftone-sim.so", *DEVICE)},
    **{f"lib/{face.name}": face for face in sorted(SET.glob("libhalftone_*.so"))},
    "include/halftone.h": SET / "halftone.h", "share/doc/halftone/MANUAL.md": ROOT / "runtime/MANUAL.md",
    "share/halftone/pages.py": ROOT / "bench/pages.py"}.items()}}


def main():
    data = {name: path.read_bytes() for name, path in FILES.items()}
    data["halftone_gemm.py"] += f'__version__ = "{VERSION}"\n'.encode()
    binaries = [bytes_ for bytes_ in data.values() if bytes_[:4] == b"\x7fELF"]
    glibc = max(int(minor) for b in binaries for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", b))
    (machine,) = {MACHINES[int.from_bytes(b[18:20], "little")] for b in binaries}
    tag, info = f"py3-none-manylinux_2_{glibc}_{machine}", f"halftone_gemm-{VERSION}.dist-info"
    kernels = f"kernels for {SET.name.replace('+', ', ')}, " if DEVICE else f"without a GPU: kernels of {SET.name.replace('+', ', ')} in the "
    data[f"{info}/METADATA"] = f"""Metadata-Version: 2.1
Name: halftone-gemm
Version: {VERSION}
Summary: FP32 and FP64 matrix products on tensor cores; {kernels}simulator
License: MIT
Requires-Python: >=3.9
""".encode()
    data[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: halftone\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    data[f"{info}/entry_points.txt"] = b"[console_scripts]\nhalftone = halftone_gemm:main\nhalftone-sim = halftone_gemm:main\n"
    data[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    digest = {name: base64.urlsafe_b64encode(hashlib.sha256(d).digest()).decode().rstrip("=") for name, d in data.items()}
    record = f"{info}/RECORD"
    data[record] = "".join(f"{name},sha256={digest[name]},{len(data[name])}\n" for name in data).encode() + f"{record},,\n".encode()
    FOLDER.mkdir(parents=True, exist_ok=True)
    wheel = FOLDER / f"halftone_gemm-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(wheel.with_suffix(".tmp"), "w", zipfile.ZIP_DEFLATED) as out:
        for name, bytes_ in data.items():
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if bytes_[:4] == b"\x7fELF" else 0o100644) << 16
            out.writestr(entry, bytes_)
    wheel.with_suffix(".tmp").replace(wheel)
    print(wheel)


main()
