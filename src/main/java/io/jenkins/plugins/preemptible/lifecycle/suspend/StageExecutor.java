package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;

/** The executor that a stage holds: what a suspension gives away. {@link JenkinsExecutor} is the real one. */
interface StageExecutor {

    /** Where a stage's executor is found. */
    @FunctionalInterface
    interface Finder {
        /** Null when the stage has none at this moment. */
        @CheckForNull
        StageExecutor of(StageRecord stage);
    }

    /** Its agent and number, for people. */
    String shown();

    /** Its agent, for people. */
    String agentName();

    /** @throws IOException when the agent is offline */
    StageAgent agent() throws IOException;

    /**
     * Gives it away.
     *
     * @throws IOException when Jenkins would not let go; the stage still has it then
     */
    void release(StageRecord stage) throws IOException;

    /** Resumes the suspended stage on it at once. Blocks until that is done. */
    void resumeOn(StageRecord stage) throws InterruptedException;
}
