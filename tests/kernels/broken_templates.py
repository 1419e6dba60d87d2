"""Templates that a test changes: a copy of them, their parts as objects for the simulator, a program of these."""
import os
import re
import shutil
import subprocess

from conftest import ROOT, SIM


def copied(folder):
    shutil.copytree(ROOT / "templates", folder / "templates")
    os.symlink(ROOT / "runtime", folder / "runtime")
    return folder / "templates"


def edit(path, edits):
    """Other texts, each of which must be there."""
    text = path.read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text)


def break_one(templates, broken):
    """File, pattern, replacement; None: nothing is broken."""
    if broken:
        changed, count = re.subn(broken[1], broken[2], (templates / broken[0]).read_text(), count=1)
        assert count == 1, broken
        (templates / broken[0]).write_text(changed)
    return templates


def part(templates, name, number, source):
    """One template, as this file of tests/kernels includes it."""
    out = templates / f"{name}.o"
    subprocess.run([*SIM, "-Wno-unknown-pragmas", f"-DPART={number}", f'-DTEMPLATE="{templates}/skeletons/{name}.cu"', f"-I{ROOT}/tests/kernels",
                    "-c", str(ROOT / "tests/kernels" / source), "-o", str(out)], check=True)
    return out


def linked(program, *objects):
    sim = (ROOT / "out/obj/runtime/sim").glob("*.o")
    subprocess.run(["g++", "-o", str(program), *map(str, objects), *map(str, sim), "-lpthread", "-lm"], check=True)
    return program
