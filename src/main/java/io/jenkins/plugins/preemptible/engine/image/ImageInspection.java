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
 * @param entries the image files, without manifest, preserved files and seal
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record ImageInspection(ImageManifest manifest, long archiveBytes, List<Entry> entries) {

    /**
     * One file of the image.
     *
     * @param bytes its size before compression
     * @param stored bytes of it that this archive holds, fewer in a difference; the rest is in its parent
     */
    public record Entry(String name, long bytes, long stored) {

        public Entry(String name, long bytes) {
            this(name, bytes, bytes);
        }
    }

    public static ImageInspection of(ImageManifest manifest, long archiveBytes) {
        return new ImageInspection(
                manifest,
                archiveBytes,
                manifest.entries().stream()
                        .filter(e -> !e.name().startsWith(ArchiveFormat.PRESERVED))
                        .map(e -> new Entry(e.name(), e.bytes(), e.stored()))
                        .toList());
    }

    public ImageInspection {
        entries = List.copyOf(entries);
    }
}
