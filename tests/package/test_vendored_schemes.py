"""Every scheme of four sets, vendored under a prefix in every form: names, and compilers."""
import math
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, gen
from test_vendored import build, compilers, exported, vendor  # noqa: F401, a fixture among them

SETS = ("t4", "a800", "h200", "mi210")
FORMS = {"folder": (), "amalgamation": ("--amalgamation",), "sim": ("--amalgamation-sim",)}
FIRST = {("a800", "folder"), ("h200", "amalgamation")} | {(gpu, "sim") for gpu in SETS} # of --sample
STEM = "rt"
SWITCHES = {"HT_SIMULATOR", "HT_JOIN", "HT_JOINING", "HT_MORE_SETS", "HT_SETS_ELSEWHERE"} # one name whatever the prefix


def shared_names():
    """ht_ and HT_ names in the code that every kernel has from the runtime's headers."""
    marked = "".join("".join(re.findall(r"/\*@(?:abi|shapes)\*/(.*?)/\*@end\*/", (ROOT / "runtime" / name).read_text(), re.S))
                     for name in ("ht_abi.h", "ht_abi64.h"))
    return set(re.findall(r"\b(?:ht|HT)_\w+", re.sub(r"/\*.*?\*/", "", marked, flags=re.S)))


@pytest.fixture(scope="session")
def everything(tmp_path_factory):
    """Folder with all schemes of a set, of each the kernels that calls pick, in a form; each is made once."""
    made = {}

    def folder(gpu, form):
        if (gpu, form) not in made:
            made[gpu, form] = tmp_path_factory.mktemp("schemes") / "set"
            vendor(made[gpu, form], "--scheme", "all", "--lean", "--prefix", STEM + "_", *FORMS[form], gpu=gpu)
        return made[gpu, form]
    return folder


def kernels(folder):
    return [line.split("\t")[0] for line in (folder / "manifest").read_text().splitlines() if line.startswith(f"{STEM}_ht_")]


def compile_with(command, folder):
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0 and "warning" not in run.stderr, "\n".join([*map(str, command), *run.stderr.splitlines()[:20]])


@pytest.mark.parametrize("gpu, form", [pytest.param(gpu, form, marks=[] if (gpu, form) in FIRST else pytest.mark.whole) for gpu in SETS for form in FORMS])
def test_no_name_keeps_its_own_prefix(everything, gpu, form):
    """Of those that the runtime declares or kernels share with it, nowhere; a kernel's other names are local to its source."""
    folder, shared = everything(gpu, form), shared_names()
    launchers = {name[len(STEM) + 1:] for name in kernels(folder)}
    assert {"HT_CRT_COUNTS_AT", "ht_gemm_args", "HT_PACK_STRIPS", "ht_result"} <= shared and len(launchers) > 20
    for path in sorted(folder.glob("*.[ch]*")):
        words = set(re.findall(r"\b(?:ht|HT|halftone|HALFTONE)_\w+|\bhalftone\b(?!-gen| 0)", path.read_text()))
        if path.suffix in (".c", ".h") and path.name != "cuda_runtime_api.h":
            table = {"halftone"} if path.name == "dispatch.c" else set() # a model's name in its texts
            assert not {w for w in words if not w.startswith(("ht_sim_", "HT_SIM_"))} - SWITCHES - table, path
        assert not words & (shared | launchers), path


@pytest.mark.parametrize("gpu", SETS)
def test_all_schemes_in_one_simulator_source(everything, tmp_path, gpu):
    """Compiled for t4, whose object has no name without the prefix; for the others read by the compiler alone, which costs a third."""
    to = ["-O0", "-c", "-o", tmp_path / "one.o"] if gpu == "t4" else ["-fsyntax-only"]
    compile_with(["g++", "-std=c++17", *to, f"{STEM}.cpp"], everything(gpu, "sim"))
    names = exported(tmp_path / "one.o") if gpu == "t4" else set()
    assert all(n.startswith((STEM + "_", "_Z", "DW.ref.")) for n in names), names


@pytest.mark.whole
@pytest.mark.parametrize("gpu", SETS)
def test_each_scheme_in_a_simulator_source_of_its_own(everything, tmp_path, gpu):
    table = (everything(gpu, "sim") / "manifest").read_text()
    schemes = sorted({cells[1] for cells in (line.split("\t") for line in table.splitlines()) if cells[0].startswith(f"{STEM}_ht_")})
    assert len(schemes) > 10
    for scheme in schemes:
        vendor(tmp_path / scheme, "--scheme", scheme, "--lean", "--prefix", STEM + "_", *FORMS["sim"], gpu=gpu)
        compile_with(["g++", "-std=c++17", "-fsyntax-only", f"{STEM}.cpp"], tmp_path / scheme)


@pytest.mark.whole
@pytest.mark.parametrize("gpu", [gpu for gpu in SETS if gpu != "mi210"])
def test_all_schemes_in_a_folder(everything, tmp_path, compilers, gpu):  # noqa: F811
    built = build(everything(gpu, "folder"), tmp_path / "copy", compilers["simulator"])
    names = exported(built / f"lib{STEM}.a")
    assert set(kernels(built)) <= {n.removesuffix("_launch") for n in names} | names
    assert all(n.startswith(STEM + "_") for n in names), names


@pytest.mark.parametrize("gpu", ["h200", "t4", "a800"])
def test_tables_of_all_schemes_fit_in_one_device_source(everything, gpu):
    """nvcc takes 64 KB of constants in a source, used or not; a kernel has the tables alone that it reads."""
    text = (everything(gpu, "amalgamation") / f"{STEM}.cu").read_text()
    tables = re.findall(r"^HT_TABLE unsigned \w+((?:\[\d+\])+)", text, re.M)
    words = sum(math.prod(map(int, re.findall(r"\d+", table))) for table in tables)
    assert len(tables) > 40 and 4 * words < 32768, 4 * words


@pytest.mark.whole
@pytest.mark.parametrize("gpu, compiler", [("a800", "nvcc"), ("mi210", "hipcc")])
def test_each_recipe_in_one_device_source(tmp_path, compilers, gpu, compiler):  # noqa: F811
    """Not all schemes: one of each recipe takes minutes as it is."""
    path = compilers["nvcc"] + "/nvcc" if compiler == "nvcc" and compilers["nvcc"] else shutil.which("hipcc") if compiler == "hipcc" else None
    if not path:
        pytest.skip(f"no {compiler}")
    vendor(tmp_path / "set", "--scheme", "f16x3,bf16x6u,i8x6,native64,crt14,crt20,i8x28,ozaki", "--lean", "--prefix", STEM + "_", "--amalgamation", gpu=gpu)
    source, options = ("cu", ["-gencode=arch=compute_80,code=sm_80"]) if compiler == "nvcc" else ("hip", ["--offload-arch=gfx90a", "-std=c++17"])
    compile_with([path, "-O1", *options, "-c", f"{STEM}.{source}", "-o", tmp_path / "one.o"], tmp_path / "set")
    names = exported(tmp_path / "one.o")
    assert all(n.startswith((STEM + "_", "_Z", "DW.ref.", "__hip_")) for n in names), names
