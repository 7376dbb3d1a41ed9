package io.jenkins.plugins.preemptible.checkpoint;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import hudson.model.TaskListener;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.CheckpointedStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.Rollback;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import java.io.IOException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import jenkins.model.NodeListener;

/**
 * Notices that a stage which has checkpoints has lost its processes, and has it go back to the last one.
 *
 * <ol>
 *   <li>A stage's processes are lost when its agent was removed from Jenkins, or has been away for {@link
 *       LostAgents#patienceMillis}; and when the agent is back without them, since its host has restarted.
 *   <li>That concerns stages that run, are being suspended, or are frozen, also while they are being resumed. One whose
 *       image is sealed without its workspace goes back when its agent stays away and nobody holds the stage back; for
 *       removed agents see {@code RemovedAgent}.
 *   <li>A stage that is being suspended or resumed at this moment is left until that has come to its end.
 * </ol>
 */
@Extension
public final class LostStagesWithCheckpoints extends PeriodicWork {

    private static final Logger LOGGER = Logger.getLogger(LostStagesWithCheckpoints.class.getName());

    /** When an agent that has connected is asked; its builds may be loaded later than that. */
    static final long[] AFTER_RETURN_MILLIS = {0, 10_000, 60_000};

    /** Stages that were looked at and cannot go back, as long as their agents are lost. */
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
        Collection<StageRecord> all = StageRegistry.get().all();
        IN_VAIN.retainAll(all.stream().map(StageRecord::id).toList());
        for (StageRecord stage : all) {
            LiveStage live = LiveStage.find(stage.id());
            if (!isLost(stage)) {
                IN_VAIN.remove(stage.id());
            } else if (live != null && !live.busy() && !IN_VAIN.contains(stage.id())) {
                StageThreads.submit(
                        "taking " + stage + " back to its checkpoint",
                        () -> takeBack(stage.id(), Rollback.Loss.OUT_OF_REACH, LostStagesWithCheckpoints::isLost));
            }
        }
    }

    /** Look-ups in memory. */
    private static boolean isLost(StageRecord stage) {
        if (!Rollback.isPossible(stage)) {
            return false;
        }
        boolean removed = Nodes.named(stage.node()) == null;
        boolean away = !removed && LostAgents.awayMillis(stage.node()) >= LostAgents.patienceMillis();
        // What is sealed is no worse when its agent is back later.
        return stage.holdsExecutor() || stage.frozen()
                ? removed || away
                : away && !stage.heldByHand(System.currentTimeMillis());
    }

    private static boolean isToRun(StageRecord stage) {
        return stage.holdsExecutor() && Rollback.isPossible(stage);
    }

    /**
     * A host that has restarted is there again, without the stage's processes. Of a frozen stage it may have an image, which is
     * found by who seals or resumes the stage.
     */
    @Extension
    public static final class Returned extends ComputerListener {
        @Override
        public void onOnline(Computer computer, TaskListener listener) {
            Node node = computer.getNode();
            for (StageRecord stage : StageRegistry.get().all()) {
                if (node != null && stage.node().equals(node.getNodeName()) && isToRun(stage)) {
                    for (long delayMillis : AFTER_RETURN_MILLIS) {
                        String what = "looking for " + stage;
                        StageThreads.scheduleFor(stage.node(), what, delayMillis, () -> look(node, stage.id()));
                    }
                }
            }
        }

        private static void look(Node node, String id) throws IOException, InterruptedException {
            StageRecord stage = StageRegistry.get().find(id);
            if (stage != null && isGone(node, stage)) {
                takeBack(id, Rollback.Loss.GONE, now -> isGone(node, now));
            }
        }

        private static boolean isGone(Node node, StageRecord stage) throws IOException, InterruptedException {
            // Who suspends or resumes a stage resumes it from a dump that was complete, too.
            boolean orDumped = stage.state() == StageState.RUNNING;
            return isToRun(stage) && CheckpointedStage.on(node, stage.id()).isGone(stage.controlFolders(), orDumped);
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

    /** Whether a stage is lost. */
    @FunctionalInterface
    private interface Check {
        boolean isTrueOf(StageRecord stage) throws IOException, InterruptedException;
    }

    /** @param still asked under the lock: somebody may have resumed the stage until then */
    private static void takeBack(String id, Rollback.Loss loss, Check still) throws InterruptedException {
        LiveStage live = LiveStage.find(id);
        if (live == null) {
            return;
        }
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(id);
            boolean lost = stage != null && !live.ending() && !live.aborting() && still.isTrueOf(stage);
            if (lost && !Rollback.of(live, loss)) {
                IN_VAIN.add(id);
            }
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "the steps of stage " + id + " are not known; tried again");
        } finally {
            live.operation().unlock();
        }
    }
}
