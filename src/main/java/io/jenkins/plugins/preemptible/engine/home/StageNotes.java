package io.jenkins.plugins.preemptible.engine.home;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;

/**
 * Notes of one kind about the stages of a home folder, one a stage, kept over the ends of this process.
 *
 * <ol>
 *   <li>Each note is a file of JSON in the kind's own folder, named after its stage; only the owner may read it.
 *   <li>It is written beside and renamed: a reader sees an old note or a new one, never half of one. The last writer wins.
 *   <li>A note does not need its stage: it may be written before the stage is there, and stay after it is gone.
 * </ol>
 *
 * Immutable, safe for any thread and process.
 *
 * @param <N> what is noted; Jackson reads and writes it
 */
public final class StageNotes<N> {

    private static final String ENDING = ".json";
    private static final ObjectMapper JSON = JsonMapper.builder().build();

    private final Path folder;
    private final Class<N> kind;

    /**
     * @param home the home folder
     * @param name of the folder in it; earlier versions have written there
     */
    public StageNotes(Path home, String name, Class<N> kind) {
        this.folder = home.resolve(name);
        this.kind = kind;
    }

    /**
     * Empty when nothing is noted of this stage.
     *
     * @throws IOException when it cannot be read, or is no such note
     */
    public Optional<N> read(StageId id) throws IOException {
        byte[] text;
        try {
            text = Files.readAllBytes(file(id));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        N note = JSON.readValue(text, kind);
        if (note == null) {
            throw new IOException(file(id) + " has no note");
        }
        return Optional.of(note);
    }

    /** @throws IOException when it cannot be written; it is as before then */
    public void write(StageId id, N note) throws IOException {
        Files.createDirectories(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path next = Files.createTempFile(folder, id.value(), ".tmp");
        try {
            Files.write(next, JSON.writeValueAsBytes(note));
            Files.move(next, file(id), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(next);
        }
    }

    /** Harmless when there is none. */
    public void delete(StageId id) throws IOException {
        Files.deleteIfExists(file(id));
    }

    /**
     * Of which stages something is noted.
     *
     * @throws IllegalArgumentException when a file of the folder is named after no stage
     */
    public List<StageId> ids() throws IOException {
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
        return folder.resolve(id.value() + ENDING);
    }
}
