package io.jenkins.plugins.preemptible.lifecycle.suspend;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStore;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Thaws a stage that was frozen for a suspension which did not come about.
 *
 * <ol>
 *   <li>The stage counts as running only when its agent has said that it does.
 *   <li>An agent that is away, or still at the dump, is asked again, each time over its newest connection.
 *   <li>Where the frozen processes are gone the agent may have the dump: the stage runs on from that. Not after the host was
 *       booted, since a dump is not forced to disk.
 *   <li>A kill that came meanwhile is carried out when the stage runs.
 * </ol>
 */
public final class FrozenStage {

    private static final Logger LOGGER = Logger.getLogger(FrozenStage.class.getName());
    static final long RETRY_MILLIS = 2000;

    /** Does something later that waits for an agent. */
    @FunctionalInterface
    interface Later {
        void run(String agent, String what, long delayMillis, StageThreads.Work work);
    }

    /** Says something in the log of a stage's build, with CRIU's lines below it. */
    @FunctionalInterface
    interface Said {
        void say(String stageId, String text, List<String> criuLines);
    }

    private final StageStore stages;
    private final StageAgent.Agents agents;
    private final Later later;
    private final Said said;

    FrozenStage(StageStore stages, StageAgent.Agents agents, Later later, Said said) {
        this.stages = stages;
        this.agents = agents;
        this.later = later;
        this.said = said;
    }

    static FrozenStage ofJenkins() {
        return new FrozenStage(
                StageRegistry.get(), StageAgent.Agents.OF_JENKINS, StageThreads::scheduleFor, FrozenStage::say);
    }

    private static void say(String stageId, String text, List<String> criuLines) {
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            StageLog.refusal(live.context(), text, criuLines);
        }
    }

    /** Thaws the stage now or as soon as that can be done. Blocks for two calls to the agent, and for a restore there. */
    public static void thaw(String stageId) throws InterruptedException {
        ofJenkins().thawNowOrLater(stageId);
    }

    void thawNowOrLater(String stageId) throws InterruptedException {
        StageRecord stage = stages.find(stageId);
        if (stage == null || stage.state() != StageState.SUSPENDING) {
            return;
        }
        LiveStage live = LiveStage.find(stageId);
        if (live == null) {
            thawOrLater(stage);
        } else if (live.operation().tryLock()) {
            try {
                thawOrLater(stage);
            } finally {
                live.operation().unlock();
            }
        } else {
            later(stage);
        }
    }

    /** Under the stage's operation lock: one that goes back to its checkpoint meanwhile must not run here. */
    private void thawOrLater(StageRecord stage) throws InterruptedException {
        StageRecord now = stages.find(stage.id());
        if (now == null || now.state() != StageState.SUSPENDING) {
            return;
        }
        AgentStage.Restore found;
        try {
            StageAgent agent = agents.of(stage.node(), stage.id());
            agent.thaw();
            found = agent.resumeHere();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot thaw " + stage + " yet");
            later(stage);
            return;
        }
        boolean restored = found != null
                && found.refusal() == null
                && Tier.LOCAL_IMAGE.name().equals(found.tier());
        stages.settle(
                stage.id(),
                restored
                        ? StageChanges.restoredInPlace(found.enterCommand())
                                .andThen(StageChanges.contained(found.contained()))
                        : StageChanges.cutOff());
        if (restored) {
            said.say(stage.id(), SuspensionWords.restored(stage.node(), found), List.of());
        } else if (found != null && found.refusal() != null) {
            AgentStage.Refusal why = found.refusal();
            said.say(stage.id(), SuspensionWords.notRestored(stage.node(), why.sentence()), why.criuLines());
        }
        LiveStage live = LiveStage.find(stage.id());
        if (live != null) {
            live.carryOutKill();
        }
    }

    private void later(StageRecord stage) {
        later.run(stage.node(), "thawing " + stage, RETRY_MILLIS, () -> thawNowOrLater(stage.id()));
    }
}
