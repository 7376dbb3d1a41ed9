package io.jenkins.plugins.preemptible.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a rehearsal does, and what it leaves when it cannot clear up after itself. */
class RehearsalTest {

    /** Agents of other tests may have lived in this JVM. */
    @BeforeEach
    @AfterEach
    void asInANewConnection() {
        Rehearsal.BEGUN.set(false);
        Rehearsal.TO_BE_DUMPED.set(false);
    }

    @Test
    void whatCouldNotBeClearedIsWhenTheNextStageBegins() throws Exception {
        // A disk: not every file system has files that nobody can remove.
        Path home = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-rehearsal");
        Path stages = home.resolve(Rehearsal.ID);
        Engine engine = Engine.open(stages);
        assumeTrue(engine.check().ok(), "this machine cannot suspend stages");
        StageId left = StageId.create("left");
        engine.start(new StageSpec(left, "left", home, List.of(), InEngine.sandboxEnvironment()));
        // The name is the last one, which is removed first: the record is still there then.
        Path kept =
                Files.createFile(stages.resolve("stages").resolve(left.value()).resolve("withstands"));
        assumeTrue(
                HostTool.run(10, List.of("chattr", "+i", kept.toString())).ok(), "no file can be made immutable here");
        try {
            assertThrows(
                    UncheckedIOException.class,
                    () -> new Rehearsal(Rehearsal.Part.FREEZE, true).invoke(home.toFile(), null));
            assertEquals(1, engine.list().size());
        } finally {
            assertTrue(
                    HostTool.run(10, List.of("chattr", "-i", kept.toString())).ok());
        }
        assertEquals(
                null,
                new Rehearsal(Rehearsal.Part.FREEZE, true)
                        .invoke(home.toFile(), null)
                        .failure());
        if (engine.checkpoints()) {
            assertEquals(
                    null,
                    new Rehearsal(Rehearsal.Part.DUMP, true)
                            .invoke(home.toFile(), null)
                            .failure());
        }
        assertEquals(List.of(), engine.list());
        HostTool.run(10, List.of("rm", "-rf", home.toString()));
    }

    @Test
    void aMoveIsRehearsedAndLeavesNothing() throws Exception {
        Path home = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-rehearsal");
        Engine engine = Engine.open(home);
        assumeTrue(engine.check().ok() && engine.checkpoints(), "this machine makes no images");
        assumeTrue(HostProcess.isRoot(), "root is needed");
        StageId id = StageId.create(Rehearsal.ID);
        engine.start(new StageSpec(id, Rehearsal.ID, home, List.of(), InEngine.sandboxEnvironment()));
        try {
            Path image = home.resolve(AgentStage.IMAGE_FILE);
            ImageKey key = ImageKey.generate();
            engine.freeze(id, FreezeRequest.plain());
            engine.dump(id, image, key, IfDumpFails.THAW);
            engine.commit(id);
            // A note of the host is made once.
            MoveVerbs.traits(home, engine);
            List<String> before = below(home);
            assertTrue(MoveRehearsal.run(engine, home, id, home, image, key));
            // What was unpacked is removed in the background.
            await().untilAsserted(() -> assertEquals(before, below(home)));
            engine.resume(image, key);
        } finally {
            engine.kill(id);
            engine.forget(id);
            HostTool.run(10, List.of("rm", "-rf", home.toString()));
        }
    }

    /** Files of the stage, but for empty folders of the home. */
    private static List<String> below(Path home) throws IOException {
        try (Stream<Path> all = Files.walk(home)) {
            return all.filter(Files::isRegularFile)
                    .map(file -> home.relativize(file).toString())
                    .sorted()
                    .toList();
        }
    }
}
