package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.container.StageContainers;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.part.PartNotes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Notes beside the stages' folders, with the texts that an earlier version wrote: they outlive an upgrade. */
class EarlierNotesTest {

    private static final StageId STAGE = StageId.parse("stage-1");
    private static final ContainerRef OWN = new ContainerRef("docker", "0123456789ab");
    private static final ContainerRef OTHER = new ContainerRef("podman", "ba9876543210");

    @TempDir
    private Path home;

    private void note(String folder, String text) throws Exception {
        Files.createDirectories(home.resolve(folder));
        Files.writeString(home.resolve(folder).resolve("stage-1.json"), text);
    }

    @Test
    void thePausedContainersOfAStage() throws Exception {
        note("containers", """
                {"containers":[{"program":"docker","id":"0123456789ab"}],"paused":true,\
                "init":{"pid":17,"startTicks":4711,"bootId":"boot"},"marks":["NAME=job"],"own":["0123456789abcdef"]}""");
        StageContainers containers = new StageContainers(home);
        assertEquals(List.of(OWN), containers.of(STAGE));
        assertTrue(containers.paused(STAGE));
        containers.endStray(STAGE, stage -> true);
        assertEquals(List.of(OWN), containers.of(STAGE));
        // Started by another process while its containers were asked for.
        AtomicBoolean known = new AtomicBoolean();
        containers.endStray(STAGE, stage -> known.getAndSet(true));
        assertEquals(List.of(STAGE), containers.noted());
        containers.endStray(STAGE, stage -> false);
        boolean there = HostTool.find("docker").isPresent()
                && HostTool.run(10, List.of("docker", "version")).ok();
        assertEquals(
                there ? List.of() : List.of(STAGE), containers.noted(), "it may be paused until its program is asked");
    }

    @Test
    void thePartOfAStage() throws Exception {
        note("parts", """
                {"container":{"program":"docker","id":"0123456789ab"},"marks":["NAME=job"],\
                "told":[{"program":"podman","id":"ba9876543210"}],"frozen":true}""");
        PartNotes parts = new PartNotes(home);
        assertEquals(List.of(STAGE), parts.ids());
        assertEquals(
                new PartNotes.Part(OWN, List.of("NAME=job"), List.of(OTHER), true),
                parts.of(STAGE).orElseThrow());
    }
}
