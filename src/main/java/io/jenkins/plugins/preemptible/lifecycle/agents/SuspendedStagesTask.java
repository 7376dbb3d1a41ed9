package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.model.Computer;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.ResourceList;
import hudson.model.queue.SubTask;
import hudson.security.ACL;
import hudson.security.ACLContext;
import jenkins.model.queue.AsynchronousExecution;
import org.springframework.security.access.AccessDeniedException;

/**
 * Shows on an agent's page that it holds suspended stages, and makes it busy.
 *
 * <ol>
 *   <li>Takes none of the agent's executors: it runs beside them, as a Pipeline does on the controller, without a thread.
 *   <li>Never saved, and not listed in the queue: it begins only on an agent that is online.
 *   <li>Blocks no restart of the controller, and nobody can stop it.
 * </ol>
 */
final class SuspendedStagesTask implements Queue.FlyweightTask, Queue.TransientTask, Queue.NonBlockingTask {

    private final Computer computer;
    private Held held;
    private boolean ended;

    SuspendedStagesTask(Computer computer) {
        this.computer = computer;
    }

    boolean isOf(Computer other) {
        return computer == other;
    }

    /** Not under a lock of the caller's. */
    void begin() {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            Queue.getInstance().schedule2(this, 0);
        }
    }

    /** As above. */
    void end() {
        Held last;
        synchronized (this) {
            ended = true;
            last = held;
        }
        if (last != null) {
            last.completed(null);
            return;
        }
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            Queue.getInstance().cancel(this);
        }
    }

    @Override
    public Label getAssignedLabel() {
        Node node = computer.getNode();
        return node == null ? Label.get(computer.getName()) : node.getSelfLabel();
    }

    @Override
    public String getName() {
        return "suspended stages on " + computer.getName();
    }

    @Override
    public String getFullDisplayName() {
        return getDisplayName();
    }

    @Override
    public String getDisplayName() {
        return Messages.SuspendedStagesTask_DisplayName();
    }

    @Override
    public String getUrl() {
        return computer.getUrl() + "preemptible/";
    }

    @Override
    public ResourceList getResourceList() {
        return ResourceList.EMPTY;
    }

    @Override
    public boolean hasAbortPermission() {
        return false;
    }

    @Override
    public void checkAbortPermission() {
        throw new AccessDeniedException(getDisplayName());
    }

    @Override
    public Queue.Executable createExecutable() {
        return new Executable(this);
    }

    private void run() throws AsynchronousExecution {
        Held begun = new Held();
        synchronized (this) {
            if (ended) {
                return;
            }
            held = begun;
        }
        throw begun;
    }

    private record Executable(SuspendedStagesTask task) implements Queue.Executable {
        @NonNull
        @Override
        public SubTask getParent() {
            return task;
        }

        @Override
        public void run() throws AsynchronousExecution {
            task.run();
        }

        @Override
        public String toString() {
            return task.getDisplayName();
        }
    }

    private static final class Held extends AsynchronousExecution {
        private static final long serialVersionUID = 1L;

        @Override
        public void interrupt(boolean forShutdown) {}

        @Override
        public boolean blocksRestart() {
            return false;
        }

        @Override
        public boolean displayCell() {
            return true;
        }
    }
}
