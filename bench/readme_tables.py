#!/usr/bin/env python3
"""readme_tables.py [--check] [FILE.md ...]: fills the measured tables of README.md, bench/RESULTS.md and bench/PROGRAMS.md, or of other files, from
bench/results/*.tsv.

A section of such a file looks like this; everything between the two markers is replaced:

    <!-- results:NAME columns=n,method,end_tflops n=4096,8192 -->
    <!-- end -->

NAME is a file bench/results/NAME.tsv as `halftone bench --out` and `halftone report --out` write it: lines with # are
facts about the run (device, driver, toolkit, commit), then a header line, then rows; after rows # begins another table
of the file. columns= chooses and orders the columns, and takes only tables that have them; COLUMN=a,b keeps only rows with these values. `n` means the size of square products; it is a column of the
report and stands for m, n, k in a bench. Blanks in names and values are written as underscores. With facts=none the table
stands without what the file says of its run. A section without its file says so. Nothing is rounded or computed here: what
the file says is shown. --check changes nothing; exit code 1 when a page is not what the files say.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SECTION = re.compile(r"(?ms)^<!-- results:(\S+)([^\n]*?) *-->\n.*?^<!-- end -->$")
SHOWN = ["n", "method", "end_single_tflops", "end_single/sgemm", "end_tflops", "end/sgemm", "kernel_tflops", "of_limit", "pack/copy", "rel_frobenius", "grade"]
TITLES = {"end_single_tflops": "single, end to end, TFLOPS", "kernel_single_tflops": "single, kernel only, TFLOPS",
          "end_single/sgemm": "single ÷ SGEMM", "pack_us": "packing, µs", "pack_single_us": "packing, single, µs",
          "end_tflops": "end to end, TFLOPS", "kernel_tflops": "kernel only, TFLOPS", "end/sgemm": "÷ SGEMM",
          "end/tf32": "÷ TF32", "end/fp16": "÷ FP16", "kernel/sgemm": "kernel ÷ SGEMM", "limit_tflops": "limit, TFLOPS", "of_limit": "share of limit",
          "pack_gbps": "packing, GB/s", "pack/copy": "packing ÷ copy", "ceiling_tflops": "ceiling by data sheet, TFLOPS",
          "predicted_tflops": "predicted, TFLOPS", "of_ceiling": "share of ceiling", "bound_by": "bound by",
          "native_tflops": "native FP32 by data sheet, TFLOPS", "/native": "÷ native", "to_dgemm": "÷ DGEMM", "tflops": "TFLOPS", "tflops/dgemm": "÷ DGEMM", "dgemm/us": "DGEMM's time ÷ ours",
          "in_u|A||B|": "largest error, 2⁻⁵³ \\|A\\|\\|B\\|"}


def read(path):
    facts, heads, rows = [], [[]], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            facts.append(line.lstrip("# "))
            heads += [[]] if heads[-1] else []
        elif not heads[-1]:
            heads[-1] = line.replace(" ", "_").split("\t")
        elif line:
            rows.append(dict(zip(heads[-1], line.split("\t"))))
    if not heads[-1]:
        sys.exit(f"{path}: no header line")
    for row in (r for r in rows if "m" in r):
        square = row["m"] == row["n"] == row["k"]
        row["n"] = row["n"] if square else f"{row['m']}×{row['n']}×{row['k']}"
    return facts, list(dict.fromkeys(c for head in heads for c in head)), rows


def options(text, name):
    chosen = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals or key in chosen:
            sys.exit(f"results:{name}: '{word}' is not a new COLUMN=values")
        chosen[key] = value.split(",")
    return chosen


def table(name, text):
    path = HERE / "results" / f"{name}.tsv"
    chosen = options(text, name)
    if not path.is_file():
        return f"Not measured yet: `bench/results/{name}.tsv` is not there."
    facts, head, rows = read(path)
    says = chosen.pop("facts", None)
    columns = chosen.pop("columns", [c for c in SHOWN if c in head])
    unknown = [c for c in [*columns, *chosen] if c not in head]
    if unknown:
        sys.exit(f"results:{name}: {path.name} has no column {', '.join(unknown)}; it has {', '.join(head)}")
    rows = [r for r in rows if set(columns) <= r.keys() and all(r.get(c, "").replace(" ", "_") in values for c, values in chosen.items())]
    if not rows:
        sys.exit(f"results:{name}: no row of {path.name} is chosen")
    lines = ["|" + "|".join(TITLES.get(c, c) for c in columns) + "|", "|" + "---|" * len(columns)]
    lines += ["|" + "|".join(f"`{r[c]}`" if c == "kernel" else r[c] for c in columns) + "|" for r in rows]
    if says == ["none"]:
        return "\n".join(lines)
    run = [f for f in facts if re.match(r"(halftone|device|driver|sustained|seconds per|SIMULATOR)", f)]
    return "\n".join([*lines, "", f"`bench/results/{path.name}`. " + ". ".join(run) + "."])


def fill(page, check):
    old = page.read_text(encoding="utf-8")
    new = SECTION.sub(lambda m: f"<!-- results:{m[1]}{m[2]} -->\n{table(m[1], m[2])}\n<!-- end -->", old)
    if check and new != old:
        sys.exit(f"{page} differs from bench/results: run bench/readme_tables.py")
    if not check:
        page.write_text(new, encoding="utf-8")


def main():
    named = [pathlib.Path(a) for a in sys.argv[1:] if a != "--check"]
    for page in named or [HERE.parent / "README.md", HERE / "RESULTS.md", HERE / "PROGRAMS.md"]:
        fill(page, "--check" in sys.argv)


main()
