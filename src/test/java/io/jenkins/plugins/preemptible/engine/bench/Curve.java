package io.jenkins.plugins.preemptible.engine.bench;

import java.util.List;

/** Points of a plot that belong together. */
public record Curve(String name, List<Double> x, List<Double> y) {

    public Curve {
        x = List.copyOf(x);
        y = List.copyOf(y);
    }
}
