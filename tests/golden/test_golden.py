"""What the generator writes, for review, held against what it wrote: HALFTONE_GOLDEN=write renews it; read the difference first.

    golden/whole/FAMILY.cu       one kernel of a family, whole
    golden/loops/GPU-SCHEME.txt  of a scheme's first kernel what differs from scheme to scheme: its banner, its main loop

All other output is held by test_output.py."""
import os
import pathlib
import re

import pytest
from conftest import ROOT
from same_output import MASKED

GOLDEN = ROOT / "tests/golden"
WRITE = os.environ.get("HALFTONE_GOLDEN") == "write"
RENEW = "read the difference, then renew with HALFTONE_GOLDEN=write"
FAMILIES = {"mma": ("a800", "ht_f16x3_mma_128x128x32_"), "wgmma": ("h200", "ht_f16x3_wgmma_128x256x32_")} # set, what the file's name begins with
# One GPU for each way of running MMAs. For wgmma all schemes, with one number of moduli; else one of FP16, INT8, unpacked and residues.
USUAL = "f16x3|i8x6|bf16x6u|crt15"
REVIEWED = {"h200": r"(?!crt)\w+|crt15", "a800": USUAL, "mi210": USUAL, "t4": "f16x3"}


def masked(path):
    return MASKED.sub("(checksum)", path.read_text())


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
            if not re.fullmatch(REVIEWED[gpu], scheme):
                continue
            text = masked(next(p for p in sources(emitted(gpu)) if p.stem == name))
            banner, code = text.split("\n#ifndef HT_SIMULATOR", 1)
            wanted[f"{gpu}-{scheme}.txt"] = banner + "\n" + main_loop(code)
    hold(wanted, GOLDEN / "loops")


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
    calls = {"mma": "ht_mma_f16_16816(", "wgmma": "ht_wgmma("}
    (path,) = (GOLDEN / "whole").glob(f"{family}.*")
    assert calls[family] in path.read_text()
