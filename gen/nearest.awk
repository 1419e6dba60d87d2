# The word of `known` that is nearest to `word`, by the letters that have to be changed, added or left out; capitals aside.
#   awk -v word=SCHEME -v known="GPU SCHEMES LEAN" -f nearest.awk
function least(a, b, c) { return a < b ? (a < c ? a : c) : (b < c ? b : c) }
function distance(a, b,    i, j, row, diagonal, kept) {
    for (j = 0; j <= length(b); j++)
        row[j] = j
    for (i = 1; i <= length(a); i++) {
        diagonal = row[0]
        row[0] = i
        for (j = 1; j <= length(b); j++) {
            kept = row[j]
            row[j] = least(row[j] + 1, row[j - 1] + 1, diagonal + (substr(a, i, 1) != substr(b, j, 1)))
            diagonal = kept
        }
    }
    return row[length(b)]
}
BEGIN {
    count = split(known, name, " ")
    for (i = 1; i <= count; i++) {
        far = distance(toupper(word), toupper(name[i]))
        if (i == 1 || far < best_far) { best = name[i]; best_far = far }
    }
    print best
}
