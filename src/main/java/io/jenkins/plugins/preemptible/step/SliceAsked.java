package io.jenkins.plugins.preemptible.step;

import hudson.model.Node;
import hudson.model.labels.LabelAtom;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * The time slice that a step asks for, beside what the page allows.
 *
 * <ol>
 *   <li>Looked at once, when the stage has its agent: what is allowed may depend on the agent's labels.
 *   <li>A shorter one counts, and nothing is said.
 *   <li>A longer one does not count; the build log says so in one line.
 * </ol>
 */
final class SliceAsked {

    private SliceAsked() {}

    static void say(StageRecord stage, Node node, StepContext context) {
        Slices slices = PreemptibleConfiguration.get().limits().slices();
        long counts = slices.of(
                node.getAssignedLabels().stream().map(LabelAtom::getName).collect(Collectors.toSet()),
                stage.priority(),
                stage.timeSliceMillis());
        if (counts < stage.timeSliceMillis()) {
            StageLog.line(
                    context,
                    "This stage asks for a time slice of " + minutes(stage.timeSliceMillis())
                            + ", but for its priority "
                            + stage.priority() + " on " + node.getDisplayName() + " the system configuration allows "
                            + minutes(counts) + " at most, which counts. Leave timeSliceMinutes out, or ask for less.");
        }
    }

    private static String minutes(long millis) {
        return TimeUnit.MILLISECONDS.toMinutes(millis) + " min";
    }
}
