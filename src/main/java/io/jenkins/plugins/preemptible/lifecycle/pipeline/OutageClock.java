package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;

/**
 * The clock by which an {@code sh} step measures how long its agent has been away; it has no public access.
 *
 * <ol>
 *   <li>The step starts it when it first finds its agent away, stops it when the agent is back, and ends when it shows
 *       five minutes.
 *   <li>{@link #restart} starts a running one anew; one that the step stops at that moment stays stopped.
 *   <li>The field is looked up once; one that is missing or of another type makes {@link #problem} speak, and then
 *       steps of suspended stages end as those of running ones do.
 * </ol>
 *
 * Read in workflow-durable-task-step: DurableTaskStep.Execution.removedNodeDiscovered, a System.nanoTime or 0.
 */
final class OutageClock {

    private static final Probe PROBE = Probe.make(DurableTaskStep.class.getName() + "$Execution");

    private OutageClock() {}

    /** Why suspended stages cannot wait for their agents any longer than running ones do, or null. */
    @CheckForNull
    static String problem() {
        return PROBE.problem;
    }

    /** Any thread; does nothing to a clock that does not run, nor to a step of another kind. */
    static void restart(StepExecution step) {
        if (PROBE.problem != null || !PROBE.owner.isInstance(step)) {
            return;
        }
        long started = (long) PROBE.discovered.getVolatile(step);
        if (started != 0) {
            PROBE.discovered.compareAndSet(step, started, System.nanoTime());
        }
    }

    /** What was found of the field; only {@code problem} is set when nothing was. */
    record Probe(@CheckForNull String problem, Class<?> owner, VarHandle discovered) {

        static Probe make(String owner) {
            try {
                Class<?> execution = Class.forName(owner, false, DurableTaskStep.class.getClassLoader());
                VarHandle field = MethodHandles.privateLookupIn(execution, MethodHandles.lookup())
                        .findVarHandle(execution, "removedNodeDiscovered", long.class);
                return new Probe(null, execution, field);
            } catch (ReflectiveOperationException | LinkageError | RuntimeException x) {
                return new Probe(
                        "This version of Pipeline: Nodes and Processes is not known to Preemptible stages (" + x
                                + "): a suspended stage whose agent is away for more than five minutes is aborted, as a"
                                + " running one is. Update the plugins",
                        null,
                        null);
            }
        }
    }
}
