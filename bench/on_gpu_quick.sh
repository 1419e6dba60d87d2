#!/bin/sh
set -u
bin=$1 out=$2
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
for s in w201 w200; do timeout 100 $bin/$s/test_product >$out/$s.test 2>&1; tail -4 $out/$s.test; grep -E "ERROR|error" $out/$s.test | head -5; timeout 60 $bin/$s/graph 2>&1 | tail -3; done
$bin/a800 bits 2>/dev/null >$out/a800.bits
$bin/w201/bits >$out/w201.bits 2>/dev/null
$bin/bits >$out/a800.bits 2>/dev/null
timeout 60 $bin/w201/halftone bench --sizes 512,1024,2048 --schemes f16x3,i8x6,i8x3,i8x10,legemm,ootomo --seconds 0.1 --out $out/w201s.tsv 2>/dev/null >/dev/null
timeout 100 $bin/w201/halftone bench --sizes 4096,8192 --schemes f16x3,i8x6,i8x3,i8x10,half --seconds 0.3 --out $out/w201.tsv 2>/dev/null >/dev/null
timeout 100 $bin/w200/halftone bench --sizes 512,1024,2048,4096,8192 --schemes f16x3 --kernels all --seconds 0.2 --out $out/w200.tsv 2>/dev/null >/dev/null
timeout 60 $bin/halftone bench --sizes 4096,8192 --schemes f16x3,legemm --seconds 0.3 --out $out/a800.tsv 2>/dev/null >/dev/null
cat >nvml.c <<'E'
#include <stdio.h>
#include <dlfcn.h>
int main(void){void*h=dlopen("libnvidia-ml.so.1",2);printf("nvml %p %s\n",h,h?"":dlerror());if(!h)return 0;
int(*init)(void)=dlsym(h,"nvmlInit_v2");printf("init %d\n",init());
int(*hi)(unsigned,void**)=dlsym(h,"nvmlDeviceGetHandleByIndex_v2");void*d=0;printf("handle %d\n",hi(0,&d));
int(*bus)(const char*,void**)=dlsym(h,"nvmlDeviceGetHandleByPciBusId_v2");
unsigned v=0;int(*ck)(void*,int,unsigned*)=dlsym(h,"nvmlDeviceGetClockInfo");int r=ck(d,1,&v);printf("clock %d %u\n",r,v);
int(*pw)(void*,unsigned*)=dlsym(h,"nvmlDeviceGetPowerUsage");r=pw(d,&v);printf("power %d %u\n",r,v);
void*cu=dlopen("libcuda.so.1",2);int(*ci)(unsigned)=dlsym(cu,"cuInit");ci(0);char t[64]="";int(*pa)(char*,int,int)=dlsym(cu,"cuDeviceGetPCIBusId");r=pa(t,64,0);printf("pci %d %s\n",r,t);void*d2=0;printf("bus handle %d\n",bus(t,&d2));
int(*cg)(int*)=dlsym(cu,"cuCtxGetDevice");int dv=-1;printf("ctxget %d %d\n",cg(&dv),dv);return 0;}
E
gcc -o nvml nvml.c -ldl && ./nvml
nvidia-smi --query-gpu=clocks.sm,power.draw,power.limit,clocks_throttle_reasons.active --format=csv,noheader
