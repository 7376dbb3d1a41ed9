package io.jenkins.plugins.preemptible.move;

import hudson.Extension;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.TaskListener;
import hudson.remoting.Channel;
import hudson.slaves.ComputerListener;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Workspaces that are kept for a stage on agents other than its own, so that no other build gets them.
 *
 * <ol>
 *   <li>Of another agent that was asked to restore the stage and has not answered. After a restart of the controller, and on an
 *       agent that was added again, it is leased before the agent takes builds.
 *   <li>Of an agent that is to be cleaned of the stage.
 *   <li>The next move of the stage to that agent takes the lease over. It goes by the path: a connection that was made anew
 *       has other {@link FilePath} objects.
 * </ol>
 *
 * Safe for any thread.
 */
final class KeptWorkspaces {

    private static final Map<String, Kept> KEPT = new ConcurrentHashMap<>();
    private static final Map<String, Lock> ARRIVALS = new ConcurrentHashMap<>();

    private KeptWorkspaces() {}

    /** @param computer another one of that name, of an agent that was added again, has other leases */
    private record Kept(String stageId, Computer computer, WorkspaceList.Lease lease) {}

    private static String key(StageRecord stage, Computer computer) {
        return stage.id() + "/" + computer.getName();
    }

    /** Held while the stage's things there are taken over or removed: never both at once. */
    static Lock arrivals(String stageId, String agent) {
        return ARRIVALS.computeIfAbsent(stageId + "/" + agent, name -> new ReentrantLock());
    }

    /**
     * Leases the stage's workspace there, or hands over what is kept of it.
     *
     * @return a lease of the path, or of another one where a build has the workspace; to be released or kept again
     */
    static WorkspaceList.Lease take(StageRecord stage, Computer computer, FilePath workspace)
            throws InterruptedException {
        releaseUnneeded();
        Lock lock = arrivals(stage.id(), computer.getName());
        lock.lockInterruptibly();
        try {
            Kept kept = KEPT.remove(key(stage, computer));
            if (kept != null && kept.computer == computer) {
                return WorkspaceList.Lease.createLinkedDummyLease(workspace, kept.lease);
            }
            return computer.getWorkspaceList().allocate(workspace);
        } finally {
            lock.unlock();
        }
    }

    static void keep(StageRecord stage, Computer computer, WorkspaceList.Lease lease) {
        KEPT.put(key(stage, computer), new Kept(stage.id(), computer, lease));
    }

    private static void releaseUnneeded() {
        KEPT.forEach((key, kept) -> {
            StageRecord stage = StageRegistry.get().find(kept.stageId);
            String agent = kept.computer.getName();
            boolean needed = stage != null
                    && (agent.equals(stage.restoringOn())
                            || LeftAgents.of(stage).containsKey(agent));
            if (!needed && KEPT.remove(key, kept)) {
                kept.lease.release();
            }
        });
    }

    /** A stage that has ended needs none. */
    @Extension
    public static final class OfEndedStages implements StageListener {
        @Override
        public void onEnded(StageEnded event) {
            ARRIVALS.keySet().removeIf(key -> key.startsWith(event.stage().id() + "/"));
            releaseUnneeded();
        }
    }

    /** Leases them again. */
    @Extension
    public static final class OfAgentsThatConnect extends ComputerListener {
        @Override
        public void preOnline(Computer computer, Channel channel, FilePath root, TaskListener listener)
                throws InterruptedException {
            releaseUnneeded();
            for (StageRecord stage : StageRegistry.get().all()) {
                Kept kept = KEPT.get(key(stage, computer));
                boolean asked = computer.getName().equals(stage.restoringOn())
                        && !computer.getName().equals(stage.node());
                if (asked && (kept == null || kept.computer != computer)) {
                    WorkspaceList.Lease lease = ExactLease.take(computer, new FilePath(channel, stage.workspace()));
                    if (lease != null) {
                        keep(stage, computer, lease);
                    }
                }
            }
        }
    }
}
