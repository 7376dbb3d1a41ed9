package io.jenkins.plugins.preemptible.manual;

import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.Preemption;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Comparator;
import java.util.List;

/**
 * What users can do to an agent.
 *
 * <ol>
 *   <li>Checks the permission before anything else.
 *   <li>{@link #drain} notes that the agent is to be drained; nothing new starts there from that moment on.
 *   <li>Requests an evaluation of the queue, which suspends what can be suspended, or resumes it.
 * </ol>
 *
 * Errors and threads as in {@link StageVerbs}.
 */
public final class AgentVerbs {

    private AgentVerbs() {}

    public static Answer drain(Computer computer) {
        PreemptiblePermissions.checkDrain(computer);
        Node node = computer.getNode();
        if (node == null) {
            return gone(computer);
        }
        String name = node.getNodeName();
        DrainedAgents.get().drain(name, StageVerbs.user());
        Preemption.soon(0);
        long staying = stagesOn(name).stream()
                .filter(stage -> !stage.suspended())
                .filter(stage -> stage.whyNotSuspendable() != null
                        || stage.canOnlyBeFrozen()
                        || NeverPreemptAction.holds(stage.runId()))
                .count();
        String drained = staying == 0
                ? Messages.AgentVerbs_Drain(shown(name))
                : Messages.AgentVerbs_DrainBut(shown(name), staying);
        if (HowSuspended.on(name).way() == HowSuspended.Way.MEMORY_ONLY) {
            drained += " "
                    + (HowSuspended.lacksMemory(name)
                            ? Messages.AgentVerbs_DrainNoMemory()
                            : Messages.AgentVerbs_DrainInMemory());
        }
        return Answer.done(drained);
    }

    public static Answer undrain(Computer computer) {
        PreemptiblePermissions.checkDrain(computer);
        Node node = computer.getNode();
        if (node == null) {
            return gone(computer);
        }
        if (!DrainedAgents.get().undo(node.getNodeName())) {
            return Answer.refused(
                    HttpServletResponse.SC_CONFLICT, Messages.AgentVerbs_NotDrained(shown(node.getNodeName())));
        }
        Queue.getInstance().scheduleMaintenance();
        Preemption.soon(0);
        return Answer.done(Messages.AgentVerbs_Undrain(shown(node.getNodeName())));
    }

    static Answer gone(Computer computer) {
        return Answer.refused(HttpServletResponse.SC_NOT_FOUND, Messages.AgentVerbs_Gone(computer.getDisplayName()));
    }

    /** The stages of an agent that have begun and not ended, in the order in which they began. */
    static List<StageRecord> stagesOn(String node) {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.node().equals(node))
                .sorted(Comparator.comparingLong(StageRecord::startedMillis).thenComparing(StageRecord::id))
                .toList();
    }

    /** The node's name for people, inside of a sentence. */
    static String within(String node) {
        return node.isEmpty() ? Messages.AgentVerbs_BuiltInWithin() : node;
    }

    /** The node's name for people, at the beginning of a sentence. */
    public static String shown(String node) {
        return node.isEmpty() ? Messages.AgentVerbs_BuiltIn() : node;
    }
}
