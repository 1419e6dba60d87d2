"""explain's page, --what-if and --compare: whole, self-contained, and saying what the ranking says."""
import csv
import html.parser
import re
import subprocess

import pytest
from conftest import AMD, GEN, NVIDIA, ROOT, full_disk, gen
from test_generate import explain_rows

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
    return "%(bm)sx%(bn)sx%(bk)s_w%(wm)sx%(wn)s_s%(stages)s" % row + ("_c2" if row["cluster"] == "2" else "")


@pytest.mark.parametrize("gpu", [*NVIDIA, *AMD])
@pytest.mark.parametrize("scheme", ["f16x3", "half"])
def test_the_page_shows_the_ranking(gpu, scheme, tmp_path):
    rows = explain_rows("--gpu", gpu, "--scheme", scheme)
    p = page(tmp_path, "--gpu", gpu, "--scheme", scheme)
    assert not p.outside
    assert len(p.titles) == 1 + len(rows)  # the document's, and one for every cell of the map
    best = [r for r in p.rows if r and r[0].isdigit()]
    fits = [r for r in rows if r["verdict"] != "reject"]
    assert [r[1] for r in best] == [tile_name(r) for r in fits[:10]]
    assert [r[7] for r in best] == [r["predicted_us"] for r in fits[:10]]
    rejected = {r[1]: int(r[2]) for r in p.rows if r and len(r) == 4 and len(r[0]) == 1 and r[0].isalpha()}
    kinds = [r["reason"].split(":")[0] for r in rows if r["verdict"] == "reject"]
    assert rejected == {k: kinds.count(k) for k in kinds}


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
    for rival, table in re.findall(r"For rank \d+, (\d+x\S+), to beat the pick.*?<table>(.*?)</table>", text, re.S):
        for row in Page(table).rows[1:6]:
            key, then, winner = row[0], int(row[3]), row[5]
            for value, wins in ((then, True), (then + (1 if row[2] == "at most" else -1), False)):
                changed = tmp_path / f"{gpu}.gpu"
                changed.write_text(re.sub(rf"(?m)^({key}\s*=\s*)\d+", rf"\g<1>{value}", budget.read_text()))
                run = gen("explain", "--gpu", changed, "--tsv", check=False)
                if run.returncode != 0:
                    continue  # a value that no budget file may have beside the others
                order = [tile_name(r) for r in csv.DictReader(run.stdout.splitlines(), delimiter="\t") if r["verdict"] != "reject"]
                picks = order[0]
                if wins:
                    assert picks == (rival if winner == "this tile" else winner), (key, value)
                    checked += 1
                else:
                    old = tile_name(explain_rows("--gpu", gpu)[0])
                    assert rival not in order or (old in order and order.index(old) < order.index(rival)), (key, value)
    none = text.count("no single budget value within a factor of four makes it win")
    # the model of warpgroup kernels asks few values of a budget: one of them turns its second tile
    assert checked >= (1 if gpu == "h200" else 2) or none > 0


def column(text, name):
    line = next(l for l in text.splitlines() if l.strip().startswith(name))
    return re.split(r"\s{2,}", line.strip())[1:]


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
        row = explain_rows("--gpu", gpu)[0]
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
