package io.jenkins.plugins.preemptible.lifecycle;

import hudson.model.InvisibleAction;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Notes with a build that its log has said what a restart of its agent's host would lose.
 *
 * <ol>
 *   <li>{@link #once} says it at the first suspension in an agent's memory only.
 *   <li>It is saved with the build, so that neither a further suspension nor a restart of the controller repeats it.
 *   <li>A failure to note it is logged and changes nothing.
 * </ol>
 */
public final class ToldInMemoryOnly extends InvisibleAction {

    private static final Logger LOGGER = Logger.getLogger(ToldInMemoryOnly.class.getName());

    private ToldInMemoryOnly() {}

    /** @param agent for people */
    public static void once(LiveStage live, String agent) throws InterruptedException {
        try {
            Run<?, ?> run = live.context().get(Run.class);
            if (run == null) {
                return;
            }
            synchronized (ToldInMemoryOnly.class) {
                if (run.getAction(ToldInMemoryOnly.class) != null) {
                    return;
                }
                run.addAction(new ToldInMemoryOnly());
            }
            StageLog.line(
                    live.context(),
                    agent
                            + " keeps suspended stages in memory only: a restart of its host loses those that are suspended"
                            + " then.");
            run.save();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.FINE, x, () -> "cannot note with its build that stage " + live.id() + " is in memory only");
        }
    }
}
