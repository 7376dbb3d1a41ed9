package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;

/**
 * What suspending a stage and letting it go on would cost, in time.
 *
 * <ol>
 *   <li>Its memory, and what that grows by meanwhile, over the agent's rates of dumping and restoring.
 *   <li>What is unknown has the default that is stated here, measured on a machine of two cores.
 *   <li>The freeze itself is left out: it takes milliseconds at any size.
 * </ol>
 *
 * @param dumpMillis dump, archive and seal
 * @param restoreMillis until the stage runs again
 */
public record Cost(long dumpMillis, long restoreMillis) {

    /** Memory of a stage that nobody has measured: 512 MiB. */
    public static final long DEFAULT_BYTES = 512L << 20;

    /** Dump, archive and seal: 200 MB/s, the rate of a disk that has to keep it. */
    public static final long DEFAULT_DUMP_RATE = 200_000_000;

    /** Restore: 600 MB/s. */
    public static final long DEFAULT_RESTORE_RATE = 600_000_000;

    /** What each of both takes at any size. */
    static final long FIXED_MILLIS = 150;

    /** Frozen and thawed, it has all its memory in place. */
    static final Cost IN_MEMORY = new Cost(FIXED_MILLIS, FIXED_MILLIS);

    /** A stage of which nobody knows when it ends is taken to run that much longer. */
    static final long DEFAULT_REMAINING_MILLIS = 3_600_000;

    /**
     * The estimate for a running stage.
     *
     * @param agent where it runs
     */
    public static Cost of(RunningStage stage, Agent agent) {
        if (agent.memoryOnly()) {
            return IN_MEMORY;
        }
        double rate = agent.dumpBytesPerSecond() > 0 ? agent.dumpBytesPerSecond() : DEFAULT_DUMP_RATE;
        double back = agent.restoreBytesPerSecond() > 0 ? agent.restoreBytesPerSecond() : DEFAULT_RESTORE_RATE;
        double now = stage.residentBytes() >= 0 ? stage.residentBytes() : DEFAULT_BYTES;
        // It grows until it is frozen: about the second in which a shortage is noticed.
        double bytes = now + stage.growthBytesPerSecond();
        return new Cost(FIXED_MILLIS + Math.round(1000 * bytes / rate), FIXED_MILLIS + Math.round(1000 * bytes / back));
    }

    /** Milliseconds in all. */
    public long totalMillis() {
        return dumpMillis + restoreMillis;
    }

    /** Milliseconds for each millisecond of executor time that is won by suspending the stage, at most an hour's. */
    double perMillisWon(RunningStage stage, long nowMillis) {
        return (double) totalMillis() / Math.max(1, Math.min(remaining(stage, nowMillis), DEFAULT_REMAINING_MILLIS));
    }

    private static long remaining(RunningStage stage, long nowMillis) {
        return stage.expectedEndMillis() > nowMillis ? stage.expectedEndMillis() - nowMillis : DEFAULT_REMAINING_MILLIS;
    }
}
