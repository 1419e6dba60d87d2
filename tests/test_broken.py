"""The simulator must disagree when a kernel is wrong: kernels are broken on purpose, each must be caught, and the test
says by what: a rule of the hardware (the simulator objects), the error expected of this data (one_product.c), or, last
resort, bits that differ from the unbroken kernel's. The a-priori bound alone would let a missing MMA pass."""
import re
import subprocess

import pytest
from conftest import ROOT, SIM

SET = ROOT / "out" / "a800"


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


def last_line(run):
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1] if lines else f"nothing printed, exit {run.returncode}"


def bits(run):
    found = re.search(r"bits ([0-9a-f]{16})", run.stdout)
    return found.group(1) if found else None


@pytest.fixture(scope="module")
def whole(harness):
    name, build = harness
    return build((SET / f"{name}.cu").read_text(), "whole")


def caught_by(run, whole):
    """Why the run is not that of the unbroken kernel, or None."""
    if bits(run) is None:  # no result at all
        return f"the simulator: {last_line(run)}"
    if run.returncode != 0:
        return f"its error: {last_line(run)}"
    if bits(run) != bits(whole):
        return f"its bits: {bits(run)}, whole {bits(whole)}; {last_line(run)}"
    return None


def test_the_kernel_as_generated_is_right(whole):
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert bits(whole) is not None, whole.stdout


def test_the_same_kernel_twice_is_not_caught(harness, whole):
    name, build = harness
    assert caught_by(build((SET / f"{name}.cu").read_text(), "again"), whole) is None


@pytest.mark.parametrize("label", BREAKS)
def test_a_broken_kernel_is_caught(harness, whole, label):
    name, build = harness
    pattern, n, replacement = BREAKS[label]
    text = nth((SET / f"{name}.cu").read_text(), pattern, n, replacement)
    reason = caught_by(build(text, re.sub(r"\W", "_", label)), whole)
    print(f"{label}: caught by {reason}")
    assert reason is not None, f"nobody noticed: {label}"
