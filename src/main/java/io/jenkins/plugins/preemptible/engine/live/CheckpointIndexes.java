package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The indexes of a stage's full checkpoints, by which the next one finds what did not change since.
 *
 * <ol>
 *   <li>The archives are the caller's and leave this host; an index stays here, named after its archive.
 *   <li>It is written with a full archive only. One of an archive that the caller did not keep goes at the next checkpoint.
 * </ol>
 *
 * For one thread, the stage's only checkpoint at a time.
 */
record CheckpointIndexes(Path folder, LiveRequest request) {

    /** Makes the folder, which only its owner may read. */
    static CheckpointIndexes of(StageFolder stage, LiveRequest request) throws IOException {
        Path folder = stage.checkpointIndexes();
        if (!Files.isDirectory(folder)) {
            Files.createDirectory(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
        return new CheckpointIndexes(folder, request);
    }

    /** Where that of the new image goes, if it is a full one. */
    Path image() {
        return folder.resolve(request.archive().getFileName());
    }

    /** The same for the files. */
    Path files() {
        return folder.resolve(request.luggage().getFileName());
    }

    /** Null when the new image is to be a full one. */
    Path imageBase() {
        return base(request.bases().image());
    }

    /** The same for the files. */
    Path filesBase() {
        return base(request.bases().files());
    }

    private Path base(String name) {
        return name == null ? null : folder.resolve(name);
    }

    /** After both archives were written. */
    void removeOthers() throws IOException {
        Set<Path> kept = new HashSet<>(Set.of(image(), files()));
        Stream.of(request.bases().image(), request.bases().files())
                .filter(Objects::nonNull)
                .forEach(name -> kept.add(folder.resolve(name)));
        request.bases().others().forEach(name -> kept.add(folder.resolve(name)));
        try (Stream<Path> all = Files.list(folder)) {
            for (Path each : all.filter(path -> !kept.contains(path)).toList()) {
                Files.deleteIfExists(each);
            }
        }
    }
}
