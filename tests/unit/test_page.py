"""explain's page, --what-if and --compare: whole, self-contained, and saying what the ranking says."""
import csv
import html
import html.parser
import os
import re
import subprocess
import sys

import pytest
from conftest import AMD, GEN, NVIDIA, ROOT, explain_rows, full_disk, gen

VOID = {"meta"}


class Page(html.parser.HTMLParser):
    """Checks that elements nest, collects table rows as lists of cell texts, and what would be fetched or run."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.titles, self.outside = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.outside += [(tag, k, v) for k, v in attrs if k in ("src", "href", "onload", "onclick")]
        self.outside += [tag] if tag in ("script", "link", "img", "iframe") else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "title":
            self.titles.append("")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open, tag)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "code"):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "title":
            self.titles[-1] += data


def page(tmp_path, *args):
    gen("explain", *args, "--html", tmp_path / "p.html")
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"]
    return Page((tmp_path / "p.html").read_text())


def tile_name(row):
    """The name that TILES= takes, and what is said behind it of tiles that TILES= does not take: gfx90a's FP16 and INT8 MMAs have 8 k,
    those of 16 x 16 have 16."""
    other, of = row.get("gpu") in AMD and row["wk"] == "16", "wg" if row.get("gpu") in ("h100", "h200") else "w"
    return (f"%(bm)sx%(bn)sx%(bk)s_{of}%(wm)sx%(wn)s_s%(stages)s" % row + ("_c2" if row["cluster"] == "2" else "")
            + (" of 16x16 MMAs" if other else ""))


def rows_of(gpu, *args):
    return [{**row, "gpu": gpu} for row in explain_rows("--gpu", gpu, *args)]


@pytest.mark.parametrize("gpu", [*NVIDIA, *AMD])
@pytest.mark.parametrize("scheme", ["f16x3", "half"])
def test_the_page_shows_the_ranking(gpu, scheme, tmp_path):
    rows = rows_of(gpu, "--scheme", scheme)
    p = page(tmp_path, "--gpu", gpu, "--scheme", scheme)
    assert not p.outside
    assert len(p.titles) == 1 + len(rows)  # the document's, and one for every cell of the map
    best = [r for r in p.rows if r and r[0].isdigit()]
    fits = [r for r in rows if r["verdict"] != "reject"]
    assert [r[1] for r in best] == [tile_name(r) for r in fits[:10]]
    assert [r[7] for r in best] == [r["predicted_us"] for r in fits[:10]]
    assert [r["tile"] for r in rows] == [tile_name(r) for r in rows]
    rejected = {r[1]: int(r[2]) for r in p.rows if r and len(r) == 4 and len(r[0]) == 1 and r[0].isalpha()}
    kinds = [r["reason"].split(":")[0] for r in rows if r["verdict"] == "reject"]
    assert rejected == {k: kinds.count(k) for k in kinds}


@pytest.mark.parametrize("gpu, scheme, kernels", [
    ("h200", "native64", "DMMA, compiled for sm_90a"), ("t4", "native64", "FP64 FMA, compiled for sm_75"), ("mi210", "native64", "FP64 FMA"),
    ("h200", "crt15", "wgmma"), ("a800", "crt16", "mma.sync"), ("mi210", "crt15", "MFMA"), ("h200", "i8x28", "mma.sync, compiled for sm_90a"), ("t4", "i8x28", "mma.sync")])
def test_fp64_schemes_have_whole_pages(gpu, scheme, kernels, tmp_path):
    """Ranking, bars, times, what binds and the roof, as FP32's; of residues what all moduli take together."""
    rows, p = rows_of(gpu, "--scheme", scheme), page(tmp_path, "--gpu", gpu, "--scheme", scheme)
    text = html.unescape((tmp_path / "p.html").read_text())
    fits = [r for r in rows if r["verdict"] != "reject"]
    best = [r for r in p.rows if r and r[0].isdigit()]
    assert not p.outside and len(p.titles) == 1 + len(rows) and len(fits) > 0
    assert [(r[1], r[7], r[9 + 1]) for r in best] == [(r["tile"], r["predicted_us"], r["binding"]) for r in fits[:10]]
    assert f"Kernels: {kernels}" in text and "budget of the pick" in text and "where the time goes" in text and 'aria-label="roofline"' in text
    moduli = int(scheme[3:]) if scheme.startswith("crt") else 1
    assert f"{ {'native64': 1, 'i8x28': 28}.get(scheme, moduli)} product" in text
    ceiling, tflops = float(re.search(r"data-sheet rate of [^.]*? is ([\d.]+) TFLOPS", text)[1]), float(best[0][8])
    assert 0.2 * ceiling < tflops < ceiling and tflops == pytest.approx(2 * 4096**3 / float(best[0][7]) / 1e6, rel=1e-3, abs=1e-3)
    if moduli > 1:  # one more modulus is one more product of the launch
        more = rows_of(gpu, "--scheme", f"crt{moduli + 2}")[0]
        for key in ("waves", "predicted_us"):
            assert float(more[key]) / float(rows[0][key]) == pytest.approx((moduli + 2) / moduli, rel=0.02), key
        assert rows[0]["tile"] == more["tile"]


def test_same_page_twice_and_models_of_the_papers(tmp_path):
    for model in ("halftone", "legemm", "egemm"):
        for name in ("x", "y"):
            gen("explain", "--gpu", "t4", "--scheme", "egemm", "--model", model, "--html", tmp_path / name)
        assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
        Page((tmp_path / "x").read_text())
    # eq. 8 accepts nothing here: a page without a pick
    gen("explain", "--gpu", "h200", "--scheme", "half", "--model", "egemm", "--html", tmp_path / "x")
    assert "No pick" in (tmp_path / "x").read_text()


@pytest.mark.parametrize("gpu", ["a800", "h200", "mi210"])
def test_turning_points_turn(gpu, tmp_path):
    """At the value the page names, the pick is the one it names; one unit before it, the rival does not win yet."""
    page(tmp_path, "--gpu", gpu)
    budget = ROOT / "gen/gpus" / f"{gpu}.gpu"
    checked = 0
    text = (tmp_path / "p.html").read_text()
    for rival, table in re.findall(r"For rank \d+, (\S+(?: of 16x16 MMAs)?), to beat the pick.*?<table>(.*?)</table>", text, re.S):
        for row in Page(table).rows[1:6]:
            key, then, winner = row[0], int(row[3]), row[5]
            for value, wins in ((then, True), (then + (1 if row[2] == "at most" else -1), False)):
                changed = tmp_path / f"{gpu}.gpu"
                changed.write_text(re.sub(rf"(?m)^({key}\s*=\s*)\d+", rf"\g<1>{value}", budget.read_text()))
                run = gen("explain", "--gpu", changed, "--tsv", check=False)
                if run.returncode != 0:
                    continue  # a value that no budget file may have beside the others
                order = [tile_name({**r, "gpu": gpu}) for r in csv.DictReader(run.stdout.splitlines(), delimiter="\t") if r["verdict"] != "reject"]
                picks = order[0]
                if wins:
                    assert picks == (rival if winner == "this tile" else winner), (key, value)
                    checked += 1
                else:
                    old = tile_name(rows_of(gpu)[0])
                    assert rival not in order or (old in order and order.index(old) < order.index(rival)), (key, value)
    none = text.count("no single budget value within a factor of four makes it win")
    # the model of warpgroup kernels asks few values of a budget: one of them turns its second tile
    assert checked >= (1 if gpu == "h200" else 2) or none > 0


def boxes(svg):
    """Left, top, right, bottom of every text of a drawing, by its size and 0.5 em for a letter, and of every point."""
    texts, points = [], []
    for x, y, anchor, kind, words in re.findall(r'<text x="(-?\d+)" y="(-?\d+)" text-anchor="(\w+)" class="([\w ]+)">([^<]*)</text>', svg):
        size = {"small": 11.5, "label": 12.5, "axis": 13, "off": 10, "rank": 10.5}[kind.split()[0]]
        width = 0.5 * size * len(words)
        left = int(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        texts.append((left, int(y) - 0.75 * size, left + width, int(y) + 0.15 * size, words))
    for x, y in re.findall(r'<circle cx="(\d+)" cy="(\d+)"', svg):
        points.append((int(x) - 4, int(y) - 4, int(x) + 4, int(y) + 4, "point"))
    return texts, points


@pytest.mark.parametrize("gpu", [*NVIDIA, *AMD])
def test_no_words_of_the_roofline_lie_on_others_or_on_points(gpu, tmp_path):
    page(tmp_path, "--gpu", gpu)
    svg = re.search(r'<svg[^>]*aria-label="roofline".*?</svg>', (tmp_path / "p.html").read_text(), re.S).group(0)
    texts, points = boxes(svg)
    assert len(texts) > 20 and len(points) > 8
    for i, a in enumerate(texts):
        for b in texts[:i] + points:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)


def test_all_words_of_a_page_lie_inside_their_drawing(tmp_path):
    """With every scheme under the roof, 20 and more."""
    most = 0
    for gpu in ("t4", "h200", "rtx5090", "mi210"):
        page(tmp_path, "--gpu", gpu)
        for width, height, svg in re.findall(r'<svg viewBox="0 0 (\d+) (\d+)"(.*?)</svg>', (tmp_path / "p.html").read_text(), re.S):
            texts, points = boxes(svg)
            most = max(most, len(points))
            for left, top, right, bottom, words in texts:
                assert left >= 0 and top >= 0 and right <= int(width) and bottom <= int(height), (gpu, words, left, top, right, bottom, width, height)
    assert most > 20


@pytest.mark.parametrize("gpu, scheme, words", [
    ("rtx5090", "f16x3", ["at most 0.66 times native", "do not use it at this shape", "No kernel of f16x3 can be faster", "l2_gbps", "is unverified"]),
    ("rtx5090", "i8x6", ["at most 1.33 times native", "slower than native FP32's peak", "1024 INT8 FMAs"]),
    ("b200", "f16x3", ["tcgen05, the unit's faster instruction, is in no kernel", "f16_fma_per_cycle", "estimated rate", "faster than native FP32 here"]),
    ("t4", "f16x3", ["at 940 MHz", "4.788 TFLOPS (8.100 at 1590)", "both at 1590 MHz", "f16x3 pays where native FP32 is held to that clock"]),
    ("h200", "f16x3", ["wgmma, compiled for sm_90a", "faster than native FP32 here"])])
def test_text_and_page_say_whether_it_pays_and_what_is_a_guess(gpu, scheme, words, tmp_path):
    said = gen("explain", "--gpu", gpu, "--scheme", scheme).stdout
    page(tmp_path, "--gpu", gpu, "--scheme", scheme)
    shown = html.unescape((tmp_path / "p.html").read_text())
    for word in words:
        assert word in said, word
        assert word in shown or "FMAs" in word, word
    budget = (ROOT / "gen/gpus" / f"{gpu}.gpu").read_text()
    guesses = ", ".join(re.findall(r"(?m)^(\w+) = \d+ +# estimate", budget))
    assert f"neither published nor measured: {guesses}." in said and guesses in shown
    assert ("slower than native" in said) == ("for speed alone do not use it" in said)


def test_a_scheme_without_kernels_is_one_line(tmp_path):
    for args in ([], ["--tsv"], ["--html", tmp_path / "p"], ["--compare", "a800"]):
        run = gen("explain", "--gpu", "t4", "--scheme", "bf16x6", *args, check=False)
        assert run.returncode == 1 and not run.stdout and not list(tmp_path.iterdir())
        assert run.stderr == "t4: scheme bf16x6: there are no BF16 kernels for sm_75; this GPU has: half, markidis, ootomo, egemm, legemm, f16x3, bf16x6u, i8x3, i8x6, i8x10, mixpert1, mixpert2, mixpert3, mixpert4, crt14, crt15, crt16, crt17, crt18, crt19, crt20, i8x28, ozaki, native64\n"
    run = gen("explain", "--gpu", "a800", "--scheme", "bf16x6", "--compare", "t4", check=False)
    assert run.returncode == 1 and run.stderr.startswith("t4: scheme bf16x6") and not run.stdout


@pytest.mark.parametrize("gpu", ["rtx4090", "rtx5090", "l40s", "t4", "h200"])
def test_explain_says_from_which_size_fp64_pays(gpu):
    """Where the data pass by counting sooner and by more than where elements are tested; all of C left costs no less than native64 alone."""
    said = gen("explain", "--gpu", gpu, "--scheme", "crt15").stdout
    rows = re.findall(r"(?m)^  [^:\n]*: from n = (\d+) on; here (crt1[56]), ([\d.]+) times as fast$", said)
    sizes, schemes, times = zip(*rows)
    assert schemes == ("crt15", "crt16") and int(sizes[0]) <= int(sizes[1]) and float(times[0]) > float(times[1]) > 0.5
    assert all((int(size) <= 512) == (gpu != "h200") == (float(time) > 2) for size, time in zip(sizes, times)), rows
    one, whole = map(float, re.search(r"1 % of C, one by one, takes (\S+) of native64's time; all of C, behind the tests, (\S+) of it", said).groups())
    assert 0.01 < one < 1 <= whole < 1.5
    assert "native64's time" not in gen("explain", "--gpu", gpu, "--scheme", "native64").stdout


@pytest.mark.parametrize("gpu, scheme", [("a800", "f16x3"), ("h200", "crt15"), ("mi210", "egemm")])
def test_explain_marks_the_tiles_of_the_set(gpu, scheme, tmp_path):
    said = re.findall(r"(?m)^ +\d+ (\S+)  \d+ threads of .*, in the set$", gen("explain", "--gpu", gpu, "--scheme", scheme).stdout)
    gen("emit", "--gpu", gpu, "--scheme", scheme, "--out", tmp_path / "set")
    rows = [line.split("\t") for line in (tmp_path / "set/manifest").read_text().splitlines()[2:]]
    assert said and len(said) == sum(row[1:3] == [scheme, "-"] for row in rows)
    assert all(any(tile in row[0] for row in rows) for tile in said), (said, rows)


def test_explain_takes_auto_and_lists(tmp_path):
    one, two = (gen("explain", "--gpu", "a800", "--scheme", s).stdout for s in ("f16x3", "bf16x6u"))
    assert gen("explain", "--gpu", "a800", "--scheme", "auto").stdout == one + "\n\n" + two
    assert gen("explain", "--gpu", "a800", "--scheme", "bf16x6u,f16x3").stdout == two + "\n\n" + one
    assert gen("explain", "--gpu", "a800").stdout == one
    assert gen("explain", "--gpu", "a800", "--scheme", "half,f16x3", "--compare", "h200").stdout.count("predicted time, us") == 2
    for option in (["--tsv"], ["--html", tmp_path / "p"]):
        run = gen("explain", "--gpu", "a800", "--scheme", "auto", *option, check=False)
        assert run.returncode == 1 and "shows one scheme; name one of f16x3,bf16x6u" in run.stderr and not list(tmp_path.iterdir())


def test_the_pick_can_be_asked_for_by_the_name_that_explain_gives(tmp_path):
    for gpu in ("t4", "rtx5090", "h200", "mi210"):
        name = re.search(r"(?m)^Pick: (\S+),", gen("explain", "--gpu", gpu).stdout).group(1)
        gen("emit", "--gpu", gpu, "--scheme", "f16x3", "--lean", "--tiles", name, "--out", tmp_path / gpu)
        assert list((tmp_path / gpu).glob(f"ht_f16x3_*_{name}_*"))


def test_tables_scroll_on_narrow_screens_and_every_page_shows_where_the_time_goes(tmp_path):
    for gpu in ("rtx5090", "h200"):
        page(tmp_path, "--gpu", gpu)
        text = (tmp_path / "p.html").read_text()
        assert re.search(r"@media\(max-width:700px\)\{table\{[^}]*overflow-x:auto", text)
        assert "where the time goes" in text and "the pipes" in text
        assert ("stage fill" in text) == (gpu != "h200")  # a warpgroup's step is one pipe


def column(text, name):
    line = next(l for l in text.splitlines() if l.strip().startswith(name))
    return re.split(r"\s{2,}", line.strip())[1:]


def test_bars_of_absurd_sizes_stay_in_their_rows(tmp_path):
    out = tmp_path / "x.html"
    for gpu in "t4", "h200":
        gen("explain", "--gpu", gpu, "--scheme", "bf16x6u", "--shape", "1x2147483647x2147483647", "--html", out)
        rows = re.findall(r'<rect x="250" y="(\d+)" width="350" height="18" fill="#eeeeea"/>\n((?:<rect [^\n]*\n)*)', out.read_text())
        bars = [(int(x), int(width)) for _, row in rows for x, width in re.findall(r'<rect x="(\d+)" y="\d+" width="(\d+)"', row)]
        longest = max((x + width for x, width in bars), default=0)
        assert len(rows) > 5 and 590 <= longest <= 600, (gpu, bars)


def test_what_if_moves_the_pick_as_the_file_would(tmp_path):
    text = gen("explain", "--gpu", "a800", "--what-if", "smem_per_block_bytes=65536", "--what-if", "l2_gbps=2500").stdout
    now, then = column(text, "pick")
    assert now == tile_name(explain_rows("--gpu", "a800")[0])
    budget = (ROOT / "gen/gpus/a800.gpu").read_text()
    budget = re.sub(r"(?m)^(smem_per_block_bytes\s*=\s*)\d+", r"\g<1>65536", budget)
    (tmp_path / "a800.gpu").write_text(re.sub(r"(?m)^(l2_gbps\s*=\s*)\d+", r"\g<1>2500", budget))
    assert then == tile_name(explain_rows("--gpu", tmp_path / "a800.gpu")[0]) != now
    assert column(text, "smem_per_block_bytes")[:2] == ["166912", "65536"]
    assert column(text, "l2_gbps") == ["4800", "2500", "0.520"]


def test_compare_two_gpus(tmp_path):
    text = gen("explain", "--gpu", "a800", "--compare", "h200").stdout
    for i, gpu in enumerate(("a800", "h200")):
        row = rows_of(gpu)[0]
        assert column(text, "pick")[i] == tile_name(row)
        assert column(text, "predicted time")[i] == row["predicted_us"]
    same = gen("explain", "--gpu", "rtxa6000", "--compare", "rtx3090").stdout
    assert column(same, "the other side's pick") == ["the pick too", "the pick too"] and len(set(column(same, "pick"))) == 1
    assert "rejected by shared memory" in gen("explain", "--gpu", "a800", "--what-if", "smem_per_block_bytes=65536").stdout
    p = page(tmp_path, "--gpu", "a800", "--compare", "mi210")
    assert ["isa", "sm_80", "gfx90a", ""] in p.rows


@pytest.mark.parametrize("args, words", [
    (["--what-if", "l2=3"], ["--what-if:1", "l2"]),
    (["--what-if", "sms=108", "--what-if", "sms=0"], ["--what-if:2", "sms"]),
    (["--what-if", "sustained_clock_mhz=2000"], ["sustained_clock_mhz", "clock_mhz"]),
    (["--what-if", "isa=sm_1"], ["sm_1"]),
    (["--what-if", "sms"], ["="]),
    (["--compare", "h2000"], ["h200"]),
    (["--compare", "h200", "--what-if", "sms=9"], ["--compare", "--what-if"]),
    (["--tsv", "--compare", "h200"], ["--tsv"]),
])
def test_bad_requests_say_the_cure(args, words, tmp_path):
    run = gen("explain", "--gpu", "a800", "--html", tmp_path / "p", *args, check=False)
    assert run.returncode == 1 and not list(tmp_path.iterdir())
    assert all(w in run.stderr for w in words), run.stderr


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    for place, words in (("no/p.html", "cannot write"), ("folder", "no ordinary file")):
        run = gen("explain", "--gpu", "a800", "--html", tmp_path / place, check=False)
        assert run.returncode == 1 and words in run.stderr
    (tmp_path / "p.html").write_text("the page of yesterday")
    run = subprocess.run([str(GEN), "explain", "--gpu", "a800", "--html", str(tmp_path / "p.html")], capture_output=True,
                         text=True, preexec_fn=full_disk(5000))
    assert run.returncode == 1 and "cannot write" in run.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "p.html"]
    assert (tmp_path / "p.html").read_text() == "the page of yesterday"


def test_without_python3_or_the_script_a_page_is_one_line(tmp_path):
    """The first python3 of PATH alone is asked, and what it printed before it failed is no page."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "p.html").write_text("the page of yesterday")
    python, ask = tmp_path / "bin/python3", ["explain", "--gpu", "a800", "--html", tmp_path / "p.html"]

    def refused(words, **where):
        run = gen(*ask, check=False, env={"PATH": str(tmp_path / "bin")}, **where)
        assert run.returncode == 1 and not run.stdout and words in run.stderr and run.stderr.count("\n") == 1, run.stderr
        assert (tmp_path / "p.html").read_text() == "the page of yesterday"
    refused("halftone-gen: --html needs python3: apt-get install python3, or --tsv")
    for fails in ("echo half a page; exit 3", "kill -9 $$"):
        python.write_text(f"#!/bin/sh\n{fails}\n")
        python.chmod(0o755)
        refused("python3 did not draw the page")
    (tmp_path / "gen").symlink_to(ROOT / "gen")
    refused("bench/pages.py: cannot read this script", root=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bin", "gen", "p.html"]


def test_nothing_of_the_current_folder_or_the_environment_draws(tmp_path):
    """Modules and a script of the names that pages.py has would be taken from there."""
    (tmp_path / "bench").mkdir()
    for name in ("html.py", "collections.py", "sitecustomize.py", "bench/pages.py"):
        (tmp_path / name).write_text("print('not mine')\nraise SystemExit(1)\n")
    gen("explain", "--gpu", "t4", "--html", tmp_path / "usual")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": str(tmp_path / "html.py")}
    run = subprocess.run([str(GEN), "explain", "--gpu", "t4", "--html", "p.html"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "p.html").read_bytes() == (tmp_path / "usual").read_bytes()


def test_a_title_is_text(tmp_path):
    budget = (ROOT / "gen/gpus/t4.gpu").read_text()
    (tmp_path / "own.gpu").write_text(re.sub(r"(?m)^title *=.*$", "title = <b>T4</b> & 'x'", budget))
    gen("explain", "--gpu", tmp_path / "own.gpu", "--compare", "t4", "--html", tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text().count("&lt;b&gt;T4&lt;/b&gt; &amp; 'x'") == 3 # heading, comparison, map


def test_the_walkthrough_says_what_the_generator_says():
    """Every what-if row, the verdict and the data-sheet table of bench/A-GPU-YOU-DO-NOT-HAVE.md."""
    text = (ROOT / "bench/A-GPU-YOU-DO-NOT-HAVE.md").read_text()
    budget = (ROOT / "gen/gpus/rtxa6000.gpu").read_text()
    said = gen("explain", "--gpu", "rtxa6000").stdout
    assert "at most 1.33 times" in said and "**at most 1.33 times**" in text
    tflops = float(re.search(r"predicted .* us, ([\d.]+) TFLOPS", said).group(1))
    assert f"{tflops:.1f} TFLOPS predicted" in text
    tables = re.findall(r"^\| [^|]* \| `(\w+)` \| (\d+) \|$", text, re.M) + re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.M)
    assert len(tables) >= 8
    for key, value in tables:
        assert re.search(rf"(?m)^{key} = {value}\s", budget), key
    rows = 0
    for line, factor in re.findall(r"^\| (`[^|]*) \| x ([\d.]+) \| the same \|$", text, re.M):
        key, first = re.search(r"(\w+)=(\d+)", line).groups()
        for value in (first, *re.findall(r"or `(\d+)`", line)):
            out = gen("explain", "--gpu", "rtxa6000", "--what-if", f"{key}={value}").stdout
            assert column(out, "predicted time")[2] == factor and column(out, "pick")[0] == column(out, "pick")[1]
            rows += 1
    assert rows == 6


def test_a_table_of_predictions_says_what_explain_picks():
    """bench/lab/predicted_levels.py, whose rows are read from explain's text, against the ranking."""
    words = [sys.executable, ROOT / "bench/lab/predicted_levels.py"]
    made = subprocess.run([*words, "rtx3090,mi210:mixpert4,i8x3:1024"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = list(csv.DictReader(made[1:], delimiter="\t"))
    assert made[0].startswith("# halftone: predictions") and [(r["gpu"], r["method"]) for r in rows] == [
        ("rtx3090", "mixpert4"), ("rtx3090", "i8x3"), ("mi210", "mixpert4"), ("mi210", "i8x3")]
    for row in rows:
        pick = explain_rows("--gpu", row["gpu"], "--scheme", row["method"], "--shape", "1024x1024x1024")[0]
        assert (row["tile"], row["bound_by"], row["predicted_us"]) == (pick["tile"].split()[0], pick["binding"], pick["predicted_us"])
        assert float(row["predicted_tflops"]) == pytest.approx(2 * 1024**3 / float(row["predicted_us"]) / 1e6, rel=1e-3, abs=1e-3)
        assert float(row["of_ceiling"]) == pytest.approx(float(row["predicted_tflops"]) / float(row["ceiling_tflops"]), abs=0.02)
        assert float(row["/native"]) == pytest.approx(float(row["predicted_tflops"]) / float(row["native_tflops"]), abs=0.01)
    wrong = subprocess.run([*words, "none:mixpert4:1024"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and wrong.stderr.count("\n") == 1 and "'none'" in wrong.stderr
