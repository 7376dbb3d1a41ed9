package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The end of a criu that does not want to end. */
class CriuRunTest {

    @Test
    void oneThatWithstandsItsKillIsNotWaitedForWithoutEnd() throws Exception {
        Freezer freezer = group();
        Process process = new ProcessBuilder("sleep", "1000").start();
        HostProcess sleep = HostProcess.of(process.pid()).orElseThrow();
        try {
            Files.writeString(freezer.joinFile().orElseThrow(), Long.toString(process.pid()));
            // Version 1 of control groups lets what is frozen not even die.
            freezer.freeze(sleep, Duration.ofSeconds(10));
            Duration moment = Duration.ofMillis(50);
            assertThrows(IOException.class, () -> CriuRun.endGently(sleep, moment, moment));
            assertTrue(sleep.alive());
            freezer.thaw(sleep);
            CriuRun.endGently(sleep, moment, Duration.ofSeconds(30));
            assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        } finally {
            freezer.kill(sleep);
            freezer.remove();
        }
    }

    private static Freezer group() {
        try {
            return FreezerKind.create(StageId.create("test"), FreezerKind.CGROUP_V1);
        } catch (IOException e) {
            return abort("a process that withstands being killed needs a freezer of version 1: " + e.getMessage());
        }
    }
}
