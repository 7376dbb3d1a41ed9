package io.jenkins.plugins.preemptible.engine.home;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.privileged.HelperAnswer;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.List;

/**
 * The user's own folders for stages that the privileged part runs: one for each stage, into which its init and its
 * command write too. Root never opens them.
 */
public record OwnFolders(Path home) {

    private static final ObjectMapper JSON = JsonMapper.builder().build();
    private static final String FILE = "own.json";

    public Stage stage(StageId id) {
        return new Stage(id, home.resolve("stages").resolve(id.value()));
    }

    /** The ids of all stages, in the order of their names. */
    public List<StageId> ids() throws IOException {
        Path all = home.resolve("stages");
        if (!Files.isDirectory(all)) {
            return List.of();
        }
        try (var entries = Files.list(all)) {
            return entries.filter(p -> Files.exists(p.resolve(FILE)))
                    .map(p -> p.getFileName().toString())
                    .sorted()
                    .map(StageId::parse)
                    .toList();
        }
    }

    /** What was asked for, and how often the stage was suspended since. */
    public record Note(String name, String workDir, boolean sandbox, int suspensions) {}

    /** The folder of one stage. */
    public record Stage(StageId id, Path path) {

        public void create(Note note) throws IOException {
            new StageFolder(path).create();
            write(note);
        }

        /**
         * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
         */
        public Note note() throws IOException {
            try {
                return JSON.readValue(Files.readAllBytes(path.resolve(FILE)), Note.class);
            } catch (NoSuchFileException e) {
                throw new EngineException(FailureReason.UNKNOWN_STAGE, id.value());
            }
        }

        private void write(Note note) throws IOException {
            Path next = Files.createTempFile(path, "own", ".tmp");
            Files.write(next, JSON.writeValueAsBytes(note));
            Files.move(next, path.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
        }

        public void countSuspension() throws IOException {
            Note old = note();
            write(new Note(old.name(), old.workDir(), old.sandbox(), old.suspensions() + 1));
        }

        /** Whether the init has begun; what it wrote before that is in {@link #errors}. */
        public boolean isReady() {
            return Files.exists(path.resolve("ready"));
        }

        public Path errors() {
            return path.resolve("launch.log");
        }

        public Path output() {
            return path.resolve("output.log");
        }

        /** The state, from what the privileged part says of the processes and what this folder says of their end. */
        public StageStatus status(HelperAnswer seen) throws IOException {
            Note note = note();
            Integer code = new StageFolder(path).exitCode().orElse(null);
            State state =
                    switch (seen.state()) {
                        case STARTING, RUNNING -> State.RUNNING;
                        case FROZEN -> State.SUSPENDING;
                        case KILLED -> State.KILLED;
                        case LOST, ENDED -> code == null ? State.FAILED : State.ENDED;
                    };
            boolean lives = state == State.RUNNING || state == State.SUSPENDING;
            return new StageStatus(
                    id,
                    note.name(),
                    state,
                    lives ? seen.number("init") : 0,
                    state == State.KILLED ? Integer.valueOf(StageStatus.KILLED_EXIT_CODE) : code,
                    Path.of(note.workDir()),
                    Instant.ofEpochMilli(seen.number("started")),
                    null,
                    note.suspensions(),
                    note.sandbox() ? null : output(),
                    state == State.SUSPENDING ? Tier.FROZEN : null);
        }

        public void deleteQuietly() {
            try {
                StageFolder.delete(path);
            } catch (IOException e) {
                // A process of the stage may still write: only this id stays in use.
            }
        }
    }
}
