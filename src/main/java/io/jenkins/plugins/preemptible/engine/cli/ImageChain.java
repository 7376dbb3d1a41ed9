package io.jenkins.plugins.preemptible.engine.cli;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.nio.file.Path;

/**
 * What an image needs to be restored: itself, or a full image as well.
 *
 * <ol>
 *   <li>A full image stands alone.
 *   <li>A difference names the full image beside it, whose beginning tells whether it is the right one.
 *   <li>There is never a third: a difference does not refer to another.
 * </ol>
 *
 * @param storedBytes of all contents that lie in this archive, before compression
 * @param referencedBytes of those that lie in the parent; 0 for a full image
 * @param parent null for a full image
 */
record ImageChain(
        Extent extent,
        String imageId,
        long storedBytes,
        long referencedBytes,
        @JsonInclude(JsonInclude.Include.NON_NULL) Parent parent) {

    /**
     * The full image of a difference.
     *
     * @param file where it has to lie, whether it does or not
     * @param atHand whether the file there begins like the right image
     * @param createdAt when it was taken; null when it is not at hand
     */
    record Parent(String imageId, String file, boolean atHand, String createdAt) {}

    static ImageChain of(ImageInspection inspection, Path archive, ImageKey key) {
        ImageManifest manifest = inspection.manifest();
        long stored = manifest.storedBytes();
        return new ImageChain(
                manifest.isDifference() ? Extent.DIFFERENCE : Extent.FULL,
                manifest.imageId(),
                stored,
                manifest.allBytes() - stored,
                manifest.isDifference() ? parent(manifest.parent(), archive, key) : null);
    }

    private static Parent parent(ImageManifest.Parent named, Path archive, ImageKey key) {
        Path file = archive.resolveSibling(named.file());
        try {
            ImageManifest found = ImageArchive.manifestOf(file, key);
            if (found.imageId().equals(named.imageId()) && !found.isDifference()) {
                return new Parent(named.imageId(), file.toString(), true, found.createdAt());
            }
        } catch (ImageException e) {
            // Missing, another file, or sealed with another key: either way it is not the one.
        }
        return new Parent(named.imageId(), file.toString(), false, null);
    }
}
