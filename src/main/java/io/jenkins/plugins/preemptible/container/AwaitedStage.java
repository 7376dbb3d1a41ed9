package io.jenkins.plugins.preemptible.container;

import hudson.AbortException;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Waits for a moment in which something can be started in a container of a stage: while the stage runs. */
final class AwaitedStage {

    private static final long LONGEST_WAIT_SECONDS = 60;

    private AwaitedStage() {}

    /** @throws IOException when the stage is suspended and stays so, or the thread is interrupted */
    static void running(String stageId) throws IOException {
        LiveStage live = LiveStage.find(stageId);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS);
        StageRecord now = StageRegistry.get().find(stageId);
        while (now != null && now.state() != StageState.RUNNING) {
            boolean passing = now.state() == StageState.RESUMING || now.state() == StageState.SUSPENDING;
            boolean over = live == null || live.aborting() || live.ending();
            if (!passing || over || System.nanoTime() - end > 0) {
                throw new AbortException("The preemptible stage '" + now.name()
                        + "' is suspended and has no executor, so no further step can be started in it;"
                        + " a step of it was interrupted while it was suspended");
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", x);
            }
            now = StageRegistry.get().find(stageId);
        }
    }
}
