package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.MoveWish;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Drops what users wanted and cannot have.
 *
 * <ol>
 *   <li>A stage's move to an agent that was removed, or that has lost the stage's label.
 *   <li>Of a stage that nobody wants suspended for any longer also one that comes to nothing otherwise: no image of the stage
 *       is made, or the agent cannot have it for {@link LostAgents#patienceMillis}. It would wait for ever.
 * </ol>
 *
 * <p>Called by one evaluation of the queue at a time; returns at once.
 */
final class MoveWishes {

    /** By stage and agent: since when that agent cannot have it, by {@link System#nanoTime}. */
    private static final Map<String, Long> CANNOT_SINCE = new ConcurrentHashMap<>();

    private MoveWishes() {}

    static void dropVain() {
        Set<String> wishes = new HashSet<>();
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live = stage.moveTo() == null ? null : LiveStage.find(stage.id());
            wishes.add(key(stage));
            if (live != null && why(stage, live) != null) {
                StageThreads.soon("dropping a move of " + stage, () -> drop(live));
            }
        }
        CANNOT_SINCE.keySet().retainAll(wishes);
    }

    private static String key(StageRecord stage) {
        return stage.id() + "/" + stage.moveTo();
    }

    /** A sentence that goes on after a colon; null when the stage may still come there. */
    @CheckForNull
    private static String why(StageRecord stage, LiveStage live) {
        String wanted = stage.moveTo();
        if (wanted == null || stage.restoringOn() != null || stage.state() == StageState.RESUMING) {
            return null;
        }
        Node agent = Nodes.named(wanted);
        if (agent == null) {
            return "that agent was removed from Jenkins.";
        }
        if (!live.hold().mayMoveTo(agent)) {
            return "that agent does not have this stage's label any more.";
        }
        if (stage.byHand()) {
            return null;
        }
        String ofStage = stage.suspended() ? whyNotSealed(stage) : whyNotSuspended(stage);
        return ofStage == null ? whyNotThere(stage, live, agent) : ofStage;
    }

    @CheckForNull
    private static String whyNotSuspended(StageRecord stage) {
        if (!PreemptibleConfiguration.get().isEnabled()) {
            return "preemption is switched off.";
        }
        if (!PreemptibleConfiguration.get().isMoveStages()) {
            return MoveObstacle.SWITCHED_OFF.sentence();
        }
        if (stage.canOnlyBeFrozen()) {
            return "this stage cannot be dumped. " + stage.tie();
        }
        String why = stage.whyNotSuspendable();
        return why == null ? null : "this stage cannot be suspended. " + why;
    }

    @CheckForNull
    private static String whyNotSealed(StageRecord stage) {
        return stage.memoryOnly() || stage.unsealed() ? "no image of this stage is made." : null;
    }

    @CheckForNull
    private static String whyNotThere(StageRecord stage, LiveStage live, Node agent) {
        Misfit misfit = stage.suspended()
                ? MoveTargets.obstacle(stage, live, agent)
                : MoveTargets.obstacleOnceSealed(stage, live, agent);
        if (misfit == null || misfit.obstacle() == MoveObstacle.NOT_SEALED) {
            CANNOT_SINCE.remove(key(stage));
            return null;
        }
        long now = System.nanoTime();
        Long since = CANNOT_SINCE.putIfAbsent(key(stage), now);
        boolean lasts = since != null && TimeUnit.NANOSECONDS.toMillis(now - since) >= LostAgents.patienceMillis();
        return lasts ? misfit.sentence() : null;
    }

    private static void drop(LiveStage live) {
        StageRecord stage = StageRegistry.get().find(live.id());
        String why = stage == null ? null : why(stage, live);
        if (why != null) {
            MoveWish.cancel(live, stage, why);
        }
    }
}
