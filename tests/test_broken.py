"""The simulator must disagree when a kernel is wrong: kernels are broken on purpose, each must be caught, and the test
says by what: a rule of the hardware (the simulator objects), the error expected of this data (one_product.c), or, last
resort, bits that differ from the unbroken kernel's. The a-priori bound alone would let a missing MMA pass."""
import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from conftest import ROOT, SIM

# set, scheme, and what the kernel's name must hold: on the MI210 one with two buffers
SETS = {"a800": ("a800", "f16x3", ""), "mi210": ("mi210", "f16x3", "_s2_"), "a800-direct": ("a800", "fp32", "_64x64x32_")}


def kernel_name(case):
    gpu, scheme, part = SETS[case]
    rows = [l.split("\t") for l in (ROOT / "out" / gpu / "manifest").read_text().splitlines()[2:]]
    return next(r[0] for r in rows if r[1] == scheme and part in r[0])


def nth(text, pattern, n, replacement):
    """Replaces the n-th match after the main loop began; a pattern that names a function may lie before it."""
    at = 0 if pattern.startswith(("HT_DEVICE", "constexpr")) else text.index("steady state" if "steady state" in text else "// ---- geometry")
    matches = list(re.finditer(pattern, text[at:]))
    assert len(matches) > n, pattern
    m = matches[n]
    return text[:at + m.start()] + m.expand(replacement) + text[at + m.end():]


PACKED_BREAKS = {
    "no barrier in the ring": (r"ht_barrier\(\);", 0, ";"),
    "a missing MMA": (r"ht_mma\(acc[^\n]*\n", 5, ""),
    "a copy left out": (r"ht_stage_issue\(&staged\[1\][^\n]*\n", 0, ";\n"),
}
BREAKS_OF = {
    "a800": {
        **PACKED_BREAKS,
        "a copy to the wrong place": (r"copy_to \+ write \+ 0,", 0, "copy_to + write + 4096,"),
        "a copy beyond the buffer": (r"copy_to \+ write \+ 0,", 0, "copy_to + write + SMEM_BYTES,"),
        "no wait for the copies": (r"ht_stage_wait<LOOKAHEAD - 1>\(\);", 0, ";"),
        "waits for one group too few": (r"ht_stage_wait<LOOKAHEAD - 1>\(\);", 0, "ht_stage_wait<LOOKAHEAD>();"),
        "a wrong fragment": (r"b\[0\]\[0\]\[0\]\);", 0, "b[0][0][1]);"),
        "a fragment from the wrong place": (r"(ht_load_a\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
        "a promotion left out": (r"ht_promote\(master\[0\]\[1\][^\n]*\n", 0, ""),
        "half a warp leaves": (r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 16) ht_mma(acc[0][0][0]"),
    },
    "a800-direct": {
        "a missing MMA": (r"ht_mma\(acc[^\n]*\n", 35, ""),
        "two slices exchanged": (r"a\[1\], b\[0\]\[2\]\)", 0, "a[0], b[1][2])"),
        "no barrier between the stages": (r"ht_barrier\(\); // the stage", 0, "; // the stage"),
        "the stage that is read is written": (r"(ht_store_parts<BM, A_PARTS>\()write", 0, r"\g<1>read"),
        "a promotion left out": (r"ht_promote\(master\[0\]\[1\][^\n]*\n", 0, ""),
        "one row too far": (r"HT_DEVICE ht_source ht_open_source([^}]*?)rows - row;", 0,
                            r"HT_DEVICE ht_source ht_open_source\g<1>rows - row + 1;"),
        "the last lines are loaded whole": (r"HT_DEVICE uint4 ht_load_some([^}]*?)there > 3", 0,
                                            r"HT_DEVICE uint4 ht_load_some\g<1>there > -9"),
        "lines too close": (r"constexpr int K_PITCH = BK \+ 4", 0, "constexpr int K_PITCH = BK - 4"),
    },
    "mi210": {  # copies travel through registers: no wait to forget, it is the landing that has an address
        **PACKED_BREAKS,
        "a copy to the wrong place": (r"(ht_stage_land\(&staged\[0\], copy_to \+ write \+ )0", 0, r"\g<1>4096"),
        "a copy beyond the buffer": (r"(ht_stage_land\(&staged\[0\], copy_to \+ write \+ )0", 0, r"\g<1>SMEM_BYTES"),
        "a landing left out": (r"ht_stage_land\(&staged\[1\][^\n]*\n", 0, ";\n"),
        "a wrong fragment": (r"b\[0\]\[0\]\[0\]\);", 0, "b[0][1][0]);"),
        "a fragment from the wrong place": (r"(ht_load_a\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
        "half a wavefront leaves": (r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 32) ht_mma(acc[0][0][0]"),
        # lane layouts
        "A's chunks exchanged": (r"HT_DEVICE int ht_a_chunk\(int lane\)\s*{\s*return lane / MMA_M;", 0,
                                 "HT_DEVICE int ht_a_chunk(int lane)\n{\n    return lane / MMA_M ^ 1;"),
        "rows of 64 lanes": (r"HT_DEVICE int ht_a_row\(int lane\)\s*{\s*return lane % MMA_M;", 0,
                             "HT_DEVICE int ht_a_row(int lane)\n{\n    return lane / 2;"),
        "C's columns as on 16 x 16 tiles": (r"HT_DEVICE int ht_d_col[^}]*}", 0,
                                            "HT_DEVICE int ht_d_col(int lane, int j)\n{\n    return lane / MMA_M * 16 + j;\n}"),
        "C transposed in the tile": (r"HT_DEVICE void ht_mma\(float \*d[^}]*}", 0,
                                     "HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)\n{\n"
                                     "    ht_mma_half(d, a, b);\n    ht_mma_half(d, a + 2, b + 2);\n}"),
        "halves of a chunk mixed": (r"HT_DEVICE void ht_mma\(float \*d[^}]*}", 0,
                                    "HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)\n{\n"
                                    "    ht_mma_half(d, b, a + 2);\n    ht_mma_half(d, b + 2, a);\n}"),
        "the other accumulator": (r"ht_mma\(acc\[1\]", 0, "ht_mma(acc[0]"),
    },
}
@functools.cache
def harness(gpu):
    """The kernel's text, and what builds and runs another one in its place: everything else of the simulator test."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"broken-{gpu}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name, built = kernel_name(gpu), ROOT / "out" / SETS[gpu][0]
    other = [o for o in (built / "sim").glob("*.o") if o.stem != name]
    objects = [*(ROOT / f"out/obj/runtime/{n}.o" for n in ("halftone", "ht_pick", "ht_accuracy", "dev_sim")),
               built / "obj/dispatch.o", *(ROOT / "out/obj/runtime/sim").glob("*.o"),
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

    return next(built.glob(f"{name}.*")).read_text(), build


def last_line(run):
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1] if lines else f"nothing printed, exit {run.returncode}"


def bits(run):
    found = re.search(r"bits ([0-9a-f]{16})", run.stdout)
    return found.group(1) if found else None


@functools.cache
def whole(gpu):
    text, build = harness(gpu)
    return build(text, "whole")


def caught_by(run, whole):
    """Why the run is not that of the unbroken kernel, or None."""
    if bits(run) is None:  # no result at all
        return f"the simulator: {last_line(run)}"
    if run.returncode != 0:
        return f"its error: {last_line(run)}"
    if bits(run) != bits(whole):
        return f"its bits: {bits(run)}, whole {bits(whole)}; {last_line(run)}"
    return None


@pytest.mark.parametrize("gpu", SETS)
def test_the_kernel_as_generated_is_right(gpu):
    assert whole(gpu).returncode == 0, whole(gpu).stdout + whole(gpu).stderr
    assert bits(whole(gpu)) is not None, whole(gpu).stdout


@pytest.mark.parametrize("gpu", SETS)
def test_the_same_kernel_twice_is_not_caught(gpu):
    text, build = harness(gpu)
    assert caught_by(build(text, "again"), whole(gpu)) is None


@pytest.mark.parametrize("gpu, label", [(gpu, label) for gpu in SETS for label in BREAKS_OF[gpu]])
def test_a_broken_kernel_is_caught(gpu, label):
    text, build = harness(gpu)
    pattern, n, replacement = BREAKS_OF[gpu][label]
    reason = caught_by(build(nth(text, pattern, n, replacement), re.sub(r"\W", "_", label)), whole(gpu))
    print(f"{label}: caught by {reason}")
    assert reason is not None, f"nobody noticed: {label}"
