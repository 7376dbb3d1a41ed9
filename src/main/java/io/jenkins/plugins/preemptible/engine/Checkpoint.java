package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.stage.StageId;

/**
 * What a dump wrote, while its stage still waits frozen for {@link Engine#commit} or {@link Engine#thaw}.
 *
 * <ol>
 *   <li>Times are milliseconds of a monotonic clock: freezing, CRIU's dump, packing and sealing.
 *   <li>Sizes are bytes: CRIU's images as dumped, the sealed archive.
 *   <li>{@code processes} counts every process in the image, the stage's init included.
 * </ol>
 */
public record Checkpoint(
        StageId id,
        long frozenMillis,
        long dumpMillis,
        long archiveMillis,
        long imageBytes,
        long archiveBytes,
        int processes) {}
