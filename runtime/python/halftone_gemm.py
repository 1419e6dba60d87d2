"""FP32 and FP64 matrix products on tensor cores, for arrays of NumPy, PyTorch, CuPy and JAX; MANUAL.md, 14.

    import halftone_gemm as hg
    c = hg.mm(a, b, accuracy="fp64-exact")

Matrices are read and written where they lie: what no leading dimension can say is an error, never a copy."""
import ctypes
import functools
import itertools
import math
import os
import sys
import threading
import warnings

__all__ = ["mm", "maxima", "partial", "finish", "query", "last_check", "Error"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "halftone_gemm.libs")
NO_GPU, WRONG_GPU, NOT_SUPPORTED, DEVICE_ERROR = 2, 3, 10, 11  # of halftone.h's codes
FP32, FP64, FP16, BF16 = TYPES = 32, 64, 16, 17  # enum halftone_type; of 16 bits are operands, whose product is float32
TYPE_OF = {"<f2": FP16, "<f4": FP32, "<f8": FP64, "torch.bfloat16": BF16, "torch.float16": FP16, "torch.float32": FP32, "torch.float64": FP64}
BYTES, NAMES = dict(zip(TYPES, (4, 8, 2, 2))), dict(zip(TYPES, ("float32", "float64", "float16", "bfloat16")))
POINTER, SIZE, SCALAR, BUFFER = ctypes.c_void_p, ctypes.c_int64, {FP32: ctypes.c_float, FP64: ctypes.c_double}, ctypes.c_char * 0


class Error(RuntimeError):
    """What the library says, and its code (halftone.h)."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code

    def __reduce__(self):  # also between processes
        return type(self), (self.code, str(self))


class Plan(ctypes.Structure):  # struct halftone_plan
    _fields_ = [("size", ctypes.c_size_t), *((name, ctypes.c_char_p) for name in ("scheme", "kernel")),
                *((name, ctypes.c_int) for name in ("bm", "bn", "bk", "wm", "wn", "stages", "splits")),
                *((name, SIZE) for name in ("pack_ns", "kernel_ns", "predicted_ns", "workspace_bytes", "bound_units")),
                ("error_bound", ctypes.c_double), ("fixed_point", ctypes.c_int),
                *((name, ctypes.c_char_p) for name in ("bound", "range", "why")), ("why_scheme", ctypes.c_char * 256),
                ("unit_exponent", ctypes.c_int), ("moduli", ctypes.c_int), ("blocks", SIZE), ("native_ns", SIZE),
                ("site", ctypes.c_int)]


# ---- a device: a library and its handle, which one thread at a time may use

_lock, _devices = threading.RLock(), {}
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)  # no thread's product is under way
_PRODUCT = [POINTER, *[ctypes.c_char] * 2, *[SIZE] * 3]
_QUESTION = [*_PRODUCT, SIZE, POINTER]
_SHARED = {"maxima": [*_PRODUCT, *[POINTER, SIZE] * 2, *[POINTER] * 2], "partial": [*_PRODUCT, *[POINTER, SIZE] * 2, *[POINTER] * 3],
           "finish": [POINTER, *[SIZE] * 2, *[POINTER] * 6, SIZE]}


class _Device:
    def __init__(self, path, ordinal):
        """ordinal None: the simulator, for which all memory of the process is device memory."""
        self.library = library = ctypes.CDLL(path)
        self.ordinal, self.asked, self.stream, self.handle, self.cuda = ordinal, {}, 0, POINTER(), None
        library.halftone_strerror.restype = library.halftone_last_detail.restype = ctypes.c_char_p
        library.halftone_last_detail.argtypes, library.halftone_set_stream.argtypes = [POINTER], [POINTER] * 2
        self.batched, self.hosted, self.asks = (
            {of: getattr(library, name.replace("?", letter)) for of, letter in ((FP32, first), (FP64, "d"))}
            for name, first in (("halftone_?gemm_strided_batched", "s"), ("halftone_?gemm_host", "s"), ("halftone_?query", "")))
        for ask in self.asks.values():
            ask.argtypes = _QUESTION
        self.batched[FP16] = self.batched[BF16] = library.halftone_gemm_ex
        self.shared = {name: getattr(library, "halftone_sgemm_" + name) for name in _SHARED}
        for name, types in _SHARED.items():
            self.shared[name].argtypes = types
        self.is_hip = ordinal is not None and hasattr(library, "hipSetDevice")
        if ordinal is not None and not self.is_hip:
            self.open_context()
        with self:
            self.check(library.halftone_create(ctypes.byref(self.handle)))

    def open_context(self):
        """Without a driver, or one that finds no GPU, the library says it."""
        try:
            cuda = _driver()
        except OSError:
            return
        if cuda.cuInit(0) == 0:
            self.cuda, self.context, self.popped = cuda, POINTER(), ctypes.byref(POINTER())
            code = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), self.ordinal)
            if code != 0:
                raise Error(DEVICE_ERROR, f"GPU {self.ordinal} cannot be used: CUDA's code {code}")

    def __enter__(self):
        """The library uses the device that is current."""
        if self.cuda:
            self.cuda.cuCtxPushCurrent_v2(self.context)
        elif self.is_hip:
            self.before = ctypes.c_int()
            self.library.hipGetDevice(ctypes.byref(self.before))
            self.library.hipSetDevice(self.ordinal)
        return self

    def __exit__(self, *_):
        if self.cuda:
            self.cuda.cuCtxPopCurrent_v2(self.popped)
        elif self.is_hip:
            self.library.hipSetDevice(self.before)

    def check(self, code):
        if code != 0:
            text, detail = self.library.halftone_strerror(code).decode(), self.library.halftone_last_detail(self.handle).decode()
            cure = "; `make wheel GPU=native` on this machine builds a wheel that has them" if code == WRONG_GPU else ""
            raise Error(code, (f"{text.partition('; see ')[0]}: {detail}" if detail else text) + cure)

    def ask(self, of, asked, stream=0):
        """asked: `scheme NAME` or `accuracy TEXT`; the handle keeps one for each type, and one stream."""
        if self.stream != stream:
            self.check(self.library.halftone_set_stream(self.handle, stream))
            self.stream = stream
        if self.asked.get(of) != asked:
            verb, _, text = asked.partition(" ")
            self.check(getattr(self.library, "halftone_set_" + verb)(self.handle, f"fp{of}:{text}".encode()))
            self.asked[of] = asked


def _open(ordinal):
    named, ours = os.environ.get("HALFTONE_LIBRARY"), os.path.join(FOLDER, "lib", "libhalftone.so")
    if ordinal is not None:
        if not named and not os.path.exists(ours):
            raise Error(NO_GPU, "this wheel has only the simulator; `make wheel GPU=native` builds one for the GPU of a machine")
        try:
            return _Device(named or ours, ordinal)
        except OSError as failed:  # AMD's runtime is not here
            raise Error(NO_GPU, str(failed)) from None
    try:
        return _device(0)
    except Error as failed:
        if named or failed.code != NO_GPU:
            raise
        warnings.warn(f"{failed}. Now halftone's simulator computes on the CPU: the same bits, but n = 512 takes seconds", RuntimeWarning, 6)
        return _Device(os.path.join(FOLDER, "lib", "libhalftone-sim.so"), None)


def _device(ordinal):
    """A GPU by its number; None, for arrays of the host: the first, or the simulator where there is none."""
    with _lock:
        if ordinal not in _devices:
            _devices[ordinal] = _open(ordinal)
        return _devices[ordinal]


# ---- arrays

class _Array:
    """Where an array lies. form: shape, strides, type, as its library says them; ordinal None: in the host's memory."""
    __slots__ = "at", "form", "ordinal", "stream", "is_fixed"

    def __init__(self, x, name):
        torch, self.ordinal, self.stream, self.is_fixed = _torch, None, None, False
        if torch and isinstance(x, torch.Tensor):
            if x.is_cuda:
                self.ordinal, self.stream = x.get_device(), torch
            elif not x.is_cpu:
                raise TypeError(f"{name} lies on {x.device}: tensors of the CPU and of GPUs are taken")
            if x.layout != torch.strided:
                raise TypeError(f"{name} has layout {x.layout}: strided tensors are taken, x.to_dense()")
            if x.is_neg():
                raise ValueError(f"{name} is a view whose sign PyTorch has yet to change: x.resolve_neg()")
            self.at, self.form = x.data_ptr(), (x.shape, x.stride(), x.dtype)
            return
        if type(x) is getattr(sys.modules.get("numpy"), "ndarray", None) and x.flags.carray and (kind := x.dtype.str) in TYPE_OF:
            # a third of the time that the interface takes, which lists an element's fields
            self.at, self.form = ctypes.addressof(BUFFER.from_buffer(x)), (x.shape, x.strides, kind)
            return
        is_jax = hasattr(x, "block_until_ready")
        if is_jax:  # which has no stream to follow
            x.block_until_ready()
        face = getattr(x, "__cuda_array_interface__", None)
        if face:
            self.stream, self.ordinal = face.get("stream"), _ordinal_of(face["data"][0], name)
        elif is_jax and str(x.dtype) not in ("float32", "float64"):  # of which NumPy may know nothing
            face = {"data": (0, True), "shape": x.shape, "typestr": x.dtype}
        elif is_jax:
            face = sys.modules["numpy"].from_dlpack(x).__array_interface__
        else:
            face = getattr(x, "__array_interface__", None)
        if not face or face.get("mask") is not None or hasattr(x, "mask"):
            raise TypeError(f"{name} is a {type(x).__module__}.{type(x).__name__}; arrays of NumPy, PyTorch, CuPy and JAX are taken, "
                            "unmasked and outside of jit")
        (at, is_fixed), strides = face["data"], face.get("strides")
        self.at, self.is_fixed = int(at), is_fixed or is_jax
        self.form = tuple(face["shape"]), None if strides is None else tuple(strides), face["typestr"]


@functools.lru_cache(None)
def _driver():
    return ctypes.CDLL("libcuda.so.1")


def _ordinal_of(at, name):
    """CUDA's number of the GPU that has this memory."""
    ordinal = ctypes.c_int()
    try:
        code = _driver().cuPointerGetAttribute(ctypes.byref(ordinal), 9, POINTER(at)) if at else 0
    except OSError as failed:
        raise Error(NO_GPU, f"{name} lies on a GPU, but {failed}") from None
    if code != 0:
        raise ValueError(f"{name} is in no memory that this process has on a GPU (CUDA's code {code})")
    return ordinal.value


def _empty_like(x, shape, kind=None):
    """An array of the same library; one of JAX's, that nobody has seen yet, may still be written."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch" and kind:
        _register_with_torch()
        return x.new_empty(shape, dtype=getattr(sys.modules["torch"], kind))
    if library == "cupy":
        with x.device:
            return sys.modules["cupy"].empty(shape, kind or x.dtype)
    if library in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy.zeros(shape, kind or x.dtype, device=x.device)
    numpy = sys.modules.get("numpy")
    if not isinstance(x, getattr(numpy, "ndarray", ())):
        raise TypeError(f"no result can be made like a {type(x).__module__}.{type(x).__name__}: pass one as out=")
    return numpy.empty(shape, kind or x.dtype)


# ---- from forms to the arguments of a call

@functools.lru_cache(4096)
def _shape_of(a, b):
    """Of the product; dimensions before the last two are broadcast."""
    lead = []
    for x, y in itertools.zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1):
        lead.insert(0, y if x == 1 else x)
        if x != y and x != 1 and y != 1:
            raise ValueError(f"batches of shapes {tuple(a)} and {tuple(b)} do not go together")
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise ValueError(f"shapes {tuple(a)} and {tuple(b)}: taken are (..., m, k) and (..., k, n); a vector as x[:, None] or x[None]")
    return (*lead, a[-2], b[-1])


def _steps(form, name):
    """Type; strides in elements, 0 along a dimension of one."""
    shape, strides, kind = form
    of = TYPE_OF.get(str(kind))
    if not of:
        raise TypeError(f"{name} is of type {kind}; taken are float32, float64, float16, and bfloat16 of PyTorch, in this machine's byte order: convert it")
    unit = BYTES[of] if isinstance(kind, str) else 1  # PyTorch counts elements, others bytes
    strides = strides or [unit * math.prod(shape[i + 1:]) for i in range(len(shape))]
    if any(n > 1 and (s < 0 or s % unit) for n, s in zip(shape, strides)):
        raise ValueError(f"{name} has strides {tuple(strides)}, negative or no multiples of an element: copy it first")
    return of, tuple(s // unit if n > 1 else 0 for n, s in zip(shape, strides))


def _turned(shape, steps, is_turned, name):
    """op and leading dimension of a matrix, or of its transpose, for a library that counts by columns."""
    (rows, cols), (row, col) = shape[-2:], steps[-2:]
    if is_turned:
        rows, cols, row, col = cols, rows, col, row
    for op, near, far, n, count in (b"N", row, col, rows, cols), (b"T", col, row, cols, rows):
        if n * count == 0 or (near == 1 or n == 1) and (far >= n or count == 1):
            return op, max(far, n, 1)
    raise ValueError(f"{name} has strides {steps[-2:]}, in elements: neither its rows nor its columns are contiguous and apart; copy it "
                     "first (numpy.ascontiguousarray, x.contiguous())")


def _extent(shape, steps, is_out):
    """Elements from the first to the last."""
    reach = 1
    for step, count in sorted((s, n) for s, n in zip(steps, shape) if n > 1):
        if is_out and step < reach:
            raise ValueError(f"out has strides {steps}, in elements: some of its elements may be one")
        reach += step * (count - 1)
    return reach


def _result_of(of):
    """The type of a product."""
    return FP64 if of == FP64 else FP32


def _steps_beside(of, form, name):
    """Strides of b or out, of the type that goes with an a of type `of`."""
    other, steps = _steps(form, name)
    if other != (wanted := of if name == "b" else _result_of(of)):
        raise TypeError(f"a is {NAMES[of]}, {name} {NAMES[other]}: it must be {NAMES[wanted]}")
    return steps


@functools.lru_cache(4096)
def _arguments(of_a, of_b, of_out, one_by_one):
    """Of a product of these forms: type; whether it is B^T A^T; ops and sizes; leading dimensions; the batch of one call and its
    steps; for each call where in the three it begins; extents of the three. Offsets and extents in bytes."""
    forms, names = (of_a, of_b, of_out), ("a", "b", "out")
    of, *steps = _steps(of_a, "a")
    steps += [_steps_beside(of, form, name) for form, name in zip(forms[1:], names[1:])]
    shape = _shape_of(of_a[0], of_b[0])
    if shape != of_out[0]:
        raise ValueError(f"out has shape {tuple(of_out[0])}, the product {shape}")
    if 0 in shape:
        return None
    units = [BYTES[of], BYTES[of], BYTES[_result_of(of)]]
    extents = [unit * _extent(form[0], step, name == "out") for unit, form, step, name in zip(units, forms, steps, names)]
    # C by rows is its transpose by columns, and that is B^T A^T
    is_turned = _turned(shape, steps[2], True, "out")[0] == b"N"
    order = (1, 0, 2) if is_turned else (0, 1, 2)
    (op_x, ld_x), (op_y, ld_y), (_, ld) = (_turned(forms[i][0], steps[i], is_turned, names[i]) for i in order)
    m, n = reversed(shape[-2:]) if is_turned else shape[-2:]
    dims = []  # of the batch, outer ones first: count and steps; those that one step can do are one
    for count, *each in zip(shape[:-2], *((0,) * (len(shape) - len(forms[i][0])) + steps[i][:-2] for i in order)):
        if dims and all(outer == inner * count for outer, inner in zip(dims[-1][1:], each)):
            dims[-1] = [dims[-1][0] * count, *each]
        elif count != 1:
            dims.append([count, *each])
    batch = dims.pop() if dims and not one_by_one else (1, 0, 0, 0)
    begins = [[units[j] * sum(i * d[1 + j] for i, d in zip(index, dims)) for j in range(3)]
              for index in itertools.product(*(range(d[0]) for d in dims))]
    # C's types, which ctypes takes as they are
    ops, (sizes, leads, batch) = map(ctypes.c_char, (op_x, op_y)), (tuple(map(SIZE, each)) for each in ((m, n, of_a[0][-1]), (ld_x, ld_y, ld), batch))
    return of, is_turned, (*ops, *sizes), leads, batch, begins, extents


# ---- products

def _device_and_stream(*arrays, names=("b", "out")):
    """Of arrays that are all on one device."""
    a = arrays[0]
    for x, name in zip(arrays[1:], names):
        if x.ordinal != a.ordinal:
            where = ["in the host's memory" if y.ordinal is None else f"on GPU {y.ordinal}" for y in (a, x)]
            raise ValueError(f"a is {where[0]}, {name} {where[1]}: move one")
    streams = {_stream_of_torch(a.ordinal) if x.stream is _torch else x.stream for x in arrays if x.stream is not None}
    stream = streams.pop() if streams else 0
    if streams or stream == 2:  # the handle's memory goes by streams' names, and 2 is another one in each thread
        raise ValueError(f"the arrays' streams are {sorted([stream, *streams])}: one is taken, and not the per-thread default (2)")
    return _devices.get(a.ordinal) or _device(a.ordinal), 0 if stream == 1 else stream


@functools.lru_cache(4096)
def _call_of(device, is_hosted, *forms):
    """A product of these forms made ready: type; whether it is B^T A^T; the function and its arguments; of these alpha, beta and the
    three addresses, which are set under the lock; for each call where in the three it begins; extents of the three."""
    arguments = _arguments.__wrapped__(*forms, is_hosted)
    if arguments is None:
        return None
    of, is_turned, sizes, leads, (count, *steps), begins, extents = arguments
    result = _result_of(of)
    if is_hosted and BYTES[of] == 2:
        raise TypeError(f"{NAMES[of]} is taken on GPUs, and where the simulator computes: move a and b to a GPU")
    x, y, z = ([POINTER(), lead] if is_hosted else [POINTER(), lead, step] for lead, step in zip(leads, steps))
    alpha, beta = SCALAR[result](), SCALAR[result]()
    behind = [*([] if is_hosted else [count]), *([] if of == result else [ctypes.c_int(of)])]
    words = (device.handle, *sizes, ctypes.byref(alpha), *x, *y, ctypes.byref(beta), *z, *behind)
    return of, is_turned, (device.hosted if is_hosted else device.batched)[of], words, (alpha, beta, x[0], y[0], z[0]), begins, extents


def _multiply(a, b, c, alpha, beta, asked):
    _launch(*_device_and_stream(a, b, c), a.ordinal is None, (a.form, b.form, c.form), a.at, b.at, c.at, alpha, beta, asked)


def _launch(device, stream, is_of_host, forms, a, b, c, alpha, beta, asked):
    ready = _call_of(device, is_of_host and device.ordinal is not None, *forms)
    if ready is None:
        return
    of, is_turned, call, words, (at_alpha, at_beta, at_x, at_y, at_z), begins, extents = ready
    result = _result_of(of)
    for at, extent, name in (a, extents[0], "a"), (b, extents[1], "b"):
        if at < c + extents[2] and c < at + extent:
            raise ValueError(f"out lies where {name} does, or between its parts: take another")
    if (a | b) % BYTES[of] or c % BYTES[result]:
        raise ValueError("an array is not aligned to its elements: copy it first")
    if is_turned:
        a, b = b, a
    with _lock, device:
        for x, y, z in begins:  # a signal's handler may multiply in between
            device.ask(result, asked, stream)
            at_alpha.value, at_beta.value, at_x.value, at_y.value, at_z.value = alpha, beta, a + x, b + y, c + z
            code = call(*words)
            if code:
                device.check(code)


def _asked(accuracy, scheme):
    if accuracy and scheme:
        raise ValueError("an accuracy or a scheme, not both")
    return f"accuracy {accuracy}" if accuracy else f"scheme {scheme or 'auto'}"


def mm(a, b, *, out=None, alpha=1.0, beta=0.0, accuracy=None, scheme=None):
    """alpha A B + beta out, of matrices or batches of them, in `out` or in a new array of a's library; float32 of float16 and bfloat16.

    accuracy: what halftone_set_accuracy takes; scheme: a scheme's name. Neither: `auto`."""
    asked = _asked(accuracy, scheme)
    if out is None and beta != 0:
        raise ValueError("beta is for what is in out, which is not given")
    torch = _torch or _register_with_torch()
    if torch and (isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor)):
        return _mm_of_tensors(torch, a, b, out, float(alpha), float(beta), asked)
    alpha, beta = (ctypes.c_double(scalar).value for scalar in (alpha, 0 if out is None else beta))
    x, y, is_new = _Array(a, "a"), _Array(b, "b"), out is None
    if is_new:
        out = _empty_like(a, _shape_of(x.form[0], y.form[0]), "float32" if BYTES.get(TYPE_OF.get(str(x.form[2]))) == 2 else None)
    c = _Array(out, "out")
    if c.is_fixed and not is_new:
        raise ValueError("out is read-only")
    _multiply(x, y, c, alpha, beta, asked)
    if is_new and c.is_fixed and x.ordinal is not None:  # JAX reads it on a stream of its own
        with _lock, _device(x.ordinal) as device:
            device.cuda.cuCtxSynchronize()
    return out


# ---- products over ranks, which share k: C by rows is its transpose by columns, and rows' maxima are those of columns

def _flat(x, count, kind, name):
    """A vector, or what `partial` gave."""
    array = _Array(x, name)
    shape, strides, of = array.form
    unit = 1 if str(of).startswith("torch.") else {"float32": 4, "int64": 8}[kind]
    if shape != (count,) or str(of) not in ("torch." + kind, "<f4" if kind == "float32" else "<i8") or (strides or (unit,)) != (unit,) and count > 1:
        raise ValueError(f"{name} is {of} of shape {tuple(shape)}: {kind} of shape ({count},) without gaps is taken")
    return array


def _share(step, asked, arrays, *arguments):
    if _torch and _torch.jit.is_tracing():
        raise ValueError("ranks share numbers behind PyTorch's back, so that a trace would miss them: leave them out of it")
    device, stream = _device_and_stream(*arrays, names=["another array"] * len(arrays))
    if arrays[0].ordinal is None and device.ordinal is not None:
        raise ValueError("ranks share k on GPUs or in the simulator: move the arrays to a GPU")
    with _lock, device:
        device.ask(32, asked, stream)
        device.check(device.shared[step](device.handle, *arguments))


def _sizes(a, b):
    """Of what ranks compute: rows and columns."""
    torch = _torch or _register_with_torch()
    shapes = [_Array(x, name).form[0] for x, name in ((a, "a"), (b, "b"))]
    if len(shapes[0]) != 2 or len(shapes[1]) != 2 or hasattr(a, "block_until_ready"):
        raise ValueError("ranks share the k of two matrices of NumPy, PyTorch or CuPy")
    if torch and torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in (a, b)):
        raise ValueError("what ranks share has no gradient: use torch.no_grad(), or x.detach()")
    return _shape_of(*shapes)


def _share_product(step, asked, a, b, rows, columns, *behind):
    x, y, shape = _Array(a, "a"), _Array(b, "b"), _sizes(a, b)
    if _steps(x.form, "a")[0] != FP32:
        raise TypeError("ranks share k in float32")
    found = _arguments(x.form, y.form, (shape, None, x.form[2]), True)
    most = [_flat(rows, shape[0], "float32", "rows"), _flat(columns, shape[1], "float32", "columns"), *behind]
    if found:
        (ld_x, ld_y, _), sizes = found[3], found[2]
        _share(step, asked, [x, y, *most], *sizes, y.at, ld_x, x.at, ld_y, most[1].at, most[0].at, *(z.at for z in behind))


def maxima(a, b, *, accuracy="invariant"):
    """Largest magnitudes of a's rows and of b's columns, of an empty product zeros. All-reduce both with MAX."""
    m, n = _sizes(a, b)
    rows, columns = _empty_like(a, (m,), "float32"), _empty_like(b, (n,), "float32")
    if m * n == 0:
        rows[:], columns[:] = 0, 0
    _share_product("maxima", _asked(accuracy, None), a, b, rows, columns)
    return rows, columns


def partial(a, b, rows, columns, *, accuracy="invariant"):
    """int64 sums of this rank's k under the maxima of all. All-reduce with SUM."""
    m, n = _sizes(a, b)
    sums = _empty_like(a, (m * n + m + n + 1,), "int64")
    _share_product("partial", _asked(accuracy, None), a, b, rows, columns, _Array(sums, "sums"))
    return sums


def finish(sums, rows, columns, *, alpha=1.0, accuracy="invariant"):
    """alpha A B from the sums of all ranks: bit for bit mm(A, B, accuracy="invariant") of all k."""
    _torch or _register_with_torch()
    m, n = (math.prod(_Array(x, name).form[0]) for x, name in ((rows, "rows"), (columns, "columns")))
    x = [_flat(sums, m * n + m + n + 1, "int64", "sums"), _flat(columns, n, "float32", "columns"), _flat(rows, m, "float32", "rows")]
    out = _empty_like(rows, (m, n), "float32")
    scalars = [ctypes.byref(ctypes.c_float(v)) for v in (alpha, 0.0)]
    _share("finish", _asked(accuracy, None), [*x, _Array(out, "out")], n, m, scalars[0], *(y.at for y in x), scalars[1], _Array(out, "out").at, max(n, 1))
    return out


def query(a, b, *, accuracy=None, scheme=None):
    """struct halftone_plan of that product as a dict: what would run, its bound, its predicted time, and why."""
    a, b = _Array(a, "a"), _Array(b, "b")
    device, _ = _device_and_stream(a, b)
    shape = _shape_of(a.form[0], b.form[0])
    of, of_a = _steps(a.form, "a")
    of_b, plan = _steps_beside(of, b.form, "b"), Plan(size=ctypes.sizeof(Plan))
    with _lock, device:
        device.ask(_result_of(of), _asked(accuracy, scheme))
        device.check(device.asks[_result_of(of)](device.handle, _turned(b.form[0], of_b, True, "b")[0], _turned(a.form[0], of_a, True, "a")[0],
                                       shape[-1], shape[-2], a.form[0][-1], math.prod(shape[:-2]), ctypes.byref(plan)))
        values = ((name, getattr(plan, name)) for name, _ in Plan._fields_[1:])
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in values}


def last_check(gpu=None):
    """(single results, results of whole blocks) that were computed again since the last time; the first call begins to count.

    gpu: its number; None: where arrays of the host are multiplied. Let the streams meet first."""
    device, result = _device(gpu), (SIZE * 2)()
    with _lock, device:
        code = device.library.halftone_last_check(device.handle, result)
        device.check(device.library.halftone_last_check(device.handle, None) if code == NOT_SUPPORTED else code)
    return tuple(result)


# ---- PyTorch: operators that torch.compile, autograd and graphs know

_torch = None


def _register_with_torch():
    """At the first product after `import torch`, which torch.compile must not be tracing; None without it."""
    global _torch, _operators, _stream_of_torch, _watchers, _plain_types
    torch = sys.modules.get("torch")
    if not hasattr(getattr(torch, "library", None), "register_autograd"):  # not there, still being imported, or older than 2.4
        return None
    with _lock:
        if _torch:
            return torch
        _operators = torch.library.Library("halftone", "DEF")  # which forgets them when it goes
        _operators.define("mm(Tensor a, Tensor b, float alpha, str asked) -> Tensor")
        _operators.define("mm_out(Tensor a, Tensor b, Tensor(c!) out, float alpha, float beta, str asked) -> ()")
        for key in "CPU", "CUDA":
            _operators.impl("mm", _tensor_mm, key)
            _operators.impl("mm_out", _multiply_tensors, key)
        torch.library.register_fake("halftone::mm", _fake_mm)
        torch.library.register_fake("halftone::mm_out", _fake_mm_out)
        torch.library.register_autograd("halftone::mm", _backward, setup_context=_keep)
        _torch, _stream_of_torch = torch, getattr(torch._C, "_cuda_getCurrentRawStream", lambda gpu: torch.cuda.current_stream(gpu).cuda_stream)
        _plain_types = torch.Tensor, torch.nn.Parameter
        _watchers = [getattr(at, name, lambda: 1) for at, name in ((torch._C, "_len_torch_dispatch_stack"), (torch._C._functorch, "peek_interpreter_stack"),
                                                                       (torch._C, "_get_tracing_state"), (torch._C._autograd, "_profiler_enabled"))]
    return torch


def _mm_of_tensors(torch, a, b, out, alpha, beta, asked):
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (out is None or isinstance(out, torch.Tensor))):
        raise TypeError("a, b and out: some are tensors of PyTorch, some are not; torch.from_numpy and torch.as_tensor make them so")
    forward = torch.autograd.forward_ad
    if forward._current_level >= 0 and any(forward.unpack_dual(x).tangent is not None for x in (a, b)):
        raise ValueError("forward mode is not supported, torch would make its tangents 0: use reverse mode")
    records = torch.is_grad_enabled()
    has_gradient = records and (a.requires_grad or b.requires_grad)
    is_compiling = torch.compiler.is_compiling()
    is_plain = not is_compiling and _is_plain(a, b, a if out is None else out)
    if out is None:
        return _tensor_mm(a, b, alpha, asked) if is_plain and not has_gradient else torch.ops.halftone.mm(a, b, alpha, asked)
    if has_gradient or records and out.requires_grad:
        raise ValueError("out= has no gradient: leave it out, or use torch.no_grad()")
    (_multiply_tensors if is_plain else torch.ops.halftone.mm_out)(a, b, out, alpha, beta, asked)
    if not is_compiling:
        torch.autograd.graph.increment_version(out)
    return out


def _multiply_tensors(a, b, c, alpha, beta, asked):
    """Without _Array, which is slower, unless the device is new or something is wrong."""
    gpu = a.get_device()
    device, stream = (_devices.get(gpu), _stream_of_torch(gpu)) if gpu >= 0 else (_devices.get(None), 0)
    if not device or stream in (1, 2) or gpu != b.get_device() or gpu != c.get_device() or not a.layout is b.layout is c.layout is _torch.strided:
        return _multiply(_Array(a, "a"), _Array(b, "b"), _Array(c, "out"), alpha, beta, asked)
    forms = (a.shape, a.stride(), a.dtype), (b.shape, b.stride(), b.dtype), (c.shape, c.stride(), c.dtype)
    _launch(device, stream, gpu < 0, forms, a.data_ptr(), b.data_ptr(), c.data_ptr(), alpha, beta, asked)


def _is_plain(*tensors):
    """Whether nobody watches operators, which make a small call slower."""
    for x in tensors:
        if type(x) not in _plain_types or x.is_neg() or not (x.is_cuda or x.is_cpu):
            return False
    for watches in _watchers:
        if watches():
            return False
    return True


def _fake_mm(a, b, alpha, asked, shape_of=_shape_of.__wrapped__):  # symbols are not to be kept
    if a.dtype != b.dtype or a.device != b.device:
        raise ValueError(f"a is {a.dtype} on {a.device}, b {b.dtype} on {b.device}: convert or move one")
    result = _torch.float32 if a.element_size() == 2 else a.dtype
    return a.new_empty(shape_of(a.shape, b.shape), dtype=result)


def _fake_mm_out(a, b, out, *_):
    if not a.device == b.device == out.device:
        raise ValueError(f"a is on {a.device}, b on {b.device}, out on {out.device}: move some")


def _tensor_mm(a, b, alpha, asked):
    out = _fake_mm(a, b, alpha, asked, _shape_of)
    _multiply_tensors(a, b, out, alpha, 0.0, asked)
    return out


def _keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])
    ctx.rest = inputs[2:]


def _backward(ctx, grad):
    """Gradients have strides that no caller chose (sum() has zeros): those are copied."""
    (a, b), mm = ctx.saved_tensors, _torch.ops.halftone.mm
    grad, of_a, of_b, types = grad.contiguous(), None, None, (a.dtype, b.dtype)
    a, b = a.to(grad.dtype), b.to(grad.dtype)  # of 16 bits: the gradient has 32
    if ctx.needs_input_grad[0]:
        of_a = mm(grad, b.mT, *ctx.rest).sum_to_size(a.shape)
    if ctx.needs_input_grad[1] and b.dim() == 2:  # one product, as of a layer's weights
        of_b = mm(a.reshape(-1, a.shape[-1]).mT, grad.reshape(-1, grad.shape[-1]), *ctx.rest)
    elif ctx.needs_input_grad[1]:
        of_b = mm(a.mT, grad, *ctx.rest).sum_to_size(b.shape)
    return *(x if x is None else x.to(of) for x, of in zip((of_a, of_b), types)), None, None


# ---- the commands

def main():
    """`halftone` and `halftone-sim` of PATH."""
    name = "halftone-sim" if sys.argv[0].endswith("halftone-sim") else "halftone"
    if not os.path.exists(os.path.join(FOLDER, "bin", name)):
        name = "halftone-sim"
        print("halftone: this wheel has only the simulator: halftone-sim runs", file=sys.stderr)
    os.execv(os.path.join(FOLDER, "bin", name), [name, *sys.argv[1:]])


def _with_python(words):
    """`run [OPTIONS] SCRIPT.py ...` with this Python before the script."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 1 if "=" in words[at] or words[at] == "--blas" else 2
    at += words[at:at + 1] == ["--"]
    return words[:at] + [sys.executable] + words[at:] if words[:1] == ["run"] and words[at:] and words[at].endswith(".py") else words


if __name__ == "__main__":
    sys.argv[1:] = _with_python(sys.argv[1:])
    main()
_register_with_torch()
