package io.jenkins.plugins.preemptible.engine.trial;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of a trial whose JVM was killed. */
@Tag("host")
class LeftTrialTest {

    @TempDir
    Path folder;

    @Test
    void itsProcessesItsGroupAndItsFolderGo() throws Exception {
        assumeTrue(HostProcess.isRoot(), "control groups need root");
        Freezer group = FreezerKind.create(StageId.create("left"), null);
        assumeTrue(group.cgroup().isPresent(), "there is no control group");
        Path trial = Files.createDirectories(folder.resolve("trial/image")).getParent();
        Files.writeString(trial.resolve(ImageTrial.GROUP), group.location());
        Process process = new ProcessBuilder(
                        "/bin/sh", "-c", "echo 0 > " + group.joinFile().get() + "; sleep 1000 & wait")
                .start();
        while (group.pids(null).size() < 2) {
            Thread.sleep(5);
        }
        ImageTrial.clear(trial);
        assertTrue(process.waitFor(10, TimeUnit.SECONDS));
        assertFalse(Files.exists(group.cgroup().get()));
        assertFalse(Files.exists(trial));
        ImageTrial.clear(trial);
    }

    @Test
    void whoDiedBeforeItNotedItsGroupHindersNobody() throws Exception {
        Path trial = Files.createDirectories(folder.resolve("trial"));
        Files.createFile(trial.resolve(ImageTrial.GROUP));
        ImageTrial.clear(trial);
        assertFalse(Files.exists(trial));
    }
}
