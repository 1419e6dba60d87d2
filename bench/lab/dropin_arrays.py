"""CuPy's and JAX' FP32 products before the cuBLAS face: dropin_arrays.py cupy|jax RESULTS. JAX looks cuBLAS' functions up itself, so HALFTONE_DLSYM=1
must be set."""
import os
import time

import numpy
from dropin_say import run_pieces, say, say_counters


def error(got, want):
    return float(numpy.linalg.norm(got.astype(numpy.float64) - want) / numpy.linalg.norm(want))


def arrays():
    random = numpy.random.default_rng(0)
    a, b = (random.standard_normal(shape, dtype=numpy.float32) for shape in ((2048, 1536), (1536, 1024)))
    return a, b, a.astype(numpy.float64) @ b.astype(numpy.float64)


def run_cupy():
    import cupy
    a, b, want = arrays()
    x, y = cupy.asarray(a), cupy.asarray(b)
    stack_x, stack_y = cupy.asarray(a[:1024].reshape(4, 256, 1536)), cupy.asarray(b.reshape(1, 1536, 1024)).repeat(4, 0)
    spd = (x @ x.T).get().astype(numpy.float64) / 1536 + numpy.eye(2048)
    matrix = cupy.asarray(spd.astype(numpy.float32))

    def clock(call):
        took = []
        for _ in range(5):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(5):
                call()
            end.record()
            end.synchronize()
            took.append(cupy.cuda.get_elapsed_time(begin, end) / 5)
        return sorted(took)[2]

    big = cupy.random.default_rng(0).standard_normal((4096, 4096), dtype=cupy.float32)
    cases = {
        "a @ b": (lambda: x @ y, lambda got: error(got.get(), want), 1),
        "dot, transposed": (lambda: y.T.dot(x.T), lambda got: error(got.get(), want.T), 1),
        "stack @ stack": (lambda: stack_x @ stack_y, lambda got: error(got.get().reshape(1024, 1024), want[:1024]), 1),
        "stack @ broadcast": (lambda: stack_x @ y, lambda got: error(got.get().reshape(1024, 1024), want[:1024]), 0),  # arrays of pointers
        "tensordot": (lambda: cupy.tensordot(x, y, 1), lambda got: error(got.get(), want), 1),
        "einsum ij,jk": (lambda: cupy.einsum("ij,jk->ik", x, y), lambda got: error(got.get(), want), 1),
        "linalg.cholesky": (lambda: cupy.linalg.cholesky(matrix), lambda got: error(got.get().astype(numpy.float64) @ got.get().T.astype(numpy.float64), spd), 0),
    }
    say_counters("cupy", "before", 0)
    for name, (call, judge, least) in cases.items():
        say("cupy", f"{name}: error", judge(call()))
        say_counters("cupy", name, least)
    for n in (1024, 2048):  # arrays of pointers, read by the face from 2048^3 of all work on
        stack, right = big.ravel()[:8 * 1024 * n].reshape(8, 1024, n), big[:n, :n]
        right = cupy.ascontiguousarray(right)
        exact = stack[3].get().astype(numpy.float64) @ right.get().astype(numpy.float64)
        say("cupy", f"8 x 1024 x {n} @ broadcast {n}: error", error((stack @ right)[3].get(), exact))
        say("cupy", f"8 x 1024 x {n} @ broadcast {n}: time", clock(lambda s=stack, r=right: s @ r), "ms")
        say_counters("cupy", f"8 x 1024 x {n} @ broadcast {n}", 1)
    say("cupy", "4096 a @ b: time", clock(lambda: big @ big), "ms")
    say_counters("cupy", "4096 a @ b", 1)


def run_jax():
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_triton_gemm=false"
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    jax.config.update("jax_default_matmul_precision", "highest")
    a, b, want = arrays()
    product = jax.jit(jax.numpy.dot)
    say("jax", "dot: error", error(numpy.asarray(product(a, b)), want))
    say_counters("jax", "dot", 1)
    layer = jax.jit(lambda a, b, c: jax.nn.relu(a @ b + c))
    bias = numpy.ones(1024, numpy.float32)
    say("jax", "relu(a @ b + c): error", error(numpy.asarray(layer(a, b, bias)), numpy.maximum(want + 1, 0)))
    say_counters("jax", "relu(a @ b + c)", 1)
    stack = jax.jit(lambda a, b: jax.numpy.einsum("bij,jk->bik", a, b))
    say("jax", "batches: error", error(numpy.asarray(stack(a.reshape(8, 256, 1536), b)).reshape(2048, 1024), want))
    say_counters("jax", "batches", 1)
    big = jax.device_put(numpy.random.default_rng(0).standard_normal((4096, 4096), dtype=numpy.float32))
    product(big, big).block_until_ready()
    took = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(5):
            out = product(big, big)
        out.block_until_ready()
        took.append((time.perf_counter() - begin) / 5)
    say("jax", "4096 dot: time", sorted(took)[3] * 1e3, "ms")
    say_counters("jax", "4096 dot", 1)


run_pieces({"cupy": run_cupy, "jax": run_jax})
