"""What is added to the house, each by a fictional example in a copy: a GPU, a scheme, an instruction set, a family, a face. An addition
touches the files that the README says and no others, and what it adds computes a right product in the simulator."""
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT, build_generator, copy_of_repository, example, gen

sys.path.append(str(ROOT / "tests/dropin"))
from dropin_programs import KINDS, run, sources  # noqa: E402

NEW = "fiction"
# Kind -> how the README begins its entry, and for each file what is added there: a copy of the one text that the pattern finds, behind it,
# or of another file, with these changes.
ADDITIONS = {
    "gpu": ("A GPU of a known", {
        "gen/gpus/fiction.gpu": ("gen/gpus/a800.gpu", [("(?m)^name( *)= a800", r"name\1= fiction"), (r"(?m)^(smem_per_block_bytes *= *)\d+", r"\g<1>102400")])}),
    "scheme": ("A scheme", {
        "gen/facts/scheme.c": (r'(?ms)^    \{\.name = "egemm",.*?"\},\n', [('"egemm"', '"fiction"'), ("scheme/egemm", "scheme/fiction")]),
        "templates/hooks/scheme/fiction.cuh": ("templates/hooks/scheme/egemm.cuh", [("scheme egemm", "scheme fiction")])}),
    # as sm_75, but keeps 12 bits fewer where it aligns products
    "isa": ("An instruction set", {
        "gen/facts/isa.c": (r'(?ms)^    \{\.name = "sm_75".*?\},\n(?=    AMPERE)', [
            ('"sm_75", .suffix = "sm75"', '"fiction", .suffix = "fiction"'), ("arch = 750", "arch = 770"), ('sim_model = "sm75"', 'sim_model = "fiction"'),
            ('"arch/sm75_f16"', '"arch/fiction"')]),
        "templates/hooks/arch/fiction.cuh": ("templates/hooks/arch/sm75_f16.cuh", []),
        "runtime/sim/sim_mma.c": (r'(?m)^    \{"sm75", 24,.*\n', [('"sm75", 24', '"fiction", 12')]),
        "gen/gpus/fiction.gpu": ("gen/gpus/t4.gpu", [("(?m)^name( *)= t4", r"name\1= fiction"), (r"(?m)^isa( *)= sm_75", r"isa\1= fiction"),
                                                     (r"(?m)^(compute_capability *= *)7\.5", r"\g<1>7.7")])}),
    # GEMV's kernel under another name, in a tile that GEMV has not
    "family": ("A new way", {
        "templates/skeletons/fiction.cu": ("templates/skeletons/gemv.cu", [("samples/gemv", "samples/fiction")]),
        "templates/samples/fiction.h": ("templates/samples/gemv.h", []),
        "gen/family/fiction.c": ("gen/family/streaming.c", []),
        "gen/family/table.c": (r" ROW\(gemv\) ", [("gemv", "fiction")])}),
    # a BLAS that is called as CBLAS, by other names
    "face": ("A library", {
        "runtime/dropin/blas_names.h": (r"    ROW\(X, cblas_##T##R, .*\n", [("cblas_##T##R", "fiction_##T##R"), ("cblas_##T##gemm", "fiction_##T##gemm")])}),
}


def family_alone(text):
    """Of the streaming families' file the first row, under the new name; its functions and fits are those that are there."""
    row = re.search(r"(?s)const struct family family_gemv = \{.*?\n\};", text)[0]
    macro = re.search(r"(?m)^#define STREAMING.*\\\n(?:.*\\\n)*.*\n", text)[0]
    for old, new in (("family_gemv", "family_fiction"), ('"gemv", "gemv"', '"fiction", "fiction"'), ("{16, 4, 256,", "{8, 4, 256,")):
        assert row.count(old) == 1, old
        row = row.replace(old, new)
    calls = "\n".join(f"static void {name}_gemv(const struct target *on, const struct tile *t, struct cost *cost) {{ family_of(\"gemv\")->{name}(on, t, cost); }}"
                      for name in ("footprint", "time"))
    return f'#include "family/rows.h"\n{calls}\n{macro}{row}\n'


def add(root, path, source, changes):
    """Does one entry of the table."""
    is_new = not (root / path).exists()
    text = (root / (source if is_new else path)).read_text()
    found = text if is_new else re.search(source, text)[0]
    assert is_new or len(re.findall(source, text)) == 1, source
    copy = family_alone(found) if path.startswith("gen/family/fiction") else found
    for old, new in changes:
        copy, count = re.subn(old, new, copy)
        assert count >= 1, old
    (root / path).write_text(copy if is_new else text.replace(found, found + copy))


def product(root, folder, *options, asked="", model=None):
    """The grade of one product by a vendored library for the simulator; `asked`: C that comes before the call."""
    (folder / "app.c").write_text(example().replace("    code = halftone_sgemm(", f"    {asked}\n    code = code != 0 ? code : halftone_sgemm("))
    if not (folder / "app").exists():
        build_generator(root, folder / "gen")
        gen("vendor", *options, "--amalgamation-sim", "--out", folder / "set", root=root, binary=folder / "gen")
        subprocess.run(["gcc", "-std=c11", f"-I{folder}/set", "-c", folder / "app.c", "-o", folder / "app.o"], check=True)
        subprocess.run(["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-fno-thread-jumps", "-freorder-blocks-algorithm=simple", f"-I{folder}/set",
                        folder / "set/halftone.cpp", folder / "app.o", "-o", folder / "app", "-lpthread", "-lm"], check=True)
    done = subprocess.run([folder / "app"], capture_output=True, text=True, env={**os.environ, **({"HALFTONE_SIM_MODEL": model} if model else {})})
    return float(re.search(r"kernels of \w+ on .*: grade (\S+)", done.stdout)[1]), done.stdout


def prove_gpu(root, folder):
    """By its path, too: then nothing of the repository is touched."""
    build_generator(root, folder / "gen")
    for gpu in NEW, root / f"gen/gpus/{NEW}.gpu":
        gen("emit", "--gpu", gpu, "--out", folder / "set", root=root, binary=folder / "gen")
        table = (folder / "set/manifest").read_text()
        assert "kernels of fiction (" in table and max(int(line.split("\t")[11]) for line in table.splitlines()[2:]) <= 102400


def prove_scheme(root, folder):
    grade, _ = product(root, folder, "--gpu", "a800", "--scheme", NEW, "--lean", asked='code = halftone_set_scheme(h, "fiction");')
    assert grade < 20


def prove_isa(root, folder):
    own, text = product(root, folder, "--gpu", NEW, "--scheme", "f16x3", "--lean")
    other, _ = product(root, folder, model="sm80")
    assert "kernels of fiction on" in text and other < 20 < 1000 < own


def prove_family(root, folder):
    kernel = "ht_fiction_8x4x256_w1x4_s1_sm80"
    grade, _ = product(root, folder, "--gpu", "a800", "--scheme", "bf16x6u", asked=f'code = halftone_set_kernel(h, "{kernel}");')
    assert grade < 20


def prove_face(root, folder):
    """Programs and fake of the face's tests have what the table has."""
    def cc(*words):
        subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC", *map(str, words)], check=True)
    at, face = root / "tests/dropin", folder / "face.so"
    cc("-fvisibility=hidden", "-ftls-model=initial-exec", "-shared", *(root / p.relative_to(ROOT) for p in sources(KINDS["blas"])), "-o", face)
    cc("-shared", at / "fake_blas.c", "-o", folder / "libfake.so")
    cc("-DMAIN", at / "blas_client.c", folder / "libfake.so", f"-Wl,-rpath,{folder}", "-o", folder / "main", "-ldl", "-lpthread", "-lm")
    calls, wrong, served, original = map(int, run(folder / "main", "fiction_sgemm", face=face).stdout.splitlines()[-1].split()[-4:])
    assert calls == served > 0 and wrong == original == 0


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.whole) if kind in ("isa", "family") else kind for kind in ADDITIONS])
def test_an_addition_touches_what_the_readme_says(kind, tmp_path):
    begin, files = ADDITIONS[kind]
    entry = re.search(rf"(?ms)^- \*\*{begin}.*?(?=^- \*\*|^$)", (ROOT / "gen/README.md").read_text())[0]
    assert set(re.findall(r"`((?:gen|templates|runtime)/[\w./]+)`", entry)) == {path.replace(NEW, "NAME") for path in files}
    root = copy_of_repository(tmp_path / "copy")
    for path, (source, changes) in files.items():
        add(root, path, source, changes)
    globals()[f"prove_{kind}"](root, tmp_path)
