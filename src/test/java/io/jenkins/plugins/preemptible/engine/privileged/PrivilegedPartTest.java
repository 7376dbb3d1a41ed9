package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EnginesThroughSudo;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.home.OwnFolders;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
        engine = EnginesThroughSudo.open(folder.resolve("home"), part(""));
    }

    /** As {@code sudo -n -- PROGRAM VERB ID}: keeps the verb, then does what the script says. */
    private PrivilegedPart part(String script) {
        try {
            Path sudo = folder.resolve("sudo");
            Files.writeString(sudo, """
                    #!/bin/sh
                    export PATH=/usr/bin:/bin
                    verb=$4
                    [ "$verb" = inspect ] || cat > /dev/null
                    echo "$verb" >> '%s'
                    status() {
                      echo ok; echo "state $1"; echo 'init 1'; echo 'started 1'; echo 'group /none'
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

    private OwnFolders.Stage known() throws IOException {
        OwnFolders.Stage own = new OwnFolders(folder.resolve("home").toRealPath()).stage(ID);
        own.create(new OwnFolders.Note("one", "/", false, 0));
        return own;
    }

    @Test
    void anAnswerIsNotLostToAnInterrupt() throws Exception {
        PrivilegedPart part = part("sleep 0.3; status running");
        Thread.currentThread().interrupt();
        assertEquals("running", part.call(Verb.STATUS, ID).text("state"));
        assertTrue(Thread.interrupted(), "whoever interrupted is still heard");
    }

    @Test
    void aStageThatEndsWhileItIsLookedAtIsNoLackOfRights() {
        EngineException ended = assertThrows(
                EngineException.class,
                () -> part("echo 'preemptible: STAGE_ENDED: one' >&2; exit 125").inspect(ID, 1));
        assertEquals(FailureReason.STAGE_ENDED, ended.reason());
        EngineException other = assertThrows(
                EngineException.class,
                () -> part("echo 'sudo: a password is required' >&2; exit 1").inspect(ID, 1));
        assertTrue(other.getMessage().contains("a password is required"), other::getMessage);
    }

    @Test
    void whatHangsIsGivenUp() {
        PrivilegedPart part = part("exec sleep 1000");
        EngineException e = assertThrows(
                PrivilegedPart.Unanswered.class,
                () -> part.call(Verb.STATUS, ID, new byte[0], null, Duration.ofMillis(300)));
        assertTrue(e.detail().contains("no answer within"), e::detail);
    }

    @Test
    void aStageWhoseStartWasNotAnsweredIsEnded() throws Exception {
        part("case $verb in start) exit 1 ;; *) echo ok ;; esac");
        assertThrows(PrivilegedPart.Unanswered.class, () -> engine.start(spec()));
        assertEquals(List.of("start", "kill", "forget"), calls());
        assertFalse(Files.exists(folder.resolve("home/stages/one")));
    }

    @Test
    void aStageOfAnotherHomeFolderIsLeftAlone() throws Exception {
        part("echo refused BAD_SPEC the id one is in use already");
        EngineException e = assertThrows(EngineException.class, () -> engine.start(spec()));
        assertEquals(FailureReason.BAD_SPEC, e.reason());
        assertEquals(List.of("start"), calls());
    }

    @Test
    void aStageWhoseFreezeWasNotAnsweredRunsOn() throws Exception {
        known();
        part("case $verb in freeze) exit 1 ;; *) status running ;; esac");
        FreezeRequest whatever = new FreezeRequest(DumpGuard.NONE, 0, true);
        assertThrows(PrivilegedPart.Unanswered.class, () -> engine.freeze(ID, whatever));
        assertEquals(List.of("status", "freeze"), calls());
    }

    @Test
    void anotherVersionIsNamedWithItsRemedy() {
        for (String answer : List.of(
                "echo '{\"ok\":true}'",
                "echo 'preemptible: a verb and the id of a stage are expected' >&2; exit 2",
                "echo refused NO_SUCH_REASON at all",
                "echo ok; echo nonsense",
                "status")) {
            part(answer);
            EngineException refusal = assertThrows(EngineException.class, engine::check, answer);
            assertEquals(FailureReason.NO_ANSWER, refusal.reason(), answer);
            assertTrue(refusal.getMessage().contains("install-helper"), () -> answer + ": " + refusal.getMessage());
        }
    }

    @Test
    void aStageThatTheHostLostHasFailedOrEnded() throws Exception {
        OwnFolders.Stage own = known();
        part("status lost");
        assertEquals(State.FAILED, engine.status(ID).state());
        Files.writeString(own.path().resolve("exit"), "3\n");
        assertEquals(State.ENDED, engine.status(ID).state());
        assertEquals(3, engine.status(ID).exitCode());
        part("status killed");
        assertEquals(State.KILLED, engine.status(ID).state());
    }

    @Test
    void aRequestKeepsItsBytes() {
        assertArrayEquals(
                "2\0/bin/sh\0a\nb \u00e9\0N=v=w\0".getBytes(StandardCharsets.UTF_8),
                HelperRequest.of(List.of("/bin/sh", "a\nb \u00e9"), Map.of("N", "v=w")));
        assertThrows(EngineException.class, () -> HelperRequest.of(List.of("a\0b"), Map.of()));
        assertThrows(
                EngineException.class, () -> HelperRequest.of(List.of("x".repeat(HelperRequest.LARGEST)), Map.of()));
    }
}
