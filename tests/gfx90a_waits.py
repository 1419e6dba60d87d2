"""Missing waits in gfx90a assembly: follows the main loop on every path, and reports registers that are used and barriers that are
reached while an access is still under way. In HIP source there is no wait to forget: s_waitcnt is the compiler's, which (clang 15)
waits before __builtin_amdgcn_s_barrier too.

CDNA 2 ISA guide, S_WAITCNT: loads from global memory complete in order and count in vmcnt, LDS accesses in order in lgkmcnt;
the instruction waits until at most so many are under way. S_BARRIER waits for none of them."""
import re


def registers(text):
    """{"v3", "a7", ...} of operands."""
    found = re.findall(r"\b([va])(?:(\d+)|\[(\d+):(\d+)\])", text)
    return {f"{kind}{i}" for kind, one, first, last in found for i in range(int(one or first), int(one or last) + 1)}


def step(instruction, vm, lgkm, found):
    """What is under way behind an instruction; adds to `found` what it must not do yet."""
    mnemonic, _, operands = instruction.partition(" ")
    if mnemonic == "s_waitcnt":
        for counter, most in re.findall(r"(vmcnt|lgkmcnt)\((\d+)\)", operands):
            if counter == "vmcnt":
                vm = vm[max(0, len(vm) - int(most)):]
            else:
                lgkm = lgkm[max(0, len(lgkm) - int(most)):]
        return vm, lgkm
    if mnemonic == "s_barrier":
        found.update(f"s_barrier while under way: {early}" for early in lgkm if early.startswith("ds_"))
        return vm, lgkm
    used = registers(operands)
    for early in vm + lgkm:  # the first operand of a load is what it will write; stores write none
        if early.startswith(("global_load", "ds_read")) and used & registers(early.split(",")[0]):
            found.add(f"{instruction}: too early after {early}")
    if mnemonic.startswith("global_"):
        vm += (instruction,)
    elif mnemonic.startswith(("ds_", "s_load")):
        lgkm += (instruction,)
    return vm, lgkm


def faults(blocks):
    """blocks: {label: instructions} of a loop, in the order of the text. Sorted texts; none: every access is waited for."""
    names, found, seen = list(blocks), set(), set()
    open_paths = [(names[0], (), ())]
    while open_paths:
        at = open_paths.pop()
        if at in seen:
            continue
        seen.add(at)
        assert len(seen) < 10000, "paths without end"
        name, vm, lgkm = at
        follows = [names[names.index(name) + 1]] if name != names[-1] else []
        for instruction in blocks[name]:
            if instruction.startswith(("s_cbranch", "s_branch")):
                target = instruction.split()[1].lstrip(".")
                open_paths += [(target, vm, lgkm)] if target in blocks else []
                if instruction.startswith("s_branch"):
                    follows = []
                    break
            vm, lgkm = step(instruction, vm, lgkm, found)
        open_paths += [(next_name, vm, lgkm) for next_name in follows]
    return sorted(found)
