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
final class DemoTimeline {

    private final PrintWriter out;
    private final long began = System.nanoTime();

    DemoTimeline(PrintWriter out) {
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
