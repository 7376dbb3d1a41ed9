package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import java.util.Optional;

/**
 * Decides whether a preemptor may start beside a stage that is frozen but still has its memory.
 *
 * <ol>
 *   <li>Free memory is what the host calls available, or what is left of the agent's own group if that is less.
 *   <li>Below the floor, the executor is given away after the dump only.
 *   <li>The same when processes have been waiting for memory lately: a host that swaps has free memory and is short of
 *       it all the same.
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

    /** @param floorBytes what the preemptor needs; 0 switches the guard off, {@link Long#MAX_VALUE} asks for the image first */
    static Decision decide(HostMemory memory, long floorBytes) {
        if (floorBytes == 0) {
            return new Decision(Handover.AT_FREEZE, Handover.AT_FREEZE.sentence() + " (not checked)");
        }
        if (floorBytes == Long.MAX_VALUE) {
            return new Decision(Handover.AFTER_DUMP, "The image is made first, as was asked for");
        }
        return shortage(memory, floorBytes)
                .map(figures ->
                        new Decision(Handover.AFTER_DUMP, Handover.AFTER_DUMP.sentence() + " (" + figures + ")"))
                .orElseGet(() -> new Decision(
                        Handover.AT_FREEZE,
                        Handover.AT_FREEZE.sentence() + " (" + mib(memory.availableBytes()) + " MiB are free)"));
    }

    /**
     * Refuses for an engine that makes no images, before anything is frozen: no dump would ever free the memory.
     *
     * @throws SuspendFailedException {@link FailureReason#MEMORY_SHORT}
     */
    public static void require(HostMemory memory, long floorBytes) {
        shortage(memory, floorBytes).ifPresent(figures -> {
            throw new SuspendFailedException(FailureReason.MEMORY_SHORT, figures);
        });
    }

    /** In figures; empty when there is enough memory. */
    private static Optional<String> shortage(HostMemory memory, long floorBytes) {
        if (floorBytes == 0) {
            return Optional.empty();
        }
        if (memory.availableBytes() < floorBytes) {
            return Optional.of(
                    mib(memory.availableBytes()) + " MiB are free, the floor is " + mib(floorBytes) + " MiB");
        }
        return memory.pressurePercent() > MOST_PRESSURE
                ? Optional.of("processes waited for memory during " + Math.round(memory.pressurePercent())
                        + " % of the last ten seconds")
                : Optional.empty();
    }

    static long mib(long bytes) {
        return bytes >> 20;
    }
}
