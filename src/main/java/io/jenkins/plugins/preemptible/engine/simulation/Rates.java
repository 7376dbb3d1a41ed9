package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Cost;
import io.jenkins.plugins.preemptible.engine.policy.MovePace;

/**
 * How fast the simulated agents suspend and resume.
 *
 * <ol>
 *   <li>The same for all agents and all the time, however many dumps run at once.
 *   <li>They go into the snapshot as the agent's measured rates, so {@link Cost} says what a dump and a restore take.
 *   <li>The takeover is the same for a suspension and for a kill.
 * </ol>
 *
 * @param dumpBytesPerSecond dump, archive and seal; at least 1
 * @param restoreBytesPerSecond at least 1
 * @param takeoverMillis from the moment in which a shortage arises until the victim's executor is free; the victim
 *     works meanwhile
 * @param moves what it takes until a suspended stage runs on another agent; null where stages stay on theirs
 * @throws IllegalArgumentException when a value is out of its range
 */
public record Rates(long dumpBytesPerSecond, long restoreBytesPerSecond, long takeoverMillis, MovePace moves) {

    /** The policy's own defaults; a second until the executor is free, where the plugin wants to need two at most. */
    public static final Rates DEFAULT = new Rates(Cost.DEFAULT_DUMP_RATE, Cost.DEFAULT_RESTORE_RATE, 1_000);

    /** Of agents between which no stage moves. */
    public Rates(long dumpBytesPerSecond, long restoreBytesPerSecond, long takeoverMillis) {
        this(dumpBytesPerSecond, restoreBytesPerSecond, takeoverMillis, null);
    }

    public Rates {
        if (dumpBytesPerSecond < 1 || restoreBytesPerSecond < 1) {
            throw new IllegalArgumentException("Dump and restore need a rate of at least 1 byte a second");
        }
        if (takeoverMillis < 0) {
            throw new IllegalArgumentException("The takeover must not take less than no time");
        }
    }

    /** The same but for the dump; the restore keeps the ratio that the defaults have. */
    public Rates withDump(long bytesPerSecond) {
        double faster = (double) Cost.DEFAULT_RESTORE_RATE / Cost.DEFAULT_DUMP_RATE;
        return new Rates(bytesPerSecond, Math.round(bytesPerSecond * faster), takeoverMillis, moves);
    }

    /** The same, and suspended stages resume on other agents, too. */
    public Rates moving(MovePace pace) {
        return new Rates(dumpBytesPerSecond, restoreBytesPerSecond, takeoverMillis, pace);
    }
}
