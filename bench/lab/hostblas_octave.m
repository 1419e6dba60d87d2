% Octave's products, timed and held against sums of its own: octave-cli hostblas_octave.m NAME TIMES SIZE...
% As hostblas_r.R, in FP64 and FP32; the sums are of 64 terms each, then of these, in FP64: their own rounding, a few units of 2^-53, is in FP64's errors.
1;
function far = of_elements(c, left, right, unit)
    far = 0;
    for i = round(linspace(1, rows(c), 16)), for j = round(linspace(1, columns(c), 16))
        terms = reshape(double(left(:, i)) .* double(right(:, j)), 64, []);
        far = max(far, abs(double(c(i, j)) - sum(sum(terms))) / sum(sum(abs(terms))));
    end, end
    far /= unit;
end

% x' * x is syrk where it is written so
function c = of_two(square, x, y)
    if square, c = x' * x; else, c = x * y; end
end

function measure(name, times, n)
    for kind = {"double", "single"}
        type = kind{1}; unit = 2^-53; word = "float64";
        if strcmp(type, "single"), unit = 2^-24; word = "float32"; end
        rand("twister", n);
        a = feval(type, rand(n) - 0.5); b = feval(type, rand(n) - 0.5); whole = feval(type, floor(15 * rand(n)) - 7);
        for product = {"a * b", "a' * a"}
            square = strcmp(product{1}, "a' * a");
            tic; c = of_two(square, a, b); first = toc; best = first;
            for t = 1:times, tic; of_two(square, a, b); best = min(best, toc); end
            if square, left = a; right = a; of_whole = whole; else, left = a'; right = b; of_whole = whole'; end
            exact = of_elements(of_two(square, whole, whole), of_whole, whole, unit);
            far = of_elements(c, left, right, unit);
            if exact != 0 || far >= 4 * n, error("%s of %d: %g, whole numbers %g", product{1}, n, far, exact); end
            printf("%s\tOctave\t%s\t%d\t%s\t%.4f\t%.4f\t%.3g\n", name, word, n, product{1}, first, best, far);
        end
    end
end

words = argv();
for i = 3:numel(words), measure(words{1}, str2double(words{2}), str2double(words{i})); end
