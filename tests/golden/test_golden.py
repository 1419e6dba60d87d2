"""What the generator writes, for review, held against what it wrote: HALFTONE_GOLDEN=write renews it; read the difference first.

golden/schemes.txt has of each scheme's first kernel what its banner has that none above it has, of some the main loop too. Lines that
stand so in a template are named; of lines that repeat but for numbers the first are shown. Every byte of all output is held by
test_output.py."""
import os
import re

import pytest
from conftest import ROOT
from same_output import MASKED

GOLDEN = ROOT / "tests/golden/schemes.txt"
WRITE = os.environ.get("HALFTONE_GOLDEN") == "write"
# One GPU for each way of running MMAs: schemes whose banner is shown, and of which of these the main loop. Numbers of moduli differ by constants.
USUAL = "f16x3|bf16x6u|crt15"
REVIEWED = {"h200": (r"(?!crt)\w+|crt15", "bf16x6u|crt15|f16x3|i8x6"), "a800": (USUAL, "crt15|f16x3"), "mi210": (USUAL, ""), "t4": ("f16x3", "")}
SAME = 4 # so many lines on end that stand in a template are not shown
PERIOD = 60 # lines at the most that repeat


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


@pytest.fixture(scope="module")
def places():
    """Of so many lines on end: the lines of the file that has them, and where in it."""
    found = {}
    for path in sorted((ROOT / "templates").rglob("*.cu*")):
        lines = re.sub(r" *//@mutate .*", "", path.read_text()).splitlines()
        for i in range(len(lines) - SAME + 1):
            found.setdefault(tuple(lines[i:i + SAME]), []).append((path.relative_to(ROOT).as_posix(), lines, i))
    return found


def without_templates(text, places):
    lines, shown, i = text.splitlines(), [], 0
    while i < len(lines):
        length, name = 0, None
        for file, there, at in places.get(tuple(lines[i:i + SAME]), []):
            same = next((n for n, (x, y) in enumerate(zip(lines[i:], there[at:])) if x != y), min(len(lines) - i, len(there) - at))
            length, name = max((length, name), (same, file))
        line = f"// as {name}" if name else lines[i]
        shown += [line] if not name or line not in shown[-1:] else []
        i += length or 1
    return "\n".join(folded(shown)) + "\n"


def folded(lines):
    """Of lines that come again with other numbers, once or more, the first, and how often they do."""
    shape, shown, i = [re.sub(r"\d+", "0", line) for line in lines], [], 0
    while i < len(lines):
        saved, period, again = 0, 0, 0
        for length in range(1, min(PERIOD, (len(lines) - i) // 2) + 1):
            count = 0
            while shape[i:i + length] == shape[i + (count + 1) * length:i + (count + 2) * length]:
                count += 1
            saved, period, again = max((saved, period, again), (count * length, -length, count))
        if saved > 1:
            shown += [*folded(lines[i:i - period]), f"// and {again} more" + (f" of the {-period} lines above" if period < -1 else "") + ", with other numbers"]
            i += -period * (again + 1)
        else:
            shown.append(lines[i])
            i += 1
    return shown


def test_banner_and_main_loop_of_each_scheme(emitted, places):
    shown, known = [], set()
    for gpu, (banners, loops) in REVIEWED.items():
        rows = [line.split("\t") for line in (emitted(gpu) / "manifest").read_text().splitlines()[2:]]
        for scheme, name in {row[1]: row[0] for row in reversed(rows)}.items():
            if re.fullmatch(banners, scheme):
                banner, code = MASKED.sub("(checksum)", next(p for p in sources(emitted(gpu)) if p.stem == name).read_text()).split("//\n// int ", 1)
                shown += ["", *(line for line in banner.splitlines() if line not in known)]
                known.update(banner.splitlines())
                shown += without_templates(main_loop(code), places).splitlines() if re.fullmatch(loops, scheme) else []
    text = "\n".join(["// What the generator writes, as test_golden.py cuts it", "", *shown]) + "\n"
    if WRITE:
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, "schemes.txt: read the difference, then renew with HALFTONE_GOLDEN=write"


def test_golden_kernel_reads_well(emitted):
    text = next(emitted("a800").glob("ht_f16x3_*.cu")).read_text()
    head = text.split("#ifndef")[0]
    for word in ("Tile:", "Budget of a800", "Accuracy:", "Input range:", "Recreate:", "MIT-0", "Checksum"):
        assert word in head
    assert not re.search(r"#pragma unroll(?! 1\b)", text) and "//@" not in text  # "unroll 1" is an order to leave a loop alone
    assert max(map(len, text.splitlines())) < 400
