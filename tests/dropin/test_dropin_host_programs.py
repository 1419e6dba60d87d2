"""Programs of Debian and of the package index, unchanged, under the BLAS face with the simulator behind it: their own checks pass, what they print
is as without it, and their products were served. A program that is not installed is skipped: none is needed by anything else."""
import collections
import pathlib
import shutil

import pytest
from conftest import ROOT, numpy_python, python_with, rows
from dropin_programs import SET, build_face, replaced, run
from test_dropin_blas import face # noqa: F401 (a fixture)

LACKS_FP64 = "native64" not in (SET / "manifest").read_text() if (SET / "manifest").is_file() else True


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program} is installed")


def both(face, folder, *command):
    """Output and errors without the face, and under it, and calls served by name."""
    log = folder / "log"
    plain, under = run(*command), run(*command, face=face, HALFTONE="record", HALFTONE_LOG=str(log))
    return plain, under, collections.Counter(row["api"] for row in rows(log) if row["served"] == "1")



R = """set.seed(1)
a <- matrix(sample(-7:7, 65 * 70, TRUE), 65); b <- matrix(sample(-7:7, 70 * 33, TRUE), 70)
loop <- function(a, b) { c <- matrix(0, nrow(a), ncol(b)); for (i in 1:nrow(a)) for (j in 1:ncol(b)) c[i, j] <- sum(a[i, ] * b[, j]); c }
stopifnot(identical(a %*% b, loop(a, b)), identical(crossprod(a), loop(t(a), a)), identical(tcrossprod(a, t(b)), loop(a, b)))
m <- crossprod(matrix(rnorm(80 * 60), 80)); r <- chol(m); stopifnot(max(abs(t(r) %*% r - m)) < 1e-12 * max(m))
stopifnot(max(abs(m %*% solve(m, diag(60)) - diag(60))) < 1e-9)
cat("done\\n")
"""
OCTAVE = """a = floor(15 * rand(65, 70)) - 7; b = floor(15 * rand(70, 33)) - 7; c = zeros(65, 33);
for i = 1:65, for j = 1:33, c(i, j) = sum(a(i, :)' .* b(:, j)); end, end
s = single(a); assert(isequal(a * b, c)); assert(isequal(s * single(b), single(c))); assert(isequal(s * s', single(a * a')));
m = rand(60) + 60 * eye(60); assert(norm(m * (m \\ eye(60)) - eye(60)) < 1e-12);
disp('done')
"""


@needs("Rscript")
def test_r(face, tmp_path):
    script = tmp_path / "program.R"
    script.write_text(R)
    plain, under, calls = both(face, tmp_path, "Rscript", script)
    assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr) == ("done\n", "")
    assert LACKS_FP64 or calls["dgemm_"] > 0 and calls["dsyrk_"] > 0, calls


@needs("octave-cli")
def test_octave(face, tmp_path):
    script = tmp_path / "program.m"
    script.write_text(OCTAVE)
    plain, under, calls = both(face, tmp_path, "octave-cli", "--norc", script)
    assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr) and under.stdout == "done\n"
    assert calls["sgemm_"] > 0 and calls["ssyrk_"] > 0 and (LACKS_FP64 or calls["dgemm_"] > 0), calls


HPL = ("Ns", "128"), ("NBs", "32"), ("Ps", "1"), ("Qs", "1")


@needs("hpcc")
@pytest.mark.skipif(LACKS_FP64, reason="the set has no native64")
def test_hpcc(face, tmp_path, monkeypatch):
    """HPL's residual, hpcc's own DGEMM check, on one process."""
    lines = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text().splitlines()
    for name, value in HPL:
        lines = [f"{value:13}{name}" if line.split()[1:2] == [name] else line for line in lines]
    (tmp_path / "hpccinf.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    run("hpcc", face=face, HALFTONE="record", HALFTONE_LOG=str(log))
    text = (tmp_path / "hpccoutf.txt").read_text()
    assert "1 tests completed and passed residual checks" in text and "Success=1" in text and "FAILED" not in text
    assert log.read_text().count("cblas_dgemm\t") > 50


SCIPY = """import numpy as np
from scipy.linalg import blas
r = np.random.default_rng(1)
a, b = r.integers(-7, 8, (65, 70)).astype(np.float32), r.integers(-7, 8, (70, 33)).astype(np.float32)
assert (blas.sgemm(2, a, b) == 2 * (a.astype(int) @ b.astype(int))).all()
assert (np.triu(blas.ssyrk(1, a)) == np.triu(a.astype(int) @ a.T.astype(int))).all()
try:
    blas.sgemm(1, a, b, trans_a=7)
except Exception as wrong:
    print("refused")
"""


def test_scipy(face, tmp_path):
    plain, under, calls = both(face, tmp_path, python_with("scipy.linalg"), "-c", SCIPY)
    assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr) and "refused" in under.stdout
    assert sum(n for name, n in calls.items() if "sgemm" in name) == 1 and sum(n for name, n in calls.items() if "ssyrk" in name) == 1, calls


def papers(folder, python, face, *words, **env):
    """bench/programs/papers.py with the face before its second run: exit code, rows by name."""
    under = [f"LD_PRELOAD={face}", f"HALFTONE_LIBRARY={SET}/libhalftone-sim.so", "HALFTONE_STRATEGY=eager", "HALFTONE_FP64=original"]
    done = run(python, ROOT / "bench/programs/papers.py", folder, "--small", *words, "--say", "# sets", "--", "env", *under, check=False, OPENBLAS_NUM_THREADS="1", **env)
    table = (folder / "programs.tsv").read_text().split("# elsewhere")[0]
    assert done.stdout.startswith(table) and done.stderr == "" and "\n# sets\n# SIMULATOR" in table
    head, *lines = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return done.returncode, {line[0]: dict(zip(head, line)) for line in lines}


def test_the_papers_programs(face, tmp_path):
    """In the simulator, at small sizes: end results are as near to FP64 as natively; a product without its last k spoils each of them."""
    python = numpy_python()
    if python is None:
        pytest.skip("no Python here imports numpy, and pip cannot fetch it")
    code, found = papers(tmp_path, python, face)
    assert code == 0 and len(found) == 11 and not [row for row in found.values() if "FAILED" in row["note"]], found
    assert all(float(row["halftone"]) <= max(2 * float(row["native"]), 1e-6) for row in found.values() if "HPL" not in row["program"]), found
    run(python, "-c", "import numpy, papers; a = papers.hpl_system(papers.OnNumpy(numpy), 50)[0]; assert abs(2 * a.diagonal() - abs(a).sum(1)).max() < 1e-12",
        PYTHONPATH=str(ROOT / "bench/programs"))
    code, one = papers(tmp_path, python, face, "--only", "CCC_counts", "--processes", "2")
    assert code == 0 and list(one) == ["CCC counts"] and (tmp_path / "programs-face.jsonl").read_text().count('"served": 1,') == 2, one
    broken = build_face(tmp_path / "broken", replaced("blas_serve.c", "sgemm_host(h, x->op_a, x->op_b, x->m, x->n, x->k,",
                                                      "sgemm_host(h, x->op_a, x->op_b, x->m, x->n, x->k - 1,"), kind="blas")
    code, found = papers(tmp_path, python, broken)
    assert code == 1 and not [row for row in found.values() if "FAILED: more than" not in row["note"]], found
    code, found = papers(tmp_path, python, face, HALFTONE="off")
    assert code == 1 and len(found) == 11 and not [row for row in found.values() if "FAILED: no product was served" not in row["note"]], found
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('No module', name='numpy')\n")
    code, found = papers(tmp_path, python, face, PYTHONPATH=str(tmp_path))
    assert code == 2 and [row["note"] for row in found.values()] == ["needs numpy"] * 11


def test_an_scf_program(face, tmp_path):
    """Its energies are near those of PySCF 2.14, which fits nothing, and the face's near its own."""
    python = numpy_python()
    if python is None:
        pytest.skip("no Python here imports numpy, and pip cannot fetch it")
    scf = [python, ROOT / "bench/programs/scf.py", "--molecules"]
    plain, under, calls = both(face, tmp_path, *scf, "4")
    energies, served = ([float(word) for word in text.stdout.splitlines()[-1].split()[-2:]] for text in (plain, under))
    assert energies == pytest.approx([-4.47765, -0.07143], rel=0.02) and served == pytest.approx(energies, abs=1e-9)
    assert LACKS_FP64 or sum(count for api, count in calls.items() if "dgemm" in api) > 0, calls
    refused = run(*scf, "0", check=False)
    assert refused.returncode == 2 and "--molecules 0: one or more" in refused.stderr
