"""Each place that a template names is broken by some row of a table, and each edit finds its place: said in seconds, before any kernel
is compiled."""
import copy

import mutate
import mutation_check as check
import mutation_kernels as kernels
import mutation_wgmma as wgmma
import pytest
from conftest import ROOT


def rows():
    """Edits of every row: (what they break, edits, and of generated kernels set and pattern of the file's name)."""
    for case, table in kernels.BREAKS_OF.items():
        yield from ((f"{case}: {label}", edits, (case, None)) for label, edits in table.items())
    for scheme, table in kernels.LAYOUTS.items():
        yield from ((f"mi210, {scheme}: {label}", edits, ("mi210", scheme)) for label, edits in table.items())
    yield from ((label, edits, None) for label, (_, _, edits) in check.BREAKS.items())
    for table in (check.EPILOGUE, check.INSIDE, check.TURNS, check.LAUNCH, check.SHIFTS, check.WHOLE, check.IN_VAIN, check.OTHER, check.SUMS, check.SPLIT, check.SMALL,
                  {"warpgroups without results": check.OTHER_GROUP, "a vote of the first warp": check.VOTE}):
        yield from ((label, edits, None) for label, edits in table.items())
    yield from ((label, edits, None) for label, (_, edits) in check.BLOCKS.items())
    for table in (wgmma.BREAKS, wgmma.PAIR_BREAKS, wgmma.STORE_BREAKS, wgmma.SCALE_BREAKS):
        yield from ((label, edits, None) for label, (edits, _) in table.items())


@pytest.fixture(scope="module")
def templates():
    return mutate.read(ROOT / "templates")


def test_each_place_that_a_template_names_is_broken(templates):
    named = {name for _, edits, _ in rows() for edit in mutate.listed(edits) for name in edit.names}
    assert named == set(mutate.places(templates))


def test_each_edit_finds_its_place(templates, emitted):
    lost = []
    for label, edits, kernel in rows():
        texts, text = copy.deepcopy(templates), None
        for edit in mutate.listed(edits):
            if hasattr(edit, "of_text") and kernel:
                case, scheme = kernel
                folder = emitted(kernels.SETS[case][0])
                name = kernels.kernel_name(case, scheme, folder)
                text = text or next(p for p in folder.glob(f"{name}.*") if p.suffix in (".cu", ".hip")).read_text()
            try:
                if hasattr(edit, "of_text"):
                    text = edit(text) if text else text
                else:
                    edit(texts)
            except AssertionError as fault:
                lost.append(f"{label}: {fault}")
    assert not lost, "\n".join(lost)
