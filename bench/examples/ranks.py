"""ranks.py [cpu|cuda]: two layers cut over ranks, forward and backward, with the bits of one rank; two all-reduced products. Of a
batch cut over ranks weights' gradients go alike: tokens are k. What PyTorch adds up itself, as losses and norms, keeps its own order.
    torchrun --nproc-per-node 4 bench/examples/ranks.py cuda"""
import sys

try:
    import torch.distributed as dist, torch
except ImportError:
    sys.exit("ranks.py: skipped, this Python has no torch")
import halftone_gemm as hg


def all_reduced(a, b):
    """A B, of which each rank has some columns of A and these rows of B."""
    rows, columns = hg.maxima(a, b)
    for x in rows, columns:
        dist.all_reduce(x, dist.ReduceOp.MAX)
    dist.all_reduce(sums := hg.partial(a, b, rows, columns))
    moved.append(4 * (rows.numel() + columns.numel()) + 8 * sums.numel())
    return hg.finish(sums, rows, columns)


def layers(x, v, w, grad, mm, joined):
    """y = relu(x v) w, and gradients of v, w and x. A rank has columns of v and rows of w: y and x's gradient are joined."""
    h = mm(x, v).relu()
    of_h = mm(grad, w.mT) * (h > 0)
    return mm(x.mT, of_h), mm(h.mT, grad).mT, joined(h, w), joined(of_h, v.mT)


device, moved, mm = [*sys.argv, "cpu"][1], [], lambda a, b: hg.mm(a, b, accuracy="invariant")
dist.init_process_group("nccl" if device == "cuda" else "gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
on, (tokens, width, hidden) = ("cpu", (24, 40, 96)) if device == "cpu" else (f"cuda:{rank}", (2048, 4096, 11008))
x, v, w, grad = (torch.randn(*s, generator=torch.Generator().manual_seed(sum(s))).to(on) for s in ((tokens, width), (width, hidden), (hidden, width), (tokens, width)))
cut = slice(hidden * rank // ranks, hidden * (rank + 1) // ranks)
part, one = (x, v[:, cut], w[cut], grad), layers(x, v, w, grad, mm, mm)
assert all(torch.equal(a, b) for a, b in zip(layers(*part, mm, all_reduced), (one[0][:, cut], one[1][:, cut], *one[2:]))), "other bits"
print(f"rank {rank} of {ranks}: equal bits; {moved} bytes all-reduced for products of {tokens} x {width}")
dist.destroy_process_group()
