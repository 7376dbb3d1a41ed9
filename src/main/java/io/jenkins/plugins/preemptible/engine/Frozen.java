package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.stage.StageId;

/**
 * A stage that was just frozen: it counts as suspended from here on, and {@link Engine#dump} follows.
 *
 * <ol>
 *   <li>{@code preflightMillis}: the look for what cannot be dumped, while the stage ran on.
 *   <li>{@code freezeMillis}: from the first attempt to freeze until nothing of it moved, independent of its memory.
 *   <li>{@code handover} says whether its executor may be given away now.
 * </ol>
 *
 * @param processes in the tree, the stage's init included
 * @param residentBytes of memory that the tree holds, pages shared between its processes counted once for each
 */
public record Frozen(
        StageId id, long preflightMillis, long freezeMillis, int processes, long residentBytes, Handover handover) {}
