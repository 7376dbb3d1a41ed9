package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.Tier;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a user's engine makes of a privileged part that answers late, wrongly or not at all; a script plays sudo. */
class PrivilegedPartTest {

    private static final StageId ID = StageId.parse("one");

    @TempDir
    Path folder;

    private Path calls;
    private Engine engine;

    @BeforeEach
    void engine() {
        calls = folder.resolve("calls");
        engine = SudoEngine.open(folder.resolve("home"), part(""));
    }

    /** As {@code sudo -n -- PROGRAM VERB ID}: keeps the verb, then does what the script says. */
    private PrivilegedPart part(String script) {
        try {
            Path sudo = folder.resolve("sudo");
            Files.writeString(sudo, """
                    #!/bin/sh
                    export PATH=/usr/bin:/bin
                    verb=$4
                    cat > /dev/null
                    echo "$verb" >> '%s'
                    status() {
                      echo '{"ok":{"id":"one","name":"one","state":"'"$1"'","initPid":0,"workDir":"/",'\\
                    '"startedAt":"'"$2"'","suspensions":0,"tier":null}}'
                    }
                    %s
                    """.formatted(calls, script));
            Files.setPosixFilePermissions(sudo, PosixFilePermissions.fromString("rwx------"));
            return new PrivilegedPart(Path.of("/bin/true"), sudo);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private List<String> calls() throws IOException {
        return Files.readAllLines(calls);
    }

    private StageSpec spec() {
        return new StageSpec(ID, "one", folder, List.of("true"), Map.of());
    }

    @Test
    void anAnswerIsNotLostToAnInterrupt() throws Exception {
        part("sleep 0.3; status RUNNING 2026-01-01T00:00:00Z");
        Thread.currentThread().interrupt();
        State state = engine.start(spec()).state();
        assertTrue(Thread.interrupted(), "whoever interrupted is still heard");
        assertEquals(State.RUNNING, state);
        assertTrue(Files.isDirectory(folder.resolve("home/stages/one")));
    }

    @Test
    void whatHangsIsGivenUp() {
        PrivilegedPart part = part("exec sleep 1000");
        EngineException e = assertThrows(PrivilegedPart.Unanswered.class, () -> part.call(
                Verb.STATUS, ID, to -> {}, (answer, bytes) -> {}, Duration.ofMillis(300)));
        assertTrue(e.detail().contains("no answer within"), e::detail);
    }

    @Test
    void aStageWhoseStartWasNotAnsweredIsEnded() throws Exception {
        part("case $verb in start) exit 1 ;; status) status RUNNING \"$(date -u -d '+1 second' +%FT%TZ)\" ;;"
                + " *) echo '{\"ok\":true}' ;; esac");
        assertThrows(PrivilegedPart.Unanswered.class, () -> engine.start(spec()));
        assertEquals(List.of("start", "status", "kill", "forget"), calls());
        assertFalse(Files.exists(folder.resolve("home/stages/one")));
    }

    @Test
    void aStageThatWasThereBeforeIsLeftAlone() throws Exception {
        part("case $verb in start) echo nonsense ;; status) status RUNNING 2026-01-01T00:00:00Z ;; esac");
        assertThrows(PrivilegedPart.Unanswered.class, () -> engine.start(spec()));
        assertEquals(List.of("start", "status"), calls());
    }

    @Test
    void aStageWhoseFreezeWasNotAnsweredRunsOn() throws Exception {
        part("case $verb in freeze) exit 1 ;; status) status SUSPENDING 2026-01-01T00:00:00Z ;;"
                + " *) echo '{\"ok\":true}' ;; esac");
        assertThrows(
                PrivilegedPart.Unanswered.class,
                () -> engine.freeze(ID, new FreezeRequest(DumpGuard.NONE, 0)));
        assertEquals(List.of("freeze", "status", "thaw"), calls());
    }

    @Test
    void nothingIsKilledWhoseImageNobodyTook() throws Exception {
        part("status SUSPENDING 2026-01-01T00:00:00Z");
        EngineException e = assertThrows(EngineException.class, () -> engine.commit(ID));
        assertEquals(FailureReason.NO_CHECKPOINT, e.reason());
        assertEquals(List.of("status"), calls());
    }

    @Test
    void theTierIsThatOfTheUsersArchive() throws Exception {
        part("status SUSPENDED 2026-01-01T00:00:00Z");
        OwnFolders.Stage own = new OwnFolders(folder.resolve("home").toRealPath()).stage(ID);
        own.create();
        Path archive = Files.createFile(folder.resolve("archive"));
        own.note(archive);
        assertEquals(Tier.ARCHIVE, engine.status(ID).tier());
        Files.delete(archive);
        assertNull(engine.status(ID).tier());
    }
}
