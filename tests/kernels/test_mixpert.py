"""Schemes mixpert1 .. mixpert4 in the simulator: every kernel of three instruction sets gives the bits of the host's reference
(mixpert_reference.c, written from the paper) and stays within its bound; broken copies are noticed."""
import atexit
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from conftest import ROOT, SIM, gen, runtime_objects

SCHEMES = "mixpert1,mixpert2,mixpert3,mixpert4"
BREAKS = { # what is wrong, the hook or skeleton, text and replacement
    "a level that weighs too much": ("hooks/accum/tile_levels.cuh", "LEVEL_WEIGHT, x)", "LEVEL_WEIGHT * 2, x)"),
    "scales of the tile before": ("hooks/accum/tile_levels.cuh", "s->b_at[j] += 8;", "s->b_at[j] += 0;"),
    "A's scales beside another row": ("hooks/accum/tile_levels.cuh", "row0 % 64 / 16 +", ""),
    "B's scales beside another column": ("hooks/accum/tile_levels.cuh", "col0 % 64 / 8", "0"),
    "the sign of the first segment alone": ("hooks/scheme/mixpert.cuh", "& 127) ^ sign) - sign)", "& 127) ^ (s ? 0 : sign)) - (s ? 0 : sign))"),
    "a rounding toward zero": ("hooks/scheme/mixpert.cuh", "__float2int_rn(", "(int)("),
    "the largest of eight rows of A": ("skeletons/pack.cu", "if (g.scale_rows == 16)", "if (false)"),
    "the largest of a row alone": ("skeletons/pack.cu", "for (int lanes = RUN; lanes < 32; lanes *= 2)", "for (int lanes = RUN; lanes < 0; lanes *= 2)"),
    "no barrier before the other eight rows": ("skeletons/pack.cu", "    ht_barrier();\n    if (g.scale_rows == 16)", "    if (g.scale_rows == 16)"),
    "NaN as a number": ("skeletons/pack.cu", "e == HT_NAN_ROW ? HT_NAN_SCALE :", "e == HT_NAN_ROW ? 0 :"),
}


@functools.cache
def harness():
    """What all sets share: the test's program without a kernel."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mixpert-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("mixpert_kernel", "mixpert_reference"):
        subprocess.run(["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
                        "-ffp-contract=off", "-c", str(ROOT / f"tests/kernels/{name}.c"), "-o", str(folder / f"{name}.o")], check=True)
    return [*folder.glob("*.o"), *runtime_objects(), *(ROOT / "out/obj/runtime/sim").glob("*.o"),
            *(ROOT / f"out/obj/bench/{name}.o" for name in ("accuracy/families", "io/threads"))]


def program(folder, gpu, *schemes, root=ROOT):
    """The library of a set and the test's program."""
    gen("emit", "--gpu", gpu, "--scheme", *schemes, "--out", folder / "set", root=root)
    objects = []
    for path in sorted((folder / "set").glob("ht_*")):
        objects.append(str(folder / (path.stem + ".o")))
        subprocess.run([*SIM, "-O1", "-c", str(path), "-o", objects[-1]], check=True)
    dispatch = folder / "dispatch.o"
    subprocess.run(["gcc", "-std=c11", f"-I{ROOT}/runtime", "-c", str(folder / "set/dispatch.c"), "-o", str(dispatch)], check=True)
    out = folder / "program"
    subprocess.run(["g++", "-o", str(out), *objects, str(dispatch), *map(str, harness()), "-lpthread", "-lm"], check=True)
    return out


def run(path):
    return subprocess.run([str(path)], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("gpu", ["a800", "t4", "mi210"])
def test_kernels_have_the_bits_of_the_paper(gpu, tmp_path):
    done = run(program(tmp_path, gpu, SCHEMES))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    for level in range(1, 5):
        assert (lines := re.findall(rf"^mixpert{level} .*: ([0-9.]+) of the bound$", done.stdout, re.M))
        assert max(map(float, lines)) > 0.05, "a bound that data never come near says nothing"


@pytest.mark.mutation
@pytest.mark.parametrize("label", BREAKS)
def test_a_broken_kernel_is_noticed(label, tmp_path):
    name, old, new = BREAKS[label]
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    for other in ("gen", "runtime"):
        os.symlink(ROOT / other, tmp_path / other)
    path = tmp_path / "templates" / name
    assert path.read_text().count(old) == 1, old
    path.write_text(path.read_text().replace(old, new))
    done = run(program(tmp_path, "t4", "mixpert4", root=tmp_path))
    assert done.returncode != 0, f"nobody noticed: {label}"
    print(f"{label}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
