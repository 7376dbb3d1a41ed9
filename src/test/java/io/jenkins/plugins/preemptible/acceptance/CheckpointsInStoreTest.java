package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.everyItem;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.matchesPattern;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.acceptance.store.S3Artifacts;
import io.jenkins.plugins.preemptible.acceptance.store.S3Server;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Checkpoints in a real S3 server, which removes no object alone: what no checkpoint needs is empty there. */
@Tag("acceptance")
@Tag("slow")
class CheckpointsInStoreTest extends CheckpointedOnTwoHosts {

    /** Less than an image has, so that it lies there in parts, and more than some differences have. */
    private static final int PART = 45_000;

    @RegisterExtension
    static final Periods PARTS = new Periods().with("lifecycle.image.StageImages.partBytes", PART);

    private static S3Server server;

    @BeforeAll
    static void start() throws Exception {
        server = S3Server.start();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void useIt() {
        S3Artifacts.install(server, PART);
    }

    @AfterEach
    void goOn() {
        server.goOn();
    }

    /** Names of the files of which anything is stored. */
    private static Set<String> full() {
        return server.objects().entrySet().stream()
                .filter(each -> each.getValue() > 0)
                .map(each -> file(each.getKey()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String file(String key) {
        return key.substring(key.lastIndexOf('/') + 1).replaceFirst("\\.\\d+-of-\\d+$", "");
    }

    private static void onlyWhatIsNeeded() {
        await("what no checkpoint needs is empty")
                .atMost(LONG)
                .untilAsserted(
                        () -> assertEquals(new TreeSet<>(stage().checkpoints().files()), full()));
    }

    private static Checkpoints checkpoints() {
        return stage().checkpoints();
    }

    /** A store that stands still amid them takes nothing away either. */
    @Test
    void theyTakeTheNamesOfOlderOnesAndTheStageGoesOnFromTheLast() throws Exception {
        WorkflowRun run = notAnyMoreCheckpointed(4);
        onlyWhatIsNeeded();
        List<StageCheckpoint> made = checkpoints().made();
        Map<String, Long> before = server.objects();
        server.standStill();
        PreemptibleConfiguration.get().setMoveStages(true);
        int begun = checkpoints().begun();
        await("a checkpoint that cannot be stored")
                .atMost(LONG)
                .until(() -> checkpoints().begun() > begun);
        TimeUnit.SECONDS.sleep(15);
        assertEquals(
                made.stream().map(StageCheckpoint::file).toList(),
                checkpoints().made().stream().map(StageCheckpoint::file).toList());
        server.goOn();
        Map<String, Long> after = server.objects();
        Set<String> needed = checkpoints().files();
        before.forEach((key, size) -> {
            if (needed.contains(file(key))) {
                assertEquals(size, after.get(key), key);
            }
        });
        noFurtherOne(run, 14);
        onlyWhatIsNeeded();
        assertThat(
                server.objects().keySet(),
                everyItem(matchesPattern(".*/checkpoint-[1-8]\\.(preempt|workspace)(\\.\\d-of-\\d)?")));
        assertTrue(checkpoints().begun() > 14, "names are used again");
        await("a difference")
                .atMost(LONG)
                .until(() -> checkpoints().made().get(0).imageBase() != null);
        PreemptibleConfiguration.get().setMoveStages(true);
        remove("A");
        Rig.awaitLog(run, "The agent 'A' is lost.");
        hosts.connect("B");
        endsFromStore("B", run);
        assertThat(Rig.log(run), not(containsString(" ago is tried next, in place of ")));
    }

    /** What the current one refers to is another object: the agent refuses it, and has the one before it then. */
    @Test
    @Tag("slow")
    void aBadOneFallsBackToTheOneBefore() throws Exception {
        WorkflowRun run = notAnyMoreCheckpointed(9);
        onlyWhatIsNeeded();
        PreemptibleConfiguration.get().setMoveStages(true);
        remove("A");
        Rig.awaitLog(run, "The agent 'A' is lost.");
        String image = checkpoints().made().get(0).fullImage();
        server.objects().forEach((key, size) -> {
            if (file(key).equals(image) && size > 0) {
                server.replace(key, "spoiled");
            }
        });
        hosts.connect("B");
        Rig.awaitLog(run, " ago is tried next, in place of that of ");
        endsFromStore("B", run);
    }

    private void endsFromStore(String agent, WorkflowRun run) throws Exception {
        Rig.awaitLog(run, "Moved from A to " + agent + " in ");
        Rig.awaitLog(run, "Resumed from the checkpoint of ");
        ends(agent, run);
        repeatedOnce(run);
        assertThat(Rig.log(run), not(containsString("broken")));
        assertThat(Rig.log(run), containsString("\nlater on " + agent + "\n"));
        assertThat(server.objects().keySet(), hasItem(containsString("/checkpoint-1.preempt")));
        await("nothing is left in what the store cannot remove")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(Set.of(), full()));
        run.delete();
        assertEquals(Map.of(), server.objects());
    }
}
