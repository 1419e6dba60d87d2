#!/bin/sh
# Builds the comparison of plain bulk copies with tensor maps: tensor_maps.sh SET_FOLDER BINARY, after make GPU=h200. Run the
# binary on the H200; it takes 10 seconds. Needs nvcc.
set -eu
set_folder=$1 binary=$2
kernel=ht_f16x3_wgmma_128x256x32_wg128x128_s4_sm90a
python3 bench/tensor_maps.py "$set_folder/$kernel.cu" "$set_folder/obj/$kernel.maps.cu"
nvcc=$(command -v nvcc || echo out/toolchain/nvidia/cu13/bin/nvcc)
"$nvcc" -O3 -std=c++17 -diag-suppress 177 -gencode arch=compute_90a,code=sm_90a -DKERNEL=$kernel -DBM=128 -DBN=256 \
    bench/tensor_maps.cu -c -o "$set_folder/obj/tensor_maps.o"
"$nvcc" -O3 -std=c++17 -Xptxas -v -gencode arch=compute_90a,code=sm_90a -c "$set_folder/obj/$kernel.maps.cu" -o "$set_folder/obj/maps_kernel.o"
"$nvcc" -o "$binary" "$set_folder/obj/tensor_maps.o" "$set_folder/obj/maps_kernel.o" "$set_folder/libhalftone.a"
