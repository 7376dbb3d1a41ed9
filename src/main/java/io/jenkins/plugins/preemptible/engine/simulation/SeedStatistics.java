package io.jenkins.plugins.preemptible.engine.simulation;

import java.util.List;
import java.util.stream.DoubleStream;

/**
 * The results of several seeds: the median, the least and the most.
 *
 * <ol>
 *   <li>One value a seed.
 *   <li>Of an even number of values, the median is the mean of the two in the middle.
 *   <li>The least and the most are of single seeds: no interval of confidence.
 * </ol>
 */
public record SeedStatistics(double median, double least, double most) {

    static SeedStatistics of(DoubleStream values) {
        List<Double> sorted = values.sorted().boxed().toList();
        int n = sorted.size();
        double median = n % 2 == 1 ? sorted.get(n / 2) : (sorted.get(n / 2 - 1) + sorted.get(n / 2)) / 2;
        return new SeedStatistics(median, sorted.get(0), sorted.get(n - 1));
    }
}
