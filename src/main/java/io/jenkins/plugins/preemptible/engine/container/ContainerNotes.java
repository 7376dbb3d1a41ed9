package io.jenkins.plugins.preemptible.engine.container;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * What is known of a stage's containers, kept in the home folder over the ends of this process.
 *
 * <p>One file a stage in {@code containers/}, written anew and renamed; the last writer wins.
 */
record ContainerNotes(Path home) {

    private static final String FOLDER = "containers";
    private static final String ENDING = ".json";
    private static final ObjectMapper JSON = JsonMapper.builder().build();

    /**
     * @param containers in which its steps run
     * @param paused whether they are paused with the stage, or just being paused or started again
     * @param init the stage's first process: what is older in a container is not the stage's
     * @param marks variables that its containers were started with: one without them is not the stage's
     * @param own ids of those that were found to have them, in full
     */
    record Note(List<ContainerRef> containers, boolean paused, HostProcess init, List<String> marks, List<String> own) {

        static final Note NONE = new Note(List.of(), false, null, List.of(), List.of());

        Note {
            containers = containers == null ? List.of() : List.copyOf(containers);
            marks = marks == null ? List.of() : List.copyOf(marks);
            own = own == null ? List.of() : List.copyOf(own);
        }

        Note with(List<ContainerRef> others) {
            return new Note(others, paused && !others.isEmpty(), init, marks, own);
        }

        Note withOwn(List<String> found) {
            return new Note(containers, paused, init, marks, found);
        }

        Note withPaused(boolean now) {
            return new Note(containers, now, init, marks, own);
        }
    }

    Note read(StageId id) {
        try {
            return JSON.readValue(Files.readAllBytes(file(id)), Note.class);
        } catch (NoSuchFileException e) {
            return Note.NONE;
        } catch (IOException e) {
            throw new UncheckedIOException("what is noted of the containers of " + id + " cannot be read", e);
        }
    }

    void write(StageId id, Note note) throws IOException {
        Path folder = file(id).getParent();
        Files.createDirectories(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path next = Files.createTempFile(folder, "note", ".tmp");
        Files.write(next, JSON.writeValueAsBytes(note));
        Files.move(next, file(id), StandardCopyOption.ATOMIC_MOVE);
    }

    void delete(StageId id) throws IOException {
        Files.deleteIfExists(file(id));
    }

    /** Of all stages that have a note. */
    List<StageId> ids() throws IOException {
        Path folder = home.resolve(FOLDER);
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (var files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(ENDING))
                    .map(name -> StageId.parse(name.substring(0, name.length() - ENDING.length())))
                    .toList();
        }
    }

    private Path file(StageId id) {
        return home.resolve(FOLDER).resolve(id.value() + ENDING);
    }
}
