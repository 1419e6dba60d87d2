#!/bin/sh
# R and Octave as they are, on the host's memory, with the reference BLAS, with OpenBLAS, and with OpenBLAS under libhalftone_blas.so of SET (default
# h200; SIM=-sim: the simulator's command): host_programs.sh RESULTS PROGRAMS, by bench/lab/run host-programs, on a machine with a GPU. PROGRAMS is the
# folder that host_programs.sh pack FOLDER made; nothing is installed. RESULTS receives programs.tsv, lines of hostblas_r.R and hostblas_octave.m, which end
# where a check of theirs fails; calls.tsv, the face's log; run.err, what programs and `halftone run` wrote to stderr.
set -u

# Puts R and Octave into one folder with all the libraries that they need but libc, libstdc++ and libgcc: host_programs.sh pack FOLDER. They then run
# on another machine by LD_LIBRARY_PATH, R_HOME and OCTAVE_HOME, as below; nothing is installed, here or there.
# Packages are Debian's, by apt-get download (Debian 12: 130 MB unpacked). Left out: help, locales, plots, and what only graphics and image files
# need: ICU's data, which the C locale does not read, and libheif are empty stand-ins. FOLDER/openblas has the other BLAS.
pack() {
    mkdir -p "$1/lib" "$1/openblas" "$1/octave/share/octave"
    to=$(cd "$1" && pwd)
    debs=$(mktemp -d)
    trap 'rm -rf "$debs"' EXIT
    cd "$debs"
    apt-get download -q octave octave-common r-base-core libblas3 liblapack3 libgfortran5 libquadmath0 libreadline8 libtinfo6 libpcre2-8-0 libicu72 libtirpc3 \
        liblzma5 libbz2-1.0 zlib1g libgomp1 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libcom-err2 libkrb5support0 libkeyutils1 libopenblas0-pthread libamd2 \
        libarpack2 libccolamd2 libcholmod3 libcolamd2 libcurl3-gnutls libcurl4 libcxsparse3 libfftw3-double3 libfftw3-single3 libfontconfig1 libfreetype6 libgl1 \
        libgl2ps1.4 libglu1-mesa libgraphicsmagick++-q16-12 libgraphicsmagick-q16-3 libhdf5-103-1 libpcre3 libqrupdate1 libspqr2 libsuitesparseconfig5 libumfpack5 \
        libx11-6 libcamd2 libmetis5 libsz2 libaec0 libjxl0.7 libwebpmux3 libwebp7 libwmflite-0.2-7 libhwy1 libltdl7 libopengl0 libglvnd0 libglx0 libxcb1 libxau6 \
        libxdmcp6 libbsd0 libmd0 libexpat1 libpng16-16 libbrotli1 libgnutls30 libnettle8 libhogweed6 libgmp10 libidn2-0 libunistring2 libtasn1-6 libp11-kit0 \
        libffi8 libnghttp2-14 librtmp1 libssh2-1 libpsl5 libldap-2.5-0 libsasl2-2 libzstd1 libssl3 libjpeg62-turbo libtiff6 libxml2 liblcms2-2 libheif1 \
        libjbig0 libdeflate0 liblerc4 libxext6 >/dev/null
    for deb in *.deb; do dpkg -x "$deb" root; done
    from=$debs/root/usr/lib/x86_64-linux-gnu

    # R: a copy without links into /etc, without what draws
    rm -f root/usr/lib/R/etc/*
    cp root/etc/R/repositories root/etc/R/Rprofile.site root/usr/lib/R/etc/
    cp root/usr/lib/R/etc/Renviron.ucf root/usr/lib/R/etc/Renviron 2>/dev/null || :
    (cd root/usr/lib/R && rm -rf site-library share doc library/translations library/tcltk library/grid library/parallel library/splines library/stats4 \
        library/*/help library/*/html library/*/doc library/*/demo library/*/po library/grDevices/libs/cairo.so modules/R_X11.so modules/internet.so modules/R_de.so)
    cp -rL root/usr/lib/R "$to/"
    # Octave
    cp root/usr/bin/octave-cli "$to/octave/"
    cp -r root/usr/share/octave/7* "$to/octave/share/octave/"
    (cd "$to/octave/share/octave" && rm -rf ./*/doc ./*/etc ./*/locale ./*/imagelib ./*/data ./*/m/gui ./*/m/java ./*/m/pkg ./*/m/testfun ./*/m/web ./*/m/audio ./*/m/image ./*/m/ode \
        ./*/m/plot/appearance ./*/m/plot/draw)
    cp "$from"/octave/*/liboctinterp.so.10.* "$to/lib/liboctinterp.so.10"
    cp -L "$from"/openblas-pthread/libblas.so.3 "$from"/openblas-pthread/libopenblas.so.0 "$to/openblas/"
    rm -r "$from/openblas-pthread"

    # Libraries by name, of whatever a copied object needs, until nothing new is found
    while :; do
        new=0
        for name in $(find "$to/lib" "$to/R" -name '*.so*' -type f -exec readelf -d {} + | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u); do
            case $name in libc.so* | libm.so* | ld-linux* | libdl.so* | libpthread.so* | librt.so* | libresolv.so* | libutil.so* | libstdc++.so* | libgcc_s.so* | libR.so) continue ;; esac
            [ -e "$to/lib/$name" ] && continue
            case $name in
            libicudata.so*) echo "const char icudt${name##*.}_dat[4096] __attribute__((aligned(16))) = {0};" ;;
            libheif.so*) readelf --dyn-syms -W "$to"/lib/libGraphicsMagick-Q16.so* | sed -n 's/.* UND \(heif_[a-z_0-9]*\).*/void \1(void) {}/p' ;;
            *) : ;;
            esac >stand-in.c
            if [ -s stand-in.c ]; then
                gcc -shared -fPIC -o "$to/lib/$name" -Wl,-soname,"$name" stand-in.c
            else
                found=$(find root -name "$name" | head -1)
                [ -n "$found" ] || { echo "no package here has $name" >&2; exit 1; }
                cp -L "$found" "$to/lib/$name"
            fi
            new=1
        done
        [ $new = 1 ] || break
    done
    du -sh "$to"
}

if [ "$1" = pack ]; then
    set -e
    pack "$2"
    exit
fi
out=$1 programs=$(cd "$2" && pwd)
rm -f "$out/programs.tsv" "$out/calls.tsv" "$out/run.err"
run="out/${SET:-h200}/halftone${SIM:-} run --blas --log $out/calls.tsv --"

# program R|Octave NAME FACE FOLDER TIMES SIZE...: the words of FACE before it, FOLDER with its BLAS ("": the reference).
program() {
    which=$1 name=$2 face=$3 libraries=${4:+$programs/$4:}$programs/lib:$programs/R/lib
    shift 4
    echo "---- $which, $name" >>"$out/run.err"
    command="$programs/octave/octave-cli --norc --no-history bench/lab/hostblas_octave.m"
    [ "$which" = Octave ] || command="$programs/R/bin/exec/R --vanilla --no-echo -f bench/lab/hostblas_r.R --args"
    # shellcheck disable=SC2086 # words
    LC_ALL=C R_HOME=$programs/R OCTAVE_HOME=$programs/octave LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH:-} \
        timeout -s KILL 40 $face $command "$name" "$@" >>"$out/programs.tsv" 2>>"$out/run.err" || echo "$which, $name: exit code $?"
}

echo "$(nproc) cores; $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null)"
# shellcheck disable=SC2086 # words
for which in ${WHICH:-R Octave}; do
    program $which reference "" "" 0 ${REFERENCE:-1024} &
    program $which OpenBLAS "" openblas 3 ${SIZES:-1024 2048 4096}
    wait
    HALFTONE_BLAS_START_MS=0 program $which face "$run" openblas 3 ${SIZES:-1024 2048 4096} # each size for itself
    program $which "face, by default" "$run" openblas 3 ${SIZES:-1024 2048 4096}
    program $which "face, reference" "$run" "" 0 ${SIZES:-2048 4096}
done
awk -F'\t' '
    { of = sprintf("%-6s %-7s %5d %-12s", $2, $3, $4, $5); if (!(of in seen)) { seen[of] = 1; line[++lines] = of } best[of, $1] = $7; error[of, $1] = $8 }
    function ms(of, name) { return (of, name) in best ? sprintf("%8.1f", 1000 * best[of, name]) : "       -" }
    function units(of, name) { return (of, name) in error ? sprintf("%6.3g", error[of, name]) : "     -" }
    function over(of, name) { return (of, name) in best && best[of, "face"] > 0 ? sprintf("%6.2f", best[of, name] / best[of, "face"]) : "     -" }
    END {
        print "best ms: reference, OpenBLAS, face, by default, before the reference | OpenBLAS and reference over face | errors: reference, OpenBLAS, face"
        for (i = 1; i <= lines; i++) {
            of = line[i]
            print of, ms(of, "reference"), ms(of, "OpenBLAS"), ms(of, "face"), ms(of, "face, by default"), ms(of, "face, reference"), "|", over(of, "OpenBLAS"), over(of, "reference"), "|",
                units(of, "reference"), units(of, "OpenBLAS"), units(of, "face")
        }
    }' "$out/programs.tsv"
grep -v -e "^----" "$out/run.err" | sort | uniq -c | cut -c 1-140 | head -24
