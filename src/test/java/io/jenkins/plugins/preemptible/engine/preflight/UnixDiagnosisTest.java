package io.jenkins.plugins.preemptible.engine.preflight;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class UnixDiagnosisTest {

    @Test
    void aKernelThatDoesNotAnswerIsNotWaitedForForEver() {
        int socket = UnixDiagnosis.diagnosis();
        assumeTrue(socket >= 0, "this host has no socket diagnosis");
        try {
            UnixDiagnosis.limit(socket, Duration.ofMillis(100));
            // Nothing was asked, so nothing comes.
            assertTimeoutPreemptively(
                    Duration.ofSeconds(30), () -> assertThrows(IOException.class, () -> UnixDiagnosis.answers(socket)));
        } finally {
            UnixDiagnosis.close(socket);
        }
    }
}
