package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.nio.file.Path;
import java.util.Map;

/**
 * What a checkpoint of a running stage has made. Times are milliseconds of a monotonic clock, sizes are bytes.
 *
 * @param stopMillis for how long the stage stood still
 * @param sealMillis packing and sealing, while the stage ran
 * @param imageBytes of CRIU's files
 * @param fileBytes of all copied files
 * @param stoppedBytes of the files that were copied while the stage stood still
 * @param imageDiffers whether the image refers to its base
 * @param filesDiffer whether the files refer to theirs
 * @param wholeWhy why the stage stood still until all of its memory was written, a sentence without a final stop; null
 *     when it did not have to, or has little memory
 * @param sizes of the files that were asked for and exist
 */
public record LiveImage(
        StageId id,
        long stopMillis,
        long sealMillis,
        long imageBytes,
        long archiveBytes,
        long fileBytes,
        long stoppedBytes,
        long luggageBytes,
        boolean imageDiffers,
        boolean filesDiffer,
        String wholeWhy,
        int processes,
        Map<Path, Long> sizes) {

    public LiveImage {
        sizes = Map.copyOf(sizes);
    }
}
