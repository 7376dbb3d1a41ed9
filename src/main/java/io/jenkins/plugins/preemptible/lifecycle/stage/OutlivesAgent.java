package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;

/**
 * Which suspended stages need their agent no more: image and workspace are sealed among the artifacts, and no process of
 * theirs is left on it.
 *
 * <p>Look-ups in memory; for any thread and any lock.
 */
public final class OutlivesAgent {

    private OutlivesAgent() {}

    /** Whether the stage can be resumed from the archive alone, its agent being there or not. */
    public static boolean holds(StageRecord stage) {
        return stage.state == StageState.SUSPENDED && isStored(stage) && isTreeEnded(stage) && !isAwaited(stage);
    }

    /**
     * The same for a stage whose agent was removed from Jenkins: an administrator or a cloud wants nothing to run there, though
     * it is not known that nothing does.
     */
    public static boolean holdsWithout(StageRecord stage) {
        return stage.state == StageState.SUSPENDED
                && isStored(stage)
                && Nodes.named(stage.node) == null
                && !isAwaited(stage);
    }

    /** The same for a stage that may have an executor of another agent already. */
    public static boolean isForAnother(StageRecord stage) {
        return isStored(stage) && (isTreeEnded(stage) || Nodes.named(stage.node) == null) && !isAwaited(stage);
    }

    /**
     * Whether another agent was asked to restore it and has not answered: it may run there. One that was removed from Jenkins is
     * waited for where the stage needs its own agent, see {@code RemovedTarget}.
     */
    public static boolean isAwaited(StageRecord stage) {
        return stage.restoringOn != null && (Nodes.named(stage.restoringOn) != null || !isStored(stage));
    }

    /** Whether the agent has said that no process of the stage is left there since it was sealed with its workspace. */
    public static boolean isTreeEnded(StageRecord stage) {
        return stage.luggage != null && stage.luggage.treeEnded();
    }

    /** Whether what is sealed of a suspended stage is enough for another agent, as soon as it runs nowhere. */
    public static boolean isStored(StageRecord stage) {
        return stage.suspended()
                && stage.form == StageRecord.Form.OWN
                && !stage.frozen
                && !stage.memoryOnly
                && stage.imageKey != null
                && stage.luggage != null
                && PreemptibleConfiguration.get().isMoveStages();
    }
}
