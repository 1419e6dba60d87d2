"""How pages are written, in numbers: words a sentence, no commit, no long line, no figure but the page's tables'."""
import re

import pytest
from conftest import ROOT
from test_house import tracked

PAGES = sorted(p.relative_to(ROOT).as_posix() for p in tracked() if p.suffix == ".md" and p.parent.name != "vendor")
FIGURES = ("README.md",) # pages whose figures stand in generated tables of their own
NOTEBOOK = {"bench/decisions/README.md": "87989a57"} # a page that says which commit has what left the tree
MEAN, LONGEST, COLUMNS = 20, 40, 120
MOST = { # lines, words
    "README.md": (110, 1000), "bench/ACCURACY.md": (450, 5650), "bench/ACCURACY64.md": (210, 2800), "bench/LIMITS.md": (70, 1000), "bench/README.md": (80, 850),
    "bench/PROGRAMS.md": (55, 290), "bench/RESULTS.md": (120, 520), "gen/README.md": (125, 1450), "gen/SCHEMES.md": (105, 1300), "runtime/MANUAL.md": (355, 4200),
    "runtime/README.md": (105, 1160), "runtime/dropin/PROGRAMS.md": (105, 1190), "runtime/dropin/README.md": (130, 1400),
    "templates/README.md": (155, 1900), "tests/README.md": (60, 700)}
GENERATED = re.compile(r"(?ms)^<!-- results:.*?^<!-- end -->$")


def blocks(text):
    """Paragraphs, items of lists and cells of tables, without code, headings and what is generated."""
    text = re.sub(r"(?ms)^```.*?^```$", "", GENERATED.sub("", text))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    block = []
    for line in [*text.splitlines(), ""]:
        begins = re.match(r"\s*(?:[-*]|\d+\.) |\s*$|    |#|\|", line)
        if begins and block:
            yield " ".join(block)
            block = []
        if line.startswith("|"):
            yield from (cell for cell in line.split("|") if re.search(r"\w", cell))
        elif line.strip() and not line.startswith(("    ", "#")):
            block.append(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line).strip())


def sentences(text):
    for block in blocks(text):
        yield from re.split(r"(?<=[.!?])[*)\"]*\s+(?=[*(\"`]*[A-Z0-9`])", block)


def words(sentence):
    """What stands in backquotes is one word."""
    return [w for w in re.sub(r"`[^`]*`", "code", sentence).split() if re.search(r"\w", w)]


def page(name):
    return (ROOT / name).read_text()


@pytest.mark.parametrize("name", PAGES)
def test_sentences_are_short(name):
    counts = {s: len(words(s)) for s in sentences(page(name))}
    prose = [n for n in counts.values() if n > 3] # a cell that is a name is no sentence
    assert sum(prose) / len(prose) <= MEAN, f"{name}: {sum(prose) / len(prose):.1f} words a sentence"
    long = {s: n for s, n in counts.items() if n > LONGEST}
    assert not long, long


@pytest.mark.parametrize("name", PAGES)
def test_no_commit_and_no_long_line(name):
    """But lines that readers paste into a shell."""
    text = GENERATED.sub("", page(name)).replace(NOTEBOOK.get(name, "\0"), "")
    hashes = [w for w in re.findall(r"\b[0-9a-f]{7,40}\b", text) if re.search(r"\d", w) and re.search(r"[a-f]", w)]
    assert not hashes, f"{name} names commits: {hashes}"
    long = [line for line in text.splitlines() if len(line) > COLUMNS and not line.startswith("    ")]
    assert not long, f"{name}: over {COLUMNS} columns: {long}"


@pytest.mark.parametrize("name", MOST)
def test_pages_are_short(name):
    lines, said = len(page(name).splitlines()), len(page(name).split())
    assert lines <= MOST[name][0] and said <= MOST[name][1], f"{name}: {lines} lines, {said} words"


@pytest.mark.parametrize("name", FIGURES)
def test_figures_in_prose_are_those_of_the_tables(name):
    """Each rate and each ratio with a decimal point rounds a cell of a generated table of the page."""
    cells = [float(c) for table in GENERATED.findall(page(name)) for c in re.findall(r"\|(\d[\d.e+-]*)(?=\|)", table)]
    assert cells
    said = re.findall(r"(\d+\.(\d+))(?= ?(?:times|×|x\b|%|TFLOPS|ms|µs))", " ".join(blocks(page(name))))
    lost = [n for n, digits in said if not any(round(cell, len(digits)) == float(n) for cell in cells)]
    assert not lost, f"{name}: no table of the page has {lost}"


def test_the_counts_see_what_they_are_for():
    """Long sentences in paragraphs, items and cells; hashes; not code, headings and generated tables."""
    long = "Word" + " word" * 40 + " end."
    for text in (f"One. {long} Two.", f"- item one.\n- {long}", f"| a | {long} |"):
        assert max(len(words(s)) for s in sentences(text)) == 42
    for text in (f"    {long}", f"# {long}", f"```c\n{long}\n```", f"<!-- results:x -->\n{long}\n<!-- end -->"):
        assert not any(len(words(s)) > 10 for s in sentences(text))
    assert list(sentences("Cards differ by 4.1 % here. `auto` runs (see [that](x.md)). It's 2³¹.")) == [
        "Cards differ by 4.1 % here.", "`auto` runs (see that).", "It's 2³¹."]
