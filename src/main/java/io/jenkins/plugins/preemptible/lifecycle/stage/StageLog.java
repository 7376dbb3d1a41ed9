package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * What the plugin says in the build logs.
 *
 * <ol>
 *   <li>Every line begins with the same mark, so that people and tests find them.
 *   <li>A log that cannot be written (the build has just ended) is noted in the controller's log, and nothing fails.
 *   <li>Sizes and times are written for people: MB of 1,000,000 bytes, milliseconds below ten seconds.
 * </ol>
 */
public final class StageLog {

    /** How each line of the plugin in a build log begins. */
    public static final String MARK = "[preemptible] ";

    /** Of a line in characters; it may hold several texts of an agent. */
    private static final int LONGEST = 4 * PlainText.LONGEST;

    private static final Logger LOGGER = Logger.getLogger(StageLog.class.getName());

    private StageLog() {}

    public static void line(StepContext context, String text) {
        try {
            TaskListener listener = context.get(TaskListener.class);
            if (listener != null) {
                listener.getLogger().println(marked(text));
            }
        } catch (IOException | InterruptedException x) {
            LOGGER.log(Level.FINE, x, () -> "could not say in the build log: " + text);
        }
    }

    /** A line as it stands in a build log: one line, whatever an agent or a Jenkinsfile put into it. */
    public static String marked(String text) {
        return MARK + PlainText.of(text, LONGEST);
    }

    /** Says a refusal with CRIU's own lines below it. */
    public static void refusal(StepContext context, String text, List<String> criuLines) {
        line(context, text);
        for (String criu : criuLines) {
            line(context, "  criu: " + criu);
        }
    }

    public static String size(long bytes) {
        return bytes < 10_000_000 ? Math.max(1, bytes / 1000) + " kB" : bytes / 1_000_000 + " MB";
    }

    public static String time(long millis) {
        return millis < 10_000 ? millis + " ms" : hudson.Util.getTimeSpanString(millis);
    }
}
