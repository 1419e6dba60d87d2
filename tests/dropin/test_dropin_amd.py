"""The AMD face before a fake hipBLAS and rocBLAS of ours, with the simulator behind it. The real libraries were not at hand: what is tested is
the table, not their binaries."""
import collections
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, rows
from dropin_programs import HERE, SET, cc, run

TABLE = re.findall(r"ROW\(X, (\w+), (hipblas|rocblas), (\w+), (\w+)\)", (ROOT / "runtime/dropin/hip_names.h").read_text())
NAMES = [row[:3] for row in TABLE]
REASONS = dict(re.findall(r'X\((\w+),\s+"([^"]*)"\)', (ROOT / "runtime/dropin/common_lists.h").read_text()))


@pytest.fixture(scope="module")
def face(tmp_path_factory):
    """Linked here: NVIDIA's sets, which the tests build, have no such face."""
    folder = tmp_path_factory.mktemp("face")
    parts = [*sorted((ROOT / "runtime/dropin").glob("common_*.c")), ROOT / "runtime/ht_site_line.c", *sorted((ROOT / "runtime/dropin").glob("hip_*.c")),
             *(ROOT / f"runtime/dropin/cublas_{name}.c" for name in ("product", "forms"))]
    cc("-shared", "-fvisibility=hidden", "-ftls-model=initial-exec", "-Wl,--no-undefined", *parts, "-o", folder / "libhalftone_hipblas.so")
    return folder / "libhalftone_hipblas.so"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("amd")
    roc, hip = folder / "librocblas.so.4", folder / "libhipblas.so.2"
    cc("-shared", HERE / "fake_amd.c", f"-Wl,-soname,{roc.name}", "-o", roc)
    cc("-shared", "-DHIPBLAS", HERE / "fake_amd.c", roc, f"-Wl,-soname,{hip.name}", f"-Wl,-rpath,{folder}", "-o", hip)
    cc(HERE / "amd_client.c", hip, roc, f"-Wl,-rpath,{folder}", "-o", folder / "client", "-ldl")
    return folder / "client"


def calls(done):
    """name -> status, wrong elements, calls that reached the original."""
    return {line.split()[0]: [int(word) for word in line.split()[1:]] for line in done.stdout.splitlines()}


def whys(log):
    return collections.Counter((row["api"], "SERVED" if row["served"] == "1" else row["why"]) for row in rows(pathlib.Path(log)))


def test_the_face_has_the_table_s_names_and_needs_libc_alone(face):
    exported = subprocess.run(["nm", "-D", "--defined-only", "-P", str(face)], capture_output=True, text=True).stdout
    names = {line.split()[0] for line in exported.splitlines()}
    assert {n for n in names if not n.startswith("halftone_dropin_")} == {name for name, _, _ in NAMES} and len(NAMES) == 20
    assert re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", str(face)], capture_output=True, text=True).stdout) == ["libc.so.6"]


def test_sizes_are_as_wide_as_the_name_says():
    assert all((size == "int64_t") == name.endswith("_64") and size in ("int", "int64_t") for name, _, _, size in TABLE)


@pytest.mark.parametrize("words", [[], ["opa=112", "opb=111"], ["opa=113", "opb=113", "mode=1"], ["m=0"]])
def test_every_name_is_served_and_exact(face, client, words):
    assert all(got == [0, 0, 1] for got in calls(run(client, *words)).values())
    done = run(client, *words, face=face)
    got = calls(done)
    assert done.stderr == "" and list(got) == [name for name, _, _ in NAMES] and all(x == [0, 0, 0] for x in got.values()), got


@pytest.mark.parametrize("words, library, why", [
    (["type=151", "compute=151"], "hipblas", "SERVED"), # before ROCm 7
    (["type=2"], "both", "TYPES"), (["type=150"], "both", "TYPES"), (["compute=0"], "hipblas", "UNKNOWN_FORM"), (["compute=150"], "rocblas", "UNKNOWN_FORM"),
    (["compute=3"], "hipblas", "PEDANTIC"), (["compute=4"], "hipblas", "HALF"), (["compute=5"], "hipblas", "HALF"), (["compute=6"], "hipblas", "TF32"),
    (["math=1"], "both", "TF32"), (["math=2"], "both", "PEDANTIC"), (["flags=2"], "rocblas", "UNKNOWN_FORM"), (["apart=1"], "rocblas", "UNKNOWN_FORM"), (["ctype=150"], "rocblas", "TYPES"),
    (["opa=0"], "both", "ARGUMENTS"), (["m=-1"], "both", "ARGUMENTS"), (["null=1"], "both", "ARGUMENTS"), (["mode=7"], "both", "ARGUMENTS")])
def test_other_forms_are_the_original_s(face, client, tmp_path, words, library, why):
    has_types = any(w.startswith(("type", "compute")) for w in words)
    special = any(w.startswith(("flags", "apart", "ctype")) for w in words)
    names = [name for name, of, form in NAMES if library in (of, "both") and (not has_types or "EX" in form) and (not special or "ROC" in form)]
    assert names
    for name in names:
        log = tmp_path / name
        alone = calls(run(client, f"api={name}", *words))[name]
        got = calls(run(client, f"api={name}", *words, face=face, HALFTONE="record", HALFTONE_LOG=str(log)))[name]
        assert got == [alone[0], alone[1], 0 if why == "SERVED" else 1], (name, got, alone)
        found = {k[1] for k in whys(log) if k[0] == name}
        assert found == {"SERVED" if why == "SERVED" else REASONS[why]}, (name, found)
        if name.startswith("hipblas") and why != "SERVED":
            assert {k[1] for k in whys(log) if k[0].startswith("rocblas")} == {REASONS["NESTED"]}


def test_a_product_that_failed_with_c_half_computed_is_not_done_again(face, client, tmp_path):
    cc("-shared", HERE / "blas_failing.c", "-o", tmp_path / "failing.so", "-ldl")
    for half in ({"FAIL_HALF": "1"}, {}):
        got = calls(run(client, face=face, HALFTONE_LIBRARY=str(tmp_path / "failing.so"), HALFTONE_BEHIND=str(SET / "libhalftone-sim.so"), FAIL_PRODUCT="1", **half))
        for name, of, _ in NAMES:
            assert (got[name][0], got[name][2]) == ((5 if of == "hipblas" else 6, 0) if half else (0, 1)), (name, got[name])


def test_off_and_trouble_leave_everything_to_the_original(face, client):
    for env in ({"HALFTONE": "off"}, {"HALFTONE_LIBRARY": "/nowhere/x.so"}, {"HALFTONE_ACCURACY": "bits=40"}):
        done = run(client, face=face, **env)
        assert all(got == [0, 0, 1] for got in calls(done).values()), done.stdout
        assert done.stderr.count("\n") == ("HALFTONE_LIBRARY" in env)
    assert all(got == [0, 0, 0] for got in calls(run(client, "math=1", face=face, HALFTONE_TF32="upgrade")).values())
