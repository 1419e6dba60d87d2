/* metrics: error measures of a product. See metrics.h. */
#include "accuracy/metrics.h"

#include <math.h>
#include <string.h>

#define FLOAT_UNIT 0x1p-24 /* half a unit in the last place of 1.0f */

int metrics_class(float x) {
    return isnan(x) ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

/* Running error of one result against one reference. */
struct pairing {
    double max_error, mred_sum, max_abs;
};

static void add_pair(struct pairing *p, double result, double truth) {
    double distance = fabs(result - truth), sum = fabs(result) + fabs(truth);
    if (distance == 0)
        return; /* also 0 against 0, whose relative error is 0 */
    p->max_error = fmax(p->max_error, distance / sum);
    p->mred_sum += distance / fabs(truth); /* infinite where the truth is zero */
    p->max_abs = fmax(p->max_abs, distance);
}

static void mark_failed(struct metrics *out) {
    out->rel_frobenius = out->grade = (double)NAN;
    out->max_error = out->mred = out->max_abs = (double)NAN;
    out->max_error_cpu = out->mred_cpu = out->max_abs_cpu = (double)NAN;
}

static double ratio(double part, double whole) {
    return part == 0 ? 0 : part / whole;
}

/* A finite result where the CPU's FP32 sum overflowed on the way is not this result's fault: such elements,
 * known by `single` being of another class than the truth, are left out of the comparison with the CPU. */
void metrics_compute(const struct metrics_truth *t, const float *result, struct metrics *out) {
    struct pairing exact = {0, 0, 0}, cpu = {0, 0, 0};
    double error2 = 0, truth2 = 0, grade = 0;
    int64_t used = 0, used_cpu = 0;
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < t->count; i++) {
        int wanted = metrics_class((float)t->exact[i]);
        if (metrics_class(result[i]) != wanted) {
            out->wrong_class++;
            continue;
        }
        if (wanted != 0)
            continue;
        double truth = t->exact[i], error = fabs((double)result[i] - truth);
        used++;
        error2 += error * error;
        truth2 += truth * truth;
        grade = fmax(grade, ratio(error, FLOAT_UNIT * t->magnitude[i]));
        add_pair(&exact, (double)result[i], truth);
        if (t->single != NULL && metrics_class(t->single[i]) == 0) {
            used_cpu++;
            add_pair(&cpu, (double)result[i], (double)t->single[i]);
        }
    }
    if (out->wrong_class > 0) {
        mark_failed(out);
        return;
    }
    out->rel_frobenius = ratio(sqrt(error2), sqrt(truth2));
    out->grade = grade;
    out->max_error = exact.max_error;
    out->mred = ratio(exact.mred_sum, (double)used);
    out->max_abs = exact.max_abs;
    int has_cpu = t->single != NULL;
    out->max_error_cpu = has_cpu ? cpu.max_error : (double)NAN;
    out->mred_cpu = has_cpu ? ratio(cpu.mred_sum, (double)used_cpu) : (double)NAN;
    out->max_abs_cpu = has_cpu ? cpu.max_abs : (double)NAN;
}

double metrics_histogram(const struct metrics_truth *t, const float *result, double limit, int64_t *bins,
                         int bin_count) {
    memset(bins, 0, sizeof *bins * (size_t)bin_count);
    if (limit <= 0)
        for (int64_t i = 0; i < t->count; i++) {
            double error = fabs((double)result[i] - t->exact[i]);
            if (error > limit && error <= (double)INFINITY)
                limit = error;
        }
    if (!(limit > 0) || isinf(limit))
        limit = 1; /* nothing to spread: all in the middle, infinities at the ends */
    for (int64_t i = 0; i < t->count; i++) {
        double error = (double)result[i] - t->exact[i];
        if (isnan(error))
            continue;
        double place = floor((error + limit) / (2 * limit) * bin_count);
        int bin = place < 0 ? 0 : place >= bin_count ? bin_count - 1 : (int)place;
        bins[bin]++;
    }
    return limit;
}

int64_t metrics_first_difference(const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0)
            return i;
    return -1;
}
