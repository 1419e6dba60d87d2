# promotion.gp: error against the promotion interval, one panel for each scheme and family, one line for each k; dashed: native
# FP32 at that k. Reads a table of bench/lab/run promotion (columns: method interval family k n rel_frobenius grade bound):
#   gnuplot -e "table='h200-promotion.tsv'; picture='h200-promotion.svg'; schemes='f16x3 bf16x6'; ks='256 65536'" promotion.gp
# native: name of the native method, default cublas-sgemm.
if (!exists("schemes")) schemes = "f16x3 bf16x6 bf16x9 tf32x3"
if (!exists("ks")) ks = "64 256 1024 4096 16384 65536"
if (!exists("native")) native = "cublas-sgemm"
families = "uniform llm"
set terminal svg size 300 * words(schemes), 520 font "sans-serif,11" background "white"
set output picture
set datafile separator "\t"
set datafile missing NaN
set logscale xy
set format y "10^{%L}"
set xtics ("16" 16, "32" 32, "64" 64, "128" 128, "256" 256, "512" 512, "1k" 1024, "none" 4096) font "sans-serif,9"
set xrange [11:6000]
set xlabel "promotion interval, k" offset 0, 0.4
set ylabel "relative Frobenius error" offset 1.2, 0
set yrange [2e-8:2e-3]
set grid ytics lc rgb "#dddddd"
place(dummy) = strcol(2) eq "none" ? 4096 : column(2)
mine(scheme, family, k) = strcol(1) eq scheme && strcol(3) eq family && strcol(4) eq k
x(scheme, family, k) = mine(scheme, family, k) ? place(0) : NaN
set multiplot layout 2, words(schemes) title "Error against the promotion interval; dashed: native FP32" noenhanced
do for [f = 1:2] {
    do for [s = 1:words(schemes)] {
        set title word(schemes, s)." ".word(families, f) noenhanced
        if (f + s == 2) { set key top left samplen 1.2 spacing 0.9 font "sans-serif,8" } else { unset key }
        plot for [i = 1:words(ks)] table every ::1 using (x(word(schemes, s), word(families, f), word(ks, i))):6 \
                 with linespoints pointtype i pointsize 0.5 linewidth 1.3 linecolor i title "k = ".word(ks, i), \
             for [i = 1:words(ks)] table every ::1 \
                 using (mine(native, word(families, f), word(ks, i)) ? 11 : NaN):6:(6000):(0) \
                 with vectors nohead dashtype 2 linecolor i notitle
    }
}
unset multiplot
