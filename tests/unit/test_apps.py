"""`halftone app` and `halftone tune-app` of the simulator's build: errors against Python's own, searches, interruptions, bad input."""
import ctypes
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest
from conftest import ROOT, full_disk, load, store

COMMAND = ROOT / "out/t4/halftone-sim"
CHOLESKY = ["cholesky", "--n", "256", "--block", "128"]
MLP = ["mlp", "--n", "48"]
LEVELS = ["--levels", "f16x3,i8x6,scheme:half"]


def command(*args, check=True, env=None, by=COMMAND, **more):
    run = subprocess.run([str(by), *map(str, args)], capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=300, **more)
    if check:
        assert run.returncode == 0, run.stderr
    return run


def app(*args, **more):
    """What it prints: error, bits, seconds of sites, levels of sites."""
    text = command("app", *args, **more).stdout
    found = {"error": float(re.search(r"^error (\S+)$", text, re.M)[1]), "bits": re.search(r"^bits (\w+)$", text, re.M)[1]}
    found["seconds"] = {name: float(s) for name, s in re.findall(r"^site (\S+) (\S+)$", text, re.M)}
    found["level"] = dict(re.findall(r"^# (\w+): (\S+), \d+ products$", text, re.M))
    found["text"] = text
    return found


def refused(*args, says, env=None):
    """One line on stderr, nothing on stdout that looks like a result."""
    run = command(*args, check=False, env=env)
    assert run.returncode in (1, 2) and run.stderr.count("\n") == 1 and says in run.stderr, (run.returncode, run.stderr)
    assert "error " not in run.stdout or args[0] == "tune-app"


def lines_of(table):
    return [line for line in table.read_text().splitlines() if not line.startswith("#")]


def numbers(seed, rows, cols):
    """Single precision, in (-1, 1)."""
    x, made = seed, []
    for _ in range(rows):
        row = []
        for _ in range(cols):
            x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
            row.append(struct.unpack("<f", struct.pack("<f", (x >> 40) / 2**23 - 1))[0])
        made.append(row)
    return made


# ---- programs

def test_cholesky_says_the_error_of_what_it_writes(tmp_path):
    """All of A - L L^T in Python's doubles; A from the patches by the formula of bench/halftone/apps/cholesky.c."""
    n, patches = 128, numbers(1, 128, 64)
    store(tmp_path / "patches.npy", patches)
    ran = app("cholesky", "--n", n, "--block", 64, "--data", tmp_path, "--accuracy", "scheme:half", "-o", tmp_path / "L.npy")
    distance = [[sum((x - y) ** 2 for x, y in zip(p, q)) for q in patches] for p in patches]
    mean = sum(distance[i][j] for i in range(n) for j in range(i)) / (n * (n - 1) / 2)
    a = [[math.exp(-distance[i][j] / mean) + (i == j) for j in range(n)] for i in range(n)]
    low = load(tmp_path / "L.npy")[1]
    assert [len(row) for row in low] == [n] * n and all(low[i][j] == 0 for i in range(n) for j in range(i + 1, n))
    residual = sum((a[i][j] - sum(x * y for x, y in zip(low[i][:j + 1], low[j][:j + 1]))) ** 2 * (1 if i == j else 2) for i in range(n) for j in range(i + 1))
    assert ran["error"] == pytest.approx(math.sqrt(residual / sum(x * x for row in a for x in row)), rel=1e-2)
    assert 1e-5 < ran["error"] < 1e-3 and ran["seconds"]["diagonal"] > 0 and ran["seconds"]["panel"] == 0


def test_mlp_says_the_error_and_the_classes_of_what_it_writes(tmp_path):
    widths, samples = [64, 24, 40, 10], 30
    x, layers = numbers(2, samples, 64), [(numbers(3 + i, k, m), numbers(7 + i, 1, m)[0]) for i, (k, m) in enumerate(zip(widths, widths[1:]))]
    store(tmp_path / "digits.npy", x)
    for i, (w, b) in enumerate(layers, 1):
        store(tmp_path / f"w{i}.npy", w)
        store(tmp_path / f"b{i}.npy", [b])
    ran = app("mlp", "--data", tmp_path, "--accuracy", "scheme:half", "-o", tmp_path / "H.npy")
    for i, (w, b) in enumerate(layers):
        x = [[sum(v * row[j] for v, row in zip(sample, w)) + b[j] for j in range(len(b))] for sample in x]
        x = [[max(v, 0) for v in sample] for sample in x] if i < 2 else x
    h = load(tmp_path / "H.npy")[1]
    assert [len(row) for row in h] == [samples] * 10
    wrong = sum((h[i][j] - x[j][i]) ** 2 for i in range(10) for j in range(samples))
    assert ran["error"] == pytest.approx(math.sqrt(wrong / sum(v * v for sample in x for v in sample)), rel=1e-6) and ran["error"] < 1e-2
    changed = sum(max(range(10), key=lambda i: h[i][j]) != max(range(10), key=lambda i: x[j][i]) for j in range(samples))
    assert f"classes changed {changed} of {samples}\n" in ran["text"]


def test_a_site_has_its_own_level_and_bits_repeat():
    same = app(*CHOLESKY, "--repeats", 2)
    assert same["bits"] == app(*CHOLESKY)["bits"] and same["error"] < 2e-7
    for number, site in enumerate(("solve", "panel", "diagonal")):
        levels = ["fp32"] * 4
        levels[number] = "scheme:half"
        ran = app(*CHOLESKY, "--accuracy", ",".join(levels))
        assert ran["bits"] != same["bits"] and ran["error"] > 10 * same["error"] and ran["level"][site] == "scheme:half"
        assert {s for s in same["seconds"] if ran["seconds"][s] != same["seconds"][s]} == {site}


def test_what_is_no_longer_positive_definite_has_no_error_that_is_small(tmp_path):
    assert app("cholesky", "--n", 256, "--diagonal", "1e-5", "--accuracy", "scheme:half")["error"] == math.inf
    run = command("tune-app", "cholesky", "--n", 256, "--diagonal", "1e-3", *LEVELS, "--tau", "1e-2", "--out", tmp_path / "t")
    assert "error inf" in run.stdout and app("cholesky", "--n", 256, "--diagonal", "1e-3", "--sites", tmp_path / "t")["error"] < 1e-2


# ---- the search

@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A search that ends by itself: table and journal."""
    table = tmp_path_factory.mktemp("tuned") / "table"
    run = command("tune-app", *CHOLESKY, *LEVELS, "--tau", "1e-4", "--out", table)
    return table, run.stdout


def test_the_table_replays_the_error_and_the_bits(found):
    table, said = found
    ran = app(*CHOLESKY, "--sites", table)
    head = re.search(r"error (\S+); products (\S+) ms, (\S+) ms with f16x3 everywhere; (\d+) runs", table.read_text())
    assert ran["error"] == float(head[1]) <= 1e-4
    assert ran == app(*CHOLESKY, env={"HALFTONE_SITES": str(table)}) and sum(ran["seconds"].values()) * 1e3 == pytest.approx(float(head[2]), rel=1e-3)
    assert float(head[2]) < float(head[3]) and int(head[4]) <= 4 * 4 + 2
    assert [line.split()[0] for line in lines_of(table)] == ["site=solve", "site=panel", "site=diagonal", "site=update"]
    assert said.count("\nkept") + said.count("\nundone") == int(head[4]) - 2


def test_a_perceptrons_table_replays_the_bits(tmp_path):
    command("tune-app", *MLP, *LEVELS, "--tau", "5e-7", "--out", tmp_path / "table")
    level = {line.split()[0][5:]: line.split("=")[-1] for line in lines_of(tmp_path / "table")}
    ran = app(*MLP, "--sites", tmp_path / "table")
    by_name = app(*MLP, "--accuracy", ",".join(("scheme:half" if level[s] == "half" else level[s]) for s in ("layer1", "layer2", "layer3")))
    assert len(set(level.values())) > 1 and ran["bits"] == by_name["bits"] and ran["error"] == by_name["error"] <= 5e-7


def test_the_table_is_read_by_the_library(found):
    """halftone_read_sites and halftone_at_site, of host memory: each product is decided by the line of its site."""
    library = ctypes.CDLL(str(ROOT / "out/t4/libhalftone-sim.so"))
    one, zero, h, text, count = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_void_p(), ctypes.c_char_p(), ctypes.c_int64()
    x, n = (ctypes.c_float * 4096)(*[1] * 4096), ctypes.c_int64(64)
    assert library.halftone_create(ctypes.byref(h)) == 0
    assert library.halftone_read_sites(h, str(found[0]).encode()) == 0
    for i, line in enumerate(lines_of(found[0])):
        c = (ctypes.c_float * 4096)()
        for name in (line.split()[0][5:], "other"):
            assert library.halftone_at_site(h, name.encode()) == 0
            assert library.halftone_sgemm_host(h, ord("N"), ord("T"), n, n, n, ctypes.byref(one), x, n, x, n, ctypes.byref(zero), c, n) == 0
            assert library.halftone_last_site(h) == (0 if name == "other" else i + 1) and c[17] == 64
        assert library.halftone_get_site(h, i, ctypes.byref(text), ctypes.byref(count)) == 0
        assert text.value.decode() == line and count.value == 1
    assert library.halftone_destroy(h) == 0


def test_exhaustive_search_is_not_better_by_more_than_5_percent(tmp_path):
    """Times are the model's, so this repeats; several thresholds share one journal."""
    for tau in ("1e-6", "5e-4"):
        times = []
        for more in ([], ["--exhaustive", "--journal", tmp_path / "all.runs"]):
            run = command("tune-app", *MLP, *LEVELS, "--tau", tau, "--out", tmp_path / f"t{tau}{len(more)}", *more)
            times.append(float(re.search(r"products (\S+) ms, ", run.stdout)[1]))
        assert times[1] <= times[0] <= 1.05 * times[1]
    assert "27 runs, 0 of them now" in run.stdout


def test_several_thresholds_share_their_runs(found, tmp_path):
    """The tables are those of searches of their own; a threshold that is missed is said, and leaves none; no run is made twice."""
    several = ["tune-app", *CHOLESKY, *LEVELS, "--tau", "3e-7,1e-9,1e-4", "--out", tmp_path / "t"]
    run = command(*several, check=False)
    assert run.returncode == 1 and run.stderr.count("\n") == 1 and "1 of 3 thresholds were missed" in run.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t-1e-4", "t-3e-7", "t.runs"]
    assert (tmp_path / "t-1e-4").read_text() == found[0].read_text()
    assert lines_of(tmp_path / "t-3e-7") != lines_of(found[0]) and "missed: even with f16x3 everywhere" in run.stdout
    levels = [tuple(line.split("\t")[:4]) for line in (tmp_path / "t.runs").read_text().splitlines() if line[0] != "#"]
    assert levels[0] == levels[1] and len(set(levels[1:])) == len(levels) - 1
    made = list(map(int, re.findall(r"runs, (\d+) of them now", run.stdout)))
    assert len(made) == 2 and sum(made) == len(levels) and made[1] < int(re.search(r"(\d+) runs", found[0].read_text())[1])
    refused("tune-app", *CHOLESKY, *LEVELS, "--tau", "1e-4,x", "--out", tmp_path / "u", says="--tau takes positive numbers, not 'x'")


def test_a_search_goes_on_where_it_was_stopped(found, tmp_path):
    """By --runs, killed, with a torn last line: at the end the same table and the same runs."""
    whole, table = found[0], tmp_path / "table"
    journal, args = tmp_path / "table.runs", ["tune-app", *CHOLESKY, *LEVELS, "--tau", "1e-4", "--out", table]
    assert "stopped by --runs after 3 runs" in command(*args, "--runs", 3).stdout and not table.exists()
    child = subprocess.Popen([str(COMMAND), *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while journal.read_text().count("\n") < 3 + 4 and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not table.exists()
    journal.write_text(journal.read_text() + "1\t0\t0")
    assert "# goes on" in command(*args).stdout
    assert table.read_text() == whole.read_text() and journal.read_text() == whole.with_suffix(".runs").read_text()
    before = table.stat().st_mtime_ns, journal.read_text()
    assert "0 of them now" in command(*args).stdout and journal.read_text() == before[1]


def test_an_interrupted_search_says_so_and_leaves_the_table(tmp_path):
    table = tmp_path / "table"
    table.write_text("as it was")
    args = ["tune-app", *CHOLESKY, *LEVELS, "--tau", "1e-4", "--out", table]
    child = subprocess.Popen([str(COMMAND), *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "table.runs").exists() or (tmp_path / "table.runs").read_text().count("\n") < 4:
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    said = child.communicate()[1]
    assert child.returncode == 1 and said.count("\n") == 1 and "interrupted" in said and "the same command goes on" in said
    assert table.read_text() == "as it was" and sorted(p.name for p in tmp_path.iterdir()) == ["table", "table.runs"]


@pytest.mark.whole
def test_mixperts_levels(tmp_path):
    """The four levels of the paper, and all that a library has that was built with them."""
    budget, built = tmp_path / "levels.gpu", ROOT / "out/levels"
    budget.write_text(re.sub(r"(?m)^name\s*=\s*t4", "name = levels", (ROOT / "gen/gpus/t4.gpu").read_text()))
    try:
        for goal in "generate", "build-sim":
            made = subprocess.run(["make", goal, f"GPU={budget}", "SCHEMES=f16x3,bf16x6u,half,i8x3,i8x6,mixpert1,mixpert2,mixpert3,mixpert4", "LEAN=1"],
                                  cwd=ROOT, capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
        by = built / "halftone-sim"
        levels = [app(*CHOLESKY, "--accuracy", f"mixpert{i}", by=by)["error"] for i in (4, 3, 2, 1)]
        assert levels[0] < 1e-6 < 1e-5 < levels[1] < levels[3] and 1e-5 < levels[2] < levels[3]
        for names in ("mixpert", "all"):
            table = tmp_path / names
            run = command("tune-app", *MLP, "--levels", names, "--tau", "5e-4", "--out", table, by=by)
            assert ("# levels mixpert4 mixpert3 mixpert2 mixpert1\n" if names == "mixpert" else "# levels fp32 fp32-fast i8x6 mixpert4 ") in run.stdout
            assert app(*MLP, "--sites", table, by=by)["error"] <= 5e-4
    finally:
        shutil.rmtree(built, ignore_errors=True)


# ---- a command

def test_halftone_app_as_a_command_is_found_the_same_table(found, tmp_path):
    table = tmp_path / "table"
    command("tune-app", *LEVELS, "--tau", "1e-4", "--out", table, "--", COMMAND, "app", *CHOLESKY)
    assert lines_of(table) == lines_of(found[0])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["table", "table.runs"]


@pytest.fixture
def program(tmp_path):
    """A command with sites x and y and an error that each lower level adds to; what is in the file `way` changes it."""
    path = tmp_path / "program.py"
    path.write_text("import os, sys, pathlib\n"
                    "here = pathlib.Path(__file__).parent\n"
                    "table = os.environ.get('HALFTONE_SITES')\n"
                    "lines = [l.split('=')[-1].strip() for l in open(table) if l[0] != '#'] if table else ['f16x3'] * 2\n"
                    "cost = {'f16x3': (8, 1e-7), 'i8x6': (6, 1e-6), 'half': (4, 1e-4)}\n"
                    "print('solving'); print('error', sum(cost[l][1] for l in lines))\n"
                    "for name, level, part in zip('xy', lines, (3, 1)): print('site', name, cost[level][0] * part)\n"
                    "exec((here / 'way').read_text())\n")
    (tmp_path / "way").write_text("")
    return path


def tune_program(program, *more):
    return ["tune-app", *LEVELS, "--tau", "1.5e-4", "--out", program.parent / "table", *more, "--", sys.executable, program]


def test_a_command_of_any_kind(program):
    command(*tune_program(program))
    assert lines_of(program.parent / "table") == ["site=x scheme=half", "site=y scheme=i8x6"]


def test_a_command_that_runs_is_let_end(program):
    """SIGTERM to the search alone."""
    (program.parent / "way").write_text("import time; sys.stdout.flush(); time.sleep(0.5)")
    child = subprocess.Popen([str(COMMAND), *map(str, tune_program(program))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    journal = program.parent / "table.runs"
    while not journal.exists() or journal.read_text().count("\n") < 4:
        time.sleep(0.01)
    time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    said = child.communicate()[1]
    assert child.returncode == 1 and said.count("\n") == 1 and "interrupted" in said and journal.read_text().count("\n") == 5


@pytest.mark.parametrize("way, says", [
    ("print('error 3')", "more than one line 'error NUMBER'"),
    ("print('site z 1') if table else 0", "'z', which its first run did not have"),
    ("print('site a*b 1')", "a name without *"),
    ("sys.exit(3)", "exit code 3"),
    ("import signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
])
def test_a_command_that_cannot_be_tuned(program, way, says):
    (program.parent / "way").write_text(way)
    refused(*tune_program(program), says=says)
    assert not (program.parent / "table").exists()


def test_a_command_without_an_error_or_sites_or_with_another_each_time(tmp_path, program):
    out = ["tune-app", *LEVELS, "--tau", "1", "--out", tmp_path / "t", "--"]
    refused(*out, "echo", "site x 1", says="prints no line 'error NUMBER'")
    refused(*out, "echo", "error 1", says="prints no line 'site NAME SECONDS'")
    refused(*out, tmp_path / "none", says="cannot be run")
    program.write_text("import time\nprint('error', time.time_ns() / 1e30)\nprint('site x 1')\n")
    refused(*tune_program(program), says="two runs with the same levels print error")


def test_files_beside_the_table_stay(found, program):
    """Names that a search once used for itself are a user's: files, folders, links, a journal; also where it ends with an error."""
    here, other = program.parent, program.parent / "other"
    other.write_text("as it was")
    (here / "table.calls").mkdir()
    (here / "table.trial").symlink_to(other)
    journal = here / "mine.trial"
    command(*tune_program(program, "--journal", journal))
    kept = journal.read_text()
    assert kept.startswith("# halftone tune-app") and lines_of(here / "table") == ["site=x scheme=half", "site=y scheme=i8x6"]
    command(*tune_program(program, "--journal", journal))
    (here / "way").write_text("sys.exit(3)")
    refused(*tune_program(program, "--journal", here / "new"), says="exit code 3")
    refused("tune-app", "--levels", "best,f16x3", "--tau", "1", "--out", here / "table", "--", "true", says="'best'")
    assert journal.read_text() == kept and (here / "table.calls").is_dir() and (here / "table.trial").is_symlink()
    assert other.read_text() == "as it was"
    assert {p.name for p in here.iterdir()} == {"program.py", "way", "other", "table", "table.calls", "table.trial", "mine.trial"}


def test_levels_are_judged_before_anything_runs(program):
    """Of a command, and of a program's data."""
    (program.parent / "way").write_text("(here / 'ran').write_text('')")
    for levels, says in ("f16x3,best", "'best'"), ("f16x3", "two are needed"):
        refused("tune-app", "--levels", levels, "--tau", "1", "--out", program.parent / "t", "--", sys.executable, program, says=says)
        refused("tune-app", "mlp", "--data", "none", "--levels", levels, "--tau", "1", "--out", program.parent / "t", says=says)
    refused("app", "mlp", "--data", "none", "--accuracy", "best", says="'best'")
    assert not (program.parent / "ran").exists()


def test_the_journal_is_not_the_table(program):
    """By its name, a link, a place that is not there yet, a table of several thresholds: nothing runs."""
    here = program.parent
    (program.parent / "way").write_text("(here / 'ran').write_text('')")
    (here / "folder").symlink_to(".")
    (here / "link").symlink_to("folder/table")
    (here / "table.runs").symlink_to("table")
    for journal in "table", "./table", "folder/table", "link", None:
        more = ["--journal", here / journal] if journal else []
        refused(*tune_program(program, *more), says="--journal and --out name one file")
    refused(*tune_program(program, "--tau", "1,2", "--journal", here / "table-2"), says="--journal and --out name one file")
    assert not (here / "ran").exists() and not (here / "table").exists()


def test_a_ratio_of_nothing_is_not_a_number(program):
    """Sites that take no time."""
    (program.parent / "way").write_text("print('site x 0')\nprint('site y 0')")
    program.write_text(program.read_text().replace("cost[level][0] * part", "0"))
    said = command(*tune_program(program)).stdout
    assert "n/a less than with f16x3 everywhere" in said and "nan" not in said
    said = command("app", "cholesky", "--n", "64").stdout # one block: no product at all
    assert re.search(r"products 0 ms, n/a", said) and "nan" not in said


def test_only_whole_lines_are_read(program):
    """'error X' in the middle of a line as long as a buffer is none; a long line of its own stops nothing."""
    (program.parent / "way").write_text("for n in range(4080, 4100): print('x' * n + 'error 3')\nprint('error 3' + ' ' * 5000 + 'x')")
    command(*tune_program(program))
    assert lines_of(program.parent / "table") == ["site=x scheme=half", "site=y scheme=i8x6"]


# ---- bad input

@pytest.mark.parametrize("text, says", [
    ("site=layer1 scheme=i8x6\n", "t:1: no site is called 'layer1': this program has solve, panel, diagonal, update"),
    ("# a\nsite=solve original\n", "t:2: this program has no original"),
    ("site=solve m=4 accuracy=fp32\n", "t:1: this program tells its products apart by site= alone"),
    ("accuracy=fp32\n", "t:1: this program tells its products apart by site= alone"),
    ("site=solve accuracy=best\n", "t:1: 'accuracy=best' is wrong, given twice or out of place"),
    ("site=solve scheme=best\n", "solve: this library has neither an accuracy nor a scheme 'best'"),
])
def test_a_table_that_does_not_fit(text, says, tmp_path):
    (tmp_path / "t").write_text(text)
    refused("app", *CHOLESKY, "--sites", tmp_path / "t", says=says)


def test_a_table_by_patterns_of_which_the_first_counts(tmp_path):
    (tmp_path / "t").write_text("site=sol* scheme=half # comment\n\nsite=[ps]* scheme=i8x6\n")
    assert app(*CHOLESKY, "--sites", tmp_path / "t")["level"] == {"solve": "scheme:half", "panel": "i8x6", "diagonal": "fp32", "update": "fp32"}


@pytest.mark.parametrize("args, says", [
    (["app"], "which program?"),
    (["app", "lu"], "there are cholesky and mlp"),
    (["app", "cholesky", "--n", "100"], "multiples of 64"),
    (["app", "mlp", "--block", "64"], "mlp takes --n"),
    (["app", "mlp", "--data", "nowhere"], "nowhere"),
    (["app", "mlp", "--n", "64", "--data", "x"], "exclude each other"),
    (["app", "mlp", "--accuracy", "fp32,fp32"], "one for all, or 3"),
    (["app", "mlp", "--accuracy", "cublas-sgemm"], "or this is the simulator"),
    (["app", "mlp", "--diagonal", "x"], "--diagonal takes a positive number"),
    (["tune-app", "mlp", "--out", "t"], "needs --tau"),
    (["tune-app", "mlp", "--tau", "0", "--out", "t"], "--tau takes positive numbers"),
    (["tune-app", "mlp", "--tau", "1", "--out", "t", "--levels", "f16x3"], "two are needed"),
    (["tune-app", "mlp", "--tau", "1", "--out", "t", "--levels", "f16x3,best"], "'best'"),
    (["tune-app", "mlp", "--tau", "1", "--out", "t", "--levels", "f16x3,f16x3"], "twice"),
    (["tune-app", "mlp", "--tau", "1", "--out", "."], "is a folder"),
    (["tune-app", "mlp", "--tau", "1", "--out", "/dev/full"], "no ordinary file"),
    (["tune-app", "--tau", "1", "--out", "t"], "which program?"),
    (["tune-app", "--tau", "1", "--out", "t", "--"], "no command behind --"),
    (["tune-app", "--tau", "1", "--out", "t", "--n", "64", "--", "true"], "give a command its own"),
    (["tune-app", "cholesky", "--tau", "1e-9", "--out", "t", "--levels", "f16x3,i8x6"], "even with f16x3 everywhere the error is"),
])
def test_wrong_arguments_have_one_line_and_leave_no_table(args, says, tmp_path):
    run = subprocess.run([str(COMMAND), *args], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert run.returncode in (1, 2) and run.stderr.count("\n") == 1 and says in run.stderr, run.stderr
    assert not (tmp_path / "t").exists()


def test_runs_of_another_search_are_not_continued(found, tmp_path):
    (tmp_path / "t.runs").write_text(found[0].with_suffix(".runs").read_text())
    refused("tune-app", *MLP, *LEVELS, "--tau", "1e-4", "--out", tmp_path / "t", says="the runs of another search")
    (tmp_path / "t.runs").write_text(found[0].with_suffix(".runs").read_text() + "nonsense\n")
    refused("tune-app", *CHOLESKY, *LEVELS, "--tau", "1e-4", "--out", tmp_path / "t", says="not a run of a search")


def test_a_full_disk_leaves_the_table_as_it_was(tmp_path):
    (tmp_path / "t").write_text("as it was")
    run = command("tune-app", *MLP, *LEVELS, "--tau", "1e-3", "--out", tmp_path / "t", check=False, preexec_fn=full_disk(600))
    assert run.returncode == 1 and "writing failed" in run.stderr and (tmp_path / "t").read_text() == "as it was"


def test_data_that_cannot_be_had(tmp_path):
    (tmp_path / "no").mkdir()
    (tmp_path / "patches.npy").write_bytes(b"")
    refused("app", "cholesky", "--data", tmp_path, says="patches.npy")
    store(tmp_path / "patches.npy", numbers(1, 10, 64))
    refused("app", "cholesky", "--data", tmp_path, says="make the folder anew")
    script = ROOT / "bench/data/app_data.py"
    run = subprocess.run([sys.executable, script, tmp_path / "new", "--wheel", tmp_path / "patches.npy"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 3 and run.stderr.count("\n") == 1 and not (tmp_path / "new").exists()
    run = subprocess.run([sys.executable, script, tmp_path / "no"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "exists" in run.stderr
