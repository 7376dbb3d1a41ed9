package io.jenkins.plugins.preemptible.lifecycle;

import hudson.model.Executor;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.Messages;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import jenkins.model.CauseOfInterruption;

/**
 * Resumes one suspended stage, now that it has an executor again.
 *
 * <ol>
 *   <li>Saves the state; takes the best of what there is: the tree that is still frozen on the agent, CRIU's files that
 *       stayed there, or the sealed image, which is brought to the agent; saves the state again.
 *   <li>Then the image is not needed any more: its key is dropped with the state, its file where that can be done.
 *   <li>A restore that the engine refuses keeps image and key, gives the executor back, and is tried again,
 *       {@value ResumptionSteps#MOST_FAILURES} times in all; then the stage waits for a user's decision ({@link
 *       FailedResume}), or fails where no image is left. An agent or an archive that does not answer is no refusal: the stage
 *       waits for it without a limit, with growing pauses.
 * </ol>
 *
 * The steps themselves are in {@link ResumptionSteps}, to which everything is given; here is what gives them Jenkins. Runs on an
 * executor's thread or on {@link StageThreads}; holds the stage's {@code operation} lock all along.
 */
public final class Resumption {

    private Resumption() {}

    /** What became of it. */
    public enum Outcome {
        /** The stage runs. */
        RUNS,
        /** It stays suspended and should give the executor back. */
        STAYS_SUSPENDED,
        /** It has ended or is about to. */
        ENDED
    }

    /** Restores the stage on the executor that it has now. */
    public static Outcome run(String stageId, Executor executor) throws InterruptedException {
        return run(stageId, executor, stage -> null);
    }

    /** The same, in the way that is chosen for its record as it is under the lock. */
    public static Outcome run(String stageId, Executor executor, Restorer.Choice choice) throws InterruptedException {
        LiveStage live = LiveStage.find(stageId);
        if (live == null) {
            return Outcome.ENDED;
        }
        live.operation().lockInterruptibly();
        try {
            live.granted(false);
            StageRecord stage = StageRegistry.get().find(stageId);
            return new ResumptionSteps(
                            live,
                            StageRegistry.get(),
                            new JenkinsResumeSide(live, executor, stage == null ? null : choice.of(stage)),
                            StageClock.SYSTEM)
                    .run();
        } finally {
            live.operation().unlock();
        }
    }

    /** Why a stage whose image could not be restored ended. */
    public static final class NotRestored extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String why;

        NotRestored(String why) {
            this.why = why;
        }

        @Override
        public String getShortDescription() {
            return Messages.Resumption_NotRestored(ShownSentence.of(why));
        }
    }
}
