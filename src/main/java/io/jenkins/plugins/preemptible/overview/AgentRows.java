package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Functions;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.overview.SchedulerState.AgentState;
import io.jenkins.plugins.preemptible.overview.parts.Cell;
import io.jenkins.plugins.preemptible.overview.parts.Column;
import io.jenkins.plugins.preemptible.overview.parts.Listing;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.Comparator;
import java.util.List;
import jenkins.model.Jenkins;

/** The list of agents: what each can do, and what is suspended there. */
final class AgentRows {

    private AgentRows() {}

    static List<Column<AgentState>> columns() {
        return List.of(
                new Column<>(
                        "agent",
                        Messages.StageRows_Agent(),
                        Comparator.comparing(AgentState::displayName),
                        agent -> Cell.link(agent.displayName(), address(agent.name()))),
                new Column<>(
                        "executors",
                        Messages.AgentRows_Executors(),
                        Comparator.comparingInt(AgentState::idle),
                        agent -> Cell.of(Messages.AgentRows_Idle(agent.executors(), agent.idle()))),
                new Column<>(
                        "suspends",
                        Messages.AgentRows_Suspends(),
                        Comparator.comparing(AgentState::suspends),
                        agent -> new Cell(way(agent), null, ShownSentence.of(agent.whyNot()))),
                new Column<>(
                        "suspended",
                        Messages.AgentRows_Suspended(),
                        Comparator.comparingLong(AgentState::suspended),
                        agent -> Cell.of(agent.suspended())),
                new Column<>(
                        "free",
                        Messages.AgentRows_Free(),
                        Comparator.comparingLong(AgentState::freeBytes),
                        agent -> Cell.of(
                                agent.freeBytes() < 0 ? "" : Functions.humanReadableByteSize(agent.freeBytes()))),
                new Column<>(
                        "state",
                        Messages.AgentRows_State(),
                        Comparator.comparing(AgentRows::state),
                        agent -> Cell.of(state(agent))));
    }

    private static String way(AgentState agent) {
        return switch (HowSuspended.Way.valueOf(agent.suspends())) {
            case CHECKPOINTS -> Messages.AgentRows_Checkpoints();
            case MEMORY_ONLY -> Messages.AgentRows_MemoryOnly();
            case NOT -> Messages.AgentRows_Not(ShownSentence.of(agent.whyNot()));
            case UNKNOWN -> Messages.AgentRows_Unknown();
        };
    }

    private static String state(AgentState agent) {
        if (agent.drained()) {
            return Messages.AgentRows_Drained(agent.drainedBy());
        }
        return agent.accepting() ? Messages.AgentRows_Online() : Messages.AgentRows_Offline();
    }

    /** Address of the agent's page about its stages; null when there is no such agent. */
    @CheckForNull
    static String address(String node) {
        Computer computer = Jenkins.get().getComputer(node);
        return computer == null ? null : computer.getUrl() + "preemptible/";
    }

    static List<Listing.Step> steps(AgentState agent) {
        Computer computer = Jenkins.get().getComputer(agent.name());
        if (computer == null || !PreemptiblePermissions.mayDrain(computer)) {
            return List.of();
        }
        return List.of(AgentConfirmation.step(
                agent.drained() ? AgentConfirmation.Verb.UNDRAIN : AgentConfirmation.Verb.DRAIN, agent.name()));
    }
}
