package io.jenkins.plugins.preemptible.queue;

import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.lifecycle.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.util.HashSet;
import java.util.Set;
import jenkins.model.Jenkins;

/**
 * The stages that have an executor at one moment: all executors are looked at once, in place of once for each stage.
 *
 * <p>Any thread.
 */
final class StagesOnExecutors {

    private final Set<String> ids = new HashSet<>();

    private StagesOnExecutors() {}

    static StagesOnExecutors now() {
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

    boolean have(String stageId) {
        return ids.contains(stageId);
    }
}
