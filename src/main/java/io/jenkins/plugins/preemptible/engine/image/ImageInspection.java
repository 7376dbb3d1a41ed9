package io.jenkins.plugins.preemptible.engine.image;

import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import java.util.List;

/**
 * What is in an image, found without restoring or unpacking it.
 *
 * <ol>
 *   <li>The whole archive was decrypted and authenticated, from the first byte to the seal.
 *   <li>The entries are the image files in the order in which they lie in it.
 *   <li>Nothing was written to any disk.
 * </ol>
 *
 * @param manifest what the image says of itself
 * @param archiveBytes size of the file
 * @param entries the image files, without manifest and seal
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record ImageInspection(ImageManifest manifest, long archiveBytes, List<Entry> entries) {

    /**
     * One file of the image.
     *
     * @param bytes its size before compression
     */
    public record Entry(String name, long bytes) {}

    public ImageInspection {
        entries = List.copyOf(entries);
    }
}
