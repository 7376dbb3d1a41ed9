package io.jenkins.plugins.preemptible.engine.home;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Whether CRIU's files stay on this host after a suspension, so that a resume here needs no archive.
 *
 * <ol>
 *   <li>They are the plain memory of the stage, in a folder for its owner only; PREEMPTIBLE_LOCAL_IMAGES=off keeps
 *       none.
 *   <li>They stay when the disk has this much room left beside them: 4096 MiB, or as many as
 *       PREEMPTIBLE_LOCAL_IMAGES_FREE_MB says.
 *   <li>The next resume, a kill and a forget remove them.
 * </ol>
 */
public record LocalImages(boolean wanted, long freeBytes) {

    private static final long FREE_MB = 4096;

    public static LocalImages of(Map<String, String> environment) {
        String free = environment.getOrDefault("PREEMPTIBLE_LOCAL_IMAGES_FREE_MB", "");
        long mb = free.matches("\\d{1,12}") ? Long.parseLong(free) : FREE_MB;
        return new LocalImages(
                !environment.getOrDefault("PREEMPTIBLE_LOCAL_IMAGES", "").equals("off"), mb << 20);
    }

    public boolean keeps(Path images) {
        try {
            return wanted && Files.getFileStore(images).getUsableSpace() >= freeBytes;
        } catch (IOException e) {
            return false;
        }
    }
}
