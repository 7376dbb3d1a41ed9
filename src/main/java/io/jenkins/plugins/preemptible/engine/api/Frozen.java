package io.jenkins.plugins.preemptible.engine.api;

import java.util.List;

/**
 * A stage that was just frozen: it counts as suspended from now on, and {@code Engine.dump} follows, unless
 * {@code memoryOnly}.
 *
 * <ol>
 *   <li>{@code preflightMillis}: the preflight, while the stage still ran.
 *   <li>{@code freezeMillis}: from the first attempt to freeze until nothing of it moved, independent of its memory.
 *   <li>{@code handover} says whether its executor may be given away now.
 * </ol>
 *
 * @param processes in the tree, the stage's init included
 * @param residentBytes of memory that the tree holds, pages shared between its processes counted once for each
 * @param memoryOnly the engine makes no images ({@code Engine.checkpoints}): the stage stays frozen for as long as it is
 *     suspended, and its executor is always free from the freeze on. So it is for one that cannot be dumped
 * @param ties what keeps it from being dumped, each in words, the worst first; empty when nothing was found
 */
public record Frozen(
        StageId id,
        long preflightMillis,
        long freezeMillis,
        int processes,
        long residentBytes,
        Handover handover,
        boolean memoryOnly,
        List<String> ties) {

    /** Of one that nothing keeps from being dumped. */
    public Frozen(
            StageId id,
            long preflightMillis,
            long freezeMillis,
            int processes,
            long residentBytes,
            Handover handover,
            boolean memoryOnly) {
        this(id, preflightMillis, freezeMillis, processes, residentBytes, handover, memoryOnly, List.of());
    }

    /**
     * @throws IllegalArgumentException when the executor of a stage without an image would wait for its dump
     */
    public Frozen {
        ties = List.copyOf(ties);
        if (memoryOnly && handover != Handover.AT_FREEZE) {
            throw new IllegalArgumentException("a stage that stays in memory has no dump to wait for");
        }
    }

    /** The same, on an engine that makes no images. */
    public Frozen inMemoryOnly() {
        return new Frozen(id, preflightMillis, freezeMillis, processes, residentBytes, Handover.AT_FREEZE, true, ties);
    }
}
