# error.gp: error against n, log-log, one panel per family, one line per method.
# Reads report.tsv (columns: family exact n k rows method rel_frobenius ...), prints the picture. Part of the command (bench/halftone/io/plot.c).
# Given with -e: families = "uniform normal ...", methods = "cublas-sgemm half ...", rows and columns of the grid.
set terminal svg size 340 * columns, 260 * rows + 60 font "sans-serif,11" background "white"
set datafile separator "\t"
set datafile missing NaN
stats "report.tsv" every ::1 using 3 nooutput
if (STATS_min == STATS_max) { set xrange [STATS_min / 2.0:STATS_max * 2.0] } # of one size
set logscale xy
set format y "10^{%L}"
set format x "%.0f"
set xlabel "n" offset 0, 0.6
set ylabel "relative Frobenius error" offset 1.2, 0
set xtics 4 offset 0, 0.3
set grid ytics lc rgb "#dddddd"
set offsets graph 0.05, graph 0.05, 0, 0
set yrange [3e-11:30] # the same in all panels
unset clip one
unset key
family_of(i) = word(families, i)
floor_at = 1e-10 # errors of zero are drawn here
mine(family, method) = strcol(1) eq family && strcol(6) eq method
outside = 1e-30 # nothing is drawn where a result has the wrong class
rel_frobenius(dummy) = strcol(7) eq "nan" || strcol(7) eq "inf" ? outside : column(7) < floor_at ? floor_at : column(7)
pick(family, method) = mine(family, method) ? rel_frobenius(0) : NaN
set multiplot layout rows, columns title "Error against n (m = n = k), reference FP64; zero is drawn at 1e-10" noenhanced
do for [i = 1:words(families)] {
    set title family_of(i) noenhanced
    if (i == 1) { set key top left samplen 1.5 spacing 0.9 font "sans-serif,8" noenhanced } else { unset key }
    # A family without any finite error still gets its panel: the invisible points hold the axes open.
    plot for [c = 1:words(methods)] "report.tsv" every ::1 \
             using (column(3)):(pick(family_of(i), word(methods, c))) \
             with linespoints pointtype c pointsize 0.5 linewidth 1.3 title word(methods, c), \
         "report.tsv" every ::1 using (mine(family_of(i), word(methods, 1)) ? column(3) : NaN):(1e-7) \
             with dots linecolor rgb "#ffffff" notitle
}
unset multiplot
