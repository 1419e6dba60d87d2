"""`halftone contract` and `report --html` of the simulator's build, and the sets of the promotion study: what they say is what
other commands say, and what breaks the contract fails."""
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, gen, rows, store
from test_page import Page

COMMAND = ROOT / "out/a800/halftone-sim"


def halftone(*args):
    return subprocess.run([str(COMMAND), *map(str, args)], capture_output=True, text=True)


@pytest.mark.whole
def test_what_keeps_the_contract_passes_and_what_does_not_fails(tmp_path):
    """i8x10 rounds exact sums once: better than native on uniform data. half is a thousand times worse."""
    sizes = ("--families", "uniform,integers", "--n", "64,65", "--k", "64", "--out", tmp_path / "c.tsv")
    good = halftone("contract", "--scheme", "i8x10", *sizes)
    assert good.returncode == 0 and "0 of 4 trials break" in good.stdout, good.stdout + good.stderr
    table = rows(tmp_path / "c.tsv")
    assert [(r["family"], r["n"], r["verdict"]) for r in table] == [
        ("uniform", "64", "kept"), ("uniform", "65", "kept"), ("integers", "64", "kept"), ("integers", "65", "kept")]
    bad = halftone("contract", "--scheme", "half", *sizes)
    assert bad.returncode == 1 and "2 of 4 trials break the contract: uniform 2" in bad.stdout, bad.stdout
    assert [r["verdict"] for r in rows(tmp_path / "c.tsv")] == ["rel_frobenius grade", "rel_frobenius grade", "kept", "kept"]


def test_a_refusal_is_told_in_full(tmp_path):
    """The command's user has no halftone_last_detail to look into: what it says is printed, once, and no advice for programs."""
    for name, rows, cols in ("a.npy", 64, 2048), ("b.npy", 2048, 64):
        store(tmp_path / name, [[0.0] * cols] * rows)
    run = halftone("mm", tmp_path / "a.npy", tmp_path / "b.npy", "-o", tmp_path / "c.npy", "--accuracy", "bits=23")
    assert run.returncode == 1 and "no scheme of this library has that accuracy (bits=23 is at most 2 units" in run.stderr
    assert "halftone_" not in run.stderr and len(run.stderr.splitlines()) == 1


def test_every_command_of_families_takes_all_of_them(tmp_path):
    listed = [line.split()[0] for line in halftone("report", "--list").stdout.splitlines()]
    run = halftone("contract", "--families", "all", "--n", 2, "--k", 1, "--out", tmp_path / "c.tsv")
    assert "unknown family" not in run.stderr and [r["family"] for r in rows(tmp_path / "c.tsv")] == listed
    run = halftone("report", "--families", "all", "--sizes", 2, "--schemes", "f16x3", "--out", tmp_path)
    assert run.returncode == 0 and {r["family"] for r in rows(tmp_path / "report.tsv")} == set(listed), run.stderr


INVARIANT = [("--k", 300), ("--accuracy", "reproducible", "--k", 300, "--family", "lognormal"), ("--fp64", "--k", 300),
             pytest.param(("--accuracy", "fp64-exact", "--k", 300), marks=pytest.mark.whole)] # its 20 moduli are not in the tests' set


@pytest.mark.parametrize("of", INVARIANT, ids=lambda of: " ".join(map(str, of)))
def test_bits_do_not_depend_on_what_is_around(of, tmp_path):
    """What promises it; other schemes round in an order of their own, so the command sees what changes."""
    run = halftone("invariance", *of, "--out", tmp_path / "t.tsv")
    table = rows(tmp_path / "t.tsv")
    assert run.returncode == 0 and {r["differing"] for r in table} == {"0"} and len(table) >= 9 and "No element changed" in run.stdout, run.stdout + run.stderr
    assert all(int(r["elements"]) > 0 for r in table if r["changed"] != "less workspace") and {r["native_differing"] for r in table} == {"n/a"}


@pytest.mark.parametrize("of", [("--scheme", "bf16x6u"), ("--accuracy", "fp64")])
def test_bits_that_do_depend_are_counted(of):
    run = halftone("invariance", *of, "--k", 200)
    found = {line[:32].strip(): line.split()[-2] for line in run.stdout.splitlines() if line.endswith("n/a")}
    assert run.returncode == 0 and int(found["order of k"]) > 0 and found["other rows replaced"] == "0" and "nothing else was promised" in run.stdout, run.stdout


def test_products_of_many_shapes_are_counted(tmp_path):
    run = halftone("invariance", "--count", 90, "--cases", 2, "--m", 40, "--k", 300, "--out", tmp_path / "t.tsv")
    table = {r["changed"]: (int(r["products"]), r["differing"]) for r in rows(tmp_path / "t.tsv")}
    assert run.returncode == 0 and sum(n for n, _ in table.values()) >= 90 and {d for _, d in table.values()} == {"0"}, run.stdout + run.stderr
    assert table["k over ranks"][0] >= 8 and "family all, up to 40 x 30 x 300" in run.stdout
    assert halftone("invariance", "--count", 9, "--family", "none").returncode == 2


def test_parts_of_a_call_are_timed_one_by_one():
    """Checked rows for f16x3 alone, whole calls and their halves for every scheme that packs; nothing is printed of one that there is not."""
    plain = ["packing", "product", "packing, product", "packing, product: 32 and 32", "packing within such calls", "product within such calls"]
    for args, count in (["--scheme", "i8x6"], 6), (["--plain"], 6), ([], 12):
        run = halftone("breakdown", "--sizes", "64,300", *args)
        table = [line.split("\t") for line in run.stdout.splitlines() if not line.startswith(("#", "n\t"))]
        assert run.returncode == 0 and len(table) == 2 * count and all(float(t) > 0 for r in table for t in r[2:5]), run.stdout + run.stderr
        assert set(plain) <= {r[1] for r in table if r[0] == "300"}
    in_order = [line.split("\t")[0] for line in halftone("info", "--tsv").stdout.splitlines()]
    for scheme in "nope", "bf16x6u":
        run = halftone("breakdown", "--sizes", "64", "--scheme", scheme)
        assert run.returncode != 0 and run.stdout == "" and f"no scheme '{scheme}' that packs; it has " in run.stderr
        listed = run.stderr.split("; it has ")[1].strip().split(", ")
        assert "f16x3" in listed and "bf16x6u" not in listed and len(run.stderr.splitlines()) == 1
        assert listed == [name for name in in_order if name in listed][:len(listed)]


def with_launches_of(ns, folder):
    """The h200 set's command, whose model has launches of so many ns."""
    objects = [ROOT / "out/obj" / source.relative_to(ROOT).with_suffix(".o") for source in (ROOT / "bench/halftone").glob("*/*.c")]
    objects += [ROOT / f"out/obj/bench/halftone/{name}-sim.o" for name in ("profile/profile_kernels", "apps/app_kernels")]
    table, count = re.subn(r"(\n    \d+, \d+, \d+, )3000, ", rf"\g<1>{ns}, ", (ROOT / "out/h200/dispatch.c").read_text())
    assert count > 0
    (folder / "dispatch.c").write_text(table)
    subprocess.run(["gcc", "-c", f"-I{ROOT / 'runtime'}", "-o", folder / "dispatch.o", folder / "dispatch.c"], check=True)
    subprocess.run(["g++", "-o", folder / "halftone-sim", folder / "dispatch.o", *objects, ROOT / "out/h200/libhalftone-sim.a",
                    "-ldl", "-lpthread", "-lm"], check=True)
    return folder / "halftone-sim"


def test_the_line_of_auto_has_the_launches_of_auto(tmp_path):
    """Who computes what fails: the product itself, or launches behind it, which are few beside the call where they are short."""
    for command, names in ((ROOT / "out/h200/halftone-sim", ["fallback inside"]),
                           (with_launches_of(1, tmp_path), ["fallback", "blocks with many, fallback"])):
        run = subprocess.run([command, "breakdown", "--sizes", "192", "--family", "dscaled"], capture_output=True, text=True, check=True)
        table = [line.split("\t")[1] for line in run.stdout.splitlines() if line.startswith("192\t")]
        tests = "product that tests, "
        assert [t for t in table if t.startswith(tests)] == [tests + name for name in names]
        assert [t for t in table if "auto" in t] == [f"packing that adds up, {tests}{names[-1]}: auto"]
        assert len(table) == 10 + 2 * len(names)


def test_contract_and_report_measure_the_same(tmp_path):
    halftone("contract", "--scheme", "egemm", "--families", "normal,inf", "--n", "64", "--k", "64", "--out", tmp_path / "c.tsv")
    halftone("report", "--schemes", "egemm", "--families", "normal,inf", "--sizes", "64", "--out", tmp_path)
    ours, special = rows(tmp_path / "c.tsv")
    native, egemm = [r for r in rows(tmp_path / "report.tsv") if r["family"] == "normal"]
    assert (ours["rel_frobenius"], ours["grade"]) == (egemm["rel_frobenius"], egemm["grade"])
    assert (ours["native_rel_frobenius"], ours["native_grade"]) == (native["rel_frobenius"], native["grade"])
    lost = [r["wrong_class"] for r in rows(tmp_path / "report.tsv") if r["family"] == "inf"]
    assert lost[0] == "0" and special["places"] == lost[1] and "places" in special["verdict"]


@pytest.mark.whole
def test_special_values_are_compared_at_every_place(tmp_path):
    """Digits have no Inf: i8x10 gives NaN in the row or column of one, and the largest numbers overflow as native does or
    not at all."""
    run = halftone("contract", "--special", "--scheme", "i8x10", "--cases", 54, "--out", tmp_path / "s.tsv")
    table = rows(tmp_path / "s.tsv")
    assert run.returncode == 1 and len({(r["m"], r["n"], r["k"]) for r in table}) == 3
    whole = next(r for r in table if (r["m"], r["alpha"], r["beta"], r["where"], r["path"]) == ("3", "1", "0", "A", "batch"))
    # each of 9 places, +Inf and -Inf: a row of three results is NaN where native has an infinity
    assert (whole["cases"], whole["differences"]) == ("54", "54")
    assert all(r["differences"] == "0" for r in table if r["alpha"] == "0"), "alpha 0 reads neither A nor B"
    assert all(r["differences"] == "0" for r in table if r["where"] == "C"), "C is native's, and not read where beta is 0"


def test_overflows_of_finite_numbers_are_told_from_nan_and_inf(tmp_path):
    """FP16 has no number as large as FP32's largest: `half` makes Inf of what times 0.5 is finite. The CPU's loop never overflows on
    its way in this data, cuBLAS does (bench/results/h200-contract.tsv)."""
    run = halftone("contract", "--special", "--scheme", "half", "--cases", 54, "--out", tmp_path / "s.tsv")
    table = rows(tmp_path / "s.tsv")
    assert run.returncode == 1 and sum(int(r["overflows"]) for r in table if "A" in r["where"]) > 50
    assert all(r["native_overflows"] == "0" for r in table)
    assert all(r["overflows"] == "0" for r in table if r["where"] == "C" or r["alpha"] == "0")
    run = halftone("contract", "--special", "--cases", 18, "--out", tmp_path / "s.tsv")
    assert run.returncode == 0 and "0 results of another class than native, of finite numbers 0 neither" in run.stdout, run.stdout


def test_report_page_marks_what_is_outside(tmp_path):
    run = halftone("report", "--sizes", "64", "--families", "uniform,tiny,phi4,inf", "--out", tmp_path, "--html", tmp_path / "p.html")
    assert run.returncode == 0, run.stderr
    text = (tmp_path / "p.html").read_text()
    page = Page(text)
    assert page.outside == [] and text.count("<svg") == 3
    drawn = subprocess.run([sys.executable, ROOT / "bench/pages.py", "report"], stdin=open(tmp_path / "report.tsv"), capture_output=True, check=True).stdout
    assert drawn.decode() == text
    assert "A near 1e-30, B uniform[-1,1]" in text and "there is no cuBLAS here" in text and "elements with magnitude in [2^-14, 65504]" in text
    table = rows(tmp_path / "report.tsv")
    methods = list(dict.fromkeys(r["method"] for r in table))
    assert methods[:2] == ["cpu-fp32", "auto"]
    outside = [r for r in table if r["wrong_class"] != "0" or (r["bound"] != "n/a" and float(r["grade"]) > float(r["bound"]))]
    within = [r for r in table if r not in outside and r["bound"] != "n/a"]
    assert outside and text.count("#f6cf9c") + text.count("#e9a3a0") == len(outside) and text.count("#d8ebda") == len(within)
    listed = {r[0]: r[1:] for r in page.rows if r and r[0] in ("uniform", "tiny", "phi4")}
    ours = next(r for r in table if (r["family"], r["method"]) == ("uniform", "auto"))
    assert float(listed["uniform"][0]) == float(ours["rel_frobenius"]) and float(listed["uniform"][3]) == pytest.approx(float(ours["grade"]), rel=6e-3)


def bound_at(folder, scheme):
    """The numbers of a scheme's row in dispatch.c; promote_k is the last but one."""
    row = re.search(rf'\{{"{scheme}",\s*"[^"]*",\s*"[^"]*",\s*([-0-9, ]+),', (folder / "dispatch.c").read_text())
    return [int(v) for v in row.group(1).split(",")]


def test_a_study_set_says_what_it_is(tmp_path):
    usual, other = tmp_path / "usual", tmp_path / "other"
    gen("emit", "--gpu", "a800", "--scheme", "f16x3,bf16x6", "--lean", "--out", usual)
    gen("emit", "--gpu", "a800", "--scheme", "f16x3,bf16x6", "--lean", "--promote", "256", "--out", other)
    sources = [p for p in other.glob("ht_f16x3*.cu")]
    assert sources and all("_p256_sm80" in p.name for p in sources)
    for p in sources:
        text = p.read_text()
        assert "not as the table of instruction sets has it: promotion interval in k: 256" in text
        assert "--promote 256" in text and "every 256 k: the chain is closed" in text
    assert not any("_p64_" in p.name or "For an ablation" in p.read_text() for p in usual.glob("*.cu"))
    assert "\nHT_FLAGS_sm80 := -gencode" in "\n" + (other / "rules.mk").read_text(), "by the last word of a kernel's name"
    before, after = bound_at(usual, "f16x3"), bound_at(other, "f16x3")
    assert before[:-2] == after[:-2] and before[-2] != 256 == after[-2]


@pytest.mark.parametrize("options,what", [
    (("--gpu", "a800", "--scheme", "bf16x6", "--promote", "32"), "can promote every multiple of 64 k"),
    (("--gpu", "a800", "--scheme", "f16x3", "--promote", "96"), "can promote every multiple of 64 k"),
    (("--gpu", "a800", "--scheme", "egemm", "--promote", "64"), "no promotion interval to change"),
    (("--gpu", "a800", "--scheme", "f16x3", "--promote", "8"), "neither a number of k from 16"),
    (("--gpu", "mi210", "--scheme", "f16x3", "--promote", "64"), "it is for NVIDIA")])
def test_intervals_that_cannot_be_are_refused(options, what, tmp_path):
    run = gen("emit", *options, "--out", tmp_path / "x", check=False)
    assert run.returncode == 1 and what in run.stderr and not (tmp_path / "x").exists()
    assert run.stderr.count("\n") == 1


def test_a_warpgroups_long_chain_is_kept_between_chunks(tmp_path):
    """Text only; numbers: bench/results/sim-promotion.tsv was made with these kernels in the simulator."""
    gen("emit", "--gpu", "h200", "--scheme", "f16x3", "--promote", "256", "--tiles", "128x128x32_wg128x64_s6", "--out", tmp_path / "x")
    text = (tmp_path / "x/ht_f16x3_wgmma_128x128x32_wg128x64_s6_p256_sm90a.cu").read_text()
    assert text.count("chain > 0);") == 1 and "if (++chain == 4 || chunk + 1 == w.chunks) {" in text


def interval_of_the_rule(table, scheme):
    """bench/decisions/005: the largest with which rel_frobenius on both families is at most 3/4 of native FP32's at
    every k >= 1000, or the smallest that was measured."""
    native = {(r["family"], r["k"]): float(r["rel_frobenius"]) for r in table if r["interval"] == "-"}
    kept = {}
    for r in table:
        if r["method"] == scheme and int(r["k"]) >= 1000:
            interval = 0 if r["interval"] == "none" else int(r["interval"])
            kept[interval] = kept.get(interval, True) and float(r["rel_frobenius"]) <= 0.75 * native[r["family"], r["k"]]
    assert kept and len(native) >= 4
    if kept[0]:
        return 0
    return max((i for i in kept if kept[i]), default=min(i for i in kept if i > 0))


def simulated(gpu, folder):
    """Rows of one set: the file has a table for each."""
    tables = re.split(r"(?m)^(?=# halftone: )", (ROOT / "bench/results/sim-promotion.tsv").read_text())
    (folder / "table.tsv").write_text(next(t for t in tables if f", set {gpu} " in t))
    return rows(folder / "table.tsv")


@pytest.mark.parametrize("gpu", ["a800", "t4", "h200"])
def test_the_interval_is_what_the_rule_takes_from_the_measurement(gpu, tmp_path):
    table = simulated(gpu, tmp_path)
    schemes = sorted({r["method"] for r in table if r["interval"] != "-"})
    gen("emit", "--gpu", gpu, "--scheme", ",".join(schemes), "--lean", "--out", tmp_path / "x")
    assert {s: bound_at(tmp_path / "x", s)[-2] for s in schemes} == {s: interval_of_the_rule(table, s) for s in schemes}


def test_the_simulator_has_the_gpus_errors(tmp_path):
    """The tables that the intervals come from, held against the H200 wherever both measured (other sizes, other data)."""
    def errors(table):
        return {(r["method"], r["interval"], r["family"], r["k"]): float(r["rel_frobenius"]) for r in table if r["interval"] != "-"}
    predicted, measured = errors(simulated("h200", tmp_path)), errors(rows(ROOT / "bench/results/h200-promotion.tsv"))
    both = predicted.keys() & measured.keys()
    assert len(both) > 100
    assert all(0.95 < measured[key] / predicted[key] < 1.05 for key in both)


def test_a_library_without_bf16x6u_refuses_fp32_and_calls_auto_unchecked(tmp_path):
    budget, built = tmp_path / "unchecked.gpu", ROOT / "out/unchecked"
    budget.write_text(re.sub(r"(?m)^name\s*=\s*t4", "name = unchecked", (ROOT / "gen/gpus/t4.gpu").read_text()))
    store(tmp_path / "a.npy", [[1.0] * 9] * 5)
    mm = [built / "halftone-sim", "mm", tmp_path / "a.npy", tmp_path / "a.npy", "--tb", "-o", tmp_path / "c.npy"]
    try:
        for goal in "generate", "build-sim":
            made = subprocess.run(["make", goal, f"GPU={budget}", "SCHEMES=f16x3", "LEAN=1"], cwd=ROOT, capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
            assert goal == "build-sim" or "no scheme bf16x6u: auto checks no data" in made.stdout, made.stdout
        asked = subprocess.run([*mm, "--accuracy", "fp32"], capture_output=True, text=True)
        assert asked.returncode != 0 and "fp32 needs scheme bf16x6u, which this library lacks" in asked.stderr and " k " not in asked.stderr
        assert asked.stdout == "" and not (tmp_path / "c.npy").exists()
        default = subprocess.run(mm, capture_output=True, text=True)
        assert default.returncode == 0 and "\nauto, unchecked: " in default.stdout, default.stdout + default.stderr
        info = subprocess.run([built / "halftone-sim", "info"], capture_output=True, text=True).stdout
        assert "Default scheme: auto, unchecked: " in info and re.search(r"(?m)^fp32 +none +none +none +0$", info), info
    finally:
        shutil.rmtree(built, ignore_errors=True)
    whole = subprocess.run([COMMAND, *mm[1:], "--accuracy", "fp32"], capture_output=True, text=True).stdout
    assert "\nfp32 by auto: bf16x6u, which takes every input" in whole
    assert "scheme bf16x6u, " in subprocess.run([COMMAND, *mm[1:], "--scheme", "bf16x6u"], capture_output=True, text=True).stdout
