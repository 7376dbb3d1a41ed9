package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import hudson.slaves.ComputerListener;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.agents.LeftStages;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Cleans the agents that a stage has left, or that it did not come to: its image, and the temporary folders, which may hold
 * secrets of its steps.
 *
 * <ol>
 *   <li>Not at once: a step that was just looking for its log there must still find it. Until then the workspace of that
 *       agent is leased, so that no other build's temporary folder is removed.
 *   <li>An agent that is away is cleaned when it is back, also by the next process of the controller.
 *   <li>Never while the stage is being resumed: it may come to this very agent.
 * </ol>
 */
final class LeftAgent {

    private static final Logger LOGGER = Logger.getLogger(LeftAgent.class.getName());

    /** More than a step's own look at its agent may take (DurableTaskStep.REMOTE_TIMEOUT). */
    private static final long DELAY_MILLIS = TimeUnit.SECONDS.toMillis(60);

    /** For a stage that is being resumed, or an agent that did not do its part. */
    private static final long RETRY_MILLIS = TimeUnit.SECONDS.toMillis(10);

    private LeftAgent() {}

    private static long delayMillis() {
        return Long.getLong(LeftAgent.class.getName() + ".delayMillis", DELAY_MILLIS);
    }

    /** Cleans the agent that the stage was on, after the delay. */
    static void clean(StageRecord before, @CheckForNull WorkspaceList.Lease lease) {
        Node node = Nodes.named(before.node());
        Computer computer = node == null ? null : node.toComputer();
        if (lease != null && computer != null) {
            KeptWorkspaces.keep(before, computer, lease);
        } else if (lease != null) {
            lease.release();
        }
        schedule(before.id(), before.node(), delayMillis());
    }

    /** Cleans an agent as soon as the stage is not being resumed any more. */
    static void schedule(String stageId, String agent, long delayMillis) {
        StageThreads.scheduleFor(agent, "cleaning " + agent + " of stage " + stageId, delayMillis, () -> {
            if (!isClean(stageId, agent)) {
                schedule(stageId, agent, Math.min(delayMillis(), RETRY_MILLIS));
            }
        });
    }

    /** @return true also where it cannot be done now, and is not to be tried again before the agent connects */
    private static boolean isClean(String stageId, String agent) throws InterruptedException {
        Lock lock = KeptWorkspaces.arrivals(stageId, agent);
        lock.lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(stageId);
            Node node = Nodes.named(agent);
            if (stage == null || !LeftAgents.of(stage).containsKey(agent) || Nodes.rootOf(agent) == null) {
                return true;
            }
            if (stage.state() == StageState.RESUMING || stage.restoringOn() != null || isOnUnknownHost(stage)) {
                // It may be on this very host, under another agent's name.
                return false;
            }
            if (!isSameFolder(stage, node) && !clean(stage, node)) {
                return false;
            }
            HostTraits host = traits(node);
            StageRegistry.get()
                    .update(
                            stageId,
                            LeftAgents.cleaned(agent)
                                    .andThen(LuggageChanges.cleanedOn(host == null ? "" : host.token())));
            return true;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot clean " + agent + " of stage " + stageId + " yet");
            return Nodes.rootOf(agent) == null;
        } finally {
            lock.unlock();
        }
    }

    private static boolean clean(StageRecord stage, Node node) throws IOException, InterruptedException {
        Computer computer = node.toComputer();
        FilePath workspace = node.createPath(stage.workspace());
        if (computer == null || workspace == null) {
            throw new IOException("the agent is offline");
        }
        WorkspaceList.Lease lease = KeptWorkspaces.take(stage, computer, workspace);
        try {
            return LeftStages.clean(stage, node, ExactLease.isOf(workspace, lease));
        } finally {
            lease.release();
        }
    }

    private static boolean isOnUnknownHost(StageRecord stage) throws IOException, InterruptedException {
        Node now = Nodes.named(stage.node());
        if (now == null) {
            return false;
        }
        AgentTraits.learn(now);
        return traits(now) == null;
    }

    /** Whether the agent has the folder of the one that the stage is on now: it was set up anew under that name. */
    private static boolean isSameFolder(StageRecord stage, Node left) throws IOException, InterruptedException {
        Node now = Nodes.named(stage.node());
        AgentTraits.learn(left);
        HostTraits there = traits(left);
        HostTraits here = now == null ? null : traits(now);
        return there != null
                && here != null
                && !there.token().isEmpty()
                && there.token().equals(here.token());
    }

    @CheckForNull
    private static HostTraits traits(Node node) {
        Computer computer = node.toComputer();
        return computer == null ? null : AgentTraits.of(computer);
    }

    /** Cleans agents that were away. */
    @Extension
    public static final class OfAgentsThatConnect extends ComputerListener {
        @Override
        public void onOnline(Computer computer, TaskListener listener) {
            String agent = computer.getName();
            StageRegistry.get().all().stream()
                    .filter(stage -> LeftAgents.of(stage).containsKey(agent))
                    .forEach(stage -> schedule(stage.id(), agent, 0));
        }
    }
}
