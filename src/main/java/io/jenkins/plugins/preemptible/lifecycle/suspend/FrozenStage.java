package io.jenkins.plugins.preemptible.lifecycle.suspend;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStore;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Thaws a stage that was frozen for a suspension which did not come about.
 *
 * <ol>
 *   <li>The stage counts as running only when its agent has said that it does.
 *   <li>An agent that is away, or still at the dump, is asked again, each time over its newest connection.
 *   <li>Where the frozen processes are gone the agent may have the dump: the stage runs on from that. Not after the host was
 *       booted, since a dump is not forced to disk. What the agent refuses then may pass, and is tried again for a minute.
 *   <li>A host of its agent's name that has no record of it is not believed at once, see {@link StrangeHost}.
 *   <li>A kill that came meanwhile is carried out when the stage runs.
 * </ol>
 */
public final class FrozenStage {

    private static final Logger LOGGER = Logger.getLogger(FrozenStage.class.getName());
    static final long RETRY_MILLIS = 2000;
    /** A minute in all, with pauses that double: a process id or some room on the disk is free by then, or not soon. */
    static final int MOST_REFUSALS = 6;

    private static final Set<String> FROM_IMAGE = Set.of(Tier.LOCAL_IMAGE.name(), Tier.ARCHIVE.name());

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
        thawNowOrLater(stageId, 0);
    }

    private void thawNowOrLater(String stageId, int refusals) throws InterruptedException {
        StageRecord stage = stages.find(stageId);
        if (stage == null || stage.state() != StageState.SUSPENDING) {
            return;
        }
        LiveStage live = LiveStage.find(stageId);
        if (live == null) {
            thawOrLater(stage, refusals);
        } else if (live.operation().tryLock()) {
            try {
                thawOrLater(stage, refusals);
            } finally {
                live.operation().unlock();
            }
        } else {
            later(stage, refusals, RETRY_MILLIS);
        }
    }

    /** Under the stage's operation lock: one that goes back to its checkpoint meanwhile must not run here. */
    private void thawOrLater(StageRecord stage, int refusals) throws InterruptedException {
        StageRecord now = stages.find(stage.id());
        if (now == null || now.state() != StageState.SUSPENDING) {
            return;
        }
        LiveStage live = LiveStage.find(stage.id());
        AgentStage.Restore found;
        try {
            StageAgent agent = agents.of(stage.node(), stage.id());
            agent.thaw();
            found = agent.resumeHere(LastResort.NONE);
            if (found == null && live != null && StrangeHost.isAwaited(live, stage, agent.hold())) {
                throw new IOException(StrangeHost.sentence(stage));
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot thaw " + stage + " yet");
            later(stage, refusals, RETRY_MILLIS);
            return;
        }
        AgentStage.Refusal refusal = found == null ? null : found.refusal();
        if (refusal != null && !refusal.lasting() && refusals + 1 < MOST_REFUSALS) {
            LOGGER.log(Level.INFO, "{0} cannot be restored yet: {1}", new Object[] {stage, refusal.sentence()});
            later(stage, refusals + 1, RETRY_MILLIS << refusals);
            return;
        }
        boolean runs = found != null && refusal == null;
        // Also where it turns out to run, since an earlier answer was lost: its processes may be others by now.
        stages.settle(
                stage.id(),
                runs
                        ? StageChanges.restoredInPlace(found.enterCommand())
                                .andThen(StageChanges.contained(found.contained()))
                        : StageChanges.cutOff());
        if (runs && FROM_IMAGE.contains(found.tier())) {
            said.say(stage.id(), SuspensionWords.restored(stage.node(), found), List.of());
        } else if (refusal != null) {
            said.say(stage.id(), SuspensionWords.notRestored(stage.node(), refusal.sentence()), refusal.criuLines());
        } else if (found == null && !isEnding(stage.id())) {
            said.say(
                    stage.id(), SuspensionWords.notRestored(stage.node(), "Nothing of them is left there."), List.of());
        }
        if (runs) {
            found.warnings().forEach(w -> said.say(stage.id(), SuspensionWords.differs(w), List.of()));
        }
        if (live != null) {
            live.carryOutKill();
        }
    }

    private static boolean isEnding(String stageId) {
        LiveStage live = LiveStage.find(stageId);
        return live == null || live.ending() || live.aborting();
    }

    private void later(StageRecord stage, int refusals, long delayMillis) {
        later.run(stage.node(), "thawing " + stage, delayMillis, () -> thawNowOrLater(stage.id(), refusals));
    }
}
