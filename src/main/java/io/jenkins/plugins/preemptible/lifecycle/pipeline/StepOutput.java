package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.durabletask.Controller;
import org.jenkinsci.plugins.durabletask.FileMonitoringTask;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;

/**
 * How far Pipeline has read the logs of {@code sh} steps.
 *
 * <p>Private fields, looked up once. Where one is missing or of another type, {@link #cutBack} does nothing and says so. Read in
 * durable-task 664: FileMonitoringTask.FileMonitoringController, {@code id} (the control folder's name without its prefix)
 * and {@code lastLocation} (bytes).
 */
public final class StepOutput {

    private static final Logger LOGGER = Logger.getLogger(StepOutput.class.getName());
    private static final Probe PROBE = Probe.make();
    private static final String PREFIX = "durable-";

    private StepOutput() {}

    private record Probe(
            @CheckForNull String problem,
            Class<?> owner,
            Class<?> monitoring,
            VarHandle controller,
            VarHandle folder,
            VarHandle location) {

        static Probe make() {
            try {
                Class<?> execution = Class.forName(
                        DurableTaskStep.class.getName() + "$Execution", false, DurableTaskStep.class.getClassLoader());
                Class<?> monitoring = Class.forName(
                        FileMonitoringTask.class.getName() + "$FileMonitoringController",
                        false,
                        FileMonitoringTask.class.getClassLoader());
                MethodHandles.Lookup steps = MethodHandles.privateLookupIn(execution, MethodHandles.lookup());
                MethodHandles.Lookup tasks = MethodHandles.privateLookupIn(monitoring, MethodHandles.lookup());
                return new Probe(
                        null,
                        execution,
                        monitoring,
                        steps.findVarHandle(execution, "controller", Controller.class),
                        tasks.findVarHandle(monitoring, "id", String.class),
                        tasks.findVarHandle(monitoring, "lastLocation", long.class));
            } catch (ReflectiveOperationException | LinkageError | RuntimeException x) {
                return new Probe(String.valueOf(x), null, null, null, null, null);
            }
        }
    }

    /**
     * Lets Pipeline read on from these sizes in logs of which it has read more.
     *
     * @param sizes in bytes, by control folders
     * @return false when this version of Durable Task is not known, or the steps are not
     */
    public static boolean cutBack(LiveStage live, Map<String, Long> sizes) throws InterruptedException {
        if (PROBE.problem != null) {
            LOGGER.log(
                    Level.WARNING, "the output of {0} is not cut back: {1}", new Object[] {live.id(), PROBE.problem});
            return false;
        }
        try {
            for (StepExecution step : StepsInFlight.executions(live)) {
                Object controller = PROBE.owner.isInstance(step) ? PROBE.controller.getVolatile(step) : null;
                Long size = PROBE.monitoring.isInstance(controller)
                        ? size(sizes, String.valueOf(PROBE.folder.getVolatile(controller)))
                        : null;
                if (size != null && (long) PROBE.location.getVolatile(controller) > size) {
                    PROBE.location.setVolatile(controller, (long) size);
                    step.getContext().saveState();
                }
            }
            return true;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "the output of stage " + live.id() + " is not cut back");
            return false;
        }
    }

    @CheckForNull
    private static Long size(Map<String, Long> sizes, String id) {
        return sizes.entrySet().stream()
                .filter(each -> each.getKey().endsWith("/" + PREFIX + id))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse(null);
    }
}
