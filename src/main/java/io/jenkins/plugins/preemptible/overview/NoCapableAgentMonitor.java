package io.jenkins.plugins.preemptible.overview;

import hudson.Extension;
import hudson.model.AdministrativeMonitor;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jenkins.model.Jenkins;

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
        Set<HowSuspended.Way> ways = agents().map(
                        agent -> HowSuspended.on(agent.getNodeName()).way())
                .collect(Collectors.toSet());
        return ways.contains(HowSuspended.Way.NOT)
                && !ways.contains(HowSuspended.Way.CHECKPOINTS)
                && !ways.contains(HowSuspended.Way.MEMORY_ONLY);
    }

    /** The built-in node, too. */
    private static Stream<Node> agents() {
        return Stream.concat(Stream.of(Jenkins.get()), Jenkins.get().getNodes().stream());
    }

    /** What the first of them said. */
    public String getReason() {
        return agents().filter(agent -> HowSuspended.on(agent.getNodeName()).whyNot() != null)
                .map(agent -> Messages.NoCapableAgentMonitor_Reason(
                        agent.getDisplayName(),
                        ShownSentence.of(HowSuspended.on(agent.getNodeName()).whyNot())))
                .findFirst()
                .orElse("");
    }
}
