"""What the studies of the cuBLAS face share: dropin_{torch,arrays,ranks}.py NAMES RESULTS [WORD], with or without the face before them. A piece prints
lines `piece<TAB>what<TAB>value<TAB>unit` and adds them to RESULTS/native.tsv or RESULTS/face.tsv; dropin_compare.py sets these beside each other."""
import ctypes
import pathlib
import re
import sys

FACE = ctypes.CDLL(None)
SIDE = "face" if hasattr(FACE, "halftone_dropin_version") else "native"
RESULTS = pathlib.Path(sys.argv[2])


def say(piece, what, value, unit=""):
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    line = f"{piece}\t{what}\t{text}\t{unit}"
    print(SIDE, line, flush=True)
    with (RESULTS / f"{SIDE}.tsv").open("a") as file:
        file.write(line + "\n")


def counters():
    """(served, by the original) since the last time this was asked."""
    served, original = ctypes.c_uint64(), ctypes.c_uint64()
    if SIDE == "face":
        FACE.halftone_dropin_counters(ctypes.byref(served), ctypes.byref(original))
        FACE.halftone_dropin_reset()
    return served.value, original.value


def say_counters(piece, what, least_served=1):
    served, original = counters()
    if SIDE == "face":
        say(piece, f"{what}: served", served)
        say(piece, f"{what}: original", original)
        if served < least_served:
            say(piece, f"{what}: FAILED, fewer than {least_served} were served", served)


def is_product(name):
    return bool(re.search(r"gemm|\bht_[a-z]|splitk|cublas|cutlass|xmma|gemv", name, re.I)) and not re.search("fmha|attention", name)


def run_pieces(pieces):
    """Those that are named; where one fails, the others still run."""
    for name in sys.argv[1].split(","):
        try:
            pieces[name]()
        except Exception as error:
            say(name, "FAILED", f"{type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}")
