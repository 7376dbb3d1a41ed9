package io.jenkins.plugins.preemptible.engine.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jenkins.plugins.preemptible.engine.trial.TrialRun;
import io.jenkins.plugins.preemptible.engine.trial.UntriableException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What CRIU's log of a trial means. */
class TrialVerdictTest {

    private static final String KILLED = "(00.052113) Error (criu/cr-restore.c:1269): 4711 killed by signal 9: Killed";
    private static final String FAILED = "(00.052140) Error (criu/cr-restore.c:2417): Restoring FAILED.";
    private static final String MISSING =
            "(00.050001)      7: Error (criu/files-reg.c:2303): Can't open file work/data on restore: No such file or directory";

    @Test
    void aKilledProcessSaysNothingOfTheImage() {
        UntriableException why =
                assertThrows(UntriableException.class, () -> TrialRun.verdict(List.of(KILLED, FAILED), 1));
        assertEquals("a process of it was killed, perhaps since memory was short", why.getMessage());
    }

    @Test
    void whatCriuKillsAfterAnErrorHasFailed() throws UntriableException {
        assertEquals(
                TrialVerdict.FAILED,
                TrialRun.verdict(List.of(MISSING, KILLED, FAILED), 1).verdict());
    }

    @Test
    void aProcessThatCrashesHasFailed() throws UntriableException {
        String crashed = "(00.05) Error (criu/cr-restore.c:1269): 4711 killed by signal 11: Segmentation fault";
        assertEquals(
                TrialVerdict.FAILED,
                TrialRun.verdict(List.of(crashed, FAILED), 1).verdict());
    }
}
