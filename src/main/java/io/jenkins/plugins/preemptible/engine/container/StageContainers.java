package io.jenkins.plugins.preemptible.engine.container;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.contained.ContainerProcesses;
import io.jenkins.plugins.preemptible.engine.contained.ContainerTool;
import io.jenkins.plugins.preemptible.engine.home.StageNotes;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The containers in which the steps of the stages of one home folder run.
 *
 * <ol>
 *   <li>{@link #tell} notes them, {@link #look} says which can be paused: those that the daemon of this very host runs, and
 *       that were started with the variables that mark the stage's own. A stage can name other ids; they are never touched.
 *   <li>{@link #pause} and {@link #unpause} follow the stage. That they are paused is on disk before they are.
 *   <li>{@link #kill} ends the stage's processes in them, and what runs there since before the stage goes on.
 *   <li>A note that says paused stays until its containers run again or are gone: nothing else would let them.
 * </ol>
 *
 * <p>Safe for any thread; the caller holds one verb of a stage from overtaking another. Each call takes as long as the
 * container program does, some 20 to 150 ms each.
 */
public final class StageContainers {

    private static final Logger LOG = Logger.getLogger(StageContainers.class.getName());

    private final StageNotes<ContainerNote> notes;

    public StageContainers(Path home) {
        notes = new StageNotes<>(home, "containers", ContainerNote.class);
    }

    /**
     * One container of a stage.
     *
     * @param processes in it, and {@code residentBytes} that they hold; 0 where there is an obstacle
     * @param obstacle why it cannot be paused, in words; null when it can
     */
    public record Seen(ContainerRef container, int processes, long residentBytes, String obstacle) {}

    /**
     * Notes in which containers steps of the stage run now. While they are paused none is forgotten.
     *
     * @param marks variables with their values, with which each was started
     * @param init the stage's first process
     */
    public void tell(StageId id, List<ContainerRef> containers, List<String> marks, HostProcess init)
            throws IOException {
        ContainerNote old = noted(id);
        List<ContainerRef> all = new ArrayList<>(containers);
        if (old.paused()) {
            old.containers().stream().filter(c -> !all.contains(c)).forEach(all::add);
        }
        ContainerNote told =
                new ContainerNote(all, old.paused(), old.init() == null ? init : old.init(), marks, old.own());
        if (!told.equals(old)) {
            notes.write(id, told);
        }
    }

    private ContainerNote noted(StageId id) {
        try {
            return notes.read(id).orElse(ContainerNote.NONE);
        } catch (IOException e) {
            throw new UncheckedIOException("what is noted of the containers of " + id + " cannot be read", e);
        }
    }

    public List<ContainerRef> of(StageId id) {
        return noted(id).containers();
    }

    /** Whether they are paused with the stage. */
    public boolean paused(StageId id) {
        return noted(id).paused();
    }

    public List<Seen> look(StageId id) {
        ContainerNote note = checked(id);
        return note.containers().stream()
                .map(container -> look(container, note))
                .toList();
    }

    private static Seen look(ContainerRef container, ContainerNote note) {
        try {
            ContainerTool.Seen seen = requireOwn(container, note)
                    .orElseThrow(() -> new IOException(container.program() + " does not know it"));
            if (!seen.runs() && !seen.paused()) {
                throw new IOException("it is " + seen.status());
            }
            ContainerProcesses processes = new ContainerProcesses(seen.id());
            if (!processes.has(seen.pid())) {
                throw new IOException("its processes are not to be seen on this host");
            }
            return new Seen(container, processes.all().size(), processes.residentBytes(), null);
        } catch (IOException e) {
            return new Seen(container, 0, 0, e.getMessage());
        }
    }

    /**
     * The note, once it has all containers that are found to be the stage's. One that was is so for ever, also when what marks
     * the stage's containers changes.
     */
    private ContainerNote checked(StageId id) {
        ContainerNote note = noted(id);
        List<String> own = new ArrayList<>(note.own());
        for (ContainerRef container : note.containers()) {
            if (own.stream().noneMatch(known -> known.startsWith(container.id()))) {
                try {
                    new ContainerTool(container)
                            .inspect(note.marks())
                            .filter(ContainerTool.Seen::marked)
                            .ifPresent(seen -> own.add(seen.id()));
                } catch (IOException e) {
                    LOG.log(Level.FINE, e, () -> "cannot tell yet whose " + container.shown() + " is");
                }
            }
        }
        if (own.equals(note.own())) {
            return note;
        }
        ContainerNote checked = note.withOwn(own);
        try {
            notes.write(id, checked);
        } catch (IOException e) {
            throw new UncheckedIOException("the containers of " + id + " cannot be noted", e);
        }
        return checked;
    }

    /** What its program says of it; empty when there is none. */
    private static Optional<ContainerTool.Seen> requireOwn(ContainerRef container, ContainerNote note)
            throws IOException {
        Optional<ContainerTool.Seen> found = new ContainerTool(container).inspect(List.of());
        if (found.isPresent() && !note.own().contains(found.get().id())) {
            throw new IOException("it was not started by the build of this stage");
        }
        return found;
    }

    /** The same, and empty for one that is not the stage's, which was therefore never paused with it. */
    private static Optional<ContainerTool.Seen> findOwn(ContainerRef container, ContainerNote note) throws IOException {
        return new ContainerTool(container)
                .inspect(List.of())
                .filter(seen -> note.own().contains(seen.id()));
    }

    /**
     * Pauses them all; harmless for those that are.
     *
     * @param missing whether one that is gone or has ended is no failure
     * @throws IOException when one cannot be paused; {@link #unpause} undoes what was done
     */
    public void pause(StageId id, boolean missing) throws IOException {
        ContainerNote note = checked(id);
        if (note.containers().isEmpty()) {
            return;
        }
        notes.write(id, note.withPaused(true));
        for (ContainerRef container : note.containers()) {
            Optional<ContainerTool.Seen> seen = requireOwn(container, note);
            boolean runs = seen.filter(ContainerTool.Seen::runs).isPresent();
            if (runs) {
                new ContainerTool(container).pause();
            } else if (!missing && seen.filter(ContainerTool.Seen::paused).isEmpty()) {
                throw new IOException(container.shown() + " does not run any more");
            }
        }
    }

    /**
     * Lets them run again; harmless for those that do.
     *
     * @return what is missing, sentences without a final stop
     * @throws IOException when one cannot be started again; they count as paused then
     */
    public List<String> unpause(StageId id) throws IOException {
        ContainerNote note = noted(id);
        List<String> missing = new ArrayList<>();
        if (!note.paused()) {
            return missing;
        }
        for (ContainerRef container : note.containers()) {
            unpause(container, note, missing);
        }
        notes.write(id, note.withPaused(false));
        return missing;
    }

    private static void unpause(ContainerRef container, ContainerNote note, List<String> missing) throws IOException {
        ContainerTool tool = new ContainerTool(container);
        Optional<ContainerTool.Seen> seen = tool.inspect(List.of());
        if (seen.filter(known -> !note.own().contains(known.id())).isPresent()) {
            return;
        }
        if (seen.filter(ContainerTool.Seen::paused).isPresent()) {
            tool.unpause();
        } else if (seen.filter(ContainerTool.Seen::runs).isEmpty()) {
            missing.add("The " + container.shown() + " is "
                    + seen.map(ContainerTool.Seen::status).orElse("gone"));
        }
    }

    /**
     * Kills what the stage has started in its containers, and lets them run again. Of processes that this process may kill
     * none runs for a moment. From then on the stage has no containers, or not the one that was named.
     *
     * @param only the one that is meant; null for all that are the stage's
     * @param remove whether a container that is younger than the stage is removed
     * @throws IOException when one could not be asked; the others were
     */
    public void kill(StageId id, ContainerRef only, boolean remove) throws IOException {
        ContainerNote note = checked(id);
        List<ContainerRef> left = new ArrayList<>(note.containers());
        IOException failure = null;
        for (ContainerRef container : note.containers()) {
            if (only == null || only.equals(container)) {
                try {
                    Optional<ContainerTool.Seen> seen =
                            only == null ? findOwn(container, note) : requireOwn(container, note);
                    if (seen.isPresent()) {
                        new KilledContainer(container, note.init()).kill(seen.get(), remove);
                    }
                    left.remove(container);
                } catch (IOException e) {
                    failure = e;
                }
            }
        }
        if (!left.equals(note.containers())) {
            notes.write(id, note.with(left));
        }
        if (failure != null) {
            throw failure;
        }
    }

    /**
     * Ends what a stage that is over has left paused: kills what it has started there, and lets the containers run again.
     * Without effect where nothing is paused.
     *
     * @throws IOException when one could not be asked: the note stays, and another call tries that again
     */
    public void end(StageId id) throws IOException {
        if (paused(id)) {
            kill(id, null, true);
        }
    }

    /** What is paused with the stage, as far as is noted, and whether all of it can be asked for. */
    public PausedContainers stillPaused(StageId id) {
        ContainerNote note = noted(id);
        if (!note.paused()) {
            return PausedContainers.NONE;
        }
        boolean reachable = true;
        for (ContainerRef container : note.containers()) {
            try {
                new ContainerTool(container).inspect(List.of());
            } catch (IOException e) {
                reachable = false;
            }
        }
        return new PausedContainers(note.containers(), reachable);
    }

    /** Those of these stages of which nothing stays paused, so far as is known. */
    public List<StageStatus> withoutPaused(List<StageStatus> stages) {
        return stages.stream().filter(stage -> !mayBePaused(stage.id())).toList();
    }

    private boolean mayBePaused(StageId id) {
        try {
            return paused(id);
        } catch (UncheckedIOException e) {
            return true;
        }
    }

    /** Forgets what is noted of a stage that is over and has nothing paused any more. */
    public void forget(StageId id) {
        try {
            notes.delete(id);
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> "what is noted of the containers of " + id + " cannot be removed");
        }
    }

    /** Of which stages something is noted; none when that cannot be listed. */
    public List<StageId> noted() {
        try {
            return notes.ids();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "what is noted of the containers of former stages cannot be listed", e);
            return List.of();
        }
    }

    /**
     * Ends and forgets what is noted of a stage that is no more. Of what cannot be ended the note stays.
     *
     * @param known whether the stage is there after all: its note may be older than it, and another process may have started it
     */
    public void endStray(StageId id, Predicate<StageId> known) {
        try {
            if (known.test(id)) {
                return;
            }
            end(id);
            if (!known.test(id)) {
                forget(id);
            }
        } catch (IOException | UncheckedIOException e) {
            LOG.log(Level.WARNING, e, () -> "a container of " + id + ", which is no more, may still be paused");
        }
    }
}
