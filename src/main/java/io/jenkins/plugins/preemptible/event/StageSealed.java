package io.jenkins.plugins.preemptible.event;

/**
 * The image of a suspended stage is archived, and its processes are gone from the agent's memory.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param dumpMillis what CRIU took
 * @param sealMillis what compression and encryption took
 * @param imageBytes of memory and state, before compression
 * @param archiveBytes of the archive
 */
public record StageSealed(
        StageRef stage, long atMillis, long dumpMillis, long sealMillis, long imageBytes, long archiveBytes) {}
