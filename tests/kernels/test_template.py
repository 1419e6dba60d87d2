"""Templates are working kernels: each compiles by itself, and the rolled template gives the bits of the generated kernel."""
import re
import subprocess

import pytest
from conftest import ROOT, SIM, SIM_OBJECTS, gen, nvcc

TILE = "128x128x32_w64x32_s3"
KERNEL = f"ht_f16x3_mma_{TILE}_sm80"


def test_sample_parameters_are_those_of_the_kernel_compared():
    sample = (ROOT / "templates/samples/mma_warp.h").read_text()
    value = lambda name: re.search(rf"\b{name} = (\d+)", sample).group(1)
    assert f"{value('BM')}x{value('BN')}x{value('BK')}_w{value('WM')}x{value('WN')}_s{value('STAGES')}" == TILE


def test_template_and_output_give_the_same_bits_in_the_simulator(tmp_path):
    gen("emit", "--gpu", "a800", "--scheme", "f16x3", "--tiles", TILE, "--out", tmp_path / "set")
    assert (tmp_path / "set" / f"{KERNEL}.cu").exists()
    objects = []
    for path in [*sorted((tmp_path / "set").glob("*.cu")), ROOT / "tests/kernels/template_bits.cpp"]:
        objects.append(str(tmp_path / (path.stem + ".o")))
        subprocess.run([*SIM, f"-DKERNEL={KERNEL}", "-c", str(path), "-o", objects[-1]], check=True)
    dispatch = tmp_path / "dispatch.o"
    subprocess.run(["gcc", "-std=c11", f"-I{ROOT}/runtime", "-c", str(tmp_path / "set/dispatch.c"), "-o", str(dispatch)],
                   check=True)
    library = [str(ROOT / "out/obj/runtime/dev_sim.o"), str(ROOT / "out/obj/bench/halftone/accuracy/families.o"), str(ROOT / "out/obj/bench/halftone/io/threads.o"),
               *map(str, SIM_OBJECTS)]
    program = tmp_path / "template_bits"
    subprocess.run(["g++", "-o", str(program), *objects, str(dispatch), *library, "-lpthread", "-lm"], check=True)
    run = subprocess.run([str(program)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("template", ["mma_warp", "unpacked_tile", "simt_small_k", "gemv", "tall_skinny", "dmma", "fallback_dmma", "pack", "few_rows", "one_row", "reduce", "widen"])
def test_template_compiles_by_itself(template, tmp_path):
    subprocess.run([*SIM, "-c", str(ROOT / f"templates/skeletons/{template}.cu"), "-o", str(tmp_path / "t.o")], check=True)
    if not nvcc():
        pytest.skip("no nvcc: only the simulator's compiler looked at the template")
    arch = "sm_90a" if "dmma" in template else "sm_80"
    subprocess.run([nvcc(), "-std=c++17", f"-arch={arch}", "--cubin", "-diag-suppress", "177",
                    "-o", str(tmp_path / "t.cubin"), str(ROOT / f"templates/skeletons/{template}.cu")], check=True)
