package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.ExtensionList;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Queue;
import hudson.model.queue.WorkUnit;
import java.lang.reflect.Field;
import java.util.Map;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution.PlaceholderTask;

/**
 * The four members of Pipeline's {@code node} step that have no public access and that a nested stage needs.
 *
 * <ol>
 *   <li>All are looked up once; one that is missing or of another type makes {@link #problem} speak, and then no
 *       nested stage is ever suspended.
 *   <li>{@link #context} tells which {@code node} block a placeholder belongs to; it is a field read, fit for the
 *       queue's lock.
 *   <li>{@link #forget} nulls the two handles that the placeholder's next run asserts to be null.
 * </ol>
 *
 * Read in workflow-durable-task-step: ExecutorStepExecution.PlaceholderTask.context, RunningTasks.runningTasks,
 * RunningTask.execution and RunningTask.launcher.
 */
public final class PlaceholderAccess {

    private static final Probe PROBE = Probe.make();

    private PlaceholderAccess() {}

    /** Why nested stages cannot be suspended with this version of Pipeline, or null. */
    @CheckForNull
    public static String problem() {
        return PROBE.problem;
    }

    /** The context of the {@code node} block that this task is for; null for any other task. */
    @CheckForNull
    public static StepContext context(@CheckForNull Object task) {
        if (!(task instanceof PlaceholderTask) || PROBE.problem != null) {
            return null;
        }
        try {
            return (StepContext) PROBE.context.get(task);
        } catch (IllegalAccessException x) {
            throw new IllegalStateException(x);
        }
    }

    /** The placeholder that this executor runs, or null. */
    @CheckForNull
    public static PlaceholderTask on(@CheckForNull Executor executor) {
        WorkUnit unit = executor == null ? null : executor.getCurrentWorkUnit();
        return unit != null && unit.work instanceof PlaceholderTask ? (PlaceholderTask) unit.work : null;
    }

    /** The executor that the block with this context has now; the one in a StepContext may be a dead one. */
    @CheckForNull
    public static Executor executor(StepContext placeholder) {
        for (Computer computer : Jenkins.get().getComputers()) {
            for (Executor executor : computer.getExecutors()) {
                if (placeholder.equals(context(on(executor)))) {
                    return executor;
                }
            }
        }
        return null;
    }

    /** Forgets the execution and the launcher of the block's last run. */
    static void forget(StepContext placeholder) {
        try {
            Object holder = ExtensionList.lookupSingleton(ExecutorStepExecution.RunningTasks.class);
            Object running;
            // The map's own class guards it by its instance.
            synchronized (holder) {
                running = ((Map<?, ?>) PROBE.runningTasks.get(holder)).get(placeholder);
            }
            if (running != null) {
                PROBE.execution.set(running, null);
                PROBE.launcher.set(running, null);
            }
        } catch (IllegalAccessException x) {
            throw new IllegalStateException(x);
        }
    }

    /** The queue's item for the block with this context, or null. */
    @CheckForNull
    static Queue.Item queued(StepContext placeholder) {
        for (Queue.Item item : Queue.getInstance().getItems()) {
            if (placeholder.equals(context(item.task))) {
                return item;
            }
        }
        return null;
    }

    private record Probe(
            @CheckForNull String problem, Field context, Field runningTasks, Field execution, Field launcher) {

        static Probe make() {
            try {
                Field context = field(PlaceholderTask.class, "context", StepContext.class);
                Field tasks = field(ExecutorStepExecution.RunningTasks.class, "runningTasks", Map.class);
                Class<?> runningTask = Class.forName(
                        ExecutorStepExecution.class.getName() + "$RunningTask",
                        false,
                        ExecutorStepExecution.class.getClassLoader());
                Field execution = field(runningTask, "execution", jenkins.model.queue.AsynchronousExecution.class);
                Field launcher = field(runningTask, "launcher", hudson.Launcher.class);
                return new Probe(null, context, tasks, execution, launcher);
            } catch (ReflectiveOperationException | LinkageError | RuntimeException x) {
                return new Probe(
                        "this version of Pipeline: Nodes and Processes is not known to Preemptible stages (" + x
                                + "); use preemptible(label: …) in place of node, or update the plugins",
                        null,
                        null,
                        null,
                        null);
            }
        }

        private static Field field(Class<?> owner, String name, Class<?> type) throws NoSuchFieldException {
            Field field = owner.getDeclaredField(name);
            if (!type.isAssignableFrom(field.getType())) {
                throw new NoSuchFieldException(owner.getName() + "." + name + " of type " + type.getName());
            }
            field.setAccessible(true);
            return field;
        }
    }
}
