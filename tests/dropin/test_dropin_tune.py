"""`halftone tune-app` of a program that calls (a fake) cuBLAS: its sites are what the drop-in serves."""
import os
import re
import subprocess
import sys

import pytest
from dropin_programs import SET, fakes # noqa: F401 (a fixture)

CALLS = ["api=Sgemm_v2 m=96 n=96 k=256", "api=GemmEx m=40 n=24 k=64", "api=Sgemm_v2 m=96 n=96 k=256", "api=Sgemm_v2 math=2"]
PROGRAM = """import os, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True, cwd="/")
print("error", 2.0**-24 * sum(float(line.split()[1]) for line in done.stdout.splitlines()))
exec(open(__file__ + ".way").read())
"""


@pytest.fixture
def tune(fakes, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "program.py.way").write_text("")

    def start(*more, levels="f16x3,i8x6,scheme:half", tau="1"):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "LD_"))}
        command = [SET / "halftone-sim", "tune-app", "--tau", tau, "--out", "table", "--levels", levels, *more, "--",
                   SET / "halftone-sim", "run", "--", sys.executable, tmp_path / "program.py", fakes.main, *CALLS]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, env={**keep, "HALFTONE_STRATEGY": "eager"}, timeout=120)
    return start


def lines_of(table):
    return [line for line in table.read_text().splitlines() if not line.startswith("#")]


def runs_of(journal):
    return [line.split("\t") for line in journal.read_text().splitlines() if not line.startswith("#")]


def test_calls_that_are_alike_are_a_site(tune, fakes, tmp_path):
    """Equal calls are one site, with the time of both; what is not served is none. The drop-in reads the table again: the program has the
    error that the table says."""
    done = tune(tau="1e-4")
    assert done.returncode == 0, done.stderr
    table = tmp_path / "table"
    assert [re.fullmatch(r"site=\S+\+0x\w+ (.*) \S+", line)[1] for line in lines_of(table)] == [
        "api=cublasSgemm_v2 op=NN m=96 n=96 k=256 batch=1", "api=cublasGemmEx op=NN m=40 n=24 k=64 batch=1"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["program.py", "program.py.way", "table", "table.runs"]
    runs = runs_of(tmp_path / "table.runs")
    assert float(runs[0][3]) > 1.9 * float(runs[0][4]) > 0 and max(float(run[2]) for run in runs) > 100 * float(runs[0][2])
    words = [SET / "halftone-sim", "run", "--", sys.executable, tmp_path / "program.py", fakes.main, *CALLS]
    again = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60,
                           env={**os.environ, "HALFTONE_SITES": str(table), "HALFTONE_STRATEGY": "eager"})
    assert float(again.stdout.split()[1]) == pytest.approx(float(re.search(r"error (\S+);", table.read_text())[1]), rel=1e-8)


def test_a_program_that_no_drop_in_serves_or_whose_products_change(tune, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("sys.argv[1:]", "sys.argv[1:2] + sys.argv[2 + bool(os.environ.get('HALFTONE_SITES')):]"))
    done = tune("--journal", "j")
    assert done.returncode == 0, done.stderr # one of two equal calls is gone: the site is still there
    program.write_text(PROGRAM.replace("sys.argv[1:]", "sys.argv[1:2] + sys.argv[2 + 2 * bool(os.environ.get('HALFTONE_SITES')):]"))
    done = tune()
    assert done.returncode == 1 and "no longer has site 'site=" in done.stderr and "k=64" in done.stderr
    program.write_text("print('error', 1)")
    done = tune()
    assert done.returncode == 1 and "no drop-in served it" in done.stderr and not (tmp_path / "table.calls").exists()
