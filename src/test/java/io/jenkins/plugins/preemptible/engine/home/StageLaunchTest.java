package io.jenkins.plugins.preemptible.engine.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StageLaunchTest {

    @TempDir
    Path folder;

    private static Process ended() throws Exception {
        Process process = new ProcessBuilder("true").start();
        process.waitFor();
        return process;
    }

    @Test
    void aStageMayEndBeforeItsInitWasSeen() throws Exception {
        Path words = Files.createFile(folder.resolve("launch.log"));
        assertFalse(StageLaunch.awaitInit(ended(), init -> true, words).alive());
    }

    @Test
    void aLaunchThatFailsIsToldInItsOwnWords() throws Exception {
        Path words = Files.writeString(folder.resolve("launch.log"), "unshare: not permitted\n");
        EngineException e =
                assertThrows(EngineException.class, () -> StageLaunch.awaitInit(ended(), init -> false, words));
        assertEquals(FailureReason.LAUNCH_FAILED, e.reason());
        assertTrue(e.getMessage().contains("(unshare: not permitted)"), e::getMessage);
    }
}
