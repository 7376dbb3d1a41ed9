package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;

/**
 * An image that is safe among the artifacts, for people and listeners.
 *
 * @param stage as it was saved with the image
 * @param luggage its workspace; null when that is not stored
 * @param treeLost whether the agent had lost the processes before the image was stored; the times of the dump are not known then
 */
record StoredImage(
        StageRecord stage,
        AgentStage.Dump dump,
        @CheckForNull SealedLuggage luggage,
        boolean treeLost) {

    long makingMillis() {
        return dump.dumpMillis() + dump.archiveMillis();
    }

    /**
     * @param tookMillis since the stage gave its executor away
     * @param gone whether its agent has said that no process of it is left
     */
    String sentence(long tookMillis, boolean gone) {
        String after = " " + StageLog.time(tookMillis) + " after that";
        String image = treeLost
                ? "Image stored" + after + ", " + StageLog.size(dump.archiveBytes())
                        + ": the agent had sealed it before its host lost this stage's processes, and nothing of the stage is lost."
                : "Image sealed" + after + " (dump " + dump.dumpMillis() + " ms, seal " + dump.archiveMillis()
                        + " ms): "
                        + dump.processes() + " processes, " + StageLog.size(dump.imageBytes())
                        + " of memory and state, sealed into " + StageLog.size(dump.archiveBytes())
                        + (gone
                                ? ". The frozen processes are gone from the agent's memory."
                                : ". The agent has not said whether the frozen processes are gone from its memory.");
        return luggage == null
                ? image
                : image + " Its workspace is stored with it, " + StageLog.size(luggage.contentBytes()) + " in "
                        + StageLog.size(luggage.archiveBytes())
                        + (gone ? ": the stage can be resumed without this agent." : ".");
    }

    StageSealed event(long nowMillis) {
        return new StageSealed(
                stage.ref(),
                nowMillis,
                dump.dumpMillis(),
                dump.archiveMillis(),
                dump.imageBytes(),
                dump.archiveBytes());
    }
}
