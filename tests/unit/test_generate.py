"""What halftone-gen promises: the same bytes everywhere, kernels that compile as planned, errors that leave nothing."""
import re
import shutil
import subprocess

import pytest
from conftest import AMD, GEN, NVIDIA, ROOT, build_generator, copy_of_repository, explain_rows, gen

SCHEMES = [line.split()[0] for line in gen("list", "schemes").stdout.splitlines()]
FP16 = {"half", "markidis", "ootomo", "egemm", "legemm", "f16x3"}


def folder_bytes(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def test_lists():
    assert {line.split()[0] for line in gen("list", "gpus").stdout.splitlines()} == {*NVIDIA, *AMD}
    assert {*FP16, "i8x3", "i8x6", "i8x10"} <= set(SCHEMES)
    schemes = gen("list", "schemes").stdout # slices, products, bound at k = 1024 as the library has it on sm_80, what for
    assert re.search(r"f16x3 +2 x FP16, +3 products, bound +121 +at k = 1024: finite input of any exponent", schemes)
    assert re.search(r"i8x6 +3 x INT8, +6 products, bound +17 k at k = 1024: .*2\^-22", schemes)
    isas = {line.split()[0]: line for line in gen("list", "isas").stdout.splitlines()}
    assert "mma.sync  NVIDIA compute capability 8.0 or later" in isas["sm_80"] and "9.0 alone" in isas["sm_90a"]
    assert "RTX 30" in next(line for line in gen("list", "gpus").stdout.splitlines() if line.startswith("rtx3090"))
    assert gen("list", "nothing", check=False).returncode != 0


@pytest.mark.parametrize("gpu, number", [("rtx5090", "120"), ("gb10", "120"), ("b200", "100")])
def test_blackwell_is_compiled_for_itself_and_says_what_is_unverified(gpu, number, emitted):
    rules, table = ((emitted(gpu) / name).read_text() for name in ("rules.mk", "dispatch.c"))
    assert f"HT_FLAGS_sm{number} := -gencode arch=compute_80,code=[sm_{number},compute_80]" in rules
    assert f'"sm_{number}"' in table and f'"sm{number}_assumed"' in table
    said = "the rounding of this GPU's tensor cores is unverified: the bound takes sm_80's"
    schemes = re.findall(r'(?s)    \{"(\w+)",\n     "[^"]*",\n     "([^"]*)",', table.split("schemes_")[1])
    assert len(schemes) > 10
    assert all((said in bound) != name.startswith(("i8", "crt")) for name, bound in schemes), "integer sums have no rounding"
    kernel = next(emitted(gpu).glob("ht_f16x3_*.cu")).read_text()
    assert said in kernel and "__CUDA_ARCH__ < 800" in kernel and "mma.sync" in kernel and "wgmma" not in kernel and "tcgen05" not in kernel
    assert said not in (emitted("rtx4090") / "dispatch.c").read_text()


@pytest.mark.parametrize("isa, capability, cure", [
    ("sm_90a", "10.0", "write isa = sm_"), ("sm_90a", "12.0", "write isa = sm_"), ("sm_90a", "8.9", "write isa = sm_89"),
    ("sm_90a", None, "add 'compute_capability = 9.0"), ("sm_89", "8.6", "write isa = sm_86"), ("sm_80", "7", "is not like 8.6"),
    ("sm_90a", "9.0", None), ("sm_80", "9.0", None), ("sm_80", None, None)])
def test_code_that_cannot_run_on_the_gpu_is_refused(isa, capability, cure, tmp_path):
    """A row that ends in `a` runs on one compute capability alone: it is not "the next lower row" of a later GPU."""
    budget = tmp_path / "mine.gpu"
    text = re.sub(r"(?m)^(name|isa) = \w+", lambda m: f"name = mine" if m[1] == "name" else f"isa = {isa}", (ROOT / "gen/gpus/h200.gpu").read_text())
    budget.write_text(re.sub(r"(?m)^compute_capability = .*$", f"compute_capability = {capability}  # s" if capability else "#", text))
    for args in (["explain", "--gpu", budget], ["emit", "--gpu", budget, "--scheme", "half", "--lean", "--out", tmp_path / "out"]):
        run = gen(*args, check=False)
        if cure is None:
            assert run.returncode == 0, run.stderr
        else:
            assert run.returncode == 1 and not (tmp_path / "out").exists()
            assert len(run.stderr.splitlines()) == 1 and cure in run.stderr and str(budget) in run.stderr, run.stderr
    run = gen("explain", "--gpu", "h200", "--what-if", "compute_capability=12.0", check=False)
    assert run.returncode == 1 and "--what-if" in run.stderr and "write isa = sm_" in run.stderr


@pytest.mark.parametrize("gpu", ["a800", "t4", "h200", "mi210"])
def test_same_bytes_from_another_compiler_folder_and_locale(gpu, emitted, tmp_path):
    other = tmp_path / "else where"
    for name in ("gen", "templates", "runtime"):
        shutil.copytree(ROOT / name, other / name)
    binary = other / "bin" / "x" / "halftone-gen"
    binary.parent.mkdir(parents=True)
    compiler = "clang" if shutil.which("clang") else "gcc"
    subprocess.run([compiler, "-std=c11", "-O0", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-iquote", other / "gen",
                    *map(str, sorted((other / "gen").rglob("*.c"))), "-o", str(binary)], check=True)
    gen("emit", "--gpu", gpu, "--out", tmp_path / "set", root=other, binary=binary,
        env={"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
    assert folder_bytes(emitted(gpu)) == folder_bytes(tmp_path / "set")


@pytest.mark.parametrize("gpu", ["a800", "h200"])
def test_reasons_speak_of_the_kernel(gpu, emitted):
    """Small products of any form run kernels made for narrow ones: halftone_query may not call 96 x 96 x 64 a tall matrix or a vector."""
    reasons = re.findall(r'"(FFMA; [^"]*)"', (emitted(gpu) / "dispatch.c").read_text())
    assert len(reasons) >= 3 and not [r for r in reasons if re.search("matrix|vector|tall", r)], reasons


def test_a_missing_gpu_or_root_is_one_line(tmp_path):
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen/gpus").symlink_to(ROOT / "gen/gpus")
    for said, root, *words in (("--gpu is missing; known budgets: a100, a800, ", ROOT, "explain"),
                               ("holds none", tmp_path / "gen", "explain", "--gpu", "t4"),
                               ("runtime/ht_abi.h: cannot read this file; --root ", tmp_path, "emit", "--gpu", "t4", "--out", tmp_path / "o"),
                               ("runtime/ht_abi.h: cannot read this file; --root ", tmp_path, "vendor", "--gpu", "t4", "--out", tmp_path / "o")):
        run = gen(*words, root=root, check=False)
        assert run.returncode == 1 and said in run.stderr and run.stderr.count("\n") == 1 and not run.stdout, run.stderr
    assert not (tmp_path / "o").exists()


def test_bad_requests_say_the_cure_and_leave_nothing(tmp_path):
    run = gen("emit", "--gpu", "h2000", "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and "a800" in run.stderr and not (tmp_path / "x").exists()
    (tmp_path / "no").write_text("")
    run = gen("emit", "--gpu", "a800", "--out", tmp_path / "no" / "x", check=False)
    assert run.returncode == 1 and "no" in run.stderr and (tmp_path / "no").read_text() == ""
    (tmp_path / "no").unlink()
    run = gen("emit", "--gpu", "a800", "--scheme", "f16x3,f32x1", "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and "f32x1" in run.stderr and not list(tmp_path.iterdir())
    run = gen("explain", "--gpu", "a800", "--shape", "4096x4096", check=False)
    assert run.returncode == 1 and "MxNxK" in run.stderr
    run = gen("explain", "--gpu", "a800", "--shape", "2147483647x2147483647x2147483647", check=False)
    assert run.returncode == 1 and "too large" in run.stderr and not run.stdout
    run = subprocess.run(["make", "generate", "GPU=h2000"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0 and "a800" in run.stderr
    (page,) = re.findall(r"\S+\.md", run.stderr)  # that makes a budget
    assert (ROOT / page).is_file() and page in gen("explain", "--gpu", "h2000", check=False).stderr
    run = subprocess.run(["make", "generate"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0 and "a800" in run.stdout + run.stderr
    run = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0 and "make demo" in run.stdout
    assert all(kind in run.stdout.splitlines()[0] for kind in ("FP32", "FP64"))


def test_a_folder_that_cannot_be_written_stays_as_it_was(tmp_path):
    (tmp_path / "file").write_text("mine")
    run = gen("emit", "--gpu", "a800", "--out", tmp_path / "file", check=False)
    assert run.returncode == 1 and (tmp_path / "file").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_a_second_emit_touches_nothing_that_is_equal(tmp_path):
    gen("emit", "--gpu", "a800", "--out", tmp_path / "x")
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "x").iterdir()}
    gen("emit", "--gpu", "a800", "--out", tmp_path / "x")
    assert before == {p.name: p.stat().st_mtime_ns for p in (tmp_path / "x").iterdir()}
    gen("emit", "--gpu", "a800", "--scheme", "half", "--out", tmp_path / "x")
    assert not list((tmp_path / "x").glob("ht_f16x3*"))


def test_emit_takes_only_folders_of_its_own(tmp_path):
    """What somebody else wrote is neither overwritten nor removed, whatever its name."""
    mine = {"ht_mine_sm80.cu": b"mine", "dispatch.c": b"mine", "manifest": b"mine", "rules.mk": b"mine"}
    for at, names in enumerate(([*mine], ["ht_mine_sm80.cu"], ["manifest"], ["notes.txt"])):
        folder = tmp_path / str(at)
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(mine.get(name, b"mine"))
        before = folder_bytes(folder)
        run = gen("emit", "--gpu", "a800", "--scheme", "half", "--out", folder, check=False)
        assert run.returncode == 1 and len(run.stderr.splitlines()) == 1 and names[0] in run.stderr and folder_bytes(folder) == before
    folder = tmp_path / "set"
    folder.mkdir()
    gen("emit", "--gpu", "a800", "--scheme", "half,i8x3", "--out", folder) # empty
    (folder / "obj").mkdir() # make builds there
    (folder / "ht_mine_sm80.cu").write_bytes(b"mine")
    gen("emit", "--gpu", "a800", "--scheme", "half", "--out", folder)
    assert not list(folder.glob("ht_i8x3*")) and (folder / "ht_mine_sm80.cu").read_bytes() == b"mine"
    (folder / "dispatch.c").write_bytes(b"mine")
    run = gen("emit", "--gpu", "a800", "--scheme", "half", "--out", folder, check=False)
    assert run.returncode == 1 and "dispatch.c" in run.stderr and (folder / "dispatch.c").read_bytes() == b"mine"
    gen("vendor", "--gpu", "a800", "--scheme", "half", "--lean", "--out", tmp_path / "vendored")
    before = folder_bytes(tmp_path / "vendored")
    assert gen("emit", "--gpu", "a800", "--out", tmp_path / "vendored", check=False).returncode == 1
    assert folder_bytes(tmp_path / "vendored") == before


def test_help_of_each_verb():
    """A line and an example for each; its own options by VERB --help; every example works."""
    text = gen("--help").stdout
    for verb in ("list", "explain", "emit", "vendor", "verify"):
        assert re.search(rf"(?m)^  {verb} +\w.*\n +out/bin/halftone-gen {verb} ", text)
        run = subprocess.run([GEN, verb, "--help"], capture_output=True, text=True)
        assert run.returncode == 0 and f"out/bin/halftone-gen {verb} " in run.stdout and "--root DIR" in run.stdout
    for option in ("--gpu", "--out", "--tiles", "--tuned", "--promote", "--lean"):
        assert option in gen("emit", "--help").stdout
    assert "--html" not in gen("emit", "--help").stdout


@pytest.mark.parametrize("words", [["--help"], ["explain", "--help"], ["list", "gpus"], ["explain", "--gpu", "a800"], ["explain", "--gpu", "a800", "--tsv"]])
def test_what_could_not_be_printed_is_said(words):
    with open("/dev/full", "w") as full:
        run = subprocess.run([GEN, *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and run.stderr == "halftone-gen: writing to standard output failed; check where it goes\n"


@pytest.mark.parametrize("words, said", [
    (["vendor", "--gpu", ""], "--gpu"), (["emit", "--gpu", "a800", "--scheme", ""], "--scheme"), (["emit", "--gpu", "a800", "--tiles", ""], "--tiles"),
    (["emit", "--gpu", "a800", "--tuned", ""], "--tuned"), (["emit", "--gpu", "--lean"], "--gpu"),
    (["emit", "--gpu", "a800", "--promote", " 64"], "' 64'"), (["emit", "--gpu", "a800", "--promote", "+064"], "'+064'"),
    (["emit", "--gpu", "a800", "--promote", "064"], "'064'"), (["emit", "--gpu", "a800", "--tiles", "+128x128x32_w64x32_s4"], "+128"),
    (["emit", "--gpu", "a800", "--tiles", "128x128x32_w64x32_s4 "], "--tiles"), (["emit", "--gpu", "a800", "--prefix", "x_"], "--prefix is for vendor"),
    (["emit", "--gpu", "a800", "more"], "more"), (["emit", "--gpu", "a800\x1b[31m"], "control byte"), (["emit", "--gpu", "a'b.gpu"], "quote"),
    (["emit", "--gpu", "a800", "--tuned", 'a"b.tsv'], "quote"),
])
def test_empty_values_and_loose_numbers_are_errors(words, said, tmp_path):
    run = gen(*words, "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and said in run.stderr and len(run.stderr.splitlines()) == 1 and not list(tmp_path.iterdir()), run.stderr
    assert run.stderr.isprintable() or run.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize("name", ["...gpu", ".gpu", "-x.gpu", "a b.gpu", "budget.txt"])
def test_names_of_budget_files(name, tmp_path):
    (tmp_path / name).write_text((ROOT / "gen/gpus/a800.gpu").read_text())
    run = gen("emit", "--gpu", tmp_path / name, "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and "NAME.gpu" in run.stderr and len(run.stderr.splitlines()) == 1 and not (tmp_path / "x").exists()


def test_tiles_that_no_scheme_has(tmp_path):
    """One line, with the nearest in the spelling that the option takes; a tile is for the schemes that have it."""
    run = gen("emit", "--gpu", "a800", "--tiles", "64x128x32_wg64x64_s8_c2", "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and len(run.stderr.splitlines()) == 1 and not (tmp_path / "x").exists(), run.stderr
    near = re.search(r"64x128x32_wg64x64_s8_c2 is not .* near it are (\S+), (\S+), (\S+)$", run.stderr, re.M).groups()
    gen("emit", "--gpu", "a800", "--tiles", ",".join(near), "--out", tmp_path / "x")
    assert all(list((tmp_path / "x").glob(f"ht_*_{tile}_sm80.cu")) for tile in near)
    gen("emit", "--gpu", "h200", "--tiles", "64x128x32_wg64x64_s8_c2", "--out", tmp_path / "y")
    assert list((tmp_path / "y").glob("ht_f16x3_wgmma_64x128x32_wg64x64_s8_c2_sm90a.cu"))
    run = gen("emit", "--gpu", "t4", "--scheme", "f16x3", "--tiles", "256x256x32_w64x64_s2", "--out", tmp_path / "z", check=False)
    assert run.returncode == 1 and "does not fit t4" in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr


@pytest.mark.parametrize("scheme", ["f16x3", "bf16x6u", "crt14", "i8x28", "ozaki", "native64"])
def test_budgets_too_small_for_a_scheme(scheme, tmp_path):
    """`explain` says why nothing fits, to which the refusal of `emit` points; no set without a kernel is written."""
    budget = tmp_path / "small.gpu"
    budget.write_text(re.sub(r"(?m)^(smem_per_block_bytes\s*=\s*)\d+", r"\g<1>1025", (ROOT / "gen/gpus/a800.gpu").read_text()))
    run = gen("explain", "--gpu", budget, "--scheme", scheme)
    assert "Pick: none." in run.stdout and not run.stderr, run.stderr
    run = gen("emit", "--gpu", budget, "--scheme", scheme, "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and "no tile of scheme " + scheme in run.stderr and len(run.stderr.splitlines()) == 1 and not (tmp_path / "x").exists()


def test_explain_of_several_gpus():
    both = gen("explain", "--gpu", "a800,t4", "--scheme", "f16x3").stdout
    assert both == gen("explain", "--gpu", "a800", "--scheme", "f16x3").stdout + "\n" + gen("explain", "--gpu", "t4", "--scheme", "f16x3").stdout
    for option in (["--tsv"], ["--html", "x.html"], ["--compare", "h200"], ["--what-if", "sms=60"]):
        run = gen("explain", "--gpu", "a800,t4", *option, check=False)
        assert run.returncode == 1 and "one GPU" in run.stderr and not run.stdout


HEAD = "# halftone tune 0.1.0, set a800 (sm_80)\nm\tn\tk\tkernel\tvariant\tsplits\tpick\tmeasured_us\n"


def tuned_kernels(emitted):
    rows = [line.split("\t")[:3] for line in (emitted("a800") / "manifest").read_text().splitlines()[2:]]
    return {kind: next(n for n, s, v in rows if s == scheme and v == kind) for kind, scheme in
            (("-", "i8x6"), ("fallback", "bf16x6u"), ("nopipeline", "legemm"), ("nointerleave", "egemm"))}


@pytest.mark.parametrize("kind, k, splits, said", [
    ("-", 64, 100, "at most"), ("-", 400000, 1, "exact up to"), ("-", 4096, 129, "at most"), ("fallback", 4096, 1, "'fallback'"),
    ("nopipeline", 4096, 1, "'nopipeline'"), ("nointerleave", 4096, 1, "'nointerleave'"), ("-", " 64", 1, "positive"), ("-", "+64", 1, "positive")])
def test_a_tuned_table_is_not_believed(kind, k, splits, said, emitted, tmp_path):
    """What the library would never choose: too many parts of k, too few for exact sums, ablations, the fallback."""
    name = tuned_kernels(emitted)[kind]
    table = tmp_path / "t.tsv"
    table.write_text(HEAD + f"128\t128\t4096\t{tuned_kernels(emitted)['-']}\t-\t2\t1\t10\n" + f"128\t128\t{k}\t{name}\t-\t{splits}\t1\t10\n")
    run = gen("emit", "--gpu", "a800", "--tuned", table, "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and run.stderr.startswith(f"{table}:4: ") and said in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr
    assert not (tmp_path / "x").exists()
    table.write_text("".join(table.read_text().splitlines(True)[:3]))
    gen("emit", "--gpu", "a800", "--tuned", table, "--out", tmp_path / "x")
    assert "Recreate: out/bin/halftone-gen emit --gpu a800 --out DIR --tuned t.tsv" in (tmp_path / "x/dispatch.c").read_text()


def test_all_schemes_are_those_on_request_too(tmp_path):
    """Named by nobody they are not in a set; `all` leaves out what the GPU has no kernels for."""
    names = {}
    for which in ([], ["--scheme", "all"]):
        gen("emit", "--gpu", "t4", *which, "--out", tmp_path / "set")
        names[len(which)] = {p.name for p in (tmp_path / "set").glob("ht_*")}
    assert names[0] < names[2] and {name.split("_")[1] for name in names[2] - names[0] if "pack" not in name} > {"mixpert1", "mixpert4"}
    assert not any("bf16x9" in name for name in names[2])


@pytest.mark.parametrize("model", ["halftone", "egemm", "legemm"])
@pytest.mark.parametrize("gpu", [*NVIDIA, *AMD])
def test_explain_has_one_pick(gpu, model):
    for scheme in SCHEMES:
        refused = gen("explain", "--gpu", gpu, "--scheme", scheme, "--tsv", check=False).stderr
        if f"scheme {scheme}: there are no" in refused:
            assert (gpu in AMD or gpu in ("t4", "titanrtx", "rtx6000")) and scheme[:4] in ("tf32", "bf16"), (gpu, scheme)
            continue
        rows = explain_rows("--gpu", gpu, "--scheme", scheme, "--model", model)
        verdicts = [r["verdict"] for r in rows]
        assert set(verdicts) <= {"pick", "fit", "reject"} and len(rows) > {"bf16x6u": 20, "native64": 5}.get(scheme, 1 if scheme.startswith(("crt", "ozaki")) else 0 if scheme == "i8x28" else 50)
        fits = {"egemm": scheme == "egemm" and gpu not in ("h100", "h200", *AMD), "legemm": scheme in FP16,
                "halftone": True}[model]
        if not fits and "pick" not in verdicts:
            # eq. 8 was written for one scheme on Turing, LE-GEMM's equations for FP16, and not every GPU has a unit for
            # every slice type: elsewhere nothing may be accepted, and explain says so
            assert set(verdicts) == {"reject"}, (gpu, scheme)
        assert not fits or verdicts.count("pick") == 1, (gpu, scheme, model)
        for r in rows:
            assert (r["verdict"] == "reject") == bool(r["reason"].strip("- ")), r
        assert gen("explain", "--gpu", gpu, "--scheme", scheme, "--model", model).stdout


def test_papers_picks():
    pick = next(r for r in explain_rows("--gpu", "t4", "--scheme", "egemm", "--model", "egemm") if r["verdict"] == "pick")
    assert [pick[c] for c in "bm bn bk wm wn wk threads".split()] == ["128", "128", "32", "64", "32", "8", "256"]
    for gpu, tile in (("a800", ("128", "256", "32")), ("mi210", ("128", "128", "32"))):
        rows = explain_rows("--gpu", gpu, "--scheme", "legemm", "--model", "legemm")
        assert any((r["bm"], r["bn"], r["bk"]) == tile and r["verdict"] != "reject" for r in rows), gpu
        assert "rank" in gen("explain", "--gpu", gpu, "--scheme", "legemm", "--model", "legemm").stdout


def test_where_fp64_is_cut_down_multiply_adds_are_planned(tmp_path):
    """An H800 or H20 beside an H200: the same instruction set, DMMA at a sixtieth of the rate."""
    text = (ROOT / "gen/gpus/h200.gpu").read_text()
    text, count = re.subn(r"(?m)^(fp64_fma_per_cycle\s*=\s*)128", r"\g<1>2", re.sub(r"(?m)^name\s*=\s*h200", "name = h2x", text))
    assert count == 1
    (tmp_path / "h2x.gpu").write_text(text)
    for gpu, fp64 in (("h200", True), (tmp_path / "h2x.gpu", False)):
        folder = tmp_path / f"fp64-{fp64}"
        gen("emit", "--gpu", gpu, "--scheme", "bf16x6u", "--out", folder)
        kernels = [p.read_text() for p in folder.glob("ht_*.cu")]
        assert any("ht_mma_f64_1688(sum" in k for k in kernels) == fp64
        assert any("FFMA; small K, or few columns" in k for k in kernels) != fp64


def test_tiles_of_warpgroups_can_be_asked_for(tmp_path):
    """64x32x32_w16x32 is warpgroups' on sm_90a, and mma.sync's where there are none; the name says which."""
    for gpu, ours in (("h200", True), ("a800", False)):
        gen("emit", "--gpu", gpu, "--scheme", "bf16x6u", "--tiles", "64x32x32_w16x32_s2", "--out", tmp_path / gpu)
        text = next((tmp_path / gpu).glob("ht_bf16x6u_*_64x32x32_w16x32_s2_*.cu")).read_text()
        assert ("ht_wgmma_rows" in text) == ours and ("ht_mma_bf16_16816(" in text) != ours


@pytest.mark.parametrize("verb", ["emit", "vendor"])
def test_a_set_whose_auto_checks_no_data_is_named(tmp_path, verb):
    """One line, for f16x3 without the kernels of bf16x6u; LEAN=1 keeps the one that computes what fails the check."""
    line = "no scheme bf16x6u: auto checks no data"
    for gpu, schemes, said in (("a800", "f16x3,i8x6", 1), ("a800,h200", "f16x3", 2), ("a800", "f16x3,bf16x6u", 0), ("mi210", "f16x3,bf16x6u", 0), ("t4", "half", 0)):
        out = gen(verb, "--gpu", gpu, "--scheme", schemes, "--lean", "--out", tmp_path / f"{gpu}-{schemes}").stdout
        assert out.count(line) == said, out
    if verb == "emit":
        assert list((tmp_path / "mi210-f16x3,bf16x6u").glob("ht_*_fallback_*"))


def drop_first_products(source):
    """The scheme table with every list of several products one shorter; the names of its rows."""
    names, name = set(), None
    def shorter(m):
        names.add(name)
        return f".products = {int(m[1]) - 1},{m[2]}.product = {{"
    lines = re.split(r'(?=\.name = ")', source)
    for i, row in enumerate(lines):
        found = re.match(r'\.name = "(\w+)"', row)
        name = found and found[1]
        lines[i] = re.sub(r"\.products = (\d+),(\s+)\.product =\s+\{\{\d, \d, \d\}, (?=\{)", shorter, row) if found else row
    return "".join(lines), names


def test_a_row_decides_the_products_of_all_kernels(tmp_path):
    """Of a row whose list lacks its first product every kernel that multiplies slices has one product less, the unpacked ones as well."""
    root, binary = copy_of_repository(tmp_path / "copy"), tmp_path / "gen"
    source, changed = drop_first_products((root / "gen/facts/scheme.c").read_text())
    assert changed >= {"ootomo", "f16x3", "bf16x3", "bf16x6", "bf16x6u"}
    (root / "gen/facts/scheme.c").write_text(source)
    build_generator(root, binary)
    formed = re.compile(r"(?m)^ +ht_(?:mma|mma_outside|wgmma)\(.*\d.*;|PRODUCTS = \d+")
    for gpu in ("a800", "h200"):
        sides = []
        for name, args in (("old", {}), ("new", {"root": root, "binary": binary})):
            (tmp_path / gpu).mkdir(exist_ok=True)
            gen("emit", "--gpu", gpu, "--scheme", ",".join(sorted(changed)), "--out", tmp_path / gpu / name, **args)
            sides.append({p.name: formed.findall(p.read_text()) for p in (tmp_path / gpu / name).glob("ht_*.cu")})
        kernels = [n for n in sides[0].keys() & sides[1].keys() if sides[0][n]]
        assert {s for s in changed for n in kernels if n.startswith(f"ht_{s}_")} == changed
        assert all(sides[0][n] != sides[1][n] for n in kernels)
        unpacked = {n: [len(side[n]) for side in sides] for n in kernels if "PRODUCTS = 6" in sides[0][n]}
        assert len(unpacked) == (5 if gpu == "a800" else 3) and all("PRODUCTS = 5" in sides[1][n] for n in unpacked)
        assert gpu == "h200" or all((old - 1) * 5 == (new - 1) * 6 for old, new in unpacked.values()), unpacked


def test_columns_that_no_family_serves_are_one_line(tmp_path):
    """Fictional rows: egemm for FP64, with a combining kernel. list, emit, explain and its page pass them over or say why."""
    root, binary = copy_of_repository(tmp_path / "copy"), tmp_path / "gen"
    source = (root / "gen/facts/scheme.c").read_text()
    row = re.search(r'(?ms)^    \{\.name = "egemm",.*?"\},\n', source).group(0)
    rows = {"wide": ("F16_PAIR,", "BY(SLICES), .in = NUMBER_F64, .out = NUMBER_F64, .unit_exponent = -53, .slice = SLICE_F16, .slices = 2, .atom_slices = 2,", "makes FP64 of FP64"),
            "apart": ("F16_PAIR,", "BY(OZAKI), OF_FP32, .slice = SLICE_F16, .slices = 2, .atom_slices = 2,", "makes FP32 of FP32, combined by a kernel")}
    added = "".join(row.replace('"egemm"', f'"{name}"').replace(old, new) for name, (old, new, _) in rows.items())
    (root / "gen/facts/scheme.c").write_text(source.replace(row, row + added))
    build_generator(root, binary)
    fiction = {"root": root, "binary": binary}
    listed = gen("list", "schemes", **fiction).stdout
    assert [line.split()[0] for line in listed.splitlines() if "no kernels:" in line] == list(rows)
    for name, (_, _, said) in rows.items():
        for verb in (["emit", "--out", tmp_path / name], ["explain"]):
            run = gen(*verb, "--gpu", "a800", "--scheme", name, check=False, **fiction)
            assert run.returncode == 1 and run.stderr.startswith(f"a800: scheme {name}: no kernel family {said}; this GPU has: half, ")
            assert run.stderr.count("\n") == 1 and not run.stdout and not (tmp_path / name).exists()
    left_out = gen("emit", "--gpu", "a800", "--lean", "--out", tmp_path / "all", **fiction).stdout
    assert all(f"scheme {name} is left out: no kernel family {said}\n" in left_out for name, (_, _, said) in rows.items())
    gen("explain", "--gpu", "a800", "--html", tmp_path / "page.html", **{**fiction, "root": ROOT})
    assert "apart" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("gpu", ["h200", "mi210"])
def test_a_cover_has_a_tile_of_every_kind(gpu, tmp_path):
    """Of each scheme, family and variant, with and without a second stage or block; none twice as large as another of its kind."""
    def kinds(folder):
        rows = [line.split("\t") for line in (folder / "manifest").read_text().splitlines()[2:]]
        family = [re.sub(r"_\d.*", "", row[0]) for row in rows]
        return [((f, row[1], row[2], row[8] == "1", row[17] != "1"), int(row[3]) * int(row[4])) for f, row in zip(family, rows)]
    for name, options in (("whole", []), ("cover", ["--cover"])):
        gen("emit", "--gpu", gpu, "--scheme", "f16x3,bf16x6u,native64,crt15", *options, "--out", tmp_path / name)
    whole, cover = kinds(tmp_path / "whole"), kinds(tmp_path / "cover")
    assert {kind for kind, _ in cover} == {kind for kind, _ in whole} and len(cover) < len(whole) * 3 / 4
    assert all(min(size for k, size in whole if k == kind) == min(size for k, size in cover if k == kind) for kind, _ in whole)
