package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import java.util.concurrent.TimeUnit;

/**
 * A host that connects by the name of a suspended stage's agent and has no record of the stage.
 *
 * <ol>
 *   <li>No boot removes that record. It is another host, or its root folder is not mounted: what is frozen or sealed may still
 *       be on the right one, so this host's word that nothing is left proves nothing.
 *   <li>The right host of a frozen stage is waited for, for as long as for an agent that was removed; the time begins anew with the
 *       controller, and when the agent was away in between.
 *   <li>After that the stage is taken for lost: an agent whose root folder is made anew with each boot has no record either.
 *   <li>A sealed stage is never restored there without its stored workspace: the folder of that path is another build's, and the
 *       stage may run on the right host, whose answer was lost.
 *   <li>The same holds for the host of another agent that was asked to restore the stage and has not answered.
 * </ol>
 */
public final class StrangeHost {

    private StrangeHost() {}

    /** How long the right host is waited for, in milliseconds. */
    public static long graceMillis() {
        return Long.getLong(StrangeHost.class.getName() + ".graceMillis", TimeUnit.MINUTES.toMillis(5));
    }

    /** Whether the right host of a frozen stage is to be waited for. To be called with each answer of the agent. */
    public static boolean isAwaited(LiveStage live, StageRecord stage, AgentStage.Held answer) {
        if (answer != AgentStage.Held.UNKNOWN) {
            live.known();
            return false;
        }
        return live.unknownForMillis(stage.suspensions()) < graceMillis();
    }

    /** The same of another agent, which was asked to restore the stage and has not answered. */
    public static String sentenceOfAsked(String agent) {
        return begins(agent) + "; the stage may run there. It is resumed elsewhere once '" + agent
                + "' is removed from Jenkins";
    }

    private static String begins(String agent) {
        return "The agent '" + agent
                + "' has no record of this stage: another host has its name now, or its root folder"
                + " is not there. The right host is waited for";
    }

    /** For the build log, without a final stop. */
    public static String sentence(StageRecord stage) {
        return begins(stage.node())
                + (stage.frozen()
                        ? ", " + StageLog.time(graceMillis()) + " at most"
                        : stage.luggage() == null
                                ? "; without it the stage cannot go on, and ends if its agent is removed from Jenkins"
                                : "; where moves are allowed, the stage is resumed on another agent once this one is removed from"
                                        + " Jenkins");
    }
}
