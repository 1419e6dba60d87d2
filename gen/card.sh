#!/bin/sh
# The budgets and this machine's GPU; CARD is the program made from runtime/card.c.
#   card.sh pick CARD            prints the first GPU, the reason and, as its last word, the set for it
#   card.sh fits CARD BUDGET...  whether a set of these budgets' instruction sets runs on the first GPU; if not, one line on stderr
# Of the sets that run there (sm_90a: on 9.0 alone) the one whose GPU has the card's compute capability or the nearest lower one;
# among these the one that names the card (`also_for`), and then the one whose number of multiprocessors is nearest.
set -eu
mode=$1 card=$2
shift 2
folder=$(dirname "$0")/gpus
[ "$mode" = fits ] || set -- "$folder"/*.gpu
known=$(cd "$folder" && echo *.gpu | sed 's/\.gpu//g')
if ! cards=$("$card" 2>&1); then
    echo "no GPU was found here: $cards; sets, by name: $known" >&2
    exit 2
fi
printf '%s\n' "$cards" | awk -v mode="$mode" -v known="$known" '
    # The number of an NVIDIA target: sm_90a is 90; other targets have none.
    function number(isa) { return match(isa, /^sm_[0-9]+/) ? substr(isa, 4, RLENGTH - 3) + 0 : 0 }
    function runs(isa) {
        if (isa == card_isa) return 1
        if (isa ~ /^sm_[0-9]+a$/) return number(isa) == number(card_isa)
        return number(isa) > 0 && number(isa) <= number(card_isa)
    }
    function value(line) { sub(/^[^=]*=[ \t]*/, "", line); sub(/[ \t]*#.*$/, "", line); sub(/[ \t\r]+$/, "", line); return line }
    # Letters of the longest part of `also_for` that is in the name of the card.
    function match_of(names,    i, count, part, longest) {
        count = split(names, part, /, */)
        for (i = 1; i <= count; i++)
            if (length(part[i]) > longest && index(tolower(product), tolower(part[i]))) longest = length(part[i])
        return longest + 0
    }
    function better() {
        if (best == "" || capability != best_capability) return best == "" || capability > best_capability
        return named != best_named ? named > best_named : far < best_far
    }
    function consider() {
        asked = asked (asked == "" ? "" : ", ") name " (" isa ")"
        if (capability == "") capability = number(isa)
        if (name == "" || !runs(isa) || (number(card_isa) && capability > number(card_isa))) return
        far = sms > card_sms ? sms - card_sms : card_sms - sms
        named = match_of(names)
        if (better()) { best = name; best_capability = capability; best_isa = isa; best_far = far; best_named = named }
    }
    FILENAME == "-" {
        if (FNR == 1) { card_isa = $2; card_sms = $3 + 0; product = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", product) }
        cards = FNR
        next
    }
    FNR == 1 { if (begun++) consider(); name = ""; isa = ""; names = ""; capability = ""; sms = 0 }
    /^name[ \t]*=/ { name = value($0) }
    /^isa[ \t]*=/ { isa = value($0) }
    /^sms[ \t]*=/ { sms = value($0) + 0 }
    /^also_for[ \t]*=/ { names = value($0) }
    /^compute_capability[ \t]*=/ { capability = value($0); sub(/\./, "", capability); capability += 0 }
    END {
        if (begun) consider()
        found = product " (" card_isa ", " card_sms " multiprocessors" (cards > 1 ? ", the first of " cards " GPUs" : "") ")"
        if (mode == "fits") {
            if (best != "") exit 0
            print "the kernels of " asked " do not run on " found "; see GPU=native" >"/dev/stderr"
            exit 2
        }
        if (best == "") {
            print "no set runs on " found "; sets, by name: " known >"/dev/stderr"
            exit 2
        }
        if (best_capability < number(card_isa)) reason = "by PTX of the nearest lower compute capability (" best_isa ")"
        else if (best_named) reason = "by its name"
        else reason = "by its compute capability and the nearest number of multiprocessors"
        print found ", " reason ": set " best
    }' - "$@"
