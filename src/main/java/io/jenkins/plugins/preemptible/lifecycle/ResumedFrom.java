package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.Messages;
import java.util.Arrays;

/**
 * From what a stage was resumed, for people.
 *
 * <ol>
 *   <li>The constants have the names of the engine's tiers, and one for an attempt whose answer was lost.
 *   <li>{@link #words} is the end of a sentence: resumed from …
 *   <li>{@link #times} tells what of the resume took how long.
 * </ol>
 */
public enum ResumedFrom {
    FROZEN,
    LOCAL_IMAGE,
    ARCHIVE,
    ALREADY_RUNNING;

    /** @param tier what the agent says, which may be anything */
    public static ResumedFrom of(@CheckForNull String tier) {
        return Arrays.stream(values())
                .filter(known -> known.name().equals(tier))
                .findFirst()
                .orElse(ARCHIVE);
    }

    /**
     * @param before the stage as it was suspended: one that lost its agent has no other image than its checkpoint, and one that
     *     was frozen has none in the build's archive
     */
    String words(StageRecord before) {
        if (this == ARCHIVE && before.frozen()) {
            return Messages.ResumedFrom_Unstored();
        }
        return this == ARCHIVE && before.rolledBack() ? Messages.ResumedFrom_Checkpoint() : words();
    }

    public String words() {
        return switch (this) {
            case FROZEN -> Messages.ResumedFrom_Frozen();
            case LOCAL_IMAGE -> Messages.ResumedFrom_LocalImage();
            case ARCHIVE -> Messages.ResumedFrom_Archive();
            case ALREADY_RUNNING -> Messages.ResumedFrom_AlreadyRunning();
        };
    }

    String times(AgentStage.Restore restore) {
        switch (this) {
            case FROZEN:
                return "thaw " + restore.restoreMillis() + " ms";
            case ARCHIVE:
                return "unpack " + restore.unpackMillis() + " ms, restore " + restore.restoreMillis() + " ms";
            default:
                return "restore " + restore.restoreMillis() + " ms";
        }
    }
}
