package io.jenkins.plugins.preemptible.agent;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.home.StageNotes;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Which controller has begun a stage, and for which build: kept on the agent, since agents of several controllers may
 * share a host and even a root folder.
 *
 * @param controller the controller's instance id; never null
 * @param runId {@link hudson.model.Run#getExternalizableId} at the stage's begin; never null
 * @param beganMillis when that was by the controller's clock, in milliseconds since 1970, 0 to 2^50
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record StageOrigin(String controller, String runId, long beganMillis) implements Serializable {

    /** Sums of such times do not overflow. */
    private static final long LATEST = 1L << 50;

    public StageOrigin {
        controller = PlainText.of(Objects.requireNonNullElse(controller, ""));
        runId = PlainText.of(Objects.requireNonNullElse(runId, ""));
        beganMillis = Math.max(0, Math.min(beganMillis, LATEST));
    }

    /**
     * Notes it in the agent's home folder, before the stage is there.
     *
     * @throws IOException when it cannot be written
     */
    public void write(Path home, StageId id) throws IOException {
        notes(home).write(id, this);
    }

    /** Empty when nothing is noted that can be understood: of a stage of an earlier version, for instance. */
    static Optional<StageOrigin> read(Path home, StageId id) {
        try {
            return notes(home).read(id);
        } catch (IOException x) {
            return Optional.empty();
        }
    }

    /** Of which stages something is noted; none where that cannot be read. */
    static List<StageId> noted(Path home) {
        try {
            return notes(home).ids();
        } catch (IOException | UncheckedIOException | IllegalArgumentException x) {
            return List.of();
        }
    }

    static void remove(Path home, StageId id) throws IOException {
        notes(home).delete(id);
    }

    private static StageNotes<StageOrigin> notes(Path home) {
        return new StageNotes<>(home, "origins", StageOrigin.class);
    }
}
