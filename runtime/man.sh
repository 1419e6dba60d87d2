#!/bin/sh
# The manual page of the command, made of what it says itself: man.sh path/of/halftone VERSION >halftone.1
set -eu
command=$1 version=$2
# Text as it stands: nothing in it is roff's, and quotes and hyphens are those of a shell.
plain() {
    sed -e 's/\\/\\e/g' -e "s/'/\\\\(aq/g" -e 's/`/\\(ga/g' -e 's/\^/\\(ha/g' -e 's/~/\\(ti/g' -e 's/-/\\-/g' -e 's/^\./\\\&./'
}
lines() {
    echo .nf
    plain
    echo .fi
}
help=$("$command" --help)
cat <<END
.\\" Made by runtime/man.sh of what \`halftone COMMAND --help\` prints.
.TH HALFTONE 1 "" "halftone $version"
.SH NAME
halftone, halftone\\-sim \\- $(printf '%s\n' "$help" | sed -n '1s/^halftone: //p' | plain)
.SH DESCRIPTION
.B halftone\\-sim
is the same command in the simulator, which needs no GPU. The library's manual is share/doc/halftone/MANUAL.md.
.PP
END
printf '%s\n' "$help" | sed '1,2d' | lines
echo '.SH COMMANDS'
for name in $(printf '%s\n' "$help" | sed -n 's/^  \([a-z-]\{1,\}\) .*/\1/p'); do
    text=$("$command" "$name" --help)
    printf '.SS %s\n' "$name"
    printf '%s\n' "$text" | lines
done
