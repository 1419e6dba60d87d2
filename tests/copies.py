"""The repository in a folder of its own, for what builds beside others. Needs Python alone: fuzzers take it, too."""
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def copy_of_repository(folder, built=False):
    """built: with what is compiled already."""
    left_out = shutil.ignore_patterns("results", "golden", "__pycache__")
    for name in ("gen", "runtime", "templates", "bench", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    for name in ("Makefile", "LICENSE", "README.md"):
        shutil.copy2(ROOT / name, folder)
    for name in ("obj", "bin"):
        if built and (ROOT / "out" / name).is_dir():
            shutil.copytree(ROOT / "out" / name, folder / "out" / name)
    return folder


def build_generator(root, binary):
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-iquote", root / "gen",
                    *map(str, sorted((root / "gen").rglob("*.c"))), "-o", str(binary)], check=True)
