package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.logging.Level;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.LogRecorder;

/** The image of a stage of a drained agent goes to the next agent while it is still being made. */
@Tag("acceptance")
class PrefetchTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS =
            new Periods().with("move.LeftAgent.delayMillis", 500).with("move.Prefetch.keptMillis", 5_000);

    /** Large enough to be seen while it is made. */
    private static final String COUNTS = "sh '''set +x\nx=$(head -c 80000000 /dev/urandom | base64 -w 0)\n"
            + Rig.endless() + "\necho \"${#x}\"\n'''";

    private static final String TAKEN_OVER = "was brought while it was made";

    private final LogRecorder log = new LogRecorder()
            .record("io.jenkins.plugins.preemptible.move", Level.FINE)
            .capture(1000);

    @BeforeEach
    void roomInMemory() {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
    }

    private static void command(String... words) {
        String name = words[0];
        String[] rest = Arrays.copyOfRange(words, 1, words.length);
        CLICommandInvoker.Result said = new CLICommandInvoker(j, name).invokeWithArgs(rest);
        assertEquals(0, said.returnCode(), said::stderr);
    }

    private Path exchange(String agent) {
        return hosts.folder(agent).resolve("preemptible/exchange").resolve(record().id());
    }

    /** Waits until B has something of the image, and tells whether it is still being made then. */
    private boolean isThereWhileItIsMade() {
        Path image = exchange("B").resolve("image.preempt");
        boolean[] made = new boolean[1];
        await("an image on B")
                .atMost(LONG)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> {
                    StageRecord now = record();
                    made[0] = now.state() == StageState.SUSPENDED && now.frozen();
                    return Files.exists(image);
                });
        return made[0];
    }

    private long takenOver() {
        return log.getMessages().stream()
                .filter(message -> message.contains(TAKEN_OVER))
                .count();
    }

    private void awaitNothingOnB(String stageId) {
        Path folder = hosts.folder("B").resolve("preemptible/exchange").resolve(stageId);
        await("nothing of it on B").atMost(LONG).until(() -> !Files.exists(folder));
        await("that is known").atMost(LONG).until(() -> LeftAgents.of(record()).isEmpty());
        assertEquals(0, hosts.stages("B"));
    }

    @Test
    void itIsThereBeforeItIsSealed() throws Exception {
        WorkflowRun stage = begin(COUNTS);
        hosts.connect("B");
        command("preemptible-drain", "A");
        assertTrue(isThereWhileItIsMade());
        awaitMoved(stage, "A", "B");
        assertEquals(1, takenOver(), () -> log.getMessages().toString());
        endsOn("B", stage);
        awaitClean("B");
    }

    @Test
    @Tag("slow")
    void itIsSoOnTheWayBack() throws Exception {
        WorkflowRun stage = begin(COUNTS);
        hosts.connect("B");
        command("preemptible-drain", "A");
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
        WorkflowRun stage = begin(COUNTS);
        hosts.connect("B");
        command("preemptible-drain", "A");
        isThereWhileItIsMade();
        command("preemptible-drain", "A", "--undo");
        await("it runs on A")
                .atMost(LONG)
                .until(() -> record().state() == StageState.RUNNING
                        && record().node().equals("A"));
        awaitNothingOnB(record().id());
        endsOn("A", stage);
    }

    @Test
    void anAgentThatRefusesItKeepsNothingOfIt() throws Exception {
        Path data = Files.createDirectories(hosts.folder("A").resolve("tools")).resolve("data");
        Files.writeString(data, "of A");
        WorkflowRun stage = begin(COUNTS.replace("set +x", "set +x\nexec 7< " + hosts.root() + "/tools/data"));
        hosts.connect("B");
        command("preemptible-drain", "A");
        Rig.awaitLog(stage, "Not moved to B: ");
        awaitNothingOnB(record().id());
        command("preemptible-drain", "A", "--undo");
        await("it runs on A").atMost(LONG).until(() -> record().state() == StageState.RUNNING);
        endsOn("A", stage);
    }
}
