package io.jenkins.plugins.preemptible.manual;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.Preemption;
import java.util.Collection;
import jenkins.model.Jenkins;

/**
 * Switches the plugin off and on, as the page and Configuration as Code do by {@code enabled}.
 *
 * <ol>
 *   <li>For administrators: it concerns all builds.
 *   <li>Switched off, no stage is suspended, not even manually; suspended stages are resumed as executors become free.
 *   <li>The answer tells how many stages are suspended still, and how many builds run inside of a preemptible block.
 * </ol>
 *
 * From any thread, under no lock; waits for no agent.
 */
public final class SwitchVerbs {

    private SwitchVerbs() {}

    public static Answer off() {
        set(false);
        Collection<StageRecord> stages = StageRegistry.get().all();
        long suspended = stages.stream().filter(StageRecord::suspended).count();
        long drained = stages.stream()
                .filter(stage -> stage.suspended() && DrainedAgents.get().contains(stage.node()))
                .count();
        long failed =
                stages.stream().filter(stage -> stage.whyNotResumed() != null).count();
        StringBuilder told = new StringBuilder(Messages.SwitchVerbs_Off(suspended, stages.size() - suspended));
        if (drained > 0) {
            told.append(' ').append(Messages.SwitchVerbs_OffButDrained(drained));
        }
        if (failed > 0) {
            told.append(' ').append(Messages.SwitchVerbs_OffButFailed(failed));
        }
        return Answer.done(told.toString());
    }

    public static Answer on() {
        set(true);
        return Answer.done(Messages.SwitchVerbs_On());
    }

    private static void set(boolean enabled) {
        Jenkins.get().checkPermission(Jenkins.ADMINISTER);
        PreemptibleConfiguration.get().setEnabled(enabled);
        Preemption.soon(0);
    }
}
