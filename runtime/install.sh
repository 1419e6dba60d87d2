#!/bin/sh
# install.sh SET PREFIX DESTDIR: what `make install` does. SET is out/NAME, built.
set -eu
set_=$1 prefix=$2 root=$3$2
case $prefix in /*) ;; *) echo "PREFIX '$prefix' is not an absolute path" >&2 && exit 2 ;; esac
version=$(sed -n 's/^#define HT_GENERATOR_VERSION "\(.*\)"/\1/p' gen/emit.h)
mkdir -p "$root/include/halftone-sim" "$root/lib/pkgconfig" "$root/lib/cmake/halftone" "$root/bin"
put() { # put MODE FILE FOLDER: in place at once, also over a file in use
    cp "$2" "$3/.halftone.tmp" && chmod "$1" "$3/.halftone.tmp" && mv "$3/.halftone.tmp" "$3/$(basename "$2")"
}
put 644 "$set_/halftone.h" "$root/include"
put 644 runtime/sim/cuda/cuda_runtime_api.h "$root/include/halftone-sim"
put 644 "$set_/libhalftone-sim.a" "$root/lib"
put 755 "$set_/halftone-sim" "$root/bin"
has_cuda=
if [ -f "$set_/libhalftone.so" ] && [ -x "$set_/halftone" ]; then
    has_cuda=1
    put 644 "$set_/libhalftone.a" "$root/lib"
    put 755 "$set_/libhalftone.so" "$root/lib"
    put 755 "$set_/halftone" "$root/bin"
    cat >"$root/lib/pkgconfig/halftone.pc" <<EOF
prefix=$prefix
Name: halftone
Description: FP32 matrix products on tensor cores
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lhalftone
Libs.private: -lcudart_static -lstdc++ -ldl -lrt -lpthread
EOF
fi
cat >"$root/lib/pkgconfig/halftone-sim.pc" <<EOF
prefix=$prefix
Name: halftone-sim
Description: halftone in its simulator, with the part of the CUDA runtime that it plays; no GPU needed
Version: $version
Cflags: -I\${prefix}/include -I\${prefix}/include/halftone-sim
Libs: -L\${prefix}/lib -lhalftone-sim -lstdc++ -ldl -lpthread -lm
EOF
cat >"$root/lib/cmake/halftone/halftoneConfigVersion.cmake" <<EOF
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
# before 1.0 a new minor version may change the interface
if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION)
  string(REGEX MATCH "^[0-9]+\\\\.[0-9]+" have "\${PACKAGE_VERSION}")
  string(REGEX MATCH "^[0-9]+\\\\.[0-9]+" want "\${PACKAGE_FIND_VERSION}.0")
  if(have STREQUAL want OR NOT PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()
EOF
cat >"$root/lib/cmake/halftone/halftoneConfig.cmake" <<'EOF'
# halftone::halftone  shared library, the CUDA runtime inside      (where the library was built with nvcc)
# halftone::static    static library; link CUDA::cudart_static too (where the library was built with nvcc)
# halftone::sim       the same kernels in the simulator, and the part of the CUDA runtime that it plays
get_filename_component(halftone_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
macro(halftone_target name kind file)
  if(EXISTS "${halftone_prefix}/lib/${file}" AND NOT TARGET halftone::${name})
    add_library(halftone::${name} ${kind} IMPORTED)
    set_target_properties(halftone::${name} PROPERTIES IMPORTED_LOCATION "${halftone_prefix}/lib/${file}"
      INTERFACE_INCLUDE_DIRECTORIES "${halftone_prefix}/include")
  endif()
endmacro()
halftone_target(halftone SHARED libhalftone.so)
halftone_target(static STATIC libhalftone.a)
halftone_target(sim STATIC libhalftone-sim.a)
if(TARGET halftone::halftone)
  set_target_properties(halftone::halftone PROPERTIES IMPORTED_NO_SONAME FALSE IMPORTED_SONAME libhalftone.so)
endif()
if(TARGET halftone::static)
  set_target_properties(halftone::static PROPERTIES INTERFACE_LINK_LIBRARIES "stdc++;dl;rt;pthread")
endif()
set_target_properties(halftone::sim PROPERTIES INTERFACE_LINK_LIBRARIES "stdc++;dl;pthread;m"
  INTERFACE_INCLUDE_DIRECTORIES "${halftone_prefix}/include;${halftone_prefix}/include/halftone-sim")
EOF
echo "$root: halftone.h, libhalftone-sim.a${has_cuda:+, libhalftone.a, libhalftone.so}, commands, pkg-config and CMake files"
