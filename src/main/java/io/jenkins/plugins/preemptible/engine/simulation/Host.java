package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * What an agent is doing at one moment of the simulation.
 *
 * <ol>
 *   <li>Its executors: idle, or held by a job that runs, is being restored, or is dumped because memory is short.
 *   <li>Its memory: held by what runs and by what is frozen and has no image yet.
 *   <li>The suspended stages that it keeps.
 * </ol>
 */
final class Host {

    final SimAgent agent;
    /** Its name: where its suspended stages may be resumed. */
    final Set<String> alone;
    /** Those that hold an executor. */
    final List<JobProgress> holders = new ArrayList<>();

    private long usedBytes;
    /** Of that, by stages that cannot be dumped and are frozen. */
    long frozenOnlyBytes;

    int suspended;

    Host(SimAgent agent) {
        this.agent = agent;
        this.alone = Set.of(agent.name());
    }

    int idle() {
        return agent.executors() - holders.size();
    }

    void take(JobProgress progress) {
        if (idle() == 0) {
            throw new IllegalStateException("No executor of " + agent.name() + " is idle for " + progress.id);
        }
        holders.add(progress);
    }

    void release(JobProgress progress) {
        if (!holders.remove(progress)) {
            throw new IllegalStateException(progress.id + " holds no executor of " + agent.name());
        }
    }

    void remember(long bytes) {
        usedBytes += bytes;
    }

    void forget(long bytes) {
        usedBytes -= bytes;
    }

    /** What nobody knows is taken as enough. */
    long totalBytes() {
        return agent.memoryBytes() == 0 ? Long.MAX_VALUE : agent.memoryBytes();
    }

    /** -1 = unknown. */
    long freeBytes() {
        return agent.memoryBytes() == 0 ? -1 : Math.max(0, agent.memoryBytes() - usedBytes);
    }
}
