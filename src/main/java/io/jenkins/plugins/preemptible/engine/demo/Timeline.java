package io.jenkins.plugins.preemptible.engine.demo;

import java.io.PrintWriter;
import java.util.Locale;

/**
 * Prints what happens, as it happens, with the seconds since the beginning.
 *
 * <ol>
 *   <li>The clock is monotonic and starts with the instance.
 *   <li>Every line is flushed at once.
 *   <li>{@link #millis} is the time that the lines show.
 * </ol>
 */
final class Timeline {

    private final PrintWriter out;
    private final long began = System.nanoTime();

    Timeline(PrintWriter out) {
        this.out = out;
    }

    long millis() {
        return (System.nanoTime() - began) / 1_000_000;
    }

    void say(String who, String what) {
        out.printf(Locale.ROOT, "%7.3f s  %-8s %s%n", millis() / 1000.0, who, what);
        out.flush();
    }
}
