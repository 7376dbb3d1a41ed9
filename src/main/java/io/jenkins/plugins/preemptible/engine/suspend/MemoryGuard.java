package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;

/**
 * Decides whether a preemptor may start beside a stage that is frozen but still has its memory.
 *
 * <ol>
 *   <li>Free memory is what the host calls available, or what is left of the agent's own group if that is less.
 *   <li>Below the floor, the executor is given away after the dump only.
 *   <li>So it is when processes have been waiting for memory lately: free memory alone says little about a host that
 *       keeps it free by swapping.
 * </ol>
 *
 * A pure function of its arguments. Source: the kernel's accounting/psi, {@code some avg10}.
 */
public final class MemoryGuard {

    /** Percent of the last ten seconds in which some process waited for memory. */
    static final double MOST_PRESSURE = 10;

    private MemoryGuard() {}

    /** The answer, and a sentence with the figures that led to it. */
    record Decision(Handover handover, String sentence) {}

    /** @param floorBytes what the preemptor needs; 0 switches the guard off */
    static Decision decide(HostMemory memory, long floorBytes) {
        if (floorBytes == 0) {
            return new Decision(Handover.AT_FREEZE, Handover.AT_FREEZE.sentence() + " (not looked at)");
        }
        String figures = shortage(memory, floorBytes);
        if (figures != null) {
            return new Decision(Handover.AFTER_DUMP, Handover.AFTER_DUMP.sentence() + " (" + figures + ")");
        }
        return new Decision(
                Handover.AT_FREEZE,
                Handover.AT_FREEZE.sentence() + " (" + mib(memory.availableBytes()) + " MiB are free)");
    }

    /**
     * The same question where no image is ever made, asked before anything is frozen: nothing would free the memory.
     *
     * @throws SuspendFailedException {@link FailureReason#MEMORY_SHORT}
     */
    public static void require(HostMemory memory, long floorBytes) {
        String figures = shortage(memory, floorBytes);
        if (figures != null) {
            throw new SuspendFailedException(FailureReason.MEMORY_SHORT, figures);
        }
    }

    /** In figures; null when there is memory enough. */
    private static String shortage(HostMemory memory, long floorBytes) {
        if (floorBytes == 0) {
            return null;
        }
        if (memory.availableBytes() < floorBytes) {
            return mib(memory.availableBytes()) + " MiB are free, the floor is " + mib(floorBytes) + " MiB";
        }
        return memory.pressurePercent() > MOST_PRESSURE
                ? "processes waited for memory during " + Math.round(memory.pressurePercent())
                        + " % of the last ten seconds"
                : null;
    }

    private static long mib(long bytes) {
        return bytes >> 20;
    }
}
