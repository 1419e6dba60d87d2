"""pages.py explain|report|tune|demo: the page about the tables on standard input, to standard output.

explain, demo: tables under lines `# NAME`, as halftone-gen explain and halftone demo write them. report, tune: report.tsv of halftone report --out, a table of
halftone tune. A page is one file without scripts, nothing fetched, that prints well. Standard library only, Python 3.6 or later.
"""
import html
import math
import os
import sys
from collections import Counter

BLUE, MIDDLE, LIGHT, ORANGE, GREY, EMPTY = "#12447a", "#5b8fc0", "#b7cde0", "#d9600a", "#a9a9a2", "#eeeeea"

STYLE = """\
body{font:15px/1.45 system-ui,sans-serif;color:#1b1b19;background:#fff;max-width:880px;margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0 0 2px}h2{font-size:17px;margin:30px 0 6px;border-bottom:1px solid #d6d6d0}
p{margin:6px 0}.lead{fill:none;stroke:#a9a9a2}table{border-collapse:collapse;font-size:13px;margin:8px 0}
th,td{padding:3px 9px 3px 0;text-align:right;font-variant-numeric:tabular-nums;vertical-align:top}
th{font-weight:600;border-bottom:1px solid #a9a9a2}td.t,th.t{text-align:left}.n{white-space:nowrap}tr.pick td{font-weight:600}
tr.part td{border-top:1px solid #d6d6d0}code{font-size:13px}svg{display:block;max-width:100%;height:auto;margin:8px 0}
svg text{font-family:system-ui,sans-serif;fill:#1b1b19}.axis{font-size:13px;font-weight:600}.label{font-size:12.5px}.small{font-size:11.5px}\
.off{font-size:10px}svg .off{fill:#8a8a84}.rank{font-size:10.5px;font-weight:600}svg .light{fill:#fff}
.grid{stroke:#e6e6e1;fill:none}.roof{stroke:#1b1b19;fill:none;stroke-width:1.5}.native{stroke:#1b1b19;fill:none;stroke-dasharray:5 4}
@media(max-width:700px){table{display:block;max-width:100%;overflow-x:auto}body{margin:12px auto;padding:0 10px}}
@media screen and (max-width:700px){.wide{overflow-x:auto}.wide svg{max-width:none}td,th{white-space:nowrap}.text{white-space:normal;min-width:190px}}
.quiet,pre{color:#55554f}pre{white-space:pre-wrap;font-size:12px}.bad{color:#b3400a;font-weight:600}td svg{margin:0}.whole th{white-space:nowrap}.wrap{overflow-wrap:anywhere}
@page{margin:14mm}@media print{body{margin:0;max-width:none;font-size:12px}table{display:table;font-size:11px}section{break-inside:avoid}\
svg *,tr{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


def read_tables(text):
    """{name: [{column: text}]}"""
    tables, columns, name = {}, None, None
    for line in text.split("\n"):
        if line.startswith("# "):
            name, columns = line[2:], None
            tables[name] = []
        elif line and columns is None:
            columns = line.split("\t")
        elif line:
            tables[name].append(dict(zip(columns, line.split("\t", len(columns) - 1))))
    return tables


# ---- HTML and SVG


def escape(text):
    """For text between tags."""
    return html.escape(text, quote=False)


def div(a, b):
    """As C divides: towards zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def milli(text):
    """"1.234" as 1234."""
    return int(text.replace(".", ""))


def decimals(value):
    return "%d.%03d" % divmod(value, 1000)


def plural(count, word):
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


def cell(text, kind=""):
    return "<td%s>%s</td>" % (kind and ' class="%s"' % kind, text)


def table(heads, rows, kind=""):
    """heads: (text, class); rows: lines of cells, or (class of the row, line)."""
    lines = ["<table%s><tr>%s</tr>\n" % (kind and ' class="%s"' % kind, "".join("<th%s>%s</th>" % (of and ' class="%s"' % of, text) for text, of in heads))]
    for row in rows:
        of, cells = row if isinstance(row, tuple) else ("", row)
        lines.append("<tr%s>%s</tr>\n" % (of and ' class="%s"' % of, cells))
    return "".join(lines) + "</table>\n"


def section(title, *parts):
    return "<section>\n<h2>%s</h2>\n%s</section>\n" % (title, "".join(parts))


def document(title, body):
    return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
            "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n%s</body>\n</html>\n" % (title, STYLE, body))


def svg(width, height, label, parts):
    return '<div class="wide"><svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">\n%s</svg></div>\n' % (
        width, height, width, height, label, "".join(parts))


def words(x, y, anchor, kind, text):
    return '<text x="%d" y="%d" text-anchor="%s" class="%s">%s</text>\n' % (x, y, anchor, kind, escape(text))


def rect(x, y, width, height, fill, more=""):
    return '<rect x="%d" y="%d" width="%d" height="%d" fill="%s"%s/>' % (x, y, width, height, fill, more)


def path(line, kind):
    return '<path d="%s" class="%s"/>\n' % (line, kind)


# ---- explain: the candidates of a ranking


class Candidate:
    def __init__(self, row):
        self.name, self.binding, self.reason, self.row = row["tile"], row["binding"], row["reason"], row
        self.bm, self.bn, self.bk, self.wm, self.wn, self.stages, self.cluster = (int(row[k]) for k in "bm bn bk wm wn stages cluster".split())
        self.fits, self.ns = row["verdict"] != "reject", milli(row["predicted_us"])
        self.kind = self.reason.split(":")[0]


class Ranking:
    def __init__(self, rows):
        self.all = [Candidate(row) for row in rows]
        self.fits = [c for c in self.all if c.fits]
        self.rejected = Counter(c.kind for c in self.all if not c.fits) # in the order of the table
        self.letter = {kind: chr(ord("A") + i) for i, kind in enumerate(self.rejected)}


# Tile map: blocks bm x bn, in each a cell for every warp tile (rows), bk and stages (columns); shade is predicted speed against
# the pick's, a letter the kind of rejection.
CELL_W, CELL_H, BLOCK_GAP, LEFT, TOP, LEGEND_RIGHT = 23, 16, 10, 172, 56, 850
LEGEND = (1000, "as fast as the pick"), (850, "85 %"), (700, "70 %"), (550, "55 %"), (400, "40 % or less")


def shade(speed):
    """From pale at 400 thousandths and less to dark blue at 1000."""
    at = max(speed - 400, 0)
    return "#" + "".join("%02x" % (pale + div((dark - pale) * at, 600)) for pale, dark in ((226, 12), (236, 60), (246, 120)))


class Map:
    def __init__(self, ranking):
        self.ranking, every = ranking, ranking.all
        self.bm, self.bn = sorted({c.bm for c in every}), sorted({c.bn for c in every})
        self.depth = sorted({(c.bk, c.stages) for c in every})
        self.warp = {bm: sorted({(c.wm, c.wn, c.cluster) for c in every if c.bm == bm}) for bm in self.bm}
        self.block_w, self.y, y = len(self.depth) * CELL_W, {}, TOP
        self.x = {bn: LEFT + i * (self.block_w + BLOCK_GAP) for i, bn in enumerate(self.bn)}
        for bm in self.bm:
            self.y[bm] = y
            y += self.height(bm) + BLOCK_GAP
        self.bottom, self.right = y, LEFT + len(self.bn) * (self.block_w + BLOCK_GAP)

    def height(self, bm):
        return len(self.warp[bm]) * CELL_H

    def columns(self):
        for bn in self.bn:
            yield words(self.x[bn] + self.block_w // 2, 14, "middle", "axis", "bn = %d" % bn)
            for d, (bk, stages) in enumerate(self.depth):
                yield words(self.x[bn] + d * CELL_W + CELL_W // 2, TOP - 6, "middle", "small", "s%d" % stages)
                same = [i for i, (other, _) in enumerate(self.depth) if other == bk] # bk stands over the middle of its columns
                if d == same[0]:
                    yield words(self.x[bn] + (d + same[-1] + 1) * CELL_W // 2, TOP - 22, "middle", "small", "bk %d" % bk)

    def rows(self):
        for bm in self.bm:
            yield words(4, self.y[bm] + self.height(bm) // 2 + 4, "start", "axis", "bm = %d" % bm)
            for i, (wm, wn, cluster) in enumerate(self.warp[bm]):
                yield words(LEFT - 6, self.y[bm] + i * CELL_H + 12, "end", "small", "%d x %d%s" % (wm, wn, " c2" if cluster > 1 else ""))
            for bn in self.bn:
                yield rect(self.x[bn], self.y[bm], self.block_w, self.height(bm), "none", ' stroke="#c8c8c2"') + "\n"

    def cell(self, rank, c):
        x = self.x[c.bn] + self.depth.index((c.bk, c.stages)) * CELL_W
        y = self.y[c.bm] + self.warp[c.bm].index((c.wm, c.wn, c.cluster)) * CELL_H
        best = self.ranking.fits[0].ns if c.fits else 0
        speed = 1000 if c.ns <= best or c.ns <= 0 else best * 1000 // c.ns
        mark, kind = "", "off"
        if not c.fits:
            mark = self.ranking.letter[c.kind]
        elif rank <= 10:
            mark, kind = str(rank), "rank light" if speed > 700 else "rank"
        said = c.name + (", two blocks share panels: " if c.cluster > 1 else ": ")
        said += decimals(c.ns) + " us, bound by " + c.binding if c.fits else c.reason
        frame = rect(x, y, CELL_W, CELL_H, "none", ' stroke="#d9600a" stroke-width="3"') if c.fits and rank == 1 else ""
        return "<g><title>%s</title>%s%s%s</g>\n" % (
            escape(said), rect(x + 1, y + 1, CELL_W - 2, CELL_H - 2, shade(speed) if c.fits else EMPTY),
            mark and words(x + CELL_W // 2, y + 12, "middle", kind, mark), frame)

    def legend(self, y):
        x = LEFT
        for i, (speed, text) in enumerate(LEGEND):
            yield rect(x, y, 21, 14, shade(speed)) + "\n" + words(x + 27, y + 11, "start", "small", text)
            x += 150 if i == 0 else 70
        yield rect(x + 38, y, 21, 14, EMPTY) + "\n" + words(x + 65, y + 11, "start", "small", "rejected: letter of the reason")

    def draw(self):
        cells = [self.cell(i + 1, c) for i, c in enumerate(self.ranking.all)]
        # better tiles last: on top where two share a cell
        return svg(max(self.right, LEGEND_RIGHT), self.bottom + 20, "tile map",
                   [*self.columns(), *self.rows(), *reversed(cells), *self.legend(self.bottom + 2)])


def rejections(ranking):
    if not ranking.rejected:
        return ""
    rows = []
    for kind, count in ranking.rejected.items():
        first = next(c for c in ranking.all if not c.fits and c.kind == kind)
        rows.append(cell(ranking.letter[kind], "t") + cell(escape(kind), "t n") + cell(count) + cell(first.name + escape(first.reason[len(kind):]), "t text"))
    return table([("", "t"), ("rejected by", "t"), ("tiles", ""), ("such as", "t")], rows)


def tile_map(ranking, of):
    return section("Tile map" + (": " + escape(of) if of else ""),
                   "<p>Every candidate: %d, of which %d fit. A block is a tile bm x bn; in it rows are warp tiles wm x wn, columns bk and stages. "
                   "Darker is faster; numbers are ranks, the pick is framed.</p>\n" % (len(ranking.all), len(ranking.fits)),
                   Map(ranking).draw(), rejections(ranking))


# ---- explain: the pick

BAR_X, BAR_W, BAR_STEP, BAR_H = 250, 350, 28, 18
TIME_FILLS = BLUE, MIDDLE, "#9cbcd8", ORANGE, "#eba667", GREY


def bar(y, label, parts, limit, text):
    """parts: (amount, fill) of limit."""
    lines, total = [words(BAR_X - 8, y + 13, "end", "label", label), rect(BAR_X, y, BAR_W, BAR_H, EMPTY) + "\n"], 0
    for amount, fill in parts:
        start = total * BAR_W // limit
        total = min(total + max(amount, 0), limit)
        end = total * BAR_W // limit
        if end > start:
            lines.append(rect(BAR_X + start, y, end - start, BAR_H, fill) + "\n")
    return "".join(lines) + words(BAR_X + BAR_W + 8, y + 13, "start", "label", text)


def swatch_width(name):
    return 34 + 6 * len(name)


def swatch(x, y, fill, name):
    return rect(x, y, 12, 12, fill) + "\n" + words(x + 17, y + 10, "start", "small", name)


def budget_bars(tables):
    fills, x, lines = (BLUE, MIDDLE, LIGHT), BAR_X, []
    registers = [(row["of"], int(row["registers"])) for row in tables["registers"]]
    for (name, _), fill in zip(registers, fills):
        lines.append(swatch(x, 2, fill, name))
        x += swatch_width(name)
    for i, row in enumerate(tables["budget"]):
        used, limit = int(row["used"]), int(row["limit"])
        parts = [(amount, fill) for (_, amount), fill in zip(registers, fills)] if i == 0 else [(used, MIDDLE)]
        lines.append(bar(22 + i * BAR_STEP, row["what"], parts, limit, "%d of %d, %d %%" % (used, limit, used * 100 // limit)))
    return svg(800, 22 + len(tables["budget"]) * BAR_STEP, "budget of the pick", lines)


def time_bars(rows, ranking, clock):
    """Where the time of the pick goes, and that of its first rival with another block."""
    names = [k for k in rows[0] if k != "rank"]
    of = [(ranking.fits[int(row["rank"]) - 1], [int(row[k]) for k in names]) for row in rows]
    x, y, lines = 20, 2, []
    for i, name in enumerate(names): # of warpgroup kernels all of a step is one pipe
        if all(parts[i] <= 0 for _, parts in of):
            continue
        if x + swatch_width(name) > 780:
            x, y = 20, y + 18
        lines.append(swatch(x, y, TIME_FILLS[i], name))
        x += swatch_width(name)
    top, limit = y + 24, of[-1][0].ns * clock // 1000 + 1
    for i, (c, parts) in enumerate(of):
        lines.append(bar(top + i * BAR_STEP, c.name, zip(parts, TIME_FILLS), limit, decimals(c.ns) + " us"))
    return svg(800, top + 2 + len(of) * BAR_STEP, "where the time goes", lines)


def pick(tables, facts, ranking, flops):
    c = ranking.fits[0]
    rate = flops // c.ns if c.ns > 0 else 0
    said = "<p><b>%s</b>%s%s: %s us, %s TFLOPS, %d %% of the ceiling; bound by <b>%s</b>. %s per SM, %s waves.</p>\n" % (
        c.name, ", warpgroups" if facts["warpgroup"] == "1" else "", ", panels shared by two blocks" if c.cluster > 1 else "", decimals(c.ns),
        decimals(rate), rate * 100 // int(facts["ceiling_gflops"]), c.binding, plural(int(c.row["blocks_per_sm"]), "block"), c.row["waves"])
    return section("The pick", said, "<p>%s</p>\n<p class=\"quiet\">%s</p>\n" % (escape(facts["verdict"]), escape(facts["estimates"])), budget_bars(tables),
                   time_bars(tables["time"], ranking, int(facts["clock_mhz"])) if tables.get("time") else "")


def best_tiles(ranking, flops):
    heads = [("", ""), ("tile, as TILES= takes it", "t")] + [(h, "") for h in ("threads", "registers", "shared memory", "blocks/SM", "waves", "us", "TFLOPS", "speed, %")]
    rows = []
    for i, c in enumerate(ranking.fits[:10]):
        speed = ranking.fits[0].ns * 1000 // c.ns
        cells = [c.row[k] for k in ("threads", "regs_per_thread", "smem_bytes", "blocks_per_sm", "waves", "predicted_us")]
        cells += [decimals(flops // c.ns), "%d.%d" % divmod(speed, 10)]
        rows.append(("pick" if i == 0 else "", cell(i + 1) + cell(c.name, "t n") + "".join(map(cell, cells)) + cell(c.binding, "t")))
    return section("The ten best tiles", table(heads + [("bound by", "t")], rows))


def turnings(rivals, changes, ranking):
    parts = []
    for rank in (row["rank"] for row in rivals):
        own = [row for row in changes if row["rank"] == rank]
        parts.append("<p>For rank %s, %s" % (rank, ranking.fits[int(rank) - 1].name))
        if not own:
            parts.append(": no single budget value within a factor of four makes it win.</p>\n")
            continue
        parts.append(", to beat the pick, one of these alone:</p>\n")
        rows = []
        for row in own[:10]:
            up = int(row["then"]) > int(row["now"])
            rows.append(cell("<code>%s</code>" % row["key"], "t") + cell(row["now"]) + cell("at least" if up else "at most") + cell(row["then"]) +
                        cell(("x " if up else "/ ") + row["factor"]) + cell("this tile" if row["wins"] == "1" else row["winner"], "t"))
        parts.append(table([("budget value", "t"), ("now", ""), ("", ""), ("then", ""), ("factor", ""), ("pick there", "t")], rows))
    return section("What would have to change", *parts) if parts else ""


def side_by_side(rows, left, right):
    lines, before = [], "0"
    for i, row in enumerate(rows):
        what = "<code>%s</code>" % row["what"] if row["budget"] == "1" else row["what"]
        lines.append(("part" if i > 0 and before < row["budget"] else "",
                      cell(what, "t") + cell(escape(row["left"]), "t") + cell(escape(row["right"]), "t") + cell(row["ratio"])))
        before = row["budget"]
    return section("Side by side", table([("", "t"), (escape(left), "t"), (escape(right), "t"), ("ratio", "")], lines))


# ---- explain: every scheme's pick under the memory roof and the schemes' ceilings

PLOT_X, PLOT_Y, PLOT_W, PLOT_H = 60, 26, 440, 300
LABEL_X, LABEL_STEP, ROOF_WORDS_W, ROOF_WORDS_H = PLOT_X + PLOT_W + 26, 17, 136, 13


def log2_x1024(x):
    """log2 in 1024ths, of x >= 1: by squaring, so that no library's rounding is in it."""
    x = max(x, 1)
    result = 1024 * (x.bit_length() - 1)
    x = x << 31 >> x.bit_length() # in [2^30, 2^31)
    for bit in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        x = x * x >> 30
        if x >= 1 << 31:
            x >>= 1
            result += bit
    return result


class Roofline:
    def __init__(self, rows, native, dram):
        self.native, self.dram = native, dram
        self.height = max(PLOT_H, LABEL_STEP * len(rows)) # a line of words for each point
        self.points = [{**row, **{k: int(row[k]) for k in ("products", "ceiling_gflops", "gflops", "intensity_milli")}} for row in rows]
        ridges = [self.ridge(p["ceiling_gflops"]) for p in self.points]
        xs = ridges + [p["intensity_milli"] for p in self.points]
        low_y = min([native] + [p["gflops"] for p in self.points])
        air = ROOF_WORDS_W + 24 # on the left, for the words of the roofs; an octave on the right
        self.x_high = log2_x1024(max(xs)) + 1024
        self.x_low = log2_x1024(min(xs)) - (self.x_high - log2_x1024(min(xs))) * air // (PLOT_W - air)
        self.y_low, self.y_high = log2_x1024(low_y) - 1024, log2_x1024(max(p["ceiling_gflops"] for p in self.points)) + 512

    def ridge(self, gflops):
        return gflops * 1000 // self.dram

    def x_of(self, log):
        return PLOT_X + div((log - self.x_low) * PLOT_W, self.x_high - self.x_low)

    def x(self, milli_intensity):
        return self.x_of(log2_x1024(milli_intensity))

    def y(self, gflops):
        return PLOT_Y + self.height - div((log2_x1024(gflops) - self.y_low) * self.height, self.y_high - self.y_low)

    def grid(self):
        """Powers of two (four where they are many)."""
        step = 2 if (self.x_high - self.x_low) // 1024 > 9 else 1
        for value in (1 << i for i in range(0, 21, step)):
            at = self.x(value * 1000)
            if PLOT_X <= at <= PLOT_X + PLOT_W:
                yield path("M%d %dV%d" % (at, PLOT_Y, PLOT_Y + self.height), "grid") + words(at, PLOT_Y + self.height + 15, "middle", "small", str(value))
        for value in (1 << i for i in range(17)):
            at = self.y(value * 1000)
            if PLOT_Y <= at <= PLOT_Y + self.height:
                yield path("M%d %dH%d" % (PLOT_X, at, PLOT_X + PLOT_W), "grid") + words(PLOT_X - 6, at + 4, "end", "small", str(value))
        yield words(PLOT_X + PLOT_W // 2, PLOT_Y + self.height + 32, "middle", "label", "2mnk per byte to and from device memory, log scale")
        yield words(PLOT_X - 46, PLOT_Y - 12, "start", "label", "TFLOPS")

    def slope(self):
        """Ends of the memory roof: slope one in log-log, the same number of octaves to the left as down."""
        top = max(p["ceiling_gflops"] for p in self.points)
        x, y = log2_x1024(self.ridge(top)) - (log2_x1024(top) - self.y_low), PLOT_Y + self.height
        if x < self.x_low:
            y -= (self.x_low - x) * self.height // (self.y_high - self.y_low)
            x = self.x_low
        return self.x_of(x), y, self.x(self.ridge(top)), self.y(top)

    def roofs(self):
        """A ceiling for each number of products, native FP32, then the memory roof; their words stand in a column at the left edge, where no
        points are, the lowest first, and a thin line joins each to its roof."""
        said, seen, right = [], set(), PLOT_X + PLOT_W
        for p in self.points:
            ceiling = p["ceiling_gflops"]
            if ceiling in seen:
                continue
            seen.add(ceiling)
            x, y = self.x(self.ridge(ceiling)), self.y(ceiling)
            yield path("M%d %dH%d" % (x, y, right), "roof")
            said.append((x, y, "%s, %s: %d" % (p["slice"], plural(p["products"], "product"), ceiling // 1000)))
        x, y = PLOT_X + ROOF_WORDS_W + 12, self.y(self.native)
        yield path("M%d %dH%d" % (x, y, right), "native")
        said.append((x, y, "native FP32: %d" % (self.native // 1000)))
        x_from, y_from, x_to, y_to = self.slope()
        yield path("M%d %dL%d %d" % (x_from, y_from, x_to, y_to), "roof")
        x = max(x_from, x) # where the slope is right of the words
        said.append((x, y_from + div((y_to - y_from) * (x - x_from), x_to - x_from), "memory: %d GB/s" % self.dram))
        at = PLOT_Y + self.height + ROOF_WORDS_H
        for x, y, text in sorted(said, key=lambda s: -s[1]):
            at = min(y, at - ROOF_WORDS_H)
            yield path("M%d %dL%d %d" % (PLOT_X + ROOF_WORDS_W, at, x, y), "lead") + words(PLOT_X + 6, at + 4, "start", "small", text)

    def circle(self, p, colour):
        return '<circle cx="%d" cy="%d" r="4.5" fill="%s"/>\n' % (self.x(p["intensity_milli"]), self.y(p["gflops"]), colour)

    def names(self):
        """Points with their words in a column beside the plot, fastest first, joined by thin lines."""
        at = 0
        for i, p in enumerate(sorted(self.points, key=lambda p: -p["gflops"])):
            x, y = self.x(p["intensity_milli"]), self.y(p["gflops"])
            room = PLOT_Y + self.height - (len(self.points) - 1 - i) * LABEL_STEP
            at = min(y + 4 if i == 0 else max(at + LABEL_STEP, y + 4), room)
            text = "%s: %d.%d, %d %% of its ceiling, %s" % (p["scheme"], p["gflops"] // 1000, p["gflops"] // 100 % 10,
                                                            p["gflops"] * 100 // p["ceiling_gflops"], p["binding"])
            yield path("M%d %dL%d %d" % (x + 5, y, LABEL_X - 4, at - 4), "lead") + self.circle(p, BLUE) + words(LABEL_X, at, "start", "label", text)
        yield self.circle(self.points[0], ORANGE) # the page's own scheme: not under others at its place

    def draw(self):
        return svg(840, PLOT_Y + self.height + 40, "roofline", [*self.grid(), *self.roofs(), *self.names()])


def explain(tables):
    facts = {row["key"]: row["value"] for row in tables["facts"]}
    ranking = Ranking(tables["candidates"])
    shape = [int(facts[k]) for k in "mnk"]
    flops, slices, products = 2 * shape[0] * shape[1] * shape[2], int(facts["slices"]), int(facts["products"])
    body = ["<h1>%s: %s</h1>\n" % (escape(facts["title"]), facts["scheme"]),
            '<p class="quiet">C = A B of %d x %d x %d (m x n x k), %s, model %s; kernel only, without packing and split-K. Written by halftone-gen explain '
            "from the budget %s.gpu.</p>\n" % (*shape, facts["isa"], facts["model"], escape(facts["gpu"])),
            "<p>%s: %d %s slice%s, %s. Ceiling: %s %s%s</p>\n" % (
                facts["scheme"], slices, facts["slice"], "s" if slices > 1 else "", plural(products, "product"), escape(facts["ceiling"]),
                escape(facts["kernels"]), facts["note"] and " " + escape(facts["note"]) + "\n")]
    if ranking.fits:
        body.append(pick(tables, facts, ranking, flops))
    else:
        body.append(section("No pick", "<p>The model accepts no tile on this budget; the reasons are below the map.</p>\n"))
    compared = "contrast" in tables
    if compared:
        body.append(side_by_side(tables["contrast"], facts["left"], facts["right"]))
    body.append(tile_map(ranking, facts["left"] if compared else ""))
    if compared:
        body.append(tile_map(Ranking(tables["other candidates"]), facts["right"]))
    if ranking.fits:
        body += [best_tiles(ranking, flops), turnings(tables["rivals"], tables["turnings"], ranking)]
        body.append(section("All schemes under the roof", "<p>Each scheme's own pick: predicted TFLOPS, share of the scheme's ceiling, and what binds it.</p>\n",
                            Roofline(tables["schemes"], int(facts["native_gflops"]), int(facts["dram_gbps"])).draw()))
    return document("%s, %s" % (escape(facts["gpu"]), facts["scheme"]), "".join(body))


# ---- report and tune: one table of measured numbers, comment lines before it

COLOURS = (BLUE, ORANGE, "#3a7d44", "#8a4f9e", "#b8860b", MIDDLE, "#a33b3b", "#2a8c8c", "#c06090", "#50602a", "#6a5acd", "#7a7a74", "#000000",
           "#e0a030", "#78b050", "#d08070", "#4070d0", "#a0a040")
LINE = 18


def read_table(text):
    """Comment lines, rows; the comments `# about NAME: text` apart, {NAME: text}."""
    comments, about, rows, columns = [], {}, [], None
    for line in text.split("\n"):
        if line.startswith("# about "):
            name, _, said = line[8:].partition(": ")
            about[name] = said
        elif line.startswith("#"):
            comments.append(line + "\n")
        elif columns is None:
            columns = line.split("\t")
        elif line:
            rows.append(dict(zip(columns, line.split("\t"))))
    return "".join(comments), about, rows


def colour(index):
    return COLOURS[index % len(COLOURS)]


def place(value, low, high, length):
    """On a logarithmic axis from 10^low to 10^high, held within it; infinite values at its end."""
    log = low if not value > 0 else high if math.isinf(value) else min(max(math.log10(value), low), high)
    return (log - low) / (high - low) * length


def dot(x, y, radius, index, title, hollow=False, more=""):
    return '<circle cx="%.1f" cy="%.1f" r="%s" fill="%s"%s%s><title>%s</title></circle>\n' % (
        x, y, radius, "#fff" if hollow else colour(index), ' stroke="%s" stroke-width="2"' % colour(index) if hollow else "", more, escape(title))


def legend(x, y, names):
    return "".join('<circle cx="%d" cy="%d" r="4" fill="%s"/>\n' % (x, y + 4 + LINE * i, colour(i)) + words(x + 10, y + 8 + LINE * i, "start", "small", name)
                   for i, name in enumerate(names))


def turned(x, y, angle, anchor, text):
    return '<text transform="translate(%d %d) rotate(%d)" text-anchor="%s" class="small">%s</text>\n' % (x, y, angle, anchor, escape(text))


def note(text):
    return '<p class="quiet">%s</p>\n' % text


def heading(title, comments, said):
    return "<h1>%s</h1>\n<pre>%s</pre>\n<p>%s</p>\n" % (title, escape(comments), said)


# ---- report: everything is drawn from the rows of the largest size

SPAN_X, SPAN_Y, SPAN_W, SPAN_H, SPAN_MOST, GRADE_W = 100, 14, 560, 330, 4.2, 42
SPAN_LOW, SPAN_HIGH, SHARE_LOW, SHARE_HIGH = -2, 8, -4, 6 # powers of ten


class Result:
    def __init__(self, row):
        self.rel_frobenius, self.grade = float(row["rel_frobenius"]), float(row["grade"])
        self.bound = 0 if row["bound"] == "n/a" else float(row["bound"])
        self.wrong_class = row["wrong_class"] != "0"
        self.outside = self.wrong_class or 0 < self.bound < self.grade


class Report:
    def __init__(self, text):
        self.comments, self.about, rows = read_table(text)
        self.families, self.methods = (list(dict.fromkeys(row[k] for row in rows)) for k in ("family", "method"))
        self.native = self.methods[0] # the first of every trial
        self.result, size = {}, {}
        for row in rows:
            key, own = (row["family"], row["method"]), int(row["n"]) * int(row["k"])
            if own > size.get(key, 0):
                self.result[key], size[key] = Result(row), own

    def spans(self):
        """Grade against the span of exponents: families phi0 to phi4."""
        def y_of(grade):
            return SPAN_Y + SPAN_H - place(grade, SPAN_LOW, SPAN_HIGH, SPAN_H)
        for e in range(SPAN_LOW, SPAN_HIGH + 1):
            y = round(y_of(10.0 ** e))
            yield path("M%d %dh%d" % (SPAN_X, y, SPAN_W), "grid") + words(SPAN_X - 8, y + 4, "end", "small", "1e%d" % e)
        for phi in range(5):
            yield words(round(SPAN_X + phi / SPAN_MOST * SPAN_W), SPAN_Y + SPAN_H + 16, "middle", "small", str(phi))
        yield words(SPAN_X + SPAN_W // 2, SPAN_Y + SPAN_H + 34, "middle", "small", "exponent span phi: (rand - 0.5) exp(phi randn)")
        yield turned(40, SPAN_Y + SPAN_H // 2, -90, "middle", "grade, 2^-24 |A||B|")
        for i, name in enumerate(self.methods):
            line, dots = [], []
            for family in self.families:
                r = self.result.get((family, name))
                if family.startswith("phi") and r and not math.isnan(r.grade):
                    x, y = SPAN_X + float(family[3:]) / SPAN_MOST * SPAN_W, y_of(r.grade)
                    line.append("%.1f %.1f" % (x, y))
                    dots.append(dot(x, y, "4" if r.outside else "3", i, "%s: %.4g" % (name, r.grade), r.outside))
            if line:
                width = "2.4" if name in (self.native, "auto") else "1.1"
                yield '<path d="M%s" fill="none" stroke="%s" stroke-width="%s"/>\n' % ("L".join(line), colour(i), width) + "".join(dots)
        yield legend(SPAN_X + SPAN_W + 22, SPAN_Y, self.methods)

    def shares(self):
        """Grade over bound, family by family."""
        bottom = SPAN_Y + LINE * len(self.families)
        for e in range(SHARE_LOW, SHARE_HIGH + 1):
            x = round(SPAN_X + place(10.0 ** e, SHARE_LOW, SHARE_HIGH, SPAN_W))
            yield path("M%d %dV%d" % (x, SPAN_Y, bottom), "roof" if e == 0 else "grid") + words(x, bottom + 15, "middle", "small", "1e%d" % e)
        for i, family in enumerate(self.families):
            yield words(SPAN_X - 8, SPAN_Y + LINE * i + 13, "end", "small", family)
        for c, name in enumerate(self.methods):
            for i, family in enumerate(self.families):
                r = self.result.get((family, name))
                if r and r.bound > 0:
                    share = math.inf if r.wrong_class else r.grade / r.bound
                    yield dot(SPAN_X + place(share, SHARE_LOW, SHARE_HIGH, SPAN_W), SPAN_Y + LINE * i + LINE / 2, "4" if r.outside else "3", c,
                              "%s, %s: %.3g" % (name, family, share), r.outside)
        yield legend(SPAN_X + SPAN_W + 22, SPAN_Y, self.methods)

    def grades(self):
        top = 62
        for c, name in enumerate(self.methods):
            yield turned(SPAN_X + GRADE_W * c + GRADE_W // 2, top - 6, -40, "start", name)
        for i, family in enumerate(self.families):
            y = top + LINE * i
            yield words(SPAN_X - 8, y + 13, "end", "small", family)
            for c, name in enumerate(self.methods):
                r = self.result.get((family, name))
                if r:
                    fill = "#e9a3a0" if r.wrong_class else "#f4f4f1" if r.bound <= 0 else "#f6cf9c" if r.outside else "#d8ebda"
                    yield rect(SPAN_X + GRADE_W * c, y, GRADE_W - 1, LINE - 1, fill) + words(
                        SPAN_X + GRADE_W * c + GRADE_W // 2, y + 13, "middle", "small", "places" if r.wrong_class else compact(r.grade))

    def beside_native(self):
        rows = []
        for family in self.families:
            ours, native = self.result.get((family, "auto")), self.result.get((family, self.native))
            if ours and native:
                rows.append(cell(family, "t n") + ratio_cells(ours.rel_frobenius, native.rel_frobenius) + ratio_cells(ours.grade, native.grade) +
                            cell(escape(self.about.get(family, "")), "t text"))
        return table([("family", "t"), ("rel_frobenius, auto", ""), (self.native, ""), ("ratio", ""), ("grade, auto", ""), (self.native, ""), ("ratio", ""),
                      ("data", "t")], rows, "whole")


def compact(value):
    """"12.3", "4e7": at most five characters."""
    if value < 999.5 and (value == 0 or value >= 0.001):
        return "%.3g" % value
    if 0 < value < 0.001 or value >= 9999.5 and not math.isinf(value):
        return "%de%d" % tuple(int(part) for part in ("%.0e" % value).split("e"))
    return "%.0f" % value


def ratio_cells(ours, native):
    ratio = 0.0 if ours == 0 else ours / native if native != 0 else math.inf
    return cell("%.3g" % ours) + cell("%.3g" % native) + cell("%.3g" % ratio, "" if ratio <= 2 else "bad")


def report(text):
    r = Report(text)
    ranges = [cell(c, "t n") + cell(escape(r.about[c]), "t text") for c in r.methods if c in r.about]
    return document("halftone report", "".join([
        heading("How wrong every scheme is, and where its guarantee ends", r.comments,
                "grade: the largest |C - R| in units of 2<sup>-24</sup> |A||B|, R the FP64 product. Shown are the results of the largest size; the table "
                "of --out has all. " + escape(r.about.get("cuBLAS", ""))),
        section("Grade against the span of exponents", note("Hollow: above the scheme's own bound, so outside its documented range."),
                svg(800, SPAN_Y + max(SPAN_H + 44, LINE * len(r.methods)), "grade against exponent span", r.spans())),
        section("Grade over the scheme's bound",
                note("Left of the black line the bound holds. Hollow: outside the documented range; at the right edge: NaN or Inf at wrong places, or "
                     "more than 1e6 bounds. Native FP32 and fixed point have no bound of this kind."),
                svg(800, SPAN_Y + LINE * max(len(r.families), len(r.methods)) + 28, "grade over bound", r.shares())),
        section("Every grade",
                note("Green: within the bound. Orange: above it. Red: NaN or Inf where the FP64 product has none, or the reverse. Grey: no bound of "
                     "this kind."),
                svg(SPAN_X + GRADE_W * len(r.methods) + 40, 62 + LINE * len(r.families), "grades", r.grades())),
        section("The default beside native FP32", note("Marked: more than twice as wrong, which the accuracy contract forbids."), r.beside_native()),
        section("Ranges", table([("scheme", "t"), ("documented range", "t")], ranges)) if ranges else ""]))


# ---- tune: predicted against measured, and what the analytic pick loses

TUNE_X, TUNE_Y, TUNE_W, TUNE_H = 64, 12, 460, 360


class Case:
    """One shape and scheme; ablation variants, which the library never picks, do not count."""

    def __init__(self, rows):
        self.best = min(rows, key=lambda row: row["us"])
        self.pick = next((row for row in reversed(rows) if row["pick"] == "1"), None) # None: an interrupted run may lack it
        self.speed = self.best["us"] / self.pick["us"] if self.pick else 0


def product(row):
    return "%(m)s x %(n)s x %(k)s" % row


def tune_summary(cases, schemes):
    rows = []
    for name in ("all", *schemes):
        own = [c for c in cases if name in ("all", c.pick["scheme"])]
        if own:
            worst = min(own, key=lambda c: c.speed)
            mean = math.exp(sum(math.log(c.speed) for c in own) / len(own))
            rows.append(cell(name, "t") + cell(len(own)) + cell("%.1f" % (100 * mean)) + cell("%.1f" % (100 * worst.speed)) +
                        cell("%s, %s" % (product(worst.pick), worst.pick["scheme"]), "t n"))
    return table([("scheme", "t"), ("shapes", ""), ("geometric mean, %", ""), ("worst, %", ""), ("there", "t")], rows)


def scatter(rows, schemes):
    logs = [math.log10(row[k]) for row in rows for k in ("us", "said")]
    low, high = min(logs) - 0.1, max(logs) + 0.1
    parts = []
    for e in range(math.ceil(low), math.floor(high) + 1):
        x, y = (round(place(10.0 ** e, low, high, length)) for length in (TUNE_W, TUNE_H))
        parts.append(path("M%d %dv%dM%d %dh%d" % (TUNE_X + x, TUNE_Y, TUNE_H, TUNE_X, TUNE_Y + TUNE_H - y, TUNE_W), "grid"))
        parts.append(words(TUNE_X + x, TUNE_Y + TUNE_H + 15, "middle", "small", "%g" % 10.0 ** e))
        parts.append(words(TUNE_X - 6, TUNE_Y + TUNE_H - y + 4, "end", "small", "%g" % 10.0 ** e))
    parts.append(path("M%d %dL%d %d" % (TUNE_X, TUNE_Y + TUNE_H, TUNE_X + TUNE_W, TUNE_Y), "native"))
    for row in rows:
        parts.append(dot(TUNE_X + place(row["said"], low, high, TUNE_W), TUNE_Y + TUNE_H - place(row["us"], low, high, TUNE_H), "3",
                         schemes.index(row["scheme"]), "%s %s" % (product(row), row["kernel"]), more=' fill-opacity=".55"'))
    parts.append(legend(TUNE_X + TUNE_W + 24, 20, schemes))
    parts.append(words(TUNE_X + TUNE_W // 2, TUNE_Y + TUNE_H + 34, "middle", "small", "predicted, us"))
    parts.append(turned(14, TUNE_Y + TUNE_H // 2, -90, "middle", "measured, us"))
    return svg(700, TUNE_Y + max(TUNE_H + 40, LINE * len(schemes) + 20), "measured against predicted", parts)


def tune_cases(cases):
    """Every shape and scheme, the largest loss first, with a bar from 0 to 100 %."""
    rows = []
    for c in sorted(cases, key=lambda c: c.speed):
        bar_of = '<svg width="82" height="12">%s%s</svg>' % (rect(0, 0, 80, 12, EMPTY), rect(0, 0, round(80 * c.speed), 12, ORANGE if c.speed < 0.85 else BLUE))
        rows.append(cell(product(c.pick), "t n") + cell(c.pick["scheme"], "t") + cell(bar_of, "t") + cell("%.1f" % (100 * c.speed)) +
                    cell("%.5g" % c.pick["us"]) + cell("%.5g" % c.best["us"]) + cell("%.2f" % (c.pick["said"] / c.pick["us"])) +
                    cell("" if c.pick is c.best else c.best["kernel"], "t wrap"))
    return table([("m x n x k", "t"), ("scheme", "t"), ("pick / best, %", "t"), ("", ""), ("pick, us", ""), ("best, us", ""), ("predicted / measured", ""),
                  ("best, where it is another", "t")], rows, "whole")


def tune(text):
    comments, _, rows = read_table(text)
    schemes, of = list(dict.fromkeys(row["scheme"] for row in rows)), {}
    for row in rows:
        row["us"], row["said"] = float(row["measured_us"]), max(float(row["predicted_us"]), 1e-3)
        if row["variant"] == "-":
            of.setdefault((row["m"], row["n"], row["k"], row["scheme"]), []).append(row)
    cases = [c for c in map(Case, of.values()) if c.pick]
    return document("halftone tune", "".join([
        heading("The analytic pick against every kernel", comments,
                "Kernel only, from packed operands. pick / best: time of the fastest kernel that the library could pick, over that of the one it picks; "
                "100 % is no loss."),
        tune_summary(cases, schemes),
        section("Measured against predicted", note("Every kernel and shape, ablation variants too; on the dashed line the model is right."),
                scatter(rows, schemes) if rows else ""),
        section("Every shape, the largest loss first", tune_cases(cases))]))


# ---- demo: rows whose nearest neighbours half precision gets wrong

PIXEL = 4


def symbol(item, pixels):
    """The numbers of a row, 0 to f; as a square where they fill one."""
    side = round(math.sqrt(len(pixels)))
    width = side if side * side == len(pixels) else len(pixels)
    dots = "".join(rect(i % width * PIXEL, i // width * PIXEL, PIXEL, PIXEL, "#1b1b19", ' fill-opacity=".%02d"' % (int(p, 16) * 99 // 15))
                   for i, p in enumerate(pixels) if p != "0")
    return '<symbol id="i%s">%s</symbol>' % (item, dots), width * PIXEL, len(pixels) // width * PIXEL


def demo(tables):
    items, shown = tables["half"], {row["item"]: row["pixels"] for row in tables["pixels"]}
    width, height = symbol("", next(iter(shown.values())))[1:]
    parts, used = [], {}
    for at, row in enumerate(items):
        exact, found = row["exact"].split(), row["found"].split()
        for line, (name, places) in enumerate((("FP64", exact), ("half", found))):
            y = 4 + (2 * at + line) * (height + 6) + 16 * at
            parts.append(words(width + 16, y + height // 2 + 4, "start", "label", name))
            for x, item, wrong in [(2, row["item"], False)] * (line == 0) + [(width + 58 + i * (width + 10), p, line and p != exact[i]) for i, p in enumerate(places)]:
                used[item] = symbol(item, shown[item])[0]
                parts.append(rect(x - 2, y - 2, width + 4, height + 4, "none", ' stroke="%s" stroke-width="2"' % (ORANGE if wrong else LIGHT)) +
                             '<use href="#i%s" x="%d" y="%d"><title>row %s</title></use>\n' % (item, x, y, item))
    return document("halftone demo", "<h1>Neighbours that half precision gets wrong</h1>\n" + note(
        "Each row's ten nearest neighbours, nearest first: by FP64 products, and by one FP16 product of columns with mean 10 and variance 1. Framed in "
        "orange: not FP64's at this place. " + ("The first %s." % plural(len(items), "such row") if items else "There is no such row.")) +
        svg(width + 58 + (width + 10) * 10, len(items) * (2 * height + 28), "neighbours", list(used.values()) + parts))


UNWRITTEN = 3


def main():
    if sys.argv[1:] == ["check"]: # whether there will be a page, before a long measurement
        return
    draw = {"explain": lambda text: explain(read_tables(text)), "report": report, "tune": tune, "demo": lambda text: demo(read_tables(text))}.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if draw is None:
        sys.exit(__doc__)
    page = draw(sys.stdin.buffer.read().decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    try:
        while page:
            page = page[os.write(1, page):]
    except OSError:
        sys.exit(UNWRITTEN) # whoever started this says so


if __name__ == "__main__":
    main()
