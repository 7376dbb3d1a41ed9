package io.jenkins.plugins.preemptible.engine.preflight;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SystemCallsTest {

    @Test
    void aKernelThatDoesNotAnswerIsNotWaitedForForEver() {
        int socket = SystemCalls.diagnosis();
        assumeTrue(socket >= 0, "this host has no socket diagnosis");
        try {
            SystemCalls.limit(socket, Duration.ofMillis(100));
            // Nothing was asked, so nothing comes.
            assertTimeoutPreemptively(
                    Duration.ofSeconds(30), () -> assertThrows(IOException.class, () -> SystemCalls.answers(socket)));
        } finally {
            SystemCalls.close(socket);
        }
    }
}
