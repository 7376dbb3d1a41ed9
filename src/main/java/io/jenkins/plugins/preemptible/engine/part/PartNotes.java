package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.home.StageNotes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Which stages of a home folder have a part that lives in a container, and in which.
 *
 * <ol>
 *   <li>A note is written before the part is started, and removed after the part is: no part is without one.
 *   <li>A part is a stage of its own to the inner engine, see {@link StageId#contained}.
 * </ol>
 */
public record PartNotes(Path home) {

    private static final String FOLDER = "parts";

    /**
     * @param container in which the part lives
     * @param marks variables that it was started with
     * @param frozen whether it was frozen and does not run again: what ended since was not meant to
     * @param told containers in which further steps of the stage run that did not enter one
     */
    public record Part(ContainerRef container, List<String> marks, List<ContainerRef> told, boolean frozen) {
        public Part {
            marks = marks == null ? List.of() : List.copyOf(marks);
            told = told == null ? List.of() : List.copyOf(told);
        }

        public Part withTold(List<ContainerRef> next) {
            return new Part(container, marks, next, frozen);
        }

        public Part withFrozen(boolean now) {
            return new Part(container, marks, told, now);
        }
    }

    /** @throws UncheckedIOException when it cannot be read */
    public Optional<Part> of(StageId id) {
        try {
            return notes().read(id);
        } catch (IOException e) {
            throw new UncheckedIOException("what is noted of the container of " + id + " cannot be read", e);
        }
    }

    /** @throws UncheckedIOException when it cannot be written; it is as before then */
    public void write(StageId id, Part part) {
        try {
            notes().write(id, part);
        } catch (IOException e) {
            throw new UncheckedIOException("the container of " + id + " cannot be noted", e);
        }
    }

    public void delete(StageId id) {
        try {
            notes().delete(id);
        } catch (IOException e) {
            throw new UncheckedIOException("what is noted of the container of " + id + " cannot be removed", e);
        }
    }

    /** Of all stages that have a part. */
    public List<StageId> ids() {
        try {
            return notes().ids();
        } catch (IOException e) {
            throw new UncheckedIOException("the parts of stages in " + home + " cannot be listed", e);
        }
    }

    private StageNotes<Part> notes() {
        return new StageNotes<>(home, FOLDER, Part.class);
    }
}
