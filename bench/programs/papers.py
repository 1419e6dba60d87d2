#!/usr/bin/env python3
"""The papers' applications as their users write them, natively and under `halftone run`, as one table.

    python3 bench/programs/papers.py RESULTS [--small] [--only NAME,...] [--processes N] -- out/h200/halftone run --
    python3 bench/programs/papers.py bench/results --elsewhere    the second table anew, of bench/results as they are

They run on PyTorch where it sees a GPU, else on NumPy; what stands after -- is put before the second run. RESULTS/programs.tsv has for each
application time natively and under halftone, the share of products in the native time and the speed-up which that allows (1 / (1 - share)),
how far an end result is from that of FP64, and the paper's claim; then the papers' other figures beside ours of bench/results. Photographs and
digits are scikit-learn's; without it data are generated, and the row says so. --small is for the simulator: no times. Exit code 1: an end
result is farther off than its limit and twice the native one, no product was served, or a program is slower by more than 2 %; 2: a program
lacks a package or memory, and its row says which. The table is made in any case."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE, NOTES = pathlib.Path(__file__).resolve().parents[1], set()
sys.path.insert(0, str(HERE / "lab"))


# ---- what PyTorch and NumPy call by different names

class OnTorch:
    def __init__(self, torch):
        self.xp, self.linalg, self.single, self.double = torch, torch.linalg, torch.float32, torch.float64
        self.gelu, self.copy, self.to = torch.nn.functional.gelu, torch.clone, lambda x, kind: x.to(kind)
        self.wait, self.name = torch.cuda.synchronize, f"PyTorch {torch.__version__}"

    def array(self, a):
        return self.xp.from_numpy(a).cuda()

    def uniform(self, low, high, *shape, seed=1):
        generator = self.xp.Generator("cuda").manual_seed(seed)
        return self.xp.empty(shape, device="cuda").uniform_(low, high, generator=generator)

    def nearest(self, d, k):
        return self.xp.topk(d, k, dim=1, largest=False).indices

    def taken(self, d, i):
        return d.gather(1, i)

    def sums_by(self, label, x, count):
        sums = self.xp.zeros(count, x.shape[1] + 1, device="cuda", dtype=x.dtype)
        sums[:, :-1].index_add_(0, label, x)
        sums[:, -1].index_add_(0, label, self.xp.ones_like(x[:, 0]))
        return sums[:, :-1], sums[:, -1:]

    def subtract(self, c, a, b):
        c.addmm_(a, b, alpha=-1)

    def lu_of_block(self, a):
        return self.linalg.lu_factor(a, pivot=False)[0]

    def solve_lower(self, l, b, unit=False):
        return self.linalg.solve_triangular(l, b, upper=False, unitriangular=unit)

    def solve_upper(self, u, b):
        return self.linalg.solve_triangular(u, b, upper=True)


class OnNumpy:
    def __init__(self, numpy):
        self.xp, self.linalg, self.single, self.double = numpy, numpy.linalg, numpy.float32, numpy.float64
        self.array, self.copy, self.to = numpy.asarray, numpy.copy, lambda x, kind: x.astype(kind)
        self.wait, self.name = lambda: None, f"NumPy {numpy.__version__}"

    def uniform(self, low, high, *shape, seed=1):
        return self.xp.random.default_rng(seed).uniform(low, high, shape).astype("f4")

    def gelu(self, x):
        return x / (1 + self.xp.exp(-1.702 * x))

    def nearest(self, d, k):
        return self.xp.argsort(d, 1)[:, :k]

    def taken(self, d, i):
        return self.xp.take_along_axis(d, i, 1)

    def sums_by(self, label, x, count):
        mine = self.xp.arange(count)[:, None] == label
        return self.xp.stack([x[rows].sum(0) for rows in mine]), mine.sum(1)[:, None].astype(x.dtype)

    def subtract(self, c, a, b):
        c -= a @ b

    def lu_of_block(self, a):
        a = a.copy()
        for i in range(len(a) - 1):
            a[i + 1:, i] /= a[i, i]
            a[i + 1:, i + 1:] -= self.xp.outer(a[i + 1:, i], a[i, i + 1:])
        return a

    def solve_lower(self, l, b, unit=False):
        return self.linalg.solve(self.xp.tril(l, -1) + self.xp.eye(len(l), dtype=l.dtype) if unit else self.xp.tril(l), b)

    def solve_upper(self, u, b):
        return self.linalg.solve(self.xp.triu(u), b)


# ---- data

def sample(name):
    """Of scikit-learn's own data; None without it."""
    try:
        import sklearn.datasets
        return getattr(sklearn.datasets, name)()
    except ImportError:
        NOTES.add("generated")
        return None


def patches(on, count, side):
    """A row each: squares of two photographs, in colour, 0 .. 1."""
    import numpy as np
    r, found = np.random.default_rng(2), sample("load_sample_images")
    if found:
        images = np.stack(found.images).astype("f4") / 255
    else:
        images = np.random.default_rng(1).normal(size=(2, 427, 640, 3)).cumsum(1).cumsum(2).astype("f4")
        images = (images - images.min()) / np.ptp(images)
    places = [r.integers(n, size=count) for n in (2, images.shape[1] - side, images.shape[2] - side)]
    return on.array(np.stack([images[i, y:y + side, x:x + side].reshape(-1) for i, y, x in zip(*places)]))


def digits(on, count):
    """Rows of 64 pixels, 0 .. 1, and their classes, as rows of 0 and 1."""
    import numpy as np
    found = sample("load_digits")
    if found:
        x, y = found.data / 16, found.target
    else:
        r = np.random.default_rng(1)
        y = r.integers(10, size=1797)
        x = np.clip(r.random((10, 64))[y] + r.normal(0, 0.2, (1797, 64)), 0, 1)
    return on.array(x[:count].astype("f4")), on.array(np.eye(10, dtype="f4")[y[:count]])


def distance(on, got, want):
    """The largest from FP64's, in units of the elements' mean size."""
    return float(abs(on.to(got, on.double) - want).max() / abs(want).mean())


def differing(on, wrong):
    """The share of those that are."""
    return float(on.to(wrong, on.double).mean())


# ---- the applications. Each makes its data; it returns what is timed, a function of a type, and what judges that result beside FP64's.

def kmeans(on, points, clusters, side, steps):
    data = patches(on, points, side)

    def lloyd(kind):
        x = on.to(data, kind)
        c, size = x[:clusters], (x * x).sum(1)[:, None]
        for _ in range(steps):
            label = (size - 2 * (x @ c.T) + (c * c).sum(1)).argmin(1)
            sums, count = on.sums_by(label, x, clusters)
            c = on.xp.where(count > 0, sums / (count + (count == 0)), c)
        return label
    return lloyd, lambda got, want: differing(on, got != want)


def knn(on, queries, points, neighbours, side):
    data = patches(on, queries + points, side)

    def distances(kind):
        q, x = on.to(data[:queries], kind), on.to(data[queries:], kind)
        return (q * q).sum(1)[:, None] - 2 * (q @ x.T) + (x * x).sum(1)

    def wrong(got, want):
        """Neighbours that are farther than FP64's last one."""
        d = distances(on.double)
        return differing(on, on.taken(d, got) > on.taken(d, want)[:, -1:] + 1e-9)
    return lambda kind: on.nearest(distances(kind), neighbours), wrong


def ffn(on, tokens, width):
    x, b1, b2 = on.uniform(-1, 1, tokens, width), on.uniform(-0.1, 0.1, 4 * width), on.uniform(-0.1, 0.1, width)
    w1, w2 = on.uniform(-0.04, 0.04, width, 4 * width, seed=2), on.uniform(-0.04, 0.04, 4 * width, width, seed=3)

    def feed_forward(kind):
        a, v1, v2, c1, c2 = (on.to(t, kind) for t in (x, w1, w2, b1, b2))
        return on.gelu(a @ v1 + c1) @ v2 + c2
    return feed_forward, lambda got, want: distance(on, got, want)


def linear(on, tokens, width, out):
    """Q, K, V and a wider layer, of data as LE-GEMM has them."""
    x, w = on.uniform(0.5, 2.5, tokens, width), [on.uniform(0.5, 2.5, width, n, seed=s) for s, n in enumerate((width, width, width, out), 2)]

    def project(kind):
        a = on.to(x, kind)
        return [a @ on.to(each, kind) for each in w]
    return project, lambda got, want: max(float((abs(on.to(g, on.double) - t) / t).mean()) for g, t in zip(got, want))


def mlp(on, hidden, rows, steps):
    """Gradient descent on digits; what the last step gives for each."""
    x, y = digits(on, rows)
    start = [on.uniform(-(6 / m) ** 0.5, (6 / m) ** 0.5, m, n, seed=m + n) for m, n in ((64, hidden), (hidden, hidden), (hidden, 10))]

    def train(kind):
        a, goal, w = on.to(x, kind), on.to(y, kind), [on.copy(on.to(each, kind)) for each in start]
        for _ in range(steps):
            h = a @ w[0]
            h = h * (h > 0)
            g = h @ w[1]
            g = g * (g > 0)
            out = g @ w[2]
            p = on.xp.exp(out - out.mean(1)[:, None])
            off = (p / p.sum(1)[:, None] - goal) / len(a)
            off_g = off @ w[2].T * (g > 0)
            off_h = off_g @ w[1].T * (h > 0)
            for each, left, right in zip(w, (a, h, g), (off_h, off_g, off)):
                each -= 0.02 * (left.T @ right)
        return out
    return train, lambda got, want: distance(on, got, want)


def kernel_matrix(on, n, side):
    """Of patches: exp(-d / mean d), and 0.1 on the diagonal."""
    x, i = on.to(patches(on, n, side), on.double), list(range(n))
    d = (x * x).sum(1)[:, None] - 2 * (x @ x.T) + (x * x).sum(1)
    d = on.xp.exp(-d / d.mean())
    d[i, i] += 0.1
    return on.to(d, on.single)


def of_factor(on, matrix):
    def judge(l, _):
        a, l = on.to(matrix, on.double), on.to(l, on.double)
        return float(on.linalg.norm(a - l @ l.T) / on.linalg.norm(a))
    return judge


def cholesky(on, n, block, side):
    """By columns of tiles: a product, a factor of the diagonal tile, a triangular solve."""
    matrix = kernel_matrix(on, n, side)

    def factor(kind):
        a = on.copy(on.to(matrix, kind))
        for j in range(0, n, block):
            e = min(j + block, n)
            on.subtract(a[j:, j:e], a[j:, :j], a[j:e, :j].T)
            a[j:e, j:e] = on.linalg.cholesky(a[j:e, j:e])
            a[:j, j:e] = 0
            if e < n:
                a[e:, j:e] = on.solve_lower(a[j:e, j:e], a[e:, j:e].T).T
        return a
    return factor, of_factor(on, matrix)


def potrf(on, n, side):
    matrix = kernel_matrix(on, n, side)
    return lambda kind: on.linalg.cholesky(on.to(matrix, kind)), of_factor(on, matrix)


def hpl_system(on, n):
    """HPL-MxP's: uniform; on the diagonal the sum of its row's other magnitudes."""
    i = list(range(n))
    a, b = on.to(on.uniform(-0.5, 0.5, n, n), on.double), on.to(on.uniform(-0.5, 0.5, n, 1, seed=2), on.double)
    a[i, i] = 0
    a[i, i] = abs(a).sum(1)
    return a, b


def hplmxp(on, n, block):
    """LU by blocks without pivots, then GMRES in FP64."""
    a, b = hpl_system(on, n)

    def factor(kind):
        lu = on.copy(on.to(a, kind))
        for j in range(0, n, block):
            e = min(j + block, n)
            lu[j:e, j:e] = on.lu_of_block(lu[j:e, j:e])
            if e < n:
                lu[j:e, e:] = on.solve_lower(lu[j:e, j:e], lu[j:e, e:], unit=True)
                lu[e:, j:e] = on.solve_lower(lu[j:e, j:e].T, lu[e:, j:e].T).T
                on.subtract(lu[e:, e:], lu[e:, j:e], lu[j:e, e:])
        return lu

    def solve(kind):
        lu = factor(kind)

        def inside(v):
            return on.to(on.solve_upper(lu, on.solve_lower(lu, on.to(v, kind), unit=True)), on.double)
        x = inside(b)
        return x + gmres(on, lambda v: inside(a @ v), inside(b - a @ x), 4)

    def residual(x, _):
        size = abs(a).sum(1).max() * abs(x).max() + abs(b).max()
        return float(abs(a @ x - b).max() / (size * n * 2.0 ** -53))
    return solve, residual


def gmres(on, apply, r, steps):
    import numpy as np
    norm = float(on.linalg.norm(r))
    q, h = [r / norm], np.zeros((steps + 1, steps))
    for j in range(steps):
        w = apply(q[j])
        for i in range(j + 1):
            h[i, j] = float((q[i] * w).sum())
            w = w - h[i, j] * q[i]
        h[j + 1, j] = float(on.linalg.norm(w))
        q.append(w / h[j + 1, j])
    y = np.linalg.lstsq(h, norm * np.eye(steps + 1)[0], rcond=None)[0]
    return sum(float(c) * v for c, v in zip(y, q))


def counts(on, vectors, fields):
    """C = A^T A of 0, 1 and 2, as CCC counts alleles: exact below 2^24, so that a hash is SGEMM's."""
    a = on.uniform(0, 3, fields, vectors)
    a = a - a % 1
    return lambda kind: on.to(a, kind).T @ on.to(a, kind), lambda got, want: differing(on, got != want)


# ---- which, how large, and what the papers say

PROGRAMS = {  # name: papers, their claims, what is judged, its limit, application, size on a GPU, in the simulator
    "k-means": ("EGEMM,LE-GEMM,MixPert", "1.9 T4, 1.33 A800", "other_labels", 1e-3, kmeans,
                dict(points=65536, clusters=1024, side=8, steps=10), dict(points=160, clusters=16, side=4, steps=2)),
    "k-means 16x16": ("EGEMM,LE-GEMM,MixPert", "-", "other_labels", 1e-3, kmeans,
                      dict(points=16384, clusters=4096, side=16, steps=10), dict(points=96, clusters=16, side=6, steps=1)),
    "kNN": ("EGEMM,MixPert", "1.7 T4", "wrong_neighbours", 1e-4, knn,
            dict(queries=8192, points=32768, neighbours=16, side=8), dict(queries=48, points=128, neighbours=4, side=4)),
    "kNN 16x16": ("EGEMM,MixPert", "-", "wrong_neighbours", 1e-4, knn,
                  dict(queries=8192, points=32768, neighbours=16, side=16), dict(queries=32, points=64, neighbours=4, side=6)),
    "BERT FFN": ("LE-GEMM,MixPert", "1.18 A800", "largest_error", 2e-6, ffn,
                 dict(tokens=16384, width=768), dict(tokens=48, width=32)),
    "LLM linear": ("LE-GEMM", "1.34 A800", "MRED", 2e-7, linear,
                   dict(tokens=4096, width=4096, out=11008), dict(tokens=32, width=64, out=96)),
    "MLP training": ("MixPert", "mean 1.72 RTX3090", "largest_error", 1e-4, mlp,
                     dict(hidden=4096, rows=1797, steps=20), dict(hidden=64, rows=64, steps=2)),
    "Cholesky in tiles": ("MixPert", "1e-6", "residual", 1e-6, cholesky,
                        dict(n=32768, block=1024, side=8), dict(n=128, block=32, side=4)),
    "Cholesky of cuSOLVER": ("MixPert", "-", "residual", 1e-6, potrf, dict(n=16384, side=8), None),
    "HPL-MxP 1024": ("MixPert", "below 16", "residual", 16, hplmxp, dict(n=32768, block=1024), dict(n=128, block=32)),
    "HPL-MxP 512": ("MixPert", "-", "residual", 16, hplmxp, dict(n=32768, block=512), dict(n=96, block=16)),
    "CCC counts": ("MixPert", "2 RTX3090", "other_counts", 0, counts,
                   dict(vectors=8000, fields=90000), dict(vectors=48, fields=300)),
}
SECOND = "# elsewhere\n"
ELSEWHERE = [  # paper, where in it, what, its claims, a table of bench/results, what of it is ours: see ours(), | between several
    ("EGEMM", "fig.7,10,11", "max_abs half,markidis/egemm;speed/markidis,not interleaved", "350,2.33;3.0,1.14", "le-gemm",
     "half/egemm max_abs_cpu|markidis/egemm max_abs_cpu|egemm/markidis end_tflops part=1|egemm~w64x32_s3_sm80/egemm~nointerleave end_tflops part=2"),
    ("EGEMM", "fig.8,9", "speed/SGEMM n×n×n,n×n×2n,4n×n×n;/cuBLAS's", "3.13,2.89,2.9;1.35", "egemm-tc",
     "egemm end/sgemm shape=1:1:1|egemm end/sgemm shape=1:1:2|egemm end/sgemm shape=4:1:1|egemm of_limit shape=1:1:1"),
    ("EGEMM", "fig.8,tab.4", "predicted T4,RTX6000;tile", "3.13,3.13;128x128x32_w64x32", "model-papers",
     "egemm /native gpu=t4 shape=1:1:1|egemm /native gpu=rtx6000 shape=1:1:1|egemm tile gpu=t4 m=4096 shape=1:1:1"),
    ("LE-GEMM", "fig.9,14", "speed/SGEMM n×n×n,n×4n×n,n×n×4n;/half,markidis,ootomo;of_limit", "1.37,1.40,1.36;1.40,2.77,2.74;-", "le-gemm",
     "legemm end/sgemm part=1 shape=1:1:1|legemm end/sgemm part=1 shape=1:4:1|legemm end/sgemm part=1 shape=1:1:4|legemm/half end_tflops part=1|"
     "legemm/markidis end_tflops part=1|legemm/ootomo end_tflops part=1|legemm of_limit part=1"),
    ("LE-GEMM", "fig.10,11", "half,markidis,ootomo/legemm max_error;mred", "572,2.78,1.41;815,1.75,1.28", "le-gemm",
     "half/legemm max_error_cpu|markidis/legemm max_error_cpu|ootomo/legemm max_error_cpu|"
     "half/legemm mred_cpu|markidis/legemm mred_cpu|ootomo/legemm mred_cpu"),
    ("LE-GEMM", "fig.17", "tile model/hand-picked;pipeline/none", "1.78;2.72", "le-gemm",
     "legemm/legemm~handpicked end_tflops part=2|legemm/legemm~nopipeline end_tflops part=2"),
    ("LE-GEMM", "fig.8,9", "predicted MI210,A800", "1.31,1.37", "model-papers", "legemm /native gpu=mi210 shape=1:1:1|legemm /native gpu=a800 shape=1:1:1"),
    ("MixPert", "tab.1", "tf32x3,bf16x6/SGEMM", "1.81,2.01", "native-schemes", "tf32x3 end/sgemm m=4096|bf16x6 end/sgemm m=4096"),
    ("MixPert", "fig.8,9,11", "IV/SGEMM;rel_frobenius IV,SGEMM;packing_%", "-;4.46e-7,1.14e-6;11.1", "mixpert",
     "mixpert4 end/sgemm part=1|mixpert4 rel_frobenius part=1|cublas-sgemm rel_frobenius part=1|mixpert4 packing part=1"),
    ("MixPert", "fig.8,9", "IV/SGEMM 24576,programs;rel_frobenius 24576", "2.71,1.72;4.46e-7", "mixpert",
     "mixpert4 end/sgemm part=2 m=24576|mixpert4 end/sgemm part=3|mixpert4 rel_frobenius part=2 m=24576"),
    ("MixPert", "fig.8,12", "HPL-MxP at I;CCC,5 processes", "rises;-", "programs-levels", "mixpert1 speed_up|processes=5 speed_up"),
    ("MixPert", "fig.10", "greedy/exhaustive MLP 16384,Cholesky 8192;gain_% Cholesky 32768,all schemes", "1,-;25,-", "apps",
     "greedy/exhaustive products_ms program=mlp n=16384 levels=mixpert tau=5e-4|"
     "greedy/exhaustive products_ms program=cholesky n=8192 levels=mixpert tau=5e-4|"
     "greedy gain_percent program=cholesky n=32768 levels=mixpert tau=5e-4|greedy gain_percent program=cholesky n=32768 levels=all tau=5e-4"),
    ("MixPert", "fig.8,12", "predicted A100 24576,RTX3090", "2.71,1.12", "model-papers", "mixpert4 /native gpu=a100 m=24576|mixpert4 /native gpu=rtx3090 shape=1:1:1"),
    ("MixPert", "-", "sanitizers,failed", "-", "check", "racecheck failed"),
    ("Ozaki", "tab.1", "GFLOPS of DP;CR,phi=0.1,1,2", "972,823,713;220,194,173", "ozaki",
     "|".join(f"{scheme} gflops n=10240 phi={phi}" for scheme in ("ozaki", "ozaki-cr") for phi in ("0.1", "1", "2"))),
    ("Ozaki", "fig.3,5", "error/DGEMM's;products", "1;66", "ozaki", "ozaki/dgemm max_relative_error|ozaki products n=10240 phi=0.1"),
    ("Ozaki", "fig.8,9", "SP/SGEMM error;speed", "1;<1", "ozaki-sp", "ozaki-sp/cublas-sgemm rel_frobenius|ozaki-sp end/sgemm"),
]


# ---- ours beside the papers' figures, from bench/results

def rows_of(path):
    """Of all tables of a file. part: which of them; shape: sides by the least; packing: % of the time."""
    head, part = [], 0
    for line in path.read_text().splitlines():
        cells = line.split("\t")
        if line.startswith("#"):
            head = []
        elif not head:
            head, part = cells, part + 1
        else:
            row = {**dict(zip(head, cells)), "part": str(part)}
            row["method"] = row.get("method") or row.get("search") or row.get("tool")
            if "m" in row:
                row["shape"] = ":".join(f"{int(row[x]) / min(int(row[y]) for y in 'mnk'):.3g}" for x in "mnk")
            if row.get("kernel_tflops", "n/a") != "n/a":
                row["packing"] = 100 * (1 - float(row["end_tflops"]) / float(row["kernel_tflops"]))
            yield row


def ours(path, wanted):
    """METHOD[~PART OF A KERNEL'S NAME][/METHOD] COLUMN [COLUMN=VALUE ...]: the mean over sizes; where there is text its first cell."""
    methods, column, *only = wanted.split()
    found = []
    for method in methods.split("/"):
        method, _, kernel = method.partition("~")
        found.append({})
        for row in rows_of(path):
            if row["method"] == method and kernel in row.get("kernel", "") and column in row and all(row.get(x.split("=")[0]) == x.split("=")[1] for x in only):
                found[-1].setdefault(tuple(row.get(key) for key in ("m", "n", "k", "family", "phi")), row[column])
    top, *under = found
    try:
        each = [float(top[at]) / float(under[0][at] if under else 1) for at in top if not under or at in under[0]]
    except ValueError:
        return next(iter(top.values()))
    return f"{statistics.fmean(each):.{4 if max(each) > 999 else 3}g}" if each else "-"


def elsewhere():
    """The second table; run: the experiment of bench/lab/run that measures it."""
    lines = ["paper\tat\twhat\tclaim\tours\ttable\trun"]
    experiments = [line.split("\t") for line in (HERE / "lab/experiments.tsv").read_text().splitlines()]
    for paper, at, what, claim, name, wanted in ELSEWHERE:
        path = next((path for path in (HERE / f"results/{card}{name}.tsv" for card in ("h200-", "h100-", "")) if path.is_file()), None)
        found = iter([ours(path, each) if path else "-" for each in wanted.split("|")])
        run = next(row[0] for row in experiments if re.search(rf"(^| |-){name}[.]", row[2]))
        lines.append("\t".join((paper, at, what, claim, re.sub(r"[^,;]+", lambda _: next(found), claim), path.name if path else "-", run)))
    return "\n".join(lines) + "\n"


# ---- one side: a line of JSON for each program

def backend():
    try:
        import torch
        if torch.cuda.is_available():
            return OnTorch(torch)
    except ImportError:
        pass
    import numpy
    return OnNumpy(numpy)


def seconds(on, call):
    """Of a call that ran before; median, of at most seven and a few seconds."""
    took, end = [], time.perf_counter() + 2
    while len(took) < 7 and (time.perf_counter() < end or not took):
        on.wait()
        begin = time.perf_counter()
        call()
        on.wait()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def share_of_products(on, call):
    """Of the kernels' time."""
    from dropin_say import is_product
    with on.xp.profiler.profile(activities=[on.xp.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        on.wait()
    took = [(row.self_device_time_total, is_product(row.key)) for row in profile.key_averages()]
    return sum(t for t, mine in took if mine) / sum(t for t, _ in took)


def measure(name, small):
    from dropin_say import SIDE, counters
    on, (*_, application, full, size) = backend(), PROGRAMS[name]
    NOTES.clear()
    run, judge = application(on, **(size if small else full))
    counters()
    got = run(on.single)
    found = {"on": on.name, "served": counters()[0] if SIDE == "face" else None}
    if not small:
        found["ms"] = 1000 * seconds(on, lambda: run(on.single))
        if isinstance(on, OnTorch) and SIDE == "native":
            found["share"] = share_of_products(on, lambda: run(on.single))
    return {**found, "value": judge(got, run(on.double)), "notes": sorted(NOTES)}


def side(results, names, small):
    for name in names:
        try:
            found = measure(name, small)
        except ImportError as lacks:
            found = {"lacks": f"needs {lacks.name}"}
        except Exception as failed:  # memory, above all: the others still run
            found = {"lacks": f"{type(failed).__name__}: {str(failed).splitlines()[0][:80] if str(failed) else ''}"}
        print(json.dumps({"name": name, **found}), flush=True)


# ---- the table

def row_of(name, native, face, small):
    """The table's cells, and the exit code that they ask for."""
    papers, claim, judged, limit, _, full, size = PROGRAMS[name]
    size = ",".join(f"{k}={v}" for k, v in (size if small else full).items())
    lacks = native.get("lacks") or face.get("lacks")
    if lacks:
        return [name, papers, size, *["-"] * 5, judged, "-", "-", claim, lacks], 2
    notes, ms = list(native["notes"]), [each.get("ms") for each in (native, face)]
    share = native.get("share")
    if not face["served"]:
        notes.append("FAILED: no product was served")
    if not face["value"] <= max(limit, 2 * native["value"]):
        notes.append(f"FAILED: more than {limit:g}")
    if ms[0] and ms[0] / ms[1] < 0.98:
        notes.append("FAILED: slower")
    cells = [f"{x:.4g}" if x else "-" for x in (*ms, ms[0] and ms[0] / ms[1], share, share and share < 1 and 1 / (1 - share))]
    return [name, papers, size, *cells, judged, *(f"{each['value']:.3g}" for each in (native, face)), claim, "; ".join(notes) or "-"], int("FAILED" in " ".join(notes))


def one_side(results, label, before, words, processes):
    """Of processes that run at once the one that fails, or the slowest."""
    path = results / f"programs-{label}.jsonl"
    with path.open("w") as out, (results / f"programs-{label}.err").open("w") as err:
        ran = [subprocess.Popen([*before, sys.executable, __file__, "--side", str(results), *words], stdout=out, stderr=err) for _ in range(processes)]
        code = max(each.wait() for each in ran)
    rows = sorted(map(json.loads, path.read_text().splitlines()), key=lambda row: ("lacks" in row, row.get("ms", 0)))
    found = {row["name"]: row for row in rows}
    return lambda name: found.get(name, {"lacks": f"the {label} run ended with code {code}"})


def table(results, names, small, before, says, processes):
    """Written and printed; returns the exit code."""
    words = [",".join(names), *(["--small"] if small else [])]
    sides = [one_side(results, label, command, words, processes) for label, command in (("native", []), ("face", before))]
    rows, code = [], 0
    facts = [f"halftone: bench/programs/papers.py on {sides[0](names[0]).get('on', 'nothing')}, natively and under {' '.join(before)}", *says]
    facts += ["SIMULATOR: small sizes, no times"] if small else []
    for name in names:
        row, asked = row_of(name, *(found(name) for found in sides), small)
        rows.append(row)
        code = 1 if 1 in (code, asked) else max(code, asked)
    head = ["program", "paper", "size", "native_ms", "halftone_ms", "speed_up", "share_of_products", "at_most", "end_result", "native", "halftone",
            "claim", "note"]
    text = "".join(f"# {line}\n" for line in facts) + "\n".join("\t".join(map(str, row)) for row in (head, *rows)) + "\n" + SECOND + elsewhere()
    (results / "programs.tsv").write_text(text)
    print(text, end="")
    return code


def main():
    if sys.argv[1:2] == ["--side"]:
        side(pathlib.Path(sys.argv[2]), sys.argv[3].split(","), "--small" in sys.argv)
        return 0
    if sys.argv[2:] == ["--elsewhere"]:
        path = pathlib.Path(sys.argv[1]) / "programs.tsv"
        path.write_text(path.read_text().split(SECOND)[0] + SECOND + elsewhere())
        return 0
    known = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known.add_argument("results", type=pathlib.Path)
    known.add_argument("--small", action="store_true")
    known.add_argument("--only")
    known.add_argument("--processes", type=int, default=1, help="as many of each at once, as Sparkler's on one GPU")
    known.add_argument("--say", default="", help="lines that the table begins with")
    known.add_argument("command", nargs="+", help="what is put before the second run, after --")
    asked = known.parse_args()
    names = [name for name, row in PROGRAMS.items() if row[-1] or not asked.small]
    if asked.only:
        wanted = asked.only.replace("_", " ").split(",")
        lost = set(wanted) - set(names)
        if lost:
            known.error(f"no program is called '{lost.pop()}'; there are {', '.join(names)}")
        names = wanted
    asked.results.mkdir(parents=True, exist_ok=True)
    return table(asked.results, names, asked.small, asked.command, [line.lstrip("# ") for line in asked.say.splitlines()], asked.processes)


if __name__ == "__main__":
    sys.exit(main())
