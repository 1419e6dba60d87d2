"""`halftone profile` of the simulator's build: it names the simulator's own model, and notices another."""
import os
import subprocess

from command_files import rows
from conftest import ROOT


def profile(gpu, *args, model=None, code=0):
    env = {**os.environ, **({"HALFTONE_SIM_MODEL": model} if model else {})}
    run = subprocess.run([str(ROOT / "out" / gpu / "halftone-sim"), "profile", *map(str, args)], capture_output=True, text=True, env=env)
    assert run.returncode == code, run.stdout + run.stderr
    return run


def named(run):
    """unit: model"""
    return dict(line.split(": ", 1) for line in run.stdout.splitlines()[1:] if not line.startswith(" "))


def test_it_names_the_models_of_the_simulator(tmp_path):
    ampere = profile("a800", "--tiles", 40, "--only", "8 ", "--out", tmp_path / "p.tsv")
    assert named(ampere) == {"mma.sync m16n8k8 f16": "24 bits, cut toward zero, groups of 8",
                             "mma.sync m16n8k8 tf32": "24 bits, cut toward zero, groups of 4, aligned at -132 or above"}
    assert ampere.stdout.count("the simulator's sm80: the same on all tiles") == 2
    table = rows(tmp_path / "p.tsv")
    assert "# random tiles of each unit: 40, seed 1" in (tmp_path / "p.tsv").read_text()
    for unit in named(ampere):
        of = [r for r in table if r["unit"] == unit]
        assert {r["model"] for r in of if r["verdict"] == "matches"} >= {"simulator sm80", named(ampere)[unit]}
        assert len(of) > 100 and all(int(r["failed"]) > 0 and r["case"] != "-" and r["inputs"].startswith("c=")
                                     for r in of if r["verdict"] == "fails")
    hopper = profile("h200", "--tiles", 10, "--only", "wgmma m64n8k8")
    assert named(hopper) == {"wgmma m64n8k8 tf32": "25 bits, cut toward zero, groups of 8, aligned at -133 or above"}
    assert named(profile("h200", "--tiles", 50, "--only", "wgmma m64n8k32 s8")) == {
        "wgmma m64n8k32 s8": "exact, wraps beyond 32 bits"}


def test_another_arithmetic_is_named_and_refused(tmp_path):
    run = profile("a800", "--tiles", 10, "--only", "m16n8k8 tf32", "--out", tmp_path / "p.tsv", model="sm90", code=1)
    assert named(run)["mma.sync m16n8k8 tf32"] == "25 bits, cut toward zero, groups of 8, aligned at -133 or above"
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("halftone profile: mma.sync m16n8k8 tf32: the simulator's sm80 computes otherwise (") and "sim_mma.c" in last
    assert [r["verdict"] for r in rows(tmp_path / "p.tsv") if r["model"] == "simulator sm80"] == ["fails"]


def test_what_it_cannot_do_is_one_line(tmp_path):
    for gpu, args, code, words in [("mi210", [], 1, "matrix units of NVIDIA only"),
                                   ("a800", ["--only", "wgmma"], 2, "no instruction"),
                                   ("a800", ["--tiles", "0"], 2, "--tiles"),
                                   ("t4", ["--only", "bf16"], 2, "no instruction")]:
        run = profile(gpu, *args, "--out", tmp_path / "p.tsv", code=code)
        assert words in run.stderr and run.stderr.count("\n") == 1 and not (tmp_path / "p.tsv").exists()
