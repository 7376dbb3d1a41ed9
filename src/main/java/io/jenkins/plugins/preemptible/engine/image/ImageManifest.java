package io.jenkins.plugins.preemptible.engine.image;

import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import java.util.List;

/**
 * What an image says of itself: which stage it holds, when and where it was taken, and what is in it.
 *
 * <ol>
 *   <li>The engine fills it after the dump; the archive puts it first, as JSON with snake_case names.
 *   <li>{@code imageBytes} is measured and set by {@link ImageArchive#write}, whatever the caller gave.
 *   <li>It is read back only from an authenticated archive, so its fields may be believed.
 * </ol>
 *
 * @param formatVersion {@link ImageArchive#FORMAT_VERSION} when written by this version
 * @param stageId the stage's id
 * @param name the stage's name for people; may be null
 * @param createdAt ISO-8601 instant, UTC
 * @param criuVersion of the CRIU that dumped it
 * @param kernel release of the kernel it ran on
 * @param arch of the machine it ran on, as {@code uname -m} says
 * @param processes number of processes in the tree
 * @param imageBytes bytes of all image files before compression
 * @param tree the processes, in order of pid; empty when unknown
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record ImageManifest(
        int formatVersion,
        String stageId,
        String name,
        String createdAt,
        String criuVersion,
        String kernel,
        String arch,
        int processes,
        long imageBytes,
        List<ProcessInfo> tree) {

    /**
     * One process of the dumped tree.
     *
     * @param pid as seen in the stage's own PID namespace
     * @param ppid likewise; 0 for its init
     * @param comm the kernel's short name
     * @param commandLine its arguments joined by blanks; empty for a zombie
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record ProcessInfo(int pid, int ppid, String comm, String commandLine) {}

    public ImageManifest {
        tree = tree == null ? List.of() : List.copyOf(tree);
    }

    ImageManifest measured(long bytes) {
        return new ImageManifest(
                ImageArchive.FORMAT_VERSION,
                stageId,
                name,
                createdAt,
                criuVersion,
                kernel,
                arch,
                processes,
                bytes,
                tree);
    }
}
