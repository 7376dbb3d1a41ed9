package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.util.HashSet;
import java.util.Set;
import jenkins.model.Jenkins;

/**
 * The stages that have an executor at one moment: all executors are looked at once, in place of once for each stage.
 *
 * <p>Any thread.
 */
public final class StagesOnExecutors {

    private final Set<String> ids = new HashSet<>();

    private StagesOnExecutors() {}

    public static StagesOnExecutors now() {
        StagesOnExecutors now = new StagesOnExecutors();
        for (Computer computer : Jenkins.get().getComputers()) {
            for (Executor executor : computer.getExecutors()) {
                now.add(executor);
            }
        }
        return now;
    }

    private void add(Executor executor) {
        Queue.Executable current = executor.getCurrentExecutable();
        if (current instanceof StageTask.StageExecutable executable) {
            ids.add(executable.getParent().stageId());
        }
        StageRecord nested =
                StageRegistry.get().ofPlaceholder(PlaceholderAccess.context(PlaceholderAccess.on(executor)));
        if (nested != null) {
            ids.add(nested.id());
        }
    }

    public boolean have(String stageId) {
        return ids.contains(stageId);
    }
}
