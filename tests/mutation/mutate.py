"""Breaks templates at places that they name themselves: a line that ends in `//@mutate NAME`. A name may stand on several lines, which
change together. The generator leaves the names out. An edit takes the templates' lines, {path: lines}, and changes them in place.
What the generator unrolls or schedules has no line of its own in a template: `instance` names it in the generated kernel."""
import pathlib
import re
import shutil
import tempfile

from conftest import ROOT, gen

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


def instance(pattern, n, replacement):
    """Of a generated kernel, the n-th match after its main loop began; a pattern that names a function may lie before it."""
    def edit(text):
        early = pattern.startswith(("HT_DEVICE", "constexpr"))
        at = 0 if early else text.index("steady state" if "steady state" in text else "// ---- geometry")
        matches = list(re.finditer(pattern, text[at:]))
        assert len(matches) > n, f"the kernel has no place {n} of {pattern}"
        m = matches[n]
        return text[:at + m.start()] + m.expand(replacement) + text[at + m.end():]
    edit.names = ()
    edit.of_text = True
    return edit


ASSERTED = re.compile(r'(?m)^static_assert\(.*"as the banner says"\);\n')


def listed(edits):
    return edits if isinstance(edits, (tuple, list)) else (edits,)


def kernel(source, gpu, edits):
    """The text of a kernel of the set out/GPU whose generated file is `source`, broken by these edits. Templates are edited in a
    copy, from which the kernel is generated anew. Without the assertion of threads and memory that ends it: a test shall notice, not
    the compiler."""
    whole = text = source.read_text()
    if of_templates := [edit for edit in listed(edits) if not hasattr(edit, "of_text")]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(ROOT / "templates", root / "templates")
            for name in ("gen", "runtime"):
                (root / name).symlink_to(ROOT / name)
            apply(root / "templates", *of_templates)
            schemes = {"bf16x6", "i8x6"}.intersection(source.stem.split("_")) or ["f16x3", "bf16x6u"]
            gen("emit", "--gpu", gpu, "--scheme", ",".join(schemes), "--out", root / "set", root=root)
            text = (root / "set" / source.name).read_text()
    for edit in listed(edits):
        text = edit(text) if hasattr(edit, "of_text") else text
    assert code_of(text) != code_of(whole), f"{source.name} has no part in what is broken"
    return ASSERTED.sub("", text)


def code_of(text):
    return [line for line in text.split("\n") if not line.startswith("//")]


def apply(folder, *edits):
    texts = read(folder)
    for edit in edits:
        edit(texts)
    for path, lines in texts.items():
        if (text := "\n".join(lines)) != path.read_text():
            path.write_text(text)
