"""Shared by the faces' tests: the simulator behind them, fake copies of what they stand before, and programs that call those."""
import os
import pathlib
import subprocess

import pytest
from conftest import ROOT

HERE = ROOT / "tests/dropin"
SET = ROOT / "out/t4"
STRICT = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-fPIC"]


def cc(*words, compiler="gcc"):
    done = subprocess.run([compiler, *STRICT, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(program, *words, face=None, check=True, **env):
    """A program under a face (several: a list), with the simulator behind it; variables of the caller's do not get in."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "CUBLAS", "LD_"))}
    if face:
        keep |= {"LD_PRELOAD": " ".join(map(str, face if isinstance(face, list) else [face])), "HALFTONE_LIBRARY": str(SET / "libhalftone-sim.so"),
                 "HALFTONE_STRATEGY": "eager"}
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, env={**keep, **env}, timeout=120)
    assert not check or done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done


def lines(*args, **kw):
    return [line.split() for line in run(*args, **kw).stdout.splitlines()]


class Fakes:
    """libcublas.so.MAJOR with a client that is linked to it (client.so), the program `main` (of 13) and `loader` (of none)."""

    def __init__(self, folder):
        self.folder = folder
        self.client, self.cublas = {}, {}
        client, main = folder / "client.o", folder / "main.o" # compiled once, linked thrice
        cc("-c", HERE / "cublas_client.c", "-o", client)
        cc("-c", HERE / "cublas_main.c", "-o", main)
        for major in (11, 12, 13):
            at = folder / str(major)
            at.mkdir()
            script = at / "versions"
            script.write_text(f"libcublas.so.{major} {{ global: cublas*; fake_*; local: *; }};\n")
            self.cublas[major] = at / f"libcublas.so.{major}"
            cc("-shared", f"-DMAJOR={major}", "-Wl,-Bsymbolic", f"-Wl,-soname,libcublas.so.{major}", f"-Wl,--version-script={script}", HERE / "fake_cublas.c",
               "-o", self.cublas[major])
            self.client[major] = at / "client.so"
            cc("-shared", *(["-DONLY_32_BITS", HERE / "cublas_client.c"] if major < 12 else [client]), "-o", self.client[major], self.cublas[major], f"-Wl,-rpath,{at}", "-lm")
        self.main = folder / "main"
        cc(client, main, "-o", self.main, self.cublas[13], f"-Wl,-rpath,{folder / '13'}", "-lm", "-ldl", "-lpthread")
        # the same program with a driver
        at = folder / "driver"
        at.mkdir()
        cc("-shared", "-Wl,-soname,libcuda.so.1", HERE / "fake_driver.c", "-o", at / "libcuda.so.1")
        self.driven = folder / "driven"
        cc(client, main, "-o", self.driven, self.cublas[13], "-Wl,--no-as-needed", at / "libcuda.so.1",
           f"-Wl,-rpath,{folder / '13'}:{at}", "-lm", "-ldl", "-lpthread")
        self.loader = folder / "loader"
        cc(HERE / "cublas_loader.c", "-o", self.loader, "-ldl")


@pytest.fixture(scope="session")
def face():
    """libhalftone_cublas.so as make builds it."""
    for name in ("libhalftone_cublas.so", "libhalftone-sim.so"):
        assert (SET / name).is_file(), f"no {name}: make GPU=t4 test-set"
    return SET / "libhalftone_cublas.so"


@pytest.fixture(scope="session")
def fakes(tmp_path_factory):
    return Fakes(tmp_path_factory.mktemp("fakes"))


def sources(kinds=("cublas_*.c", "lt_*.c")):
    return [*sorted((ROOT / "runtime/dropin").glob("common_*.c")), ROOT / "runtime/ht_site_line.c", *(p for kind in kinds for p in sorted((ROOT / "runtime/dropin").glob(kind)))]


def replaced(file, old, new):
    """An edit of one place in one file, for build_face."""
    return lambda name, text: text.replace(old, new, 1) if name == file else text


KINDS = {"cublas": ("cublas_*.c", "lt_*.c"), "blas": ("blas_*.c", "cublas_driver.c")}


def build_face(folder, edit=None, compiler="gcc", kind="cublas"):
    """The face from edited sources: what a test must notice; or as it is."""
    (folder / "runtime/dropin").mkdir(parents=True)
    changed = False
    for path in [*sources(KINDS[kind]), *sorted((ROOT / "runtime/dropin").glob("*.h")), *(ROOT / "runtime" / name for name in ("halftone.h", "ht_site_line.h", "ht_abi.h", "ht_ieee.h"))]:
        text = path.read_text()
        edited = edit(path.name, text) if edit else text
        changed = changed or edited != text
        (folder / path.relative_to(ROOT)).write_text(edited)
    assert changed or not edit, "the edit finds no place"
    built = folder / f"libhalftone_{kind}.so"
    done = subprocess.run([compiler, "-std=c11", "-D_GNU_SOURCE", "-Os", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-shared",
                           *[str(folder / p.relative_to(ROOT)) for p in sources(KINDS[kind])], "-o", str(built)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(built)
