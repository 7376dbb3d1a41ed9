package io.jenkins.plugins.preemptible.lifecycle;

import hudson.ExtensionList;
import hudson.ExtensionPoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;

/**
 * Takes a stage that has lost its processes back to an earlier state of it, which was sealed.
 *
 * <ol>
 *   <li>Afterwards the stage counts as suspended, with that state as its image and workspace, and is resumed as any other.
 *   <li>A stage without such a state is left to the caller, who does what is right for a stage that has lost its processes.
 *   <li>The processes may be there all the same, out of reach. When the host is back before the stage runs again, it keeps
 *       the stage, see {@link SealingSteps}; later it is cleaned.
 * </ol>
 *
 * Package {@code checkpoint} has the one implementation; this package does not know how such states are made.
 */
public interface Rollback extends ExtensionPoint {

    /** What is known of the processes. */
    enum Loss {
        /** Their host has answered that they are gone. */
        GONE,
        /** Their agent was removed from Jenkins, or has been away for too long. */
        OUT_OF_REACH
    }

    /** Whether it may have such a state, and nothing better is sealed. Look-ups in memory; for any thread and any lock. */
    boolean mayBePossible(StageRecord stage);

    /**
     * Takes it back, and says so in the build log. Under the stage's operation lock; blocks for seconds.
     *
     * @return false when it has no such state of use; nothing has changed then
     * @throws IOException when that is not known yet: nothing has changed, and it is worth another try soon
     */
    boolean run(LiveStage live, Loss loss) throws IOException, InterruptedException;

    /** As {@link #mayBePossible}. */
    static boolean isPossible(StageRecord stage) {
        return ExtensionList.lookup(Rollback.class).stream().anyMatch(one -> one.mayBePossible(stage));
    }

    /** As {@link #run}. */
    static boolean of(LiveStage live, Loss loss) throws IOException, InterruptedException {
        for (Rollback one : ExtensionList.lookup(Rollback.class)) {
            if (one.run(live, loss)) {
                return true;
            }
        }
        return false;
    }
}
