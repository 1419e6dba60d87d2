"""What the faces share: the environment, the site table, the log. Each wrong value is one line on stderr, and nothing is served."""
import os
import subprocess

import pytest
from conftest import ROOT

WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
CC = ["-std=c11", "-D_GNU_SOURCE", "-O1", *WARN, "-fPIC"]


@pytest.fixture(scope="module", params=["gcc", "clang"])
def probe(request, tmp_path_factory):
    program = tmp_path_factory.mktemp(request.param) / "probe"
    sources = [*sorted((ROOT / "runtime/dropin").glob("common_*.c")), ROOT / "runtime/ht_site_line.c", ROOT / "tests/dropin/common_probe.c"]
    subprocess.run([request.param, *CC, "-fvisibility=hidden", *map(str, sources), "-o", str(program)], check=True)

    def run(*words, **env):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "PROBE"))}
        done = subprocess.run([str(program), *words], capture_output=True, text=True, env={**keep, **env})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr
    return run


def test_without_variables_a_call_is_for_halftone_with_accuracy_fp32(probe):
    assert probe("64", "64", "64", "NN") == (["served|fp32|0"], "")


@pytest.mark.parametrize("name, good, bad", [
    ("HALFTONE", "record", "maybe"), ("HALFTONE_STRATEGY", "eager", "fast"), ("HALFTONE_TF32", "upgrade", "1"),
    ("HALFTONE_DLSYM", "1", "yes"), ("HALFTONE_MIN", "12", "-1"), ("HALFTONE_MIN", "0", "12k"), ("HALFTONE_WORKSPACE_MAX", "256M", "256MB"),
    ("HALFTONE_WORKSPACE_MAX", "1024", "1e9"), ("HALFTONE_ACCURACY", "bits=14", "fp64"), ("HALFTONE_ACCURACY", "auto", "bound=x"),
    ("HALFTONE_ACCURACY", "bound=1.5e-6", "relative=1"), ("HALFTONE_ACCURACY", "relative=1e-3:rho=20", "relative=1e-3:rho=0.5"), ("HALFTONE_ACCURACY", "bits=3", "bound=1e"),
    ("HALFTONE_ACCURACY", "bound=.5", "bound=2"), ("HALFTONE_FP64", "auto", "bits=x"), ("HALFTONE_FP64", "bound=1e-9", "bits=0"), ("HALFTONE_ACCURACY", "reproducible:3", "reproducible:4"),
    ("HALFTONE_FP64", "original", "fp32"), ("HALFTONE_FP64", "emulated", "crt15"), ("HALFTONE_FP64", "bits=40", "bits="),
    ("HALFTONE_LOG", "/dev/null", "x" * 2000)], ids=lambda v: v[:24])
def test_a_value_that_a_variable_cannot_have_is_one_line_and_nothing_is_served(probe, name, good, bad):
    lines, said = probe("64", "64", "64", "NN", **{name: good})
    assert lines[0].startswith("served|") and said == ""
    lines, said = probe("64", "64", "64", "NN", "NN", **{name: bad})
    assert [line.startswith("HALFTONE=off, or") for line in lines] == [True, True]
    assert said.startswith(f"halftone: {name}={bad[:200]} is not ") and said.endswith("nothing is served in this process\n") and said.count("\n") == 1


def test_off_says_nothing(probe):
    lines, said = probe("64", "64", "64", "NN", HALFTONE="off")
    assert lines[0].startswith("HALFTONE=off") and said == ""


def test_small_products_are_left_to_the_original_where_that_is_asked_for(probe):
    for least, served in (("64", True), ("65", False)):
        assert probe("64", "64", "64", "NN", HALFTONE_MIN=least)[0][0].startswith("served") == served
    assert probe("64", "64", "64", "NN", HALFTONE_MIN="65", HALFTONE_STRATEGY="eager")[0][0].startswith("served")


def test_accuracy_of_a_thread_goes_before_the_environment_s(probe):
    assert probe("8", "8", "8", "NN", HALFTONE_ACCURACY="half", PROBE_ACCURACY="tf32")[0] == ["accuracy 0", "served|tf32|0"]
    assert probe("8", "8", "8", "NN", HALFTONE_ACCURACY="half", PROBE_ACCURACY="fp61")[0] == ["accuracy -1", "served|half|0"]


def test_the_first_line_of_the_site_table_that_holds_counts(probe, tmp_path):
    table = tmp_path / "sites"
    table.write_text("# layers\n\nsite=program+0x* op=NT m=64 n=1-63 original   # narrow\nop=NT accuracy=fp32-fast\n"
                     "api=cublasSgemm_v2* k=100- scheme=i8x6\nsite=libtorch* original\nordinal=2-3 accuracy=half\n")
    sites = {"HALFTONE_SITES": str(table)}
    original = "the site table says original|fp32|1"
    assert probe("64", "63", "64", "NT", **sites) == ([original], "")
    assert probe("64", "64", "64", "NT", **sites)[0] == ["served|fp32-fast|1"]
    assert probe("64", "64", "100", "NN", **sites)[0] == ["served|i8x6|1"]
    runs = ["NN", "TT", "NN", "NN", "NN", "step", "NN", "NN"]
    assert [line.split("|")[1:] for line in probe("64", "64", "99", *runs, **sites)[0]] == [
        ["fp32", "1"], ["fp32", "1"], ["half", "2"], ["half", "3"], ["fp32", "4"], ["fp32", "1"], ["half", "2"]]


def test_lines_are_of_the_type_that_has_what_they_ask_for(probe, tmp_path):
    table = tmp_path / "sites"
    table.write_text("m=1 scheme=f16x3\nm=1 scheme=crt15\nm=2 scheme=auto\nm=3 accuracy=bits=12\nm=4 accuracy=half\n")
    for env, said in ({}, ["f16x3", "auto", "bits=12", "half"]), ({"PROBE_FP64": "1", "HALFTONE_FP64": "fp64"}, ["crt15", "auto", "bits=12", "fp64"]):
        assert [probe(m, "64", "64", "NN", HALFTONE_SITES=str(table), **env)[0] for m in "1234"] == [[f"served|{text}|0"] for text in said]


@pytest.mark.parametrize("line, word", [("m=64", "m=64"), ("m=64 accuracy=fp61", "accuracy"), ("accuracy=bits=x", "bits=x"), ("accuracy=fp64:bound=2", "bound=2"), ("m=-- original", "m"), ("m=9-2 original", "m"), ("mm=1 original", "mm"),
                                        ("original m=1", "m=1"), ("op=NX original", "op"), ("accuracy= ", "accuracy"), ("originally", "originally"), ("k=1x original", "k")])
def test_a_malformed_site_table_is_one_line_with_its_place(probe, tmp_path, line, word):
    table = tmp_path / "sites"
    table.write_text("op=NT original\n" + line + "\n")
    lines, said = probe("64", "64", "64", "NN", HALFTONE_SITES=str(table))
    assert lines[0].startswith("HALFTONE=off, or") and said.count("\n") == 1
    assert f"{table}:2: '{word}" in said and "site= api=" in said


def test_a_site_table_that_is_not_there_is_one_line(probe):
    lines, said = probe("64", "64", "64", "NN", HALFTONE_SITES="/nowhere/sites")
    assert lines[0].startswith("HALFTONE=off, or") and said == "halftone: HALFTONE_SITES: /nowhere/sites: cannot be read: No such file or directory; nothing is served in this process\n"


def test_the_log_has_calls_that_are_alike_once_and_all_of_them_in_record(probe, tmp_path):
    for mode, calls in (("on", 2), ("record", 4)):
        log = tmp_path / mode
        probe("8", "16", "32", "NN", "NN", "NT", "NN", HALFTONE=mode, HALFTONE_LOG=str(log))
        head, *rows = [line.split("\t") for line in log.read_text().splitlines()]
        assert len(rows) == calls and all(len(row) == len(head) for row in rows)
        first = dict(zip(head, rows[0]))
        assert (first["api"], first["op"], first["m"], first["n"], first["k"], first["batch"]) == ("cublasSgemm_v2", "NN", "8", "16", "32", "1")
        assert first["site"].startswith("program+0x") and first["asked"] == "fp32"


def test_a_log_that_cannot_be_written_is_one_line_and_calls_go_on(probe):
    lines, said = probe("8", "8", "8", "NN", HALFTONE_LOG="/nowhere/log")
    assert lines[0].startswith("served") and said.count("\n") == 1 and "/nowhere/log" in said
