"""What the generator writes, held against what it wrote: HALFTONE_GOLDEN=write renews all of it; read the difference first.

    golden/whole/FAMILY.cu       for review: one kernel of each family, whole
    golden/loops/GPU-SCHEME.txt  of each scheme's first kernel what differs from scheme to scheme: its banner, its main loop
    golden/digests.txt           of every generated file a digest, so that nothing moves unseen; `same_output.py REV` shows what moved"""
import hashlib
import os
import pathlib
import re

import pytest
from conftest import AMD, NVIDIA, ROOT, gen
from same_output import FOLDERS, MASKED

GOLDEN = ROOT / "tests/golden"
WRITE = os.environ.get("HALFTONE_GOLDEN") == "write"
RENEW = "read the difference, then renew with HALFTONE_GOLDEN=write"
FAMILIES = {  # set, what the file's name begins with
    "mma": ("a800", "ht_f16x3_mma_128x128x32_"), "wgmma": ("h200", "ht_f16x3_wgmma_128x256x32_"), "mfma": ("mi210", "ht_f16x3_mma_128x128x32_"),
    "unpacked-mma": ("a800", "ht_bf16x6u_mma_64x64x32_w32x32_s2_sm"), "unpacked-wgmma": ("h200", "ht_bf16x6u_wgmma_64x32x32_w16x32_"),
    "dmma": ("h200", "ht_dmma_64x64x16_w32x32_s4_"),
    "simt": ("a800", "ht_simt_64x64x16_"), "gemv": ("a800", "ht_gemv_16x4x256_"), "tall-skinny": ("a800", "ht_tall_skinny_128x4x64_"),
    "pack": ("a800", "ht_pack_f16x3_"), "reduce": ("a800", "ht_reduce_")}
REVIEWED = ("a800", "t4", "h200", "mi210")


def masked(path):
    return MASKED.sub("(checksum)", path.read_text())


def digest(path, runtime):
    """Of a copy of runtime/, and of the amalgamation, what the generator adds: the lines that no file of runtime/ has."""
    lines = masked(path).split("\n")
    if path.suffix in (".c", ".h") and (ROOT / "runtime" / path.name).exists() or path.stem == "my":
        named = (re.sub(r"\b(?:my_(?=ht_)|MY_(?=HT_))", "", line) for line in lines)
        named = (re.sub(r"\bmy(?=_|\b)", "halftone", re.sub(r"\bMY_", "HALFTONE_", line)) for line in named)
        lines = [line for line in named if line not in runtime]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def sources(folder):
    return sorted(p for p in folder.iterdir() if p.suffix in (".cu", ".hip"))


def main_loop(text):
    """The longest loop that multiplies by the matrix unit; of kernels without such a call, the longest."""
    lines, loops = text.splitlines(), []
    for first, line in enumerate(lines):
        if re.match(r"\s*(for|while) .*\{$", line):
            indent = line[:len(line) - len(line.lstrip())]
            last = next(i for i in range(first + 1, len(lines)) if lines[i].startswith(indent + "}"))
            loops.append(lines[first:last + 1])
    multiply = [l for l in loops if re.search(r"\bht_(wg)?mma\w*\(", "\n".join(l))]
    return "\n".join(max(multiply or loops, key=len)) + "\n"


def hold(wanted, folder):
    """The files of a folder of goldens are these texts: {name: text}."""
    if WRITE:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, text in wanted.items():
            (folder / name).write_text(text)
    assert {p.name for p in folder.iterdir()} == set(wanted)
    moved = [name for name, text in wanted.items() if (folder / name).read_text() != text]
    assert not moved, f"{', '.join(moved)}: {RENEW}"


def test_one_kernel_of_each_family(emitted):
    wanted = {}
    for family, (gpu, begins) in FAMILIES.items():
        path = next(p for p in sources(emitted(gpu)) if p.name.startswith(begins))
        wanted[family + path.suffix] = masked(path)
    hold(wanted, GOLDEN / "whole")


def test_banner_and_main_loop_of_each_scheme(emitted):
    wanted = {}
    for gpu in REVIEWED:
        rows = [line.split("\t") for line in (emitted(gpu) / "manifest").read_text().splitlines()[2:]]
        for scheme, name in {row[1]: row[0] for row in reversed(rows)}.items():
            text = masked(next(p for p in sources(emitted(gpu)) if p.stem == name))
            banner, code = text.split("\n#ifndef HT_SIMULATOR", 1)
            wanted[f"{gpu}-{scheme}.txt"] = banner + "\n" + main_loop(code)
    hold(wanted, GOLDEN / "loops")


def test_no_output_moves_unseen(emitted, tmp_path):
    """Every file of every set and of the vendored folders that same_output.py compares. Lines of checksums are masked, since any edit of a
    template moves them; lines of runtime/ are left out, since they are seen where they are edited."""
    folders = {gpu: emitted(gpu) for gpu in (*NVIDIA, *AMD)}
    for name, command in FOLDERS.items():
        folders[name] = tmp_path / name
        gen(*command, "--out", folders[name])
    runtime = {line for path in (ROOT / "runtime").glob("*.[ch]") for line in path.read_text().split("\n")}
    now = {f"{name}/{p.relative_to(folder)}": digest(p, runtime)
           for name, folder in sorted(folders.items()) for p in sorted(folder.rglob("*")) if p.is_file()}
    table = GOLDEN / "digests.txt"
    if WRITE:
        table.write_text("".join(f"{sha} {name}\n" for name, sha in now.items()))
    before = {name: sha for sha, name in map(str.split, table.read_text().splitlines())}
    moved = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    assert not moved, f"{len(moved)} of {len(now)} files, {', '.join(moved[:8])}: {RENEW}"


def test_golden_kernel_reads_well(emitted):
    text = next(emitted("a800").glob("ht_f16x3_*.cu")).read_text()
    head = text.split("#ifndef")[0]
    for word in ("Tile:", "Budget of a800", "Accuracy:", "Input range:", "Recreate:", "MIT-0", "Checksum"):
        assert word in head
    assert not re.search(r"#pragma unroll(?! 1\b)", text) and "//@" not in text  # "unroll 1" is an order to leave a loop alone
    assert max(map(len, text.splitlines())) < 400


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_what_its_golden_is_called(family, emitted):
    """So that a golden does not turn into another family's when tiles are chosen anew."""
    calls = {"mma": "ht_mma_f16_16816(", "wgmma": "ht_wgmma(", "mfma": "ht_mma_half(", "unpacked-mma": "ht_mma_bf16_16816(", "unpacked-wgmma": "ht_wgmma_rows<",
             "dmma": "ht_mma_f64_1688(sum", "simt": "exchange_halves(", "gemv": "leave_line_sums", "tall-skinny": "near_row<",
             "pack": "ht_split_four(", "reduce": "ht_finish("}
    (path,) = (GOLDEN / "whole").glob(f"{family}.*")
    assert calls[family] in path.read_text()
