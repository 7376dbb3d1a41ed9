package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import hudson.model.Run;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The end of a stage, whatever the reason: nothing of it is left behind.
 *
 * <ol>
 *   <li>{@link #of} is called once, when the stage's body has ended; it marks the stage and returns at once.
 *   <li>Off that thread it waits for a suspension or restore in progress, kills what is left on the agent, and removes
 *       image, key and record.
 *   <li>An agent that is away is tried again while the stage's record says so; it is never waited for.
 * </ol>
 */
public final class Ending {

    private static final Logger LOGGER = Logger.getLogger(Ending.class.getName());
    private static final long RETRY_MILLIS = TimeUnit.SECONDS.toMillis(30);
    private static final int MOST_TRIES = 20;

    private Ending() {}

    /**
     * Ends the stage.
     *
     * @param run the stage's build, whose artifacts may hold an image; null when it has none yet
     */
    public static void of(LiveStage live, @CheckForNull Run<?, ?> run) {
        live.markEnding();
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null) {
            live.forget();
            return;
        }
        live.hold().withdraw(stage);
        StageThreads.submit("ending stage " + live.id(), () -> {
            live.operation.lock();
            try {
                StageRecord last = StageRegistry.get().find(live.id());
                if (last == null) {
                    return;
                }
                if (last.suspended()) {
                    StageMarks.resumed(live.context(), java.util.List.of());
                }
                if (run != null) {
                    StageImages.delete(run, last.id);
                }
                StageRegistry.get().remove(last.id);
                live.forget();
                removeFromAgent(last, 1);
            } finally {
                live.operation.unlock();
            }
        });
    }

    /** Ends a stage that no step of this controller process stands for. */
    static void ofLost(StageRecord stage, @CheckForNull Run<?, ?> run) {
        StageRegistry.get().remove(stage.id);
        StageThreads.submit("removing lost " + stage, () -> {
            if (run != null) {
                StageImages.delete(run, stage.id);
            }
            removeFromAgent(stage, 1);
        });
    }

    private static void removeFromAgent(StageRecord stage, int attempt) throws InterruptedException {
        FilePath root = AbortedStage.rootOf(stage.node);
        try {
            if (root == null) {
                throw new IOException("the agent is offline");
            }
            Node node = AbortedStage.nodeOf(stage.node);
            AgentStage.on(node, stage.id).remove();
            if (stage.cookie != null) {
                // What left the sandbox's reach, or never was in one, as the node step does at its end.
                node.createLauncher(TaskListener.NULL).kill(Map.of(StageRecord.COOKIE, stage.cookie));
            }
        } catch (IOException | RuntimeException x) {
            if (attempt >= MOST_TRIES) {
                LOGGER.log(Level.WARNING, x, () -> "gave up removing what is left of " + stage
                        + "; the folder preemptible/stages/" + stage.id + " in that agent's root may be removed by hand");
            } else {
                StageThreads.schedule(
                        "removing stage " + stage.id, RETRY_MILLIS, () -> removeFromAgent(stage, attempt + 1));
            }
        }
    }
}
