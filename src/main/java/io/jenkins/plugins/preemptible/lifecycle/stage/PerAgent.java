package io.jenkins.plugins.preemptible.lifecycle.stage;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * Work of which only so much is done on one agent at a time.
 *
 * <ol>
 *   <li>What comes first is done first; what comes when enough is under way waits, without a thread.
 *   <li>Agents do not wait for each other but for the threads of {@link StageThreads}.
 *   <li>The end of a piece of work, well or not, starts the next one.
 * </ol>
 *
 * Safe for any thread.
 */
final class PerAgent {

    /** What is under way on one agent, and what waits. */
    private static final class Line {
        int underWay;
        final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    }

    private final int most;
    private final Map<String, Line> lines = new HashMap<>();

    /** @param most pieces of work on one agent at a time, at least 1 */
    PerAgent(int most) {
        this.most = most;
    }

    /** @param start hands the work over to a thread; the work calls {@link #done} at its end */
    void begin(String agent, Runnable start) {
        synchronized (this) {
            Line line = lines.computeIfAbsent(agent, name -> new Line());
            if (line.underWay >= most) {
                line.waiting.add(start);
                return;
            }
            line.underWay++;
        }
        start.run();
    }

    void done(String agent) {
        Runnable next;
        synchronized (this) {
            Line line = lines.get(agent);
            next = line.waiting.poll();
            if (next == null && --line.underWay == 0) {
                lines.remove(agent);
            }
        }
        if (next != null) {
            next.run();
        }
    }
}
