"""gfx90a: what Debian's hipcc makes of every generated kernel, against the plan; nothing here needs a GPU.

Compiling all of it, of all schemes, takes a core three minutes: --sample (`make test`) compiles one source in SAMPLE, others after each
change, and those of WAITING. Without it (`make test-all`) everything is compiled but what out/test/compiled-amd.tsv knows as it was planned, checked by the
same compiler in the same way."""
import concurrent.futures
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import AMD, ROOT, gen, sampled

sys.path.insert(0, str(ROOT / "bench/lab"))
import gfx90a_instructions as measured  # noqa: E402

pytestmark = pytest.mark.part
TABLE = ROOT / "bench/results/gfx90a-instructions.tsv"
needs_hipcc = pytest.mark.skipif(not shutil.which("hipcc"), reason="no hipcc: apt-get install hipcc rocm-device-libs libamdhip64-dev")


def code(path):
    """What decides the machine code: not comments, nor the number of SMs, which only the launcher uses."""
    return re.sub(r"\bSMS = \d+", "SMS", "\n".join(l for l in path.read_text().splitlines() if not l.startswith("//")))


CHECKED = ROOT / "out/test/compiled-amd.tsv"
CHECKS = ("tests/kernels/test_amd.py", "bench/lab/gfx90a_instructions.py")
SAMPLE, REGISTERS_MORE = 32, 64
# The first of each: test_a_missing_wait_is_caught.
WAITING = [r"ht_f16x3_.*_s2_", r"ht_bf16x6_.*_s1_", r"ht_i8x10_.*_s1_", r"ht_bf16x6u_.*_s2_", r"ht_ozaki_mma_.*_s2_"]
TOGETHER = 8  # sources that hipcc reads at once: half of its time on a small one are its start and the HIP headers


def of_source(path, assembly):
    """The functions of one source and its kernels' metadata, from the assembly of several; names are in its namespace."""
    mine = f"_ZN{len(path.stem)}{path.stem}"
    head, *functions = re.split(r"(?m)(?=^.*-- Begin function )", assembly)
    kernels = assembly.split("amdhsa.kernels:")[-1].split("  - .agpr_count:")[1:]
    return "".join([f.split("; -- End function")[0] for f in functions if "Begin function " + mine in f] + ["amdhsa.kernels:\n"] +
                   ["  - .agpr_count:" + k for k in kernels if re.search(r"\.name:\s+" + mine, k)])


def compile_together(paths, flags, folder):
    source = folder / f"{paths[0].stem}.together.hip"
    source.write_text("".join(f'#include "{path}"\n' for path in paths))
    assembly, log = measured.assemble(source, flags)
    return [(path, of_source(path, assembly) if assembly else "", log) for path in paths]


def digest_of(path, rows):
    return hashlib.sha256((code(path) + repr(rows.get(path.stem))).encode()).hexdigest()[:24]


def checked_head():
    """Compiler and checks that the table speaks of."""
    version = subprocess.run(["hipcc", "--version"], capture_output=True, text=True).stdout.splitlines()[:2]  # HIP's, clang's
    return f"# {', '.join(version)}, checks {hashlib.sha256(b''.join((ROOT / name).read_bytes() for name in CHECKS)).hexdigest()[:24]}"


def known():
    head, _, *lines = CHECKED.read_text().splitlines() if CHECKED.is_file() else ("", "")
    return {line.split("\t")[0] for line in lines} if head == checked_head() else set()


@pytest.fixture(scope="module")
def plans(emitted):
    """Rows of the manifests, by name; not MixPert's, whose steps also load scales, which no plan counts."""
    rows = [row for gpu in AMD for row in measured.manifest(emitted(gpu, "all"))]
    return {row["name"]: row for row in rows if not row["scheme"].startswith("mixpert")}


@pytest.fixture(scope="module")
def sources(emitted, plans):
    """{digest: source} of the AMD sets of all schemes; equal code under different banners is one."""
    kinds = {}
    for gpu in AMD:
        for path in sorted(emitted(gpu, "all").glob("*.hip")):
            kinds.setdefault(code(path), path)
    return {digest_of(path, plans): path for path in kinds.values()}


@pytest.fixture(scope="module")
def compiled(emitted, sources, tmp_path_factory, pytestconfig):
    """Assembly of a sample of the sources, of WAITING, and without --sample of all that the table does not know."""
    flags, folder, told = measured.kernel_flags(emitted(AMD[0], "all")), tmp_path_factory.mktemp("together"), known()
    assert all(measured.kernel_flags(emitted(gpu, "all")) == flags for gpu in AMD)
    waiting = {next(path for path in sources.values() if re.match(pattern, path.stem)) for pattern in WAITING}
    again = sampled(sources, SAMPLE)
    paths = [path for digest, path in sources.items() if digest in again or path in waiting or not pytestconfig.getoption("--sample") and digest not in told]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda i: compile_together(paths[i:i + TOGETHER], flags, folder), range(0, len(paths), TOGETHER))
    return {path: (assembly, log) for some in done for path, assembly, log in some}


def with_counts(row):
    """A product of residues, digits or slices is not scheduled, so that the plan has no counts: those of its tile, by v_mfma_i32_32x32x8i8
    or v_mfma_f32_32x32x8f16 and 16 bytes a copy."""
    if not row["scheme"].startswith(("crt", "i8x28", "ozaki")):
        return row
    digits, products, size = {"i8x28": (7, 28, 1), "ozaki": (1, 1, 2)}.get(row["scheme"], (1, 1, 1))
    bm, bn, bk, wm, wn = (int(row[x]) for x in ("bm", "bn", "bk", "wm", "wn"))
    return {**row, "mmas": products * wm // 32 * (wn // 32) * bk // 8, "loads": digits * (wm + wn) // 32 * bk * size // 32,
            "copies": digits * 2 * (bm + bn) * bk * size // 16 // int(row["threads"])}


def instructions(row, kernel, assembly):
    """What, planned, found. bf16x6u has a loop for each orientation of the operands, and at edges four loads for each of 16 bytes."""
    row = with_counts(row)
    direct, loops = measured.is_direct(row), measured.main_loops(assembly)
    yield "LDS", row["smem_bytes"], kernel["group_segment_fixed_size"]
    yield "loops with MFMAs", 0 if int(row["mmas"]) == 0 else 4 if direct else 1, len(loops)
    yield "MFMAs of the kernel", int(row["mmas"]) * len(loops), len(re.findall(r"\n\s+v_mfma", assembly))
    for count in map(measured.count_of, loops):
        yield "MFMAs of a step", row["mmas"], count["mfma"]
        yield "fragment loads", 0 if direct else row["loads"], count["ds_read_b128"]
        yield "numbers loaded from LDS", row["loads"] if direct else 0, count["ds_read_b32"]
        yield "copies", row["copies"], count["global_load_dwordx4"] + count["ds_write_b128"]
        yield "other accesses", 2 * int(row["copies"]) if direct else 0, count["other_memory"]


def memory_of_a_lane(path):
    """Bytes: an exact sum of ozaki-cr is limbs that are indexed as the kernel runs, and what hipcc puts before them; all else is in registers."""
    limbs = int(re.search(r"OZ_LIMBS = (\d+)", (ROOT / "templates/hooks/epilogue/ozaki_sum.cuh").read_text()).group(1))
    return limbs * 8 + 16 if path.stem.startswith("ht_ozaki_combine") else 0


def planned_and_found(compiled, plans):
    """What is not as planned; (registers less the plan's, source) of each kernel."""
    errors, differences = [], []
    for path, (assembly, log) in compiled.items():
        if not assembly:
            errors.append(f"{path.name}: {log}")
            continue
        assert measured.metadata(assembly), path.name
        for kernel in measured.metadata(assembly):
            for key, most in (("private_segment_fixed_size", memory_of_a_lane(path)), ("vgpr_spill_count", 0), ("sgpr_spill_count", 0)):
                if kernel[key] > most:
                    errors.append(f"{path.name}: {key} is {kernel[key]}")
        row = plans.get(path.stem)
        if row is None:
            continue
        kernel = max(measured.metadata(assembly), key=lambda k: (k["group_segment_fixed_size"], k["vgpr_count"])) # others compute single elements
        errors += [f"{path.name}: {what}: planned {planned}, found {found}" for what, planned, found in instructions(row, kernel, assembly)
                   if int(planned) != found]
        # what lets the planned workgroups share a CU: 512 registers a lane and SIMD, given out in eights
        waves = -(-int(row["blocks_per_sm"]) * int(row["threads"]) // 64 // 4)
        if waves * -(-kernel["vgpr_count"] // 8) * 8 > 512:
            errors.append(f"{path.name}: {kernel['vgpr_count']} registers do not leave room for {waves} wavefronts on a SIMD")
        differences.append((kernel["vgpr_count"] - int(row["regs_planned"]), path.stem))
    errors += [f"{name}: {more} registers more than planned" for more, name in differences if more > REGISTERS_MORE]
    return errors, differences


# ---- waits
# Missing waits in gfx90a assembly: follows the main loop on every path, and reports registers that are used and barriers that are
# reached while an access is still under way. In HIP source there is no wait to forget: s_waitcnt is the compiler's, which (clang 15)
# waits before __builtin_amdgcn_s_barrier too.
#
# CDNA 2 ISA guide, S_WAITCNT: loads from global memory complete in order and count in vmcnt, LDS accesses in order in lgkmcnt;
# the instruction waits until at most so many are under way. S_BARRIER waits for none of them.
MOST = {"vmcnt": 63, "lgkmcnt": 15}  # what the counters can hold: one access more waits for the oldest


@functools.lru_cache(None)
def registers_of(text):
    """{"v3", "a7", ...} of operands."""
    found = re.findall(r"\b([va])(?:(\d+)|\[(\d+):(\d+)\])", text)
    return {f"{kind}{i}" for kind, one, first, last in found for i in range(int(one or first), int(one or last) + 1)}


def fault_of(instruction, under_way):
    """What the instruction must not do yet, or None."""
    if instruction.startswith("s_barrier"):
        early = next((e for e in under_way["lgkmcnt"] if e.startswith("ds_")), None)
        return early and f"s_barrier while under way: {early}"
    used = registers_of(instruction)
    for early in under_way["vmcnt"] + under_way["lgkmcnt"]:  # the first operand of a load is what it will write; stores write none
        if used and early.startswith(("global_load", "ds_read")) and used & registers_of(early.split(",")[0]):
            return f"{instruction}: too early after {early}"
    return None


def step(instruction, under_way):
    """What is under way behind the instruction."""
    if instruction.startswith("s_waitcnt"):
        for counter, most in re.findall(r"(vmcnt|lgkmcnt)\((\d+)\)", instruction):
            queue = under_way[counter]
            under_way = {**under_way, counter: queue[max(0, len(queue) - int(most)):]}
    elif instruction.startswith(("global_", "ds_", "s_load")):
        counter = "vmcnt" if instruction[0] == "g" else "lgkmcnt"
        under_way = {**under_way, counter: (under_way[counter] + (instruction,))[-MOST[counter]:]}
    return under_way


def fault_of_loop(blocks):
    """blocks: {label: instructions} of a loop, in the order of the text. The first fault on any path; None: all is waited for."""
    names, seen = list(blocks), set()
    open_paths = [(names[0], {"vmcnt": (), "lgkmcnt": ()})]
    while open_paths:
        name, under_way = open_paths.pop()
        if (name, *under_way.values()) in seen:
            continue
        seen.add((name, *under_way.values()))
        follows = names[names.index(name) + 1:][:1]
        for instruction in blocks[name]:
            found = fault_of(instruction, under_way)
            if found:
                return found
            if instruction.startswith(("s_cbranch", "s_branch")):
                target = instruction.split()[1].lstrip(".")
                open_paths += [(target, under_way)] if target in blocks else []
                if instruction.startswith("s_branch"):
                    follows = []
                    break
            under_way = step(instruction, under_way)
        open_paths += [(follower, under_way) for follower in follows]
    return None


@needs_hipcc
def test_every_kernel_compiles_as_planned(compiled, sources, plans, capsys):
    """No warnings, spills or scratch; registers and LDS from the metadata, MFMAs, loads and copies of the main loop."""
    errors, differences = planned_and_found(compiled, plans)
    assert not errors, "\n".join(errors)
    assert len(differences) >= len(WAITING) and sum(path.stem in plans for path in sources.values()) >= 30
    with capsys.disabled():
        print(f"\n{len(compiled)} of {len(sources)} gfx90a sources compiled, no spills, no scratch; hipcc's registers (VGPR and AGPR) less the "
              f"plan's: {min(differences)[0]:+d} ({min(differences)[1]}) to {max(differences)[0]:+d} ({max(differences)[1]})")


@needs_hipcc
def test_every_access_is_waited_for(compiled, sources, plans):
    loops = {path.stem: measured.loops_of(assembly) for path, (assembly, _) in compiled.items()
             if path.stem in plans and int(with_counts(plans[path.stem])["mmas"]) > 0}
    assert len(loops) >= len(WAITING) and all(loops.values())
    assert not {name: fault for name, several in loops.items() for fault in map(fault_of_loop, several) if fault}
    if not planned_and_found(compiled, plans)[0]:
        told = known() | {digest for digest, path in sources.items() if path in compiled}
        CHECKED.parent.mkdir(parents=True, exist_ok=True)
        CHECKED.write_text("\n".join([checked_head(), "digest of the code and its plan", *sorted(told)]) + "\n")


@needs_hipcc
def test_the_table_does_not_vouch_for_other_code(sources, plans, tmp_path):
    digest, path = next((d, p) for d, p in sources.items() if p.stem in plans)
    other = tmp_path / path.name
    other.write_text("// another banner\n" + path.read_text())
    assert digest_of(other, plans) == digest
    other.write_text(path.read_text().replace("ht_barrier();", ";", 1))
    assert digest_of(other, plans) != digest
    assert digest_of(path, {**plans, path.stem: {**plans[path.stem], "smem_bytes": "1"}}) != digest


@needs_hipcc
def test_a_missing_wait_is_caught(compiled):
    """Each s_waitcnt left out in turn; those that wait for nothing, right after a barrier, may be."""
    caught = set()
    for pattern in WAITING:
        loop = measured.loops_of(compiled[next(p for p in compiled if re.match(pattern, p.stem))][0])[0]
        for name, block in loop.items():
            for i, line in enumerate(block):
                if line.startswith("s_waitcnt") and (i == 0 or block[i - 1] != "s_barrier"):
                    found = fault_of_loop({**loop, name: block[:i] + block[i + 1:]})
                    assert found, (pattern, name, i, line)
                    caught.add(found)
    for kind in ("s_barrier while under way: ds_write", "too early after ds_read", "too early after global_load"):
        assert any(kind in fault for fault in caught), (kind, caught)


@needs_hipcc
def test_committed_table_is_of_these_kernels(emitted):
    """bench/results/gfx90a-instructions.tsv: same kernels, same plan; what the compiler did may differ by its version."""
    lines = TABLE.read_text().splitlines()
    head = lines[1].split("\t")
    assert head == measured.COLUMNS
    table = {line.split("\t")[0]: dict(zip(head, line.split("\t"))) for line in lines[2:]}
    for row in measured.matrix_kernels(emitted("mi210")):
        for column, key in (("regs_planned", "regs_planned"), ("lds_planned", "smem_bytes"), ("mfma_planned", "mmas"),
                            ("loads_planned", "loads"), ("copies_planned", "copies")):
            assert table[row["name"]][column] == row[key], (row["name"], column, "run bench/lab/gfx90a_instructions.py again")
    assert len(table) == len(measured.matrix_kernels(emitted("mi210")))


@needs_hipcc
def test_another_architecture_is_refused_by_the_compiler(emitted):
    source = next(emitted("mi210").glob("ht_f16x3_*.hip"))
    assembly, log = measured.assemble(source, ["--offload-arch=gfx908", "-Wno-unused-command-line-argument"])
    assert not assembly and "this kernel is for gfx90a" in log


@needs_hipcc
@pytest.mark.parametrize("template", ["mma_warp", "pack", "reduce"])
def test_template_compiles_by_itself(template):
    """Both halves: for the GPU and for the host."""
    subprocess.run(["hipcc", "--offload-arch=gfx90a", "-std=c++17", "-O3", "-ffp-contract=off", "-x", "hip", "-c", "-o", os.devnull,
                    "-Wno-unused-command-line-argument", str(ROOT / f"templates/skeletons/{template}.cu")], check=True)


@needs_hipcc
def test_nothing_is_left_in_the_temporary_folder(tmp_path):
    """Of a run of these tests: hipcc itself removes less than it writes."""
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base"),
                          f"{__file__}::test_template_compiles_by_itself[reduce]"], capture_output=True, text=True, cwd=ROOT,
                         env={**os.environ, "TMPDIR": str(tmp_path)})
    assert run.returncode == 0 and "1 passed" in run.stdout, run.stdout
    assert [p.name for p in tmp_path.iterdir() if p.name != "base"] == []


@needs_hipcc
def test_make_leaves_nothing_in_the_temporary_folder(tmp_path):
    built, budget = ROOT / "out/litter", tmp_path / "litter.gpu"
    budget.write_text(re.sub(r"(?m)^name\s*=\s*mi210", "name = litter", (ROOT / "gen/gpus/mi210.gpu").read_text()))
    (tmp_path / "tmp").mkdir()
    try:
        for goal in "generate", "out/litter/obj/ht_reduce_gfx90a.o":
            run = subprocess.run(["make", goal, f"GPU={budget}", "SCHEMES=f16x3", "LEAN=1"], capture_output=True, text=True, cwd=ROOT,
                                 env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
            assert run.returncode == 0, run.stdout + run.stderr
        assert [p.name for p in (built / "obj").iterdir()] == ["ht_reduce_gfx90a.o"] and list((tmp_path / "tmp").iterdir()) == []
    finally:
        shutil.rmtree(built, ignore_errors=True)


@needs_hipcc
def test_conversions_of_prim_hip_are_those_of_the_simulator(tmp_path):
    """The text of ht_f16_* in prim/hip, run on the CPU, against runtime/sim/sim_f16.c."""
    text = (ROOT / "templates/hooks/prim/hip.cuh").read_text()
    functions = text[text.index("HT_DEVICE float ht_f16_value"):text.index("template <class Args>")]
    (tmp_path / "f16.cpp").write_text('#include <initializer_list>\n#include <stdio.h>\n#include <string.h>\n#include "sim_f16.h"\n#define HT_DEVICE static\n' +
                                      functions + """
static bool differ(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    if (x != x)
        return false; /* which NaN is nobody's promise */
    return ht_f16_rn(x) != sim_f16_rn(x) || ht_f16_rz(x) != sim_f16_rz(x);
}
int main() {
    for (unsigned high = 0; high < 0x100000; high++) /* 20 leading bits, and what follows near each rounding border */
        for (unsigned low : {0u, 1u, 0x7ffu, 0x800u, 0x801u, 0xfffu})
            if (differ(high << 12 | low))
                return printf("%08x\\n", high << 12 | low), 1;
    for (unsigned h = 0; h < 0x10000; h++) {
        const float x = ht_f16_value((unsigned short)h), y = sim_f16_value((unsigned short)h);
        if (x == x ? memcmp(&x, &y, 4) != 0 : y == y)
            return printf("%04x\\n", h), 1;
    }
}
""")
    version = subprocess.run(["hipcc", "--version"], capture_output=True, text=True).stdout
    clang = "clang++-" + re.search(r"clang version (\d+)", version).group(1)  # Debian's clang has _Float16 on the CPU from 15 on
    if not shutil.which(clang):
        pytest.skip(f"no {clang} beside hipcc")
    subprocess.run([clang, "-std=c++17", "-O1", f"-I{ROOT}/runtime/sim", str(tmp_path / "f16.cpp"),
                    str(ROOT / "out/obj/runtime/sim/sim_f16.o"), "-o", str(tmp_path / "f16")], check=True)
    run = subprocess.run([str(tmp_path / "f16")], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


@needs_hipcc
def test_hip_device_layer(tmp_path):
    """dev_hip.c against a HIP runtime of the test's own: errors, wrong architecture, no device."""
    warnings = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()
    program = tmp_path / "dev_hip"
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", *warnings, f"-I{ROOT}/runtime", "-o",
                    str(program), str(ROOT / "tests/package/fake_hip.c"), str(ROOT / "runtime/dev_hip.c"),
                    *map(str, (ROOT / "runtime").glob("ht_*.c"))], check=True)
    run = subprocess.run([str(program)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_explain_names_ceiling_and_papers_tile():
    for model in ("halftone", "egemm", "legemm"):
        text = gen("explain", "--gpu", "mi210", "--scheme", "legemm", "--model", model).stdout
        assert "60.347 TFLOPS; native FP32 is 45.300 TFLOPS: at most 1.33 times native" in text
        assert re.search(r"LE-GEMM Table 2, two buffers: \(128,128,32\) is (accepted, rank \d+ of \d+|not accepted)", text)
    assert "gfx90a" in gen("explain", "--gpu", "mi250x").stdout
