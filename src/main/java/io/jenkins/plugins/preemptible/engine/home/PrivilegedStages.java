package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.privileged.HelperAnswer;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The stages of a user without root's rights: the privileged part runs them, the user's home folder names them.
 *
 * @param own what this user keeps of them
 */
public record PrivilegedStages(OwnFolders own, PrivilegedPart part) {

    /**
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}, for a stage of another home folder of this user too
     */
    public StageStatus status(StageId id) {
        try {
            OwnFolders.Stage folder = own.stage(id);
            // The host knows the stages of all home folders of this user.
            folder.note();
            return folder.status(part.call(Verb.STATUS, id));
        } catch (IOException e) {
            throw new UncheckedIOException("the state of the stage " + id + " cannot be read", e);
        }
    }

    /** All stages of this home, by id. */
    public List<StageStatus> list() {
        try {
            List<StageStatus> known = new ArrayList<>();
            for (StageId id : own.ids()) {
                try {
                    known.add(status(id));
                } catch (EngineException e) {
                    // Another process has forgotten it since the ids were read.
                    if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                        throw e;
                    }
                }
            }
            return List.copyOf(known);
        } catch (IOException e) {
            throw new UncheckedIOException("the stages cannot be listed", e);
        }
    }

    /** The processes in the stage's control group. */
    public List<Long> pids(StageId id) throws IOException {
        return pids(part.call(Verb.STATUS, id));
    }

    /** The processes in the control group that this answer names. */
    public static List<Long> pids(HelperAnswer seen) throws IOException {
        return FreezerKind.inGroup(Path.of(seen.text("group"))).pids(null);
    }
}
