package io.jenkins.plugins.preemptible.engine.bench;

import java.util.List;

/**
 * A plot to be drawn.
 *
 * @param file its file's name without folder and ending
 * @param logarithmic both axes
 * @param lines whether the points of a curve are joined
 */
public record Plot(
        String file, String title, String x, String y, boolean logarithmic, boolean lines, List<Curve> curves) {

    public Plot {
        curves = List.copyOf(curves);
    }
}
