#!/bin/sh
# setup.sh [demo|rest]: Debian or Ubuntu packages that the tests use, only those of the demo, or those of `make test-rest`, too. Already there: nothing happens.
set -eu
packages="make gcc g++ python3 python3-venv ca-certificates"
[ "${1:-}" = demo ] || packages="$packages git clang libcmocka-dev gnuplot-nox cmake pkg-config ccache"
[ "${1:-}" != rest ] || packages="$packages g++-aarch64-linux-gnu qemu-user" # a build for another machine, run here
blas=libblas-test # where the distribution has it: programs of the reference BLAS, which tests/dropin runs under the face
amd="hipcc rocm-device-libs libamdhip64-dev" # where the distribution has them: gfx90a kernels are compiled by the tests
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: this is neither Debian nor Ubuntu; needed, under whatever names: $packages"
    exit 0
fi
is_missing() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" != installed ]
}
missing= wanted=
for p in $packages; do
    is_missing "$p" && missing="$missing $p"
done
[ "${1:-}" = demo ] || command -v hipcc >/dev/null || for p in $amd; do
    is_missing "$p" && wanted="$wanted $p"
done
[ "${1:-}" != demo ] && is_missing $blas || blas=
[ -z "$missing$wanted$blas" ] && exit 0
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || { echo "setup.sh: run as root: apt-get install$missing" >&2; exit 1; }
fi
echo "APT$missing$wanted${blas:+ $blas}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
    $as_root apt-get update -qq
    # an Ubuntu without ROCm's packages leaves those tests out, and says so
    [ -z "$wanted" ] || apt-cache show $amd >/dev/null 2>&1 || { wanted=; echo "setup.sh: this release has no hipcc"; }
    [ -z "$blas" ] || apt-cache show $blas >/dev/null 2>&1 || { blas=; echo "setup.sh: this release has no libblas-test"; }
    [ -z "$missing$wanted$blas" ] ||
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing $wanted $blas
} >"$log" 2>&1 || { cat "$log" >&2; echo "setup.sh: apt-get failed (above); it needs the network" >&2; exit 1; }
