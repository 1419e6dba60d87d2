#!/bin/sh
# setup.sh [demo]: Debian or Ubuntu packages that the tests use, or only those of the demo. Already there: nothing happens.
set -eu
packages="make gcc g++ python3 python3-venv ca-certificates"
[ "${1:-}" = demo ] || packages="$packages git clang libcmocka-dev gnuplot-nox cmake pkg-config"
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: this is neither Debian nor Ubuntu; needed, under whatever names: $packages"
    exit 0
fi
missing=
for p in $packages; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || { echo "setup.sh: run as root: apt-get install$missing" >&2; exit 1; }
fi
echo "APT$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
    $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
} >"$log" 2>&1 || { cat "$log" >&2; echo "setup.sh: apt-get failed (above); it needs the network" >&2; exit 1; }
