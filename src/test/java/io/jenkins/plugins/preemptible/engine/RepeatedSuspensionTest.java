package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.criu.Connections;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A stage that is suspended more than once, with files of its own, through real archives. */
class RepeatedSuspensionTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    // Memory that does not change, then a line whenever the workspace says so.
    private static final String SCRIPT = "import os, time\n"
            + "kept = os.urandom(24 << 20)\n"
            + "open('state', 'w').write('begun')\n"
            + "log = open('log', 'a')\n"
            + "n = 0\n"
            + "while not os.path.exists('stop'):\n"
            + "    n += 1\n"
            + "    log.write('%d\\n' % n)\n"
            + "    log.flush()\n"
            + "    time.sleep(0.02)\n";

    @Test
    void theSecondArchiveRefersToTheFirstAndThePreservedFilesComeBack() throws Exception {
        try (StageBench bench = StageBench.open()) {
            Path workspace = Files.createDirectory(bench.work.resolve("workspace")).toRealPath();
            StageId id = StageId.create("again");
            bench.engine.start(new StageSpec(
                    id, null, workspace, List.of("python3", "-c", SCRIPT), null, Connections.REFUSE, List.of(workspace)));
            StageBench.until("a line", SOON, () -> Files.exists(workspace.resolve("log"))
                    && StageBench.lines(workspace.resolve("log")) > 3);
            Path first = bench.archive(id);
            Checkpoint whole = bench.engine.suspend(id, first, bench.key).checkpoint();

            Files.writeString(workspace.resolve("state"), "spoilt");
            Files.delete(workspace.resolve("log"));
            ResumeReport resumed = bench.engine.resume(first, bench.key);
            assertEquals(Tier.ARCHIVE, resumed.tier(), "CRIU's own files hold no preserved paths");
            assertEquals(List.of(), resumed.warnings());
            assertEquals("begun", Files.readString(workspace.resolve("state")));
            long lines = StageBench.lines(workspace.resolve("log"));
            StageBench.until("more lines", SOON, () -> StageBench.lines(workspace.resolve("log")) > lines + 3);

            Path second = first.resolveSibling("second.image");
            Checkpoint change = bench.engine.suspend(id, second, bench.key, Extent.DIFFERENCE).checkpoint();
            ImageManifest sealed = ImageArchive.manifestOf(second, bench.key);
            assertEquals(ImageArchive.manifestOf(first, bench.key).imageId(), sealed.parent().imageId());
            assertEquals(2, sealed.suspension());
            assertFalse(sealed.host().cpuFeatures().isEmpty());
            assertTrue(change.archiveBytes() * 5 < whole.archiveBytes(), change + " after " + whole);

            Path aside = first.resolveSibling("aside");
            Files.move(first, aside);
            ResumeFailedException e =
                    assertThrows(ResumeFailedException.class, () -> bench.engine.resume(second, bench.key));
            assertEquals(FailureReason.IMAGE_UNUSABLE, e.reason());
            assertTrue(e.getMessage().contains(first.toString()), e.getMessage());
            Files.move(aside, first);
            ResumeFailedException old =
                    assertThrows(ResumeFailedException.class, () -> bench.engine.resume(first, bench.key));
            assertEquals(FailureReason.IMAGE_OUTDATED, old.reason(), "an image of an earlier suspension");

            bench.engine.resume(second, bench.key);
            long before = StageBench.lines(workspace.resolve("log"));
            StageBench.until("more lines", SOON, () -> StageBench.lines(workspace.resolve("log")) > before + 3);
            Files.writeString(workspace.resolve("stop"), "");
            assertEquals(0, bench.engine.await(id));
            List<String> all = Files.readAllLines(workspace.resolve("log"));
            for (int i = 0; i < all.size(); i++) {
                assertEquals(Integer.toString(i + 1), all.get(i), "a line is missing or twice");
            }
        }
    }
}
