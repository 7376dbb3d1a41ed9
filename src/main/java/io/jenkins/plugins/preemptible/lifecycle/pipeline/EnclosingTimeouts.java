package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.actions.ArgumentsAction;
import org.jenkinsci.plugins.workflow.actions.TimingAction;
import org.jenkinsci.plugins.workflow.cps.nodes.StepStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * Warns that a {@code timeout} step around a suspended stage, or inside of it, keeps counting.
 *
 * <p>Pipeline has no means to stop such a clock. Each suspension says so once for each timeout, with the moment at which it
 * ends the stage.
 */
public final class EnclosingTimeouts {

    private static final String FUNCTION = "timeout";

    private EnclosingTimeouts() {}

    /** @param inFlight the steps that run in the stage */
    public static void warn(LiveStage live, Collection<FlowNode> inFlight) {
        Set<FlowNode> timeouts = new LinkedHashSet<>();
        for (FlowNode step : inFlight) {
            for (FlowNode around : step.iterateEnclosingBlocks()) {
                if (around instanceof StepStartNode block && !block.isBody() && isTimeout(block)) {
                    timeouts.add(block);
                }
            }
        }
        for (FlowNode timeout : timeouts) {
            String left = left(timeout);
            if (left != null) {
                StageLog.line(
                        live.context(),
                        "A timeout { } counts the time of this suspension, too: it ends the stage in " + left
                                + " if that is not over. preemptible(activeTimeout: [time: …, unit: 'MINUTES']) counts running"
                                + " time alone.");
            }
        }
    }

    private static boolean isTimeout(StepStartNode block) {
        StepDescriptor kind = StepsInFlight.kind(block);
        return kind != null && FUNCTION.equals(kind.getFunctionName());
    }

    /** How long it still runs, for people; null when that cannot be seen. */
    @CheckForNull
    private static String left(FlowNode timeout) {
        Map<String, Object> arguments = ArgumentsAction.getFilteredArguments(timeout);
        if (!(arguments.get("time") instanceof Number time)) {
            return null;
        }
        TimeUnit unit = TimeUnit.MINUTES;
        if (arguments.get("unit") != null) {
            try {
                unit = TimeUnit.valueOf(arguments.get("unit").toString().toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException x) {
                return null;
            }
        }
        long millis = unit.toMillis(time.longValue());
        // One that goes by activity has begun anew with the last line of the log.
        long begun = Boolean.TRUE.equals(arguments.get("activity"))
                ? System.currentTimeMillis()
                : TimingAction.getStartTime(timeout);
        return Util.getTimeSpanString(Math.max(0, begun + millis - System.currentTimeMillis()));
    }
}
