package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.view.ClockTime;
import io.jenkins.plugins.preemptible.view.LoggedName;
import java.util.List;

/**
 * What the build log says of one suspension.
 *
 * @param preemptor for whom, as it may stand in this log; null when for nobody in particular
 */
record SuspensionWords(@CheckForNull String preemptor) {

    String begins(String reason) {
        return "Suspending this stage" + (preemptor == null ? "" : " for " + preemptor) + ": " + reason;
    }

    String handedOver(
            String executor, long tookMillis, AgentStage.Freeze frozen, long sealAfterMillis, long thawByMillis) {
        return "Executor " + executor + goes() + " after " + StageLog.time(tookMillis) + ": " + frozen.processes()
                + " processes with " + StageLog.size(frozen.residentBytes())
                + " are frozen in the agent's memory (preflight "
                + frozen.preflightMillis() + " ms, freeze " + frozen.freezeMillis() + " ms), and "
                + whatFollows(frozen, sealAfterMillis, thawByMillis);
    }

    private String whatFollows(AgentStage.Freeze frozen, long sealAfterMillis, long thawByMillis) {
        if (thawByMillis > 0) {
            return "stay there, at most until " + ClockTime.of(thawByMillis)
                    + " if an executor of this agent can be had: the stage cannot be dumped.";
        }
        if (frozen.memoryOnly()) {
            return "stay there until the stage is resumed: no images are made on this agent.";
        }
        return sealAfterMillis == 0
                ? "the image is being sealed meanwhile."
                : "stay there: " + preemptor + " should finish within " + StageLog.time(sealAfterMillis)
                        + ", and no image is made until then.";
    }

    String sealed(String executor, long tookMillis, AgentStage.Freeze frozen, AgentStage.Dump dump) {
        return "Suspended in " + StageLog.time(tookMillis) + " (freeze " + frozen.freezeMillis() + " ms, dump "
                + dump.dumpMillis() + " ms, seal " + dump.archiveMillis() + " ms): " + dump.processes() + " processes, "
                + StageLog.size(dump.imageBytes()) + " of memory and state, sealed into "
                + StageLog.size(dump.archiveBytes()) + ". Executor " + executor + goes() + ".";
    }

    private String goes() {
        return preemptor == null ? " is free" : " goes to " + preemptor;
    }

    String notWanted() {
        return preemptor == null
                ? "Suspension cancelled; the stage keeps running."
                : LoggedName.atBeginning(preemptor) + " no longer waits; the stage keeps running.";
    }

    String refused(String sentence) {
        return "Not suspended. " + sentence + " The stage keeps running"
                + (preemptor == null ? "." : ", " + preemptor + " waits.");
    }

    String notYet(String objection) {
        return "Not suspended yet. " + objection + " The stage keeps running until that is over"
                + (preemptor == null ? "." : ", " + preemptor + " waits.");
    }

    static String frozenOnly(String agent, List<String> ties, long longestMillis) {
        return "This stage cannot be dumped and is frozen in memory only, for at most " + StageLog.time(longestMillis)
                + ". What may not survive that: " + String.join("; ", ties)
                + ". A connection is lost if its other end gives up before; a restart of the host of " + agent
                + " loses the stage.";
    }

    static String waitsForLastImage() {
        return "This stage is suspended as soon as the image of its last suspension, which is no longer needed, has been"
                + " given up. Until then it keeps running.";
    }

    static String agentNotAsked(String why) {
        return "Not suspended, since the agent could not be asked: " + why
                + ". The stage keeps running, and is suspended later if that is still needed.";
    }

    static String failed(Throwable why) {
        return "Not suspended: " + why + ". The stage keeps running; the controller's log has more.";
    }

    static String wentOn() {
        return "Not suspended: the stage went on to its next step. It keeps running.";
    }

    static String aborted() {
        return "Not suspended: the stage is being aborted.";
    }

    static String tooLarge(String why) {
        return "Not suspended. " + why + " The stage keeps running.";
    }

    static String notArchived(String why) {
        return "Not suspended, the image could not be archived: " + why
                + ". The stage keeps running; make room for its artifacts, or look at the controller's log.";
    }

    static String withoutRoom(String shortage) {
        return "Not suspended, since its image would have to be stored first. " + shortage
                + " The stage keeps running. Make room on the controller's disk, or ask an administrator to lower the disk floor.";
    }

    static String restored(String agent, AgentStage.Restore restored) {
        return "The host of the agent '" + agent
                + "' has lost this stage's processes, and has the image that was made of"
                + " them. Resumed on " + agent + " from that: " + restored.processes()
                + " processes run again, and nothing is repeated.";
    }

    static String notRestored(String agent, String sentence) {
        return "The host of the agent '" + agent
                + "' has lost this stage's processes, and they could not be resumed from"
                + " the image that was made of them. " + sentence
                + " The stage goes back to its last checkpoint; without one its step ends as one whose processes were killed.";
    }

    static String differs(String warning) {
        return "Not as it was before the suspension: " + warning + ".";
    }

    static String runsAfterAll(String refusal) {
        return "Not suspended. " + refusal + " The stage keeps running.";
    }
}
