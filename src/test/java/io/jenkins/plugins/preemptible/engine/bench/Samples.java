package io.jenkins.plugins.preemptible.engine.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What one thing measured, several times.
 *
 * @param unit of all values: {@code ms}, {@code MB}, {@code s/GB} …
 */
public record Samples(String unit, List<Double> values) {

    public Samples {
        values = List.copyOf(values);
    }

    public static Samples of(String unit, double... values) {
        return new Samples(unit, Arrays.stream(values).boxed().toList());
    }

    public double median() {
        List<Double> sorted = sorted();
        int n = sorted.size();
        return n % 2 == 1 ? sorted.get(n / 2) : (sorted.get(n / 2 - 1) + sorted.get(n / 2)) / 2;
    }

    double least() {
        return sorted().get(0);
    }

    double most() {
        return sorted().get(values.size() - 1);
    }

    private List<Double> sorted() {
        List<Double> sorted = new ArrayList<>(values);
        sorted.sort(null);
        return sorted;
    }
}
