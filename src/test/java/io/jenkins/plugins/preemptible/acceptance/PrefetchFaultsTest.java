package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.acceptance.faults.FullDisk;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What goes wrong while an image is brought to the next agent before it is made: the stage moves all the same, or goes on. */
@Tag("acceptance")
@Tag("slow")
class PrefetchFaultsTest extends PrefetchedStages {

    @Test
    void theDiskThereIsFull() throws Exception {
        try (FullDisk disk = diskOfB("1500m")) {
            WorkflowRun stage = drained(COUNTS);
            assertTrue(isThereWhileItIsMade());
            disk.fill();
            Path image = exchangeOnB().resolve("image.preempt");
            await("it is given up").atMost(LONG).until(() -> !Files.exists(image));
            disk.empty();
            awaitMoved(stage, "A", "B");
            endsOn("B", stage);
            awaitClean("B");
            j.jenkins.removeNode(j.jenkins.getNode("B"));
        }
    }

    @Test
    void theBuildIsAborted() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        assertTrue(isThereWhileItIsMade());
        Path onB = exchangeOnB();
        stage.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
        await("nothing of it on B").atMost(LONG).until(() -> !Files.exists(onB));
        awaitClean("A");
        awaitClean("B");
    }

    @Test
    void theAgentThereGoesAway() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        assertTrue(isThereWhileItIsMade());
        hosts.kill("B");
        awaitOffline("B");
        Rig.awaitSealed(stage, 1);
        reconnect("B");
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        awaitClean("B");
    }

    /** It is asked to try the image, and says nothing while that is made. */
    @Test
    void theAgentThereHangs() throws Exception {
        WorkflowRun stage = begin(COUNTS);
        awaitFits(hosts.connect("B"));
        hosts.signal("B", LibC.SIGSTOP);
        try {
            command("preemptible-drain", "A");
            Rig.awaitSealed(stage, 1);
            assertEquals(StageState.SUSPENDED, record().state());
        } finally {
            hosts.signal("B", LibC.SIGCONT);
        }
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        awaitClean("B");
    }

    /** Somebody cleans up there. The image that is sealed at last is whole all the same. */
    @Test
    void theImageIsRemovedFromTheController() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        assertTrue(isThereWhileItIsMade());
        for (Path image : images(stage)) {
            Files.delete(image);
        }
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        awaitClean("B");
    }

    private static List<Path> images(WorkflowRun stage) throws IOException {
        try (Stream<Path> files = Files.walk(stage.getArtifactsDir().toPath())) {
            List<Path> found =
                    files.filter(file -> file.toString().endsWith(".preempt")).toList();
            assertFalse(found.isEmpty());
            return found;
        }
    }

    /** It takes no stages any more before this one has its executor: nothing stays there, and it may come again. */
    @Test
    void theAgentThereIsDrainedToo() throws Exception {
        WorkflowRun stage = drained(COUNTS);
        assertTrue(isThereWhileItIsMade());
        command("preemptible-drain", "B");
        await("it is sealed").atMost(LONG).until(() -> !record().frozen());
        awaitNothingOnB();
        command("preemptible-drain", "B", "--undo");
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        awaitClean("B");
    }
}
