package io.jenkins.plugins.preemptible.engine;

/**
 * What a whole suspension took: a dump and its commit.
 *
 * <ol>
 *   <li>{@code checkpoint} tells of the dump and the archive.
 *   <li>{@code killMillis} is the time from the sealed archive to the last process gone.
 *   <li>{@code totalMillis} runs from the first freeze to the last process gone.
 * </ol>
 */
public record SuspendReport(Checkpoint checkpoint, long killMillis, long totalMillis) {}
