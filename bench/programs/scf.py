#!/usr/bin/env python3
"""Hartree-Fock and MP2 of hydrogen molecules, density-fitted, as a user would write it. Its FP64 products are what chemists multiply.

    python3 bench/programs/scf.py [--molecules 64] [--no-mp2]
    out/h200/halftone run --fp64 emulated -- python3 bench/programs/scf.py --molecules 200

Molecules stand on a cubic grid, each turned its own way; three s functions an atom, five for the fit: all integrals are closed
formulas (Szabo and Ostlund, Modern Quantum Chemistry, appendix A). By PyTorch on a GPU, else by NumPy. Two lines: functions,
fitting functions, iterations, seconds of the fit, of an iteration and of MP2, energies in hartree."""
import argparse
import math
import time

import numpy as np

BOND, SPACING = 1.4, 5.5 # bohr
EXPONENTS, FIT = (3.42525, 0.623914, 0.168855), (14.0, 4.9, 1.7, 0.6, 0.21)
try:
    import torch as xp
    on = "cuda"
    if not xp.cuda.is_available():
        raise ImportError
    wait, erf = xp.cuda.synchronize, xp.erf
except ImportError:
    xp, on, wait, erf = np, None, lambda: None, np.vectorize(math.erf)


def put(x):
    return x if on is None else xp.from_numpy(np.ascontiguousarray(x)).to(on)


def places(molecules):
    random = np.random.default_rng(0)
    side = math.ceil(molecules ** (1 / 3) - 1e-9)
    centre = SPACING * np.array([[i % side, i // side % side, i // side ** 2] for i in range(molecules)])
    turned = random.normal(size=(molecules, 3))
    half = BOND / 2 * turned / np.linalg.norm(turned, axis=1)[:, None]
    return np.stack([centre - half, centre + half], 1).reshape(-1, 3)


def functions(atoms, exponents):
    """(places, exponents, norms)"""
    at, a = np.repeat(atoms, len(exponents), 0), np.tile(exponents, len(atoms))
    return put(at), put(a), put((2 * a / np.pi) ** 0.75)


def distance2(x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(2)


def boys(t):
    root = xp.sqrt(t + 1e-30)
    near = 1 - t / 3 + t * t / 10
    return xp.where(t < 1e-6, near, 0.5 * math.pi ** 0.5 * erf(root) / root)


def one_electron(at, a, norm, atoms):
    """Overlap; kinetic energy and attraction by protons."""
    p, apart = a[:, None] + a[None, :], distance2(at, at)
    reduced = a[:, None] * a[None, :] / p
    pair = norm[:, None] * norm[None, :] * xp.exp(-reduced * apart)
    overlap = pair * (math.pi / p) ** 1.5
    core = reduced * (3 - 2 * reduced * apart) * overlap
    middle = (a[:, None, None] * at[:, None, :] + a[None, :, None] * at[None, :, :]) / p[:, :, None]
    for atom in atoms:
        core = core - pair * (2 * math.pi / p) * boys(p * ((middle - atom) ** 2).sum(2))
    return overlap, core, pair, p, middle


def fitted(pair, p, middle, fit):
    """B, with which (mn|rs) is nearly the sum of B_mn B_rs over fitting functions: L^-1 times (Q|mn), L L' = (Q|R)."""
    at, c, norm = fit
    q = c[:, None] * c[None, :]
    both = norm[:, None] * norm[None, :] * 2 * math.pi ** 2.5 / (q * (c[:, None] + c[None, :]) ** 0.5)
    metric = both * boys(q / (c[:, None] + c[None, :]) * distance2(at, at))
    three = xp.stack([norm[i] * pair * 2 * math.pi ** 2.5 / (p * c[i] * (p + c[i]) ** 0.5) *
                      boys(p * c[i] / (p + c[i]) * ((middle - at[i]) ** 2).sum(2)) for i in range(len(c))])
    return (xp.linalg.inv(xp.linalg.cholesky(metric)) @ three.reshape(len(c), -1)).reshape(three.shape)


def iterate(b, overlap, core, occupied, most=60):
    """Roothaan's equations by DIIS: (electronic energy, orbitals, their energies, iterations)."""
    values, vectors = xp.linalg.eigh(overlap)
    root, n = vectors / xp.sqrt(values) @ vectors.T, len(core)
    fock, kept, energy = core, [], 0.0
    for turn in range(1, most):
        levels, rotated = xp.linalg.eigh(root @ fock @ root)
        orbitals = root @ rotated
        taken = orbitals[:, :occupied]
        density = taken @ taken.T
        coulomb = (b.reshape(len(b), -1).T @ (b.reshape(len(b), -1) @ density.reshape(-1))).reshape(n, n)
        half = b.reshape(-1, n) @ taken # (P m) x i
        half = half.reshape(len(b), n, occupied).swapaxes(0, 1).reshape(n, -1)
        fock = core + 2 * coulomb - half @ half.T
        before, energy = energy, float((density * (core + fock)).sum())
        error = root @ (fock @ density @ overlap - overlap @ density @ fock) @ root
        kept = kept[-7:] + [(fock, error)]
        if turn > 1 and abs(energy - before) < 1e-11 * abs(energy) and float(abs(error).max()) < 1e-7:
            break
        size = len(kept)
        system = np.full((size + 1, size + 1), -1.0)
        system[size, size] = 0
        system[:size, :size] = [[float((x[1] * y[1]).sum()) for y in kept] for x in kept]
        weights = np.linalg.lstsq(system, np.r_[np.zeros(size), -1.0], rcond=None)[0]
        fock = sum(float(w) * x[0] for w, x in zip(weights, kept))
    return energy, orbitals, levels, turn


def mp2(b, orbitals, levels, occupied):
    """Second order of closed shells; row i of occupied orbitals at a time."""
    n, taken, empty = len(levels), orbitals[:, :occupied], orbitals[:, occupied:]
    pairs = (taken.T @ b @ empty) # P x i x a
    flat, energy = pairs.reshape(len(b), -1), 0.0
    for i in range(occupied):
        v = (pairs[:, i, :].T @ flat).reshape(n - occupied, occupied, n - occupied) # a x j x b
        gap = levels[i] + levels[None, :occupied, None] - levels[occupied:, None, None] - levels[None, None, occupied:]
        energy += float((v * (2 * v - v.swapaxes(0, 2)) / gap).sum())
    return energy


def timed(what, *given):
    wait()
    start = time.perf_counter()
    result = what(*given)
    wait()
    return result, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--molecules", type=int, default=64)
    parser.add_argument("--no-mp2", action="store_true")
    args = parser.parse_args()
    if args.molecules < 1:
        parser.error(f"--molecules {args.molecules}: one or more")
    atoms = places(args.molecules)
    at, a, norm = functions(atoms, EXPONENTS)
    overlap, core, pair, p, middle = one_electron(at, a, norm, put(atoms))
    fitted(pair[:6, :6], p[:6, :6], middle[:6, :6], functions(atoms[:2], FIT)) # starts libraries
    b, fit_s = timed(fitted, pair, p, middle, functions(atoms, FIT))
    (energy, orbitals, levels, turns), scf_s = timed(iterate, b, overlap, core, args.molecules)
    apart = np.sqrt(((atoms[:, None] - atoms[None]) ** 2).sum(2))[np.triu_indices(len(atoms), 1)]
    second, mp2_s = (0.0, 0.0) if args.no_mp2 else timed(mp2, b, orbitals, levels, args.molecules)
    print("functions\tfit\titerations\tfit_s\tms_per_iteration\tmp2_s\thartree_fock\tmp2")
    print(len(core), len(b), turns, f"{fit_s:.3f}", f"{1e3 * scf_s / turns:.1f}", f"{mp2_s:.3f}", f"{energy + (1 / apart).sum():.12f}", f"{second:.12f}", sep="\t")


if __name__ == "__main__":
    main()
