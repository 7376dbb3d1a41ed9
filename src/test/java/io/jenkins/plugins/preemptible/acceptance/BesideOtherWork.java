package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import io.jenkins.plugins.preemptible.queue.Preemption;
import java.io.IOException;
import java.util.regex.Pattern;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;

/** Tests of what else waits and runs beside a stage that could give way. */
abstract class BesideOtherWork extends OneHeldArchive {

    @AfterEach
    void oneExecutor() throws Exception {
        executors(1);
    }

    /** So many executors has the agent from now on. */
    static void executors(int count) throws IOException {
        agent.setNumExecutors(count);
        j.jenkins.setNodes(j.jenkins.getNodes());
    }

    /** Waits until the queue was looked at and decided upon once more, whatever happens in it. */
    static void awaitAnotherLook() {
        long before = System.currentTimeMillis();
        Preemption.soon(0);
        await("another look at the queue").atMost(Rig.PATIENCE).until(() -> {
            Snapshot seen = LastDecision.get().snapshot();
            return seen != null && seen.nowMillis() > before;
        });
    }

    /**
     * So often in all the build's stages gave an executor away, says its log, and so often one went on. A suspension that
     * comes between two steps is given up and does not count.
     */
    static void assertSuspensions(int times, WorkflowRun run) throws IOException {
        String log = Rig.log(run);
        assertEquals(times, occurrences(log, " goes to "), log);
        assertEquals(times, occurrences(log, "Resumed on worker"), log);
    }

    private static int occurrences(String log, String text) {
        return log.split(Pattern.quote(text), -1).length - 1;
    }
}
