"""Breaks templates at places that they name themselves: a line that ends in `//@mutate NAME`. A name may stand on several lines, which
change together. The generator leaves the names out. An edit takes the templates' lines, {path: lines}, and changes them in place."""
import re

MARK = re.compile(r" //@mutate ([\w-]+)$")


def read(folder):
    return {path: path.read_text().split("\n") for path in sorted(folder.rglob("*.cu*"))}


def places(texts):
    """{name: [(path, index of the line)]}"""
    found = {}
    for path, lines in texts.items():
        for at, line in enumerate(lines):
            if mark := MARK.search(line):
                found.setdefault(mark[1], []).append((path, at))
    return found


def at(texts, name):
    assert name in (there := places(texts)), f"no template names a place {name}"
    return there[name]


def drop(*names):
    """Without these lines."""
    def edit(texts):
        for name in names:
            for path, line in at(texts, name):
                texts[path][line] = ""
    edit.names = names
    return edit


def change(name, old, new):
    """Other text in the lines of this name; each has it once."""
    def edit(texts):
        for path, line in at(texts, name):
            code, mark = MARK.split(texts[path][line])[:2]
            assert code.count(old) == 1, f"{name}: {code}"
            texts[path][line] = f"{code.replace(old, new)} //@mutate {mark}"
    edit.names = (name,)
    return edit


def before(name, *moved):
    """The lines of `moved`, in this order, right before the one of this name."""
    def edit(texts):
        lines = []
        for other in moved:
            ((path, line),) = at(texts, other)
            lines.append(texts[path][line])
            texts[path][line] = ""
        ((path, line),) = at(texts, name)
        texts[path][line:line] = lines
    edit.names = (name, *moved)
    return edit


def apply(folder, *edits):
    texts = read(folder)
    for edit in edits:
        edit(texts)
    for path, lines in texts.items():
        if (text := "\n".join(lines)) != path.read_text():
            path.write_text(text)
