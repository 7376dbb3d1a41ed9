package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a suspended stage takes on the agent where it goes on.
 *
 * @param memoryBytes of its processes; -1 = unknown
 * @param diskBytes of what is unpacked, as far as its maker counts it; -1 = unknown
 * @param buildIds of the files of the host that its processes map, as its image says; empty before the image is at hand
 * @param users under whose ids its processes run, as in {@link HostFingerprint}; empty before the image is at hand
 */
public record StageNeeds(long memoryBytes, long diskBytes, Map<String, String> buildIds, Map<String, String> users) {

    /** The stage's own, which are in its image: programs unpack libraries there. */
    private static final List<Path> IN_THE_IMAGE = List.of(Path.of("/tmp"), Path.of("/dev/shm"));

    public StageNeeds {
        buildIds = Map.copyOf(buildIds);
        users = Map.copyOf(users);
    }

    /** Whose users are unknown. */
    public StageNeeds(long memoryBytes, long diskBytes, Map<String, String> buildIds) {
        this(memoryBytes, diskBytes, buildIds, Map.of());
    }

    /** The same where the disk's room does not count. */
    public StageNeeds withoutDisk() {
        return new StageNeeds(memoryBytes, -1, buildIds, users);
    }

    /**
     * As an image says. Its disk's room is the image's alone, unpacked: the size of the workspace is in another archive.
     * The controller counts both before anything is brought; where the workspace is not stored with the image, and its size
     * not known before, {@link Luggage#unpack} finds that the disk is full and leaves everything as it was.
     *
     * @param workspace the folders that travel with the stage, absolute: programs and libraries in there come along
     */
    public static StageNeeds of(ImageManifest image, long memoryBytes, Collection<Path> workspace) {
        List<Path> travel = new ArrayList<>(IN_THE_IMAGE);
        travel.addAll(workspace);
        Map<String, String> all = image.host() == null ? Map.of() : image.host().buildIds();
        return new StageNeeds(
                memoryBytes,
                image.imageBytes(),
                all.entrySet().stream()
                        .filter(each -> travel.stream().noneMatch(folder -> isIn(each.getKey(), folder)))
                        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue)),
                image.host() == null ? Map.of() : image.host().users());
    }

    // Not as a path: another Java may have written a name that this one's character set has not.
    private static boolean isIn(String file, Path folder) {
        return file.startsWith(folder + "/") || file.equals(folder.toString());
    }
}
