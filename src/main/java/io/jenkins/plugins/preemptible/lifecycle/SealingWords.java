package io.jenkins.plugins.preemptible.lifecycle;

import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;

/** What the build log says where an image is not made or not stored; each is a sentence or more. */
final class SealingWords {

    private static final String FROZEN =
            " The stage stays frozen in the agent's memory and is resumed from there when it gets an executor";

    private SealingWords() {}

    /** @param frozen whether the stage has no image yet */
    static String fault(boolean frozen, Throwable why) {
        String words = why.getMessage() == null ? why.toString() : why.getMessage();
        return frozen
                ? "The image could not be sealed yet: " + words + "." + FROZEN
                        + "; until then, do not restart the agent's host. Sealing is tried again at growing intervals; the"
                        + " controller's log has more."
                : "The image is stored, and the agent could not end the frozen processes yet: " + words
                        + ". It is asked again at growing intervals; the controller's log has more.";
    }

    static String withoutLuggage(String why, String agent) {
        return "Its workspace could not be stored: " + why + ". The stage needs its agent '" + agent + "' to go on.";
    }

    static String luggageLate(SealedLuggage stored) {
        return "Its workspace is stored now, " + StageLog.size(stored.contentBytes()) + " in "
                + StageLog.size(stored.archiveBytes()) + ": the stage can be resumed without this agent.";
    }

    /** @param shortage a sentence */
    static String withoutRoom(String shortage) {
        return "No image is stored yet. " + shortage + FROZEN
                + "; until then, do not restart the agent's host. Make room on the controller's disk, or ask an administrator"
                + " to lower the disk floor.";
    }

    /**
     * To follow the reason of a failed attempt.
     *
     * @param treeLost whether the agent has no process of the stage any more
     * @param whole whether all its processes are there for sure
     */
    static String kept(boolean treeLost, boolean whole) {
        return treeLost
                ? " What CRIU wrote may still be there: that is tried when the stage gets an executor."
                : FROZEN + (whole ? "; nothing of it is lost." : ".");
    }

    /** @param retryMillis 0 = it is not tried again */
    static String whatFollows(long retryMillis, boolean treeLost) {
        if (retryMillis > 0) {
            return " Sealing is tried again in " + StageLog.time(retryMillis) + ".";
        }
        return treeLost ? "" : " No image is made: a restart of the agent's host loses the stage.";
    }
}
