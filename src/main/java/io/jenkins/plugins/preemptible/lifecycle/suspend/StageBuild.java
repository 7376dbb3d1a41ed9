package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/**
 * The build of one stage during one attempt to suspend it: which steps run, and what people are told. {@link JenkinsBuild} is the
 * real one.
 */
interface StageBuild {

    /** Ends when the image is made. */
    interface Progress extends AutoCloseable {
        @Override
        void close();
    }

    /** Why the steps that run now must not be suspended; null when they may. They are remembered. */
    @CheckForNull
    String objection() throws IOException, InterruptedException;

    /** Whether other steps run than {@link #objection} has seen. */
    boolean stepsChanged() throws IOException, InterruptedException;

    /** Writes a line into the build log. */
    void say(String line);

    /** Writes a refusal into the build log, with CRIU's own lines below it. */
    void say(String line, List<String> criuLines);

    /** Shows in the Pipeline's views that the stage is suspended, and warns of timeouts that go on. */
    void showSuspended(StageRecord stage);

    /** Says once a build what a restart of the agent's host would lose. */
    void sayInMemoryOnly(String agent) throws InterruptedException;

    /** Has the agent asked soon what keeps the stage from being dumped, since nothing is known of that. */
    default void lookAgain(StageRecord stage) {}

    /** Says how far the image has come, until it is closed. */
    Progress progress(StageRecord stage);

    /** Notes how fast an image was made on that agent. */
    void measured(String node, long bytes, long millis);

    /** Tells the listeners of stages. */
    void tell(Consumer<StageListener> event);
}
