"""cublasLtMatmul under the face, before a fake cuBLASLt: layouts, orders, epilogues, which descriptions are the original's."""
import re

import pytest
from conftest import rows
from dropin_programs import HERE, ROOT, SET, build_face, cc, face, lines, replaced # noqa: F401 (fixtures)

REASONS = dict(re.findall(r'X\((\w+),\s+"([^"]*)"\)', (ROOT / "runtime/dropin/common_lists.h").read_text()))
BIAS, RELU, RELU_BIAS, GELU, GELU_BIAS = 4, 2, 6, 32, 36
# Words of a call, and why it is the original's, or SERVED; "SERVED+": with a second pass over D by cuBLASLt.
FORMS = [
    *[(f"m=33 n=50 k=45 opa={a} opb={b} order={order} alpha=-1.5 beta={beta} pointers={pointers}", "SERVED")
      for a, b, beta, pointers in ((0, 0, 0, 0), (0, 1, 0.5, 0), (1, 0, 0, 1), (2, 2, 0.5, 1)) for order in (0, 1)],
    *[(f"m=33 n=50 opb=1 epilogue={e} order={order} workspace={w}", "SERVED+") for e in (BIAS, RELU, RELU_BIAS, GELU, GELU_BIAS) for order in (0, 1) for w in (0, 65536)],
    *[(f"epilogue={e} pad={pad}", "SERVED+") for e in (BIAS, RELU) for pad in (2, -2, 2)],
    ("batch=3 opa=1", "SERVED"), ("batch=3 beta=0.5", "SERVED"), ("batch=2 order=1", "SERVED"),
    ("m=33 c=1 beta=0.5", "SERVED"), ("m=33 c=1 beta=0.5 order=1", "SERVED"), ("m=33 c=1 beta=0", "SERVED"), ("c=1 beta=0.5 pointers=1", "SERVED"),
    ("m=33 c=1 beta=0.5 epilogue=6", "SERVED+"), ("m=33 c=1 beta=0.5 epilogue=36 order=1 workspace=4096", "SERVED+"), ("epilogue=4 c=1", "SERVED+"),
    ("compute=78", "SERVED"), ("desc=26 value=0 epilogue=4", "SERVED+"), ("desc=25 value=1", "SERVED"),
    # FP64
    *[(f"fp64=1 compute=79 m=33 n=50 k=45 opa={a} opb={b} order={order} alpha=-1.5 beta={beta} pointers={pointers}", "SERVED")
      for a, b, beta, pointers in ((0, 1, 0.5, 0), (1, 0, 0, 0), (2, 2, 0.5, 1)) for order in (0, 1)],
    ("fp64=1 compute=79 batch=3 beta=0.5", "SERVED"), ("fp64=1 compute=79 m=33 c=1 beta=0.5", "SERVED"), ("fp64=1 compute=79 m=33 c=1 beta=1e-300 order=1", "SERVED"),
    ("fp64=1 compute=79 m=33 workspace=65536", "SERVED"), ("fp64=1", "FP64"), ("fp64=1 compute=71", "PEDANTIC"), ("fp64=1 compute=68", "UNKNOWN_FORM"), ("compute=79", "UNKNOWN_FORM"),
    ("fp64=1 compute=79 scale=1", "LAYOUT"), ("fp64=1 compute=79 epilogue=4", "EPILOGUE"), ("fp64=1 compute=79 epilogue=2", "EPILOGUE"), ("fp64=1 compute=79 ta=14", "TYPES"),
    ("fp64=1 compute=79 c=1 beta=1 batch=2", "LAYOUT"), ("fp64=1 compute=79 desc=38 value=4096", "LAYOUT"),
    ("compute=77", "TF32"), ("compute=69", "PEDANTIC"), ("compute=74", "HALF"), ("compute=0", "UNKNOWN_FORM"), ("compute=64", "UNKNOWN_FORM"),
    ("ta=2", "TYPES"), ("td=14", "TYPES"), ("scale=1", "LAYOUT"), ("desc=2 value=3", "LAYOUT"), ("desc=5 value=1", "LAYOUT"), ("desc=6 value=0", "LAYOUT"),
    ("epilogue=130 ", "EPILOGUE"), ("epilogue=8", "EPILOGUE"), ("epilogue=38", "EPILOGUE"), ("epilogue=256", "EPILOGUE"), ("epilogue=4 desc=26 value=2", "EPILOGUE"),
    ("epilogue=4 nobias=1 m=0", "EPILOGUE"), ("epilogue=4 beta=0.5", "EPILOGUE"), ("epilogue=4 pointers=1", "EPILOGUE"), ("epilogue=4 batch=2", "EPILOGUE"), ("desc=11 value=4096", "EPILOGUE"),
    ("desc=15 value=16", "SM_TARGET"), ("desc=17 value=4096", "LAYOUT"), ("desc=20 value=4096", "LAYOUT"), ("desc=21 value=4096", "LAYOUT"),
    ("desc=32 value=1", "LAYOUT"), ("desc=36 value=4096", "LAYOUT"), ("desc=38 value=4096", "LAYOUT"), ("layout=7 value=64", "LAYOUT"), ("layout=8 value=1", "LAYOUT"),
    ("m=33 n=33 orderc=1", "LAYOUT"), ("c=1 beta=1 batch=2", "LAYOUT"), ("layout=2 value=39", "ARGUMENTS"), ("layout=5 value=2", "ARGUMENTS"), ("pad=5", "ARGUMENTS"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lt")
    script = folder / "versions"
    script.write_text("libcublasLt.so.13 { global: cublasLt*; fake_*; local: *; };\n")
    cc("-shared", "-Wl,-Bsymbolic", "-Wl,-soname,libcublasLt.so.13", f"-Wl,--version-script={script}", HERE / "fake_cublaslt.c", "-o", folder / "libcublasLt.so.13", "-lm")
    cc("-shared", "-Wl,-soname,libcuda.so.1", HERE / "fake_driver.c", "-o", folder / "libcuda.so.1")
    cc(HERE / "lt_main.c", "-o", folder / "lt_main", folder / "libcublasLt.so.13", folder / "libcuda.so.1", f"-Wl,-rpath,{folder}", "-lm", "-ldl")
    return folder / "lt_main"


def forms(face, program, log, **env):
    got = lines(program, *[words for words, _ in FORMS], face=face, HALFTONE="record", HALFTONE_LOG=str(log), **env)
    return got, rows(log)


def faults(native, got, rows):
    if len(got) != len(FORMS) or len(rows) != len(FORMS):
        return ["calls are missing"]
    found = []
    for (words, expected), alone, (status, error, served, original), row in zip(FORMS, native, got, rows):
        counts = {"SERVED": ("1", "0"), "SERVED+": ("1", "1")}.get(expected, ("0", "1"))
        if status != alone[0] or (served, original) != counts or (error != alone[1] and not (error != "spoilt" and float(error) <= 60)):
            found.append((words, expected, alone, (status, error, served, original)))
        if not row["why"].startswith("" if "SERVED" in expected else REASONS[expected]) or (row["served"] == "1") != ("SERVED" in expected):
            found.append((words, expected, row["why"]))
    return found


@pytest.fixture(scope="module")
def native(program):
    return lines(program, *[words for words, _ in FORMS])


def test_every_description_is_served_or_the_original_s_as_the_table_says(face, program, native, tmp_path):
    assert {alone[2] for alone in native} == {"0"} and max(float(alone[1]) for alone in native if alone[0] == "0") < 1.5
    assert faults(native, *forms(face, program, tmp_path / "log")) == []


def test_plain_fp64_is_served_where_that_is_asked_for(face, program, tmp_path):
    for env in ({"HALFTONE_FP64": "fp64"}, {"HALFTONE_FP64": "emulated"}, {"CUBLAS_EMULATE_DOUBLE_PRECISION": "1"}):
        got = lines(program, "fp64=1 m=33 beta=0.5", "fp64=1 compute=71", face=face, **env)
        assert [g[2:] for g in got] == [["1", "0"], ["0", "1"]] and float(got[0][1]) < 60


def test_where_the_second_pass_fails_the_original_does_all_of_it(face, program, native):
    words = [words for words, why in FORMS if why == "SERVED+"]
    got = lines(program, *words, face=face, FAKE_LT_REFUSES="1")
    assert all(g[0] == "0" and float(g[1]) < 1.5 and g[2:] == ["0", "2"] for g in got), got


def test_a_product_that_failed_with_d_half_computed_is_not_done_again_in_place(face, program, tmp_path):
    cc("-shared", HERE / "blas_failing.c", "-o", tmp_path / "failing.so", "-ldl")
    words = ["m=33 beta=0.5", "m=33 batch=2 beta=0.5 order=1", "m=33 pointers=1", "m=33", "m=33 c=1 beta=0.5", "m=33 c=1 beta=0.5 epilogue=6", "fp64=1 compute=79 m=33 beta=0.5"]
    for half, spoilt in (({"FAIL_HALF": "1"}, (0, 1, 2, 6)), ({}, ())):
        got = lines(program, *words, face=face, HALFTONE_LIBRARY=str(tmp_path / "failing.so"), HALFTONE_BEHIND=str(SET / "libhalftone-sim.so"), FAIL_PRODUCT="1", **half)
        for i, g in enumerate(got):
            assert (g[0], *g[2:]) == ("13", "0", "0") if i in spoilt else g[0] == "0" and float(g[1]) < 60 and g[2:] == ["0", "1"], (words[i], g)


def test_the_algorithm_of_the_second_pass_is_searched_once_for_what_is_alike(face, program):
    words = ["epilogue=4 pad=2", "epilogue=4 pad=2", "epilogue=2 pad=2", "epilogue=4 pad=-2", "epilogue=4 pad=2", "epilogue=6 pad=2"]
    got = lines(program, *words, "searches", face=face)
    assert all(g[2:] == ["1", "1"] for g in got[:-1]) and got[-1] == ["3"], got  # bias is an operand: as without an epilogue; and ReLU
    got = lines(program, *[f"m={m} epilogue=4" for m in range(20, 100)] * 2, "searches", face=face)
    assert all(g[2:] == ["1", "1"] for g in got[:-1]) and got[-1] == [str(80 + 16)], got  # 64 are kept
    got = lines(program, *words, face=face, FAKE_LT_FINDS_NONE="1")
    assert all(g[0] == "0" and float(g[1]) < 60 and g[2:] == ["1", "1"] for g in got)


def test_the_first_product_of_a_device_is_not_served_in_a_capture(face, program):
    got = lines(program, "m=33", "m=33 epilogue=4", face=face, FAKE_CAPTURING="1")
    assert [g[2:] for g in got] == [["0", "1"], ["0", "1"]]


def test_a_device_s_handles_are_of_its_first_context(face, program):
    got = lines(program, "m=33", "m=33 epilogue=4", "m=33", face=face, FAKE_CONTEXTS="1")
    assert [g[2:] for g in got] == [["1", "0"], ["0", "1"], ["0", "1"]]


def test_what_cublas_calls_within_itself_is_its_own(face, program, tmp_path):
    """cuBLAS calls cuBLASLt through the dynamic linker, and so through the face."""
    at, script = tmp_path, tmp_path / "versions"
    script.write_text("libcublas.so.13 { global: cublas*; fake_*; local: *; };\n")
    cc("-shared", "-DUSES_LT", "-Wl,-Bsymbolic", "-Wl,-soname,libcublas.so.13", f"-Wl,--version-script={script}", HERE / "fake_cublas.c", "-o", at / "libcublas.so.13",
       program.parent / "libcublasLt.so.13", f"-Wl,-rpath,{program.parent}")
    cc(HERE / "cublas_client.c", HERE / "cublas_main.c", "-o", at / "main", at / "libcublas.so.13", f"-Wl,-rpath,{at}:{program.parent}", "-lm", "-ldl", "-lpthread")
    log = tmp_path / "log"
    words = "api=GemmEx compute=69 algo=77"
    assert lines(at / "main", words, face=face, HALFTONE="record", HALFTONE_LOG=str(log))[0][:3] == [*lines(at / "main", words)[0][:2], "0"]
    rows = [row.split("\t") for row in log.read_text().splitlines()[1:]]
    assert [(row[2], row[-1]) for row in rows] == [("cublasGemmEx", REASONS["PEDANTIC"]), ("cublasLtMatmul", REASONS["NESTED"])]


@pytest.mark.mutation
@pytest.mark.parametrize("edit", [
    pytest.param(replaced("lt_read.c", "    exchange_operands(g);\n", "    (void)g;\n"), id="order"),
    pytest.param(replaced("lt_read.c", "{LT_SM_COUNT_TARGET, 4, 0, DROPIN_SM_TARGET},", ""), id="sm"),
    pytest.param(replaced("lt_matmul.c", "copy_c(p);", "true;"), id="copy"),
    pytest.param(replaced("cublas_product.c", "*(const double *)beta != 0.0", "*(const float *)beta != 0.0f"), id="fp64 beta"),
    pytest.param(replaced("cublas_face.h", "sizeof(float) : sizeof(double)", "sizeof(float) : sizeof(float)"), id="fp64 copy"),
    pytest.param(replaced("lt_read.c", "scale != p->gemm.a_type ||", ""), id="fp64 scale"),
    pytest.param(replaced("lt_read.c", "(scale != CU_R_32F && epilogue", "(false && epilogue"), id="fp64 epilogue"),
    pytest.param(replaced("lt_matmul.c", "    call.kind = p->kind;\n", ""), id="fp64 kind"),
    pytest.param(replaced("lt_matmul.c", "return has_epilogue ? DROPIN_EPILOGUE : DROPIN_SERVED;", "return DROPIN_SERVED;"), id="beta twice"),
    pytest.param(replaced("lt_epilogue.c", "const float factor = p->bias != NULL", "const float factor = p->bias == NULL"), id="bias"),
    pytest.param(replaced("lt_epilogue.c", "cublas_fill(vector, number, floats, s->stream)", "true"), id="ones"),
    pytest.param(replaced("lt_epilogue.c", "x->ld == y->ld &&", ""), id="algorithm"),
    pytest.param(replaced("lt_epilogue.c", "x->epilogue == y->epilogue", "true"), id="activation"),
    pytest.param(replaced("lt_matmul.c", "DROPIN_EXPORT int cublasLtMatmul", "int cublasLtMatmul"), id="name"),
])
def test_a_broken_face_is_noticed(edit, program, native, tmp_path):
    got, rows = lines(program, *[words for words, _ in FORMS], face=build_face(tmp_path / "face", edit)), []
    if got != native:
        got, rows = forms(tmp_path / "face/libhalftone_cublas.so", program, tmp_path / "log")
    assert faults(native, got, rows) != []
