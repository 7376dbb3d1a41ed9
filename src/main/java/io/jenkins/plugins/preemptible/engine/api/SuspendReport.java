package io.jenkins.plugins.preemptible.engine.api;

/**
 * What a whole suspension took: a freeze, a dump and its commit.
 *
 * <ol>
 *   <li>{@code frozen} tells of the preflight and the freeze, {@code checkpoint} of the dump and the archive.
 *   <li>{@code killMillis} is the time from the sealed archive to the last process gone.
 *   <li>{@code totalMillis} runs from the preflight to the last process gone.
 * </ol>
 */
public record SuspendReport(Frozen frozen, Checkpoint checkpoint, long killMillis, long totalMillis) {}
