package io.jenkins.plugins.preemptible.lifecycle;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** What one attempt to resume a stage touches besides its record: executor, build and image. {@link JenkinsResumeSide} is the real one. */
interface ResumeSide {

    /** The agent whose executor the stage has now. @throws IOException when it is offline */
    StageAgent agent() throws IOException;

    /**
     * Restores a stage that is not on its own agent.
     *
     * @return empty where it is, which is the ordinary way
     * @throws Restorer.NotMovedException when it stays suspended and may be tried on another agent at once
     */
    default Optional<AgentStage.Restore> restoreElsewhere(StageRecord stage) throws IOException, InterruptedException {
        return Optional.empty();
    }

    /** What its record says from now on of the agent that it is on. */
    default Consumer<StageRecord> runsHere() {
        return stage -> {};
    }

    /** Its record says that it runs: what else knows its agent follows. */
    default void ran(StageRecord before) throws InterruptedException {}

    /** That executor, for people. */
    String executorShown();

    /**
     * Leases the workspace of a stage that has an executor of its own, where it has no lease: after a restart another build had it,
     * for instance.
     *
     * @throws Restorer.PostponedException when another build has it now
     */
    default void leaseWorkspace(StageRecord stage) throws IOException, InterruptedException {}

    /**
     * Brings the sealed image to {@link #agent}.
     *
     * @throws io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException when there is none any more
     * @throws IOException when it does not arrive whole
     */
    void fetchImage(StageRecord stage) throws IOException, InterruptedException;

    /** Removes the image of a stage that runs; tells whether nothing is left. */
    boolean deleteImage(StageRecord stage) throws IOException, InterruptedException;

    /** Shows in the Pipeline's views that the stage runs, and from what. */
    void showResumed(ResumedStageAction how) throws IOException, InterruptedException;

    /** Writes a line into the build log. */
    void say(String line);

    /** Writes a refusal into the build log, with CRIU's own lines below it. */
    void say(String line, List<String> criuLines);

    /** Notes how fast a stage was restored from an image on that agent. */
    void measured(String node, long bytes, long millis);

    /** Asks the agent later in which form it holds the stage, and freezes it if it runs. Returns at once. */
    void findOut();

    /**
     * The processes of the frozen stage are gone: ends it, unless it goes back to an earlier state.
     *
     * @return whether it stays suspended, with another image
     * @throws IOException when that is not known yet
     */
    boolean lost() throws IOException, InterruptedException;

    /** Whether it may have an earlier state. Look-ups in memory. */
    boolean mayGoBack(StageRecord stage);

    /**
     * Takes a stage whose image on its agent cannot be restored back to an earlier state.
     *
     * @return false when it has none: nothing has changed
     * @throws IOException when that is not known yet
     */
    boolean goBack() throws IOException, InterruptedException;

    /** Fails the stage. @return false when its body is not known yet; nothing is done then */
    boolean fail(String why);

    /** Tells the listeners of stages. */
    void tell(Consumer<StageListener> event);
}
