"""Rewrites a generated wgmma_ss kernel so that tensor maps bring its panels, one copy for each operand and slot,
instead of one plain bulk copy for each atom. For bench/tensor_maps.sh, which times the two side by side.

    tensor_maps.py KERNEL.cu OUT.cu
"""
import re
import sys

COPY = """
// A box of 128 bytes x 64 rows x BLOCKS row blocks, at atom `k` of row block `block`.
HT_DEVICE void tensor_copy(unsigned to, const CUtensorMap *map, int k, int block, unsigned bar)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(bar), "r"(0), "r"(k * 64), "r"(block) : "memory");
}
struct mapped_args {
    ht_gemm_args g;
    CUtensorMap a, b;
};

"""


def replace_once(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"tensor_maps.py: '{old[:60]}' found {text.count(old)} times, once was expected; the template has changed")
    return text.replace(old, new)


def main(source, target):
    text = open(source, encoding="ascii").read()
    name = re.search(r"namespace (ht_\w+)", text).group(1)
    text = text.replace(name, name + "_maps")
    text = replace_once(text, "#include <cuda_runtime.h>", "#include <cuda.h>\n#include <cuda_runtime.h>")
    head, rest = text.split("HT_DEVICE void produce(const ht_gemm_args &g, unsigned smem)\n")
    rest = re.sub(r"        const unsigned char \*src\[A_BLOCKS \+ B_BLOCKS\];\n(        src\[.*\n(            panel_row.*\n)?)+", "", rest, count=1)
    copies = re.compile(r"(            ht_bulk_copy\(.*\n)+")
    if len(copies.findall(rest)) != 1:
        sys.exit("tensor_maps.py: no run of bulk copies found; the template has changed")
    rest = copies.sub("            tensor_copy(to, a_map, w.first * PROMOTE_STAGES + k, w.m0 / 64, full);\n"
                      "            tensor_copy(to + A_BYTES, b_map, w.first * PROMOTE_STAGES + k, w.n0 / 64, full);\n", rest)
    text = head + COPY + "HT_DEVICE void produce(const ht_gemm_args &g, const CUtensorMap *a_map, const CUtensorMap *b_map, unsigned smem)\n" + rest
    text = replace_once(text, "gemm(const ht_gemm_args g)\n{", "gemm(const __grid_constant__ mapped_args x)\n{\n    const ht_gemm_args &g = x.g;")
    text = replace_once(text, "produce(g, smem);", "produce(g, &x.a, &x.b, smem);")
    text = replace_once(text, "static int launch(const ht_gemm_args &g, void *stream)\n{",
                        "static int launch(const mapped_args &x, void *stream)\n{\n    const ht_gemm_args &g = x.g;")
    text = replace_once(text, "SMEM_BYTES, stream, g);", "SMEM_BYTES, stream, x);")
    text = replace_once(text, "(const struct ht_gemm_args *args, void *stream)\n{\n    return " + name + "_maps::launch(*args, stream);",
                        "(const void *args, void *stream)\n{\n    return " + name + "_maps::launch(*(const " + name + "_maps::mapped_args *)args, stream);")
    with open(target, "w", encoding="ascii") as out:
        out.write(text)


main(sys.argv[1], sys.argv[2])
