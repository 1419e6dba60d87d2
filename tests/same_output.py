"""Does a change of the generator or the templates move what is generated? Compares this tree with an older revision:

    python3 tests/same_output.py REV                               text of every set and of two vendored folders
    python3 tests/same_output.py REV --machine-code h200 a800 t4   PTX of the kernels whose text differs (gfx90a: assembly)

`--rename FILE` holds one `OLD NEW` a line: regular expression and replacement, applied to each line of the old side's file names and text,
so that a step that only renames still compares equal. Checksum lines are masked: any edit of a template moves them.
Exit 0: nothing differs; 1: something does, named file by file; 2: could not compare."""
import argparse
import concurrent.futures
import difflib
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"vendored-two-gpus": ["vendor", "--gpu", "a800,h200", "--lean"],
           "vendored-amalgamation": ["vendor", "--gpu", "t4", "--scheme", "f16x3", "--prefix", "my_", "--amalgamation"]}
MASKED = re.compile(r"(?mi)^.*checksum.*$|^#.*HT_ABI_SUM.*$|^[0-9a-f]{16} .*$")  # banners; a vendored manifest has one a file


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        sys.exit(2)
    return done.stdout


def old_tree(revision, into):
    """The tracked files of a revision, with its generator built."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True)
    if archive.returncode != 0:
        sys.exit(f"same_output.py: git knows no revision '{revision}'")
    into.mkdir()
    subprocess.run(["tar", "-x"], cwd=into, input=archive.stdout, check=True)
    run(["make", "out/bin/halftone-gen"], into)
    return into


def generate(tree, into, gpus=None, folders=FOLDERS):
    """The sets of these GPUs, or every set that both sides could have, and the vendored folders."""
    gen = tree / "out/bin/halftone-gen"
    into.mkdir()
    for gpu in gpus or sorted(budget.stem for budget in (tree / "gen/gpus").glob("*.gpu")):
        run([gen, "emit", "--gpu", gpu, "--out", into / gpu], tree)
    for name, command in folders.items():
        run([gen, *command, "--out", into / name], tree)


def renamer(path):
    """The function that renames a text, line by line. Generated files share most of their lines, so each is renamed once."""
    rules = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")] if path else []
    rules = [(re.compile(old), new) for old, new in rules]

    @functools.lru_cache(None)
    def one_line(line):
        for pattern, replacement in rules:
            line = pattern.sub(replacement, line)
        return line
    return lambda text: "\n".join(map(one_line, text.split("\n"))) if rules else text


def read(folder, renamed):
    """Name -> text of every file below the folder, renamed and masked."""
    return {renamed(str(p.relative_to(folder))): (p, renamed(MASKED.sub("(checksum)", p.read_text())))
            for p in sorted(folder.rglob("*")) if p.is_file()}


def first_difference(old, new):
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=0))
    return "\n    ".join(line[:150] for line in lines[2:8])


def assembly(source, kind, tree, scratch):
    """PTX of a CUDA source, gfx90a assembly of a HIP one, without what names the file. PTX decides: ptxas is deterministic."""
    out = scratch / f"{kind}-{source.stem}.s"
    if source.suffix == ".hip":
        command = [os.environ.get("HIPCC", "hipcc"), "-O3", "-std=c++17", "--offload-arch=gfx90a", "--cuda-device-only", "-S", source, "-o", out]
    else:
        rules = (source.parent / "rules.mk").read_text()
        arch = re.search(rf"HT_FLAGS_{source.stem.rsplit('_', 1)[1]} := -gencode arch=(compute_\w+)", rules).group(1)
        command = [os.environ.get("NVCC", "nvcc"), "-O3", "-std=c++17", f"-arch={arch}", "-ptx", source, "-o", out]
    run(command, tree)
    text = re.sub(r"(?m)^\s*(//|;|\.file|\.ident|\.loc).*$|__hip_cuid_\w+|_GLOBAL__N__\w+?_cu_\w{8}_\w+?(?=\d)", "", out.read_text())
    out.unlink()
    return text


def compare_text(old, new):
    differing = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            print(f"only {'new' if name in new else 'old'}: {name}")
            differing.append(name)
        elif old[name][1] != new[name][1]:
            differing.append(name)
    return differing


def compare_machine_code(names, old, new, renamed, trees, scratch):
    def one(name):
        sides = [assembly(side[name][0], kind, tree, scratch) for side, kind, tree in ((old, "old", trees[0]), (new, "new", trees[1]))]
        sides[0] = renamed(sides[0])
        length = re.compile(r"_Z(?:N)?\d+|(?<=[a-z])\d+(?=ht_)")  # mangled names carry their length
        return name, length.sub("", sides[0]) == length.sub("", sides[1])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [name for name, same in pool.map(one, names) if not same]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision")
    parser.add_argument("--rename", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--machine-code", nargs="+", default=[], metavar="GPU")
    asked = parser.parse_args()
    renamed = renamer(asked.rename)
    with tempfile.TemporaryDirectory() as temporary:
        scratch = pathlib.Path(temporary)
        before = old_tree(asked.revision, scratch / "tree")
        run(["make", "out/bin/halftone-gen"], ROOT)
        generate(before, scratch / "old")
        generate(ROOT, scratch / "new")
        old, new = read(scratch / "old", renamed), read(scratch / "new", renamer(None))
        differing = compare_text(old, new)
        print(f"text: {len(new)} files, {len(differing)} differ")
        if not asked.machine_code:
            for name in [n for n in differing if n in old and n in new][:10]:
                print(f"  {name}\n    {first_difference(old[name][1], new[name][1])}")
            return len(differing) > 0
        kernels = [n for n in differing if n in old and n in new and n.split("/")[0] in asked.machine_code
                   and n.endswith((".cu", ".hip"))]
        moved = compare_machine_code(kernels, old, new, renamed, (before, ROOT), scratch)
        lost = [n for n in differing if n.split("/")[0] in asked.machine_code and n.endswith((".cu", ".hip")) and (n not in old or n not in new)]
        print(f"machine code of {', '.join(asked.machine_code)}: {len(kernels)} kernels whose text differs, {len(moved)} differ in it")
        for name in moved:
            print(f"  {name}")
        return len(moved) + len(lost) > 0


if __name__ == "__main__":
    assert shutil.which("git")
    sys.exit(main())
