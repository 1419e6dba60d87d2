"""What make builds, installs and refuses, as a user meets it: lines of the README as they stand there, in a copy of the
repository whose path holds a blank, with a compiler in out/toolchain and none on PATH."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys

import pytest
from conftest import GEN, ROOT, copy_of_repository, full_disk, nvcc

HERE = ROOT / "tests/package/vendored"
EXAMPLES = ROOT / "bench/examples"
README = (ROOT / "README.md").read_text()
BARE_PATH = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if "cuda" not in p and not (pathlib.Path(p) / "nvcc").exists())
SET = ["GPU=t4", "SCHEMES=f16x3", "LEAN=1"]
needs_nvcc = pytest.mark.skipif(not nvcc(), reason="no nvcc: system toolkit or `make toolchain`")


def run(command, folder=ROOT, path=BARE_PATH, preexec_fn=None, **env):
    """A line of the shell, or words."""
    keep = {k: v for k, v in os.environ.items() if k not in ("NVCC", "MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(command if isinstance(command, list) else ["sh", "-c", command], cwd=folder, text=True, capture_output=True,
                          preexec_fn=preexec_fn, env={**keep, **env, "PATH": path})


def passes(*args, **kw):
    done = run(*args, **kw)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(*args, **kw):
    """The one line that says why, without make's own closing line."""
    done = run(*args, **kw)
    lines = [l for l in done.stderr.splitlines() if not re.match(r"make(\[\d\])?: \*\*\* \[", l)]
    assert done.returncode != 0 and len(lines) == 1, done.stdout + done.stderr
    return lines[0]


def readme_lines(pattern):
    """Commands of the README, without what is said behind '#'."""
    found = [re.sub(r"\s+#.*", "", l).strip() for l in re.findall(r"(?m)^    (\S.*)$", README) if re.match(pattern, l)]
    assert found, pattern
    return found


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*") if not p.is_dir() or p.is_symlink()}


# ---- what make takes and refuses

def test_a_slip_in_a_name_is_an_error_with_the_cure():
    for word, cure in (("SCHEME=f16x3", "SCHEMES="), ("WHATIF=sms=60", "WHAT_IF="), ("DETS=x", "DEST="), ("gpu=a800", "GPU="), ("HTLM=a b", "HTML=")):
        for goal in ("explain", "generate"):
            assert cure in refused(["make", goal, "GPU=a800", word])
    assert "SYMBOLS=my_" in refused(["make", "vendor", "GPU=a800", "DEST=x", "PREFIX=my_"])
    assert "SYMBOLS" in refused(["make", "vendor", "GPU=a800", "SYMBOLS=9x_", "DEST=/nowhere/x"])
    assert "line break" in refused(["make", "explain", "GPU=a800", "SHAPE=1\nid"])
    for word in "LEAN=no", "DEVICE=off", "TSV=yes":
        assert f"{word}: it is 0 or 1" in refused(["make", "explain", "GPU=a800", word])
    assert "AMALGAMATION=2: it is 0, 1 or sim" in refused(["make", "vendor", "GPU=a800", "DEST=/nowhere/x", "AMALGAMATION=2"])


def test_make_lists_every_variable_that_it_takes():
    makefiles = "".join((ROOT / name).read_text() for name in ("Makefile", "tests/tests.mk", "tests/fuzz/fuzz.mk", "runtime/dropin/dropin.mk"))
    known = re.search(r"KNOWN := ((?:.*\\\n)*.*)", makefiles).group(1).replace("\\\n", " ").split()
    listed = set(re.findall(r"\b[A-Z][A-Z_0-9]*\b", passes(["make"])))
    assert set(known) - listed == {"SHELL", "MAKEFLAGS", "INSTALL", "AM_UPDATE_INFO_DIR", "TEST_PART", "TEST_REST", "HT_STEPS"}
    assert set(re.findall(r"(?m)^(\w+) \?=", makefiles)) <= set(known)


@pytest.mark.parametrize("word", ["FUZZ_API=", "FUZZ_FP64=--seconds", "FUZZ_CLIMB=--second 3", "FUZZ_FILES=--count many", "FUZZ_SEED=--seed 1"])
def test_words_of_fuzzers_are_refused_before_anything_is_built(word):
    assert f"{word}: it is" in refused(["make", "-n", "fuzz", word])


def test_explain_takes_the_same_names_as_make():
    text = passes(["make", "explain", "GPU=a800 t4", "SCHEMES=half,f16x3"])
    for gpu in ("a800", "t4"):
        for scheme in ("half", "f16x3"):
            one = passes([GEN, "explain", "--gpu", gpu, "--scheme", scheme, "--root", ROOT])
            assert one in text
    assert "one GPU and one scheme" in refused(["make", "explain", "GPU=a800 t4", "HTML=x.html"])
    assert "unknown scheme 'all'; this GPU has: half, " in refused(["make", "explain", "GPU=t4", "SCHEMES=all"])


def test_lines_of_the_readme_explain(tmp_path):
    page = tmp_path / "page.html"
    lines = [line.replace("page.html", str(page)) for line in readme_lines("make explain")]
    assert len(lines) == 2
    for line, what in zip(lines, ("wrote ", "NVIDIA H200")):
        assert what in passes(line), line
    assert "NVIDIA A800" in page.read_text()
    assert "a800" in passes(re.search(r"`(out/bin/halftone-gen list gpus)`", README)[1])


def test_lines_of_the_readme_vendor_a_folder(tmp_path):
    """And the folder's own line compiles it, in the simulator's compiler."""
    vendor, verify = readme_lines("make (vendor|verify-vendored)")
    passes(vendor.replace("DEST=dir", f"DEST={tmp_path}/dir"))
    passes(verify.replace("DIR=dir", f"DIR={tmp_path}/dir"))
    passes(["make", "-s", "out/obj/libsim.a"])
    (line,) = re.findall(r"(?m)^    (nvcc .* && ar rcs .*)$", (tmp_path / "dir/README.md").read_text())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").symlink_to(HERE / "nvcc-sim")
    passes(line, tmp_path / "dir", str(tmp_path / "bin") + os.pathsep + BARE_PATH)
    assert " T myproj_sgemm" in passes("nm libmyproj.a", tmp_path / "dir")


@pytest.mark.parametrize("typed", ["nope", "nope.gpu", "/no/where/nope.gpu"])
def test_a_gpu_without_a_budget_is_named_as_it_was_typed(typed):
    assert f"unknown GPU '{typed}'; known budgets: a100 " in refused(["make", "generate", f"GPU={typed}"])


def test_values_reach_the_generator_as_they_are(tmp_path):
    """Quotes, blanks, semicolons and percent signs: nothing of them is for the shell. The generator refuses names with quotes."""
    attack = f"';touch {tmp_path}/run;'"
    for words in (["explain", f"WHAT_IF=sms=60{attack}"], ["explain", f"WHAT_IF=sms=60;touch {tmp_path}/run"], ["explain", f"HTML={tmp_path}/no/{attack}"],
                  ["explain", f"SHAPE=1{attack}"], ["explain", f"COMPARE=x{attack}"], ["explain", f"MODEL=x{attack}"], ["explain", f"SCHEMES=x{attack}"],
                  ["vendor", f"DEST={tmp_path}/no/{attack}"], ["vendor", f"DEST={tmp_path}/x", f"SYMBOLS=my_{attack}"], ["verify-vendored", f"DIR=x{attack}"],
                  ["generate", f"GPU={tmp_path}/{attack}.gpu"], ["install", f"PREFIX=x{attack}", "DEVICE=0"], ["uninstall", f"PREFIX=/nowhere{attack}"]):
        words = words if any(w.startswith("GPU=") for w in words) else [*words, "GPU=t4"]
        assert run(["make", "-n" if words[0] == "install" else "-s", *words]).returncode == (0 if words[0] == "install" else 2), words
    budget = tmp_path / "of ours" # a private set: options are kept beside it
    name = f"x{attack}%s.tsv".replace("/", "-")
    assert run(["make", "generate", f"GPU={budget}/quoted.gpu", f"TUNED={name}"]).returncode == 2
    assert [p.name for p in tmp_path.iterdir()] == []
    page = tmp_path / "page; 100% of it.html"
    passes(["make", "explain", "GPU=t4", f"HTML={page}"])
    assert page.read_text().startswith("<!")


def test_options_with_quotes_and_percent_signs_are_noted_as_they_are(tmp_path):
    """What out/obj/options-SET holds decides whether a set is generated again."""
    copy = copy_of_repository(tmp_path / "copy")
    for words in (["TUNED=it's 100%d.tsv"], ["TILES='%s"], ["PROMOTE='; touch run; '"]):
        done = run(["make", "out/obj/options-t4", "GPU=t4", *words], copy)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert words[0].split("=")[1].replace("'", "'\\''") in (copy / "out/obj/options-t4").read_text()
        assert not (copy / "run").exists()


def test_a_destination_may_end_in_a_slash_and_hold_a_blank(tmp_path):
    for name in ("new/", "with blank/", "two; more//"):
        passes(["make", "vendor", "GPU=t4", "SCHEMES=half", "LEAN=1", f"DEST={tmp_path}/{name}"])
        assert (tmp_path / name / "halftone.h").is_file()
        passes(["make", "verify-vendored", f"DIR={tmp_path}/{name}"])


@pytest.mark.parametrize("name", ["..gpu", ".hidden.gpu", "a b.gpu", "a;b.gpu", "obj.gpu"])
def test_a_budget_s_name_becomes_a_folder(tmp_path, name):
    shutil.copy(ROOT / "gen/gpus/t4.gpu", tmp_path / name)
    assert "GPU" in refused(["make", "generate", f"GPU={tmp_path}/{name}"]) or "budget" in refused(["make", "generate", f"GPU={tmp_path}/{name}"])


# ---- this machine's GPU

CARDS = {"9 0 132 NVIDIA H100 80GB HBM3": "h100", "9 0 132 NVIDIA H200": "h200", "8 0 108 NVIDIA A100-SXM4-80GB": "a100", "8 6 82 NVIDIA GeForce RTX 3090": "rtx3090",
         "8 6 84 NVIDIA A40": "rtxa6000", "8 9 58 NVIDIA L4": "l40s", "8 7 16 Orin": "rtx3090", "12 0 170 NVIDIA GeForce RTX 5090": "rtx5090", "10 0 148 NVIDIA B200": "b200",
         "8 9 142 NVIDIA RTX 6000 Ada Generation": "l40s", "7 5 72 Quadro RTX 6000": "rtx6000", "7 5 40 Tesla T4": "t4"}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A copy of the repository and a driver that has the card FAKE_CARD names."""
    folder = tmp_path_factory.mktemp("machine")
    copy_of_repository(folder / "copy")
    passes(["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-D_GNU_SOURCE", str(ROOT / "tests/package/fake_cuda.c"), "-o", str(folder / "libcuda.so.1")])
    return folder / "copy", lambda card: {"FAKE_CARD": card, "LD_LIBRARY_PATH": str(folder)}


def test_gpu_native_is_the_set_for_the_card_here(machine):
    copy, has = machine
    for card, name in CARDS.items():
        first = passes(["make", "help", "GPU=native"], copy, **has(card)).splitlines()[0]
        assert first.startswith("GPU=native: " + card.split(None, 3)[3] + " (") and first.endswith(": set " + name), first
    assert "no set runs on Tesla V100 (sm_70" in refused(["make", "help", "GPU=native"], copy, **has("7 0 80 Tesla V100"))
    line = refused(["make", "help", "GPU=native"], copy, **has(""))
    assert "no GPU" in line and "a800" in line and "t4" in line


def test_amd_s_cards_are_read_from_the_kernel_s_files(tmp_path, machine):
    copy, has = machine
    nodes = tmp_path / "class/kfd/kfd/topology/nodes"
    for number, text in enumerate(("simd_count 0\nsimd_per_cu 0\ngfx_target_version 0\n", "simd_count 416\nsimd_per_cu 4\ngfx_target_version 90010\n")):
        (nodes / str(number)).mkdir(parents=True)
        (nodes / str(number) / "properties").write_text("cpu_cores_count 0\n" + text)
    passes(["make", "-s", "out/bin/card"], copy)
    assert passes([str(copy / "out/bin/card"), str(tmp_path)], **has("")) == "amd gfx90a 104 gfx90a\n"


@pytest.mark.parametrize("goal", ["check-gpu", "bench"])
def test_the_gpu_is_looked_for_before_anything_is_compiled(machine, goal):
    copy, has = machine
    for card, set_, words in (("", "t4", "no GPU was found here"), ("8 6 84 NVIDIA A40", "h200", "h200 (sm_90a) do not run on NVIDIA A40 (sm_86")):
        assert words in refused(["make", goal, f"GPU={set_}", "NVCC=true"], copy, **has(card))
        assert not (copy / "out/obj/gen").exists() and not (copy / "out" / set_).exists()


def test_check_gpu_needs_cmocka_before_anything_is_compiled(machine, tmp_path):
    copy, has = machine
    (tmp_path / "cc").write_text('#!/bin/sh\ncase " $* " in *" -E "*) exit 1 ;; esac\nexec gcc "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    assert "sh tests/setup.sh" in refused(["make", "check-gpu", "GPU=t4", "NVCC=true", f"CC={tmp_path}/cc"], copy, **has("7 5 40 Tesla T4"))
    assert not (copy / "out/obj/gen").exists()


# ---- without a compiler for the device

@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """The set built by `make GPU=...` on a machine without nvcc, and what that said."""
    copy = copy_of_repository(tmp_path_factory.mktemp("sim") / "with blank", built=True)
    return copy, run(["make", *SET, "NVCC="], copy)


def test_without_nvcc_make_says_what_it_built_and_fails(simulated):
    copy, done = simulated
    assert done.returncode == 2 and "nvcc was not found" in done.stderr and "out/t4/halftone-sim" in done.stderr and "DEVICE=0" in done.stderr
    assert "t4" in passes([str(copy / "out/t4/halftone-sim"), "info"])
    assert "out/t4: libhalftone-sim.a libhalftone-sim.so halftone.h halftone-sim" in passes(["make", *SET, "NVCC=", "DEVICE=0"], copy)
    assert "nvcc was not found" in refused(["make", "build-device", *SET, "NVCC="], copy)


def test_make_says_first_what_it_compiles_by_which_nvcc_and_how_long(simulated, tmp_path):
    """By a compiler that fails: the line stands before the first kernel, and counts those that are not there or older than their source."""
    copy, false = simulated[0], tmp_path / "nvcc"
    false.write_text("#!/bin/sh\n[ $1 = --version ] || exit 1\necho Cuda compilation tools, release 13.0, V13.0.88\n")
    false.chmod(0o755)
    kernels = sorted(path.stem for path in (copy / "out/t4").glob("ht_*.cu"))

    def said(*more):
        lines = run(["make", *SET, f"NVCC={false}", *more], copy).stdout.splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("NVCC out/t4") or line.startswith("NVCC ht_")), len(lines))
        return [line for line in lines[:first] if "kernels to compile" in line]
    (line,) = said()
    assert re.fullmatch(rf"{false} \(nvcc 13\.0\.88\): {len(kernels)} kernels to compile, about \d+ min on \d+ cores", line), line
    for kernel in kernels[:2]:
        (copy / f"out/t4/obj/{kernel}.o").write_text("")
    os.utime(copy / f"out/t4/obj/{kernels[1]}.o", (0, 0))
    assert f": {len(kernels) - 1} kernels" in said()[0] and not said("DEVICE=0")
    for kernel in kernels[:2]:
        (copy / f"out/t4/obj/{kernel}.o").unlink()


def test_a_half_alone_is_built_where_there_is_no_set_yet_or_another(simulated):
    for scheme in "f16x3", "half":
        passes(["make", "build-sim", "GPU=titanrtx", f"SCHEMES={scheme}", "LEAN=1", "NVCC="], simulated[0])
        kernels = passes([str(simulated[0] / "out/titanrtx/halftone-sim"), "info", "--tsv"])
        assert ("ht_f16x3_" in kernels, "ht_half_" in kernels) == (scheme == "f16x3", scheme == "half"), kernels


@pytest.fixture(scope="module")
def installed(simulated, tmp_path_factory):
    prefix = tmp_path_factory.mktemp("install") / "with blank"
    passes(["make", "install", *SET, "NVCC=", "DEVICE=0", f"PREFIX={prefix}", "LIBDIR=lib/x86_64-linux-gnu"], simulated[0])
    return prefix


VERSION = re.search(r'#define HALFTONE_VERSION_TEXT "(.*)"', (ROOT / "runtime/halftone.h").read_text())[1]


@pytest.fixture(scope="module")
def private(simulated, tmp_path_factory):
    """Installed by someone whose files nobody else may read."""
    prefix = tmp_path_factory.mktemp("private") / "new/prefix"
    words = ["make", "install", *SET, "NVCC=", "DEVICE=0", f"PREFIX={prefix}"]
    passes(words, simulated[0], preexec_fn=lambda: os.umask(0o077))
    return prefix


def test_what_is_installed_can_be_read_by_all(private):
    for path in (private.parent, private, *private.rglob("*")):
        usual = (0o755,) if path.is_dir() else (0o644, 0o755)
        assert path.stat().st_mode & 0o777 in usual, f"{path}: {path.stat().st_mode:o}"


COMMANDS = {"mm": "A.npy A.npy -o C.npy", "run": "--blas -- env", "check": "A.npy A.npy", "info": "", "demo": "",
            "report": "--sizes 16 --families uniform", "bench": "--sizes 32", "breakdown": "--sizes 32", "invariance": "--k 8 --scheme f16x3",
            "app": "cholesky --n 64 --accuracy f16x3",
            "tune-app": "cholesky --n 64 --tau 1 --levels f16x3,fp32-fast --out sites",
            "probe": "--out mine.gpu", "profile": "--tiles 10 --only m16n8k8", "tune": "--shapes shapes --out t.tsv",
            "contract": "--n 64 --k 257 --families normal"}


def test_every_command_works_without_a_device(private, tmp_path):
    """After `make install DEVICE=0`, all that `halftone-sim --help` lists, or it says there that it does not."""
    listed = dict(re.findall(r"(?m)^  ([a-z-]+) +(.*)", passes([str(private / "bin/halftone-sim"), "--help"])))
    assert set(listed) == set(COMMANDS)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 16), }".ljust(117) + "\n"
    (tmp_path / "A.npy").write_bytes(b"\x93NUMPY\1\0\x76\0" + head.encode() + bytes(4 * 16 * 16))
    (tmp_path / "shapes").write_text("32 32 32\n")
    for name, words in COMMANDS.items():
        done = run([str(private / "bin/halftone-sim"), name, *words.split()], tmp_path)
        wanted = "not in the simulator" not in listed[name]
        assert (done.returncode == 0) == wanted, name + "\n" + done.stdout + done.stderr
        if name == "run":
            there = dict(re.findall(r"(?m)^(HALFTONE_LIBRARY|LD_PRELOAD)=(.*)$", done.stdout))
            assert there["HALFTONE_LIBRARY"] == f"{private}/bin/../lib/libhalftone-sim.so"
            for path in there["HALFTONE_LIBRARY"], *there["LD_PRELOAD"].split(":"):
                assert pathlib.Path(path).is_file(), path


def test_cmake_finds_ranges_of_versions_and_components(installed, tmp_path):
    major, minor = map(int, VERSION.split(".")[:2])
    next_ = f"{major}.{minor + 1}"
    found = ["", VERSION, f"{major}.{minor}", f"0.0...{next_}", f"0.0...{VERSION}", "COMPONENTS sim",
             "OPTIONAL_COMPONENTS nonsense", "COMPONENTS sim OPTIONAL_COMPONENTS shared"]
    refused = [next_, f"{next_}...9", f"0.0...<{VERSION}", *(f"COMPONENTS {c}" for c in ("shared", "static", "nonsense"))]

    def configure(lines):
        head = "cmake_minimum_required(VERSION 3.19)\nproject(consumer LANGUAGES NONE)\n"
        (tmp_path / "CMakeLists.txt").write_text(head + lines)
        return run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}",
                    "-DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu"], tmp_path)
    said = configure("".join(f"find_package(halftone {words} QUIET)\nmessage(\"{words}=${{halftone_FOUND}}\")\n"
                             for words in found + refused)).stderr
    assert said.splitlines() == [f"{words}=1" for words in found] + [f"{words}=0" for words in refused], said
    done = configure("find_package(halftone REQUIRED COMPONENTS nonsense)\n")
    assert done.returncode == 1 and "no component 'nonsense' is installed" in done.stderr, done.stderr
    done = run(["cmake", "-S", EXAMPLES, "-B", "example", f"-DCMAKE_PREFIX_PATH={installed}", "-DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu",
                "-DHALFTONE=halftone::halftone"], tmp_path)
    assert done.returncode == 1 and "no component 'halftone' is installed" in done.stderr, done.stderr


def test_without_a_gpu_any_memory_serves(simulated, installed, tmp_path):
    """README's program, the manual's and the example, by their lines and by pkg-config. Examples have less than 40 lines."""
    manual = (ROOT / "runtime/MANUAL.md").read_text()
    of_cuda, of_malloc = (re.search(rf"```c\n(#include <{first}.*?)```", text, re.S)[1].replace("N = 256", "N = 64")
                          for first, text in (("cuda_runtime_api", README), ("stdio", manual)))
    (line,) = readme_lines(r"cc .*halftone-sim\.a")
    (manual_line,) = re.findall(r"(?m)^    (cc .*halftone-sim\.a[^#]*)", manual)
    (installed_line,) = readme_lines(r"cc app\.c .*pkg-config")
    by_pkg_config = f"eval {installed_line.replace('halftone)', 'halftone-sim)')}"
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a800").symlink_to(simulated[0] / "out/t4")
    for folder in "runtime", "bench":
        (tmp_path / folder).symlink_to(ROOT / folder)
    env = {"PKG_CONFIG_PATH": str(installed / "lib/x86_64-linux-gnu/pkgconfig")}
    for code, words in (of_cuda, line), (of_malloc, manual_line), (of_cuda, by_pkg_config), (of_malloc, by_pkg_config):
        (tmp_path / "app.c").write_text(code)
        passes(f"rm -f a.out && {words}", tmp_path, **env)
        assert passes(["./a.out"], tmp_path).startswith("success")
    (example_line,) = re.findall(r"(?m)^ \* (cc .*)$", (EXAMPLES / "gemm.c").read_text())
    passes(example_line, tmp_path)
    assert passes(["./a.out"], tmp_path).startswith("kernels of t4 on simulator")
    assert all(len(path.read_text().splitlines()) < 40 for path in EXAMPLES.iterdir())


LOADER = r"""
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include "halftone.h"
static int round_trip(const char *path) {
    static float x[16], one = 1, zero = 0, c[16];
    halftone *h;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return puts(dlerror());
    int (*create)(halftone **) = dlsym(library, "halftone_create"), (*destroy)(halftone *) = dlsym(library, "halftone_destroy");
    int (*multiply)(halftone *, char, char, int64_t, int64_t, int64_t, const float *, const float *, int64_t, const float *, int64_t,
                    const float *, float *, int64_t) = dlsym(library, "halftone_sgemm");
    int code = create(&h);
    code += multiply(h, 'N', 'N', 4, 4, 4, &one, x, 4, x, 4, &zero, c, 4);
    return code + destroy(h) + dlclose(library);
}
int main(int count, char **path) {
    size_t before = 0;
    for (int i = 0; i < 55; i++) {
        if (count != 2 || round_trip(path[1]) != 0)
            return 1;
        before = i == 4 ? mallinfo2().uordblks : before;
    }
    printf("%zu\n", mallinfo2().uordblks - before);
}
"""


def test_a_library_that_is_unloaded_leaves_nothing(simulated, tmp_path):
    """In 50 rounds of loading, a product and unloading. Without malloc's caches, whose free blocks count as used."""
    (tmp_path / "loader.c").write_text(LOADER)
    passes(f"gcc -D_GNU_SOURCE -I{ROOT}/runtime loader.c -o loader -ldl", tmp_path)
    left = passes(["./loader", str(simulated[0] / "out/t4/libhalftone-sim.so")], tmp_path, HALFTONE_SIM_THREADS="1",
                  GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
    assert int(left) < 50 * 100


def test_installed_simulator_by_pkg_config(installed, tmp_path):
    """A path with a blank: pkg-config answers with quotes, which `eval` understands."""
    passes(f"eval gcc -Wall -Wextra -Werror {EXAMPLES}/gemm.c -o app $(pkg-config --cflags --libs halftone-sim)", tmp_path,
           PKG_CONFIG_PATH=str(installed / "lib/x86_64-linux-gnu/pkgconfig"))
    assert "kernels of t4" in passes(["./app"], tmp_path)


def test_installed_simulator_by_cmake(installed, tmp_path):
    passes(f"cmake -S {EXAMPLES} -B . -DCMAKE_PREFIX_PATH='{installed}' -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu && cmake --build .", tmp_path)
    assert "kernels of t4" in passes(["./gemm"], tmp_path)


def test_installed_command_draws_pages(installed, tmp_path):
    assert (installed / "share/halftone/pages.py").read_bytes() == (ROOT / "bench/pages.py").read_bytes()
    passes([str(installed / "bin/halftone-sim"), *"report --sizes 16 --families uniform --schemes f16x3 --html p.html".split()], tmp_path)
    assert "</html>" in (tmp_path / "p.html").read_text() and [p.name for p in (installed / "share/halftone").iterdir()] == ["pages.py"]


def test_installed_tree_has_its_licence_and_its_manual(installed):
    for name, source in (("LICENSE", "LICENSE"), ("MANUAL.md", "runtime/MANUAL.md")):
        assert (installed / "share/doc/halftone" / name).read_bytes() == (ROOT / source).read_bytes()


def test_installed_manual_page_has_every_help(installed):
    """Word for word, as `man` shows it."""
    page = installed / "share/man/man1/halftone.1"
    text = re.sub(r"(?m)^\\&", "", page.read_text())
    for written, meant in ((r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^"), (r"\(ti", "~"), (r"\-", "-"), (r"\e", "\\")):
        text = text.replace(written, meant)
    command = str(installed / "bin/halftone-sim")
    names = re.findall(r"(?m)^  ([a-z-]+) ", passes([command, "--help"]))
    assert len(names) > 9
    for name in names:
        assert f".SS {name}\n.nf\n{passes([command, name, '--help']).rstrip()}\n.fi\n" in text, name
    if shutil.which("groff"):
        done = run(["groff", "-man", "-ww", "-Tascii", "-rLL=140n", str(page)])
        assert done.returncode == 0 and done.stderr == "" and "2^-" in done.stdout and ".nf" not in done.stdout


# ---- with one

@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the repository in a path with a blank, with a compiler in out/toolchain as `make toolchain` puts it there,
    and PATH with its folder before it; the set is built and installed."""
    copy = copy_of_repository(tmp_path_factory.mktemp("house") / "my projects", built=True)
    real = pathlib.Path(nvcc()).resolve().parent.parent
    wheels = copy / "out/toolchain/nvidia/cu13"
    (wheels / "bin").mkdir(parents=True)
    (wheels / "bin/nvcc").write_text(f'#!/bin/sh\nexec "{real}/bin/nvcc" "$@"\n')
    (wheels / "bin/nvcc").chmod(0o755)
    (wheels / "include").symlink_to(real / "include")
    (wheels / "lib").mkdir()
    for library in (real / ("lib64" if (real / "lib64").is_dir() else "lib")).iterdir():
        if library.name != "libcudart.so":
            (wheels / "lib" / library.name).symlink_to(library)
    said = passes(["sh", "tests/toolchain.sh", "out/toolchain", sys.executable], copy)
    done = run(["make", "install", *SET, f"PREFIX={copy}/in stalled"], copy)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy, said, str(wheels / "bin") + os.pathsep + BARE_PATH


@needs_nvcc
def test_toolchain_says_where_it_is_and_has_the_names_that_are_looked_for(house):
    copy, said, path = house
    wheels = copy / "out/toolchain/nvidia/cu13"
    assert f"{wheels}/bin/nvcc" in said and "PATH" in said and (wheels / "lib64/libcudart_static.a").is_file() and (wheels / "lib/libcudart.so").is_symlink()


@needs_nvcc
def test_lines_of_the_readme_link_a_program(house):
    """As they stand there, with the toolchain's folder where they say /usr/local/cuda, and the set that is built for a800."""
    copy, said, path = house
    (copy / "app.c").write_text(re.search(r"```c\n(#include <cuda_runtime_api.*?)```", README, re.S).group(1))
    lines = readme_lines(r"(nvcc|cc) (?!.*halftone-sim).*-Iout/a800")
    lines += re.findall(r"(?m)^ \* (nvcc .*)$", (EXAMPLES / "gemm.c").read_text())
    assert len(lines) >= 4
    for line in lines:
        line = line.replace("/usr/local/cuda", "'out/toolchain/nvidia/cu13'").replace("a800", "t4")
        plain = "-lcudart_static" not in line and "nvcc" not in line
        if plain: # the README: app.c here without CUDA calls
            (copy / "plain.c").write_text('#include <stdio.h>\n#include "halftone.h"\nint main(void) { halftone *h; puts(halftone_strerror(halftone_create(&h))); return 1; }\n')
        passes("rm -f a.out && " + (line.replace("app.c", "plain.c") if plain else line), copy, path)
        done = run(["./a.out"], copy, LD_LIBRARY_PATH=str(copy / "out/t4"))
        refusal = (3 if "gemm.c" in line else 1, True)
        assert os.path.exists("/dev/nvidiactl") or (done.returncode, "no usable GPU" in done.stdout) == refusal, done.stdout + done.stderr


CUDA_PROGRAM = '#include <cstdio>\n#include "halftone.h"\n__global__ void one(float *x) { *x = 1; }\nint main() { float *x; halftone *h; one<<<1, 1>>>(nullptr); ' \
               'return cudaMalloc(&x, 4) || halftone_create(&h); }\n'


@needs_nvcc
def test_installed_library_by_pkg_config(house, tmp_path):
    """Shared and static, in C with CUDA calls and in CUDA, without a word more."""
    copy, said, path = house
    lib = copy / "in stalled/lib"
    (tmp_path / "app.cu").write_text(CUDA_PROGRAM)
    env = {"PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)}
    passes(f"eval gcc -Wall -Wextra -Werror {EXAMPLES}/gemm.c -o app $(pkg-config --cflags --libs halftone) -lm", tmp_path, **env)
    assert f"libhalftone.so.0 => {lib}/libhalftone.so.0" in passes(["ldd", "app"], tmp_path, **env)
    assert os.path.exists("/dev/nvidiactl") or run(["./app"], tmp_path, **env).returncode == 3
    (line,) = readme_lines("cc .*pkg-config") # `eval`: the folder holds a blank
    shutil.copy(EXAMPLES / "gemm.c", tmp_path / "app.c")
    passes("eval " + line.replace("app.c", "app.c -lm"), tmp_path, **env)
    passes("eval nvcc app.cu -o cuda $(pkg-config --cflags --libs halftone | sed 's/-lpthread//')", tmp_path, path, **env)
    (tmp_path / "static").mkdir() # where only the archive is, the same words link it
    shutil.copy(lib / "libhalftone.a", tmp_path / "static")
    passes(f"eval gcc {EXAMPLES}/gemm.c -o app $(pkg-config --static --cflags --libs --define-variable=libdir={tmp_path}/static halftone)", tmp_path, **env)
    assert "libhalftone" not in passes(["ldd", "app"], tmp_path)


@needs_nvcc
@pytest.mark.parametrize("toolkit", ["found", "not found"])
def test_installed_library_by_cmake(house, tmp_path, toolkit):
    """In C and in CUDA; without a toolkit that CMake finds, the static library links the runtime that it was built with."""
    copy, said, path = house
    cuda = toolkit == "found"
    text = f"cmake_minimum_required(VERSION 3.16)\nproject(consumer LANGUAGES C {'CUDA' if cuda else ''})\nfind_package(halftone 0.2 REQUIRED)\n"
    for target in ("halftone", "static"):
        for program in ("plain.c", "app.cu")[:1 + cuda]:
            name = f"{program[:3]}_{target}"
            text += f"add_executable({name} {program})\ntarget_link_libraries({name} PRIVATE halftone::{target})\n"
    (tmp_path / "CMakeLists.txt").write_text(text)
    (tmp_path / "app.cu").write_text(CUDA_PROGRAM)
    (tmp_path / "plain.c").write_text('#include "halftone.h"\nint main(void) { halftone *h; return halftone_create(&h); }\n')
    hide = "" if cuda else "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=1"
    passes(f"cmake -S . -B build -DCMAKE_PREFIX_PATH='{copy}/in stalled' -DCMAKE_CUDA_ARCHITECTURES=75 {hide} && cmake --build build", tmp_path, path)
    assert "libhalftone.so.0" in passes(["readelf", "-d", "build/pla_halftone"], tmp_path)
    assert "libhalftone.so" not in passes(["readelf", "-d", "build/pla_static"], tmp_path)


@needs_nvcc
def test_the_command_for_the_device_links_and_says_what_is_missing(house):
    for command in (house[0] / "out/t4/halftone", house[0] / "in stalled/bin/halftone"):
        done = run([str(command), "info"])
        assert done.returncode == 0 or len(done.stderr.splitlines()) == 1, done.stdout + done.stderr


@needs_nvcc
def test_an_older_library_does_not_stay_beside_a_newer_header(house):
    copy, said, path = house
    before = files(copy / "in stalled")
    line = refused(["make", "-s", "install", *SET, "DEVICE=0", f"PREFIX={copy}/in stalled"], copy)
    assert "libhalftone.so" in line and "make uninstall" in line and files(copy / "in stalled") == before


@needs_nvcc
def test_a_full_disk_leaves_an_installation_as_it_was(house, tmp_path):
    """Full at the first library, and at one of those that come after everything small."""
    copy, said, path = house
    command = ["make", "-s", "install", *SET, "DESTDIR=" + str(tmp_path / "dest dir"), "PREFIX=/usr"]
    size = {n: (copy / "out/t4" / n).stat().st_size for n in ("halftone-sim", "libhalftone.a")}
    limits = (300000, sum(size.values()) // 2)
    assert size["halftone-sim"] < limits[1] < size["libhalftone.a"]
    for limit in limits:
        done = run(command, copy, preexec_fn=full_disk(limit))
        assert done.returncode != 0 and "nothing was installed" in done.stderr and not files(tmp_path)
    passes(command, copy)
    installed = files(tmp_path)
    for name in ("include/halftone.h", "lib/cmake/halftone/halftoneConfig.cmake"):
        (tmp_path / "dest dir/usr" / name).write_text("an older one")
    before = files(tmp_path)
    for limit in limits:
        done = run(command, copy, preexec_fn=full_disk(limit))
        assert done.returncode != 0 and files(tmp_path) == before
    passes(command, copy)
    assert files(tmp_path) == installed


@needs_nvcc
def test_uninstall_takes_what_install_put_there_and_no_more(house, tmp_path):
    copy, said, path = house
    (tmp_path / "lib/cmake").mkdir(parents=True)
    (tmp_path / "lib/libhalftone.so.7").write_text("another major version")
    (tmp_path / "lib/libhalftone.so.0.0.9").write_text("an older one of this major version, which ldconfig would take")
    (tmp_path / "other").write_text("mine")
    passes(["make", "-s", "install", *SET, f"PREFIX={tmp_path}"], copy)
    there = files(tmp_path)
    assert os.readlink(tmp_path / "lib/libhalftone.so") == "libhalftone.so.0" and os.readlink(tmp_path / "lib/libhalftone.so.0") == "libhalftone.so.0.2.0"
    assert "lib/libhalftone.so.0.0.9" not in there and "lib/libhalftone.so.7" in there
    passes(["make", "uninstall", f"PREFIX={tmp_path}"], copy)
    assert set(files(tmp_path)) == {"lib/libhalftone.so.7", "other"} and not any((tmp_path / p).exists() for p in ("lib/cmake/halftone", "share/halftone"))
    assert "nothing of halftone" in refused(["make", "uninstall", f"PREFIX={tmp_path}"], copy)


def test_an_installed_set_for_amd_links_amd_s_runtime(tmp_path):
    """By pkg-config and by CMake: libraries of one empty function stand for those that hipcc would build."""
    set_, prefix = tmp_path / "set", tmp_path / "pre fix"
    set_.mkdir()
    (tmp_path / "x.c").write_text("int halftone_version(void); int halftone_version(void) { return 0; }\n")
    (tmp_path / "main.c").write_text("int halftone_version(void); int main(void) { return halftone_version(); }\n")
    passes(f"cc -c x.c && ar rcs set/libhalftone.a x.o && cp set/libhalftone.a set/libhalftone-sim.a && touch set/libhalftone-sim.so && cc -shared -Wl,-soname,libhalftone.so.0 -o set/libhalftone.so x.o "
           f"&& cc -shared -o libamdhip64.so x.o && touch set/halftone.h set/halftone && printf '#!/bin/sh\\n' >set/halftone-sim && chmod +x set/halftone-sim", tmp_path)
    passes(["sh", "runtime/install.sh", "install"], SET=str(set_), PREFIX=str(prefix), LIBDIR="lib", DESTDIR="", VERSION="0.2.0", SONAME="libhalftone.so.0",
           VENDOR="AMD", CUDA="", CUDA_LIB="")
    text = passes(["pkg-config", "--static", "--cflags", "--libs", "halftone"], PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    assert "-lamdhip64" in text and "cuda" not in text
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(halftone 0.2 REQUIRED)
add_executable(app main.c)
target_link_directories(app PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(app PRIVATE halftone::static)
""")
    passes(f"cmake -S . -B build -DCMAKE_PREFIX_PATH='{prefix}'", tmp_path)
    link = (tmp_path / "build/CMakeFiles/app.dir/link.txt").read_text()
    assert "-lamdhip64" in link and "cudart" not in link


# ---- what pip fetches

def test_what_pip_fetches_is_named_by_version_and_hash():
    toolchain = re.search(r"<<END\n((?s:.*?))^END$", (ROOT / "tests/toolchain.sh").read_text(), re.M)[1]
    for names in ((ROOT / "tests/requirements.txt").read_text(), toolchain):
        for line in names.splitlines():
            assert line.startswith("#") or re.fullmatch(r'[a-z-]+==[\d.]+(; python_version < "[\d.]+")? --hash=sha256:[0-9a-f]{64}', line), line
    for path in [ROOT / "Makefile", *(p for folder in ("tests", "bench", "runtime", "gen") for p in (ROOT / folder).rglob("*")
                                      if p.suffix in (".mk", ".sh", ".py") and p != pathlib.Path(__file__))]:
        for command in re.findall(r'pip"?,? "?(?:install|download)\b(?:.*(?:\\|,)\n)*.*', path.read_text()):
            assert "--require-hashes" in command or command.startswith(("pip install pyscf", "pip install out/wheel/")), f"{path}: {command}" # which texts name


def test_digits_are_not_read_from_another_wheel(tmp_path):
    """A wheel of that name and version, but not those bytes."""
    wheel = tmp_path / "scikit_learn-1.7.2-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    make = f"""import gzip, zipfile
with zipfile.ZipFile({str(wheel)!r}, "w") as out:
    out.writestr("sklearn/datasets/data/digits.csv.gz", gzip.compress(b"\\n".join([b",".join([b"1"] * 65)] * 3)))
    out.writestr("scikit_learn-1.7.2.dist-info/METADATA", "Metadata-Version: 2.1\\nName: scikit-learn\\nVersion: 1.7.2\\n")
    out.writestr("scikit_learn-1.7.2.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: cp311-cp311-manylinux2014_x86_64\\n")
    out.writestr("scikit_learn-1.7.2.dist-info/RECORD", "")
"""
    passes([sys.executable, "-c", make])
    done = run([sys.executable, str(ROOT / "bench/data/digits.py"), str(tmp_path / "data")], PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert done.returncode == 3 and "HASHES" in done.stderr and not list((tmp_path / "data").iterdir()), done.stderr


def test_the_demo_builds_four_schemes_where_no_set_is(tmp_path):
    """And leaves a set of others as it is; SCHEMES= asks for others."""
    few, set_ = "--scheme 'half,egemm,f16x3,bf16x6u' --cover", ROOT / f"out/{tmp_path.name}"
    budget = shutil.copy(ROOT / "gen/gpus/l40s.gpu", tmp_path / f"{tmp_path.name}.gpu")
    demo, generate = (["make", *words, f"GPU={budget}", "NVCC="] for words in (["-n", "demo"], ["-s", "generate"]))
    try:
        assert few in re.sub(" +", " ", passes(demo)) and few not in re.sub(" +", " ", passes([*demo, "SCHEMES=half"]))
        passes([*generate, "SCHEMES=half,egemm,f16x3,bf16x6u", "COVER=1"])
        assert few in re.sub(" +", " ", passes(demo))
        passes([*generate, "SCHEMES=half"])
        assert "half,egemm" not in passes(demo)
    finally:
        shutil.rmtree(set_, ignore_errors=True)


def test_steps_of_a_build_are_counted_in_one_line(simulated):
    """On a terminal; elsewhere each has a line."""
    made = ["make", "-n", "-W", "runtime/card.c", "out/bin/card"]
    assert "echo 'CC runtime/card.c'" in passes(made)
    assert re.search(r"printf '\\033\[K\[%d/%d\] %.60s\\r' 1 2 'CC runtime/card.c'", passes([*made, "HT_STEPS=2"]))
    assert "' 2 2 'LINK out/bin/card'" in passes([*made, "HT_STEPS=2"])
    (simulated[0] / "out/t4/halftone-sim").unlink()
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    assert subprocess.run(["make", *SET, "NVCC=", "DEVICE=0"], cwd=simulated[0], stdout=theirs, env=env).returncode == 0
    last = re.search(r"\x1b\[K\[(\d+)/(\d+)\] LINK out/t4/halftone-sim\r\x1b\[Kout/t4: ", os.read(ours, 65536).decode())
    assert int(last[2]) - int(last[1]) in (0, 1) # `make -n` also counts what is compiled where the commit is another


def test_the_demo_finds_the_python_of_the_tests():
    venv = re.search(r"venv=\$here/(\S+)/bin/python", (ROOT / "bench/data/demo.sh").read_text())[1]
    assert os.path.normpath(ROOT / "bench/data" / venv) == str(ROOT / "out/venv")
