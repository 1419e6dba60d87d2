#!/bin/sh
# Debian or Ubuntu packages that the tests use. Already there: nothing happens.
set -eu
packages="gcc g++ make clang clang-format libcmocka-dev libmpfr-dev gnuplot-nox python3 python3-venv"
missing=
for p in $packages; do
    dpkg -s "$p" >/dev/null 2>&1 || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing
