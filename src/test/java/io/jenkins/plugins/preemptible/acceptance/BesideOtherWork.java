package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
