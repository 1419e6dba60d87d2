"""arrays.py torch|cupy|jax|gram: `hg` on a GPU with one library's arrays; gram: X X^T of one matrix, and of two that are equal. A line each: what
was tried, what came of it; exit 1 if something is wrong."""
import ctypes
import sys
import time

import halftone_gemm as hg
import numpy as np

failed = []


def say(what, found, right=True):
    print(f"{sys.argv[1]:6}{what:44}{found}{'' if right else '  WRONG'}", flush=True)
    if not right:
        failed.append(what)


def error(c, a, b):
    """The largest, in units of |A||B|."""
    a, b, c = (np.asarray(x, dtype=np.longdouble if c.dtype == np.float64 else np.float64) for x in (a, b, c))
    return float((abs(c - a @ b) / (abs(a) @ abs(b))).max())


def judge(made, host, sizes=(257, 130, 515)):
    """Products of both types, as they lie and transposed, beside the library's own."""
    m, n, k = sizes
    for kind, unit in (np.float32, 2**-24), (np.float64, 2**-53):
        rng = np.random.default_rng(3)
        a, b = rng.standard_normal((m, k)).astype(kind), rng.standard_normal((n, k)).astype(kind)
        x, y = made(a), made(b).T
        ours, own = (error(host(c), a, b.T) / unit for c in (hg.mm(x, y), x @ y))
        say(f"mm {kind.__name__}", f"{ours:.3g} u|A||B|, its own product {own:.3g}", ours <= 2 * own + 1)
    ours = error(host(hg.mm(x, y, accuracy="fp64-exact")), a, b.T) / unit
    say("mm float64, fp64-exact", f"{ours:.3g} u|A||B|", ours <= 1)


def overhead(call, wait, what):
    """Microseconds that a call keeps the CPU."""
    times = []
    for _ in range(30):
        wait()
        begin = time.perf_counter()
        for _ in range(20):
            call()
        times.append((time.perf_counter() - begin) / 20 * 1e6)
    say(what, f"{sorted(times)[len(times) // 2]:.1f} us")


def calls(a, b, c, matmul, wait):
    """A call of hg, the C call alone as Python makes it, and the library's own."""
    hg.mm(a, b, out=c)
    device = hg._devices[0]
    sgemm = device.library.halftone_sgemm
    op, n, one, zero = ctypes.c_char(b"N"), ctypes.c_int64(64), ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))
    at = [hg.POINTER(hg._Array(x, "x").at) for x in (b, a, c)]
    words = (device.handle, op, op, n, n, n, one, at[0], n, at[1], n, zero, at[2], n)
    with device:
        device.check(sgemm(*words))
        overhead(lambda: sgemm(*words), wait, "halftone_sgemm by ctypes, 64")
    overhead(lambda: hg.mm(a, b, out=c), wait, "hg.mm with out=, 64")
    overhead(lambda: hg.mm(a, b), wait, "hg.mm, 64")
    overhead(lambda: matmul(a, b, out=c), wait, "its own, 64")


def of_torch():
    import types

    import torch
    gpu = torch.device("cuda:0")
    judge(lambda x: torch.from_numpy(x).to(gpu), lambda x: x.cpu().numpy())
    a, b = (torch.randn(4096, 4096, device=gpu) for _ in range(2))
    c = torch.empty_like(a)
    hg.mm(a, b, out=c)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    hg.mm(a, b.T, out=c)
    say("copies made by PyTorch", f"{torch.cuda.max_memory_allocated() - before} bytes", torch.cuda.max_memory_allocated() == before)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(20):
            a = a * 1.0001
            c = hg.mm(a, b)
        want = a.double() @ b.double()
        off = float(((c - want).abs() / (a.abs() @ b.abs())).max()) * 2**24
    say("on a stream of its own, behind other work", f"{off:.3g} u|A||B|", off < 8)
    x, y = torch.randn(300, 200, device=gpu), torch.randn(200, 100, device=gpu)
    z = torch.empty(300, 100, device=gpu)
    with torch.cuda.stream(stream):
        hg.mm(x, y, out=z)
    torch.cuda.synchronize()
    graph, want = torch.cuda.CUDAGraph(), z.clone()
    with torch.cuda.graph(graph, stream=stream):
        hg.mm(x, y, out=z)
    z.zero_()
    graph.replay()
    torch.cuda.synchronize()
    say("in a graph", "equal bits" if torch.equal(z, want) else "other bits", torch.equal(z, want))
    narrow = [t.bfloat16() for t in (x, y)]
    got, want = hg.mm(*narrow, accuracy="invariant"), hg.mm(*(t.float() for t in narrow), accuracy="invariant")
    say("bfloat16", "the bits of floats" if torch.equal(got, want) else "other bits", torch.equal(got, want))
    with torch.cuda.stream(stream):
        z.zero_(), hg.mm(*narrow, out=z, accuracy="invariant")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            hg.mm(*narrow, out=z, accuracy="invariant")
        z.zero_(), graph.replay(), torch.cuda.synchronize()
    say("bfloat16 in a graph", "equal bits" if torch.equal(z, want) else "other bits", torch.equal(z, want))
    try:
        compiled = torch.compile(lambda a, b: torch.relu(hg.mm(a, b)) + 1, fullgraph=True)
        same = torch.equal(compiled(x, y), torch.relu(hg.mm(x, y)) + 1)
        say("torch.compile, inductor", "equal bits" if same else "other bits", same)
    except Exception as error:  # a machine without what inductor needs
        say("torch.compile, inductor", f"not tried: {type(error).__name__} {str(error).splitlines()[0][:60]}")
    p, q = (torch.randn(*s, dtype=torch.float64, device=gpu, requires_grad=True) for s in ((2, 5, 4), (4, 3)))
    say("gradcheck", torch.autograd.gradcheck(hg.mm, (p, q)) and torch.autograd.gradgradcheck(hg.mm, (p, q)))
    if "expecttest" not in sys.modules:
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = __import__("unittest").TestCase
    from torch.testing._internal.common_methods_invocations import op_db
    count, worst = {}, 0.0
    for op in op_db:
        if op.name not in ("mm", "bmm", "addmm", "matmul", "baddbmm") or op.variant_test_name:
            continue
        for kind in torch.float32, torch.float64:
            for sample in op.sample_inputs("cuda", kind):
                words, scale = [sample.input, *sample.args], sample.kwargs
                *add, s, t = words
                if s.dim() < 2 or t.dim() < 2:
                    continue
                alpha, beta = scale.get("alpha", 1), scale.get("beta", 1) if add else 0
                own, exact = op.op(*words, **scale), op.op(*(w.double() for w in words), **scale)
                ours = hg.mm(s.detach(), t.detach(), alpha=alpha)
                ours = ours + beta * add[0] if add else ours
                size = float(exact.abs().max()) * torch.finfo(kind).eps if exact.numel() else 0
                off = [float((r - exact).abs().max()) / size if size else 0.0 for r in (ours, own)]
                worst = max(worst, off[0] / max(off[1], 1))
                count[op.name] = count.get(op.name, 0) + 1
    say("samples of op_db", f"{count}, largest error {worst:.3g} of its own or of eps |C|", worst <= 2)
    x, y, z = (torch.randn(64, 64, device=gpu) for _ in range(3))
    calls(x, y, z, torch.mm, torch.cuda.synchronize)


def of_cupy():
    import cupy
    judge(cupy.asarray, cupy.asnumpy)
    a, b = (cupy.random.standard_normal((2048, 2048), dtype=cupy.float32) for _ in range(2))
    c = hg.mm(a, b)
    pool = cupy.get_default_memory_pool()
    cupy.cuda.Device().synchronize()
    before = pool.used_bytes()
    hg.mm(a, b.T, out=c)
    say("copies made by CuPy", f"{pool.used_bytes() - before} bytes", pool.used_bytes() == before)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(20):
            a = a * cupy.float32(1.0001)
            c = hg.mm(a, b)
        stream.synchronize()
    off = error(cupy.asnumpy(c[:64]), cupy.asnumpy(a[:64]), cupy.asnumpy(b)) * 2**24
    say("on a stream of its own, behind other work", f"{off:.3g} u|A||B|", off < 8)
    half = [x.astype(cupy.float16) for x in (a, b)]
    same = bool((hg.mm(*half, accuracy="invariant") == hg.mm(*(x.astype(cupy.float32) for x in half), accuracy="invariant")).all())
    say("float16", "the bits of floats" if same else "other bits", same)
    x, y, z = (cupy.random.standard_normal((64, 64), dtype=cupy.float32) for _ in range(3))
    calls(x, y, z, cupy.matmul, lambda: cupy.cuda.Device().synchronize())


def of_jax():
    import jax
    jax.config.update("jax_enable_x64", True)
    judge(jax.numpy.asarray, np.asarray)
    a = jax.random.normal(jax.random.key(1), (1024, 1024), dtype="float32")
    for _ in range(20):
        a = a * np.float32(1.0001)
        c = hg.mm(a, a)
    off = error(np.asarray(c)[:64], np.asarray(a)[:64], np.asarray(a)) * 2**24
    say("behind other work", f"{off:.3g} u|A||B|", off < 8)


def of_gram():
    """One matrix given twice has a symmetric product; a copy of it shows what that costs."""
    import torch
    for m, k in (512, 768), (1024, 1024), (2048, 2048), (3072, 8192), (4096, 4096), (8192, 8192):
        x = torch.randn(m, k, device="cuda")
        y, c = x.clone(), torch.empty(m, m, device="cuda")
        times = {}
        for _ in range(15):
            for name, call in ("one", lambda: hg.mm(x, x.T, out=c)), ("two", lambda: hg.mm(x, y.T, out=c)), ("own", lambda: torch.mm(x, x.T, out=c)):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                call(), begin.record()
                for _ in range(5):
                    call()
                end.record(), torch.cuda.synchronize()
                times.setdefault(name, []).append(begin.elapsed_time(end) / 5)
                if name == "one":
                    unequal = int((c != c.T).sum())
        one, two, own = (sorted(times[name])[7] for name in ("one", "two", "own"))
        below = float(((x.double() * x.double()).sum(1) > hg.mm(x, x.T).diagonal().double()).float().mean())
        say(f"{m} x {k}, {hg.query(x, x.T)['scheme']}", f"{1e3 * one:.1f} us, two matrices {1e3 * two:.1f}, cuBLAS {1e3 * own:.1f}; {unequal} mirrored "
            f"elements differ, {100 * below:.0f} % of the diagonal too small", unequal == 0)


{"gram": of_gram, "torch": of_torch, "cupy": of_cupy, "jax": of_jax}[sys.argv[1]]()
sys.exit(1 if failed else 0)
