package io.jenkins.plugins.preemptible.engine.api;

import java.util.List;

/**
 * What a dump wrote, while its stage still waits frozen for {@code Engine.commit} or {@code Engine.thaw}.
 *
 * <ol>
 *   <li>Times are milliseconds of a monotonic clock: freezing, CRIU's dump, packing and sealing.
 *   <li>Sizes are bytes: CRIU's images as dumped, the sealed archive.
 *   <li>{@code processes} counts every process in the image, the stage's init included.
 * </ol>
 *
 * @param imageId by which the image can be told from every other
 * @param parentId of the full image that it refers to, which has to be kept; null for a full image
 * @param skipped preserved paths that were not packed: missing ones, sockets, devices, other file systems
 * @param trial whether the image was restored beside the frozen tree; never a failure, after which there is no image
 */
public record Checkpoint(
        StageId id,
        long frozenMillis,
        long dumpMillis,
        long archiveMillis,
        long imageBytes,
        long archiveBytes,
        int processes,
        String imageId,
        String parentId,
        List<String> skipped,
        TrialResult trial) {

    public Checkpoint {
        skipped = List.copyOf(skipped);
    }

    /** What the archive holds. */
    public Extent extent() {
        return parentId == null ? Extent.FULL : Extent.DIFFERENCE;
    }
}
