package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Brings a stage's record and its processes together.
 *
 * <ol>
 *   <li>The record says which step began last. Processes, exit code and lock say what became of that step.
 *   <li>When the process of a step died, the step is finished here, or undone.
 *   <li>The record is changed under the stage's lock only. When another process holds the lock, nothing is changed.
 * </ol>
 */
record Settling(Stages stages) {

    private static final Logger LOG = Logger.getLogger(Settling.class.getName());
    /** How long a query waits for the end of processes. */
    private static final Duration MOMENT = TimeLimits.of(Duration.ofSeconds(1));

    /**
     * The record, brought up to date with what the host shows. A full disk does not hinder the answer.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    StageJson settle(StageId id) {
        StageFolder folder = stages.folder(id);
        StageJson record =
                folder.read().orElseThrow(() -> new EngineException(FailureReason.UNKNOWN_STAGE, id.value()));
        try {
            return switch (record.state()) {
                case RUNNING, SUSPENDING -> {
                    if (record.init() == null) {
                        yield unstarted(folder, record);
                    }
                    if (!record.init().alive() || endsWithItsContainer(record)) {
                        yield ended(folder, record);
                    }
                    yield runsOn(record) ? thawed(folder, record) : record;
                }
                case RESUMING -> resuming(folder, record);
                case SUSPENDED -> record.freezer() == null ? record : committed(folder, record);
                default -> record;
            };
        } catch (IOException e) {
            throw new UncheckedIOException("the state of " + id + " cannot be read", e);
        }
    }

    // The kernel has killed them with the container's first process, and that waits for them. With control groups of
    // version 1 a frozen process does not end before it is thawed.
    private static boolean endsWithItsContainer(StageJson record) throws IOException {
        if (record.container() == null || record.container().runs()) {
            return false;
        }
        Optional<Freezer> freezer = Stages.freezer(record);
        if (freezer.isPresent()) {
            freezer.get().kill(record.init());
        }
        return !record.init().alive();
    }

    /** What is done under the lock, when no other process changes the stage. */
    private interface Finding {
        StageJson at(StageJson now) throws IOException;
    }

    // The process that holds the lock does its own part: until then, what was seen holds.
    private static StageJson underLock(StageFolder folder, StageJson seen, Finding finding) throws IOException {
        Optional<StageFolder.Held> held = folder.lock();
        if (held.isEmpty()) {
            return seen;
        }
        try (StageFolder.Held lock = held.get()) {
            return finding.at(folder.read().orElse(seen));
        }
    }

    // Between reading the record and finding the process gone a suspension may have ended: then the record changed.
    private StageJson ended(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (!now.equals(seen)) {
                return now;
            }
            boolean gone = Stages.freezer(seen).map(Settling::removed).orElse(true);
            if (isSealed(seen)) {
                // Killed while it was frozen, by a shortage of memory or the host's end: its image is complete.
                return note(
                        folder,
                        seen,
                        r -> r.withState(State.SUSPENDED)
                                .withSuspensions(r.suspensions() + 1)
                                .withInit(null)
                                .withFreezer(gone ? null : r.freezer())
                                .withFreezing(null)
                                .withArchive(r.archive(), null));
            }
            StageFolder.delete(folder.images());
            State state = folder.exitCode().isPresent() ? State.ENDED : State.FAILED;
            return note(
                    folder,
                    seen,
                    r -> r.withState(state)
                            .withInit(null)
                            .withFreezer(gone ? null : r.freezer())
                            .withFreezing(null)
                            .withArchive(null, null));
        });
    }

    // The record follows the host. A full disk is no failure: the next query finds the same.
    private static StageJson note(StageFolder folder, StageJson seen, UnaryOperator<StageJson> next) {
        UnaryOperator<StageJson> unlessKilled = r -> r.state() == State.KILLED ? r : next.apply(r);
        try {
            return folder.change(unlessKilled).orElse(seen);
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> "the state of " + seen.id() + " cannot be recorded yet");
            return unlessKilled.apply(seen);
        }
    }

    // A start holds the lock until it knows the init: without lock and init, the starting process died.
    private static StageJson unstarted(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (!now.equals(seen)) {
                return now;
            }
            HostProcess init = StageLaunch.find(folder).orElse(null);
            try {
                Stages.killWhole(Stages.freezer(seen).orElseThrow(), init, MOMENT);
            } catch (IOException e) {
                LOG.log(
                        Level.WARNING,
                        e,
                        () -> "the processes of " + seen.id() + ", whose start was cut off, cannot be killed yet");
                return seen;
            }
            return note(folder, seen, r -> r.withState(State.FAILED).withFreezer(null));
        });
    }

    // Not while criu works on the tree: it stops the processes in its own way.
    private static boolean runsOn(StageJson record) throws IOException {
        Optional<Freezer> freezer = Stages.freezer(record);
        boolean dumping = record.freezing() != null
                && record.freezing().dumper() != null
                && record.freezing().dumper().alive();
        return record.state() == State.SUSPENDING
                && freezer.isPresent()
                && !dumping
                && !freezer.get().holds(record.init())
                && Proc.tracer(record.init().pid()) == 0
                // Last: what ends with its container is thawed for that.
                && (record.container() == null || record.container().runs());
    }

    // The process that thawed it, or was about to freeze it, could not record that any more.
    private static StageJson thawed(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (!now.equals(seen) || !runsOn(now)) {
                return now;
            }
            try {
                SealedImages.dropImage(folder, now);
            } catch (IOException e) {
                LOG.log(
                        Level.WARNING,
                        e,
                        () -> "the image of " + now.id() + ", which keeps running, cannot be removed");
            }
            return note(
                    folder,
                    now,
                    r -> r.withState(State.RUNNING).withFreezing(null).withArchive(null, null));
        });
    }

    // A commit that was cut off: its archive is safe, but the frozen processes still hold their memory.
    private StageJson committed(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (now.state() != State.SUSPENDED || now.freezer() == null) {
                return now;
            }
            try {
                return InterruptedSteps.finishCommit(stages, folder, now, MOMENT);
            } catch (IOException e) {
                LOG.log(Level.WARNING, e, () -> "the frozen processes of " + now.id() + " cannot be killed yet");
                return now;
            }
        });
    }

    private static boolean isSealed(StageJson seen) {
        return seen.state() == State.SUSPENDING && SealedImages.ownsArchive(seen);
    }

    // The resuming process may have died. Its criu continued: the stage either runs now or is still suspended.
    private StageJson resuming(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (now.state() != State.RESUMING || now.freezer() == null) {
                return now;
            }
            Freezer freezer = Stages.freezer(now).orElseThrow();
            Optional<HostProcess> init = Criu.finishedRestore(folder, freezer);
            if (init.isEmpty()) {
                return now.withState(State.SUSPENDED);
            }
            InterruptedSteps.release(now);
            TaskTraits.giveBackTaken(folder.path(), init.get().pid());
            freezer.thaw(init.get());
            StageFolder.delete(folder.images());
            stages.incoming().sweep();
            return note(
                    folder,
                    now,
                    r -> r.state() != State.RESUMING
                            ? r
                            : r.withState(State.RUNNING).withInit(init.get()).withArchive(null, null));
        });
    }

    private static boolean removed(Freezer freezer) {
        try {
            freezer.kill(null);
            freezer.remove();
            return true;
        } catch (IOException e) {
            // A process that entered from outside and hangs keeps the group; a later kill or forget removes it.
            return false;
        }
    }
}
