"""The table of experiments, bench/lab/experiments.tsv, and what runs it. No GPU: programs that play the command note what they are asked for."""
import csv
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

TABLE = ROOT / "bench/lab/experiments.tsv"
ROWS = list(csv.DictReader(TABLE.read_text().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
# What no experiment writes: made for one question, of which a fit or a page keeps the table, or by a tool that is not a program of ours.
KEPT = {"h200-a800set-schemes-fit", "h200-a800set-tiles-fit", "h200-native-tiles-held-out",
        "h200-fp64-waves"}


def lab(*words, **env):
    return subprocess.run(["sh", "bench/lab/run", *map(str, words)], cwd=ROOT, capture_output=True, text=True, env={**os.environ, **env})


def test_rows_are_whole():
    assert len({row["name"] for row in ROWS}) == len(ROWS) > 30
    assert all(list(row) == ["name", "needs", "writes", "command"] and all(row.values()) for row in ROWS)
    listed = lab("list").stdout
    assert all(re.search(rf"(?m)^{row['name']} ", listed) for row in ROWS)
    for row in ROWS:
        for path in re.findall(r"(?<![\w/])(?:bench|tests|gen)/[\w./-]+\.\w+", row["command"]):
            assert (ROOT / path).is_file(), f"{row['name']}: {path}"
        assert subprocess.run(["sh", "-n"], input=row["command"], text=True).returncode == 0, row["name"]


def test_each_table_can_be_made_again():
    written = {re.sub(r"^(h100|h200)-", "", name.rsplit(".", 1)[0]) for row in ROWS for name in row["writes"].split()}
    there = {path.stem for path in (ROOT / "bench/results").iterdir()}
    lost = {name for name in there - KEPT if re.sub(r"^(h100|h200)-", "", name) not in written and not name.endswith("-check")}
    assert not lost and KEPT <= there, (lost, KEPT - there)


@pytest.mark.parametrize("words, says", [
    ([], "usage"), (["nope", "{t}/out"], "'nope' is no experiment"), (["auto"], "usage"), (["prepare"], "name a folder"),
    (["auto", "{t}/out", "{t}/none"], "none is not there"), (["auto", "{t}/out", "{t}"], "h200/halftone is not there")])
def test_bad_requests_are_one_line(words, says, tmp_path):
    done = lab(*(word.format(t=tmp_path) for word in words))
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.fixture
def binaries(tmp_path):
    """Sets whose command appends its words to `asked` and writes the file that --out names."""
    for name in ("h200", "a800", "t4", "h100"):
        (tmp_path / "bin" / name).mkdir(parents=True)
        command = tmp_path / "bin" / name / "halftone"
        command.write_text(f"""#!/bin/sh
echo "$*" >>{tmp_path}/asked
while [ $# -gt 0 ]; do [ "$1" != --out ] || case $2 in *.tsv) : >"$2" ;; *) mkdir -p "$2"; : >"$2/report.tsv" ;; esac; shift; done
""")
        command.chmod(0o755)
    return tmp_path / "bin"


OF_SETS = [row["name"] for row in ROWS if re.match(r"(a |)sets? ", row["needs"]) and row["name"] not in ("probe",)]


@pytest.mark.parametrize("name", OF_SETS)
def test_options_of_commands_are_there(name, binaries, tmp_path):
    done = lab(name, tmp_path / "out", binaries, OPERANDS="folder", COMMIT="abc")
    assert done.returncode == 0 and not done.stderr, done.stderr
    asked = (tmp_path / "asked").read_text()
    known = set(re.findall(r'"(--[\w-]+)"', "".join(p.read_text() for p in (ROOT / "bench/halftone/cmd").glob("*.c"))))
    assert set(re.findall(r"--[\w-]+", asked)) <= known and asked.count("--out") + asked.count("breakdown") >= 1, asked
    for path in re.findall(r"bench/[\w./-]+", asked):
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("fails", [False, True])
def test_check_runs_every_set_whatever_fails(fails, binaries, tmp_path):
    for name in ("h200", "t4"):
        for program in ("product", "direct", "check", "dgemm", "dcheck", "auto", "reproducible", "accuracy"):
            code = 1 if fails and (name, program) == ("h200", "dgemm") else 0
            stub = binaries / name / f"test_{program}"
            stub.write_text(f'#!/bin/sh\n[ "$1" != --list ] || {{ echo one; exit; }}\nexit {code}\n')
            stub.chmod(0o755)
    done = lab("check", tmp_path / "out", binaries, SETS="h200 t4", TOOLS="")
    assert done.returncode == (1 if fails else 0) and not done.stderr, done.stderr
    assert done.stdout.count("==== check of") == 2 and ("FAILED: dgemm" in done.stdout) == fails
    assert "dgemm\tpassed" in (tmp_path / "out/check-t4.tsv").read_text() and "# device:" in (tmp_path / "out/check.log").read_text()


def test_binaries_are_unpacked_where_they_run(binaries, tmp_path):
    packed = tmp_path / "carried"
    shutil.make_archive(packed, "xztar", binaries) # not everybody has xz
    assert lab("auto", tmp_path / "out", packed).returncode == 0
    assert (packed / "h200/halftone").is_file() and "--schemes auto,f16x3,bf16x6u" in (tmp_path / "asked").read_text()


def test_hpl_in_processes_or_one_line(tmp_path):
    """HPL's residual, natively and under the face, where MPI and hpcc are; else what it lacks."""
    done = lab("hpl", tmp_path, KIND="sim", SET="t4", N="128", NB="32", RANKS="2", HALFTONE_STRATEGY="eager")
    if shutil.which("hpcc") and shutil.which("mpirun"):
        rows = [line.split("\t") for line in (tmp_path / "h200-hpl.tsv").read_text().splitlines() if line[0] != "#"]
        assert [row[0] for row in rows] == ["method", "native", "face"] and all(row[-1] == "PASSED" for row in rows[1:]), done.stderr
    else:
        assert done.returncode == 2 and "needs hpcc and mpirun" in done.stderr and done.stderr.count("\n") == 1, done.stderr


# ---- the papers' figures, the second table of bench/programs/papers.py

sys.path.insert(0, str(ROOT / "bench/programs"))
papers = __import__("papers")
WAITING = {"egemm-tc", "le-gemm", "mixpert", "programs-levels", "ozaki-sp", "apps"} # for a card, wholly or in part


def test_the_papers_figures_are_what_results_say():
    """Each has an experiment, and is there but where it waits for a card."""
    text = (ROOT / "bench/results/programs.tsv").read_text()
    assert text.split(papers.SECOND)[1] == papers.elsewhere(), "python3 bench/programs/papers.py bench/results --elsewhere"
    for row, (*_, name, wanted) in zip(csv.DictReader(papers.elsewhere().splitlines(), delimiter="\t"), papers.ELSEWHERE):
        cells = re.split("[,;]", row["ours"])
        assert len(cells) == len(re.split("[,;]", row["claim"])) == len(wanted.split("|")) and ("-" not in cells or name in WAITING), row


def test_the_papers_figures_in_the_simulator(tmp_path):
    """Their experiments at a small size, without times; then what the page takes of their tables."""
    sets = {"KIND": "sim", "SIZES": "48", "METHODS": "half,egemm", "COMMIT": "abc"}
    for name, words in {"le-gemm": {}, "egemm-tc": {}, "apps": {"SET": "t4", "SEARCHES": "mlp-48-f16x3,half mlp-48-f16x3,half-exhaustive"}}.items():
        done = lab(name, tmp_path, **sets, **words)
        assert done.returncode == 0, done.stderr
    speeds, errors, searches = (tmp_path / f"h200-{name}.tsv" for name in ("egemm-tc", "le-gemm", "apps"))
    for shape in ("1:1:1", "1:1:2", "4:1:1"):
        assert 100 < float(papers.ours(speeds, f"half/egemm rel_frobenius shape={shape}")) < 2000
    assert 100 < float(papers.ours(errors, "half/egemm max_abs_cpu")) < 2000 and float(papers.ours(errors, "half/egemm mred_cpu")) > 100
    assert papers.ours(errors, "egemm/egemm~mma rel_frobenius part=2") == "1" and papers.ours(errors, "egemm end/sgemm part=1") == "n/a"
    assert papers.ours(errors, "legemm mred_cpu") == "-"
    assert 0.99 <= float(papers.ours(searches, "greedy/exhaustive products_ms program=mlp n=48 tau=5e-4")) <= 1.05
    rows = [line.split("\t") for line in searches.read_text().splitlines() if line.startswith("mlp")]
    assert len(rows) == 8 and all(len(row) == 10 for row in rows) and re.fullmatch(r"(layer\d (half|f16x3)(, |$)){3}", rows[0][9])
    assert lab("apps", tmp_path, **sets, SET="t4", SEARCHES="mlp-48-f16x3,none").returncode == 0 and searches.read_text().count("\tno table\t") == 4
    assert lab("apps", tmp_path, **sets, SET="none").returncode == 2


def test_the_tile_model_against_its_tables(tmp_path):
    """Their kernels are mma.sync's: with the budget h200, which is for wgmma, there is nothing to compare. Correlations are those that are said."""
    mma_sync, said = tmp_path / "h200mma.gpu", {"h200-a800set-tiles-fit": "gen/family/mma_warp.c", "h200-native-tiles-held-out": "bench/decisions/004-tile-model.md"}
    mma_sync.write_text((ROOT / "gen/gpus/h200.gpu").read_text().replace("name = h200 ", "name = h200mma ").replace("isa = sm_90a ", "isa = sm_80 "))
    for name, page in said.items():
        def check(budget):
            return subprocess.run([sys.executable, "bench/model_check.py", f"bench/results/{name}.tsv", budget], cwd=ROOT, capture_output=True, text=True)
        empty, done = check("h200"), check(mma_sync)
        assert empty.returncode == 1 and empty.stdout.count("nothing is compared") == 3 and done.returncode == 0, empty.stdout + done.stdout
        found = ", ".join(f"{float(x):.2f}" for x in re.findall(r"rank correlation ([\d.]+)", done.stdout))
        assert re.search(r"rank\s+correlation (?:of )?" + found + " at 1024, 4096", (ROOT / page).read_text()), found
