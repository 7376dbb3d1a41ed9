package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.Sealing;
import io.jenkins.plugins.preemptible.lifecycle.agents.FrozenOnly;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Suspends one running stage: from the decision to the executor's release.
 *
 * <ol>
 *   <li>Looks once more whether the stage may be suspended at this moment: every step in it an external process. Then
 *       freezes it, and looks again.
 *   <li>Where the agent has memory enough, that is all: the state is saved, the executor goes to the preemptor, and
 *       {@link Sealing} makes the image meanwhile. Else the image is made, sealed and archived first, and the frozen tree
 *       is killed before the executor goes.
 *   <li>An agent that makes no images refuses in the latter case; in the former the stage stays in its memory.
 *   <li>Whatever fails before the state is saved thaws the tree: the stage keeps running and the preemptor waits.
 * </ol>
 *
 * The steps themselves are in {@link SuspensionSteps}, to which everything is given; here is what gives them Jenkins. Runs on
 * {@link StageThreads}; holds the stage's {@code operation} lock all along.
 */
public final class Suspension {

    private static final Logger LOGGER = Logger.getLogger(Suspension.class.getName());

    /**
     * For whom and why.
     *
     * @param preemptor for people; null when the executor is for nobody in particular
     * @param preemptorJob full name of its job, by which it is known who may see that; null when it has none
     * @param stillWanted asked before the executor is given away, and before and after an image that has to be made first:
     *     false lets the stage run on
     * @param beforeRelease run right before the executor is free, so that nobody slips in
     * @param sealAfterMillis how long it may stay frozen before its image is made; 0 = it is made at once
     * @param requestedNanos when this was decided, by {@link System#nanoTime}
     */
    public record Request(
            @CheckForNull String preemptor,
            @CheckForNull String preemptorJob,
            Reason reason,
            BooleanSupplier stillWanted,
            Runnable beforeRelease,
            long sealAfterMillis,
            long requestedNanos) {

        /** Decided now. */
        public Request(
                @CheckForNull String preemptor,
                @CheckForNull String preemptorJob,
                Reason reason,
                BooleanSupplier stillWanted,
                Runnable beforeRelease,
                long sealAfterMillis) {
            this(preemptor, preemptorJob, reason, stillWanted, beforeRelease, sealAfterMillis, System.nanoTime());
        }

        /** Its image is made at once. */
        public Request(
                @CheckForNull String preemptor,
                @CheckForNull String preemptorJob,
                Reason reason,
                BooleanSupplier stillWanted,
                Runnable beforeRelease) {
            this(preemptor, preemptorJob, reason, stillWanted, beforeRelease, 0);
        }
    }

    private Suspension() {}

    /**
     * Nobody needs the executor any more: a suspension that is still making its image is given up, and the stage runs
     * on. One that has given the executor away is not changed.
     */
    public static void cancel(String stageId) throws InterruptedException {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage == null || stage.state() != StageState.SUSPENDING) {
            return;
        }
        try {
            // The engine gives the dump up, and the thread that waits for it finds that the stage runs.
            StageAgent.Agents.OF_JENKINS.of(stage.node(), stageId).thaw();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot give the suspension of " + stage + " up; it comes to its end");
        }
    }

    /**
     * Suspends the stage.
     *
     * @return how many milliseconds after the request its executor was given away; empty when it was not
     */
    public static OptionalLong run(String stageId, Request request) {
        LiveStage live = LiveStage.find(stageId);
        if (live == null || !live.operation().tryLock()) {
            return OptionalLong.empty();
        }
        try {
            return new SuspensionSteps(live, request, ofJenkins(live)).run();
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            return OptionalLong.empty();
        } catch (Exception x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot suspend stage " + stageId);
            return OptionalLong.empty();
        } finally {
            live.operation().unlock();
        }
    }

    private static SuspensionSteps.Given ofJenkins(LiveStage live) {
        return new SuspensionSteps.Given(
                StageRegistry.get(),
                new JenkinsBuild(live),
                new JenkinsImage(live),
                stage -> JenkinsExecutor.of(live, stage),
                FrozenStage.ofJenkins(),
                StageClock.SYSTEM,
                PreemptibleConfiguration.get().memoryFloorBytes(),
                new SuspensionSteps.FrozenOnlyRoom(FrozenOnly::roomBytes, FrozenOnly.longestMillis()));
    }
}
