package io.jenkins.plugins.preemptible.engine.api;

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
 * @param memoryOnly the engine makes no images ({@code Engine.checkpoints}): the stage stays frozen for as long as it
 *     is suspended, and its executor is always free from the freeze on
 */
public record Frozen(
        StageId id,
        long preflightMillis,
        long freezeMillis,
        int processes,
        long residentBytes,
        Handover handover,
        boolean memoryOnly) {

    /**
     * @throws IllegalArgumentException when the executor of a stage without an image would wait for its dump
     */
    public Frozen {
        if (memoryOnly && handover != Handover.AT_FREEZE) {
            throw new IllegalArgumentException("a stage that stays in memory has no dump to wait for");
        }
    }

    /** The same, on an engine that makes no images. */
    public Frozen inMemoryOnly() {
        return new Frozen(id, preflightMillis, freezeMillis, processes, residentBytes, Handover.AT_FREEZE, true);
    }
}
