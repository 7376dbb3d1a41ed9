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
 * durable-task 664: FileMonitoringTask.FileMonitoringController, {@code controlDir} (absolute) and {@code lastLocation} (bytes).
 */
public final class StepOutput {

    private static final Logger LOGGER = Logger.getLogger(StepOutput.class.getName());
    private static final Probe PROBE = Probe.make();

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
                        tasks.findVarHandle(monitoring, "controlDir", String.class),
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
     * @return false when this version of Durable Task is not known, or one of the steps is not
     */
    public static boolean cutBack(LiveStage live, Map<String, Long> sizes) throws InterruptedException {
        if (PROBE.problem != null) {
            LOGGER.log(
                    Level.WARNING, "the output of {0} is not cut back: {1}", new Object[] {live.id(), PROBE.problem});
            return false;
        }
        try {
            boolean all = true;
            for (StepExecution step : StepsInFlight.executions(live)) {
                Object controller = PROBE.owner.isInstance(step) ? PROBE.controller.getVolatile(step) : null;
                Object folder = PROBE.monitoring.isInstance(controller) ? PROBE.folder.getVolatile(controller) : null;
                Long size = folder == null ? null : sizes.get((String) folder);
                all &= size != null;
                if (size != null && (long) PROBE.location.getVolatile(controller) > size) {
                    PROBE.location.setVolatile(controller, (long) size);
                    step.getContext().saveState();
                }
            }
            return all;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "the output of stage " + live.id() + " is not cut back");
            return false;
        }
    }
}
