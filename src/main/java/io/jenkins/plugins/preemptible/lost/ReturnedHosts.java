package io.jenkins.plugins.preemptible.lost;

import hudson.Extension;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import hudson.remoting.Channel;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.lifecycle.agents.LeftStages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Cleans a host that comes back after its stage was resumed on another one.
 *
 * <ol>
 *   <li>The host is known by the token in its folder: by whatever agent it connects, and never another host that has a
 *       stage of that id by right.
 *   <li>What is left of the stage there, processes included, is removed, and the temporary folder with its secrets.
 *   <li>A stage that has ended meanwhile is {@code UnknownStages}' part.
 *   <li>Another host may connect by the name of the one that a suspended stage has left: Pipeline's steps, which look for their
 *       workspace there, find an empty one until the stage is resumed.
 * </ol>
 */
@Extension
public final class ReturnedHosts extends ComputerListener {

    private static final Logger LOGGER = Logger.getLogger(ReturnedHosts.class.getName());

    @Override
    public void preOnline(Computer computer, Channel channel, FilePath root, TaskListener listener) {
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.node().equals(computer.getName()) && OutlivesAgent.isStored(stage)) {
                try {
                    standIn(stage, channel);
                } catch (IOException | RuntimeException x) {
                    LOGGER.log(Level.WARNING, x, () -> "cannot look for the workspace of " + stage);
                } catch (InterruptedException x) {
                    Thread.currentThread().interrupt();
                    return;
                }
            }
        }
    }

    private static void standIn(StageRecord stage, Channel channel) throws IOException, InterruptedException {
        FilePath workspace = new FilePath(channel, stage.workspace());
        if (workspace.exists()) {
            return;
        }
        workspace.mkdirs();
        for (String control : stage.controlFolders()) {
            FilePath folder = new FilePath(channel, control);
            folder.mkdirs();
            folder.child(DurableTasks.LOG).touch(System.currentTimeMillis());
        }
    }

    @Override
    public void onOnline(Computer computer, TaskListener listener) {
        Node node = computer.getNode();
        if (node != null && StageRegistry.get().all().stream().anyMatch(stage -> isLeft(stage))) {
            StageThreads.askFor(
                    computer.getName(),
                    "cleaning " + computer.getName() + " of moved stages",
                    () -> clean(node, listener));
        }
    }

    private static boolean isLeft(StageRecord stage) {
        return !stage.leftHosts().isEmpty();
    }

    /** @return false when the stage is on its way there by now, or there again */
    private static boolean cleanOne(String id, String token, Node node) throws IOException, InterruptedException {
        LiveStage live = LiveStage.find(id);
        if (live != null) {
            live.operation().lockInterruptibly();
        }
        try {
            StageRecord now = StageRegistry.get().find(id);
            if (now == null
                    || !now.leftHosts().contains(token)
                    || node.getNodeName().equals(now.node())
                    || node.getNodeName().equals(now.restoringOn())) {
                return false;
            }
            LeftStages.clean(now, node, StageLuggage.temporary(now));
            StageRegistry.get().update(id, LuggageChanges.cleanedOn(token));
            return true;
        } finally {
            if (live != null) {
                live.operation().unlock();
            }
        }
    }

    private static void clean(Node node, TaskListener listener) throws InterruptedException {
        try {
            String token = MovingStage.describe(node).token();
            List<StageRecord> left = StageRegistry.get().all().stream()
                    .filter(stage -> stage.leftHosts().contains(token))
                    // By its name it is cleaned as any agent that a stage has left.
                    .filter(stage -> !LeftAgents.of(stage).containsKey(node.getNodeName()))
                    .toList();
            for (StageRecord stage : left) {
                if (!cleanOne(stage.id(), token, node)) {
                    continue;
                }
                listener.getLogger()
                        .println(StageLog.marked("Removed what was left of the stage " + stage.id()
                                + ", which was resumed on another agent while this one was away."));
            }
        } catch (IOException | RuntimeException x) {
            // The next connection tries again.
            LOGGER.log(Level.WARNING, x, () -> "cannot clean " + node.getDisplayName() + " of stages that it has lost");
        }
    }
}
