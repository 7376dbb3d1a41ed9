package io.jenkins.plugins.preemptible.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.agent.AgentStage.NotKilled.Tree;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the agent answers of a stage whose image nobody has stored yet, on a real engine. */
@Tag("host")
class SuspendAndResumeVerbsTest {

    private static final StageId ID = StageId.parse("verbs-0123abcd");

    private final String key = ImageKey.generate().export();
    private Path folder;
    private Engine engine;
    private Path exchange;
    private Path open;

    @BeforeEach
    void start() throws IOException {
        // Not below /tmp: a stage has one of its own.
        folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-verbs");
        engine = Engine.open(folder.resolve("home"));
        assumeTrue(engine.checkpoints(), "CRIU cannot be used here");
        exchange = InEngine.exchange(folder.resolve("home"), ID);
        open = Files.createFile(folder.resolve("open"));
        engine.start(new StageSpec(
                ID,
                "verbs",
                folder,
                List.of("bash", "-c", "exec 5< open; while :; do echo tick; sleep 0.05; done"),
                InEngine.sandboxEnvironment()));
        // By then it has opened its file.
        await().until(() -> Files.size(engine.status(ID).output()) > 0);
        engine.freeze(ID, FreezeRequest.plain());
        assertNull(dump().refusal());
    }

    @AfterEach
    void end() throws IOException {
        if (engine.list().stream().anyMatch(s -> s.id().equals(ID))) {
            engine.kill(ID);
            engine.forget(ID);
        }
        StageFolder.delete(folder);
    }

    private AgentStage.Dump dump() throws IOException {
        return new SuspendVerbs.DumpStage(ID.value(), key, true, false).act(engine, ID, exchange);
    }

    private AgentStage.NotKilled commit() {
        return new SuspendVerbs.Commit(ID.value()).act(engine, ID, exchange);
    }

    private AgentStage.Restore restoreUnstored() throws IOException {
        return new ResumeVerbs.RestoreUnstored(ID.value(), key).act(engine, ID, exchange);
    }

    private AgentStage.Restore resumeHere() throws IOException {
        return new ResumeVerbs.ResumeHere(ID.value(), LastResort.NONE).act(engine, ID, exchange);
    }

    private State state() {
        return engine.status(ID).state();
    }

    @Test
    void aCommitLeavesNothingToBring() throws Exception {
        assertNull(restoreUnstored(), "the frozen processes are better");
        assertNull(commit());
        assertEquals(State.SUSPENDED, state());
        assertFalse(Files.exists(exchange));
        assertNull(commit(), "it can be repeated");
        assertEquals(FailureReason.STAGE_SUSPENDED.name(), dump().refusal().reason());
        assertNull(restoreUnstored());
    }

    /** Its processes were killed, and nobody has stored the image. */
    @Test
    void whatWasSealedIsToldAgainAndServes() throws Exception {
        engine.commit(ID);
        long bytes = Files.size(exchange.resolve(AgentStage.IMAGE_FILE));
        AgentStage.Dump again = dump();
        assertNull(again.refusal());
        assertEquals(bytes, again.archiveBytes());
        new SuspendVerbs.Thaw(ID.value()).act(engine, ID, exchange);
        assertTrue(Files.exists(exchange.resolve(AgentStage.IMAGE_FILE)), "it is all there is of the stage");
        StageFolder.delete(folder.resolve("home/stages").resolve(ID.value()).resolve("images"));
        assertNull(resumeHere());
        AgentStage.Restore restored = restoreUnstored();
        assertNull(restored.refusal());
        assertEquals(Tier.ARCHIVE.name(), restored.tier());
        assertEquals(State.RUNNING, state());
        assertFalse(Files.exists(exchange));
        assertEquals("ALREADY_RUNNING", restoreUnstored().tier(), "an answer that was lost is given again");
    }

    /** As after a boot of its host, when several calls look what is left of it: the first one removes its control group. */
    @Test
    void aStageThatHasEndedIsNotTakenForOneThatRuns() throws Exception {
        engine.thaw(ID);
        assertEquals("ALREADY_RUNNING", resumeHere().tier());
        StageFolder known = new StageFolder(folder.resolve("home/stages").resolve(ID.value()));
        try (StageFolder.Held lock = known.lock().orElseThrow()) {
            LibC.kill(engine.status(ID).initPid(), LibC.SIGKILL);
            await().until(() -> engine.status(ID).initPid() == 0);
            assertEquals(State.RUNNING, state(), "nobody else may change its record");
            assertNull(resumeHere());
        }
        assertEquals(State.FAILED, state());
        assertNull(resumeHere());
    }

    @Test
    void anImageThatCannotBeRestoredYetIsKept() throws Exception {
        engine.commit(ID);
        Path moved = Files.move(open, folder.resolve("moved"));
        assertEquals(FailureReason.PATH_MISSING.name(), resumeHere().refusal().reason());
        assertNotNull(restoreUnstored().refusal());
        assertTrue(Files.exists(exchange.resolve(AgentStage.IMAGE_FILE)));
        Files.move(moved, open);
        assertEquals(Tier.LOCAL_IMAGE.name(), resumeHere().tier());
    }

    @Test
    void aCommitOfAnImageThatCannotServeLeavesTheTreeFrozen() throws Exception {
        Files.delete(open);
        AgentStage.NotKilled why = commit();
        assertEquals(Tree.FROZEN, why.tree());
        assertEquals(State.SUSPENDING, state());
        new SuspendVerbs.Thaw(ID.value()).act(engine, ID, exchange);
        assertEquals(State.RUNNING, state());
        assertEquals(Tree.RUNS, commit().tree());
    }

    @Test
    void whatIsNotThereNeedsNoKill() throws Exception {
        engine.kill(ID);
        engine.forget(ID);
        assertNull(commit());
    }
}
