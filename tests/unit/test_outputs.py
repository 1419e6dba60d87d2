"""Where the command and the generator write: devices, pipes and links stay what they are, a place that cannot be written is
found before anything is measured, nothing of the folder it is run in is executed."""
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from conftest import GEN, ROOT, full_disk, npy

COMMAND = ROOT / "out/a800/halftone-sim"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices and become another user")


@pytest.fixture
def a(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy(3, 3))
    return tmp_path / "a.npy"


def command(*args, **options):
    return subprocess.run([str(COMMAND), *map(str, args)], **{"capture_output": True, "timeout": 120, **options})


def mm(a, out, **options):
    return command("mm", a, a, "-o", out, **options)


def page(out, **options):
    return subprocess.run([str(GEN), "explain", "--gpu", "a800", "--html", str(out)], **{"capture_output": True, "timeout": 60, **options})


def product(a, tmp_path):
    assert mm(a, tmp_path / "wanted.npy").returncode == 0
    return (tmp_path / "wanted.npy").read_bytes()


@needs_root
def test_a_device_stays_a_device(a, tmp_path):
    device = tmp_path / "null"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (tmp_path / "link").symlink_to("null")
    for out in device, tmp_path / "link":
        assert mm(a, out).returncode == 0
        run = page(out)
        assert run.returncode == 1 and b"is no ordinary file and stays as it is" in run.stderr and run.stderr.count(b"\n") == 1
        assert stat.S_ISCHR(device.lstat().st_mode) and (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("args", [["mm"], ["report", "--sizes", 16, "--families", "uniform", "--schemes", "half", "--html"],
                                  ["bench", "--sizes", "64,65", "--schemes", "half", "--seconds", "0.001", "--out"]])
def test_a_pipe_gets_the_file_once(args, a, tmp_path):
    args = ["mm", a, a, "-o"] if args == ["mm"] else args
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    run = command(*args, pipe)
    if not stat.S_ISFIFO(pipe.lstat().st_mode):
        pytest.fail("the pipe was replaced")
    reader.join(timeout=10)
    assert run.returncode == 0 and got, run.stderr
    assert command(*args, tmp_path / "file").returncode == 0
    wanted = (tmp_path / "file").read_bytes()
    assert got[0] == wanted if args[0] == "mm" else len(got[0].splitlines()) == len(wanted.splitlines())


@pytest.mark.parametrize("write", [mm, lambda a, out: page(out)], ids=["mm", "explain"])
@pytest.mark.parametrize("link", ["there/file", "absolute", "chain"])
def test_a_link_stays_and_its_file_is_replaced(write, link, a, tmp_path):
    (tmp_path / "there").mkdir()
    file = tmp_path / "there/file"
    file.write_text("old")
    file.chmod(0o604)
    (tmp_path / "second").symlink_to("there/file")
    (tmp_path / "out").symlink_to({"absolute": file, "chain": "second"}.get(link, link))
    before = os.readlink(tmp_path / "out")
    run = write(a, tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out").is_symlink() and os.readlink(tmp_path / "out") == before
    assert len(file.read_bytes()) > 10 and stat.S_IMODE(file.stat().st_mode) == 0o604
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["file"]


def test_a_link_to_nothing(a, tmp_path):
    """The command makes the file that it names; the generator leaves it, as its line says. A circle is an error of both."""
    (tmp_path / "out").symlink_to("not/yet")
    (tmp_path / "not").mkdir()
    run = page(tmp_path / "out")
    assert run.returncode == 1 and b"is a link that leads to no file" in run.stderr and (tmp_path / "out").is_symlink()
    assert mm(a, tmp_path / "out").returncode == 0
    assert (tmp_path / "out").is_symlink() and (tmp_path / "not/yet").read_bytes() == product(a, tmp_path)
    (tmp_path / "circle").symlink_to("circle")
    for run in mm(a, tmp_path / "circle"), page(tmp_path / "circle"):
        assert run.returncode == 1 and run.stderr.count(b"\n") == 1 and (tmp_path / "circle").is_symlink()


def test_standard_output_is_an_output(a, tmp_path):
    """A pipe gets the product and nothing else; a file keeps what was printed before. The remark goes to stderr. The link is
    what /dev/stdout is; a program that replaces it must not do so to the machine's own."""
    wanted, standard = product(a, tmp_path), tmp_path / "stdout"
    standard.symlink_to("/proc/self/fd/1")
    run = mm(a, standard)
    assert run.returncode == 0 and run.stdout == wanted and b"3 x 3, k = 3" in run.stderr
    with open(tmp_path / "file", "wb") as file:
        file.write(b"before")
        file.flush()
        run = mm(a, standard, stdout=file, capture_output=False)
        file.write(b"after")
    assert run.returncode == 0 and (tmp_path / "file").read_bytes() == b"before" + wanted + b"after"
    assert standard.is_symlink()


@pytest.mark.parametrize("write", [lambda a, out: mm(a, out, preexec_fn=full_disk(64)), lambda a, out: page(out, preexec_fn=full_disk(64))],
                         ids=["mm", "explain"])
def test_a_full_disk_keeps_the_old_file_and_its_neighbours(write, a, tmp_path):
    out, neighbour = tmp_path / "out", tmp_path / "out.tmp"
    out.write_text("old")
    neighbour.write_text("mine")
    run = write(a, out)
    assert run.returncode == 1 and run.stderr.count(b"\n") == 1
    assert out.read_text() == "old" and neighbour.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "out", "out.tmp"]


def test_a_page_leaves_files_beside_it_alone(tmp_path):
    """--html P once wrote P.tmp first, also through a link of that name."""
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "p.html.tmp").symlink_to("victim")
    assert page(tmp_path / "p.html").returncode == 0
    assert (tmp_path / "victim").read_text() == "mine" and (tmp_path / "p.html.tmp").is_symlink()
    assert stat.S_IMODE((tmp_path / "p.html").stat().st_mode) == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@needs_root
def test_what_another_user_may_not_write(a):
    """A read-only folder, and a read-only file in a folder where a rename would work. The folder is found before the run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for file in COMMAND, GEN, ROOT / "gen/gpus/a800.gpu", a:
            shutil.copy(file, folder)
        (folder / "a.npy").chmod(0o644)
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        (folder / "open/file").write_text("kept")
        nobody = {"user": 65534, "group": 65534, "extra_groups": [], "capture_output": True, "cwd": folder}
        for place, says in ("out", b"cannot write here: Permission denied"), ("open/file", b"Permission denied|may not be written"):
            for args in (COMMAND.name, "mm", "a.npy", "a.npy", "-o", place), (GEN.name, "explain", "--gpu", "./a800.gpu", "--html", place):
                run = subprocess.run([f"./{args[0]}", *args[1:]], **nobody)
                assert run.returncode == 1 and run.stderr.count(b"\n") == 1 and re.search(says, run.stderr), run.stderr
        assert (folder / "open/file").read_text() == "kept" and not (folder / "out").exists()
        assert [p.name for p in (folder / "open").iterdir()] == ["file"]


@pytest.mark.parametrize("args", [
    ["bench", "--out"], ["contract", "--out"], ["report", "--html"], ["profile", "--out"],
    ["tune", "--shapes", ROOT / "bench/shapes/public.txt", "--out", "t.tsv", "--html"]], ids=lambda v: v[0])
def test_a_place_that_cannot_be_written_is_found_first(args, tmp_path):
    """These runs take minutes in the simulator."""
    run = command(*args, tmp_path / "nowhere/file", cwd=tmp_path, timeout=5)
    assert run.returncode == 1 and b"nowhere/file: cannot write here: No such file" in run.stderr and run.stderr.count(b"\n") == 1
    run = command(*args, tmp_path, cwd=tmp_path, timeout=5)
    assert run.returncode == 1 and b"is a folder" in run.stderr and run.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_report_folder_that_cannot_be_written_is_found_first(tmp_path):
    (tmp_path / "report.tsv").mkdir()
    run = command("report", "--out", tmp_path, timeout=5)
    assert run.returncode == 1 and b"report.tsv: is a folder" in run.stderr


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="needs gnuplot")
def test_report_runs_nothing_of_the_current_folder(tmp_path):
    """An installed command knows its plots; ./bench/halftone/plots belongs to whoever wrote the folder."""
    (tmp_path / "bin").mkdir()
    shutil.copy(COMMAND, tmp_path / "bin/halftone")
    (tmp_path / "bench/halftone/plots").mkdir(parents=True)
    for name in "error.gp", "histogram.gp":
        (tmp_path / "bench/halftone/plots" / name).write_text(f"system('touch {tmp_path}/owned')\n")
    (tmp_path / "o").mkdir()
    (tmp_path / "o/.gnuplot").write_text(f"system('touch {tmp_path}/owned')\n")
    run = subprocess.run([str(tmp_path / "bin/halftone"), *"report --sizes 16,32 --families uniform --schemes half,f16x3 --out o".split()],
                         cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path / "o")})
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "owned").exists()
    for name in "error.svg", "histogram.svg":
        assert "</svg>" in (tmp_path / "o" / name).read_text(), run.stdout
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == [".gnuplot", "error.svg", "histogram.svg", "histogram.tsv", "report.tsv"]


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="needs gnuplot")
def test_a_report_of_one_size_is_drawn_without_a_word(tmp_path):
    """An axis of one place was gnuplot's to complain of, for each curve."""
    run = command("report", "--sizes", "16", "--families", "uniform,nan", "--schemes", "half", "--out", tmp_path)
    assert run.returncode == 0 and b"Warning" not in run.stderr and b"gnuplot" not in run.stderr, run.stderr
    assert "</svg>" in (tmp_path / "error.svg").read_text()


PAGES = [["report", "--sizes", "16", "--families", "uniform", "--schemes", "half", "--html"],
         ["tune", "--shapes", "s.txt", "--schemes", "half", "--seconds", "0.001", "--out", "t.tsv", "--html"]]


@pytest.mark.parametrize("args", PAGES, ids=lambda v: v[0])
def test_a_page_without_python3_is_one_line_before_the_run(args, tmp_path):
    (tmp_path / "s.txt").write_text("16 16 16\n")
    (tmp_path / "bin").mkdir()
    where = {"cwd": tmp_path, "env": {**os.environ, "PATH": str(tmp_path / "bin")}}

    def refused(words, program=COMMAND):
        run = subprocess.run([str(program), *args, "p.html"], capture_output=True, timeout=30, **where)
        assert run.returncode == 1 and not run.stdout and words in run.stderr and run.stderr.count(b"\n") == 1, run.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == ["bin", "s.txt"]
    refused(b"--html needs python3: apt-get install python3, or leave --html out")
    (tmp_path / "bin/python3").write_text("#!/bin/sh\nexit 5\n")
    (tmp_path / "bin/python3").chmod(0o755)
    refused(b"python3 did not draw the page")
    shutil.copy(COMMAND, tmp_path / "bin/halftone")
    refused(b"share/halftone/pages.py, which draws the page, cannot be read", tmp_path / "bin/halftone")
    with tempfile.TemporaryDirectory() as lone:
        shutil.copy(COMMAND, lone)
        refused(b"not where it was built or installed", Path(lone) / COMMAND.name)


@pytest.mark.parametrize("args", PAGES, ids=lambda v: v[0])
def test_nothing_of_the_current_folder_draws_a_page(args, tmp_path):
    """Modules and scripts of the names that pages.py has, here and where PYTHONPATH leads."""
    for folder in "bench", "share/halftone":
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pages.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')\n")
    for name in "html.py", "math.py", "collections.py", "sitecustomize.py":
        (tmp_path / name).write_text(f"open({str(tmp_path / 'owned')!r}, 'w')\n")
    (tmp_path / "s.txt").write_text("16 16 16\n")
    run = command(*args, "p.html", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "owned").exists() and "</html>" in (tmp_path / "p.html").read_text()


def test_a_page_on_a_full_disk_keeps_the_old_one(tmp_path):
    (tmp_path / "p.html").write_text("old")
    run = command(*PAGES[0], "p.html", cwd=tmp_path, preexec_fn=full_disk(3000))
    assert run.returncode == 1 and run.stderr.splitlines()[-1].startswith(b"halftone report: p.html: writing failed"), run.stderr
    assert b"Traceback" not in run.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"] and (tmp_path / "p.html").read_text() == "old"


@pytest.mark.parametrize("args", [["contract", "--scheme", "nope"], ["breakdown", "--scheme", "nope"], ["report", "--schemes", "nope"],
                                  ["bench", "--schemes", "nope"], ["tune", "--shapes", ROOT / "bench/shapes/public.txt", "--out", "t", "--schemes", "nope"],
                                  ["report", "--accuracy", "nope"], ["contract", "--families", "nope"], ["breakdown", "--family", "nope"]],
                         ids=lambda v: v[0] + "-" + v[-2].strip("-"))
def test_an_unknown_name_is_wrong_usage(args, tmp_path):
    run = command(*args, cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.count(b"\n") == 1 and b"nope" in run.stderr, run.stderr


@pytest.mark.parametrize("text", [" 8", "+8", "8 ", "0x8", "inf"])
def test_a_number_is_digits_and_nothing_else(text, tmp_path):
    """What C's functions would take besides: blanks and a sign before it, other bases, infinity."""
    for args in ["breakdown", "--sizes=" + text], ["breakdown", "--seconds=" + text], ["app", "cholesky", "--n=32", "--diagonal=" + text], \
            ["tune-app", "cholesky", "--n=32", "--out=t", "--levels=half,fp32", "--tau=" + text]:
        run = command(*args, cwd=tmp_path)
        assert run.returncode == 2 and run.stderr.count(b"\n") == 1 and args[-1].split("=")[0].encode() in run.stderr, run
