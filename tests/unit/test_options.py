"""Options of the command that meet: of any two of a command's options each is honoured, or the pair is refused in one line that names it.

MODES has, for every command, the kinds of work that it does and which options each refuses; the others must be taken by it. An option of
the sources that no table here has a value for fails, so that a new one is decided on for every mode."""
import re
import subprocess

import pytest
from conftest import ROOT
from test_operands import npy, write

COMMAND = ROOT / "out/a800/halftone-sim"
VALUES = {"--sizes": "8", "--shapes": "shapes", "--schemes": "half", "--scheme": "auto", "--accuracy": "bits=6", "--kernels": "pick",
          "--seconds": "0.001", "--out": "fresh", "--commit": "c", "--toolkit": "t", "--trans": "NN", "--baselines": "sgemm", "--pad": "0",
          "--family": "uniform", "--operands": "set", "--families": "uniform", "--seed": "2", "--html": "fresh", "--outer": "8",
          "--budget": "60", "--again": "table.tsv", "--rows": "8", "--m": "8", "--n": "8", "--k": "8", "--cases": "1", "--count": "1", "-o": "fresh",
          "--sites": "sites", "--block": "64", "--data": "none", "--diagonal": "2", "--repeats": "1", "--tau": "1", "--levels": "half,f16x3",
          "--inputs": "bf16", "--beta": "0.5", "--journal": "fresh", "--runs": "0", "--tiles": "1", "--only": "mma"}
FP64_VALUES = {"--schemes": "native64", "--scheme": "native64", "--accuracy": "fp64"}
FLAGS = {"--fp64", "--why", "--splits", "--ta", "--tb", "--special", "--list", "--plain", "--tsv", "--exhaustive"}
SMALL = ["--schemes", "half", "--seconds", "0.001"]
# Command: (what it is given, the options that this refuses); not listed options are honoured. A value of FP64's after --fp64.
MODES = {
    "mm": [(["a.npy", "a.npy", "-o", "fresh"], ""), (["w.npy", "w.npy", "-o", "fresh"], ""), (["a.npy", "a.npy", "-o", "fresh", "--scheme", "half"], "--accuracy")],
    "check": [(["a.npy", "a.npy"], "--n --k --out --operands --families --fp64"),  # the files are not float64
              (["w.npy", "w.npy"], "--n --k --out --operands --families --rows"), (["w.npy", "w.npy", "--fp64"], "--n --k --out --operands --families --rows"),
              (["--operands", "set"], "--ta --tb --n --k --fp64 --families"),  # the set is not of float64
              (["--operands", "wset", "--fp64"], "--ta --tb --n --k --rows --families"), (["--families", "uniform"], "--ta --tb --operands"),
              (["--families", "uniform", "--fp64"], "--ta --tb --operands --rows")],
    "report": [(["--sizes", "8", "--families", "uniform", "--schemes", "half"], "--list --fp64"),
               (["--sizes", "8", "--families", "uniform", "--fp64"], "--html --list"),
               (["--list"], "--sizes --fp64 --families --schemes --accuracy --seed --out --html --outer --commit --toolkit")],
    "bench": [(["--sizes", "8", *SMALL], "--operands --fp64"), (["--sizes", "8", "--seconds", "0.001", "--fp64"], "--kernels --pad --baselines --operands --inputs"),
              (["--operands", "set", *SMALL], "--sizes --shapes --kernels --trans --pad --family --baselines --inputs --beta --fp64"),
              (["--operands", "wset", "--fp64", "--seconds", "0.001"], "--sizes --shapes --kernels --trans --pad --family --baselines --inputs --beta")],
    "tune": [(["--shapes", "shapes", "--out", "fresh", *SMALL], "--again --fp64"),
             (["--shapes", "shapes", "--out", "fresh", "--seconds", "0.001", "--fp64"], "--splits --again"),
             (["--again", "table.tsv"], "--shapes --out --schemes --seconds --budget --splits --fp64")],
    "contract": [(["--n", "8", "--k", "8", "--families", "uniform"], "--cases --accuracy --special"),
                 (["--n", "8", "--k", "8", "--families", "uniform", "--fp64"], "--cases --special"),
                 (["--n", "8", "--k", "8", "--families", "uniform", "--fp64", "--accuracy", "fp64"], "--cases --special --scheme"),
                 (["--special", "--cases", "1"], "--n --k --families --rows --fp64 --accuracy")],
    "app": [(["cholesky", "--n", "64", "--accuracy", "half"], "--sites --data"), (["cholesky", "--n", "64"], "--data"), (["mlp", "--n", "8"], "--block --diagonal --data")],
    "tune-app": [(["cholesky", "--n", "64", "--tau", "1", "--out", "fresh", "--levels", "half,f16x3"], "--data"),
                 (["--tau", "1", "--out", "fresh", "--levels", "half,f16x3"], "--n --block --data --diagonal --repeats")],
    "info": [(["--why", "8", "8", "8"], ""), (["--why", "8", "8", "8", "--fp64"], ""), ([], "--why --fp64 --accuracy")],
    "invariance": [(["--k", "8"], ""), (["--k", "8", "--accuracy", "invariant"], "--scheme"), (["--k", "8", "--scheme", "half"], "--accuracy --fp64")],
    "breakdown": [], "probe": [], "profile": [], "demo": [],  # no option of theirs concerns another
}
LAST = {"tune-app": ["--", "echo", "error 0\nsite x 1"]}


def options_of(command):
    """In the order of the sources' table."""
    text = (ROOT / f"bench/halftone/cmd/cmd_{command.replace('-', '_')}.c").read_text()
    table = re.search(r"const struct option \w+\[\] =\s*\{(.*?)\};", text, re.S)[1]
    shared = re.search(r"#define APP_OPTIONS.*?--repeats\"", (ROOT / "bench/halftone/cmd/app_args.h").read_text(), re.S)[0] if "APP_OPTIONS" in table else ""
    return re.findall(r"\{\"(-[-\w]+)\"", shared + table)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("options")
    (here / "a.npy").write_bytes(npy(8, 8))
    head = npy(8, 8)[:128].replace(b"<f4", b"<f8")
    (here / "w.npy").write_bytes(head + b"\0\0\0\0\0\0\xf0\x3f" * 64)
    (here / "shapes").write_text("8 8 8\n")
    (here / "sites").write_text("site=* accuracy=half\n")
    for name, file in ("set", npy(8, 8)), ("wset", npy(8, 8, descr="<f8")):
        write(here / name, [("one", "a.npy", "N", "a.npy", "N", 1)], {"a.npy": file})
    run = subprocess.run([COMMAND, "tune", "--shapes", "shapes", "--out", "table.tsv", *SMALL], cwd=here, capture_output=True)
    assert run.returncode == 0
    return here


def test_the_tables_have_every_option():
    for command in MODES:
        assert set(options_of(command)) <= set(VALUES) | FLAGS, command
    others = {p.stem[4:].replace("_", "-") for p in (ROOT / "bench/halftone/cmd").glob("cmd_*.c")} - set(MODES) - {"run"} # test_dropin_settings.py walks run's
    assert not others, others


@pytest.mark.parametrize("args", [
    ["bench", "--shapes", "kept", "--out", "link", *SMALL], ["tune", "--shapes", "kept", "--out", "t", "--html", "kept", *SMALL], ["tune", "--again", "kept", "--html", "link"],
    ["tune", "--shapes", "shapes", "--out", "new", "--html", "./new", *SMALL],
    ["report", "--sizes", "8", "--families", "uniform", "--schemes", "half", "--out", ".", "--html", "report.tsv"],
    ["app", "cholesky", "--n", "64", "--sites", "kept", "-o", "link"]])
def test_two_options_do_not_name_one_file(args, folder, tmp_path):
    """An input is not written over, nor one output over the other; by links and before there is a file, too."""
    for name, text in ("kept", "8 8 8\n"), ("shapes", "8 8 8\n"):
        (tmp_path / name).write_text(text)
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    run = subprocess.run([str(COMMAND), *args], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "name one file" in run.stderr and run.stderr.count("\n") == 1, (run.stdout, run.stderr)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept", "link", "shapes"] and (tmp_path / "kept").read_text() == "8 8 8\n"


@pytest.mark.parametrize("command, mode, refused", [(c, m, r.split()) for c, modes in MODES.items() for m, r in modes])
def test_an_option_is_honoured_or_refused(command, mode, refused, folder, tmp_path):
    is_child = command == "tune-app" and mode[0] == "--tau"
    for number, option in enumerate(options_of(command)):
        if option in mode:
            continue
        values = {**VALUES, **(FP64_VALUES if "--fp64" in mode else {})}
        words = [*mode, option] + ([values[option]] if option not in FLAGS else []) + (LAST[command] if is_child else [])
        words = [str(tmp_path / f"{number}{i}") if w == "fresh" else w for i, w in enumerate(words)]
        run = subprocess.run([str(COMMAND), command, *words], cwd=folder, capture_output=True, text=True, timeout=60)
        if option in refused:
            assert run.returncode in (1, 2) and run.stderr.count("\n") == 1, (words, run.stdout, run.stderr)
            assert run.returncode == 2 or option in ("--data", "--fp64"), (words, run.stderr)  # which a file decides
            assert not list(tmp_path.iterdir()), (words, list(tmp_path.iterdir()))
        else:
            assert run.returncode == 0, (words, run.stderr)
        for path in tmp_path.iterdir():
            path.unlink() if path.is_file() else [p.unlink() for p in path.iterdir()] and path.rmdir()
