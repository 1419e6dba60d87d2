"""The rules of the house, held by tests: folders, includes, sizes of functions, no place- or time-dependent text."""
import fnmatch
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, digest_of, sampled, sources_digest

# A folder of gen/ includes only itself and folders to its left, and of runtime/ only what both sides share.
GEN_FOLDERS = ("base", "facts", "model", "family", "plan", "emit", "cli")
BENCH_FOLDERS = ["io", "accuracy", "measure", "profile", "apps", "cmd"]
TEST_FOLDERS = ("unit", "sim", "kernels", "mutation", "package", "gpu", "golden", "fuzz", "dropin")
COLUMNS = 110
SHARED_HEADERS = ("ht_abi.h", "ht_cost.h", "ht_bound.h", "ht_crt.h", "halftone.h") # the last for the version


def includes(path):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M)


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout
    files = [ROOT / line for line in out.split() if (ROOT / line).is_file()]
    if not files: # no git here: everything but what is built
        files = [p for p in ROOT.rglob("*") if p.is_file() and p.relative_to(ROOT).parts[0] not in ("out", ".git") and p.suffix != ".pyc"]
    assert len(files) > 100
    return files


def test_top_level_is_what_the_house_says():
    names = {p.relative_to(ROOT).parts[0] for p in tracked()}
    assert names <= {"Makefile", "gen", "templates", "out", "runtime", "tests", "bench", "README.md", "LICENSE",
                     ".clang-format", ".gitignore", ".ci"}, names


def only_to_the_left(folders, path, include):
    """A folder includes itself and those before it in the list."""
    folder = include.rpartition("/")[0] or path.parent.name
    assert folders.index(folder) <= folders.index(path.parent.name), f"{path.relative_to(ROOT)} includes {include}"


def test_gen_and_bench_include_only_folders_to_the_left():
    for path in sorted((ROOT / "gen").rglob("*.[ch]")):
        for inc in includes(path):
            if inc.startswith("../../runtime/"):
                assert inc.rsplit("/", 1)[1] in SHARED_HEADERS, f"{path.name} includes {inc}"
            else:
                only_to_the_left(GEN_FOLDERS, path, inc)
    for folder in BENCH_FOLDERS:
        for path in sorted((ROOT / "bench/halftone" / folder).glob("*.[ch]")):
            for inc in includes(path):
                assert inc.startswith("../../../runtime/") or inc == "plot_scripts.h" or only_to_the_left(BENCH_FOLDERS, path, inc) is None


def test_runtime_and_bench_keep_to_their_rooms():
    for path in [*(ROOT / "runtime").rglob("*.[ch]"), *(ROOT / "runtime").rglob("*.cpp")]:
        assert not any("gen/" in i or "bench/" in i for i in includes(path)), path
    for path in (ROOT / "bench").rglob("*.[ch]"):
        assert not any("gen/" in i or "templates/" in i for i in includes(path)), path
    for path in (ROOT / "runtime/dropin").glob("*.[ch]"):
        assert all(i.startswith(("common", "cublas_", "lt_", "blas_", "hip_")) or i in ("../halftone.h", "../ht_site_line.h") for i in includes(path)), path
    for path in [*(ROOT / "runtime").glob("*.[ch]"), *(ROOT / "runtime/dropin").glob("*.[ch]")]:
        vendor = re.findall(r"#\s*include\s+<(cuda|hip)", path.read_text())
        assert not vendor or path.stem.startswith("dev_"), f"{path.name} includes a vendor header"


@pytest.mark.part
@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_clang_warns_of_nothing(pytestconfig):
    """The build is gcc's; clang warns of signs where gcc does not. bench/halftone/io/plot.c includes what is built."""
    warn = re.search(r"(?m)^WARN := (.*)", (ROOT / "Makefile").read_text()).group(1).split() + ["-Werror"]
    sources = [p for pattern in ("gen/*/*.c", "runtime/ht_*.c", "runtime/sim/*.c", "bench/halftone/*/*.c", "runtime/dropin/*.c") for p in sorted(ROOT.glob(pattern))
               if p.name != "plot.c"]
    if pytestconfig.getoption("--sample"):
        names = {digest_of(p.relative_to(ROOT).as_posix()): p for p in sources}
        sources = [names[digest] for digest in sampled(names, 4, sources_digest())]
    run = subprocess.run(["clang", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-D_GNU_SOURCE", *warn, "-fsyntax-only", "-iquote", "gen",
                          "-iquote", "bench/halftone", *map(str, sources)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_files_of_the_generator_are_short():
    """How much there is of it, test_size.py counts."""
    for path in (ROOT / "gen").rglob("*.[ch]"):
        text = path.read_text().splitlines()
        assert len(text) <= 600, f"{path.relative_to(ROOT)} has {len(text)} lines"
        for number, line in enumerate(text, 1):
            assert len(line) <= COLUMNS, f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"


def test_no_scheme_and_no_family_is_asked_for_by_name():
    """But in the tables; some names are those of models, accuracies, types or recipes too. What a scheme is taken for is a role in its row.
    A family is known to its file, and to the recipe that has it."""
    names = set(re.findall(r'(?:\.name = |RESIDUES\(|FIXED_POINT\()"(\w+)"', (ROOT / "gen/facts/scheme.c").read_text()))
    others = {"egemm", "legemm", "half", "bf16", "tf32", "native64", "ozaki"}
    assert names > others
    for path in [*(ROOT / "gen").rglob("*.[ch]"), *(ROOT / "runtime").glob("ht_*.[ch]"), *(ROOT / "runtime/dropin").glob("*.[ch]")]:
        if path.parent.name == "facts" or path.name == "ht_site_line.h":  # faces read lines before they have a library to ask
            continue
        text, is_gen = re.sub(r"(?s)/\*.*?\*/", "", path.read_text()), "gen" in path.parts
        word = r"(?:%s)\b" % "|".join(names - ({"egemm", "legemm"} if is_gen else {"half", "tf32"}))
        strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text.replace("\\0", " "))
        named = re.match if is_gen else re.search  # an example of a command may name one
        assert not [s for s in strings if named(r"\b" + word, s)], path
        assert "dropin" in path.parts or not re.findall(r"(?<![a-zA-Z])(?:%s)(?![A-Z0-9])" % "|".join(n.upper() for n in names - others), text), path  # cuBLAS has a BF16X9


def test_functions_are_short():
    """80 lines at most, from the line in column 0 that ends in '{', or is '{' alone, to the next '}' in column 0."""
    type_or_table = re.compile(r"(?:typedef |static |const |extern )*(?:struct|enum|union|class|namespace) ?\w* \{$|.*=.*\{$|extern \"C\" \{$|#")
    for path in tracked():
        if path.suffix not in (".c", ".cpp", ".h") or "templates" in path.parts:
            continue
        start = None
        lines = path.read_text().splitlines()
        for number, text in enumerate(lines, 1):
            if text[-1:] == "{" and text[0] not in " }" and not type_or_table.match(text):
                start = number
            elif text.startswith("}") and start:
                assert number - start < 80, f"{path.relative_to(ROOT)}:{start}: function of {number - start} lines"
                start = None


def circle_in(edges):
    """Names that reach themselves, of {name: names that it calls}."""
    reach = {name: set(called) for name, called in edges.items()}
    for middle in edges:
        for name in edges:
            reach[name] |= reach[middle] if middle in reach[name] else set()
    return sorted(name for name in edges if name in reach[name])


def symbols(source, tmp_path):
    """(defined, needed) names of a source's object: the built one, or where that is older one of its own."""
    built = ROOT / "out/obj" / source.relative_to(ROOT).with_suffix(".o")
    if not built.exists() or built.stat().st_mtime < max(p.stat().st_mtime for p in (source, *source.parent.glob("*.h"))):
        built = tmp_path / source.with_suffix(".o").name
        language = ["g++", "-std=c++17"] if source.suffix == ".cpp" else ["cc", "-std=c11"]
        subprocess.run([*language, "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-D_GNU_SOURCE", "-iquote", "gen",
                        "-iquote", "bench/halftone", "-c", str(source), "-o", str(built)], cwd=ROOT, check=True)
    rows = [line.split() for line in subprocess.run(["nm", built], check=True, capture_output=True, text=True).stdout.splitlines()]
    return {row[-1] for row in rows if row[-2] in "TDBRVW"}, {row[-1] for row in rows if row[-2] == "U"}


@pytest.mark.parametrize("folder", [*(f"gen/{name}" for name in GEN_FOLDERS), "runtime", "runtime/dropin", "runtime/sim", *(f"bench/halftone/{name}" for name in BENCH_FOLDERS)])
def test_no_two_files_of_a_folder_call_each_other_in_a_circle(folder, tmp_path):
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    sources = [p for p in (ROOT / folder).iterdir() if p.suffix in (".c", ".cpp") and p.stem not in ("dev_cuda", "dev_hip", "plot")]  # which need a vendor's header, or what make writes
    of = {p.stem: symbols(p, tmp_path) for p in sources}
    edges = {name: {other for other in of if other != name and of[other][0] & needed} for name, (_, needed) in of.items()}
    assert circle_in(edges) == []


def test_no_dates_and_no_absolute_paths_in_the_generator():
    for path in [*(ROOT / "gen").rglob("*.[ch]"), *[p for p in (ROOT / "templates").rglob("*") if p.is_file()]]:
        text = path.read_text()
        assert "__DATE__" not in text and "__TIME__" not in text, path
        assert "/home/" not in text and "/work/" not in text, path


def pages():
    return [p for p in tracked() if p.suffix == ".md" and p.parent != ROOT / "templates/vendor"]


def test_tables_are_what_the_results_say_and_links_lead_somewhere():
    run = subprocess.run([sys.executable, "bench/readme_tables.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for page in pages():
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links {link}"
        for name in re.findall(r"`(bench/[\w./-]+\.\w+)`", page.read_text()):
            assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_the_manuals_row_major_call_is_the_tested_one():
    call = re.search(r"^ +(halftone_sgemm\(h, transb.*;)$", (ROOT / "runtime/MANUAL.md").read_text(), re.M).group(1)
    assert call in (ROOT / "tests/unit/test_api.c").read_text()


def test_results_that_are_named_are_there():
    """On pages and in comments."""
    ends = r"\.(?:tsv|log|svg|gpu|html)"
    for page in pages():
        for name in re.findall(r"`(?:[\w./]*results/)?([\w.-]+" + ends + ")`", page.read_text()):
            table = re.match(r"(h200|h100|tune|sim|probe|profile|gfx90a)-", name)
            assert not table or (ROOT / "bench/results" / name).exists(), f"{page.relative_to(ROOT)} names {name}"
    for path in tracked():
        if path.suffix in (".c", ".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".gpu") and "golden" not in path.parts:
            for name in re.findall(r"results/([\w.-]+" + ends + ")", path.read_text(errors="replace")):
                assert (ROOT / "bench/results" / name).exists() or name.startswith("NAME") or path.suffix == ".sh", f"{path.relative_to(ROOT)} names {name}"


def test_each_decision_has_its_page_and_its_line():
    index = (ROOT / "bench/decisions/README.md").read_text()
    found = sorted((ROOT / "bench/decisions").glob("0*.md"))
    assert re.findall(r"\[(\d{3})\]", index) == [p.name[:3] for p in found]
    for page in found:
        text = page.read_text()
        assert f"[{page.name[:3]}]({page.name})" in index and text.startswith(f"# {page.name[:3]} ")
        assert all(word in text.lower() for word in ("**question.**", "expectation", "measurement", "decision")), page.name
        assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 120, page.name
        assert not re.findall(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,8}\b", text), f"{page.name}: a commit's hash"
    for path in tracked():
        if path.suffix in (".c", ".h", ".cpp", ".cuh", ".cu", ".py", ".gpu") and "golden" not in path.parts:
            for number in re.findall(r"decisions/(\d{3})", path.read_text(errors="replace")):
                assert f"[{number}](" in index, f"{path.relative_to(ROOT)} names decision {number}"


def test_a_test_lies_in_the_folder_of_its_kind():
    """tests.mk builds what lies there, and runs of kernels/ what it names."""
    assert not [path.name for path in (ROOT / "tests").iterdir() if path.name.startswith(("test_", "mutation_"))]
    rules = (ROOT / "tests/tests.mk").read_text()
    assert not [path.stem for path in (ROOT / "tests/kernels").glob("test_*.c*") if not re.search(rf"\b{path.stem}\b", rules)]


def names(word):
    """`test_{house,words}.py` as patterns."""
    found = re.fullmatch(r"(.*)\{([^}]*)\}(.*)", word)
    return [found[1] + inner + found[3] for inner in found[2].split(",")] if found else [word]


def test_each_file_is_on_the_map_of_its_folder():
    """A file of a folder within (templates/hooks/accum/promote.cuh) goes by folder and name there (`accum/promote`). Of tests/ the map
    has folders; files say it themselves."""
    within = sorted({p.parent.relative_to(ROOT).as_posix() for p in tracked() if p.relative_to(ROOT).parts[0] == "templates"})
    within += ["bench/lab", *(f"bench/halftone/{folder}" for folder in BENCH_FOLDERS)]
    for folder in (*within, "runtime", "runtime/sim", "runtime/dropin", "bench"):
        page = next(p / "README.md" for p in (ROOT / folder, *(ROOT / folder).parents) if (p / "README.md").exists() and p.name != "vendor")
        words = [n for span in re.findall(r"`([^`]+)`|\]\(([^)]+)\)", page.read_text()) for word in "".join(span).split() for n in names(word.rstrip(",;"))]
        for path in tracked():
            if path.parent == ROOT / folder and path != page:
                stem = path.name.split(".")[0]
                at = path.parent.name + "/" if {"templates", "lab"} & set(path.parts) else ""
                assert any(fnmatch.fnmatch(at + path.name, w) or fnmatch.fnmatch(at + stem, w) for w in words), f"{page.relative_to(ROOT)} lacks {path.name}"


def says_what_it_is(text):
    """The first line, after a shebang: a comment of four words or more."""
    line = next((one for one in text.splitlines() if one.strip() and not one.startswith("#!")), "")
    return re.match(r'/\*|//|# |r?"""', line) is not None and len(re.findall(r"\w+", line)) >= 4


def test_files_of_tests_say_what_they_are():
    assert says_what_it_is('#!/bin/sh\n# run all of the programs') and says_what_it_is('/* truth: see truth.h. */')
    assert not says_what_it_is('#include "of_this_and_that.h"\n') and not says_what_it_is('/* words */\n') and not says_what_it_is("")
    page = (ROOT / "tests/README.md").read_text()
    assert not [folder for folder in TEST_FOLDERS if f"`{folder}/`" not in page]
    files = [p for folder in ("", *TEST_FOLDERS) for p in tracked() if p.parent == ROOT / "tests" / folder]
    silent = [p.relative_to(ROOT).as_posix() for p in files if p.suffix not in (".md", ".ini") and not says_what_it_is(p.read_text())]
    assert not silent, silent