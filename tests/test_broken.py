"""The simulator must disagree when a kernel is wrong: kernels are broken on purpose, each must be caught."""
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, SIM

SET = ROOT / "out" / "a800"
KERNEL = None


def kernel_name():
    rows = [l.split("\t") for l in (SET / "manifest").read_text().splitlines()[2:]]
    return next(r[0] for r in rows if r[1] == "f16x3")


def nth(text, pattern, n, replacement):
    """Replaces the n-th match after the main loop began."""
    at = text.index("steady state")
    matches = list(re.finditer(pattern, text[at:]))
    assert len(matches) > n, pattern
    m = matches[n]
    return text[:at + m.start()] + m.expand(replacement) + text[at + m.end():]


BREAKS = {
    "no barrier in the ring": (r"ht_barrier\(\);", 0, ";"),
    "no wait for the copies": (r"ht_stage_wait<LOOKAHEAD - 1>\(\);", 0, ";"),
    "waits for one group too few": (r"ht_stage_wait<LOOKAHEAD - 1>\(\);", 0, "ht_stage_wait<LOOKAHEAD>();"),
    "a missing MMA": (r"ht_mma\(acc[^\n]*\n", 5, ""),
    "a wrong fragment": (r"b\[0\]\[0\]\[0\]\);", 0, "b[0][0][1]);"),
    "a fragment from the wrong place": (r"(ht_ldmatrix_x4\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
    "a copy to the wrong place": (r"copy_to \+ write \+ 0,", 0, "copy_to + write + 4096,"),
    "a copy beyond the buffer": (r"copy_to \+ write \+ 0,", 0, "copy_to + write + SMEM_BYTES,"),
    "a promotion left out": (r"ht_promote\(master\[0\]\[1\][^\n]*\n", 0, ""),
    "a copy left out": (r"ht_stage_issue\(&staged\[1\][^\n]*\n", 0, ";\n"),
    "half a warp leaves": (r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 16) ht_mma(acc[0][0][0]"),
}


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    """Everything of the simulator test but the kernel that will be broken."""
    folder = tmp_path_factory.mktemp("broken")
    name = kernel_name()
    other = [o for o in (SET / "sim").glob("*.o") if o.stem != name]
    objects = [ROOT / "out/obj/runtime/halftone.o", ROOT / "out/obj/runtime/ht_pick.o", ROOT / "out/obj/runtime/dev_sim.o",
               SET / "obj/dispatch.o", *(ROOT / "out/obj/runtime/sim").glob("*.o"),
               *[ROOT / f"out/obj/bench/{n}.o" for n in ("families", "metrics", "reference")],
               ROOT / "out/test/one_product.o"]

    def build(text, label):
        source = folder / f"{label}.cu"
        source.write_text(text)
        made = subprocess.run([*SIM, "-c", str(source), "-o", str(folder / f"{label}.o")], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        program = folder / label
        subprocess.run(["g++", "-o", str(program), str(folder / f"{label}.o"), *map(str, other + objects), "-lpthread", "-lm"],
                       check=True)
        return subprocess.run([str(program), name], capture_output=True, text=True, timeout=120)

    return name, build


def test_the_kernel_as_generated_is_right(harness):
    name, build = harness
    run = build((SET / f"{name}.cu").read_text(), "whole")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("label", BREAKS)
def test_a_broken_kernel_is_caught(harness, label):
    name, build = harness
    pattern, n, replacement = BREAKS[label]
    text = nth((SET / f"{name}.cu").read_text(), pattern, n, replacement)
    run = build(text, re.sub(r"\W", "_", label))
    assert run.returncode != 0, f"nobody noticed: {label}"
    print(label, "->", (run.stdout + run.stderr).strip().splitlines()[-1])
