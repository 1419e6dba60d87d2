"""What the generator writes moves only where a commit says why, in a line `output: WHY` of its message.

Held against the last commit with such a line, or the one that added this file. A commit that lacks the line can be followed by one that
has it, an empty one too. `same_output.py REV` shows what moved, and whether machine code did."""
import re

import pytest
from conftest import AMD, NO_HISTORY, NVIDIA, ROOT, commit_that_added, git
from same_output import FOLDERS, first_difference, generate, old_tree, read

SAMPLE = ["a800", "h200", "mi210"], {"vendored-amalgamation": FOLDERS["vendored-amalgamation"]} # of `make test`
WHOLE = [*NVIDIA, *AMD], FOLDERS
MADE_FROM = ("gen", "templates", "runtime", "LICENSE")


def last_said(root, since):
    """The commit after which no output may have moved."""
    return git(root, "log", "-1", "--format=%H", "--grep=^output: [^ ]", f"{since}..HEAD").strip() or since


def is_as_it_was(root, commit):
    """Whether all that output is made from is."""
    changed = git(root, "diff", "--name-only", commit, "--", *MADE_FROM)
    return not changed and not git(root, "ls-files", "-o", "--exclude-standard", "--", *MADE_FROM)


def own(files, runtime):
    """Of copies of runtime/, and of the amalgamation, what the generator adds: lines that no file of runtime/ has."""
    lines = {line for path in runtime.glob("*.[ch]") for line in path.read_text().split("\n")}

    def without(name, text):
        if name.endswith((".c", ".h")) and (runtime / name.rsplit("/")[-1]).exists() or name.rsplit("/")[-1].startswith("my."):
            text = re.sub(r"\b(?:my_(?=ht_)|MY_(?=HT_))", "", text)
            text = re.sub(r"\bmy(?=_|\b)", "halftone", re.sub(r"\bMY_", "HALFTONE_", text))
            return "\n".join(line for line in text.split("\n") if line not in lines)
        return text
    return {name: without(name, text) for name, (_, text) in files.items()}


def written(tree, into, gpus, folders):
    generate(tree, into, [gpu for gpu in gpus if (tree / f"gen/gpus/{gpu}.gpu").exists()], folders)
    return own(read(into, str), tree / "runtime")


def moved(old, new):
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


@pytest.mark.part
def test_no_output_moves_unseen(request, tmp_path):
    since = commit_that_added("tests/golden/test_output.py")
    if since is None:
        pytest.skip(NO_HISTORY)
    base = last_said(ROOT, since)
    if is_as_it_was(ROOT, base):
        return
    what = SAMPLE if request.config.getoption("--sample") else WHOLE
    old = written(old_tree(base, tmp_path / "tree"), tmp_path / "old", *what)
    new = written(ROOT, tmp_path / "new", *what)
    names = moved(old, new)
    first = next((name for name in names if name in old and name in new), None)
    shown = first_difference(old[first], new[first]) if first else ""
    assert not names, (f"{len(names)} of {len(new)} files differ from what {base[:8]} writes, {', '.join(names[:8])}:\n"
                       f"a line `output: WHY` is missing in a commit's message\n{shown}")
