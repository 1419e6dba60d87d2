"""Missing waits in gfx90a assembly: follows the main loop on every path, and reports registers that are used and barriers that are
reached while an access is still under way. In HIP source there is no wait to forget: s_waitcnt is the compiler's, which (clang 15)
waits before __builtin_amdgcn_s_barrier too.

CDNA 2 ISA guide, S_WAITCNT: loads from global memory complete in order and count in vmcnt, LDS accesses in order in lgkmcnt;
the instruction waits until at most so many are under way. S_BARRIER waits for none of them."""
import functools
import re

MOST = {"vmcnt": 63, "lgkmcnt": 15}  # what the counters can hold: one access more waits for the oldest


@functools.lru_cache(None)
def registers(text):
    """{"v3", "a7", ...} of operands."""
    found = re.findall(r"\b([va])(?:(\d+)|\[(\d+):(\d+)\])", text)
    return {f"{kind}{i}" for kind, one, first, last in found for i in range(int(one or first), int(one or last) + 1)}


def fault_of(instruction, under_way):
    """What the instruction must not do yet, or None."""
    if instruction.startswith("s_barrier"):
        early = next((e for e in under_way["lgkmcnt"] if e.startswith("ds_")), None)
        return early and f"s_barrier while under way: {early}"
    used = registers(instruction)
    for early in under_way["vmcnt"] + under_way["lgkmcnt"]:  # the first operand of a load is what it will write; stores write none
        if used and early.startswith(("global_load", "ds_read")) and used & registers(early.split(",")[0]):
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


def fault(blocks):
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
