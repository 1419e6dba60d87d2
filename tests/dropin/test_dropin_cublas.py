"""The cuBLAS face before fake copies of cuBLAS, with the simulator behind it: which forms are served, and that all else, statuses
included, is as without it."""
import pathlib
import re
import subprocess
import sys
import time

import pytest
from conftest import ROOT, nvcc, rows
from dropin_programs import HERE, SET, build_face, cc, face, fakes, lines, replaced, run # noqa: F401 (fixtures)

REASONS = dict(re.findall(r'X\((\w+),\s+"([^"]*)"\)', (ROOT / "runtime/dropin/common_lists.h").read_text()))
COUNTED = re.findall(r"R\(X, (\w+), (\w+),", (ROOT / "runtime/dropin/cublas_products.h").read_text())
TRIANGLES = ["cublasSsyrk_v2", "cublasDsyrk_v2", "cublasSsyrkx", "cublasStrsm_v2"]
ARRAYS = ["cublasSgemmBatched", "cublasDgemmBatched", "cublasGemmBatchedEx"]
MUST = ["cublasSgemm_v2", "cublasSgemmEx", "cublasGemmEx", "cublasSgemmStridedBatched", "cublasGemmStridedBatchedEx", "cublasDgemm_v2", "cublasDgemmStridedBatched"]
EXPORTED = sorted([*MUST, *ARRAYS, *[name for name, _ in COUNTED], *[name + "_64" for name in [*MUST, *ARRAYS, *TRIANGLES]], *TRIANGLES, "cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasDestroy_v2", "cublasLtMatmul", "dlsym",
                   "halftone_dropin_accuracy", "halftone_dropin_counters", "halftone_dropin_reset", "halftone_dropin_state", "halftone_dropin_step",
                   "halftone_dropin_thread", "halftone_dropin_version"])

S, SS, SE, E, ES = "api=Sgemm_v2", "api=SgemmStridedBatched", "api=SgemmEx", "api=GemmEx", "api=GemmStridedBatchedEx"
B, EB, DB = "api=SgemmBatched", "api=GemmBatchedEx", "api=DgemmBatched"
D, DS, E64, ES64 = "api=Dgemm_v2", "api=DgemmStridedBatched", "api=GemmEx ta=1 tb=1 tc=1", "api=GemmStridedBatchedEx ta=1 tb=1 tc=1"
PEDANTIC, TF32, HALF, UNKNOWN, ARGUMENTS, FP64 = "PEDANTIC", "TF32", "HALF", "UNKNOWN_FORM", "ARGUMENTS", "FP64"
# Words of a call, and why it is the original's, or SERVED.
FORMS = [
    *[(f"{api}{bits} opa={a} opb={b} m=33 n=70 k=45 alpha=-1.5 beta={beta} batch={batch} pointers={pointers}", "SERVED")
      for api, batch in ((S, 1), (SS, 3), (SE, 1), (E, 1), (ES, 2)) for bits in ("", "_64") for a, b, beta, pointers in ((0, 1, 0, 0), (2, 0, 0.75, 1))],
    # what a product may be
    (f"{S} opa=1 opb=2", "SERVED"), (f"{S} m=1 n=1 k=1", "SERVED"), (f"{S} nulls=4", "SERVED"), (f"{S} nulls=4 pointers=1", "SERVED"),
    (f"{S} k=0 beta=2", "SERVED"), (f"{S} alpha=0 beta=2", "SERVED"), (f"{S} m=0", "SERVED"), (f"{S} n=0", "SERVED"), (f"{SS} batch=0", "SERVED"),
    (f"{SS} batch=3 sa=0", "SERVED"), (f"{SS} batch=3 sb=0 pointers=1 beta=1", "SERVED"), (f"{S} m=300 n=1 k=200 opa=1", "SERVED"), (f"{S} stream=4096", "SERVED"),
    (f"{S} late=1 stream=8192 pointers=1 alpha=2 beta=0.5", "SERVED"), (f"{ES} late=1 stream=8192 pointers=1 alpha=2 beta=0.5 batch=2", "SERVED"),
    (f"{S} workspace=4194304", "SERVED"), (f"{S} workspace=1024", "SERVED"), (f"{SS} m=130 n=130 k=130 batch=2 workspace=33554432", "SERVED"),
    # compute types and math modes
    (f"{E} compute=68 algo=99", "SERVED"), (f"{E} compute=68 algo=4", "SERVED"), (f"{E} compute=68 algo=-1", "SERVED"), (f"{E} compute=68 math=16", "SERVED"),
    (f"{E} compute=78", "SERVED"), (f"{E} compute=78 math=3", "SERVED"), (f"{ES} compute=78 batch=2", "SERVED"), (f"{E} compute=68 math=4", "SERVED"), (f"{S} math=4", "SERVED"),
    (f"{E} compute=77", TF32), (f"{E} compute=68 math=3", TF32), (f"{S} math=3", TF32), (f"{SS} math=19 batch=2", TF32), (f"{ES} compute=77 batch=2", TF32),
    (f"{E} compute=69", PEDANTIC), (f"{S} math=2", PEDANTIC), (f"{E} compute=68 math=2", PEDANTIC), (f"{ES} compute=69 math=3 batch=2", PEDANTIC),
    (f"{E} compute=74", HALF), (f"{E} compute=75", HALF), (f"{S} math=1", HALF), (f"{ES} compute=75 batch=2", HALF),
    (f"{E} compute=0", UNKNOWN), (f"{E} compute=64", UNKNOWN), (f"{E} compute=70", UNKNOWN), (f"{E} compute=79", UNKNOWN), (f"{ES} compute=0 batch=2", UNKNOWN), (f"{S} math=7", UNKNOWN),
    (f"{S} math=8", "SERVED"), (f"{S} math=12", "SERVED"), (f"{E} compute=68 math=28", "SERVED"),
    # FP64: its emulation by compute type and math mode; else only where something asks for it
    *[(f"{api} opa={a} opb={b} m=33 n=70 k=45 alpha=-1.5 beta={beta} batch={batch} math=8 pointers={pointers}", "SERVED")
      for api, batch in ((D, 1), (D + "_64", 1), (DS, 3), (DS + "_64", 2), (E64 + " compute=70", 1), (ES64 + " compute=70", 2)) for a, b, beta, pointers in ((0, 1, 0, 0), (2, 0, 0.75, 1))],
    (f"{D} math=8 m=130 n=120 k=260 opa=1 beta=0.5", "SERVED"), (f"{ES64} compute=79 m=20 n=20 k=260 batch=2", "SERVED"),  # residues; rows that can be certified
    (f"{E64} compute=79", "SERVED"), (f"{E64} compute=79 math=2", "SERVED"), (f"{ES64} compute=79 batch=2", "SERVED"), (f"{D} math=12", "SERVED"), (f"{D} math=24 nulls=4", "SERVED"),
    (f"{D} math=8 k=0 beta=2", "SERVED"), (f"{D} math=8 m=0", "SERVED"), (f"{D} math=8 workspace=8388608", "SERVED"), (f"{D} math=8 workspace=1024", "SERVED"),
    (f"{D}", FP64), (f"{DS} batch=2", FP64), (f"{E64} compute=70", FP64), (f"{ES64} compute=70 batch=2", FP64), (f"{D} math=3", FP64), (f"{D} math=4", FP64), (f"{D} math=1", FP64),
    (f"{D} math=2", PEDANTIC), (f"{E64} compute=71", PEDANTIC), (f"{E64} compute=68", UNKNOWN), (f"{E64} compute=78", UNKNOWN), (f"{E} compute=79 ta=1", "TYPES"), (f"{D} math=8 sm=2", "SM_TARGET"),
    (f"{D} math=8 lda=39", ARGUMENTS), (f"{D} math=8 m=-1 lda=1 ldc=1", ARGUMENTS), (f"{D} math=8 nulls=1", ARGUMENTS),
    (f"{SE} ta=2", "TYPES"), (f"{SE} ta=14 tb=14", "TYPES"), (f"{SE} math=3", TF32), (f"{SE} math=2", PEDANTIC),
    (f"{E} ta=2", "TYPES"), (f"{E} tb=14", "TYPES"), (f"{E} tc=1", "TYPES"), (f"{ES} ta=2 tb=2 compute=68 batch=2", "TYPES"),
    (f"{S} sm=64", "SM_TARGET"), (f"{ES} sm=1 batch=2", "SM_TARGET"),
    (f"{B} batch=3", "NO_DRIVER"), (f"{EB} batch=3", "NO_DRIVER"), (f"{B} batch=3 math=2", PEDANTIC), (f"{EB} compute=77 batch=2", TF32), (f"{EB} ta=2 batch=2", "TYPES"),
    (f"{B} batch=-1", ARGUMENTS), (f"{B} batch=0", "NO_FORM"), (f"{B}_64 batch=3", "NO_DRIVER"), (f"{EB}_64 batch=3", "NO_DRIVER"),
    (f"{DB} batch=3", FP64), (f"{DB}_64 batch=3", FP64), (f"{DB} batch=3 math=8", "NO_DRIVER"), (f"{DB}_64 batch=3 math=2", PEDANTIC),
    # what cuBLAS refuses, or has alone
    (f"{S} m=-1 lda=1 ldc=1", ARGUMENTS), (f"{S} n=-1", ARGUMENTS), (f"{S} k=-1", ARGUMENTS), (f"{SS} batch=-1", ARGUMENTS), (f"{S} opa=3", ARGUMENTS), (f"{S} opb=-1", ARGUMENTS),
    (f"{S} nulls=1", ARGUMENTS), (f"{S} nulls=2", ARGUMENTS), (f"{S} m=40 lda=39", ARGUMENTS), (f"{S} ldb=0", ARGUMENTS), (f"{E} m=40 ldc=39", ARGUMENTS),
    (f"{SS} batch=2 sc=0 m=4 n=4", ARGUMENTS),
    # sizes that would be others without their upper 32 bits
    *[(f"{api}_64 m=-4294967256 lda=40 ldc=40", ARGUMENTS) for api in (S, SS, SE, E, ES)], (f"{D}_64 math=8 m=-4294967256 lda=40 ldc=40", ARGUMENTS), *[(f"{api}_64 batch=-4294967295", ARGUMENTS) for api in (B, EB)],
]


def cuda_library(name):
    """Of the toolkit that `make` finds."""
    at = nvcc() and pathlib.Path(nvcc()).resolve().parent.parent
    found = [at / folder / name for folder in ("lib64", "lib") if at and (at / folder / name).exists()]
    if not found:
        pytest.skip(f"no {name} here: CUDA 13 is not installed")
    return found[0]


@pytest.fixture(scope="module")
def native(fakes):
    return lines(fakes.main, *[words for words, _ in FORMS])


def is_fp64(words):
    return words.startswith((D, DS, E64, ES64, DB))


def served_forms(face, fakes, log, forms=FORMS, **env):
    got = lines(fakes.main, *[words for words, _ in forms], face=face, HALFTONE="record", HALFTONE_LOG=str(log), **env)
    return got, rows(log)


def is_wrong(error, alone):
    """auto's bound at these k is 60 and above; a wrong element is millions."""
    return error != alone and (error in ("spoilt", "-") or not float(error) <= 60)


def faults(native, got, rows, forms=FORMS):
    """What is not as these forms have it."""
    if len(got) != len(forms) or len(rows) != len(forms):
        return ["calls are missing"]
    found = []
    for (words, expected), alone, (status, error, served, original), row in zip(forms, native, got, rows):
        if status != alone[0] or (int(served), int(original)) != ((1, 0) if expected == "SERVED" else (0, 1)):
            found.append((words, expected, alone, (status, error, served, original)))
        if is_wrong(error, alone[1]):
            found.append((words, "error", error))
        if not row["why"].startswith(REASONS[expected] if expected != "SERVED" else "") or (row["served"] == "1") != (expected == "SERVED"):
            found.append((words, expected, row["why"]))
    return found


def test_every_form_is_served_or_the_original_s_as_the_table_says(face, fakes, native, tmp_path):
    assert all(alone[2:] == ["0", "1"] for alone in native)
    got, rows = served_forms(face, fakes, tmp_path / "log")
    assert faults(native, got, rows) == []
    assert all(row["api"].startswith("cublas" + words.split()[0][4:]) for (words, _), row in zip(FORMS, rows))
    schemes = {is_fp64(words): set() for words, _ in FORMS}
    for (words, _), row in zip(FORMS, rows):
        if row["served"] == "1" and int(row["k"]) and int(row["m"]):
            schemes[is_fp64(words)].add(row["scheme"])
    assert {"native64"} < schemes[True] | {"native64"} <= {"crt14", "crt15", "crt16", "native64"} and schemes[False] <= {"auto", "f16x3", "bf16x6u"}


# A line "NAME STATUS" of each function that is counted alone: the fake's hash of its arguments.
COUNTED_MAIN = r"""#include <stdio.h>
#include "counted.h"
#define DECLARE(X, name, why, form, S) int name(PARAMETERS_##form(S));
CUBLAS_COUNTED(DECLARE, )
#define CALL(X, name, why, form, S) printf("%s %d\n", #name, name(CALL_##form)); base += 1000;
int main(void) {
    intptr_t base = 100;
    CUBLAS_COUNTED(CALL, )
    return 0;
}
"""


def counted_calls(face, fakes, folder):
    """(what the fake got of each function that is counted alone, natively; under the face; rows of the log)."""
    folder.mkdir(exist_ok=True)
    (folder / "counted.c").write_text(COUNTED_MAIN)
    cc(folder / "counted.c", f"-I{HERE}", "-o", folder / "counted", fakes.cublas[13], f"-Wl,-rpath,{fakes.cublas[13].parent}")
    got = lines(folder / "counted", face=face, HALFTONE_LOG=str(folder / "log"))
    return lines(folder / "counted"), got, rows(folder / "log")


def test_what_is_counted_alone_goes_on_with_its_arguments(face, fakes, tmp_path):
    native, got, rows = counted_calls(face, fakes, tmp_path)
    assert [line[0] for line in native] == [name for name, _ in COUNTED] and got == native
    assert [(row["api"], row["why"], row["served"]) for row in rows] == [(name, REASONS[why], "0") for name, why in COUNTED]
    sizes = {row["api"]: tuple(int(row[name]) % 1000 - 100 for name in ("m", "n", "k", "batch")) for row in rows}
    assert sizes["cublasStrsmBatched"] == (5, 6, 6, 12)
    wrong = build_face(tmp_path / "broken", replaced("cublas_products.h", "ARGUMENTS_TRSM_BATCHED handle, side, uplo", "ARGUMENTS_TRSM_BATCHED handle, uplo, side"))
    native, got, _ = counted_calls(wrong, fakes, tmp_path / "of_broken")
    assert [a[0] for a, b in zip(native, got) if a != b] == ["cublasStrsmBatched", "cublasStrsmBatched_64"]


# With a driver: words of a call of arrays of pointers, products that the face did and calls of the original, why not.
OF_ARRAYS = [
    *[(f"{api} batch=3 opa={a} opb={b} m=33 n=50 k=45 alpha=-1.5 beta={beta} pointers={pointers} apart={spread}", 1, 0, "")
      for api in (B, EB, f"{B}_64", f"{EB}_64", f"{DB} math=8", f"{DB}_64 math=8") for a, b, beta, pointers in ((0, 1, 0, 0), (2, 0, 0.75, 1)) for spread in (0, 1)],
    (f"{B} batch=1", 1, 0, ""), (f"{B} batch=5 sa=0 beta=0.5", 1, 0, ""), (f"{B} batch=5 sb=0", 1, 0, ""), (f"{B} batch=64 m=2 n=2 k=2 apart=1", 1, 0, ""),
    (f"{EB} ta=1 tb=1 tc=1 compute=79 batch=3", 1, 0, ""), (f"{EB} ta=1 tb=1 tc=1 compute=70 math=8 batch=3 apart=1", 1, 0, ""), (f"{EB} compute=78 batch=2", 1, 0, ""),
    (f"{B} batch=65 m=2 n=2 k=2 apart=1", 0, 1, "NO_FORM"), (f"{B} batch=65 m=2 n=2 k=2", 1, 0, ""), (f"{B} batch=70000 m=1 n=1 k=1 lda=1 ldb=1 ldc=1", 0, 1, "NO_FORM"),
    # two products were launched when the third was refused: the original does that one
    (f"{B} batch=3 apart=2 beta=0.75", 0, 1, ARGUMENTS), (f"{B}_64 batch=3 apart=2 beta=0.75", 0, 1, ARGUMENTS), (f"{DB} batch=3 apart=2 beta=0.75 math=8", 0, 1, ARGUMENTS), (f"{B} batch=3 apart=2 lda=39 m=40", 0, 1, ARGUMENTS), (f"{EB} ta=1 tb=1 tc=1 compute=70 batch=2", 0, 1, FP64),
]


def faults_of(face, fakes, log, forms):
    words = [words for words, *_ in forms]
    log.unlink(missing_ok=True)
    alone, got = lines(fakes.driven, *words), lines(fakes.driven, *words, face=face, HALFTONE="record", HALFTONE_LOG=str(log))
    logged = rows(log)
    if len(got) != len(forms) or len(logged) != len(forms):
        return ["calls are missing"]
    return [(words, native, mine, row["why"]) for (words, served, original, reason), native, mine, row in zip(forms, alone, got, logged)
            if mine[0] != native[0] or (int(mine[2]), int(mine[3])) != (served, original) or not row["why"].startswith(REASONS[reason] if reason else "")
            or is_wrong(mine[1], native[1])]


def test_arrays_of_pointers_are_read_and_multiplied(face, fakes, tmp_path):
    assert faults_of(face, fakes, tmp_path / "log", OF_ARRAYS) == []
    assert lines(fakes.driven, S, f"{B} batch=3", face=face, FAKE_CAPTURING="1")[-1][2:] == ["0", "1"]  # nothing may wait there


# With a driver, and small blocks: words of a call of SYRK, products that the face did and calls of the original, why not.
# The tests of triangles take about 25 s together.
SY, DSY, SX = "api=Ssyrk_v2", "api=Dsyrk_v2", "api=Ssyrkx"
OF_TRIANGLES = [
    *[(f"{api} uplo={uplo} opa={op} n=139 k=45 alpha=-1.5 beta={beta} pointers={pointers}", 1, 0, "")
      for api in (SY, f"{SY}_64", f"{DSY} math=8", f"{DSY}_64 math=8", SX, f"{SX}_64 ldb=150") for uplo in (0, 1) for op, beta, pointers in ((0, 0, 0), (1, 0.75, 0), (2, 0.5, 1))],
    *[(f"{SY} uplo={uplo} n={n} ldc=160 beta=0.5", 1, 0, "") for uplo in (0, 1) for n in (32, 35, 64, 71, 128)],
    (f"{SY} n=139 nulls=4", 1, 0, ""), (f"{SY} n=139 nulls=4 pointers=1", 1, 0, ""), (f"{SY} n=139 alpha=0 beta=2", 1, 0, ""), (f"{SY} n=139 math=4", 1, 0, ""),
    (f"{SY} n=139 workspace=33554432 stream=4096", 1, 0, ""), (f"{DSY} n=70 k=260 math=8 beta=0.5", 1, 0, ""),
    (f"{SY} n=31", 0, 1, "NO_FORM"), (f"{SY} n=139 k=0 beta=2", 0, 1, "NO_FORM"), (f"{SY} n=139 uplo=2", 0, 1, ARGUMENTS), (f"{SY} n=139 opa=3", 0, 1, ARGUMENTS),
    (f"{SY} n=139 k=45 opa=1 lda=44", 0, 1, ARGUMENTS), (f"{SY} n=139 lda=138", 0, 1, ARGUMENTS), (f"{SY} n=139 ldc=138", 0, 1, ARGUMENTS), (f"{SY} n=-1 ldc=1 lda=1", 0, 1, ARGUMENTS),
    (f"{SY} n=139 nulls=1", 0, 1, ARGUMENTS), (f"{SY} n=139 math=2", 0, 1, PEDANTIC), (f"{SY} n=139 math=3", 0, 1, TF32), (f"{DSY} n=139", 0, 1, FP64), (f"{SY} n=139 sm=2", 0, 1, "SM_TARGET"),
    (f"{SX} n=71 ldb=160 beta=0.5", 1, 0, ""), (f"{SX} n=139 k=45 opa=1 ldb=44", 0, 1, ARGUMENTS), (f"{SX} n=139 ldb=138", 0, 1, ARGUMENTS), (f"{SX} n=139 lda=138", 0, 1, ARGUMENTS), (f"{SX} n=139 math=3", 0, 1, TF32),
]


def with_small_blocks(edit=None):
    diagonal, solve = replaced("cublas_triangle.c", "BLOCK_LEAST = 256", "BLOCK_LEAST = 16"), replaced("cublas_solve.c", "SOLVE_BLOCK_MOST = 512, SOLVE_BLOCK_MULTIPLE = 64", "SOLVE_BLOCK_MOST = 16, SOLVE_BLOCK_MULTIPLE = 4")
    return lambda name, text: edit(name, diagonal(name, solve(name, text))) if edit else diagonal(name, solve(name, text))


@pytest.fixture(scope="module")
def small_blocks(tmp_path_factory):
    return build_face(tmp_path_factory.mktemp("blocks") / "face", with_small_blocks())


def test_triangles_are_multiplied_by_blocks_and_the_other_one_stays(small_blocks, face, fakes, tmp_path):
    assert faults_of(small_blocks, fakes, tmp_path / "log", OF_TRIANGLES) == []
    got = lines(fakes.driven, f"{SY} n=517 k=9 uplo=1 beta=0.5", f"{SY} n=511 k=9", face=face)
    assert [g[2:] for g in got] == [["1", "0"], ["0", "1"]] and float(got[0][1]) < 60
    assert lines(fakes.driven, f"{SY} n=2048 k=1", face=face, HALFTONE_STRATEGY="performant")[0][2:] == ["0", "1"]


def test_where_a_part_of_a_triangle_fails_the_original_does_the_rest(small_blocks, fakes, tmp_path):
    words = [f"{api} n=139 beta=0.5 uplo={uplo}" for api in (SY, f"{SY}_64", f"{DSY} math=8", f"{SX} ldb=150") for uplo in (0, 1)]
    def right(got, calls):
        assert all(g[0] == "0" and float(g[1]) < 60 and g[2:] == ["0", str(calls)] for g in got), got
    right(lines(fakes.driven, *words, face=small_blocks, FAKE_NO_MEMORY="1"), 1)
    right(lines(fakes.driven, *words, face=small_blocks, FAKE_TPTTR_FAILS="0"), 1)
    for one in words:  # of 9 blocks 5 are in place: what cuBLAS then says is the call's status
        assert lines(fakes.driven, one, face=small_blocks, FAKE_TPTTR_FAILS="5") == [["7", "spoilt", "0", "0"]]
    for i, calls in ((0, 8), (2, 2), (3, 1)):
        refuses = replaced("cublas_triangle.c", "        if (code == HALFTONE_OK)\n            code = multiply(", f"        if (i == {i})\n            code = HALFTONE_WORKSPACE;\n        if (code == HALFTONE_OK)\n            code = multiply(")
        right(lines(fakes.driven, *words, face=build_face(tmp_path / str(i), with_small_blocks(refuses))), calls)


# With small blocks: words of a call of TRSM, whether the face did its products, calls of the original, why not.
SO = "api=Strsm_v2"


def blocks(rows, most=16, multiple=4):
    """How many blocks the original solves."""
    half = (rows // 2 + multiple - 1) // multiple * multiple
    return 1 if rows <= most else blocks(half, most, multiple) + blocks(rows - half, most, multiple)


WAYS = [f"side={side} uplo={uplo} opa={op} diag={diag}" for side in (0, 1) for uplo in (0, 1) for op in (0, 1, 2) for diag in (0, 1)]
OF_SOLVES = [
    *[(f"{SO}{'_64' if i % 3 else ''} {way} m=45 n=37 lda={45 + i} ldc={45 + i % 5} alpha=-1.5", 1, blocks(45 if "side=0" in way else 37), "") for i, way in enumerate(WAYS)],
    *[(f"{SO} {way} m=33 n=35 alpha=0.5 zero={zero}", 1, blocks(33 if "side=0" in way else 35), "") for way, zero in zip(WAYS[::4], (0, 10, 32) * 2)],
    *[(f"{SO} {way} m={m} n={n}", 1, blocks(m if "side=0" in way else n), "") for way, m, n in zip(WAYS[3::6], (100, 17, 64, 33), (40, 17, 65, 40))],
    *[(f"{SO} m={m} n={n} side={side}", 1, blocks(75), "") for m, n, side in ((75, 1, 0), (1, 75, 1))],
    (f"{SO} math=4", 1, blocks(40), ""), (f"{SO} math=8", 1, blocks(40), ""), (f"{SO} workspace=33554432 stream=4096", 1, blocks(40), ""), (f"{SO} workspace=1024", 1, blocks(40), ""),
    *[(f"{SO} {way} m=75 n=53 alpha=0 nulls=4", 0, 1, "NO_FORM") for way in WAYS[::11]], (f"{SO} alpha=0 nulls=4 pointers=1", 0, 1, "NO_FORM"),
    (f"{SO} m=16", 0, 1, "NO_FORM"), (f"{SO} n=16 m=40 side=1", 0, 1, "NO_FORM"), (f"{SO} m=0", 0, 1, "NO_FORM"), (f"{SO} n=0", 0, 1, "NO_FORM"), (f"{SO} m=0 side=1", 0, 1, "NO_FORM"),
    (f"{SO} pointers=1", 0, 1, "NO_FORM"), (f"{SO}_64 pointers=1 side=1", 0, 1, "NO_FORM"),
    *[(f"{SO} {wrong}", 0, 1, ARGUMENTS) for wrong in ("side=2", "side=-1", "uplo=2", "opa=3", "opa=-1", "diag=2", "lda=39", "side=1 lda=39", "side=1 m=20 ldc=19", "ldc=39",
                                                       "m=-1 lda=1 ldc=1", "n=-1", "side=1 n=-1 lda=1", "nulls=1", "nulls=2")],
    (f"{SO}_64 m=-4294967256 lda=40 ldc=40", 0, 1, ARGUMENTS), (f"{SO} math=2", 0, 1, PEDANTIC), (f"{SO} math=3", 0, 1, TF32), (f"{SO} math=1", 0, 1, HALF), (f"{SO} sm=2", 0, 1, "SM_TARGET"),
]


def test_systems_are_solved_by_blocks_and_products(small_blocks, face, fakes, tmp_path):
    assert faults_of(small_blocks, fakes, tmp_path / "log", OF_SOLVES) == []
    row = next(row for row in rows(tmp_path / "log") if row["api"] == "cublasStrsm_v2_64")
    assert [row[name] for name in ("op", "m", "n", "k", "served")] == ["NN", "45", "37", "45", "1"]
    words, sites = f"{SO} m=600 n=40", tmp_path / "sites"
    sites.write_text("api=cublasStrsm* original\n")
    for env, expected in (({}, ["1", "2"]), ({"HALFTONE_STRATEGY": "performant", "HALFTONE_MIN": "200"}, ["1", "2"]), ({"HALFTONE_STRATEGY": "performant"}, ["0", "1"]),
                          ({"HALFTONE_SITES": str(sites)}, ["0", "1"]), ({"HALFTONE": "off"}, ["0", "1"])):
        got = lines(fakes.main, words, face=face, **env)
        assert got[0][2:] == expected and float(got[0][1]) < 60, (env, got)


def test_solving_is_no_less_accurate_than_the_original_alone(small_blocks, fakes):
    """What remains of an equation stays within the rounding of substitution in FP32, a unit a row."""
    words = [f"{SO} {way} m=139 n=60 alpha=-1.5" for way in WAYS[::5]]
    assert all(float(got[1]) < (139 if "side=0" in one else 60) / 4 for one, got in zip(words, lines(fakes.main, *words, face=small_blocks)))


def test_where_a_part_of_a_system_fails_the_original_does_the_rest(small_blocks, fakes, tmp_path):
    words, whole = [f"{SO}{bits} {way} m=75 n=75 alpha=-1.5" for bits, way in zip(("", "_64") * 2, WAYS[::7])], blocks(75)
    for most in (0, 3):  # what a refusal left is the original's to say
        for one in words:
            assert lines(fakes.main, one, face=small_blocks, FAKE_TRSM_FAILS=str(most)) == [["7", "spoilt" if most else "-", "0", str(most + 1)]]
    for most in (0, 2, whole - 2):
        refuses = replaced("cublas_solve.c", ": cublas_run_prepared(s->run", f": known_products++ == {most} ? HALFTONE_WORKSPACE : cublas_run_prepared(s->run")
        counts = replaced("cublas_solve.c", "static int update(", "static int known_products;\nstatic int update(")
        broken = build_face(tmp_path / str(most), with_small_blocks(lambda name, text: counts(name, refuses(name, text))))
        for one in words:
            got = lines(fakes.main, one, face=broken)[0]
            assert got[0] == "0" and float(got[1]) < 60 and got[2:] == ["0", str(whole + whole - 1 - most)], (one, got)


# Edits of the face's sources that must be noticed, by the forms of what they mix up.
MIXED_UP = {
    "arrays": (OF_ARRAYS, (
        ("unread", "cublas_arrays.c", "good && cublas_wait(stream)", "good"),
        ("uneven", "cublas_arrays.c", "if ((int64_t)(at[i] - at[i - 1]) != distance)", "if (false)"),
        ("operands", "cublas_arrays.c", "one.b = (const void *)at[g->batch + *done];", "one.b = (const void *)at[*done];"),
        ("rest", "cublas_entries.c", "a += done, b += done, c += done, ", ""),
        ("type", "cublas_entries.c", "cublasDgemmBatched, GEMM_BATCHED, CU_R_64F", "cublasDgemmBatched, GEMM_BATCHED, CU_R_32F"),
        ("shape", "cublas_entries.c", "by.kind & IS_SHORT ? SHORT : LONG", "LONG"),
        ("size", "cublas_face.h", "sizeof(float) : sizeof(double)", "sizeof(float) : sizeof(float)"),
    )),
    "triangles": (OF_TRIANGLES, (
        ("upper", "cublas_triangle.c", "if (t->g->uplo == CU_UPPER && i >= 0)", "if (false)"),
        ("stride", "cublas_triangle.c", "x.apart * (one.ldc + 1)", "x.apart * one.ldc"),
        ("beta", "cublas_triangle.c", "!cublas_reads_c(t->run->call->kind, t->g->beta, t->run->setting) || copy_diagonal(t)", "true"),
        ("rest", "cublas_triangle.c", "return t->levels + (t->rest > 0);", "return t->levels;"),
        ("lda", "cublas_triangle.c", "g->lda < rows", "false"),
        ("ldb", "cublas_triangle.c", "g->ldb < rows", "false"),
        ("b", "cublas_triangle.c", "t->g->b + (size_t)", "t->g->a + (size_t)"),
        ("step", "cublas_triangle.c", "CU_OP_N ? 1 : g->ldb", "CU_OP_N ? 1 : g->lda"),
    )),
    "systems": (OF_SOLVES, tuple((name, "cublas_solve.c", old, new) for name, old, new in (
    ("order", "is_lower == left, true", "is_lower, true"), ("turned", "is_turned ? col + row", "!is_turned ? col + row"), ("conjugate", "!= CU_OP_N;", "== CU_OP_T;"),
    ("alpha twice", "solve(s, rest, &one)", "solve(s, rest, alpha)"), ("no alpha", "p.beta = alpha", "p.beta = &one"), ("sign", "p.alpha = &minus_one", "p.alpha = &one"),
    ("block", "in_a(s, x.at, x.at)", "in_a(s, 0, 0)"), ("sides", "p.a = in_a(s, rest.at, known.at);", "p.a = in_a(s, known.at, rest.at);"),
    ("width", "p.n = rest.rows;", "p.n = known.rows;"), ("update", "p.k = known.rows;", "p.k = known.rows - 1;"), ("zero", " &&\n           *(const float *)g->alpha != 0", ""),
    ("lda", "g->lda < g->k", "false"), ("ldb", "g->ldc < g->m", "false"), ("device", "run->setting->device_scalars || ", ""), ("status", "status != CU_SUCCESS && s.code == HALFTONE_OK ? HALFTONE_DEVICE_ERROR : ", ""),
    ("diag", "g->uplo, s->left ? g->op_a : g->op_b, g->diag", "g->uplo, s->left ? g->op_a : g->op_b, 0"))))}


@pytest.mark.mutation
@pytest.mark.parametrize("kind, edit", [pytest.param(kind, replaced(*edit), id=f"{kind} {name}") for kind, (_, edits) in MIXED_UP.items() for name, *edit in edits])
def test_a_face_that_mixes_calls_up_is_noticed(kind, edit, fakes, tmp_path):
    broken = build_face(tmp_path / "face", edit if kind == "arrays" else with_small_blocks(edit))
    try:
        found = faults_of(broken, fakes, tmp_path / "log", MIXED_UP[kind][0])
        if kind == "systems" and not found:
            found = [got for got in lines(fakes.main, f"{SO} m=75", face=broken, FAKE_TRSM_FAILS="0") if got[0] != "7"]
    except AssertionError:  # it crashed
        return
    assert found != []


# ---- failures

@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    at = tmp_path_factory.mktemp("failing") / "failing.so"
    cc("-shared", HERE / "blas_failing.c", "-o", at, "-ldl")
    return at


def with_failure(program, failing, face, words, at=1, half=True, **env):
    return lines(program, *words, face=face, HALFTONE_LIBRARY=str(failing), HALFTONE_BEHIND=str(SET / "libhalftone-sim.so"), FAIL_PRODUCT=str(at),
                 **({"FAIL_HALF": "1"} if half else {}), **env)


def is_right(got, originals=1):
    return all(g[0] == "0" and float(g[1]) < 60 and g[2:] == ["0", str(originals)] for g in got)


SPOILT = ["13", "spoilt", "0", "0"]  # CUBLAS_STATUS_EXECUTION_FAILED
PRODUCTS = [f"{api} m=33 n=70 k=45 alpha=-1.5 batch={batch}" for api, batch in
            ((S, 1), (S + "_64", 1), (SS, 3), (SE, 1), (E, 1), (ES, 2), (D + " math=8", 1), (DS + " math=8", 2), (B, 3), (B + " apart=1", 3), (f"{DB} math=8 apart=1", 3))]


def test_a_product_that_failed_with_c_half_computed_is_not_done_again(face, fakes, failing, tmp_path):
    """The original would multiply beta with what is there by then; where it does not read C, or nothing was written, it runs."""
    of = lambda more: [f"{words} {more}" for words in PRODUCTS]
    log = tmp_path / "log"
    assert with_failure(fakes.driven, failing, face, of("beta=0.75"), HALFTONE="record", HALFTONE_LOG=str(log)) == [SPOILT] * len(PRODUCTS)
    assert all(line.split("\t")[-1].startswith(REASONS["SPOILT"]) for line in log.read_text().splitlines()[1:])
    assert with_failure(fakes.driven, failing, face, of("pointers=1")) == [SPOILT] * len(PRODUCTS)
    assert is_right(with_failure(fakes.driven, failing, face, of("beta=0 nulls=4")))
    assert is_right(with_failure(fakes.driven, failing, face, of("beta=0.75"), half=False))
    for at in (2, 3):
        assert with_failure(fakes.driven, failing, face, [f"{B} batch=3 apart=1 beta=0.5"], at) == [SPOILT]
        assert is_right(with_failure(fakes.driven, failing, face, [f"{B} batch=3 apart=1"], at))


def test_a_part_that_failed_half_computed_is_not_done_again(small_blocks, fakes, failing):
    """Of triangles the first two products are the diagonal's, in memory of their own; 3 levels of squares and the last rows are 4 more."""
    for at in range(1, 7):
        for api in (SY, f"{DSY} math=8"):
            got = with_failure(fakes.driven, failing, small_blocks, [f"{api} n=139 beta=0.5 uplo={at % 2}"], at)
            assert is_right(got) if at < 3 else got == [SPOILT], (at, got)
            got = with_failure(fakes.driven, failing, small_blocks, [f"{api} n=139 nulls=4 uplo={at % 2}"], at)
            assert is_right(got, 1 if at < 3 else (8, 4, 2, 1)[at - 3]), (at, got)
    for at in (1, 3, blocks(75) - 1):
        solved = with_failure(fakes.main, failing, small_blocks, [f"{SO} {WAYS[3 * at]} m=75 n=75"], at)[0]
        assert solved[:3] == SPOILT[:3], solved


def workspaces(folder, *sizes):
    """Bytes of products N x T of m, n, k, batch."""
    (folder / "bytes.c").write_text(f'#include <stdio.h>\n#include "{ROOT}/runtime/halftone.h"\nint main(void) {{ halftone *h; size_t bytes; if (halftone_create(&h) || halftone_set_scheme(h, "f16x3")) return 1;\n'
                                    + "".join(f"if (halftone_workspace_bytes(h, 'N', '{op}', {m}, {n}, {k}, {batch}, &bytes))\nreturn 1;\nprintf(\"%zu\\n\", bytes);\n" for op, m, n, k, batch in sizes)
                                    + "return halftone_destroy(h); }\n")
    cc(folder / "bytes.c", "-o", folder / "bytes", SET / "libhalftone-sim.so", f"-Wl,-rpath,{SET}")
    return [int(line) for line in run(folder / "bytes").stdout.split()]


def test_blocks_ask_for_the_workspace_of_the_largest(small_blocks, face, fakes, tmp_path):
    """Of SYRK that of the diagonal's blocks, whose panels are as large as those of the whole."""
    k, sites = 256, tmp_path / "sites"
    sites.write_text("scheme=f16x3\n")
    solve = workspaces(tmp_path, ("N", 600, 300, 600, 1), ("N", 280, 300, 320, 1))
    triangle = workspaces(tmp_path, ("T", 512, 512, k, 1), ("T", 256, 256, k, 2), ("T", 256, 256, k, 1))
    for words, (whole, *parts) in ((f"{SO} m=600 n=300", solve), (f"{SY} n=512 k={k}", triangle)):
        needed = max(parts)
        assert 0 < needed <= whole and (needed < whole or words.startswith(SY))
        for limit, more, served in ((needed, "", "1"), (needed - 1, "", "0"), (1, f"workspace={needed}", "1"), (1, f"workspace={needed - 1}", "0")):
            got = lines(fakes.driven, f"{words} {more}", face=face, HALFTONE_WORKSPACE_MAX=str(limit), HALFTONE_SITES=str(sites))[0]
            assert got[0] == "0" and float(got[1]) < 60 and got[2] == served, (words, limit, more, got)


def test_tf32_is_served_where_that_is_asked_for(face, fakes, tmp_path):
    forms = [words for words, why in FORMS if why == TF32 and not words.startswith(EB)]  # arrays of pointers need a driver
    for env in ({"HALFTONE_TF32": "upgrade"}, {"NVIDIA_TF32_OVERRIDE": "0"}):
        assert all(got[2:] == ["1", "0"] for got in lines(fakes.main, *forms, face=face, **env))
    assert all(got[2:] == ["0", "1"] for got in lines(fakes.main, *forms, face=face, NVIDIA_TF32_OVERRIDE="1"))


def test_off_and_wrong_values_leave_everything_to_the_original(face, fakes, native):
    alone = [got for (words, _), got in zip(FORMS, native) if "late" not in words]
    for env, said in (({"HALFTONE": "off"}, 0), ({"HALFTONE_STRATEGY": "fast"}, 1), ({"HALFTONE_SITES": "/nowhere"}, 1), ({"HALFTONE_LIBRARY": "/nowhere/x.so"}, 1)):
        done = run(fakes.main, *[words for words, _ in FORMS if "late" not in words], face=face, **env)
        assert [line.split() for line in done.stdout.splitlines()] == alone and done.stderr.count("\n") == said, done.stderr


def test_small_products_are_the_original_s_unless_all_are_wanted(face, fakes):
    below, above = f"{S} m=127 n=128 k=128", f"{S} m=128 n=128 k=128"
    assert [g[2] for g in lines(fakes.main, below, above, face=face, HALFTONE_STRATEGY="performant")] == ["0", "1"]
    assert [g[2] for g in lines(fakes.main, below, above, face=face, HALFTONE_STRATEGY="performant", HALFTONE_MIN="129")] == ["0", "0"]
    assert [g[2] for g in lines(fakes.main, below, above, face=face, HALFTONE_STRATEGY="performant", HALFTONE_MIN="0")] == ["1", "1"]


def test_a_small_call_is_handed_on_before_its_handle_is_asked(face, fakes, tmp_path):
    """As without a handle, and with a mode that would be another reason; a site table must know all of a call."""
    words, sites, whys = [f"{S} m=17", f"{S} m=17 math=2", f"{S} m=17 nulls=2"], tmp_path / "sites", []
    sites.write_text("m=1000 original\n")
    for name, more in (("without", {}), ("with", {"HALFTONE_SITES": str(sites)})):
        got = lines(fakes.main, *words, face=face, HALFTONE="record", HALFTONE_STRATEGY="performant", HALFTONE_LOG=str(tmp_path / name), **more)
        assert [g[2:] for g in got] == [["0", "1"]] * 3 and got[2][0] == "1"
        whys.append([row["why"] for row in rows(tmp_path / name)])
    assert whys == [[REASONS["SMALL"]] * 3, [REASONS["SMALL"], REASONS["PEDANTIC"], REASONS["ARGUMENTS"]]]


def test_site_table_and_accuracies_choose_the_arithmetic(face, fakes, tmp_path):
    table, log = tmp_path / "sites", tmp_path / "log"
    table.write_text("site=main+0x* op=TN scheme=f16x3\nsite=program+0x* op=TT scheme=bf16x6u\nop=NT accuracy=bits=60\nm=17 original\n")
    words = [f"{S} opa=1", f"{S} opa=1 opb=1 k=128", f"{S} opb=1", f"{S} m=17", f"{S} k=64"]
    got = lines(fakes.main, *words, face=face, HALFTONE_SITES=str(table), HALFTONE_LOG=str(log), HALFTONE="record")
    assert [g[2:] for g in got] == [["1", "0"], ["1", "0"], ["0", "1"], ["0", "1"], ["1", "0"]]
    whys = rows(log)
    assert [row["asked"] for row in whys] == ["fp32", "bf16x6u", "bits=60", "fp32", "fp32"] and whys[1]["scheme"] == "bf16x6u"
    assert whys[2]["why"].startswith(REASONS["SET_LACKS"]) and whys[3]["why"] == REASONS["SITE"]
    log.unlink()
    lines(fakes.main, f"{S} k=256", "accuracy=fp32-fast", f"{S} k=256", "accuracy=", f"{S} k=256", face=face, HALFTONE_LOG=str(log), HALFTONE="record")
    assert [line.split("\t")[9] for line in log.read_text().splitlines()[1:]] == ["fp32", "fp32-fast", "fp32"]


def fp64_schemes(face, fakes, tmp_path, *words, **env):
    """The scheme of each call, or why it is the original's."""
    log = tmp_path / "log64"
    log.unlink(missing_ok=True)
    got = lines(fakes.main, *words, face=face, HALFTONE_LOG=str(log), HALFTONE="record", **env)
    logged = rows(log)
    assert [(g[2], g[3]) for g in got] == [("1", "0") if row["served"] == "1" else ("0", "1") for row in logged]
    assert all(g[0] == "0" and float(g[1]) < 60 for g in got)
    names = {text: name for name, text in REASONS.items()}
    return [row["scheme"] if row["served"] == "1" else next(name for text, name in names.items() if row["why"].startswith(text)) for row in logged]


def scheme_of_set(folder, accuracy, m, n, k):
    """What the library itself begins such a product of FP64 with: which schemes a set has, and which of them can be certified at
    this k, is not for the face to know."""
    (folder / "ask.c").write_text(f'#include <stdio.h>\n#include "{ROOT}/runtime/halftone.h"\n'
                                  'int main(void) { halftone *h; struct halftone_plan p = HALFTONE_PLAN_INIT;\n'
                                  f'if (halftone_create(&h) || halftone_set_accuracy(h, "{accuracy}") || halftone_dquery(h, \'N\', \'N\', {m}, {n}, {k}, 1, &p)) return 1;\n'
                                  'puts(p.scheme); return halftone_destroy(h); }\n')
    cc(folder / "ask.c", "-o", folder / "ask", SET / "libhalftone-sim.so", f"-Wl,-rpath,{SET}")
    return run(folder / "ask").stdout.strip()


def test_fp64_runs_what_is_asked_for(face, fakes, tmp_path):
    """By the variable, by cuBLAS' own variable, or by the site table, whose lines hold for products that they can be done to."""
    words = [f"{D} m=64", f"{D} m=64 math=8", f"{S} k=4096 m=64"]
    fp64 = scheme_of_set(tmp_path, "fp64", 64, 40, 40)
    for env, expected in (({}, ["FP64", fp64]), ({"HALFTONE_FP64": "original"}, ["FP64", fp64]), ({"HALFTONE_FP64": "emulated"}, [fp64] * 2),
                          ({"CUBLAS_EMULATE_DOUBLE_PRECISION": "1"}, [fp64] * 2), ({"CUBLAS_EMULATE_DOUBLE_PRECISION": "0"}, ["FP64", fp64]),
                          ({"CUBLAS_EMULATE_DOUBLE_PRECISION": "1", "HALFTONE_FP64": "original"}, ["FP64", fp64]),
                          ({"HALFTONE_FP64": "fp64"}, [fp64] * 2), ({"HALFTONE_FP64": "bits=53"}, ["SET_LACKS"] * 2),
                          ({"HALFTONE_FP64": "reproducible"}, ["crt16" if any(SET.glob("ht_crt16_*.cu")) else "SET_LACKS"] * 2)):
        assert fp64_schemes(face, fakes, tmp_path, *words, **env)[:2] == expected, env
    sites = tmp_path / "sites64"
    sites.write_text("accuracy=fp32-fast\n")  # says nothing of FP64
    assert fp64_schemes(face, fakes, tmp_path, *words, HALFTONE_SITES=str(sites))[:2] == ["FP64", fp64]
    sites.write_text("m=64 n=40 scheme=crt14\n")  # nor this of FP32
    assert fp64_schemes(face, fakes, tmp_path, *words, HALFTONE_SITES=str(sites)) == ["crt14", "crt14", fp64_schemes(face, fakes, tmp_path, words[2])[0]]
    sites.write_text("api=cublasD* original\n")
    assert fp64_schemes(face, fakes, tmp_path, *words, HALFTONE_SITES=str(sites))[:2] == ["SITE", "SITE"]
    sites.write_text("api=cublasD* scheme=native64\n")
    assert fp64_schemes(face, fakes, tmp_path, *words, HALFTONE_SITES=str(sites))[:2] == ["native64", "native64"]
    sites.write_text("api=cublasD* accuracy=fp64\n")
    assert fp64_schemes(face, fakes, tmp_path, *words, HALFTONE_SITES=str(sites))[:2] == [fp64, fp64]


def test_one_handle_keeps_what_fp32_and_fp64_are_set_to_apart(face, fakes, tmp_path):
    sites = tmp_path / "sites"
    sites.write_text("m=48 scheme=crt14\nm=56 scheme=f16x3\nm=52 scheme=native64\n")
    got = fp64_schemes(face, fakes, tmp_path, f"{D} m=48", f"{S} m=56 k=256", f"{D} m=52", f"{D} m=48", f"{S} m=56 k=256", HALFTONE_SITES=str(sites))
    assert got == ["crt14", "f16x3", "native64", "crt14", "f16x3"]


# A T4 has few FP64 units, so emulation pays there early.
PAYS = [(f"{D} m=128 n=128 k=256 math=8", "crt15"), (f"{D} m=8 n=8 k=8 math=8", "NATIVE"), (f"{D} m=4 math=8 n=4 k=4", "SMALL"), (f"{D} m=8 n=8 k=8 math=8", "NATIVE")]


def weighed(face, fakes, tmp_path):
    return fp64_schemes(face, fakes, tmp_path, *[words for words, _ in PAYS], HALFTONE_STRATEGY="performant", HALFTONE_MIN="8")


def test_emulation_runs_where_it_is_predicted_to_pay(face, fakes, tmp_path):
    assert weighed(face, fakes, tmp_path) == [expected for _, expected in PAYS]
    assert fp64_schemes(face, fakes, tmp_path, PAYS[1][0]) == ["native64"]  # eager
    assert fp64_schemes(face, fakes, tmp_path, PAYS[1][0], HALFTONE_STRATEGY="performant", HALFTONE_MIN="8", HALFTONE_FP64="fp64") == ["native64"]
    always = build_face(tmp_path / "always", replaced("cublas_product.c", "plan.moduli > 0", "true"))
    never = build_face(tmp_path / "never", replaced("cublas_product.c", "plan.moduli > 0", "false"))
    for broken in (always, never):
        assert weighed(broken, fakes, tmp_path) != [expected for _, expected in PAYS]


def test_workspace_beyond_the_limit_is_the_original_s(face, fakes, tmp_path):
    words = [f"{S} m=256 n=256 k=256", f"{S} m=256 n=256 k=256 workspace=8388608"]
    sites = tmp_path / "sites"
    sites.write_text("scheme=f16x3\n")
    for limit, served in (("1K", ["0", "1"]), ("64M", ["1", "1"])):
        assert [g[2] for g in lines(fakes.main, *words, face=face, HALFTONE_WORKSPACE_MAX=limit, HALFTONE_SITES=str(sites))] == served


# ---- how programs come to their cuBLAS

def test_each_caller_s_fallback_is_its_own_copy(face, fakes):
    """Two or three copies of different majors in one process; a client says how many products its copy saw."""
    objects = [f"+{fakes.client[13]}", f"+lazy:{fakes.client[12]}", f"+{fakes.client[11]}"]
    calls = [f"{i}:{S} math={math}" for i in (0, 1, 2, 1, 0) for math in (0, 2)]
    got = lines(fakes.loader, *objects, *calls, face=face)
    assert [g[0] for g in got] == ["13", "13", "12", "12", "11", "11", "12", "12", "13", "13"]
    assert [g[3:] for g in got] == [["1", "0"], ["0", "1"]] * 5


def test_with_one_copy_in_the_global_scope_and_another_in_a_local_one(face, fakes):
    got = lines(fakes.loader, f"+global:{fakes.client[12]}", f"+{fakes.client[13]}", f"0:{S} math=2", f"1:{S} math=2", f"0:{S}", f"1:{S}", face=face)
    assert [(g[0], *g[3:]) for g in got] == [("12", "0", "1"), ("13", "0", "1"), ("12", "1", "0"), ("13", "1", "0")]


def test_what_was_found_is_forgotten_when_the_process_unloads_something(face, fakes, tmp_path):
    """The two clients have equal code, so the second may well get the first's addresses, with another cuBLAS."""
    for first, second in ((12, 13), (13, 12)):
        calls = [f"+{fakes.client[first]}", f"0:{S} math=2", "-", f"+{fakes.client[second]}", f"0:{S} math=2", f"0:{S}", "-"] * 3
        got = lines(fakes.loader, *calls, face=face)
        assert [(int(g[0]), *g[3:]) for g in got] == [(first, "0", "1"), (second, "0", "1"), (second, "1", "0")] * 3


def test_what_a_program_looks_up_itself_is_served_where_that_is_switched_on(face, fakes):
    calls = [f"dlsym:{fakes.cublas[12]}", f"dlsym:{fakes.cublas[12]}"]
    assert lines(fakes.loader, *calls, face=face) == [["0", "0", "1"]] * 2
    assert lines(fakes.loader, *calls, face=face, HALFTONE_DLSYM="1") == [["0", "1", "0"]] * 2
    assert lines(fakes.loader, *calls, face=face, HALFTONE_DLSYM="1", HALFTONE="off") == [["0", "0", "1"]] * 2


def test_what_ctypes_looks_up_goes_to_the_copy_it_was_looked_up_in(face, fakes):
    """Its caller is libffi, which is linked to no cuBLAS, and another copy is loaded."""
    code = ("import ctypes, sys\n"
            "other, used = (ctypes.CDLL(p) for p in sys.argv[1:])\n"
            "h, one, x = ctypes.c_void_p(), ctypes.c_float(1), ctypes.c_float(2)\n"
            "used.cublasCreate_v2(ctypes.byref(h))\n"
            "used.cublasSetMathMode(h, 2)\n"
            "r = ctypes.byref\n"
            "print(used.cublasSgemm_v2(h, 0, 0, 1, 1, 1, r(one), r(x), 1, r(x), 1, r(one), r(x), 1), x.value, other.fake_cublas_calls(), used.fake_cublas_calls())\n")
    for other, used in ((13, 11), (11, 13)):
        for env in ({}, {"HALFTONE_DLSYM": "1"}):
            assert lines(sys.executable, "-c", code, fakes.cublas[other], fakes.cublas[used], face=face, **env) == [["0", "6.0", "0", "1"]]


def test_rtld_next_is_counted_from_the_program_s_place(face, tmp_path):
    for name in ("last", "first"):
        cc("-shared", f"-D{name.upper()}", HERE / "linker.c", "-o", tmp_path / f"lib{name}.so", "-ldl")
    (tmp_path / "main.c").write_text("int counted(void);\nint main(void) { return counted(); }\n")
    cc(tmp_path / "main.c", "-o", tmp_path / "main", "-Wl,--no-as-needed", tmp_path / "libfirst.so", tmp_path / "liblast.so", f"-Wl,-rpath,{tmp_path}")
    for preloaded in (None, face, build_face(tmp_path / "clang", compiler="clang")):
        for env in ({}, {"HALFTONE_DLSYM": "1"}):
            assert run(tmp_path / "main", face=preloaded, check=False, **env).returncode == 11


def test_threads_get_right_results_at_once(face, fakes):
    words = [f"{api} m=70 n=70 k=70 batch=2 seed={seed}" for seed in range(3) for api in (S, ES)]
    got = lines(fakes.main, "threads=4", *words, face=face)
    assert len(got) == 4 * len(words) and all(g[0] == "0" and float(g[1]) < 60 for g in got)


def test_a_child_of_a_process_that_has_used_the_device_calls_the_original(face, fakes, tmp_path):
    before = lines(fakes.main, "fork", f"{S}", face=face)
    assert [g[2:] for g in before] == [["1", "0"]]
    log = tmp_path / "log"
    after = lines(fakes.main, f"{S}", "fork", f"{S}", f"{S}", face=face)
    assert [g[2:] for g in after] == [["1", "0"], ["0", "1"], ["0", "1"]]


def test_exit_codes_stay(face, fakes):
    for code in (0, 7):
        assert run(fakes.main, S, f"exit={code}", face=face, check=False).returncode == code


def test_products_in_handlers_of_exit_are_right(face, fakes):
    """What was loaded behind the handler's registration is gone by then, or is not: either serves."""
    for words in ([S, "atexit", S, E], ["atexit", S, E]):
        got = lines(fakes.main, *words, face=face)
        assert len(got) == len([w for w in words if w != "atexit"]) and all(g[0] == "0" and float(g[1]) < 60 for g in got)


def test_the_real_cublas_answers_as_without_the_face(face, tmp_path):
    """Without a GPU there is no handle: statuses of NULL, of cuBLAS and cuBLASLt."""
    cublas = cuda_library("libcublas.so.13")
    (tmp_path / "null.c").write_text(
        '#include <stddef.h>\n#include <stdio.h>\n#include <stdint.h>\n#include "../../runtime/dropin/cublas_names.h"\nint cublasSgemm_v2(CUBLAS_SGEMM_ARGS(int)); int cublasGemmEx_64(CUBLAS_GEMM_EX_ARGS(int64_t)); lt_matmul cublasLtMatmul;\n'
        'int main(void) { float x = 1; void *h = NULL; printf("%d", cublasSgemm_v2(h, 0, 0, 1, 1, 1, &x, &x, 1, &x, 1, &x, &x, 1));\n'
        'printf(" %d", cublasGemmEx_64(h, 0, 0, 1, 1, 1, &x, &x, 0, 1, &x, 0, 1, &x, &x, 0, 1, 68, -1));\n'
        'printf(" %d\\n", cublasLtMatmul(h, h, &x, &x, h, &x, h, &x, &x, h, &x, h, h, h, 0, h)); return 0; }\n'.replace("../../runtime/dropin", str(ROOT / "runtime/dropin")))
    cc(tmp_path / "null.c", "-o", tmp_path / "null", cublas, cuda_library("libcublasLt.so.13"), f"-Wl,-rpath,{cublas.parent}")
    alone, under = run(tmp_path / "null"), run(tmp_path / "null", face=face)
    assert under.stdout == alone.stdout and under.stderr == "" and alone.stdout.split()[0] == "1"


def test_a_product_without_cublas_behind_it_is_a_status_and_a_line(face, fakes, tmp_path):
    """A program that is linked to the face alone."""
    source = tmp_path / "alone.c"
    source.write_text("int cublasSgemm_v2(void *h, int a, int b, int m, int n, int k, const float *x, const float *p, int l, const float *q, int o, const float *y, float *c, int e);\n"
                      "int main(void) { float f = 1; int s = 0; for (int i = 0; i < 2; i++) s = cublasSgemm_v2(0, 0, 0, 1, 1, 1, &f, &f, 1, &f, 1, &f, &f, 1); return s; }\n")
    program = tmp_path / "alone"
    subprocess.run(["gcc", source, "-o", program, face, f"-Wl,-rpath,{face.parent}"], check=True)
    done = run(program, check=False)
    assert done.returncode == 15 and done.stderr.count("\n") == 1 and "cublasSgemm_v2" in done.stderr


# ---- what every process pays

def test_the_face_is_small_needs_libc_alone_and_exports_its_table(face):
    dynamic = subprocess.run(["readelf", "-dW", face], capture_output=True, text=True).stdout
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) == ["libc.so.6"] and re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == ["libhalftone_cublas.so"]
    assert "VERDEF" not in dynamic and "NODELETE" in dynamic and "INIT" not in dynamic  # nothing runs when it is mapped
    assert face.stat().st_size < 50_000
    symbols = subprocess.run(["nm", "-D", "--defined-only", face], capture_output=True, text=True).stdout
    assert sorted(line.split()[-1] for line in symbols.splitlines()) == EXPORTED


def seconds(env, times=40):
    best = 9.0
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(["/bin/true"], env=env)
        best = min(best, time.perf_counter() - start)
    return best


def test_a_program_without_cublas_starts_no_slower_than_by_a_millisecond(face):
    assert seconds({"LD_PRELOAD": str(face)}) - seconds({}) < 1e-3
    calls = subprocess.run(["strace", "-f", "-e", "trace=openat", "/bin/true"], env={"LD_PRELOAD": str(face), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True) \
        if subprocess.run(["sh", "-c", "command -v strace"], capture_output=True).returncode == 0 else None
    assert calls is None or "libhalftone.so" not in calls.stderr


def test_the_real_cusolver_binds_to_the_face(face, tmp_path):
    """Loaded without a GPU; the dynamic linker says what it binds to what."""
    solver = cuda_library("libcusolver.so.12")
    load = tmp_path / "load"
    (tmp_path / "load.c").write_text('#include <dlfcn.h>\n#include <stdio.h>\nint main(int c, char **v) { (void)c; if (dlopen(v[1], RTLD_NOW | RTLD_LOCAL)) return 0;'
                                     ' puts(dlerror()); return 1; }\n')
    subprocess.run(["gcc", tmp_path / "load.c", "-o", load, "-ldl"], check=True)
    done = run(load, solver, face=face, LD_DEBUG="bindings")
    bound = {name for name in re.findall(rf"binding file \S*libcusolver\S* \[0\] to {re.escape(str(face))} \[0\]: normal symbol `(\w+)'", done.stderr)}
    assert {"cublasSgemm_v2", "cublasSgemm_v2_64", "cublasSgemmStridedBatched_64", "cublasGemmEx"} <= bound, bound


# ---- broken faces

def without(name):
    """The face exports all but this function."""
    return lambda file, text: text + f'\n__asm__(".hidden {name}");\n' if file == "cublas_entries.c" else text


@pytest.mark.mutation
@pytest.mark.parametrize("edit", [
    *[pytest.param(without(name), id=name) for name in MUST],
    pytest.param(replaced("cublas_forms.c", "CU_COMPUTE_32F_FAST_TF32, ANY, DROPIN_TF32", "CU_COMPUTE_32F_FAST_TF32, ANY, DROPIN_SERVED"), id="tf32"),
    pytest.param(replaced("cublas_forms.c", "CU_MATH_MASK & ~(", "~("), id="flag"),
    pytest.param(replaced("cublas_product.c", "s->device_scalars = pointer_mode == CU_POINTER_DEVICE;", ""), id="pointers"),
    pytest.param(replaced("cublas_product.c", "return op == CU_OP_N ? 'N' : 'T';", "return op == CU_OP_T ? 'T' : 'N';"), id="conjugate"),
    pytest.param(replaced("cublas_entries.c", ".stride_a = stride_a, .stride_b = stride_b", ".stride_a = stride_b, .stride_b = stride_a"), id="strides"),
    pytest.param(replaced("cublas_forms.c", "CU_COMPUTE_64F, CU_MATH_EMULATED_FIXEDPOINT, DROPIN_SERVED, DROPIN_KIND_FP64_EMULATED", "CU_COMPUTE_64F, CU_MATH_EMULATED_FIXEDPOINT, DROPIN_SERVED, DROPIN_KIND_FP64"), id="fp64 mode"),
    pytest.param(replaced("cublas_forms.c", "CU_MATH_EMULATED_FIXEDPOINT : CU_MATH_EMULATED_BF16X9", "0 : 0"), id="both modes"),
    pytest.param(replaced("cublas_forms.c", "g->b_type != type || ", ""), id="types"),
    pytest.param(replaced("cublas_entries.c", "sizeof(S) == sizeof(int64_t)", "false"), id="width"),
    pytest.param(replaced("common_count.c", "call->kind == DROPIN_KIND_FP64_EMULATED || settings", "call->kind != DROPIN_KIND_FP32 || settings"), id="plain fp64"),
    pytest.param(replaced("cublas_serve.c", "why == DROPIN_SERVED && sm_target != 0", "why == DROPIN_SERVED && sm_target > 32"), id="sm"),
])
def test_a_broken_face_is_noticed(edit, fakes, native, tmp_path, request):
    """By forms of the type that it breaks."""
    fp64 = any(word in request.node.name for word in ("Dgemm", "fp64", "both modes"))
    part = [(form, alone) for form, alone in zip(FORMS, native) if is_fp64(form[0]) == fp64]
    forms = [form for form, _ in part]
    got, rows = served_forms(build_face(tmp_path / "face", edit), fakes, tmp_path / "log", forms)
    assert faults([alone for _, alone in part], got, rows, forms) != []


@pytest.mark.mutation
@pytest.mark.parametrize("edit", [
    pytest.param(replaced("common_caller.c", "at->unloads != unloads", "false"), id="unloads"),
    pytest.param(replaced("cublas_origin.c", "if (known && fill(", "if (false && fill("), id="by name alone")])
def test_a_face_that_mixes_copies_up_is_noticed(edit, fakes, tmp_path):
    broken = build_face(tmp_path / "face", edit)
    with pytest.raises(AssertionError):
        test_each_caller_s_fallback_is_its_own_copy(broken, fakes)
        test_what_was_found_is_forgotten_when_the_process_unloads_something(broken, fakes, tmp_path)
