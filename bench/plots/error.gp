# error.gp: error against n, log-log, one panel per family, one line per contender.
# Reads report.tsv (columns: family m n k contender frob ...), writes error.svg.tmp, renamed by the caller.
# Given with -e: families = "uniform normal ...", contenders = "cublas-sgemm half ...", rows and columns of the grid.
set terminal svg size 340 * columns, 260 * rows + 60 font "sans-serif,11" background "white"
set output "error.svg.tmp"
set datafile separator "\t"
set datafile missing NaN
set logscale xy
set format y "10^{%L}"
set format x "%.0f"
set xlabel "n" offset 0, 0.6
set ylabel "relative Frobenius error" offset 1.2, 0
set xtics 4 offset 0, 0.3
set grid ytics lc rgb "#dddddd"
set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05
unset key
family_of(i) = word(families, i)
pick(family, contender) = (strcol(1) eq family && strcol(5) eq contender && column(6) > 0) ? column(6) : NaN
set multiplot layout rows, columns title "Error against n (m = n = k), reference FP64" noenhanced
do for [i = 1:words(families)] {
    set title family_of(i) noenhanced
    if (i == 1) { set key top left samplen 1.5 spacing 0.9 font "sans-serif,8" noenhanced } else { unset key }
    # A family whose errors are all zero or infinite still gets its panel: the invisible point holds the axes open.
    plot for [c = 1:words(contenders)] "report.tsv" every ::1 \
             using (column(3)):(pick(family_of(i), word(contenders, c))) \
             with linespoints pointtype c pointsize 0.5 linewidth 1.3 title word(contenders, c), \
         "report.tsv" every ::1 using (column(3)):(1e-7) with dots linecolor rgb "#ffffff" notitle
}
unset multiplot
