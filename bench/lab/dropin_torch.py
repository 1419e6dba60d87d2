"""What PyTorch's FP32 products take and give, unchanged, with or without the cuBLAS face before it: dropin_torch.py NAMES RESULTS, as dropin.sh calls it.
Times: CUDA events, median. Errors: relative, Frobenius norm, against FP64."""
import ctypes
import json
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

import torch
from dropin_say import FACE, RESULTS, SIDE, counters, is_product, run_pieces, say, say_counters


def seconds(call, rounds=7, reps=5):
    """Median seconds of a call, which is enqueued `reps` times between two events."""
    call()
    took = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(reps):
            call()
        end.record()
        end.synchronize()
        took.append(begin.elapsed_time(end) * 1e-3 / reps)
    return statistics.median(took)


def host_seconds(call, calls=100):
    """Seconds until a call returns, while the device has more to do than it gets."""
    call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    took = (time.perf_counter() - begin) / calls
    torch.cuda.synchronize()
    return took


def relative_error(got, want):
    return float((got.double() - want).norm() / want.norm())


def products():
    """(a) bare and biased products; nn.Linear with a bias is cublasLtMatmul."""
    torch.manual_seed(0)
    x, w = torch.randn(2048, 4096, device="cuda"), torch.randn(11008, 4096, device="cuda") / 64
    linear = torch.nn.Linear(4096, 11008, device="cuda")
    square = torch.randn(4096, 4096, device="cuda")
    batch_a, batch_b = torch.randn(32, 512, 128, device="cuda"), torch.randn(32, 128, 512, device="cuda")
    counters()
    with torch.no_grad():
        wide = linear.weight.double().t()
        cases = {
            "x @ W.T 2048x4096x11008": (lambda: x @ w.t(), lambda: x.double() @ w.double().t()),
            "nn.Linear with bias 2048x4096x11008": (lambda: linear(x), lambda: torch.addmm(linear.bias.double(), x.double(), wide)),
            "linear, bias, GELU 2048x4096x11008": (
                lambda: torch._addmm_activation(linear.bias, x, linear.weight.t(), use_gelu=True),
                lambda: torch.nn.functional.gelu(torch.addmm(linear.bias.double(), x.double(), wide), approximate="tanh")),
            "linear, bias, ReLU 2048x4096x11008": (
                lambda: torch._addmm_activation(linear.bias, x, linear.weight.t()),
                lambda: torch.relu(torch.addmm(linear.bias.double(), x.double(), wide))),
            "a @ b 4096": (lambda: square @ square, lambda: square.double() @ square.double()),
            "bmm 32x512x128x512": (lambda: torch.bmm(batch_a, batch_b), lambda: torch.bmm(batch_a.double(), batch_b.double())),
        }
        for name, (call, reference) in cases.items():
            say("products", f"{name}: error", relative_error(call(), reference()))
            say("products", f"{name}: time", seconds(call) * 1e3, "ms")
            say_counters("products", name)
        layer, row = torch.nn.Linear(512, 512, device="cuda"), torch.randn(512, 512, device="cuda")
        for name, call in (("nn.Linear 512", lambda: layer(row)), ("a @ b 512", lambda: row @ row)):
            say("products", f"host time of {name}", statistics.median(host_seconds(call) for _ in range(9)) * 1e6, "us")
            counters()


def precision():
    """(b) the program's own switch of precision decides which path a product takes."""
    torch.manual_seed(1)
    a, b = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 2048, device="cuda")
    bias = torch.randn(2048, device="cuda")
    want = a.double() @ b.double()
    for mode, least in (("ieee", 2), ("tf32", 0), ("bfx9", 2), ("ieee", 2)):
        try:
            torch.backends.cuda.matmul.fp32_precision = mode
        except (RuntimeError, ValueError, AttributeError) as refused:
            say("precision", f"{mode}: refused by PyTorch", str(refused).split("\n")[0][:60])
            continue
        counters()
        say("precision", f"{mode}: error", relative_error(a @ b, want))
        say("precision", f"{mode}: error with bias", relative_error(torch.addmm(bias, a, b), want + bias.double()))
        served, original = counters()
        if SIDE == "face":
            say("precision", f"{mode}: served, original", f"{served}, {original}")
            if (served >= 2) != (least == 2):
                say("precision", f"{mode}: FAILED, not on its path", served)
    for what, compute, math, least in (("compute type 32F_EMULATED_16BFX9", 78, 0, 1), ("math mode FP32_EMULATED_BF16X9", 68, 4, 1), ("32F_PEDANTIC", 69, 0, 0)):
        c, status = gemm_ex(a, b, compute, math=math)
        say("precision", f"{what}: error", relative_error(c, want) if status == 0 else f"status {status}")
        if SIDE == "face" and counters()[0] != least:
            say("precision", f"{what}: FAILED, not on its path", least)


def judge_of_rows(a, b, rows=4):
    """A function of a product: largest error of its first rows, in units of 2^-53 |A||B|, against sums in long double."""
    import numpy
    left, right = a[:rows].cpu().numpy().astype(numpy.longdouble), b.cpu().numpy().astype(numpy.longdouble)
    exact, size = left @ right, numpy.abs(left) @ numpy.abs(right)
    return lambda got: float((numpy.abs(got[:rows].cpu().numpy() - exact) / size).max() * 2.0 ** 53)


def fp64():
    """FP64 by PyTorch's own call, and with its emulation asked for, by compute type and by math mode."""
    torch.manual_seed(7)
    for n in (1024, 2048, 4096, 8192):
        a, b = (torch.randn(n, n, device="cuda", dtype=torch.float64) for _ in range(2))
        judge = judge_of_rows(a, b) if n <= 4096 else None
        counters()
        calls = {"plain": lambda: a @ b, "math mode FP64_EMULATED_FIXEDPOINT": lambda: gemm_ex(a, b, 70, 1, 8)[0],
                 "compute type 64F_EMULATED_FIXEDPOINT": lambda: gemm_ex(a, b, 79, 1)[0]}
        for what, call in calls.items():
            if judge:
                say("fp64", f"{n} {what}: error, 2^-53 |A||B|", judge(call()))
            say("fp64", f"{n} {what}: time", seconds(call, 5, 3) * 1e3, "ms")
            say_counters("fp64", f"{n} {what}", 1 if what != "plain" and n >= 4096 else 0)


def same(piece, what, got, want, limit=0.0):
    """Equal, or where one of the two is the original's and the other not, within `limit` (relative)."""
    far = 0.0 if torch.equal(got, want) else relative_error(got, want.double())
    say(piece, what, "equal" if far == 0 else f"within {limit}" if far <= limit else f"FAILED: differs by {far:.3g}")


def graphs():
    """(c) capture and replay; two graphs, of which one goes before the other replays; a first product while capturing."""
    torch.manual_seed(2)
    x, linear = torch.randn(1024, 1024, device="cuda"), torch.nn.Linear(1024, 4096, device="cuda")
    small = torch.nn.Linear(1024, 512, device="cuda")
    with torch.no_grad():
        def call(layer):
            return layer(x) @ layer.weight

        cold = len(sys.argv) > 3
        limit, piece = (1e-5, "graphs, captured cold") if cold else (0.0, "graphs")
        if cold:  # the process's first product is in a capture: as for cuBLAS itself, its handle must be there
            torch.cuda.current_blas_handle()
        else:
            call(linear)
            call(small)
        torch.cuda.synchronize()
        counters()
        graph = [torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()]
        with torch.cuda.graph(graph[0]):
            first = call(linear)
        with torch.cuda.graph(graph[1]):
            second = call(small)
        say_counters(piece, "captured", 0 if cold else 4)
        for seed in range(3):
            x.copy_(torch.randn(1024, 1024, generator=torch.Generator().manual_seed(seed)))
            for each in graph:
                each.replay()
            same(piece, f"replay {seed} of the first graph against eager", first, call(linear), limit)
            same(piece, f"replay {seed} of the second graph against eager", second, call(small), limit)
        want = second.clone()
        for _ in range(1000):
            graph[0].replay()
            graph[1].replay()
        same(piece, "after 1,000 replays in turns", second, want, limit)
        first = None
        del graph[0]
        torch.cuda.synchronize()
        junk = [torch.randn(1 << 20, device="cuda") for _ in range(64)]
        second.zero_()
        graph[0].replay()
        call(linear)
        same(piece, "the second after the first was destroyed", second, want, limit)
        del junk
        say(piece, "replay of the second", seconds(graph[0].replay) * 1e6, "us")


def solvers():
    """(d) cuSOLVER's calls of cuBLAS."""
    torch.manual_seed(3)
    torch.backends.cuda.preferred_linalg_library("cusolver")
    n = 8192
    a = torch.randn(n, n, device="cuda")
    a = a @ a.t() / n + torch.eye(n, device="cuda")
    counters()
    for name, call in (("cholesky", torch.linalg.cholesky), ("lu_factor", lambda a: torch.linalg.lu_factor(a)[0])):
        factor = call(a)
        if name == "cholesky":
            lower = factor.double()
            say("solvers", f"{name} {n}: error", relative_error(lower @ lower.t(), a.double()))
        say("solvers", f"{name} {n}: time", seconds(lambda c=call: c(a), 3, 1) * 1e3, "ms")
        say_counters("solvers", name, 0)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call(a)
            torch.cuda.synchronize()
        print_kernels(profile, 1, 8)


def edges():
    """What a call of cuBLAS must keep: NaN and Inf, k = 0, beta = 0 over NaN, scalars on the device, odd sizes, threads, memory that is full."""
    torch.manual_seed(4)
    a, b = torch.randn(257, 515, device="cuda"), torch.randn(515, 131, device="cuda")
    want = a.double() @ b.double()
    out = torch.full((257, 131), float("nan"), device="cuda")
    torch.mm(a, b, out=out)
    say("edges", "odd sizes, out= over NaN: error", relative_error(out, want))
    wide = torch.randn(4096, 4096, device="cuda") * 10.0 ** torch.randint(-30, 15, (4096, 1), device="cuda")
    other = torch.randn(4096, 512, device="cuda")
    got, exact = wide @ other, wide.double() @ other.double()
    rows = exact.norm(dim=1) > 1e-35
    say("edges", "rows of 10^-30 to 10^15: largest row error", float(((got.double() - exact).norm(dim=1) / exact.norm(dim=1))[rows].max()))
    a[5, 7], a[9, 1] = float("inf"), float("nan")
    big = torch.cat([a] * 4)
    same("edges", "NaN and Inf of a product", torch.isfinite(big @ b), torch.isfinite(big.double() @ b.double()))
    say("edges", "k = 0", float((torch.zeros(300, 0, device="cuda") @ torch.zeros(0, 300, device="cuda")).abs().max()))
    counters()
    errors = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            mine = torch.randn(1024, 768, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))
            expected = mine.double() @ mine.double().t()
            errors.append(max(relative_error(mine @ mine.t(), expected) for _ in range(50)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say("edges", "four threads, a stream each: largest error", max(errors))
    say_counters("edges", "four threads", 200)
    square = torch.randn(8192, 8192, device="cuda")
    out, hoard = torch.empty_like(square), []
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    block = torch.cuda.mem_get_info()[0]
    while block > 1 << 20:
        try:
            hoard.append(torch.empty(block, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            block //= 2
    torch.mm(square, square, out=out)
    torch.cuda.synchronize()
    say_counters("edges", "memory full", 0)
    hoard.clear()
    say("edges", "memory full: error", relative_error(out[:64], square[:64].double() @ square.double()))


def compiled():
    """torch.compile, by default and as CUDA graphs (reduce-overhead)."""
    torch.manual_seed(5)
    mlp = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    x = torch.randn(2048, 1024, device="cuda")
    with torch.no_grad():
        exact = torch.nn.functional.linear(x.double(), mlp[0].weight.double(), mlp[0].bias.double())
        exact = torch.nn.functional.linear(torch.nn.functional.gelu(exact), mlp[2].weight.double(), mlp[2].bias.double())
        for mode in ("default", "reduce-overhead"):
            run = torch.compile(mlp, mode=mode)
            for _ in range(3):
                run(x)
            counters()
            say("compiled", f"{mode}: error", relative_error(run(x).clone(), exact))
            say_counters("compiled", mode, 2 if mode == "default" else 0)  # a replay calls nothing
            say("compiled", f"{mode}: time", seconds(lambda r=run: r(x)) * 1e3, "ms")


OPERATORS = ("mm", "addmm", "bmm", "baddbmm", "addbmm", "matmul", "nn.functional.linear", "nn.functional.bilinear", "einsum", "tensordot", "inner", "cdist",
             "__rmatmul__", "addmv", "linalg.multi_dot", "chain_matmul", "kron")


def samples():
    """PyTorch's own samples of its operators of products, against FP64; dropin_compare.py holds the two sides' errors beside each other."""
    import types
    if "expecttest" not in sys.modules:  # PyTorch's test helpers want it by name alone
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = __import__("unittest").TestCase
    from torch.testing._internal.common_methods_invocations import op_db
    counters()
    errors = {}
    for op in op_db:
        if op.name not in OPERATORS or not op.supports_dtype(torch.float32, "cuda"):
            continue
        torch.manual_seed(6)
        for i, sample in enumerate(op.sample_inputs("cuda", torch.float32)):
            call = [sample.input, *sample.args], sample.kwargs
            exact = torch.utils._pytree.tree_map(lambda x: x.double() if isinstance(x, torch.Tensor) else x, call)
            got, want = op.op(*call[0], **call[1]), op.op(*exact[0], **exact[1])
            scale = float(want.abs().max()) if want.numel() else 0.0
            errors[f"{op.name}{op.variant_test_name} {i}"] = float((got.double() - want).abs().max()) / scale if scale else 0.0
    (RESULTS / f"samples-{SIDE}.json").write_text(json.dumps(errors))
    say("samples", "of operators", len(errors))
    say("samples", "largest error", max(errors.values()))
    say_counters("samples", "all", 100)


class Model(torch.nn.Module):
    """Four encoder layers over tokens: 1024 wide, 4096 in the feed-forward part."""

    def __init__(self, words=4096, width=1024, layers=4):
        super().__init__()
        self.embed = torch.nn.Embedding(words, width)
        layer = torch.nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


# Orders of a batch's eight sequences: the loss is a mean over them, so another order changes roundings alone.
ORDERS = {"": lambda batch: batch, "-flipped": lambda batch: batch.flip(0), "-rolled": lambda batch: batch.roll(3, 0), "-turned": lambda batch: batch.roll(4, 0)}


def trainer(seed, dtype=torch.float32, order="", fused=True):
    """A function that makes a step and returns its loss."""
    torch.manual_seed(seed)
    model = Model().to("cuda", dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=fused)
    random = torch.Generator("cuda").manual_seed(seed)
    tokens = torch.randint(0, 4096, (4, 8, 513), device="cuda", generator=random)
    made = 0

    def step():
        nonlocal made
        batch = ORDERS[order](tokens[made % 4])
        made += 1
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def print_kernels(profile, times, most):
    for row in sorted(profile.key_averages(), key=lambda r: -r.self_device_time_total)[:most]:
        print(SIDE, f"    {row.self_device_time_total / times / 1000:8.3f} ms {row.count // times:4d} {'product' if is_product(row.key) else '       '} {row.key[:90]}")


def covered(profile):
    """Microseconds in which at least one kernel of a product ran: a kernel may be there and wait while the one before it ends."""
    spans = sorted((e.time_range.start, e.time_range.end) for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA and is_product(e.name))
    total, until = 0.0, float("-inf")
    for begin, end in spans:
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def train():
    """(e) a training step of a transformer in FP32: time of the step, and of the kernels of products in it, by torch.profiler."""
    step = trainer(0)
    for _ in range(5):
        step()
    counters()
    say("train", "step", seconds(step, 5, 3) * 1e3, "ms")
    say_counters("train", "16 steps", 16)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    mine, others = 0.0, 0.0
    for row in profile.key_averages():
        took = getattr(row, "self_device_time_total", 0) / 3000
        if is_product(row.key):
            mine += took
        else:
            others += took
    say("train", "kernels of products in a step", mine, "ms")
    say("train", "the same, what overlaps counted once", covered(profile) / 3000, "ms")
    say("train", "other kernels in a step", others, "ms")
    print_kernels(profile, 3, 14)


def curves():
    """Loss curves of three seeds, each with its batches in four orders; natively also in FP64."""
    kinds = {SIDE + order: (torch.float32, order) for order in ORDERS}
    if SIDE == "native":
        kinds["fp64"] = (torch.float64, "")
    for kind, (dtype, order) in kinds.items():
        losses = []
        for seed in range(3):
            step = trainer(seed, dtype, order)
            losses.append([float(step()) for _ in range(25)])
            del step
            torch.cuda.empty_cache()
        (RESULTS / f"curve-{kind}.json").write_text(json.dumps(losses))
        say("curves", f"losses of {kind}, steps 1, 9, 17, 25 of seed 0", " ".join(f"{losses[0][i]:.6f}" for i in (0, 8, 16, 24)))


class Decoder(torch.nn.Module):
    """Llama's layer: RMS norm, rotary positions, SwiGLU; keys and values of `most` positions stay."""

    def __init__(self, width, hidden, heads, most):
        super().__init__()
        self.heads, self.most = heads, most
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))
        self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = (torch.nn.Linear(*size, bias=False) for size in ((width, hidden), (width, hidden), (hidden, width)))
        self.register_buffer("inverse", 1e4 ** (-torch.arange(0, 1, 2 * heads / width)))
        self.cache = None

    def turned(self, x, at):
        angle = at[:, None] * self.inverse
        (a, b), cos, sin = x.chunk(2, -1), angle.cos(), angle.sin()
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def forward(self, x, at):
        many, length, width = x.shape
        y = self.norms[0](x)
        q, k, v = (f(y).view(many, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.cache is None or self.cache.shape[1] != many:
            self.cache = torch.zeros(2, many, self.heads, self.most, width // self.heads, device=x.device)
        self.cache.index_copy_(3, at, torch.stack((self.turned(k, at), v)))
        seen = (torch.arange(self.most, device=x.device) <= at[:, None]).expand(many, 1, length, self.most)
        y = torch.nn.functional.scaled_dot_product_attention(self.turned(q, at), self.cache[0], self.cache[1], attn_mask=seen)
        x = x + self.o(y.transpose(1, 2).reshape(many, length, width))
        y = self.norms[1](x)
        return x + self.down(torch.nn.functional.silu(self.gate(y)) * self.up(y))


def llama(width=4096, hidden=11008, layers=4, words=32000, prompt=512):
    """(h) prefill, and a step of decoding as it is called and as a graph, of so many sequences; whether the first one's bits are those that it has alone."""
    torch.manual_seed(8)
    most = prompt + 64
    with torch.device("cuda"), torch.no_grad():
        embed, stack = torch.nn.Embedding(words, width), [Decoder(width, hidden, width // 128, most) for _ in range(layers)]
        norm, head = torch.nn.RMSNorm(width), torch.nn.Linear(width, words, bias=False)
        tokens = torch.randint(0, words, (16, most))
        alone = {}

        def logits(which, at):
            x = embed(which)
            for layer in stack:
                x = layer(x, at)
            return head(norm(x[:, -1:]))

        counters()
        for many in (1, 8, 16):
            at, now = torch.arange(prompt), torch.full((1,), prompt)
            first = logits(tokens[:many, :prompt], at)
            say("llama", f"prefill of {many} x {prompt}: time", seconds(lambda m=many, a=at: logits(tokens[:m, :prompt], a), 5, 2) * 1e3, "ms")
            last = tokens[:many, prompt:prompt + 1].contiguous()
            step = logits(last, now)
            say("llama", f"decoding {many}: time", seconds(lambda x=last, a=now: logits(x, a)) * 1e3, "ms")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                logits(last, now)
            say("llama", f"decoding {many}, a graph: time", seconds(graph.replay) * 1e3, "ms")
            for what, got in (("prefill", first), ("decoding", step)):
                say("llama", f"{what}, {many}: the first's bits", "equal" if torch.equal(alone.setdefault(what, got[:1].clone()), got[:1]) else "others")
        say_counters("llama", "all", 100)


# ---- cuBLAS' function beside the face's, in one process ----

def sgemm_pair():
    """(native, face) as functions of (m, n, k) over one buffer; both through ctypes, on PyTorch's handle."""
    line = next(line for line in open("/proc/self/maps") if "/libcublas.so" in line)
    original = ctypes.CDLL(line.split()[-1]).cublasSgemm_v2  # found in the library itself: never the face's
    memory = torch.randn(3, 1 << 26, device="cuda")
    handle = ctypes.c_void_p(torch.cuda.current_blas_handle())
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    a, b, c = (ctypes.c_void_p(row.data_ptr()) for row in memory)

    def bound(function, m, n, k):
        function.argtypes = [ctypes.c_void_p] + [ctypes.c_int] * 5 + [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                                                                     ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
        alpha, beta = ctypes.addressof(one), ctypes.addressof(zero)

        def call():
            status = function(handle, 0, 0, m, n, k, alpha, a, m, b, k, beta, c, m)
            assert status == 0, status
        return call

    keep = (memory, one, zero)
    return (lambda *s: bound(original, *s)), (lambda *s: bound(FACE.cublasSgemm_v2, *s)), keep


def gemm_ex(a, b, compute, kind=0, math=0):
    """C = A B by cublasGemmEx as a program calls it, with this compute type and math mode; kind: cudaDataType of all three."""
    library = ctypes.CDLL(next(line for line in open("/proc/self/maps") if "/libcublas.so" in line).split()[-1])
    gemm = FACE.cublasGemmEx if SIDE == "face" else library.cublasGemmEx
    handle = ctypes.c_void_p(torch.cuda.current_blas_handle())
    c, scalar = torch.empty(a.shape[0], b.shape[1], device="cuda", dtype=a.dtype), ctypes.c_double if kind else ctypes.c_float
    one, zero = scalar(1), scalar(0)
    (m, k), n = a.shape, b.shape[1]  # rows are columns there: C' = B' A'
    library.cublasSetMathMode(handle, math)
    status = gemm(handle, 0, 0, n, m, k, ctypes.byref(one), ctypes.c_void_p(b.data_ptr()), kind, n, ctypes.c_void_p(a.data_ptr()), kind, k, ctypes.byref(zero),
                  ctypes.c_void_p(c.data_ptr()), kind, n, compute, -1)
    library.cublasSetMathMode(handle, 0)
    return c, status


def launch():
    """(f) host time of a call while the device is busy elsewhere: served, handed on because it is small, and PyTorch's own mm."""
    native, face, keep = sgemm_pair()
    for what, shape in (("served 256", (256, 256, 256)), ("served 1024", (1024, 1024, 1024)), ("handed on 64", (64, 64, 64))):
        took = {}
        for _ in range(9):
            for side, function in (("native", native), ("face", face)):
                took.setdefault(side, []).append(host_seconds(function(*shape)))
        for side, times in took.items():
            say("launch", f"host time of cublasSgemm, {what}, {side} function", statistics.median(times) * 1e6, "us")
    del keep


def shapes_of(path, most):
    rows = [tuple(int(word) for word in line.split()[:3]) for line in open(path) if line.strip() and not line.startswith("#")]
    return [row for row in rows if max(row[0] * row[1], row[0] * row[2], row[1] * row[2]) <= 1 << 26][:most]


def sweep():
    """(g) many shapes: time of cuBLAS' function over that of the face's, by turns in one process. Handed on where the face finds them small."""
    native, face, keep = sgemm_pair()
    here = pathlib.Path(__file__).resolve().parents[1]
    shapes = [(n, n, n) for n in (64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048, 3072, 4096, 6144)]
    (RESULTS / "random.txt").write_text(subprocess.check_output([sys.executable, here / "lab/random_shapes.py"], text=True))
    for path, most in ((here / "shapes/small.txt", 14), (here / "shapes/skinny.txt", 23), (RESULTS / "random.txt", 120), (here / "shapes/more.txt", 89)):
        shapes += shapes_of(path, most)
    shapes = list(dict.fromkeys(shapes))[:240]
    table = []
    for shape in shapes:
        calls = {"native": native(*shape), "face": face(*shape)}
        reps = max(2, min(40, int(2e-3 / seconds(calls["native"], 1, 2))))
        took = {side: [] for side in calls}
        for i in range(7):
            for side in sorted(calls, reverse=i % 2 > 0):
                took[side].append(seconds(calls[side], 1, reps))
        counters()
        calls["face"]()
        took = {side: statistics.median(times) for side, times in took.items()}
        table.append((took["native"] / took["face"], shape, took, counters()[0]))
    with (RESULTS / "sweep.tsv").open("w") as file:
        file.write("m\tn\tk\tnative us\tface us\tratio\tserved\n")
        for ratio, shape, took, served in table:
            file.write("\t".join(map(str, shape)) + f"\t{took['native'] * 1e6:.2f}\t{took['face'] * 1e6:.2f}\t{ratio:.3f}\t{served}\n")
    ratios = [row[0] for row in table]
    say("sweep", "shapes", len(ratios))
    say("sweep", "geometric mean of native / face", statistics.geometric_mean(ratios))
    say("sweep", "worst native / face", min(ratios))
    say("sweep", "below 0.99", sum(ratio < 0.99 for ratio in ratios))
    for ratio, shape, took, served in sorted(table)[:16]:
        print(SIDE, f"    {ratio:6.3f} {shape} {took['native'] * 1e6:9.1f} us {took['face'] * 1e6:9.1f} us {'served' if served else 'handed on'}")
    del keep


if __name__ == "__main__":
    run_pieces({f.__name__: f for f in (products, precision, graphs, solvers, edges, train, curves, llama, launch, sweep, compiled, samples, fp64)})
