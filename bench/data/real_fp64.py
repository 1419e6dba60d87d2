"""Operands of FP64 products for real_data.py --fp64, of --size n.

Of a density-fitted Hartree-Fock and MP2 calculation of water clusters (def2-SVP), by PySCF on the CPU:
    scf.half       (P mu, nu) B times occupied orbitals       n x orbitals x occupied
    scf.exchange   X times X', X = B C_occ as mu x (P i)      n x 2n x n; rows are those of several clusters, a block of P
    scf.fit        V^-1/2 times (Q | mu nu)                   n x n x n; the cluster is as large as that takes
    mp2.pairs      (ia | P) times its transpose               n x functions x n; the cluster is as large as that takes
Of dense linear algebra, by NumPy:
    gp.kernel      a Gaussian kernel of atoms' places times normal probes
    gp.factor      that kernel's Cholesky factor times its transpose
    fem.front      of a Laplacian in trilinear elements, eliminated plane by plane: what a plane's front takes from the next one
    lsq.normal     normal equations of Legendre polynomials, observations weighted from 1 down to 2^-40

Size 4096 takes about 7 minutes of CPU, 8192 half an hour. PySCF is imported where it is installed, else fetched once by pip into
--cache. Offline, or with --synthetic, the first four are drawn with such distributions instead."""
import importlib
import sys
import tempfile
import zipfile
from pathlib import Path

from wheel import NoWheel, Problem, kept_wheel, np

VERSION = "2.14.0"
HASH = "sha256:37b0bccc55450311a55318cd643e851353331ddeab4fc0c0065e83c905e41502"
FILE = f"pyscf-{VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
BASIS, FIT = "def2-svp", "def2-universal-jkfit"
OCCUPIED, ORBITALS, FUNCTIONS = 5, 24, 113 # of one water molecule
SPACING = 2.9 # Angstrom between neighbours
WATER = [("O", (0, 0, 0)), ("H", (0.757, 0.587, 0)), ("H", (-0.757, 0.587, 0))]


# ---- the package

def import_from(folder):
    """scf and what it needs, as names of one object."""
    if folder is not None:
        sys.path.insert(0, str(folder))
    return {name: importlib.import_module(f"pyscf.{name}") for name in ("gto", "scf", "df", "lib")}


def unpack(wheel):
    """A folder of its own, which goes with the object."""
    folder = tempfile.TemporaryDirectory(prefix="pyscf.")
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder.name)
        if not (Path(folder.name) / "pyscf/__init__.py").is_file():
            raise ValueError("no pyscf in it")
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as e:
        raise Problem(f"{wheel}: is no whole wheel of pyscf ({e}): an unfinished download? remove it, then it is fetched again") from None
    return folder


def find_source(args):
    """PySCF and the folder that it lies in, or None: synthetic."""
    if args.synthetic:
        return None
    folder = None
    if args.wheel is None:
        try:
            return import_from(None), None
        except ImportError as e:
            if not (e.name or "").startswith("pyscf"):
                raise Problem(f"PySCF needs {e.name}, which this Python has not: python3 -m pip install pyscf") from None
    try:
        folder = unpack(args.wheel or kept_wheel(args.cache, FILE, f"pyscf=={VERSION} --hash={HASH}"))
        return import_from(folder.name), folder
    except NoWheel as e:
        print(f"PySCF cannot be had now ({e}): molecules are synthetic; python3 -m pip install pyscf makes them real", file=sys.stderr)
        return None
    except ImportError as e:
        raise Problem(f"PySCF needs SciPy and h5py ({e}): python3 -m pip install pyscf, or leave it out with --synthetic") from None


# ---- molecules

def places(count, seed):
    """Atoms of `count` molecules on a cubic grid, each turned its own way: [(element, place in Angstrom)]."""
    random = np.random.default_rng(seed)
    side = int(np.ceil(count ** (1 / 3) - 1e-9))
    atoms = []
    for number in range(count):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        at = SPACING * np.array([number % side, number // side % side, number // side ** 2]) + random.uniform(-0.15, 0.15, 3)
        atoms += [(element, tuple(at + turn @ np.array(place))) for element, place in WATER]
    return atoms


def fitted(of, count, seed):
    """(B as P x mu x nu, orbitals as columns, how many are occupied) of converged Hartree-Fock."""
    mol = of["gto"].M(atom=places(count, seed), basis=BASIS, verbose=0)
    mf = of["scf"].RHF(mol).density_fit(auxbasis=FIT)
    mf.kernel()
    if not mf.converged:
        raise Problem(f"Hartree-Fock of {count} molecules does not converge: give another --size")
    b = of["lib"].unpack_tril(np.vstack(list(mf.with_df.loop())))
    return b, mf.mo_coeff, mol.nelectron // 2


def molecules_for(n, pairs_each):
    """The fewest molecules that have n of something: pairs_each(molecules) of it."""
    count = 1
    while pairs_each(count) < n:
        count += 1
    return count


def half_transformed(b, occupied):
    """mu x (P i)."""
    return np.ascontiguousarray(np.einsum("Pmn,ni->mPi", b, occupied, optimize=True)).reshape(b.shape[1], -1)


def store_scf(store, n, of):
    count = molecules_for(n, lambda w: OCCUPIED * (ORBITALS - OCCUPIED) * w * w)
    rows = []
    while sum(map(len, rows)) < n:
        b, orbitals, nocc = fitted(of, count, len(rows))
        x = half_transformed(b, orbitals[:, :nocc])
        if not rows:
            functions, nao = b.shape[:2]
            store.product("scf.half", store.matrix("scf.half_A.npy", b.reshape(-1, nao)[:n]), store.matrix("scf.half_B.npy", orbitals[:, :nocc]))
            pairs = np.einsum("mPi,ma->iaP", x.reshape(nao, functions, nocc), orbitals[:, nocc:], optimize=True).reshape(-1, functions)
            name = store.matrix("mp2.pairs_A.npy", pairs[:n])
            store.product("mp2.pairs", name, name, "T")
        rows.append(x[:, :max(1, 2 * n // nocc) * nocc])
    name = store.matrix("scf.exchange_A.npy", np.vstack(rows)[:n])
    store.product("scf.exchange", name, name, "T")
    return f"Hartree-Fock of {len(rows)} clusters of {count} water molecules"


def store_fit(store, n, of):
    count = molecules_for(n, lambda w: FUNCTIONS * w)
    mol = of["gto"].M(atom=places(count, 0), basis=BASIS, verbose=0)
    aux = of["df"].addons.make_auxmol(mol, FIT)
    values, vectors = np.linalg.eigh(aux.intor("int2c2e"))
    root = (vectors / np.sqrt(values)) @ vectors.T
    shells = int(np.searchsorted(mol.ao_loc_nr(), -(-n // mol.nao))) # whose functions times all others are n columns
    three = of["df"].incore.aux_e2(mol, aux, "int3c2e", shls_slice=(0, shells, 0, mol.nbas, 0, aux.nbas))
    store.product("scf.fit", store.matrix("scf.fit_A.npy", root), store.matrix("scf.fit_B.npy", three.reshape(-1, len(root))[:n].T))
    return f"integrals of {count}"


def decaying(random, rows, cols, decay, grade):
    """Normal numbers that fall off with the distance between what a row and a column belong to, and by rows: as 2^-decay and 2^-grade at
    the farthest."""
    x, of_row, of_col, grades = random.normal(size=(rows, cols)), random.uniform(size=(rows, 3)), random.uniform(size=(cols, 3)), random.uniform(size=rows)
    for i in range(rows):
        x[i] *= np.exp2(-decay * np.linalg.norm(of_col - of_row[i], axis=1) / 3 ** 0.5 - grade * grades[i])
    return x


def store_drawn(store, n):
    random = np.random.default_rng(0)
    side, occupied = max(4, n // 28), max(1, n // 136)
    for name, rows, inner, cols, decay in ("scf.half", n, side, occupied, 90), ("scf.fit", n, n, n, 40):
        store.product(name, store.matrix(f"{name}_A.npy", decaying(random, rows, inner, decay, 8)),
                      store.matrix(f"{name}_B.npy", decaying(random, cols, inner, 4, 2).T))
    for name, inner, decay in ("scf.exchange", 2 * n, 36), ("mp2.pairs", max(8, n // 5), 28):
        x = store.matrix(f"{name}_A.npy", decaying(random, n, inner, decay, 4))
        store.product(name, x, x, "T")


# ---- linear algebra

def store_kernel(store, n):
    at = np.array([place for _, place in places(-(-n // 3), 0)])[:n]
    kernel = np.array([np.exp(-((at - place) ** 2).sum(1) / (2 * SPACING ** 2)) for place in at])
    store.product("gp.kernel", store.matrix("gp.kernel_A.npy", kernel), store.matrix("gp.kernel_B.npy", np.random.default_rng(1).normal(size=(n, n))))
    kernel[np.diag_indices(n)] += 1e-6
    factor = store.matrix("gp.factor_A.npy", np.linalg.cholesky(kernel))
    store.product("gp.factor", factor, factor, "T")


def along(side, diagonal, beside):
    return np.diag(np.full(side, diagonal)) + np.diag(np.full(side - 1, beside), 1) + np.diag(np.full(side - 1, beside), -1)


def store_front(store, n, planes=4):
    side = int(n ** 0.5)
    stiff, mass = along(side, 2.0, -1.0), along(side, 4 / 6, 1 / 6)
    of_plane, weight = np.kron(stiff, mass) + np.kron(mass, stiff), np.kron(mass, mass)
    own, next_one = 4 / 6 * of_plane + 2 * weight, of_plane / 6 - weight
    front = own
    for _ in range(planes):
        taken = np.linalg.solve(np.linalg.cholesky(front), next_one)
        front = own - taken.T @ taken
    store.product("fem.front", store.matrix("fem.front_A.npy", taken.T), store.matrix("fem.front_B.npy", taken))


def store_normal(store, n):
    t = np.linspace(-1, 1, 2 * n)
    x = np.empty((n, 2 * n))
    x[0], x[1] = 1, t
    for degree in range(2, n):
        x[degree] = ((2 * degree - 1) * t * x[degree - 1] - (degree - 1) * x[degree - 2]) / degree
    x *= np.exp2(-20 * (1 - t))
    name = store.matrix("lsq.normal_A.npy", x)
    store.product("lsq.normal", name, name, "T")


# ---- the set

def write_set(store, args, source):
    if source is None:
        store_drawn(store, args.size)
        remark = f"synthetic: those of scf and mp2 are drawn, no molecule's; size {args.size}"
    else:
        of = source[0]
        remark = f"PySCF {sys.modules['pyscf'].__version__}, {BASIS}: {store_scf(store, args.size, of)}, {store_fit(store, args.size, of)}; size {args.size}"
    for part in store_kernel, store_front, store_normal:
        part(store, args.size)
    return [remark]
