"""Templates that a test changes: a copy of them, their parts as objects for the simulator, a program of these; and what compilers make of them."""
import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, SIM, SIM_OBJECTS, nvcc

PARTS = {"crt_pack": 0, "planes_mma_warp": 1, "crt_wgmma_ss": 1, "crt_combine": 2, "crt_exact": 3, "digits_mma_warp": 1, "ozaki_pack": 5, "ozaki_combine": 7}
ARITHMETIC = re.compile(r"^\s*(?!ld|st|mov)[a-z]\S*\.f64\S*\s.*$|^\s*v_\w*(?<!mov)_f64\S*\s.*$", re.M)  # of FP64
needs_hipcc = pytest.mark.skipif(not shutil.which("hipcc"), reason="no hipcc")


def copied(folder):
    shutil.copytree(ROOT / "templates", folder / "templates")
    os.symlink(ROOT / "runtime", folder / "runtime")
    return folder / "templates"


def edit(path, edits):
    """Other texts, each of which must be there."""
    text = path.read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text)


def break_one(templates, broken):
    """File, pattern, replacement; None: nothing is broken."""
    if broken:
        changed, count = re.subn(broken[1], broken[2], (templates / broken[0]).read_text(), count=1)
        assert count == 1, broken
        (templates / broken[0]).write_text(changed)
    return templates


def part(templates, name, number=None):
    """One template, as template_part.cpp includes it."""
    out = templates / f"{name}.o"
    subprocess.run([*SIM, "-Wno-unknown-pragmas", f"-DPART={PARTS[name] if number is None else number}", f'-DTEMPLATE="{templates}/skeletons/{name}.cu"',
                    f"-I{ROOT}/tests/kernels", "-c", str(ROOT / "tests/kernels/template_part.cpp"), "-o", str(out)], check=True)
    return out


def linked(program, *objects):
    subprocess.run(["g++", "-o", str(program), *map(str, [*objects, *SIM_OBJECTS]), "-lpthread", "-lm"], check=True)
    return program


def nvcc_takes(templates, name, arch, folder, fp64=True, stack=False):
    """Without spills; fp64 False: without arithmetic of it; stack: whether memory of a lane may be used, as FP64 sums that are indexed are."""
    if not nvcc():
        pytest.skip("no nvcc")
    source = [nvcc(), "-std=c++17", "-O3", "-diag-suppress", "177", str(templates / f"skeletons/{name}.cu")]
    virtual = "compute_80" if arch == "sm_120" else arch.replace("sm", "compute")  # Blackwell's are PTX for sm_80: test_compiled.py
    log = subprocess.run([*source, "-gencode", f"arch={virtual},code={arch}", "--cubin", "-Xptxas", "-v", "-o", str(folder / "t.cubin")],
                         check=True, capture_output=True, text=True).stderr
    assert "registers" in log and not re.search(r"[1-9]\d* bytes spill" if stack else r"[1-9]\d* bytes (spill|stack)", log), log
    if not fp64:
        subprocess.run([*source, f"-arch={virtual}", "--ptx", "-o", str(folder / "t.ptx")], check=True)
        assert "\n" in (folder / "t.ptx").read_text() and not ARITHMETIC.findall((folder / "t.ptx").read_text())


def hipcc_takes(templates, name, folder, *flags, fp64=True):
    """For gfx90a, without spills of vector registers, without FP64 of scalar ones either; returns the assembly."""
    out = folder / "t.s"
    subprocess.run(["hipcc", "--offload-arch=gfx90a", "-O3", "-std=c++17", *flags, "--cuda-device-only", "-S", "-o", str(out), "-x", "hip",
                    str(templates / f"skeletons/{name}.cu")], check=True, capture_output=True)
    text = out.read_text()
    assert "s_endpgm" in text and not re.search(rf"\.{'v' if fp64 else '[sv]'}gpr_spill_count:\s+[1-9]", text)
    assert fp64 or not ARITHMETIC.findall(text)
    return text
