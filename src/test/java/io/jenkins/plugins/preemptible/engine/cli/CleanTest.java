package io.jenkins.plugins.preemptible.engine.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;

/** What is left of stages, and how it goes: {@code preempt forget} and {@code preempt clean}. */
@Tag("host")
@Timeout(120)
class CleanTest {

    @TempDir(factory = OnDisk.class)
    Path folder;

    private Path home;

    /** A folder below /tmp would be another one inside of the stage. */
    static final class OnDisk implements TempDirFactory {
        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws IOException {
            return Files.createTempDirectory(Path.of("/var/tmp"), "preemptible test ");
        }
    }

    @BeforeEach
    void onAHostThatCan() {
        home = folder.resolve("home");
        HostReport host = Engine.open(home).check();
        assumeTrue(host.ok(), () -> "this host cannot suspend stages: " + host.missing());
    }

    @AfterEach
    void endAll() {
        Engine engine = Engine.open(home);
        engine.list().forEach(stage -> engine.kill(stage.id()));
    }

    private CommandLineCall call(String... args) {
        return CommandLineCall.of(home, args);
    }

    private String start(String... command) {
        List<String> words = Stream.concat(Stream.of("run", "--dir", folder.toString(), "--"), Stream.of(command))
                .toList();
        return call(words.toArray(String[]::new)).exits(0).out().strip();
    }

    private List<String> ids() {
        return Engine.open(home).list().stream()
                .map(s -> s.id().value())
                .sorted()
                .toList();
    }

    private Path stageFolder(String id) {
        return home.resolve("stages").resolve(id);
    }

    @Test
    void onlyAStageThatIsOverIsForgotten() {
        String id = start("sleep", "1000");
        Path image = folder.resolve("one.image");
        call("forget", id).refuses(id, "running");
        call("suspend", id, "--to", image.toString()).exits(0);
        call("forget", id).refuses(id, "suspended", "--kill");
        assertEquals(List.of(id), ids());
        call("forget", "--kill", id).exits(0);
        assertFalse(Files.exists(stageFolder(id)));
        assertTrue(Files.exists(image), "it is the user's");
        String running = start("sleep", "1000");
        call("forget", "--kill", running).exits(0);
        String ended = start("true");
        call("wait", ended).exits(0);
        call("forget", ended).exits(0);
        assertEquals(List.of(), ids());
    }

    @Test
    void cleaningLeavesWhatSomebodyHas() throws Exception {
        String ended = start("true");
        call("wait", ended).exits(0);
        String killed = start("sleep", "1000");
        Path image = folder.resolve("killed.image");
        call("suspend", killed, "--to", image.toString()).exits(0);
        call("kill", killed).exits(0);
        String running = start("sleep", "1000");
        String suspended = start("sleep", "1000");
        call("suspend", suspended, "--to", folder.resolve("suspended.image").toString())
                .exits(0);
        Path broken = Files.createDirectory(stageFolder("broken"));
        Files.setLastModifiedTime(broken, FileTime.from(Instant.now().minus(Duration.ofHours(1))));
        Path young = Files.createDirectory(stageFolder("young"));

        String would =
                call("clean", "--dry-run", "--images-older-than", "0").exits(0).out();
        for (Path each : List.of(stageFolder(ended), stageFolder(killed), broken, image)) {
            assertTrue(would.contains("would remove ") && would.contains(each.toString()), would);
            assertTrue(Files.exists(each), each + " stays");
        }
        String removed = call("clean").exits(0).out();
        for (Path each : List.of(stageFolder(ended), stageFolder(killed), broken)) {
            assertTrue(removed.contains("removed ") && removed.contains(each.toString()), removed);
            assertFalse(Files.exists(each), each + " is gone");
        }
        assertTrue(Files.exists(image) && Files.exists(young));
        assertFalse(removed.contains(running) || removed.contains(suspended), removed);
        assertEquals(Stream.of(running, suspended).sorted().toList(), ids());
        call("resume", suspended).exits(0);
        call("clean", "--images-older-than", "-1").refuses("-1");
    }

    @Test
    void anImageOfAKilledStageGoesWhenItIsOld() throws Exception {
        String id = start("sleep", "1000");
        Path image = folder.resolve("killed.image");
        call("suspend", id, "--to", image.toString()).exits(0);
        call("kill", id).exits(0);
        assertFalse(call("clean", "--dry-run", "--images-older-than", "1").out().contains(image.toString()));
        assertTrue(call("clean", "--images-older-than", "0").out().contains(image.toString()));
        assertFalse(Files.exists(image));
    }

    /** What becomes of old ones is in CleanUpTest: nobody can make a control group older than it is. */
    @Test
    void anEmptyGroupStaysThatSomebodyMayBeAboutToUse() throws Exception {
        Path group = FreezerKind.create(StageId.create("nobody"), null).cgroup().orElse(null);
        assumeTrue(group != null, "this host has no control groups for stages");
        try {
            assertFalse(call("clean").exits(0).out().contains(group.toString()));
            Files.setLastModifiedTime(group, FileTime.from(Instant.now().minus(Duration.ofHours(1))));
            assertFalse(call("clean").exits(0).out().contains(group.toString()), "anybody can set that time");
            assertTrue(Files.exists(group));
        } finally {
            Files.deleteIfExists(group);
        }
    }
}
