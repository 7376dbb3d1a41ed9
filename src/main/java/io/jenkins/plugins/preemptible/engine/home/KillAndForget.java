package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Ends a stage before its command does, and removes what is kept of it.
 *
 * <ol>
 *   <li>The record says KILLED first, so that no other step on the stage takes what it sees for success.
 *   <li>The kill itself depends on no file: it works on a full disk, and without a readable record.
 *   <li>Files with the stage's plain memory are removed with it.
 * </ol>
 *
 * Takes the stage's lock only where it is free.
 */
public record KillAndForget(Stages stages, StageId id) {

    private static final Logger LOG = Logger.getLogger(KillAndForget.class.getName());

    public void kill() {
        StageFolder folder = stages.folder(id);
        try {
            if (!readable(folder)) {
                for (Freezer group : groupsWithoutRecord(folder)) {
                    Stages.killWhole(group, null);
                }
                return;
            }
            StageJson record = stages.settle(id);
            if (record.state() != State.ENDED && record.state() != State.FAILED) {
                kill(folder, record);
                removeEmptyGroups();
            } else if (record.freezer() != null) {
                // Its group could not be removed when it ended.
                Stages.killWhole(Stages.freezer(record).orElseThrow(), null);
                folder.change(r -> r.state() == record.state() ? r.withFreezer(null) : r);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the stage " + id + " could not be killed", e);
        }
    }

    private void kill(StageFolder folder, StageJson record) throws IOException {
        boolean told = true;
        try {
            folder.change(r -> r.withState(State.KILLED));
        } catch (IOException e) {
            // The disk may be full, perhaps with what this very stage writes: the kill makes room.
            told = false;
        }
        Optional<Freezer> freezer = Stages.freezer(record);
        if (freezer.isPresent()) {
            Stages.killWhole(freezer.get(), record.init());
        }
        InterruptedSteps.clear(stages, folder, record);
        stages.incoming().sweep();
        boolean known = told;
        try {
            folder.change(r -> known && r.state() != State.KILLED
                    ? r
                    : r.withState(State.KILLED).withInit(null).withFreezer(null).withFreezing(null));
        } catch (IOException e) {
            if (!known && (record.state() != State.RUNNING || record.init() == null)) {
                // Its image could still be resumed.
                throw e;
            }
            LOG.log(Level.WARNING, e, () -> id + " was killed, which cannot be recorded yet");
        }
    }

    public void forget() {
        StageFolder folder = stages.folder(id);
        try {
            if (readable(folder)) {
                StageJson record = stages.settle(id);
                switch (record.state()) {
                    case RUNNING, SUSPENDING, RESUMING:
                        throw new EngineException(FailureReason.STAGE_RUNS, id.value());
                    default:
                }
                Optional<Freezer> freezer = Stages.freezer(record);
                if (freezer.isPresent()) {
                    Stages.killWhole(freezer.get(), record.init());
                }
                removeEmptyGroups();
            } else {
                for (Freezer group : groupsWithoutRecord(folder)) {
                    if (!group.pids(null).isEmpty()) {
                        throw new EngineException(FailureReason.STAGE_RUNS, id.value());
                    }
                    group.remove();
                }
            }
            ImageTrial.clear(folder.trial());
            StageFolder.delete(folder.path());
            stages.incoming().sweep();
        } catch (IOException e) {
            throw new UncheckedIOException("the folder of " + id + " cannot be removed", e);
        }
    }

    // A resume makes the group before the record names it: a resume that is cut off in between leaves the group.
    private void removeEmptyGroups() throws IOException {
        for (Freezer group : FreezerKind.left(id, stages.freezers())) {
            if (group.cgroup().isPresent() && group.pids(null).isEmpty()) {
                group.remove();
            }
        }
    }

    private static boolean readable(StageFolder folder) {
        try {
            folder.read();
            return true;
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    // A stage of this id in another home folder has groups of the same form: its init knows another folder.
    private List<Freezer> groupsWithoutRecord(StageFolder folder) throws IOException {
        Optional<HostProcess> init = StageLaunch.find(folder);
        List<Freezer> groups = new ArrayList<>();
        for (Freezer group : FreezerKind.left(id, stages.freezers())) {
            List<Long> pids = group.pids(null);
            if (pids.isEmpty() || init.filter(i -> pids.contains(i.pid())).isPresent()) {
                groups.add(group);
            }
        }
        return groups;
    }
}
