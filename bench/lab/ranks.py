"""ranks.py cpu|cuda: milliseconds of bench/examples/ranks.py' layers, with the bits of one rank and natively, by the ranks that torchrun starts."""
import pathlib
import runpy
import statistics
import sys
import time

import torch
import torch.distributed as dist

end, dist.destroy_process_group = dist.destroy_process_group, lambda: None  # its ranks go on here
example = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "examples/ranks.py"))


def summed(a, b):
    dist.all_reduce(c := a @ b)
    return c


def milliseconds(*how):
    begin = time.perf_counter()
    for _ in range(5):
        example["layers"](*example["part"], *how)
    torch.cuda.synchronize() if sys.argv[1] == "cuda" else None
    return 200 * (time.perf_counter() - begin)


ways = {"invariant": (example["mm"], example["all_reduced"]), "native": (torch.matmul, summed)}
found = {way: [] for way in ways}
for turn in range(8):  # in turns; the first is not counted
    for way, how in ways.items():
        dist.barrier()
        found[way].append(milliseconds(*how))
if example["rank"] == 0:
    ours, native = (statistics.median(found[way][1:]) for way in ways)
    print(example["ranks"], *example["x"].shape, example["hidden"], f"{ours:.3f}\t{native:.3f}\t{native / ours:.3f}", sep="\t")
end()
