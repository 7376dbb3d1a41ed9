package io.jenkins.plugins.preemptible.overview;

import hudson.Extension;
import hudson.model.AdministrativeMonitor;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.HowSuspended;
import io.jenkins.plugins.preemptible.overview.SchedulerState.AgentState;
import java.util.List;

/**
 * Tells administrators that no agent can suspend anything, although some have said why they cannot.
 *
 * <p>Agents that nothing is known of yet do not count: it is shown only when at least one cannot and none can.
 */
@Extension
public final class NoCapableAgentMonitor extends AdministrativeMonitor {

    @Override
    public String getDisplayName() {
        return Messages.NoCapableAgentMonitor_DisplayName();
    }

    @Override
    public boolean isActivated() {
        if (!PreemptibleConfiguration.get().isEnabled()) {
            return false;
        }
        List<AgentState> agents = SchedulerState.agents();
        return agents.stream().anyMatch(agent -> is(agent, HowSuspended.Way.NOT))
                && agents.stream()
                        .noneMatch(agent ->
                                is(agent, HowSuspended.Way.CHECKPOINTS) || is(agent, HowSuspended.Way.MEMORY_ONLY));
    }

    private static boolean is(AgentState agent, HowSuspended.Way way) {
        return agent.suspends().equals(way.name());
    }

    /** What the first of them said. */
    public String getReason() {
        return SchedulerState.agents().stream()
                .filter(agent -> agent.whyNot() != null)
                .map(agent -> Messages.NoCapableAgentMonitor_Reason(agent.displayName(), agent.whyNot()))
                .findFirst()
                .orElse("");
    }
}
