"""A folder of stored operands for `halftone bench --operands`, which appears whole or not at all."""
import shutil
import tempfile
from pathlib import Path

from wheel import fetch

try:
    import numpy as np
except ImportError:
    np = None


class Problem(Exception):
    """One line for the user, the cure in it."""


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
