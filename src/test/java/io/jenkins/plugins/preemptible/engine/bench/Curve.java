package io.jenkins.plugins.preemptible.engine.bench;

import java.util.List;

/** Points of a plot that belong together. */
record Curve(String name, List<Double> x, List<Double> y) {

    Curve {
        x = List.copyOf(x);
        y = List.copyOf(y);
    }
}
