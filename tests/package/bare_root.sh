#!/bin/sh
# The README's commands on a machine that has nothing: bare_root.sh [all]
# Makes two bare roots of this Debian or Ubuntu (debootstrap, variant minbase), one of them with git and the repository's history, and runs
# in each the README's first command as it stands there. In the one without git then what a user without CUDA does: make, make
# toolchain, make again, and the README's lines that link a program. `all`: the README's test command too.
# Needs root, debootstrap, the network and 3 GB below TMPDIR. Run by hand: 5 CPU minutes, with `all` half an hour more.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
fail() {
    echo "bare_root.sh: $*" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || fail "needs root"
command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
[ "${IN_NAMESPACE:-}" = 1 ] || IN_NAMESPACE=1 exec unshare --mount sh "$0" "$@" # mounts end with this process
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sed -n "s/^$codename //p" | sort -u | head -1)
work=$(mktemp -d)
trap 'umount -R "$work"/*/proc "$work"/*/dev 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT

readme_lines() { # readme_lines PATTERN: commands of the README, without what is said behind '#'
    { sed -n 's/^    \(\S.*\)$/\1/p' "$here/README.md" && grep -o '`make [^`]*`' "$here/README.md" | tr -d '`'; } >"$work/lines"
    grep -E "$1" "$work/lines" | sed 's/[[:space:]]*#.*//' | grep . || fail "the README has no command '$1'"
}
inside() { # inside ROOT COMMAND
    echo "== $1: $2"
    chroot "$work/$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} sh -ec "cd /root/halftone && $2"
}
check() { # check FILE PATTERN
    grep -q "$2" "$1" || { cat "$1"; fail "'$2' is not in what the command said"; }
}

debootstrap --variant=minbase "$codename" "$work/bare" "$mirror" >"$work/log" 2>&1 || { tail "$work/log"; fail "debootstrap failed"; }
mkdir -p "$work/bare/root/halftone"
(cd "$here" && tar -cf - --exclude=./out --exclude=./.git .) | tar -xf - -C "$work/bare/root/halftone"
# the certificates of a network that has its own
if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then cp -r /usr/local/share/ca-certificates "$work/bare/usr/local/share/"; fi
cp /etc/resolv.conf "$work/bare/etc/resolv.conf"
cp -a "$work/bare" "$work/git"
for root in bare git; do
    mount -t proc proc "$work/$root/proc" && mount --rbind /dev "$work/$root/dev"
done
if [ -d "$here/.git" ]; then
    cp -a "$here/.git" "$work/git/root/halftone/.git"
    chown -R 0:0 "$work/git/root/halftone"
    inside git "apt-get update -qq && apt-get install -y -qq --no-install-recommends git" >"$work/log" 2>&1 || { tail "$work/log"; fail "git cannot be installed"; }
fi

first=$(readme_lines '^sh tests/setup.sh demo')
for root in bare git; do
    inside $root "$first" >"$work/log" 2>&1 || { cat "$work/log"; fail "the README's first command failed"; }
    check "$work/log" '^f16x3 '
    tail -3 "$work/log"
done

# without CUDA: said, and not a success; the simulator's half is there
if inside bare "make GPU=a800 SCHEMES=f16x3" >"$work/log" 2>&1; then fail "make GPU=a800 without nvcc ended with 0"; fi
check "$work/log" 'out/a800/halftone-sim'
inside bare "out/a800/halftone-sim info" >/dev/null
inside bare "make toolchain" >"$work/log" 2>&1 || { cat "$work/log"; fail "make toolchain failed"; }
cat "$work/log"
cuda=$(sed -n 's|^nvcc: \(.*\)/bin/nvcc$|\1|p' "$work/log")
[ -n "$cuda" ] || fail "make toolchain does not say where nvcc is"
inside bare "make GPU=a800 SCHEMES=f16x3" | tail -1
sed -n '/^#include <cuda_runtime_api.h>/,/^```/{/^```/d;p}' "$here/README.md" >"$work/bare/root/halftone/app.c"
lines=$(readme_lines '^(nvcc|cc) .*-Iout/a800')
printf '%s\n' "$lines" | while read -r line; do
    case $line in
    nvcc* | *cudart*) ;;
    *) line="printf '#include \"halftone.h\"\nint main(void) { return !halftone_version(); }\n' >app.c; $line && LD_LIBRARY_PATH=out/a800 ./a.out" ;;
    esac
    inside bare "export PATH=\"$cuda/bin:\$PATH\"; $(printf '%s' "$line" | sed "s|/usr/local/cuda|$cuda|g")"
done

if [ "${1:-}" = all ]; then
    second=$(readme_lines '^make test')
    inside bare "rm -f app.c a.out; $second"
fi
echo "bare_root.sh: passed"
