"""NVIDIA's compiler takes every generated kernel of every budget, without spills and with the registers that the plan promises.

Compiling all of it takes two cores ten minutes and more: --sample (`make test`) compiles one source in SAMPLE, others after each
change. Without it (`make test-all`) everything is compiled but what out/test/compiled.tsv knows: what ptxas of this
release said of this code, and here too the sample is compiled again."""
import collections
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess

import pytest
from conftest import NVIDIA, ROOT, digest_of, nvcc, sampled, seconds_left

pytestmark = pytest.mark.part
TABLE = ROOT / "out/test/compiled.tsv"
BLACKWELL = ("sm_100", "sm_120")  # compiled from PTX for sm_80: gen/facts/isa.c says why
AMPERE = ("sm_80", "sm_86", "sm_89", *BLACKWELL)  # one PTX for equal text: test_ampere_to_ada_have_one_ptx
TOGETHER = 8  # sources that nvcc reads at once: half of the time of a small one is its start and the CUDA headers
SAMPLE, SOME_GPUS = 64, ["t4", "a800", "h200"] # of `make test`
MARGIN = 24  # registers that ptxas may use beyond the plan's
COMMENT = re.compile(r'(?m)^((?:[^"\n/]|/(?!/))*)//.*$')
LONG_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def device_code(path, arch):
    """The text that decides a kernel's machine code: without comments, what launchers alone use (the number of SMs, how many
    packing blocks fit one, its shared memory), and the names of AMPERE's architectures. A check for the wrong capability stays in, and keeps the text different."""
    code = re.sub(r"\n\s*\n+", "\n", COMMENT.sub(r"\1", LONG_COMMENT.sub("", path.read_text())))
    if "STREAMED" not in code:  # few_rows: how many loads are early
        code = re.sub(r"\b(SMEM_(?:PER_SM|PER_BLOCK|RESERVED)) = \d+", r"\1", code)
    code = re.sub(r"\b(SMS|PACK_BLOCKS_PER_SM|L2_BYTES) = \d+", r"\1", code)
    if arch not in AMPERE:
        return arch + code
    code, number = code.replace(f"_sm{arch[3:]}", "_sm"), "80" if arch in BLACKWELL else arch[3:]
    code = code.replace(f"__CUDA_ARCH__ < {number}0\n", "__CUDA_ARCH__ < own\n")
    return code.replace(f"capability {number[0]}.{number[1]} ", "capability own ")


def virtual(arch):
    """The architecture whose PTX an architecture's code is made from."""
    return "compute_80" if arch in BLACKWELL else arch.replace("sm", "compute")


@pytest.fixture(scope="module")
def gpus(pytestconfig):
    """Writing all sets takes half a minute."""
    return SOME_GPUS if pytestconfig.getoption("--sample") else NVIDIA


@pytest.fixture(scope="module")
def jobs(emitted, gpus):
    """{architectures: {its digest: a source that stands for all of equal code}}; it is compiled for each of the architectures."""
    kinds = {}
    for gpu in gpus:
        arch = re.search(r"arch=compute_\w+,code=\[?(sm_\w+)", (emitted(gpu) / "rules.mk").read_text()).group(1)
        for path in sorted(emitted(gpu).glob("*.cu")):
            kinds.setdefault(device_code(path, arch), {}).setdefault(arch, path)
    jobs = {}
    for code, paths in kinds.items():
        archs = tuple(sorted(paths, key=lambda arch: int(re.sub(r"\D", "", arch))))  # PTX of the lowest serves the others
        jobs.setdefault(archs, {})[hashlib.sha256(code.encode()).hexdigest()[:24]] = paths[archs[0]]
    return jobs


def compile_together(target, paths, folder):
    """[(source's name, architecture, registers of a kernel in it, bytes of spills and stack)]; nvcc's words where it fails.
    target: the architecture of the PTX, and those of the machine code that is made from it."""
    ptx, archs = target
    source = folder / f"{ptx}-{archs[0]}-{paths[0].stem}.cu"
    source.write_text("".join(f'#include "{path}"\n' for path in paths))
    run = subprocess.run([nvcc(), "-std=c++17", "-gencode", f"arch={ptx},code=[{','.join(archs)}]",
                          "-Xptxas", "-v", "-Werror", "all-warnings", "--fatbin", "-o", str(source) + ".fatbin", str(source)],
                         capture_output=True, text=True)
    log = run.stdout + run.stderr
    parts = re.split(r"Compiling entry function '_ZN(\d+)(ht_\w+)' for '(sm_\w+)'", log)
    said = [(name[:int(length)], arch, re.search(r"Used (\d+) registers", report).group(1), str(sum(map(int, re.findall(r"(\d+) bytes (?:spill|stack)", report)))))
            for length, name, arch, report in zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4])]
    return said, "" if run.returncode == 0 else f"{[p.name for p in paths]}: {log}"


def compiler():
    return re.search(r"release (.*)", subprocess.run([nvcc(), "--version"], capture_output=True, text=True).stdout).group(1)


def known():
    """{(digest, architecture): [(registers, bytes), ...]} of this compiler."""
    head, _, *lines = TABLE.read_text().splitlines() if TABLE.is_file() else ("", "")
    told = {}
    for line in lines if head == f"# nvcc {compiler()}" else []:
        digest, arch, kernels = line.split("\t")
        told[digest, arch] = [tuple(k.split("/")) for k in kernels.split()]
    return told


def of_arch(name, arch):
    """The name that a source has for another architecture."""
    return re.sub(r"sm\d+a?$", arch.replace("_", ""), name)


def parts_of(sources):
    """Lists of up to TOGETHER sources, no two of one name: GPUs of one architecture may have other constants in a kernel."""
    named = collections.defaultdict(list)
    for digest, path in sources.items():
        named[path.stem].append((digest, path))
    for turn in range(max(map(len, named.values()), default=0)):
        own = [found[turn] for found in named.values() if len(found) > turn]
        yield from (own[i:i + TOGETHER] for i in range(0, len(own), TOGETHER))


def compile_all(jobs, folder):
    """{(digest, architecture): [(registers, bytes), ...]} of {target: {digest: source}}, in an order that changes with the sources;
    what is not reached in time is left out."""
    made, errors = {}, []
    work = [(target, part) for target, sources in jobs.items() for part in parts_of(sources)]
    seed = "".join(sorted(digest for sources in jobs.values() for digest in sources))
    work.sort(key=lambda w: digest_of(w[1][0][0] + seed))

    def compiled(part):
        return compile_together(part[0], [path for _, path in part[1]], folder) if seconds_left() > 0 else ([], "")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(compiled, work)
        for (_, sources), (said, error) in zip(work, done):
            digests = {path.stem: digest for digest, path in sources}
            errors += [error] if error else []
            for name, arch, registers, spilled in said:
                made.setdefault((digests[name], arch), []).append((registers, spilled))
    assert not errors, "\n".join(errors)
    return made


def write_table(told):
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    text = f"# nvcc {compiler()}\ndigest of the code\tarchitecture\tregisters/bytes of spills and stack, of each kernel in it\n" + "".join(
        f"{digest}\t{arch}\t{' '.join('/'.join(k) for k in kernels)}\n" for (digest, arch), kernels in sorted(told.items()))
    scratch = TABLE.with_suffix(f".{os.getpid()}")
    scratch.write_text(text)
    scratch.replace(TABLE)


def test_the_sample_is_of_the_sources_alone(monkeypatch):
    """Equal trees compile equal sources, whatever git says of them; each source has its turn as others change."""
    digests = [hashlib.sha256(bytes([i])).hexdigest()[:24] for i in range(250)]
    first = sampled(digests, 32)
    monkeypatch.setenv("PATH", "/nowhere")
    assert sampled(reversed(digests), 32) == first and set() < first < set(digests)
    assert set().union(*(sampled(digests + [hashlib.sha256(b"%d" % i).hexdigest()[:24]], 32) for i in range(300))) > set(digests)


@pytest.mark.whole
def test_ampere_to_ada_have_one_ptx(jobs, tmp_path):
    """What lets one PTX stand for equal text: the compiler's front end makes the same of it for each of AMPERE."""
    if not nvcc():
        pytest.skip("no nvcc: system toolkit or `make toolchain`")
    shared = list(jobs[AMPERE].values())
    for source in (next(p for p in shared if "_pack_" in p.name), next(p for p in shared if "_w32x32_" in p.name)):
        made = set()
        for arch in sorted({virtual(arch) for arch in AMPERE}):
            out = tmp_path / f"{arch}.ptx"
            subprocess.run([nvcc(), "-std=c++17", f"-arch={arch}", "--ptx", "-o", str(out), str(source)],
                           check=True)
            made.add(re.sub(r"(?m)^\.target sm_\d\d$", "", out.read_text()))
        assert len(made) == 1, source.name


def test_every_kernel_of_every_budget_compiles_as_planned(emitted, gpus, jobs, tmp_path, capsys, pytestconfig):
    """No spills; registers against the plan. Equal code is compiled once: banners, SM counts and names do not matter."""
    if not nvcc():
        pytest.skip("no nvcc: system toolkit or `make toolchain`")
    planned = {}
    for gpu in gpus:
        for line in (emitted(gpu) / "manifest").read_text().splitlines()[2:]:
            row = line.split("\t")
            planned[row[0]] = int(row[10])
    told, sample = known(), pytestconfig.getoption("--sample")
    again = sampled([d for sources in jobs.values() for d in sources], SAMPLE)
    new = {}
    for archs, sources in jobs.items():
        for digest, path in sources.items():
            wanted = archs if digest in again else () if sample else tuple(arch for arch in archs if (digest, arch) not in told)
            if wanted:
                new.setdefault((virtual(archs[0]), wanted), {})[digest] = path
    made = compile_all(new, tmp_path)
    part = sample or seconds_left() <= 0
    assert (made or part) and all(told.get(key, kernels) == kernels for key, kernels in made.items()), f"ptxas says something else than {TABLE}"
    told = {**told, **made}
    write_table(told)
    rows = [(of_arch(path.stem, arch), kernel) for archs, sources in jobs.items() for digest, path in sources.items() for arch in archs
            for kernel in told.get((digest, arch), ())]
    everything = {p.stem for gpu in gpus for p in emitted(gpu).glob("*.cu")}
    assert {name for name, _ in rows} == everything or part
    assert not [name for name, kernel in rows if kernel[1] != "0"], "spills"
    over = {}
    for name, kernel in rows:  # a source may hold several kernels
        if name in planned:
            over[name] = max(over.get(name, -256), int(kernel[0]) - planned[name])
    with capsys.disabled():
        print(f"\n{len(everything)} kernel names, {sum(map(len, jobs.values()))} sources, {len(made)} of {sum(len(archs) * len(found) for (_, archs), found in new.items())} compiled now, no spills; "
              f"ptxas' registers less the plan's: {min(over.values(), default=0):+d} to {max(over.values(), default=0):+d}")
    assert not {name: more for name, more in over.items() if more > MARGIN}, "the plan promises fewer registers than ptxas uses"


@pytest.mark.whole
def test_the_table_does_not_vouch_for_other_code(jobs):
    """A changed instruction has another digest; a changed comment has not."""
    source = next(iter(jobs[AMPERE].values()))
    text, arch = source.read_text(), "sm_80"
    changed = source.parent / "changed"
    for old, new, same in (("// ---- geometry", "// ---- places", True), ("/* ceil(rows / 64)", "/* rounded up: (rows / 64)", True), ("ht_barrier();", ";", False)):
        assert old in text
        changed.write_text(text.replace(old, new, 1))
        assert (device_code(changed, arch) == device_code(source, arch)) == same, old
    changed.unlink()
