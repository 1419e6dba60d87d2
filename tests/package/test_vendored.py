"""Vendored folders and amalgamations, used as other projects use them. Without nvcc the commands of the
README written into each folder run with tests/package/vendored/nvcc-sim in nvcc's place, in the simulator."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import GEN, ROOT, example, explain_rows, gen, nvcc

HERE = ROOT / "tests/package/vendored"
SMALL = ("--scheme", "f16x3", "--lean")
SMALLER = ("--scheme", "i8x10", "--lean")  # one tile: for variants of a folder that are compiled, not run
API = set(re.findall(r"\bhalftone_(\w+)\(", re.sub(r"/\*.*?\*/", "", (ROOT / "runtime/halftone.h").read_text(), flags=re.S)))
WEAK_BY_COMPILER = {"DW.ref.__gxx_personality_v0"} # hidden: g++'s own, in every object with clean-up code


def vendor(folder, *args, gpu="a800", check=True):
    return gen("vendor", "--gpu", gpu, "--out", folder, *args, check=check)


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


@pytest.fixture(scope="session")
def compilers(tmp_path_factory):
    """Folders to put before PATH: the simulator's compiler under nvcc's name, and the real one where there is one."""
    subprocess.run(["make", "out/obj/libsim.a"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    fake = tmp_path_factory.mktemp("bin")
    (fake / "nvcc").symlink_to(HERE / "nvcc-sim")
    return {"simulator": str(fake), "nvcc": os.path.dirname(nvcc()) if nvcc() else None}


def shell(command, folder, path, **env):
    return subprocess.run(["bash", "-c", command], cwd=folder, text=True, capture_output=True,
                          env={**os.environ, **env, "PATH": path + os.pathsep + os.environ["PATH"]})


def readme_line(folder):
    (line,) = re.findall(r"(?m)^    ((?:nvcc|hipcc) .* && ar rcs .*)$", (folder / "README.md").read_text())
    return line


def build(folder, into, path, options="", level="-O3"):
    """A copy of the folder, alone in the world, built by its own line."""
    shutil.copytree(folder, into)
    run = shell(readme_line(into).replace("cc -O3", f"cc {level} {options}"), into, path)
    assert run.returncode == 0 and "warning" not in run.stderr, run.stderr
    return into


def exported(library):
    names = subprocess.run(["nm", "-g", "--defined-only", "-P", str(library)], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in names.splitlines() if len(line.split()) > 2} - WEAK_BY_COMPILER


def app(folder, path, stem="halftone", device="sm80"):
    (folder / "app.c").write_text(example(stem))
    run = shell(f"nvcc -I. -o app app.c lib{stem}.a", folder, path)
    assert run.returncode == 0, run.stderr
    return shell("./app", folder, path, HALFTONE_SIM_DEVICE=device)


def test_folder_builds_alone_and_runs(tmp_path, compilers):
    path = compilers["simulator"]
    vendor(tmp_path / "set", *SMALL)
    built = build(tmp_path / "set", tmp_path / "copy", path)
    (linking,) = re.findall(r"(?m)^    (nvcc -I\. app\.c .*)$", (built / "README.md").read_text())
    (built / "app.c").write_text(example())
    run = shell(linking + " && ./a.out", built, path, HALFTONE_SIM_DEVICE="sm80")
    assert run.returncode == 0 and "kernels of a800" in run.stdout, run.stdout + run.stderr
    names = exported(built / "libhalftone.a")
    assert {"halftone_" + x for x in API} <= names
    assert all(n.startswith(("halftone_", "ht_")) for n in names), names
    for name, data in contents(tmp_path / "set").items():
        text = data.decode()
        assert str(ROOT) not in text and not re.search(r'#include "\.\.|@[A-Z]+@', text), name
        assert name == "README.md" or not re.search(r"\b(gen|bench|tests|templates|runtime|shared)/\w|test_\w+\.c", text), name
        included = set(re.findall(r'#include "([^"]+)"', text))
        assert name == "README.md" or included <= set(contents(tmp_path / "set")), name


def test_the_whole_runtime_is_vendored(tmp_path):
    """The generator's list of the runtime's files, against the folder."""
    runtime = {p.name for p in (ROOT / "runtime").glob("ht_*.[ch]")}
    vendor(tmp_path / "set", *SMALLER)
    assert {n for n in contents(tmp_path / "set") if n.startswith("ht_") and n.endswith((".c", ".h"))} == runtime
    vendor(tmp_path / "one", *SMALLER, "--amalgamation")
    text = (tmp_path / "one/halftone.cu").read_text()
    assert all(f"{name}: " in text for name in runtime)


def test_prefix_and_two_gpus_in_one_library(tmp_path, compilers):
    path = compilers["simulator"]
    vendor(tmp_path / "set", *SMALL, "--prefix", "myproj_", gpu="a800,rtx4090")
    built = build(tmp_path / "set", tmp_path / "copy", path)
    names = exported(built / "libmyproj.a")
    assert {"myproj_" + x for x in API} <= names
    assert all(n.startswith("myproj_") for n in names), names
    manual = (built / "MANUAL.md").read_text()
    assert "myproj_sgemm(h," in manual and "halftone_" not in manual
    for device, gpu in (("sm80", "a800"), ("sm86", "a800"), ("sm89", "rtx4090"), ("sm90", "rtx4090")):
        run = app(built, path, "myproj", device)
        assert run.returncode == 0 and f"kernels of {gpu} on" in run.stdout, run.stdout + run.stderr
    run = app(built, path, "myproj", "sm75")
    assert run.returncode == 3 and "7.5" in run.stdout and "a800 (sm_80, 8.0 or later), rtx4090 (sm_89, 8.9 or later)" in run.stdout
    run = app(built, path, "myproj", "none")
    assert run.returncode == 3 and "no usable GPU" in run.stdout


def test_the_same_instruction_set_twice_shares_its_kernels(tmp_path, compilers):
    path = compilers["simulator"]
    vendor(tmp_path / "set", *SMALL, gpu="a100,a800")
    built = build(tmp_path / "set", tmp_path / "copy", path)
    run = app(built, path)
    assert run.returncode == 0 and "kernels of a100" in run.stdout # as many SMs: the earlier


@pytest.mark.parametrize("prefix", [None, "one_"])
def test_amalgamation_exports_the_header_alone(tmp_path, compilers, prefix):
    path, stem = compilers["simulator"], (prefix or "halftone_")[:-1]
    vendor(tmp_path / "set", *SMALL, "--amalgamation", *(("--prefix", prefix) if prefix else ()))
    sources = [n for n in contents(tmp_path / "set") if n.endswith((".cu", ".c", ".h"))]
    assert sorted(sources) == [f"{stem}.cu", f"{stem}.h"]
    built = build(tmp_path / "set", tmp_path / "copy", path)
    assert exported(built / f"lib{stem}.a") == {f"{stem}_{x}" for x in API}
    run = app(built, path, stem)
    assert run.returncode == 0 and "kernels of a800" in run.stdout, run.stdout + run.stderr


CUDA = set(re.findall(r"(?m)^(?:cudaError_t |const char \*)(cuda\w+)\(", (ROOT / "runtime/sim/cuda/cuda_runtime_api.h").read_text()))


@pytest.mark.parametrize("compiler, gpu, prefix", [("g++", "a800", "my_"), ("clang++", "mi210", None)])
def test_simulator_amalgamation(tmp_path, compiler, gpu, prefix):
    """One C++ source for g++ or clang++ alone, linked into a C program by the README's lines; only the prefix is exported."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    stem = (prefix or "halftone_")[:-1]
    folder = tmp_path / "set"
    run = vendor(folder, *SMALL, "--amalgamation-sim", *(("--prefix", prefix) if prefix else ()), gpu=gpu)
    assert all("s of CPU for each scheme" in text and "-O1" in text for text in (run.stdout, (folder / "README.md").read_text()))
    assert gen("verify", folder).returncode == 0
    assert sorted(n for n in contents(folder) if n.endswith((".cpp", ".c", ".h", ".cu"))) == sorted(["cuda_runtime_api.h", f"{stem}.cpp", f"{stem}.h"])
    readme = (folder / "README.md").read_text()
    (compiling,) = re.findall(r"(?m)^    (g\+\+ .* && ar rcs .*)$", readme)
    (linking,) = re.findall(r"(?m)^    (gcc .* && g\+\+ .*)$", readme)
    run = shell(compiling.replace("g++ -O3", f"{compiler} -O1 -Wall -Wno-unknown-pragmas"), folder, "")
    assert run.returncode == 0 and "warning" not in run.stderr, run.stderr
    lines = subprocess.run(["nm", "-g", "--defined-only", "-P", f"{folder}/lib{stem}.a"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0]: line.split()[1] for line in lines.splitlines() if len(line.split()) > 2}
    ours = {name for name, kind in names.items() if kind not in "WVu"}
    assert ours == {f"{stem}_{x}" for x in API | CUDA}
    assert all(re.match("_ZNK?St|_ZSt|_ZZNSt|DW.ref.|__clang_call_terminate|_ZN9__gnu_cxx|_ZGV|_ZTI|_ZTS|_ZNKSt", n) for n in names.keys() - ours), names.keys() - ours
    (folder / "app.c").write_text(example(stem))
    run = shell(linking.replace("gcc ", f"gcc -std=c11 -Wall -Wextra -Werror ") + " -lm && ./app", folder, "")
    assert run.returncode == 0 and f"kernels of {gpu} on simulator" in run.stdout, run.stdout + run.stderr
    run = shell("./app", folder, "", HALFTONE_SIM_MODEL="sm33")
    assert run.returncode != 0 and "HALFTONE_SIM_MODEL names no model" in run.stdout + run.stderr, run.stdout + run.stderr
    for name, data in contents(folder).items():
        if name.endswith((".cpp", ".h")):
            assert str(ROOT) not in data.decode() and '#include "sim' not in data.decode()


def test_nvcc_is_told_that_the_simulator_is_not_for_it(tmp_path, compilers):
    (tmp_path / "app.cu").write_text("#include <cuda_runtime_api.h>\nint main() { return 0; }\n")
    (tmp_path / "app.c").write_text("#include <cuda_runtime_api.h>\nint main(void) { void *p = 0; return (int)cudaFree(p); }\n")
    (tmp_path / "stand-in.h").write_text("#define __CUDACC__\n")
    told = "the simulator is for gcc and clang; with nvcc compile only .c files and link with -cudart none"
    runs = [shell(f"g++ -x c++ -include stand-in.h -I{ROOT}/runtime/sim/cuda -c app.cu", tmp_path, "")]
    if compilers["nvcc"]:
        runs.append(shell(f"nvcc -I{ROOT}/runtime/sim/cuda -c app.cu", tmp_path, compilers["nvcc"]))
        run = shell(f"nvcc -cudart none -I{ROOT}/runtime/sim/cuda app.c {ROOT}/out/obj/libsim.a -lstdc++ -lpthread -lm && ./a.out", tmp_path, compilers["nvcc"])
        assert run.returncode == 0, run.stderr
    for run in runs:
        assert run.returncode != 0 and told in run.stderr and run.stderr.count("error:") == 1, run.stderr


def test_a_scheme_without_packing_under_another_prefix(tmp_path, compilers):
    """Its kernels call a function of the ABI text, which has the prefix too."""
    vendor(tmp_path / "set", "--scheme", "bf16x6u", "--lean", "--amalgamation", "--prefix", "myproj_")
    text = (tmp_path / "set/myproj.cu").read_text()
    assert "myproj_ht_swap_ab(" in text and not re.search(r"\bht_swap_ab", text) and "pack_launch" not in text
    build(tmp_path / "set", tmp_path / "copy", compilers["simulator"])


@pytest.mark.parametrize("gpu, own", [("a800", "cp.async.cg"), ("t4", "m16n8k8"), ("h200", "wgmma"), ("mi210", "mfma")])
def test_amalgamation_has_the_hooks_of_its_instruction_set_alone(tmp_path, gpu, own):
    vendor(tmp_path / "set", *SMALL, "--amalgamation", gpu=gpu)
    text = next((tmp_path / "set").glob("halftone.[ch][ui]*")).read_text()
    foreign = {"a800": ["wgmma", "mbarrier", "setmaxnreg", "m16n8k8"], "t4": ["wgmma", "mbarrier", "cp.async", "m16n8k16"],
               "h200": ["cp.async.cg", "mma.sync.aligned"], "mi210": ["wgmma", "mbarrier", "cp.async", "mma.sync.aligned", "cudaMalloc"]}
    text = re.sub(r"mma\.sync\.aligned\.m16n8k\d+\.row\.col\.f64\.f64\.f64\.f64", "", text)  # Hopper's
    found = [w for w in foreign[gpu] + (["mfma", "hipMalloc"] if gpu != "mi210" else []) if w in re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)]
    assert own in text and not found


def test_amalgamation_is_of_one_instruction_set(tmp_path):
    run = vendor(tmp_path / "set", *SMALL, "--amalgamation", gpu="a800,h200", check=False)
    assert run.returncode == 1 and "one instruction set" in run.stderr and not list(tmp_path.iterdir())


def test_two_prefixes_in_one_program(tmp_path, compilers):
    path, args = compilers["simulator"], ""
    for stem, kind in (("left", []), ("right", ["--amalgamation"])):
        vendor(tmp_path / stem, *SMALL, "--prefix", stem + "_", *kind)
        build(tmp_path / stem, tmp_path / ("built-" + stem), path)
        args += f" -I{tmp_path}/built-{stem} {tmp_path}/built-{stem}/lib{stem}.a"
    run = shell(f"nvcc -o two {HERE}/two.cpp {args} && ./two", tmp_path, path)
    assert run.returncode == 0 and run.stdout == "15 15\n", run.stdout + run.stderr


def join_lines(folder):
    """The README's line for the second of two folders, and for the first."""
    text = (folder / "README.md").read_text().split("## Several GPUs")[1]
    return re.search(r"(?m)^    (nvcc .*)$", text)[1], re.search(r"(?m)^    (OTHER=.*)$", text)[1]


@pytest.mark.parametrize("prefix", [None, "my_"])
def test_two_folders_of_one_prefix_joined(tmp_path, compilers, prefix):
    """By the lines of their READMEs: the second folder's kernels and tables join the first's; its runtime is not compiled."""
    path, stem, a, b = compilers["simulator"], (prefix or "halftone_")[:-1], tmp_path / "a", tmp_path / "b b"
    kind = ("--prefix", prefix) if prefix else ()
    vendor(a, *SMALL, *kind, gpu="a800")
    vendor(b, *SMALL, *kind, gpu="t4")
    run = shell(join_lines(b)[0], b, path)
    assert run.returncode == 0 and not (b / "dispatch.o").exists(), run.stderr
    run = shell(join_lines(a)[1].replace("path/of/the/other", "'../b b'"), a, path)
    assert run.returncode == 0, run.stderr
    assert "kernels of a800" in app(a, path, stem, "sm80").stdout
    assert "kernels of t4" in app(a, path, stem, "sm75").stdout
    assert gen("verify", b).returncode == 0


def test_two_folders_joined_wrongly_are_no_library(tmp_path, compilers):
    """No way of joining loses the GPUs of the first folder, and none that names the second loses those in silence."""
    path, a, b, c = compilers["simulator"], tmp_path / "a", tmp_path / "b", tmp_path / "c"
    vendor(a, *SMALLER, "--prefix", "my_", gpu="a800")
    vendor(b, *SMALLER, "--prefix", "my_", gpu="t4")
    vendor(c, *SMALLER, "--prefix", "other_", gpu="t4")

    def table(folder, macro):
        run = shell(f"nvcc {macro} -o x.o -c dispatch.c", folder, path)
        return run.returncode == 0, run.stderr
    assert table(a, "-D'HT_JOIN=\"../b/dispatch.c\"'")[0]
    for macro, words in (("-D'HT_MORE_SETS(X)=X(t4)'", "HT_JOIN"), ("-DHT_SETS_ELSEWHERE", "HT_JOIN"), # the prefix or not: one name
                         ("-D'HT_JOIN=\"../c/dispatch.c\"'", "another prefix"), ("-D'HT_JOIN=\"../d/dispatch.c\"'", "d/dispatch.c"),
                         ("-D'HT_JOIN=\"../a/dispatch.c\"'", "redefin")):
        ok, said = table(a, macro)
        assert not ok and words in said, (macro, said)
    text = (b / "dispatch.c").read_text()
    (b / "dispatch.c").write_text(re.sub(r"(HT_ABI_SUM != )\d+", r"\g<1>1", text))
    ok, said = table(a, "-D'HT_JOIN=\"../b/dispatch.c\"'")
    assert not ok and "different versions" in said, said
    (b / "dispatch.c").write_text(text)
    (tmp_path / "list.c").write_text('#include <stdio.h>\n#include "my.h"\nint main(void) { puts(my_gpus(0)); return my_gpus(1) != 0; }\n')
    (tmp_path / "first").mkdir()
    run = shell("nvcc -c ../a/*.cu ../a/[!d]*.c ../a/dev_cuda.c ../b/*.cu && nvcc -o two.o -c ../b/dispatch.c && nvcc -o one.o -c ../a/dispatch.c",
                tmp_path / "first", path) # both tables as if alone
    assert run.returncode == 0, run.stderr
    for tables in ("one.o two.o", "two.o one.o"): # of an archive the linker takes what the first folder's runtime asks for
        run = shell(f"rm -f libmy.a && ar rcs libmy.a {tables} my*.o dev*.o && nvcc -I../a -o list ../list.c libmy.a && ./list",
                    tmp_path / "first", path)
        assert run.returncode == 0 and run.stdout == "a800\n", run.stdout + run.stderr
    run = shell("nvcc -I../a -o list ../list.c one.o two.o my*.o dev*.o", tmp_path / "first", path)
    assert run.returncode != 0 and "my_ht_list" in run.stderr, run.stderr
    run = shell("rm -f libmy.a one.o && ar rcs libmy.a *.o && nvcc -I../a -o list ../list.c libmy.a", tmp_path / "first", path)
    assert run.returncode != 0 and "my_ht_sets_of_a800" in run.stderr, run.stderr # two.o in the place of one.o


def test_every_file_names_licence_origin_and_command(tmp_path, emitted):
    """All of out/SET's and of vendored folders; the command, run, gives the same bytes."""
    folders = [emitted("a800"), emitted("mi210")]
    for at, kind in enumerate(((), ("--prefix", "my_"), ("--amalgamation",))):
        folders.append(tmp_path / str(at))
        vendor(folders[-1], *SMALLER, *kind)
    for folder in folders:
        commands = set()
        for name, data in contents(folder).items():
            if name == "LICENSE":
                continue
            text = data.decode()
            assert "halftone-gen 0." in text or name == "README.md" and "halftone 0." in text, name
            assert re.search(r"\bMIT\b", text), name
            commands.add(re.search(r"out/bin/halftone-gen ((emit|vendor) --gpu .*?)(?: \*/)?$", text, re.M)[1])
        (command,) = commands
        again = tmp_path / "again"
        gen(*[again if w == "DIR" else w for w in command.split()])
        assert contents(again) == contents(folder)
        shutil.rmtree(again)


def test_make_fragment(tmp_path, compilers):
    path = compilers["simulator"]
    for stem, kind in (("halftone", []), ("ab", ["--prefix", "ab_", "--amalgamation"])):
        vendor(tmp_path / stem, *SMALL, *kind)
        out = tmp_path / ("out-" + stem)
        out.mkdir()
        (out / "Makefile").write_text(f"all: {out}/lib{stem}.a\n{stem.upper()}_OUT := {out}\ninclude {tmp_path}/{stem}/{stem}.mk\n")
        run = shell(f"make -j2 && make -q && cp {tmp_path}/{stem}/*.h .", out, path, MAKEFLAGS="")
        assert run.returncode == 0, run.stderr
        assert app(out, path, stem).returncode == 0
        assert not list((tmp_path / stem).glob("*.o"))


def test_verify_names_what_was_edited(tmp_path):
    folder = tmp_path / "set"
    (tmp_path / "mine.gpu").write_text(re.sub(r"(?m)^name\s*=\s*a800", "name = mine", (ROOT / "gen/gpus/a800.gpu").read_text()))
    vendor(folder, *SMALL, "--prefix", "p_", gpu=tmp_path / "mine.gpu")
    (tmp_path / "mine.gpu").unlink() # the folder has its own copy
    assert gen("verify", folder).returncode == 0
    before = contents(folder)
    kernel = next(n for n in before if n.endswith(".cu"))
    (folder / kernel.replace(".cu", ".o")).write_text("an object") # what is built there is nobody's business
    for name in (kernel, "p.h", "README.md", "LICENSE", "mine.gpu"):
        (folder / name).write_bytes(before[name].replace(b"e", b"E", 1))
        run = gen("verify", folder, check=False)
        faults = [l for l in run.stderr.splitlines() if "was edited" in l]
        assert run.returncode == 1 and (name == "mine.gpu" or len(faults) == 1 and name in faults[0]), run.stderr
        (folder / name).write_bytes(before[name])
    (folder / kernel).unlink()
    run = gen("verify", folder, check=False)
    assert run.returncode == 1 and f"{kernel} is missing" in run.stderr
    (folder / "manifest").unlink()
    run = gen("verify", folder, check=False)
    assert run.returncode == 1 and "manifest" in run.stderr
    run = subprocess.run(["make", "verify-vendored", f"DIR={folder}"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0 and "manifest" in run.stderr


def test_verify_tells_an_edit_from_a_newer_generator(tmp_path):
    root, folder = tmp_path / "copy", tmp_path / "set"
    vendor(folder, *SMALL)
    for name in ("gen", "templates", "runtime"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "LICENSE", root)
    text = (root / "runtime/ht_pick.c").read_text()
    (root / "runtime/ht_pick.c").write_text(text.replace("Pure", "pure", 1))
    run = gen("verify", folder, root=root, check=False)
    assert run.returncode == 1 and "ht_pick.c is as it was written, but halftone-gen" in run.stderr
    run = gen("vendor", "--gpu", "a800", "--out", folder, *SMALL, root=root)
    assert gen("verify", folder, root=root).returncode == 0


def test_destination_is_taken_only_as_a_whole(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    run = vendor(folder, *SMALL, check=False)
    assert run.returncode == 1 and "notes.txt" in run.stderr and list(contents(folder)) == ["notes.txt"]
    (folder / "notes.txt").unlink()
    vendor(folder, *SMALL) # empty: fine
    times = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    vendor(folder, *SMALL)
    assert times == {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    vendor(folder, "--scheme", "half", "--lean") # others are removed
    assert not list(folder.glob("*f16x3*")) and gen("verify", folder).returncode == 0
    vendor(folder, *SMALL, "--prefix", "p_")
    vendor(tmp_path / "fresh", *SMALL, "--prefix", "p_")
    assert contents(folder) == contents(tmp_path / "fresh")
    vendor(folder, *SMALL)
    before = contents(folder)
    (folder / "ht_product.c").write_bytes(before["ht_product.c"] + b"/* mine */\n")
    run = vendor(folder, *SMALL, check=False)
    assert run.returncode == 1 and "ht_product.c" in run.stderr and "edited" in run.stderr
    assert contents(folder) == {**before, "ht_product.c": before["ht_product.c"] + b"/* mine */\n"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fresh", "set"]


@pytest.mark.parametrize("verb", ["vendor", "emit"])
def test_a_neighbour_called_like_a_temporary_stays(tmp_path, verb):
    """DEST.tmp may be a folder of the user's, or a link to one."""
    def write():
        gen(verb, "--gpu", "a800", "--out", tmp_path / "proj", *SMALL)
    (tmp_path / "proj.tmp").mkdir()
    (tmp_path / "proj.tmp/README.md").write_text("mine")
    write()
    assert contents(tmp_path / "proj.tmp") == {"README.md": b"mine"}
    assert (tmp_path / "proj/manifest").exists() and len(list(tmp_path.iterdir())) == 2
    shutil.rmtree(tmp_path / "proj")
    (tmp_path / "proj.tmp").rename(tmp_path / "mine")
    (tmp_path / "proj.tmp").symlink_to("mine")
    write()
    assert contents(tmp_path / "mine") == {"README.md": b"mine"} and (tmp_path / "proj.tmp").is_symlink()
    assert not (tmp_path / "proj").is_symlink() and (tmp_path / "proj/manifest").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "proj", "proj.tmp"]


def test_runs_at_once_into_one_folder_all_succeed(tmp_path):
    """Each waits for the one before; what is there in the end is one of the sets, whole."""
    want = {}
    for scheme in ("i8x10", "half"):
        vendor(tmp_path / scheme, "--scheme", scheme, "--lean")
        want[scheme] = contents(tmp_path / scheme)
    for _ in range(4):
        runs = [subprocess.Popen([GEN, "vendor", "--gpu", "a800", "--out", tmp_path / "set", "--scheme", scheme, "--lean", "--root", ROOT],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for scheme in [*want] * 3]
        assert [r.communicate()[1] for r in runs] == [""] * len(runs) and not any(r.returncode for r in runs)
        assert contents(tmp_path / "set") in want.values()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["half", "i8x10", "set"]
        shutil.rmtree(tmp_path / "set")


def test_a_signal_leaves_a_whole_folder_or_none(tmp_path):
    """Terminated while the first of 100 files appear beside the folder, or as they are moved."""
    gen("emit", "--gpu", "a800", "--out", tmp_path / "whole")
    for wait in range(6):
        run = subprocess.Popen([GEN, "emit", "--gpu", "a800", "--out", tmp_path / "set", "--root", ROOT], stdout=subprocess.DEVNULL)
        while run.poll() is None and sum(1 for _ in tmp_path.iterdir()) == 1:
            pass # planning
        for _ in range(wait * 20000):
            pass
        run.terminate()
        assert run.wait() in (0, -signal.SIGTERM)
        left = [p for p in tmp_path.iterdir() if p.name != "whole"]
        assert not left or [p.name for p in left] == ["set"] and contents(left[0]) == contents(tmp_path / "whole")
        for p in left:
            shutil.rmtree(p)


def test_what_an_interrupted_run_left_is_completed(tmp_path):
    whole, folder = tmp_path / "whole", tmp_path / "set"
    vendor(whole, *SMALL)
    names = sorted(contents(whole))
    vendor(folder, *SMALL)
    assert contents(folder) == contents(whole)
    for name in names[len(names) // 2:]: # killed while moving into an empty folder
        (folder / name).unlink()
    vendor(folder, *SMALL)
    assert contents(folder) == contents(whole)
    shutil.rmtree(folder) # killed while moving over an older set: the manifest comes last
    vendor(folder, "--scheme", "half", "--lean")
    kernel = next(n for n in names if "f16x3" in n)
    shutil.copy(whole / kernel, folder / kernel)
    run = gen("verify", folder, check=False)
    assert run.returncode == 1 and kernel + " was added" in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr
    for name in names[:len(names) // 2]:
        shutil.copy(whole / name, folder / name)
    shutil.copy(whole / "ht_abi.h", folder)
    vendor(folder, *SMALL)
    assert contents(folder) == contents(whole)


def test_verify_names_what_its_line_would_compile_beside_it(tmp_path):
    folder = tmp_path / "set"
    vendor(folder, *SMALLER)
    (folder / "notes.txt").write_text("no source")
    assert gen("verify", folder).returncode == 0
    for name in ("mine.c", "mine_sm80.cu", "cuda_runtime.h", "mine.o"):
        (folder / name).write_text("")
        run = gen("verify", folder, check=False)
        assert run.returncode == 1 and f"{name} was added" in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr
        (folder / name).unlink()


def test_a_folder_built_by_its_own_line_can_be_updated(tmp_path, compilers):
    """Objects and library stay, but for the objects of sources that go: the line archives all objects that lie there."""
    folder, path = tmp_path / "set", compilers["simulator"]
    vendor(folder, *SMALLER)
    run = shell(readme_line(folder), folder, path)
    assert run.returncode == 0, run.stderr
    built = contents(folder)
    old = [n for n in built if n.endswith(".o") and "i8x10" in n]
    vendor(folder, *SMALLER)
    assert contents(folder) == built and gen("verify", folder).returncode == 0
    vendor(folder, "--scheme", "half", "--lean")
    after = contents(folder)
    assert old and not set(old) & set(after) and {"ht_product.o", "libhalftone.a"} <= set(after) and gen("verify", folder).returncode == 0
    assert shell(readme_line(folder), folder, path).returncode == 0
    assert "i8x10" not in shell("ar t libhalftone.a", folder, path).stdout
    for name in "abcdefg": # objects of nobody's: one line
        (folder / f"{name}.o").write_text("mine")
    run = vendor(folder, *SMALLER, check=False)
    assert run.returncode == 1 and len(run.stderr.splitlines()) == 1 and "a.o, b.o, c.o and 4 more" in run.stderr, run.stderr


def test_a_destination_that_cannot_be_written_stays_as_it_was(tmp_path):
    (tmp_path / "file").write_text("mine")
    for bad in (tmp_path / "file", tmp_path / "file/set", "/proc/halftone", "/proc/no/such"):
        run = vendor(bad, *SMALL, check=False)
        assert run.returncode == 1 and str(bad) in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_text() == "mine"

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    for folder in ("set", "no/such/set"):
        run = subprocess.run([GEN, "vendor", "--gpu", "a800", "--out", tmp_path / folder, *SMALL, "--root", ROOT], preexec_fn=small_disk,
                             capture_output=True, text=True)
        assert run.returncode == 1 and "cannot write" in run.stderr and [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folders_above_the_destination_are_made(tmp_path):
    """By several runs at once too; by none that refuses what it is asked for."""
    runs = [subprocess.Popen([GEN, "vendor", "--gpu", "a800", "--out", "a/b//set", *SMALLER, "--root", ROOT], cwd=tmp_path,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [r.communicate()[1] for r in runs] == [""] * len(runs)
    assert gen("verify", tmp_path / "a/b/set").returncode == 0 and [p.name for p in (tmp_path / "a/b").iterdir()] == ["set"]
    run = subprocess.run(["make", "vendor", "GPU=a800", "SCHEMES=i8x10", "LEAN=1", f"DEST={tmp_path}/c/d/set/"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0 and (tmp_path / "c/d/set/manifest").exists(), run.stderr
    run = vendor(tmp_path / "e/f", "--scheme", "f17", check=False)
    assert run.returncode == 1 and sorted(p.name for p in tmp_path.iterdir()) == ["a", "c"]


def test_a_read_only_destination_stays_as_it_was():
    """As a user who may not write there: root may write everywhere, so as root the generator runs as nobody."""
    as_user = (lambda: os.setuid(65534)) if os.geteuid() == 0 else None
    if subprocess.run(["test", "-r", ROOT / "gen/cli/main.c", "-a", "-x", GEN], preexec_fn=as_user).returncode != 0:
        pytest.skip("nobody may not read this repository")
    place = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        vendor(place / "old", "--scheme", "half", "--lean")
        before = contents(place / "old")
        for folder in (place / "old", place):
            folder.chmod(0o555)
        for name in ("old", "new"):
            run = subprocess.run([GEN, "vendor", "--gpu", "a800", "--out", place / name, *SMALL, "--root", ROOT], preexec_fn=as_user,
                                 capture_output=True, text=True)
            assert run.returncode == 1 and len(run.stderr.splitlines()) == 1 and str(place / name) in run.stderr, run.stderr
        assert [p.name for p in place.iterdir()] == ["old"] and contents(place / "old") == before
    finally:
        for folder in (place, place / "old"):
            folder.chmod(0o755)
        shutil.rmtree(place)


@pytest.mark.parametrize("prefix", ["myproj", "my-", "9x_", "_x_", "", "a b_", "x" * 60 + "_", "int_", "class_", "std_", "size_t_", "stdio_",
                                    "main_", "x_", "my__", "x'_", "my\n_", "HT_", "ht_sim_", "NAN_", "free_", "block_"])
def test_a_prefix_begins_c_names(tmp_path, prefix):
    run = vendor(tmp_path / "set", *SMALL, "--prefix", prefix, check=False)
    assert run.returncode == 1 and "prefix" in run.stderr.lower() and not list(tmp_path.iterdir())
    assert len(run.stderr.splitlines()) == 1


def test_a_prefix_may_hold_a_word(tmp_path):
    vendor(f"{tmp_path}/set/", *SMALLER, "--prefix", "int4_") # the slash is no part of the name
    assert (tmp_path / "set/int4.h").exists() and [p.name for p in tmp_path.iterdir()] == ["set"]


def test_a_budget_of_the_same_name_as_a_file_is_refused(tmp_path):
    """Budgets that come by path travel with the folder."""
    text = (ROOT / "gen/gpus/a800.gpu").read_text()
    for at in ("x", "y"):
        (tmp_path / at).mkdir()
        (tmp_path / at / "mine.gpu").write_text(re.sub(r"(?m)^name\s*=\s*a800", f"name = {at}", text))
    run = vendor(tmp_path / "set", *SMALLER, gpu=f"{tmp_path}/x/mine.gpu,{tmp_path}/y/mine.gpu", check=False)
    assert run.returncode == 1 and "mine.gpu" in run.stderr and not (tmp_path / "set").exists()


def test_make_says_what_is_missing(tmp_path):
    for words, cure in ((["vendor", "GPU=a800"], "DEST"), (["vendor", "DEST=x"], "GPU"), (["verify-vendored"], "DIR"),
                        (["generate", "GPU=a800 h2000"], "h2000"), (["vendor", "GPU=a800 mi210", f"DEST={tmp_path}/x"], "mi210")):
        run = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True)
        assert run.returncode != 0 and cure in run.stderr, words
    assert not list(tmp_path.iterdir())


def test_lean_keeps_what_the_dispatch_picks(tmp_path):
    def rows(*args):
        gen("emit", "--gpu", "a800", "--out", tmp_path / "set", *args)
        return [l.split("\t") for l in (tmp_path / "set/manifest").read_text().splitlines()[2:]]
    full, lean = rows(), rows("--lean")
    names = [r[0] for r in full]
    assert [r[0] for r in lean] == [n for n in names if n in {r[0] for r in lean}] and len(lean) < len(full)
    assert all(r[2] in ("-", "fallback") for r in lean) and {r[1] for r in lean} == {r[1] for r in full}
    pick = next(r for r in explain_rows("--gpu", "a800", "--scheme", "f16x3") if r["verdict"] == "pick")
    assert any((r[1], r[3], r[4], r[5]) == ("f16x3", pick["bm"], pick["bn"], pick["bk"]) for r in lean)


def test_runtime_is_also_cxx():
    for compiler in filter(shutil.which, ("g++", "clang++")):
        for source in sorted(p.name for p in (ROOT / "runtime").glob("ht_*.c")):
            subprocess.run([compiler, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
                            "-fsyntax-only", str(ROOT / "runtime" / source)], check=True)
        subprocess.run([compiler, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                        "-I", str(ROOT / "runtime/sim/cuda"), str(ROOT / "runtime/dev_cuda.c")], check=True)


OPENS = """#include <stdio.h>
#include "STEM.h"
int main(void) {
    STEM *h;
    int code = STEM_create(&h);
    printf("%s\\n", STEM_strerror(code));
    return STEM_destroy(h), code;
}
"""


@pytest.mark.skipif(not shutil.which("hipcc"), reason="no hipcc: apt-get install hipcc rocm-device-libs libamdhip64-dev")
@pytest.mark.parametrize("kind", [(), ("--amalgamation", "--prefix", "myproj_")])
def test_hipcc_alone_builds_it_without_warnings(tmp_path, kind):
    """The README's line, names, C and C++ callers; what a caller hears on a machine without an AMD GPU."""
    stem = "myproj" if kind else "halftone"
    vendor(tmp_path / "set", "--scheme", "f16x3,bf16x6" if kind else "bf16x6", "--lean", *kind, gpu="mi210,mi250x" if kind else "mi210")
    assert gen("verify", tmp_path / "set").returncode == 0
    assert all(n.endswith((".hip", ".c", ".h", ".md", ".mk", ".txt")) for n in contents(tmp_path / "set") if n not in ("LICENSE", "manifest"))
    built = build(tmp_path / "set", tmp_path / "copy", "", "-Wall -Wextra -Werror")
    names = exported(built / f"lib{stem}.a")
    assert names == {f"{stem}_{x}" for x in API} if kind else {f"{stem}_{x}" for x in API} <= names
    assert all(n.startswith((stem + "_", "ht_") if not kind else stem + "_") for n in names), names
    for extension in ("c", "cpp"):
        (built / f"app.{extension}").write_text(OPENS.replace("STEM", stem))
        run = shell(f"hipcc --offload-arch=gfx90a -Wall -Wextra -Werror -I. app.{extension} -L. -l{stem} -o app && ./app", built, "")
        assert os.path.exists("/dev/kfd") or (run.returncode, run.stdout) == (2, "no usable GPU or driver was found\n"), run.stderr
    kernel = next((tmp_path / "set").glob("*.hip"))
    kernel.write_text(kernel.read_text() + "\n// mine\n")
    run = gen("verify", tmp_path / "set", check=False)
    assert run.returncode == 1 and kernel.name in run.stderr


@pytest.mark.parametrize("kind", [(), ("--prefix", "myproj_"), ("--amalgamation",), ("--amalgamation", "--prefix", "myproj_")])
def test_nvcc_alone_builds_it_without_warnings(tmp_path, compilers, kind):
    path = compilers["nvcc"]
    if not path:
        pytest.skip("no nvcc: system toolkit or `make toolchain`")
    stem = "myproj" if "--prefix" in kind else "halftone"
    schemes = ("--scheme", "i8x10,ozaki", "--lean") if len(kind) == 3 else SMALLER if kind else SMALL  # of FP64, too
    vendor(tmp_path / "set", *schemes, *kind, gpu="a800,h200" if kind == ("--prefix", "myproj_") else "a800")
    level = "-O0" if len(kind) == 3 else "-O3"  # nothing inlined: dim3's constructor, too, would be exported
    built = build(tmp_path / "set", tmp_path / "copy", path, "-Xcompiler -Wall,-Wextra -Werror all-warnings", level)
    names = exported(built / f"lib{stem}.a")
    assert {f"{stem}_{x}" for x in API} <= names
    if "--amalgamation" in kind:
        assert names == {f"{stem}_{x}" for x in API}
    assert all(n.startswith(("halftone_", "ht_") if stem == "halftone" else "myproj_") for n in names), names
    (built / "app.c").write_text(example(stem))
    run = shell(f"nvcc -O3 -I. -c app.c && nvcc app.o lib{stem}.a", built, path)
    assert run.returncode == 0, run.stderr


@pytest.mark.whole
def test_vendored_cmake_builds_with_cuda(tmp_path, compilers):
    path = compilers["nvcc"]
    if not path:
        pytest.skip("no nvcc: system toolkit or `make toolchain`")
    vendor(tmp_path / "set", *SMALLER, "--prefix", "my_")
    (tmp_path / "app.c").write_text(example("my"))
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.21)
project(app LANGUAGES C CUDA)
add_subdirectory(set)
add_executable(app app.c)
target_link_libraries(app PRIVATE my m)
""")
    run = shell(f"cmake -S . -B build -DCMAKE_CUDA_COMPILER={path}/nvcc && cmake --build build", tmp_path, path)
    assert run.returncode == 0, run.stdout + run.stderr
