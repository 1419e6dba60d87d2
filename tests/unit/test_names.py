"""What pages and comments name is there: files, functions, options, make targets, schemes."""
import re

from conftest import ROOT
from test_house import names, tracked

C_LIKE = (".c", ".h", ".cpp", ".cu", ".cuh", ".hip")
OTHER = (".py", ".sh", ".mk", ".awk", ".gpu", ".gp", ".m", ".R", ".txt", ".ini", "")
LEFT_OUT = ("tests/golden/", "bench/results/", "bench/decisions/0", "templates/vendor/")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PATH = re.compile(r"(?<![\w./*@<>${}%-])(?:\.\./)*((?:[\w.-]+/)*[\w-]+\.(?:cuh|cpp|cu|[ch]|py|sh|md|mk|awk|gpu))"
                  r"(?![\w(/*]|\.\w)")
# built, a reader's own (placeholders are in capitals), or of others
NO_FILE = re.compile(r"(.*/)?\w*[A-Z]{2,}\.\w+|dispatch\.c|out/.*|my\w*\.h|path/to/.*|some/.*|"
                     r"(cmocka|cuda|unistd|cuda_runtime_api)\.h|numpy/.*|sanitizer/.*|\w\.\w+")


def texts():
    """(path below ROOT, text) of everything that people write, pages among it."""
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(LEFT_OUT) and path.suffix in (*C_LIKE, *OTHER, ".md"):
            yield name, path.read_text(errors="replace")


def comments(name, text):
    """What is said to readers: comments, of a page what stands in backquotes."""
    if name.endswith(".md"):
        return "\n".join(re.findall(r"`[^`\n]+`", text))
    if name.endswith(C_LIKE):
        return "\n".join(COMMENT.findall(text))
    if name.endswith(("akefile", ".mk")): # rules name files of theirs by folder
        return "\n".join(re.findall(r"(?m)(?<!\S)\w+/[\w./-]+|# .*", text))
    docstrings = re.findall(r'"""(.*?)"""', text, re.S) if name.endswith(".py") else []
    return "\n".join(re.findall(r"(?m)(?:^|\s)# .*", text) + docstrings)


def test_paths_that_are_named_exist():
    files = [p.relative_to(ROOT).as_posix() for p in tracked()]
    ends = {"/".join(f.split("/")[i:]) for f in files for i in range(f.count("/") + 1)}
    lost = sorted({f"{name}: {path}" for name, text in texts() for path in PATH.findall(comments(name, text))
                   if path.removeprefix("./") not in ends and not NO_FILE.fullmatch(path)})
    assert not lost, "\n".join(lost)


def test_folders_that_are_named_exist():
    """What begins with a folder of the top level begins a path; placeholders are in capitals."""
    files = [p.relative_to(ROOT).as_posix() for p in tracked()]
    top = "|".join({f.split("/")[0] for f in files if "/" in f} - {".ci", "out"})
    named = re.compile(rf"(?:{top})(?:/[\w-]+)+")
    lost = {f"{name}: {span}" for name, text in texts() for span in spans(name, text)
            if named.fullmatch(span) and not re.search("[A-Z]{2}", span) and not any(f.startswith(span) for f in files)}
    assert not lost, "\n".join(sorted(lost))


def code(name, text):
    return "" if name.endswith(".md") else COMMENT.sub(" ", text) if name.endswith(C_LIKE) else text


def defined():
    """Every word of the code and of file names, and its pieces between underscores: pages shorten `ht_pdl_trigger`."""
    known, pieces = set(), set()
    for path in tracked():
        known.update(re.findall(r"\w+", path.relative_to(ROOT).as_posix()))
    known.update(re.findall(r"\w+", (ROOT / "tests/golden/test_golden.py").read_text()))
    for name, text in texts():
        known.update(re.findall(r"\w+", code(name, text)))
    for word in known:
        part = word.split("_")
        pieces.update("_".join(part[i:j]) for i in range(len(part)) for j in range(i + 1, len(part) + 1))
    return known | pieces


# placeholders, generated kernels, numbers with a unit, revisions; and what is of others
NO_NAME = re.compile(r"[A-Z]+|ht_\w*_(sm\d+a?|gfx\w+)|ht_SCHEME_TILE_|\d\w*|0x.*|"
                     r"(cublas|cblas|rocblas|scipy|RTLD|CUBLAS|TORCH)\w*|emitter|tr?ttp|tpttr|Strsm")
OTHERS_PROGRAMS = ("runtime/dropin/PROGRAMS.md",) # names what others' programs call


def spans(name, text):
    """What stands in backquotes; of a comment, whose sentences run over lines, only without blanks."""
    if name.endswith(".md"):
        text = re.sub(r"(?ms)^```.*?^```|<!-- results.*?<!-- end -->", "", text)
        return re.findall(r"`([^`\n]+)`", text)
    return re.findall(r"`([^`\s]+)`", comments(name, text))


def test_names_in_backquotes_exist():
    known, lost = defined(), set()
    for name, text in texts():
        for span in spans(name, text) if name not in OTHERS_PROGRAMS else []:
            for word in (w.strip("_") for one in names(span) for w in re.findall(r"\w+", one)):
                if word not in known and not NO_NAME.fullmatch(word):
                    lost.add(f"{name}: `{span}`: {word}")
    assert not lost, "\n".join(sorted(lost))


def commands(name, text):
    """Lines of a page that a reader would type."""
    return re.findall(r"(?m)^ {4}(\S.*)$|`([^`\n]+)`", text) if name.endswith(".md") else []


def test_make_targets_and_options_exist():
    rules = "".join(p.read_text() for p in tracked() if p.name == "Makefile" or p.suffix == ".mk")
    targets = {word for line in re.findall(r"(?m)^([^\s#:=][^:=\n]*):(?!=)", rules) for word in line.split()}
    targets.update(*(line.split() for line in re.findall(r"(?m)^\.PHONY: (.*)", rules)))
    programs = "".join(text for name, text in texts() if not name.endswith(".md"))
    options = {a or b for a, b in re.findall(r'"(\w[\w-]+)"|--([\w-]+)', programs)}
    lost = set()
    known = re.search(r"KNOWN := ((?:.*\\\n)*.*)", rules).group(1).replace("\\\n", " ").split()
    for name, text in texts():
        for line in ("".join(found) for found in commands(name, text)):
            for typed in re.findall(r"(?:^|&& )make (.*)", re.split("  |#", line)[0]):
                for word in typed.split(" && ")[0].split():
                    if re.fullmatch(r"[a-z][a-z-]*", word) and word not in targets:
                        lost.add(f"{name}: make {word}")
                    if re.match(r"[A-Z_]+=", word) and word.partition("=")[0] not in known:
                        lost.add(f"{name}: make {word}")
            typed = [] if name in OTHERS_PROGRAMS else re.findall(r"(?<![\w-])--([a-z][\w-]*)", line)
            lost.update(f"{name}: --{word}" for word in typed if word not in options)
    assert not lost, "\n".join(sorted(lost))


def test_sections_that_are_named_exist():
    """Of ACCURACY.md, with ACCURACY64.md, and of the manual: bench/ACCURACY.md, sections 2 and 3; MANUAL.md, 6; in halftone.h a bare (6)."""
    heads = {page: [n for path in (ROOT / folder).glob(f"{page}*.md") for n in re.findall(r"(?m)^## (\d+)\.", path.read_text())]
             for page, folder in (("ACCURACY", "bench"), ("MANUAL", "runtime"))}
    assert all(len(set(numbers)) == len(numbers) for numbers in heads.values())
    assert all(len(numbers) > 8 for numbers in heads.values())
    blank = r"(?:\s|\*|//)*"
    said = re.compile(rf"\b(ACCURACY|MANUAL)(?:64)?(?:\.md)?[\]`)\w./(]*,{blank}"
                      rf"(?:sections?{blank})?(\d+)\b(?: and (\d+)\b)?")
    found = [(name, *m) for name, text in texts() for m in said.findall(text)]
    header = " ".join(COMMENT.findall((ROOT / "runtime/halftone.h").read_text()))
    found += [("halftone.h", "MANUAL", *m.split(", ")) for m in re.findall(r" \((\d+(?:, \d+)?)\)", header)]
    lost = {f"{name}: {page}, section {n}" for name, page, *ns in found for n in ns if n and n not in heads[page]}
    assert len(found) > 40 and not lost, "\n".join(sorted(lost))
