"""Several GPUs, a process each, before the cuBLAS face: torchrun dropin_ranks.py PIECES RESULTS; PIECES devices is one process with two
threads. Lines are by rank 0."""
import json
import sys
import threading

import dropin_say as face
import torch
import torch.distributed as dist
from dropin_say import RESULTS, SIDE, counters
from dropin_torch import Model, relative_error, seconds

STEPS = 100


def rank():
    return dist.get_rank() if dist.is_initialized() else 0


def say(piece, what, value, unit=""):
    if rank() == 0:
        face.say(piece, what, value, unit)


def gathered(value):
    """The value of every rank, as floats."""
    mine = torch.tensor([float(value)], device="cuda", dtype=torch.float64)
    all_of = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(all_of, mine)
    return [float(x) for x in all_of]


def say_counters(piece, least):
    served, original = counters()
    served, original = gathered(served), gathered(original)
    if SIDE == "face":
        say(piece, "served, by rank", " ".join(f"{x:.0f}" for x in served))
        say(piece, "original, by rank", " ".join(f"{x:.0f}" for x in original))
        if min(served) < least or len(set(served)) != 1:
            say(piece, "FAILED, too few were served, or not as many on each rank", min(served))


def fingerprint(model):
    return sum(int(p.detach().view(torch.int64 if p.dtype == torch.float64 else torch.int32).long().sum()) for p in model.parameters()) % (1 << 52)


def wrap_ddp(model):
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])


def wrap_fsdp(model):
    from torch.distributed.fsdp import fully_shard
    for layer in model.layers.layers:
        fully_shard(layer)
    return fully_shard(model)


def training(piece, wrap):
    """100 steps of the transformer, each rank half of a batch."""
    for kind, dtype in ((SIDE, torch.float32), ("fp64", torch.float64)):
        if kind == "fp64" and (SIDE == "face" or piece != "ddp"):
            continue
        torch.manual_seed(0)
        model = wrap(Model().to("cuda", dtype))
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
        tokens = torch.randint(0, 4096, (4, 8, 513), device="cuda", generator=torch.Generator("cuda").manual_seed(0))
        share = tokens.chunk(dist.get_world_size(), 1)[rank()]
        losses, times = [], []
        counters()
        for step in range(STEPS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            batch = share[step % 4]
            loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            end.record()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            losses.append(float(mean) / dist.get_world_size())
            times.append(begin.elapsed_time(end))
        if kind != "fp64":
            say(piece, "step", sorted(times)[STEPS // 2], "ms")
            say_counters(piece, STEPS)
            if wrap is wrap_ddp:
                prints = gathered(fingerprint(model))
                say(piece, "parameters of the ranks", "equal" if len(set(prints)) == 1 else "FAILED: they differ")
        say(piece, f"loss of {kind} after 1, 50 and 100 steps", " ".join(f"{losses[i]:.6f}" for i in (0, 49, 99)))
        if rank() == 0:
            (RESULTS / f"curve-{piece}-{kind}.json").write_text(json.dumps(losses))


def ddp():
    training("ddp", wrap_ddp)


def fsdp():
    training("fsdp", wrap_fsdp)


def tensor():
    """An MLP whose first layer is cut by columns and whose second by rows (DTensor)."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    torch.manual_seed(1)
    mlp = torch.nn.Sequential(torch.nn.Linear(2048, 8192), torch.nn.GELU(), torch.nn.Linear(8192, 2048)).cuda()
    x = torch.randn(4096, 2048, device="cuda", generator=torch.Generator("cuda").manual_seed(2))
    with torch.no_grad():
        exact = torch.nn.functional.linear(x.double(), mlp[0].weight.double(), mlp[0].bias.double())
        exact = torch.nn.functional.linear(torch.nn.functional.gelu(exact), mlp[2].weight.double(), mlp[2].bias.double())
        cut = parallelize_module(mlp, init_device_mesh("cuda", (dist.get_world_size(),)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
        counters()
        say("tensor", "error", relative_error(cut(x), exact))
        say("tensor", "time", seconds(lambda: cut(x)) * 1e3, "ms")
        say_counters("tensor", 2)
        say_replays("tensor", lambda: cut(x), x)


def replays(call, x):
    """How many of three replays of a graph of the call, with other data in x, differ from the call itself."""
    call()
    torch.cuda.synchronize()
    recorded = torch.cuda.CUDAGraph()
    # a stream of this device; NCCL's own thread asks the device meanwhile
    with torch.cuda.graph(recorded, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
        out = call()
    differ = 0
    for seed in range(3):
        x.copy_(torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)))
        recorded.replay()
        differ += not torch.equal(out, call())
    return differ


def say_replays(piece, call, x):
    differ = replays(call, x)
    say(piece, "replays against eager", "equal" if sum(gathered(differ)) == 0 else "FAILED: they differ")


def graph():
    """A product and an all-reduce in one graph."""
    torch.manual_seed(3)
    x, w = torch.randn(1024, 2048, device="cuda"), torch.randn(2048, 1024, device="cuda")

    def call():
        out = x @ w
        dist.all_reduce(out)
        return out

    say_replays("graph", call, x)
    say_counters("graph", 5)


def devices():
    """One process, two devices, a thread each."""
    errors, differ, turn = {}, {}, threading.Lock()

    def work(device):
        torch.cuda.set_device(device)
        random = torch.Generator(f"cuda:{device}").manual_seed(device)
        a = torch.randn(1500, 1024, device="cuda", generator=random)
        want = a.double() @ a.double().t()
        errors[device] = max(relative_error(a @ a.t(), want) for _ in range(100))
        with turn:  # one capture at a time
            differ[device] = replays(lambda: a @ a.t(), a)

    counters()
    threads = [threading.Thread(target=work, args=(device,)) for device in range(torch.cuda.device_count())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say("devices", f"{len(threads)} devices of one process: largest error", max(errors.values()) if len(errors) == len(threads) else "FAILED: a thread ended")
    say("devices", "replays against eager", "equal" if list(differ.values()) == [0] * len(threads) else "FAILED: they differ, or a thread ended")
    served, original = counters()
    if SIDE == "face":
        say("devices", "served, original", f"{served}, {original}")
        if served < 100 * len(threads):
            say("devices", "FAILED, too few were served", served)


if __name__ == "__main__":
    if sys.argv[1] != "devices":
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    face.run_pieces(globals())
    if dist.is_initialized():
        dist.destroy_process_group()
