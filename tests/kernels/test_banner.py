"""What a generated file says of itself on top holds of it: against the descriptors in dispatch.c, the text below, and the bound's formula."""
import re

import pytest
from conftest import ROOT

SETS = ("h200", "a800", "t4", "mi210")
K = 4096
CONSTANT = r"\b{}\s*=\s*([^,;]*)"


def kernels(folder):
    """Name -> (scheme, block's threads, bytes of shared memory, registers) of the set's dispatch.c."""
    row = r'\{"(\w+)", "(\w+)", "\w*",\s*"[^"]*",\s*\{[-\d, ]+\},\s*([-\d, ]+),\s*HT_COST'
    found = {}
    for name, scheme, numbers in re.findall(row, (folder / "dispatch.c").read_text()):
        n = [int(x) for x in numbers.split(",")]
        found[name] = scheme, n[4], n[5], n[6]
    return found


def bounds(folder):
    """Scheme -> units at K, by the formula of ht_bound.h from the numbers that the library computes with."""
    found = {}
    rows = re.findall(r'\{"(\w+)",\s*"[^"]*",\s*"[^"]*",\s*([-\d, ]+),\s*\w+, \w+, (\d+), (\d+), \w+, (\d+),', (folder / "dispatch.c").read_text())
    for scheme, numbers, _, exact_k, simt_k in rows:
        *_, mma_k, align, once, promote, _ = [int(x) for x in numbers.split(",")]
        up = lambda a, b: -(-a // b)  # noqa: E731
        lost = align * up(min(promote or K, K), mma_k) + (up(K, promote) - 1 if promote else 0)
        found[scheme] = K + 4 if int(simt_k) >= K else once + 4 if int(exact_k) else once + lost + lost // 25 + 4
    return found


def banner(path):
    return path.read_text().split("\n\n", 1)[0]


def evaluate(text, name):
    """A constant of the generated text, from the constants that it is made of."""
    value = re.search(CONSTANT.format(name), text).group(1)
    condition = re.fullmatch(r"(.+?) \? (.+?) : (.+)", value)
    if condition:
        yes = eval(numbers_in(text, condition[1].replace("||", "or")))  # noqa: S307: the generator's text
        return evaluate(f"{name} = {condition[2] if yes else condition[3]};" + text, name)
    return eval(numbers_in(text, value).replace("/", "//"))  # noqa: S307


def numbers_in(text, value):
    return re.sub(r"[A-Z]\w*", lambda m: str(evaluate(text, m[0])), value)


@pytest.mark.parametrize("gpu", SETS)
def test_banners_hold(emitted, gpu):
    folder = emitted(gpu)
    units, rows = bounds(folder), kernels(folder)
    assert rows and set(units) == {scheme for scheme, *_ in rows.values()}
    for name, (scheme, threads, smem, registers) in rows.items():
        path = next(folder.glob(name + ".*"))
        head, code = banner(path), re.sub(r"//.*", "", path.read_text())
        assert f", {threads} threads" in head, name
        stages, copies = re.search(r"(\d+) stages?, \d+ threads", head), re.search(r"and (\d+) 16-byte copies a thread in each step", head)
        assert copies is None or int(copies[1]) * 16 * threads * int(stages[1]) == smem, name
        assert int(re.search(r"registers per thread +(\d+) of", head)[1]) == registers, name
        assert int(re.search(r"shared memory, bytes +(\d+) of", head)[1]) == smem, name
        assert f"static_assert(THREADS == {threads} && " in code and f" == {smem}, " in code, name
        bound = re.search(r"at k = (\d+) \|C - alpha A B\| <= (\d+) \* 2\^-(\d+) \|alpha\| (.*)", head)
        assert (bound is None) == scheme.startswith(("crt", "ozaki")), name # theirs is relative to norms
        assert bound is None or (int(bound[1]), int(bound[2]), bound[3]) == (K, units[scheme], "53" if scheme in ("native64", "i8x28") else "24"), name
        assert bound is None or (bound[4] == "k max|a| max|b|") == scheme.startswith("i8"), name
        assert re.search(r"at \d+ x [1-9]\d* x \d+ \(m x n x k\) bound by \w+:", head), name


@pytest.mark.parametrize("gpu", SETS)
def test_banners_name_the_unit_that_multiplies(emitted, gpu):
    """And no other GPU's; chains and parts as the family has them."""
    folder = emitted(gpu)
    seen = set()
    for name, (scheme, *_) in kernels(folder).items():
        path = next(folder.glob(name + ".*"))
        head, code = banner(path), re.sub(r"//.*", "", path.read_text())
        does = head.split("//\n")[1].splitlines()[1]
        seen.add(re.search(r"([a-z]+)(64)?_\d+x", name)[1]) # of the label: mma, simt, gemv
        assert "sm_75" not in does and "gfx90a" not in does, name
        if scheme == "bf16x6u":
            slices, by_dmma = "FAST = 1" in code and "multiply_sliced" in code, re.search(r'"mma\.sync[^"]*f64', code) is not None
            assert ("BF16" in does) == slices, (name, does)
            assert ("DMMA" in does) == by_dmma, (name, does)
            assert ("rounded to FP32 once, or once for each part" in head) == ("DMMA" in does), name
        roles = re.search(r"after setmaxnreg: producer (\d+), consumers (\d+): sums (\d+), chain (\d+), other (\d+)", head)
        assert (roles is not None) == bool(re.search(r"PRODUCER_REGISTERS =", code)), name
        if roles:
            assert (int(roles[1]), int(roles[2])) == (evaluate(code, "PRODUCER_REGISTERS"), evaluate(code, "CONSUMER_REGISTERS")), name
            assert sum(int(roles[i]) for i in (3, 4, 5)) <= int(roles[2]), name
    assert len(seen) >= 2


def test_the_formula_is_that_of_the_library():
    """A worked example of ht_bound.h, computed as `bounds` does."""
    text = (ROOT / "runtime/ht_bound.h").read_text()
    assert "lost + lost / 25 + 4" in text and "split_units + 4" in text and "8 + 103 + 103 / 25 + 4 = 119" in text
