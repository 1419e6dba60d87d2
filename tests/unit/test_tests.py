"""The tests' own machinery: a program in which no test runs fails, whoever starts it."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

CHOOSING = """#include "%s/tests/test.h"
TEST(first) {}
TEST(second) {}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choosing")
    (folder / "choosing.c").write_text(CHOOSING % ROOT)
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "choosing.c", "-o", "choosing", "-lcmocka"],
                   cwd=folder, check=True)
    return folder / "choosing"


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


def test_a_pattern_that_names_no_test_fails(program):
    assert run(program, "--list").stdout.split() == ["first", "second"]
    for pattern, ran in ((None, 2), ("first", 1), ("*", 2), ("s*", 1), ("!first", 1)):
        done = run(program, *([pattern] if pattern else []))
        assert done.returncode == 0 and f"{ran} test(s) run" in done.stdout + done.stderr, pattern
    assert "second" in (done := run(program, "!first")).stdout + done.stderr and "[       OK ] first" not in done.stdout + done.stderr
    for pattern in ("third", "firs", "", "!third"):
        done = run(program, pattern)
        assert done.returncode == 2 and f"no test is called '{pattern.lstrip('!')}'" in done.stderr


def test_programs_that_choose_do_it_here():
    """No program hands its argument to cmocka's filter by itself."""
    users = [p.name for p in [*ROOT.glob("tests/**/*.[ch]"), *ROOT.glob("tests/*/*.cpp")] if "cmocka_set_test_filter" in p.read_text()]
    assert users == ["test.h"]


@pytest.mark.parametrize("says, passes", [("[==========] 3 test(s) run.", True), ("[==========] 0 test(s) run.", False), ("", False)])
def test_make_fails_where_no_test_ran(says, passes, tmp_path):
    log = ROOT / "out/test/tests-of-tests.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = run("make", "--no-print-directory", "--eval", f"tests-of-tests:\n\t@$(call program,tests-of-tests,echo '{says}')", "tests-of-tests",
                   cwd=ROOT, env={**os.environ, "MAKEFLAGS": "", "MAKELEVEL": ""})
    finally:
        log.unlink(missing_ok=True)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr


def stub(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def check_gpu(folder):
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    stub(folder, "compute-sanitizer", 'while [ "$1" != memcheck ] && [ $# -gt 3 ]; do shift; done; exit 0')
    return run("sh", ROOT / "tests/gpu/check_gpu.sh", folder, env={**os.environ, "PATH": path})


def test_check_gpu_asks_the_programs_for_their_tests(tmp_path):
    asked = 'if [ "$1" = --list ]; then echo one; echo two; exit; fi; echo "ran $1"; '
    for name in ("halftone", "test_check", "test_dgemm", "test_dcheck", "test_auto", "test_reproducible", "test_accuracy"):
        stub(tmp_path, name, "exit 0")
    stub(tmp_path, "test_product", asked + "exit 0")
    stub(tmp_path, "test_direct", asked.replace("one", "three").replace("two", "four") + '[ "$1" = four ] && exit 77; exit 0')
    done = check_gpu(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    passed, skipped = (next(l for l in done.stdout.splitlines() if l.startswith(word)) for word in ("passed:", "skipped:"))
    assert {"one", "two", "three", "memcheck-one", "synccheck-four"} <= set(passed.split()) and "four" in skipped.split()
    for silent in ("exit 0", "exit 3"):
        stub(tmp_path, "test_direct", silent)
        done = check_gpu(tmp_path)
        assert done.returncode == 1 and "test_direct --list names no tests" in done.stdout


def test_a_file_of_tests_runs_alone():
    """It imports conftest and files beside it: those of other folders are found only where these were collected too."""
    for path in ROOT.glob("tests/*/*.py"):
        for name in re.findall(r"(?m)^\s*(?:from|import) ((?:test_|mutat)\w+)", path.read_text()):
            assert path.with_name(name + ".py").is_file(), f"{path.name} imports {name} of another folder"


def test_the_rest_is_all_that_has_not_passed(tmp_path):
    """--sample takes some of what is broken on purpose and nothing that needs whole sets; --rest, of equal sources, what did not pass, and parts again."""
    folder = tmp_path / "tests/unit"
    folder.mkdir(parents=True)
    for name in ("conftest.py", "copies.py", "pytest.ini"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (folder / "test_x.py").write_text("""import pytest
@pytest.mark.mutation
@pytest.mark.parametrize("n", range(256))
def test_broken(n): pass
@pytest.mark.whole
def test_whole(): pass
@pytest.mark.part
def test_part(): pass
def test_skipped(pytestconfig): pytest.skip("") if pytestconfig.getoption("--sample") else None
def test_plain(): pass
""")

    def passed(*options):
        done = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rp", *options, "tests", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return set(re.findall(r"(?m)^PASSED .*::(\S+)", done.stdout))
    everything, sample = passed(), passed("--sample")
    assert len(everything) == 260 and {"test_part", "test_plain"} < sample and not {"test_whole", "test_skipped"} & sample and 4 < len(sample) < 40
    assert passed("--rest") == everything - sample | {"test_part"}
    (tmp_path / "tests/more.txt").write_text("")
    assert passed("--rest") == everything
