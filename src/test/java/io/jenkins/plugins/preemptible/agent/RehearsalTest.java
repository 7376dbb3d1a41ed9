package io.jenkins.plugins.preemptible.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a rehearsal leaves when it cannot clear up after itself. */
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
                    UncheckedIOException.class, () -> new Rehearsal(Rehearsal.Part.FREEZE).invoke(home.toFile(), null));
            assertEquals(1, engine.list().size());
        } finally {
            assertTrue(
                    HostTool.run(10, List.of("chattr", "-i", kept.toString())).ok());
        }
        assertEquals(
                null,
                new Rehearsal(Rehearsal.Part.FREEZE).invoke(home.toFile(), null).failure());
        if (engine.checkpoints()) {
            assertEquals(
                    null,
                    new Rehearsal(Rehearsal.Part.DUMP)
                            .invoke(home.toFile(), null)
                            .failure());
        }
        assertEquals(List.of(), engine.list());
        HostTool.run(10, List.of("rm", "-rf", home.toString()));
    }
}
