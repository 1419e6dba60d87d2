#!/bin/sh
# What `make install` and `make uninstall` do: install.sh install|uninstall
# In the environment: PREFIX, LIBDIR (below PREFIX, or a path of its own), DESTDIR, SONAME; for install also SET (out/NAME, built),
# VERSION, VENDOR (NVIDIA or AMD; empty: the simulator's half alone), and of NVIDIA's toolkit CUDA, its folder, and CUDA_LIB, lib64 or lib.
# Everything is written under temporary names first; then all of it is renamed into place.
set -eu
umask 022 # others read what is installed, whoever installs it
fail() {
    echo "install: $*" >&2
    exit 2
}
newline='
'
for path in "$PREFIX" "$LIBDIR" "${CUDA:-}"; do # these stand in the pkg-config files and in CMake's
    case $path in *[\"\\\$\;\#\`]* | *"$newline"*) fail "no \" \\ \$ ; # \` or line breaks in the path '$path': name another PREFIX or LIBDIR" ;; esac
done
case $PREFIX in /*) ;; *) fail "PREFIX '$PREFIX' is not an absolute path" ;; esac
prefix=${PREFIX%/} libdir=${LIBDIR%/}
case $libdir in /*) ;; *) libdir=$prefix/$libdir ;; esac
root=$DESTDIR$prefix lib=$DESTDIR$libdir
# What is preloaded; a set has those of its vendor.
faces="libhalftone_cublas.so libhalftone_blas.so libhalftone_hipblas.so"
device_files="$lib/libhalftone.a$newline$lib/libhalftone.so$newline$lib/pkgconfig/halftone.pc$newline$root/bin/halftone"

# What of an installation is there, one path a line. A shared library of another major version belongs to other programs.
installed() {
    {
        for file in libhalftone-sim.a libhalftone-sim.so $faces; do printf '%s\n' "$lib/$file"; done
        for file in halftoneConfig.cmake halftoneConfigVersion.cmake; do printf '%s\n' "$lib/cmake/halftone/$file"; done
        printf '%s\n' "$device_files" "$lib/$SONAME" "$lib/$SONAME".* "$lib/pkgconfig/halftone-sim.pc" \
            "$root/bin/halftone-sim" "$root/include/halftone.h" "$root/include/halftone-sim/cuda_runtime_api.h" \
            "$root/share/doc/halftone/LICENSE" "$root/share/doc/halftone/MANUAL.md" "$root/share/halftone/pages.py" "$root/share/man/man1/halftone.1"
    } | while IFS= read -r file; do if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\n' "$file"; fi; done
}

if [ "$1" = uninstall ]; then
    found=$(installed)
    [ -n "$found" ] || fail "nothing of halftone is in $root: give the PREFIX, LIBDIR and DESTDIR of its installation"
    printf '%s\n' "$found" | while IFS= read -r file; do rm "$file"; done
    for folder in "$lib/cmake/halftone" "$root/include/halftone-sim" "$root/share/doc/halftone" "$root/share/halftone"; do
        [ ! -d "$folder" ] || rmdir --ignore-fail-on-non-empty "$folder"
    done
    echo "$root: removed $(printf '%s\n' "$found" | wc -l) files"
    exit 0
fi

# A library of another build must not stay beside the new header.
if [ -z "$VENDOR" ]; then
    old=$(printf '%s\n' "$device_files" | while IFS= read -r file; do [ ! -e "$file" ] || printf '%s ' "$file"; done)
    [ -z "$old" ] || fail "only the simulator's half was built, and of an earlier installation there is ${old% }:" \
        "make uninstall PREFIX=$PREFIX first, or build with $(grep -q amdhip64 "$lib/pkgconfig/halftone.pc" 2>/dev/null && echo hipcc || echo nvcc)"
fi

stage=$(mktemp -d) || exit 2
temporary=.halftone-install.$$
undo() { # what was not renamed goes
    [ ! -f "$stage/list" ] || while IFS= read -r file; do rm -f "${file%/*}/$temporary.${file##*/}"; done <"$stage/list"
    rm -rf "$stage"
}
trap undo EXIT
trap 'exit 1' INT TERM HUP
: >"$stage/list"
put() { # put MODE SOURCE FILE
    mkdir -p "${3%/*}" || fail "nothing was installed"
    printf '%s\n' "$3" >>"$stage/list"
    at=${3%/*}/$temporary.${3##*/}
    { cp "$2" "$at" && chmod "$1" "$at"; } || fail "$3 cannot be written; nothing was installed"
}
put_link() { # put_link TARGET FILE
    printf '%s\n' "$2" >>"$stage/list"
    ln -s "$1" "${2%/*}/$temporary.${2##*/}" || fail "$2 cannot be written; nothing was installed"
}

# ---- pkg-config: quotes, because a folder may hold a blank
case $libdir in "$prefix"/*) pc_libdir="\${prefix}${libdir#"$prefix"}" ;; *) pc_libdir=$libdir ;; esac
pc_head() { # pc_head NAME DESCRIPTION
    printf '%s\n' "prefix=$prefix" "libdir=$pc_libdir" "includedir=\${prefix}/include"
    [ "$1" != halftone ] || [ "$VENDOR" != NVIDIA ] || printf '%s\n' "cudadir=$CUDA" "cudalibdir=\${cudadir}/$CUDA_LIB"
    printf '%s\n' "" "Name: $1" "Description: $2" "URL: file://\${prefix}/share/doc/halftone" "Version: $VERSION"
}
# Device memory is the caller's, so a program calls the CUDA or HIP runtime itself; the static one costs nothing where it is not called.
pc_device() {
    pc_head halftone "FP32 matrix products on $([ "$VENDOR" = AMD ] && echo "AMD's Matrix Cores" || echo tensor cores)"
    if [ "$VENDOR" = AMD ]; then
        printf '%s\n' 'Cflags: -I"${includedir}"' 'Libs: -L"${libdir}" -lhalftone -lamdhip64' 'Libs.private: -lstdc++ -lm -lpthread'
    else
        printf '%s\n' 'Cflags: -I"${includedir}" -I"${cudadir}/include"' \
            'Libs: -L"${libdir}" -lhalftone -L"${cudalibdir}" -lcudart_static -ldl -lrt -lpthread' 'Libs.private: -lstdc++ -lm'
    fi
}
pc_simulator() {
    pc_head halftone-sim "halftone in its simulator, with the part of the CUDA runtime that it plays; no GPU needed; for gcc and clang"
    printf '%s\n' 'Cflags: -I"${includedir}" -I"${includedir}/halftone-sim"' \
        'Libs: -L"${libdir}" -l:libhalftone-sim.a -lstdc++ -ldl -lpthread -lm'
}

# ---- CMake: the folder of the libraries is two above the package's; that of the headers may be elsewhere
up=
case $libdir in
"$prefix"/*)
    rest=${libdir#"$prefix"/}
    while [ -n "$rest" ]; do
        up=$up/..
        case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
    done
    cmake_prefix="\${halftone_libdir}$up"
    ;;
*) cmake_prefix=$prefix ;;
esac
cmake_config() {
    cat <<END
# halftone::halftone  shared library$([ "$VENDOR" = AMD ] || echo ", the CUDA runtime inside")
# halftone::static    static library, with the runtime that it calls
# halftone::sim       the same kernels in the simulator, and the part of the CUDA runtime that it plays
# The first two are there where the library was built for the device. Components have these names; shared is halftone.
get_filename_component(halftone_libdir "\${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(halftone_prefix "$cmake_prefix" ABSOLUTE)
set(halftone_has_device $([ -n "$VENDOR" ] && echo TRUE || echo FALSE))
set(halftone_vendor "$VENDOR")
set(halftone_cuda_library "${CUDA_LIB:+$CUDA/$CUDA_LIB/libcudart_static.a}") # of the toolkit that built it
set(halftone_soname "$SONAME")
set(halftone_file "libhalftone.so.$VERSION")
END
    cat <<'END'
macro(halftone_target name kind file)
  if(NOT TARGET halftone::${name})
    add_library(halftone::${name} ${kind} IMPORTED)
    set_target_properties(halftone::${name} PROPERTIES IMPORTED_LOCATION "${halftone_libdir}/${file}"
      INTERFACE_INCLUDE_DIRECTORIES "${halftone_prefix}/include")
  endif()
endmacro()
halftone_target(sim STATIC libhalftone-sim.a)
set_target_properties(halftone::sim PROPERTIES INTERFACE_LINK_LIBRARIES "stdc++;dl;pthread;m"
  INTERFACE_INCLUDE_DIRECTORIES "${halftone_prefix}/include;${halftone_prefix}/include/halftone-sim")
if(halftone_has_device)
  halftone_target(halftone SHARED "${halftone_file}")
  set_target_properties(halftone::halftone PROPERTIES IMPORTED_SONAME "${halftone_soname}")
  # The static library calls the runtime: CMake's target for it (from 3.17 on), or else the file that it was built with.
  set(halftone_runtime)
  if(halftone_vendor STREQUAL "AMD")
    set(halftone_runtime amdhip64)
  else()
    if(NOT TARGET CUDA::cudart_static)
      find_package(CUDAToolkit QUIET)
    endif()
    if(TARGET CUDA::cudart_static)
      set(halftone_runtime CUDA::cudart_static)
    elseif(EXISTS "${halftone_cuda_library}")
      set(halftone_runtime "${halftone_cuda_library}")
    endif()
  endif()
  if(halftone_runtime)
    halftone_target(static STATIC libhalftone.a)
    set_target_properties(halftone::static PROPERTIES INTERFACE_LINK_LIBRARIES "${halftone_runtime};stdc++;dl;rt;pthread;m")
  elseif(NOT halftone_FIND_QUIETLY)
    message(STATUS "halftone: no target halftone::static, because there is no CUDA toolkit: set CUDAToolkit_ROOT")
  endif()
endif()
foreach(halftone_component IN LISTS halftone_FIND_COMPONENTS)
  string(REPLACE shared halftone halftone_name "${halftone_component}")
  set(halftone_${halftone_component}_FOUND FALSE)
  if(TARGET "halftone::${halftone_name}")
    set(halftone_${halftone_component}_FOUND TRUE)
  elseif(halftone_FIND_REQUIRED_${halftone_component})
    set(halftone_FOUND FALSE)
    set(halftone_NOT_FOUND_MESSAGE "no component '${halftone_component}' is installed; components are \
shared and static, where the library was built for the device, and sim")
  endif()
endforeach()
END
}
cmake_version() {
    cat <<END
set(PACKAGE_VERSION "$VERSION")
END
    cat <<'END'
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
# Before 1.0 a new minor version may change the interface; a range says itself what it takes.
if(PACKAGE_FIND_VERSION_RANGE)
  if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION_MIN AND
     (PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION_MAX OR
      (PACKAGE_FIND_VERSION_RANGE_MAX STREQUAL "INCLUDE" AND PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION_MAX)))
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
elseif(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" have "${PACKAGE_VERSION}")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" want "${PACKAGE_FIND_VERSION}.0")
  if(have STREQUAL want OR NOT PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()
END
}

# ---- all of it under temporary names
pc_simulator >"$stage/halftone-sim.pc"
cmake_config >"$stage/halftoneConfig.cmake"
cmake_version >"$stage/halftoneConfigVersion.cmake"
sh runtime/man.sh "$SET/halftone-sim" "$VERSION" >"$stage/halftone.1" || fail "$SET/halftone-sim does not run here; nothing was installed"
put 644 "$SET/halftone.h" "$root/include/halftone.h"
put 644 runtime/sim/cuda/cuda_runtime_api.h "$root/include/halftone-sim/cuda_runtime_api.h"
put 644 "$SET/libhalftone-sim.a" "$lib/libhalftone-sim.a"
put 755 "$SET/libhalftone-sim.so" "$lib/libhalftone-sim.so"
put 755 "$SET/halftone-sim" "$root/bin/halftone-sim"
for face in $faces; do [ ! -f "$SET/$face" ] || put 755 "$SET/$face" "$lib/$face"; done
put 644 LICENSE "$root/share/doc/halftone/LICENSE"
put 644 runtime/MANUAL.md "$root/share/doc/halftone/MANUAL.md"
put 644 "$stage/halftone.1" "$root/share/man/man1/halftone.1"
put 644 bench/pages.py "$root/share/halftone/pages.py" # what the commands draw pages with
put 644 "$stage/halftone-sim.pc" "$lib/pkgconfig/halftone-sim.pc"
put 644 "$stage/halftoneConfig.cmake" "$lib/cmake/halftone/halftoneConfig.cmake"
put 644 "$stage/halftoneConfigVersion.cmake" "$lib/cmake/halftone/halftoneConfigVersion.cmake"
if [ -n "$VENDOR" ]; then
    pc_device >"$stage/halftone.pc"
    put 644 "$SET/libhalftone.a" "$lib/libhalftone.a"
    put 755 "$SET/libhalftone.so" "$lib/libhalftone.so.$VERSION"
    put_link "libhalftone.so.$VERSION" "$lib/$SONAME"
    put_link "$SONAME" "$lib/libhalftone.so"
    put 755 "$SET/halftone" "$root/bin/halftone"
    put 644 "$stage/halftone.pc" "$lib/pkgconfig/halftone.pc"
fi
while IFS= read -r file; do mv -f "${file%/*}/$temporary.${file##*/}" "$file"; done <"$stage/list"
# ldconfig takes the highest version of a name: others of this major version go.
[ -z "$VENDOR" ] || for file in "$lib/$SONAME".*; do [ "$file" = "$lib/libhalftone.so.$VERSION" ] || rm -f "$file"; done
echo "$root: halftone.h, libhalftone-sim.a, libhalftone-sim.so${VENDOR:+, libhalftone.a, libhalftone.so}, commands, pkg-config and CMake files, manual, manual page, licence"
[ -z "$VENDOR$DESTDIR" ] || [ -n "$DESTDIR" ] || echo "Programs find the shared library after ldconfig (as root, where $libdir is in its list), by LD_LIBRARY_PATH or by an rpath"
