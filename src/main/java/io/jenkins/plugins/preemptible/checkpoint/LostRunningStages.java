package io.jenkins.plugins.preemptible.checkpoint;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import hudson.model.TaskListener;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.CheckpointedStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.SuspendedSteps;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import jenkins.model.NodeListener;
import org.jenkinsci.plugins.workflow.graph.FlowNode;

/**
 * Gives a running stage whose agent is lost the state of its last checkpoint.
 *
 * <ol>
 *   <li>Lost is an agent that was removed from Jenkins, or has been away for {@link LostAgents#AWAY_MILLIS}; and one that is
 *       back without the stage's processes, since its host has restarted.
 *   <li>The stage then counts as suspended, with the checkpoint as its image, and gives its executor back. From there on it
 *       is resumed as any suspended stage whose agent is lost.
 *   <li>A checkpoint counts only while the Pipeline waits for the very steps that ran then: nothing can undo the end of a
 *       step.
 *   <li>Its old host is not trusted to be dead: what comes back there is ended.
 * </ol>
 */
@Extension
public final class LostRunningStages extends PeriodicWork {

    private static final Logger LOGGER = Logger.getLogger(LostRunningStages.class.getName());
    private static final String REASON = "Its agent was lost while it ran.";

    /** When an agent that has connected is asked; its builds may be loaded later than that. */
    private static final long[] AFTER_RETURN_MILLIS = {0, 10_000, 60_000};

    /** Stages that were looked at and cannot be rolled back, as long as their agents are lost. */
    private static final Set<String> IN_VAIN = ConcurrentHashMap.newKeySet();

    @Override
    public long getRecurrencePeriod() {
        return TimeUnit.SECONDS.toMillis(5);
    }

    @Override
    protected void doRun() {
        look();
    }

    private static void look() {
        Jenkins jenkins = Jenkins.get();
        if (jenkins.isQuietingDown() || jenkins.isTerminating()) {
            return;
        }
        for (StageRecord stage : StageRegistry.get().all()) {
            if (!isLost(stage)) {
                IN_VAIN.remove(stage.id());
            } else if (!IN_VAIN.contains(stage.id())) {
                StageThreads.submit("taking " + stage + " back to its checkpoint", () -> takeBack(stage.id(), false));
            }
        }
    }

    /** Look-ups in memory. */
    private static boolean isLost(StageRecord stage) {
        return mayGoBack(stage)
                && (Nodes.named(stage.node()) == null || LostAgents.awayMillis(stage.node()) >= LostAgents.AWAY_MILLIS);
    }

    private static boolean mayGoBack(StageRecord stage) {
        return stage.state() == StageState.RUNNING
                && stage.hasCheckpoint()
                && PreemptibleConfiguration.get().isMoveStages();
    }

    /** A host that has restarted is there again, without the stage's processes. */
    @Extension
    public static final class Returned extends ComputerListener {
        @Override
        public void onOnline(Computer computer, TaskListener listener) {
            Node node = computer.getNode();
            for (StageRecord stage : StageRegistry.get().all()) {
                if (node != null && stage.node().equals(node.getNodeName()) && mayGoBack(stage)) {
                    for (long delayMillis : AFTER_RETURN_MILLIS) {
                        String what = "looking for " + stage;
                        StageThreads.scheduleFor(stage.node(), what, delayMillis, () -> look(node, stage.id()));
                    }
                }
            }
        }

        private static void look(Node node, String id) throws IOException, InterruptedException {
            StageRecord stage = StageRegistry.get().find(id);
            if (stage != null
                    && mayGoBack(stage)
                    && CheckpointedStage.on(node, id).isGone(stage.controlFolders())) {
                takeBack(id, true);
            }
        }
    }

    /** Steps of a removed agent end in some minutes: there is no time to lose. */
    @Extension
    public static final class Removed extends NodeListener {
        @Override
        protected void onDeleted(@NonNull Node node) {
            look();
        }
    }

    /** @param gone whether its host has answered that its processes are gone */
    private static void takeBack(String id, boolean gone) throws InterruptedException {
        LiveStage live = LiveStage.find(id);
        if (live == null) {
            return;
        }
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(id);
            if (stage == null || !(gone ? mayGoBack(stage) : isLost(stage)) || live.ending() || live.aborting()) {
                return;
            }
            StepsInFlight steps = StepsInFlight.of(live);
            StageCheckpoint last = usable(stage, steps);
            if (last == null) {
                IN_VAIN.add(id);
                StageLog.line(
                        live.context(),
                        "The agent '" + stage.node()
                                + "' is lost, and no checkpoint of this stage is of use: its Pipeline"
                                + " has gone on since then. It waits for its agent as any running step does.");
                return;
            }
            takeBack(live, stage, last, steps, gone);
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "the steps of stage " + id + " are not known; tried again");
        } finally {
            live.operation().unlock();
        }
    }

    @CheckForNull
    static StageCheckpoint usable(StageRecord stage, StepsInFlight steps) {
        List<String> now =
                steps.external().stream().map(FlowNode::getId).sorted().toList();
        return steps.others().isEmpty()
                ? stage.checkpoints().made().stream()
                        .filter(each -> each.steps().equals(now))
                        .findFirst()
                        .orElse(null)
                : null;
    }

    private static void takeBack(
            LiveStage live, StageRecord stage, StageCheckpoint last, StepsInFlight steps, boolean gone)
            throws InterruptedException {
        long now = System.currentTimeMillis();
        StageRecord back = StageRegistry.get().update(live.id(), Checkpoints.rolledBack(last, REASON, now));
        if (back == null) {
            return;
        }
        StepsOnAgent.leave(live, stage.node());
        SuspendedSteps.waitForAgent(back);
        try {
            live.hold().release(back);
        } catch (IOException x) {
            // After a restart it has none yet, and waits for the one it had.
            live.hold().withdraw(back);
        }
        long away = Nodes.named(stage.node()) == null ? 0 : LostAgents.awayMillis(stage.node());
        long repeated = Math.max(0, stage.executorMillis(now) - away - last.executorMillis());
        StageLog.line(
                live.context(),
                (gone
                                ? "The host of the agent '" + stage.node()
                                        + "' has lost this stage's processes. It is resumed"
                                : "The agent '" + stage.node()
                                        + "' is lost. What still runs there is ended when it connects. This stage is resumed"
                                        + " on another agent that fits,")
                        + " from its checkpoint of " + Util.getTimeSpanString(Math.max(0, now - last.atMillis()))
                        + " ago: " + Util.getTimeSpanString(repeated) + " of work are repeated.");
        StageMarks.suspended(live, back, steps.external());
    }
}
