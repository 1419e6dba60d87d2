# histogram.gp: LE-GEMM figs. 12 and 13: how often each signed error C - R occurs, one panel per method.
# Reads histogram.tsv (columns: family n method error count fraction), prints the picture. Part of the command (bench/halftone/io/plot.c).
# Given with -e: family, methods, rows and columns of the grid.
set terminal svg size 340 * columns, 240 * rows + 60 font "sans-serif,11" background "white"
set datafile separator "\t"
set datafile missing NaN
set style fill solid 0.7 noborder
set xtics autofreq font "sans-serif,8"
set format x "%.0e"
set ylabel "% of elements" offset 1.2, 0
set yrange [0:*]
unset key
pick(method) = strcol(3) eq method ? 100 * column(6) : NaN
place(method) = strcol(3) eq method ? column(4) : NaN
set multiplot layout rows, columns title "Signed error C - R, family ".family.", n = ".n noenhanced
do for [c = 1:words(methods)] {
    method = word(methods, c)
    set title method noenhanced
    stats "histogram.tsv" every ::1 using (place(method)) nooutput name "S"
    limit = S_max > 0 ? S_max : 1
    set xtics -limit, limit, limit
    set xrange [-1.02 * limit:1.02 * limit]
    plot "histogram.tsv" every ::1 using (place(method)):(pick(method)) with boxes linecolor rgb "#3366aa"
}
unset multiplot
