package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Which step stands against the suspension of a running stage.
 *
 * <ol>
 *   <li>Found by each attempt; it counts until another attempt finds none, or none is made for some seconds.
 *   <li>Most steps end in a moment. One that still runs after some seconds is worth a line in the build log, once.
 * </ol>
 *
 * Any thread.
 */
public final class StepObjection {

    private static final long TOLD_AFTER_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Longer than from one attempt to the next. */
    static final long OVER_AFTER_NANOS = TimeUnit.SECONDS.toNanos(15);

    private final StageClock clock;
    private final Set<String> told = new HashSet<>();

    @CheckForNull
    private String sentence;

    private long sinceNanos;
    private long lastNanos;

    StepObjection(StageClock clock) {
        this.clock = clock;
    }

    /** An attempt has found it. @return whether that is to be told now */
    public synchronized boolean found(String found) {
        long now = clock.nanoTime();
        if (!found.equals(sentence())) {
            sentence = found;
            sinceNanos = now;
        }
        lastNanos = now;
        return now - sinceNanos >= TOLD_AFTER_NANOS && told.add(found);
    }

    /** An attempt has found none. */
    public synchronized void over() {
        sentence = null;
    }

    /** The stage is suspended: a later suspension is told anew what stands against it. */
    public synchronized void suspended() {
        told.clear();
    }

    /** What the last attempt has found; null when nothing, or long ago. */
    @CheckForNull
    public synchronized String sentence() {
        return sentence != null && clock.nanoTime() - lastNanos > OVER_AFTER_NANOS ? null : sentence;
    }
}
