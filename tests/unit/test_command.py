"""What the command prints for people: the demo's point, help, tables that fit a terminal, what a call was chosen from."""
import ctypes
import os
import re
import subprocess

import pytest
from conftest import ROOT, npy, rows, store

COMMAND = ROOT / "out/a800/halftone-sim"


def halftone(*args, **options):
    return subprocess.run([str(COMMAND), *map(str, args)], capture_output=True, text=True, timeout=120, **options)


def tables(text):
    """Rows of each table by method."""
    found = []
    for block in re.split(r"\n(?=method)", text)[1:]:
        head, *lines = block.split("\n\n")[0].splitlines()
        names = [n.strip() for n in re.split(r"\s{2,}", head)]
        found.append({line.split()[0]: dict(zip(names, line.split())) for line in lines})
    return found


@pytest.mark.whole
def test_the_demo_shows_what_it_is_for():
    """On the generated set: FP16 and BF16 lose neighbours that emulation keeps, and long sums are better than native FP32's.
    The last lines say what the tables have."""
    text = halftone("demo").stdout
    neighbours, features = tables(text)
    assert "all 17 are exact here: small whole numbers" in text
    changed = {c: int(r["other neighbours"]) for c, r in neighbours.items()}
    assert changed["half"] > 40 and changed["bf16"] > 2 * changed["half"]
    assert max(changed["f16x3"], changed["bf16x6u"], changed["cpu-fp32"]) < changed["half"] / 4
    errors = {c: float(r["rel_frobenius"]) for c, r in features.items()}
    assert errors["f16x3"] < errors["cpu-fp32"] / 4 and errors["half"] > 100 * errors["f16x3"]
    assert f"at mean 10: cpu-fp32 {changed['cpu-fp32']}, half {changed['half']}, f16x3 {changed['f16x3']}, bf16 {changed['bf16']}\n" in text
    assert f"X'X, k = 1797: cpu-fp32 {errors['cpu-fp32']:.2g}," in text
    assert max(map(len, text.splitlines())) <= 110


def test_help_lists_the_input_families():
    """Of the commands that take them; `report --list` prints the same lines and nothing else."""
    listed = halftone("report", "--list").stdout
    names = [line.split()[0] for line in listed.splitlines()]
    real = {"relu", "sparse", "lognormal", "laplace", "cauchy", "outliers", "softmax", "onehotnoise", "dscaled20", "dscaled60", "graded"}
    assert real <= set(names) and len(names) == len(set(names)) and all(len(line) <= 110 for line in listed.splitlines())
    for command in "bench", "check", "report", "contract", "breakdown", "invariance":
        assert halftone(command, "--help").stdout.endswith("\nInput families:\n\n" + listed)
    assert "Input families" not in halftone("mm", "--help").stdout


def test_the_demo_draws_what_half_gets_wrong(tmp_path):
    """Four pixels a row; of those two that are near each other in FP64 the page frames what half puts in another order."""
    (tmp_path / "x.npy").write_bytes(npy(40, 4, [(7 * i * i + 3 * c * i + c) % 97 for i in range(40) for c in range(4)]))
    assert f"wrote {tmp_path}/p.html" in halftone("demo", "--data", tmp_path / "x.npy", "--html", tmp_path / "p.html").stdout
    text = (tmp_path / "p.html").read_text()
    drawn, framed = re.findall(r'<use href="#i(\d+)"', text), text.count('stroke="#d9600a"')
    shown = int(re.search(r"The first (\d+) such row", text)[1])
    assert shown and len(drawn) == 21 * shown and shown <= framed <= 10 * shown
    assert set(drawn) == set(re.findall(r'<symbol id="i(\d+)"', text)) <= set(map(str, range(40)))
    for at in range(shown):
        own, exact, found = drawn[21 * at], drawn[21 * at + 1:21 * at + 11], drawn[21 * at + 11:21 * at + 21]
        assert own not in exact and exact != found


def test_the_demo_of_two_rows():
    """Fewer rows than neighbours are asked for."""
    run = halftone("demo", "--rows", 2)
    assert run.returncode == 0 and "rows of 2 with other neighbours, at mean 10: cpu-fp32 0," in run.stdout


@pytest.mark.whole
@pytest.mark.parametrize("gpu", ["a800", "h200"])
def test_info_fits_a_terminal_and_keeps_every_word(gpu):
    command = ROOT / "out" / gpu / "halftone-sim"
    shown, raw = (subprocess.run([str(command), "info", *o], capture_output=True, text=True).stdout for o in ((), ("--tsv",)))
    assert max(map(len, shown.splitlines())) <= 110
    words = " ".join(shown.split())
    rows = [line.split("\t") for line in raw.splitlines() if "\t" in line]
    schemes = [r for r in rows if len(r) == 6 and r[0] != "scheme"]
    kernels = [r for r in rows if len(r) == 9 and r[0] != "kernel"]
    assert len(schemes) > 10 and len(kernels) > 50
    assert all(r[4] in words and r[5] in words for r in schemes) and all(r[0] in words and r[8] in words for r in kernels)


class Plan(ctypes.Structure):
    """The beginning of struct halftone_plan."""
    _fields_ = [("size", ctypes.c_size_t), ("scheme", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("tile", ctypes.c_int * 6), ("splits", ctypes.c_int),
                ("pack_ns", ctypes.c_int64), ("kernel_ns", ctypes.c_int64), ("predicted_ns", ctypes.c_int64), ("workspace", ctypes.c_size_t), ("rest", ctypes.c_char * 1024)]


@pytest.fixture(scope="module")
def asked():
    """Of the library itself: the kernel, splits and times of a shape, after some settings."""
    library, handle = ctypes.CDLL(str(ROOT / "out/t4/libhalftone-sim.so")), ctypes.c_void_p()
    assert library.halftone_create(ctypes.byref(handle)) == 0

    def ask(is_fp64, shape, **settings):
        for name, value in settings.items():
            assert getattr(library, "halftone_set_" + name)(handle, value and value.encode()) == 0, settings
        plan = Plan(ctypes.sizeof(Plan))
        query = library.halftone_dquery if is_fp64 else library.halftone_query
        code = query(handle, ctypes.c_char(b"N"), ctypes.c_char(b"N"), *map(ctypes.c_int64, shape), ctypes.c_int64(1), ctypes.byref(plan))
        assert code == 0, (shape, settings)
        return [plan.kernel.decode(), plan.scheme.decode(), str(plan.splits)], [plan.pack_ns, plan.kernel_ns, plan.predicted_ns], plan.workspace
    yield ask
    library.halftone_destroy(handle)


CERTIFIED_NS = 2 * 2200 # launches that a certificate adds to FP64's


@pytest.mark.parametrize("accuracy, is_fp64", [(a, 0) for a in (None, "fp32-fast", "bits=12", "invariant")] +
                         [(a, 1) for a in (None, "fp64-fast", "bits=40", "reproducible")])
@pytest.mark.parametrize("shape", [(100, 200, 8), (2048, 2048, 255), (1024, 1024, 4096), (4096, 1, 2048)])
def test_info_says_what_was_weighed(shape, accuracy, is_fp64, asked):
    """First the pick, as the library tells it; then by time what it tells of each other kernel, set by name."""
    of = "fp64:" if is_fp64 else "fp32:"
    pick, times, workspace = asked(is_fp64, shape, accuracy=of + (accuracy or of[:4]), kernel=None)
    run = subprocess.run([ROOT / "out/t4/halftone-sim", "info", "--tsv", "--why", *map(str, shape), *["--fp64"] * is_fp64,
                          *(["--accuracy", accuracy] if accuracy else [])], capture_output=True, text=True, check=True)
    table = [line.split("\t") for line in run.stdout.splitlines() if "\t" in line][1:]
    said = [[1000 * float(x) for x in row[3:6]] for row in table]
    assert table[0][:3] == pick and said[0] == pytest.approx(times, rel=1e-4), run.stdout
    assert f"# pick: {pick[0]}, " in run.stdout and f"# workspace: {workspace} bytes\n" in run.stdout
    assert ("# runner-up: " in run.stdout) == (len(table) > 1) and (len(table) == 1 or f"# runner-up: {table[1][0]}, " in run.stdout)
    assert [t[2] for t in said] == sorted(t[2] for t in said) and len({row[0] for row in table}) == len(table)
    assert not re.search(r"fallback|pipeline|handpicked|interleave", run.stdout) # which run by name only
    for row, each in zip(table, said):
        if "few_rows" in row[0] or "one_row" in row[0]: # a pick of the library, no kernel that can be set
            continue
        scheme = "auto" if not is_fp64 and accuracy in (None, "bits=12") else row[1]
        own, (pack, product, _), _ = asked(is_fp64, shape, scheme=of + scheme, kernel=row[0])
        product += CERTIFIED_NS if "crt" in row[1] and accuracy in (None, "bits=40") else 0
        assert own == row[:3] and each == pytest.approx([pack, product, pack + product], rel=1e-4), (row, run.stdout)


def test_help_says_what_to_take_first_and_every_accuracy():
    first, authors = halftone("--help").stdout.split("For authors")
    assert re.findall(r"(?m)^  ([\w-]+) ", first) == ["mm", "run", "check", "report", "info", "bench", "invariance", "app", "tune-app", "demo"]
    assert re.findall(r"(?m)^  (\w+) ", authors) == ["probe", "profile", "tune", "contract", "breakdown"]
    text = halftone("mm", "--help").stdout
    assert halftone("help", "mm").stdout == text and halftone("help", "tune").stdout == halftone("tune", "--help").stdout
    unknown = halftone("help", "nope")
    assert unknown.returncode == 2 and not unknown.stdout and "unknown command 'nope'" in unknown.stderr
    assert all(word in text for word in ("half", "tf32", "fp32-fast", "invariant", "bits=N", "bound=X", "relative=X:rho=Y"))


def test_bench_in_the_simulator_says_so_in_one_line():
    run = halftone("bench", "--schemes", "half", "--seconds", "0.001")
    assert run.returncode == 0 and run.stderr.count("\n") == 1 and "say nothing of a GPU" in run.stderr


ANY = "bf16x6u: error at most 4.17e-07 |A||B|; it takes every input, so nothing is checked"


@pytest.mark.parametrize("options,says,kept", [
    ((), "auto: bf16x6u, which takes every input; f16x3, whose data are checked, is for k from", ANY),
    (("--accuracy", "fp32"), "fp32 by auto: bf16x6u, which takes every input; f16x3, ", ANY), (("--accuracy", "bits=12"), "bits=12: at most 4096 units; cheapest of", ANY),
    (("--scheme", "half"), "set by name",
     "half: error at most 0.000978 |A||B|; nothing looks at the data, which must be in its range: elements with magnitude in [2^-14, 65504]"),
    (("--scheme", "i8x6"), "set by name", "i8x6: error at most 1.01e-06 k max|a| max|b| of a row and a column; nothing looks at the data, ")])
def test_mm_says_what_ran_and_what_was_kept(options, says, kept, tmp_path):
    (tmp_path / "a.npy").write_bytes(npy(3, 3))
    run = halftone("mm", "a.npy", "a.npy", "-o", "c.npy", *options, cwd=tmp_path)
    first, second, third = run.stdout.splitlines()
    assert re.fullmatch(r"c\.npy: 3 x 3, k = 3, scheme (\w+), ht_(\1|gemv|tall_skinny|simt|dmma|few_rows|one_row)_\w+, in the simulator", first) and second.startswith(says), run.stdout
    assert third.startswith(kept), third


@pytest.mark.parametrize("wide", [False, True])
def test_mm_says_how_much_was_computed_again(wide, tmp_path):
    """On a set whose default looks at these data; one row of A loses all but what meets B's zeros. FP64: `halftone check` knows it."""
    n, command = (200, 448)[not wide], ROOT / "out/t4/halftone-sim"
    numbers = [[(i * 37 + j * 101) % 97 - 48.5 if i > 0 else 0. for j in range(n)] for i in range(n)]
    bad = [row if i != 5 else [1e30] + [1e-3] * (n - 1) for i, row in enumerate(numbers)]
    for name, rows in ("a", numbers), ("bad", bad):
        store(tmp_path / f"{name}.npy", rows, descr="<f8" if wide else "<f4")
    counted = {}
    for name in "a", "bad":
        run = subprocess.run([command, "mm", f"{name}.npy", "a.npy", "-o", "c.npy"], cwd=tmp_path, capture_output=True, text=True)
        found = re.fullmatch(r"(f16x3|crt\d+): error at most [\d.e-]+ \|A\|\|B\|; (\d+) of (\d+) elements were computed again \((\S+) %\)",
                             run.stdout.splitlines()[-1])
        assert found and int(found[3]) == n * n and float(found[4]) == pytest.approx(100 * int(found[2]) / n ** 2, rel=1e-2), run.stdout
        counted[name] = int(found[2])
        said = subprocess.run([command, "check", f"{name}.npy", "a.npy"], cwd=tmp_path, capture_output=True, text=True).stdout
        assert not wide or ("all of them have" in said) == (name == "a"), said
    assert counted["a"] == 0 and n <= counted["bad"] <= 64 * n, counted


@pytest.mark.parametrize("args", [("--help",), ("help", "mm"), ("mm", "--help"), ("report", "--help"), ("--version",), ("info",)])
def test_what_could_not_be_printed_is_said(args):
    with open("/dev/full", "w") as full:
        run = subprocess.run([str(COMMAND), *args], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and re.fullmatch(r"halftone [\w-]+: writing to standard output failed; [\w ]+\n", run.stderr), run.stderr


@pytest.mark.parametrize("args,says", [
    (("mm", "", "b.npy", "-o", "c.npy"), "halftone mm: argument 1 is empty"),
    (("mm", "a.npy", "b.npy", "-o", ""), "halftone mm: option -o needs a value"),
    (("mm", "a.npy", "b.npy", "-o="), "halftone mm: option -o needs a value"),
    (("report", "--out", ""), "halftone report: option --out needs a value"),
    (("info", "8", "8", "8"), "halftone info: a product is asked about by three sizes"),
    (("info", "--why", "8", "8"), "halftone info: a product is asked about by three sizes"),
    (("info", "--why", "8", "0", "8"), "halftone info: N: 0 is outside 1.."),
    (("info", "--why", "8", "8", "k"), "halftone info: K: 'k' is not a whole number; write for example 64\n"),
    (("info", "--why", "8", "8", "8", "8"), "halftone info: unexpected argument '8'"),
    (("info", "--why", "8", "8", "8", "--accuracy", "nope"), "halftone info: --accuracy nope: no accuracy is called that"),
    (("run", "--accuracy", "fp64-exact", "true"), "halftone run: no accuracy of FP32 products is called 'fp64-exact', FP64's go to --fp64; `halftone info` lists them, 'fp32' is the default\n"),
    (("info", "--fp64"), "halftone info: without --why nothing is asked about a product: leave out --fp64"),
    (("check", "a.npy", "b.npy", "--out", "x.tsv"), "halftone check: needs two matrices (without --out)")])
def test_wrong_usage_is_one_line_that_names_its_place(args, says, tmp_path):
    run = halftone(*args, cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.startswith(says) and run.stderr.count("\n") == 1 and not any(tmp_path.iterdir()), run.stderr


# ---- profile: it names the simulator's own model, and notices another

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
