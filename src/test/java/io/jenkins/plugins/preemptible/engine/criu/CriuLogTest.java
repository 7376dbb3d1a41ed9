package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class CriuLogTest {

    private static final String HARMLESS =
            "(00.036418) Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        Error (compel/src/lib/infect.c:418): Unseizable non-zombie 17 found, state S, err -1/10 | TRACED
        Error (criu/seize.c:340): zombie 12 (comm sleep) found while seizing | TRACED
        Error (compel/src/lib/infect.c:262): Unseizable non-zombie 18959 found, state D, err -1/4 | KERNEL_WAIT
        Error (criu/sk-inet.c:191): inet: Connected TCP socket, consider using --tcp-established option. | CONNECTED_TCP
        Error (criu/file-lock.c:120): Some file locks are hold by dumping tasks! You can try --file-locks to dump them. | FILE_LOCKS
        Error (criu/files-reg.c:1090): Can't dump ghost file /x of 2000000 size, increase limit | DELETED_FILE_TOO_LARGE
        Error (criu/files-reg.c:1790): Can't lookup mount=24 for fd=10 path=/dev/null | OUTSIDE_FILE
        Error (criu/sk-unix.c:800): unix: External socket is used. Consider using --ext-unix-sk option. | OUTSIDE_FILE
        Error (criu/cr-restore.c:1500): Can't fork for 77: File exists | PID_TAKEN
        Error (criu/files-reg.c:2104): File var/tmp/output.log has bad size 3 (expect 9) | PATH_MISSING
        Error (criu/page-xfer.c:260): page-xfer: Unable to spice data: No space left on device | NO_SPACE
        Error (criu/vdso.c:300): vdso: Unexpected rt vDSO area bounds | CRIU_UNUSABLE
        Error (criu/mount.c:600): mnt: Unable to mount: Operation not permitted | NO_RIGHTS
        Error (criu/somewhere.c:1): a thing nobody knows | CRIU_FAILED
        """)
    void linesGiveReasons(String line, FailureReason reason) {
        CriuLog log = CriuLog.of(List.of("(00.01) Warn  (criu/x.c:1): odd", HARMLESS, line, "(00.5) Dumping"));
        assertEquals(reason, log.reason());
        assertEquals(List.of(line), log.decisive());
    }

    @Test
    void harmlessLinesAloneDecideNothing() {
        assertEquals(FailureReason.CRIU_FAILED, CriuLog.of(List.of(HARMLESS)).reason());
        assertEquals(FailureReason.CRIU_FAILED, CriuLog.of(List.of()).reason());
    }

    @Test
    void aLongLogIsCut() {
        List<String> many = java.util.Collections.nCopies(100, "Error (criu/x.c:1): again");
        assertEquals(12, CriuLog.of(many).decisive().size());
    }

    @ParameterizedTest
    @EnumSource(FailureReason.class)
    void everyReasonIsASentenceWithARemedy(FailureReason reason) {
        for (String text : List.of(reason.sentence(), reason.remedy())) {
            assertTrue(Character.isUpperCase(text.charAt(0)), text);
            assertFalse(text.endsWith("."), text);
        }
    }
}
