package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.LogRecorder;

/** The image of a stage of a drained agent goes to the next agent while it is still being made. */
@Tag("acceptance")
class PrefetchTest extends PrefetchedStages {

    private static final String TAKEN_OVER = "was brought while it was made";

    private final LogRecorder log = new LogRecorder()
            .record("io.jenkins.plugins.preemptible.move", Level.FINE)
            .capture(1000);

    private long takenOver() {
        return log.getMessages().stream()
                .filter(message -> message.contains(TAKEN_OVER))
                .count();
    }

    @Test
    void itIsThereBeforeItIsSealed() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        assertTrue(isThereWhileItIsMade());
        awaitMoved(stage, "A", "B");
        assertEquals(1, takenOver(), () -> log.getMessages().toString());
        endsOn("B", stage);
        awaitClean("B");
    }

    @Test
    @Tag("slow")
    void itIsSoOnTheWayBack() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        awaitMoved(stage, "A", "B");
        awaitClean("A");
        Rig.awaitCounting(stage);
        command("preemptible-drain", "A", "--undo");
        command("preemptible-drain", "B");
        awaitMoved(stage, "B", "A");
        assertEquals(2, takenOver(), () -> log.getMessages().toString());
        endsOn("A", stage);
    }

    @Test
    void whatNobodyTakesOverIsRemoved() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        isThereWhileItIsMade();
        command("preemptible-drain", "A", "--undo");
        await("it runs on A")
                .atMost(LONG)
                .until(() -> record().state() == StageState.RUNNING
                        && record().node().equals("A"));
        awaitNothingOnB();
        endsOn("A", stage);
    }

    @Test
    void anAgentThatRefusesItKeepsNothingOfIt() throws Exception {
        Path data = Files.createDirectories(hosts.folder("A").resolve("tools")).resolve("data");
        Files.writeString(data, "of A");
        WorkflowRun stage = drained(COUNTS.replace("set +x", "set +x\nexec 7< " + hosts.root() + "/tools/data"));
        Rig.awaitLog(stage, "Not moved to B: ");
        awaitNothingOnB();
        command("preemptible-drain", "A", "--undo");
        await("it runs on A").atMost(LONG).until(() -> record().state() == StageState.RUNNING);
        endsOn("A", stage);
    }
}
