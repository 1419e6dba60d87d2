"""Each rule of the search over levels, broken on purpose: test_lowering.c must notice."""
import subprocess

import pytest
from conftest import ROOT

CC = ["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-O1", "-iquote", str(ROOT / "bench/halftone")]
BROKEN = {
    "equal times: the last site": ("seconds[i] > seconds[site])", "seconds[i] >= seconds[site])"),
    "the shortest site first": ("seconds[i] > seconds[site])", "seconds[i] < seconds[site])"),
    "a failure does not freeze": ("    s->frozen[site] = 1;\n", ""),
    "what fails is kept": ("is_kept = is_within(s, &tried);", "is_kept = 1;"),
    "nothing is exchanged": ("if (out->meets_tau && exchange(", "if (0 && exchange("),
    "levels that the site was not timed at are not exchanged": ("count > 0 ? s->timed[site][0] * sum / count : 0", "count < 0 ? 1 : 0"),
    "an exchange beyond tau is kept": ("is_kept = is_within(s, &at) && seconds_of", "is_kept = seconds_of"),
    "a site that takes no time is lowered": ("seconds[i] > 0 && ", ""),
    "nobody is raised": ("return before >= 0 &&", "return before >= 0 && 0 &&"),
    "a longer one is raised": ("seconds[before] < seconds[site] && ", ""),
    "raised above level 0": (" && at->level[before] > 0 ? before", " ? before"),
    "raised to level 0 at once": ("tried.level[*raised]--", "tried.level[*raised] = 0"),
    "what was raised falls again": ("s->frozen[i] = s->frozen[i] || was_raised[i]", "s->frozen[i] = s->frozen[i]"),
    "a step without a gain stays": ("if (seconds_of(s, &at) < seconds_of(s, &s->now)) {", "if (1) {"),
    "one level at a time ends the site": ("while (at.level[site] + 1", "if (at.level[site] + 1"),
    "the start is not run twice": ("|| run(s, &again, f) != 0", ""),
    "runs that differ are taken": ("if (memcmp(", "if (0 && memcmp("),
    "a start beyond tau is searched": ("out->meets_tau && (site", "(site"),
    "the last level is left out": ("s->now.level[i] + 1 < s->p->levels", "s->now.level[i] + 2 < s->p->levels"),
    "tau itself is beyond": ("run.error <= s->p->tau", "run.error <= 0.999 * s->p->tau"),
    "not a number is within": ("return at->run.error <= s->p->tau", "return !(at->run.error > s->p->tau)"),
}


def fails(source, folder):
    """Whether the tests fail with this search."""
    (folder / "lowering.c").write_text(source)
    program = folder / "test_lowering"
    subprocess.run([*CC, folder / "lowering.c", ROOT / "tests/unit/test_lowering.c", ROOT / "bench/halftone/io/cli_error.c", "-o", program, "-lcmocka", "-lm"],
                   check=True, capture_output=True)
    return subprocess.run([program], capture_output=True, timeout=60).returncode != 0


def test_unbroken(tmp_path):
    assert not fails((ROOT / "bench/halftone/apps/lowering.c").read_text(), tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_rule_is_noticed(what, tmp_path):
    old, new = BROKEN[what]
    source = (ROOT / "bench/halftone/apps/lowering.c").read_text()
    assert source.count(old) == 1
    edited = source.replace(old, new)
    if what == "one level at a time ends the site":
        edited = edited.replace("        if (!kept)\n            break;", "        (void)kept;")
    assert fails(edited, tmp_path)
