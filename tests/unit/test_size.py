"""The repository grows only where a commit says why. Sizes are counted commit by commit, from the commit that added this file.

A part's count rises with what a commit adds and falls with what it removes, never below 0. At more than the part's slack the
commit needs a line `size: WHY` in its message, which sets all counts to 0; a later commit, an empty one too, can give the
reason that an earlier one lacks. Many small rises need a reason as one large rise does.

    out/venv/bin/python -m pytest -q -s tests/unit/test_size.py    also prints sizes, counts and the reasons so far"""
import collections
import re

import pytest
from conftest import NO_HISTORY, ROOT, commit_that_added, git

# Part: what of it may come without a reason. Tests may: one test of a cure, with its fixture, is 100 lines.
SLACK = {"gen": 40, "runtime": 40, "templates": 40, "dropin": 40, "bench": 40, "tests": 150, "files": 4, "words of Markdown": 200}
LINES = {"runtime/dropin/": "dropin", "runtime/sim/": None,
         **{f"{part}/": part for part in ("gen", "runtime", "templates", "dropin", "bench", "tests")}}
REASON = re.compile(r"(?m)^size: (\S.*)")


def part_of(path):
    return next((part for folder, part in LINES.items() if path.startswith(folder)), None)


def deltas(root, since):
    """(commit, message, {part: how much it grew}) of each commit after this one, the oldest first."""
    span = ["log", "--reverse", "--topo-order", "--no-merges", "--no-renames", f"{since}..HEAD"]
    grown = collections.defaultdict(collections.Counter)
    for entry in git(root, *span, "--format=%x01%H", "--numstat", "--summary").split("\1")[1:]:
        commit, _, rest = entry.partition("\n")
        for added, removed, path in re.findall(r"(?m)^(\d+)\t(\d+)\t(.*)$", rest):
            grown[commit][part_of(path)] += int(added) - int(removed)
        grown[commit]["files"] = len(re.findall(r"(?m)^ create mode", rest)) - len(re.findall(r"(?m)^ delete mode", rest))
    for entry in git(root, *span, "--format=%x01%H", "-p", "--unified=0", "--", "*.md").split("\1")[1:]:
        commit, _, rest = entry.partition("\n")
        in_hunk = False
        for line in rest.split("\n"):
            in_hunk = line.startswith("@@ ") or in_hunk and not line.startswith("diff --git ")
            if in_hunk and line[:1] in ("+", "-"):
                grown[commit]["words of Markdown"] += len(line[1:].split()) * (1 if line[0] == "+" else -1)
    for entry in git(root, *span, "--format=%H%n%B%x01").split("\1")[:-1]:
        commit, _, message = entry.strip().partition("\n")
        yield commit, message, {part: grown[commit][part] for part in SLACK}


def walk(root, since):
    """Counts at HEAD, the rises with a reason and those that wait for one: [(commit, subject, what rose to how much, reason)]."""
    counts, reasons, waiting = collections.Counter(), [], []
    for commit, message, grown in deltas(root, since):
        for part, by in grown.items():
            counts[part] = max(0, counts[part] + by)
        rose = {part: counts[part] for part in SLACK if counts[part] > SLACK[part]}
        reason = REASON.search(message)
        if reason:
            reasons.append((commit, message.splitlines()[0], rose, reason[1]))
            counts, waiting = collections.Counter(), []
        elif any(grown[part] > 0 for part in rose):
            waiting.append((commit, message.splitlines()[0], {part: n for part, n in rose.items() if grown[part] > 0}, None))
        waiting = [w for w in waiting if any(counts[part] > SLACK[part] for part in w[2])]
    return counts, reasons, waiting


def row(commit, subject, rose, reason):
    by = ", ".join(f"{part} +{n}" for part, n in rose.items()) or "within the slack"
    return f"{commit[:8]} {subject}\n    {by}" + (f"; {reason}" if reason else f"; allowed {', '.join(str(SLACK[r]) for r in rose)}")


def sizes():
    files = [ROOT / name for name in git(ROOT, "ls-files", "-z").split("\0")[:-1]]
    total = collections.Counter(files=len(files))
    for path in filter(lambda p: p.is_file(), files):
        data = path.read_bytes()
        total[part_of(path.relative_to(ROOT).as_posix())] += data.count(b"\n")
        total["words of Markdown"] += len(data.split()) if path.suffix == ".md" else 0
    return total


def test_a_rise_has_its_reason():
    since = commit_that_added("tests/unit/test_size.py")
    if since is None:
        pytest.skip(NO_HISTORY)
    counts, reasons, waiting = walk(ROOT, since)
    total = sizes()
    print("", *(f"{part:18} {total[part]:7}, {counts[part]:4} of {slack} since the last reason" for part, slack in SLACK.items()), sep="\n")
    print(*(row(*r) for r in reasons), sep="\n")
    assert not waiting, "a line `size: WHY` is missing in the message of\n" + "\n".join(row(*w) for w in waiting)


@pytest.fixture
def repository(tmp_path):
    """commit(message, {path: text}) in a fresh repository whose first commit is the base; with an older commit of 500 lines."""
    git(tmp_path, "init", "-q")

    def commit(message, files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text) if text is not None else (tmp_path / name).unlink()
        git(tmp_path, "add", "-A")
        git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", message)
        return git(tmp_path, "rev-parse", "HEAD").strip()

    commit.root = tmp_path
    commit.base = commit("base", {"gen/old.c": "x\n" * 500})
    return commit


def waits(commit):
    return [(subject, rose) for _, subject, rose, _ in walk(commit.root, commit.base)[2]]


@pytest.mark.parametrize("path, text, rose", [
    ("gen/a.c", "x\n" * 41, {"gen": 41}),
    ("gen/a.c", "x\n" * 40, None),
    ("runtime/a.c", "x\n" * 41, {"runtime": 41}),
    ("runtime/sim/a.c", "x\n" * 500, None),
    ("runtime/dropin/a.c", "x\n" * 41, {"dropin": 41}),
    ("tests/a.py", "x\n" * 150, None),
    ("tests/a.py", "x\n" * 151, {"tests": 151}),
    ("README.md", "++ a word\n" * 67, {"words of Markdown": 201}),
    ("README.md", "a word\n" * 100, None)], ids=range(9))
def test_one_commit(repository, path, text, rose):
    repository("a: step", {path: text})
    assert waits(repository) == ([("a: step", rose)] if rose else [])
    if rose:
        repository("a: say it\n\nsize: because", {})
        assert not waits(repository)


def test_many_small_ones_files_and_what_is_removed(repository):
    for i in range(3):
        repository(f"a: {i}", {f"gen/a{i}.c": "x\n" * 20})
    assert waits(repository) == [("a: 2", {"gen": 60})]
    repository("a: less", {"gen/old.c": "x\n" * 480})
    assert not waits(repository)
    repository("a: much less, which is no credit", {"gen/old.c": None})
    repository("a: more", {"gen/b.c": "x\n" * 41})
    assert waits(repository) == [("a: more", {"gen": 41})]
    repository("a: why\n\nsize: b is needed", {"gen/c.c": "x\n" * 400})
    assert not waits(repository) and walk(repository.root, repository.base)[1][0][2:] == ({"gen": 441}, "b is needed")
    repository("a: files", {f"f{i}": "" for i in range(5)})
    assert waits(repository) == [("a: files", {"files": 5})]
