# R's products, timed and held against sums of its own: R -f hostblas_r.R --args NAME TIMES SIZE...
# Knows nothing of a face. A line for each size and product: NAME, R, type, n, product, seconds of the first call, the best of TIMES further ones, the
# largest |C - C'| / (|A||B|) over 16 x 16 elements in units of 2^-53, where C' are R's own sums (long double). Whole numbers must be exact, or it fails.
words <- commandArgs(TRUE)
times <- as.integer(words[2])

seconds <- function(call) {
    start <- proc.time()[["elapsed"]]
    call()
    proc.time()[["elapsed"]] - start
}

# largest error over sampled elements, against sum(), which no BLAS computes
error <- function(c, left, right) {
    worst <- 0
    for (i in round(seq(1, nrow(c), length.out = 16))) for (j in round(seq(1, ncol(c), length.out = 16))) {
        terms <- left(i) * right(j)
        worst <- max(worst, abs(c[i, j] - sum(terms)) / sum(abs(terms)))
    }
    worst * 2^53
}

measure <- function(n) {
    result <- NULL
    set.seed(n)
    whole <- matrix(sample(-7:7, n * n, TRUE) + 0, n)
    a <- matrix(runif(n * n) - 0.5, n)
    b <- matrix(runif(n * n) - 0.5, n)
    products <- list("a %*% b" = function(x, y) x %*% y, "crossprod(a)" = function(x, y) crossprod(x))
    for (product in names(products)) {
        call <- products[[product]]
        first <- seconds(function() result <<- call(a, b))
        best <- if (times > 0) min(replicate(times, seconds(function() call(a, b)))) else first
        of_rows <- product == "a %*% b"
        far <- error(result, function(i) if (of_rows) a[i, ] else a[, i], function(j) if (of_rows) b[, j] else a[, j])
        exact <- error(call(whole, whole), function(i) if (of_rows) whole[i, ] else whole[, i], function(j) whole[, j])
        stopifnot(exact == 0, far < 4 * n)
        cat(words[1], "R", "float64", n, product, sprintf("%.4f", first), sprintf("%.4f", best), sprintf("%.3g", far), sep = "\t")
        cat("\n")
    }
    # LAPACK, whose blocks call BLAS
    positive <- crossprod(a) + diag(n)
    spent <- seconds(function() result <<- chol(positive))
    back <- max(abs(crossprod(result) - positive)) / max(abs(positive)) * 2^53
    stopifnot(back < n)
    cat(words[1], "R", "float64", n, "chol", sprintf("%.4f", spent), sprintf("%.4f", spent), sprintf("%.3g", back), sep = "\t")
    cat("\n")
}

for (n in as.integer(words[-(1:2)])) measure(n)
