"""What hipcc makes of the gfx90a kernels, beside what plan and model say: registers, LDS, and the instructions of one K
step counted in the assembly of the main loop.

    gfx90a_instructions.py SET_FOLDER        prints the table (bench/results/gfx90a-instructions.tsv); needs hipcc
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WAVE = 64
MFMA_CLOCKS = {"32x32x8": 64, "16x16x16": 32, "16x16x4": 32}  # 16 and 8 passes of 4 clocks: CDNA 2 ISA guide, MFMA dependencies
NUMBERS = {"ds_read_b32": 1, "ds_read2_b32": 2, "ds_read2st64_b32": 2}  # that a lane reads at once


def manifest(folder):
    lines = (pathlib.Path(folder) / "manifest").read_text().splitlines()
    head = lines[1].split("\t")
    return [dict(zip(head, line.split("\t"))) for line in lines[2:]]


def matrix_kernels(folder):
    return [row for row in manifest(folder) if int(row["mmas"]) > 0]


def is_direct(row):
    """It reads the operands as they are: a loop for each of four orientations, FP32 numbers read one by one."""
    return row["scheme"] == "bf16x6u"


def kernel_flags(folder):
    text = (pathlib.Path(folder) / "rules.mk").read_text()
    return re.search(r"HT_FLAGS_gfx90a := (.*)", text).group(1).split()


def assemble(source, flags, hipcc="hipcc"):
    """The device assembly of one generated file, warnings as errors."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "kernel.s"
        run = subprocess.run([hipcc, "-O3", "-std=c++17", *flags, "-Wall", "-Wextra", "-Werror", "--cuda-device-only", "-S",
                              "-o", str(out), str(source)], capture_output=True, text=True)
        return out.read_text() if run.returncode == 0 else "", run.stderr


def metadata(assembly):
    """One dictionary for each kernel of a file: the code object's metadata."""
    kernels = []
    for part in assembly.split("amdhsa.kernels:")[-1].split("- .agpr_count:")[1:]:
        value = lambda key: int(re.search(rf"\.{key}:\s+(\d+)", ".agpr_count:" + part).group(1))
        kernels.append({key: value(key) for key in ("agpr_count", "vgpr_count", "group_segment_fixed_size",
                                                    "private_segment_fixed_size", "vgpr_spill_count", "sgpr_spill_count")})
    return kernels


def loops_of(assembly):
    """{label: instructions} of each loop that holds MFMAs, in order; LLVM notes at each block to which loop it belongs."""
    loops, block, last = {}, None, None
    for line in assembly.splitlines():
        label = re.match(r"(?:; )?[.%](LBB\d+_\d+|bb\.\d+):", line)
        if label:
            header = re.search(r"in Loop: Header=(BB\d+_\d+)", line)
            loop = "L" + header.group(1) if header else label.group(1) if "Loop Header" in line else None
            block = loops.setdefault(loop, {}).setdefault(label.group(1), []) if loop else None
            last = label.group(1)
        elif "Loop Header" in line:  # of a loop in a loop: below the label's line, which names the outer one
            block = loops.setdefault(last, {}).setdefault(last, [])
        elif block is not None and re.match(r"\s+[a-z]", line) and not line.lstrip().startswith((";", ".")):
            block.append(" ".join(line.split(";")[0].split()))
    return [blocks for blocks in loops.values() if any(i.startswith("v_mfma") for block in blocks.values() for i in block)]


def main_loops(assembly):
    return [[instruction for block in blocks.values() for instruction in block] for blocks in loops_of(assembly)]


def group_of(instruction):
    mnemonic = instruction.split()[0]
    if mnemonic.startswith("v_mfma"):
        return "mfma"
    if mnemonic in ("ds_read_b128", "ds_write_b128", "global_load_dwordx4", "s_barrier", "s_waitcnt", "s_nop"):
        return mnemonic
    if mnemonic.startswith("v_accvgpr"):
        return "v_accvgpr"
    if mnemonic in NUMBERS:
        return "ds_read_b32"
    if mnemonic.startswith(("ds_", "global_", "flat_", "scratch_", "buffer_")):
        return "other_memory"
    return "valu" if mnemonic.startswith("v_") else "salu"


GROUPS = ["mfma", "ds_read_b128", "ds_write_b128", "global_load_dwordx4", "s_barrier", "s_waitcnt", "s_nop", "v_accvgpr", "valu",
          "salu", "other_memory", "ds_read_b32"]


def count_of(loop):
    """Instructions of each group; of the loads of single numbers, the numbers."""
    counts = {g: 0 for g in GROUPS}
    for instruction in loop:
        counts[group_of(instruction)] += NUMBERS.get(instruction.split()[0], 1)
    return counts


def measure(row, folder, flags):
    assembly, log = assemble(pathlib.Path(folder) / f"{row['name']}.hip", flags)
    if not assembly:
        raise SystemExit(f"{row['name']}: {log}")
    shape = re.search(r"v_mfma_[a-z]+32_(\d+x\d+x\d+)", assembly).group(1)
    return row, metadata(assembly)[0], [count_of(loop) for loop in main_loops(assembly)], shape


COLUMNS = (["kernel", "regs_planned", "regs", "agprs", "lds_planned", "lds", "scratch", "loops", "mfma_planned", "mfma", "loads_planned",
            "loads", "copies_planned", "global_load+ds_write"] + GROUPS[4:11] +
           ["lds_read_bytes", "lds_written_bytes", "lds_clocks", "mfma_clocks"])


def table_row(row, data, loops, shape):
    """Of several loops the one with most instructions."""
    counts = max(loops, key=lambda c: sum(c.values()))
    warps = int(row["threads"]) // WAVE
    read = (counts["ds_read_b128"] * 16 + counts["ds_read_b32"] * 4) * WAVE * warps
    written = counts["ds_write_b128"] * 16 * WAVE * warps
    return [row["name"], row["regs_planned"], data["vgpr_count"], data["agpr_count"], row["smem_bytes"],
            data["group_segment_fixed_size"], data["private_segment_fixed_size"], len(loops), row["mmas"], counts["mfma"],
            row["loads"], counts["ds_read_b32" if is_direct(row) else "ds_read_b128"], row["copies"],
            counts["global_load_dwordx4"] + counts["ds_write_b128"],
            *(counts[g] for g in GROUPS[4:11]), read, written, (read + written) // 128,
            counts["mfma"] * MFMA_CLOCKS[shape] * warps // 4]


def main():
    folder = sys.argv[1]
    flags, rows = kernel_flags(folder), matrix_kernels(folder)
    print("# main loop of one K step (bk), per wavefront; loads: ds_read_b128, of fp32 numbers of four bytes; bf16x6u has a loop for each "
          "orientation (the longest is counted), and other_memory is its loads at edges; lds_*: all wavefronts of a workgroup; clocks: "
          "of a CU with one workgroup, LDS at 128 bytes a clock without conflicts")
    print("\t".join(COLUMNS))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda r: measure(r, folder, flags), rows):
            print("\t".join(map(str, table_row(*found))))


if __name__ == "__main__":
    main()
