package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;

/** The sealed image of one stage on the controller. {@link JenkinsImage} is the real one. */
interface StageImage {

    /** A new key that nobody else has. */
    Secret newKey();

    /** Why an image of so many bytes is not stored, a sentence; null when it may be. */
    @CheckForNull
    String tooLarge(long bytes);

    /** Why the disk does not take an image of so many bytes, a sentence; null when it does. 0 = the size is not known. */
    @CheckForNull
    String shortage(long bytes) throws IOException, InterruptedException;

    /** @throws IOException when it is not stored; nothing of it is kept then */
    void store(StageAgent agent, long bytes) throws IOException, InterruptedException;

    /**
     * Packs and stores the workspace of the frozen stage, where it could be resumed on another agent.
     *
     * @return null where it is not stored
     * @throws IOException when the agent does not answer
     */
    @CheckForNull
    default SealedLuggage storeLuggage(StageRecord stage) throws IOException, InterruptedException {
        return null;
    }

    /** Why {@link #store} failed, for the build log. */
    String why(Exception failure);

    /** Removes what was stored; whatever fails, nothing depends on it. */
    void discard() throws InterruptedException;

    /** Has the agent asked again what it has of a suspended stage, whose frozen processes it may not have killed. Returns at once. */
    void findOut();

    /** Makes it later, of a frozen stage whose executor is gone. Returns at once. */
    void makeLater(StageRecord stage, long delayMillis);
}
