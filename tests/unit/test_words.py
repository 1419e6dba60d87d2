"""One word, one meaning, the field's own: patterns of tests/words.txt and how often each may still occur. A limit only falls:

    HALFTONE_WORDS=write out/venv/bin/python -m pytest -q tests/unit/test_words.py    lowers what has become less, raises nothing
"""
import collections
import os
import re

from conftest import ROOT
from test_house import tracked

WORDS = ROOT / "tests/words.txt"
# generated, measured, decided before, or this list itself
LEFT_OUT = ("tests/words.txt", "tests/unit/test_words.py", "tests/golden/", "bench/results/", "bench/decisions/")
GLOSSARY = ("gen/README.md", "## Glossary")


def rows():
    """(limit, pattern, what to say), one a line, a tab between them."""
    return [line.split("\t") for line in WORDS.read_text().splitlines() if line and not line.startswith("#")]


def texts():
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(LEFT_OUT) or path.suffix in (".npy", ".png", ".gz"):
            continue
        text = path.read_text(errors="replace")
        yield name, text.split(GLOSSARY[1])[0] if name == GLOSSARY[0] else text


def hits(patterns, within=""):
    """Pattern -> file -> how often. Patterns of whole words are asked once for each word of a file: there are many patterns. Of the others
    a search without the edge of a word, five times as fast, tells first which files to look at."""
    whole = {p: re.compile(p) for p in patterns if re.fullmatch(r"\\b\(\?:[^ .]*\)\\b", p)}
    other = [(p, re.compile(p.removeprefix(r"\b")), re.compile(p)) for p in patterns if p not in whole]
    found, known = {p: collections.Counter() for p in patterns}, {}
    for name, text in texts():
        if not name.startswith(within):
            continue
        for word, count in collections.Counter(re.findall(r"\w+", text)).items():
            if word not in known:
                known[word] = [p for p, rx in whole.items() if rx.fullmatch(word)]
            for p in known[word]:
                found[p][name] += count
        for p, loose, rx in other:
            if loose.search(text) and (count := sum(1 for _ in rx.finditer(text))):
                found[p][name] = count
    return found


def test_old_words_become_fewer():
    found = hits([pattern for _, pattern, _ in rows()])
    if os.environ.get("HALFTONE_WORDS") == "write":
        lines = WORDS.read_text().splitlines()
        for i, (limit, pattern, say) in ((i, line.split("\t")) for i, line in enumerate(lines) if not line.startswith("#")):
            lines[i] = f"{min(int(limit), found[pattern].total())}\t{pattern}\t{say}"
        WORDS.write_text("\n".join(lines) + "\n")
    worse = []
    for limit, pattern, say in rows():
        if found[pattern].total() > int(limit):
            worst = ", ".join(f"{name} {n}" for name, n in found[pattern].most_common(5))
            worse.append(f"{pattern}: {found[pattern].total()} of at most {limit} ({worst}); say {say}")
    assert not worse, "\n".join(worse)


def test_identifiers_of_templates_are_gone():
    """Rows below `# templates` hold 0 for the templates themselves, whatever the rest of the tree still says."""
    text = WORDS.read_text()
    part = text[text.index("# templates\n"):text.index("# phrases\n")]
    patterns = [line.split("\t")[1] for line in part.splitlines() if "\t" in line]
    assert len(patterns) > 15
    left = [f"{name}: {p} {n}" for p, files in hits(patterns, "templates/").items() for name, n in files.items()]
    assert not left, "\n".join(left)
