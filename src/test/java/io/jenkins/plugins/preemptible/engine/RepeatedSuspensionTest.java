package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.ContentReader.Detail;
import io.jenkins.plugins.preemptible.engine.content.ImageDifference;
import io.jenkins.plugins.preemptible.engine.content.ImageDifference.Side;
import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A stage that is suspended more than once, with files of its own, through real archives. */
@Tag("host")
class RepeatedSuspensionTest {

    private static final Duration SOON = Duration.ofSeconds(60);

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

    /** What inspecting the difference by itself shows. */
    private static void assertSeen(ImageManifest sealed, Checkpoint change, Path archive, ImageKey key)
            throws Exception {
        assertEquals(change.frozenMillis(), sealed.timings().freezeMs());
        assertEquals(change.dumpMillis(), sealed.timings().dumpMs());
        assertTrue(sealed.timings().preflightMs() >= 0, sealed::toString);
        assertNotNull(Handover.valueOf(sealed.timings().handover()));
        ContentReader reader = new ContentReader(Set.of());
        ImageInspection seen = ImageArchive.inspect(archive, key, reader);
        assertTrue(seen.entries().stream().anyMatch(e -> e.name().startsWith("pages-") && e.stored() < e.bytes()));
        assertEquals(change.processes(), reader.content().processes().size());
        assertTrue(reader.content().processes().stream().anyMatch(p -> p.comm().startsWith("python")));
    }

    /** Unchanged pages count as such, although only the full image has them. */
    private static void assertCompared(Path first, Path second, ImageKey key) throws Exception {
        ContentReader earlier = new ContentReader(Set.of(Detail.PAGE_DIGESTS));
        ImageArchive.inspect(first, key, earlier);
        assertEquals(Set.of(), earlier.inParent());
        ContentReader later = new ContentReader(Set.of(Detail.PAGE_DIGESTS));
        ImageArchive.inspect(second, key, later);
        assertFalse(later.inParent().isEmpty());
        assertThrows(ContentException.class, later::pageDigests);
        ImageArchive.blockDigests(ReadRequest.of(second, key), later.inParent()).forEach(later::blocks);
        Path unpacked = Files.createTempDirectory(first.getParent(), "unpacked");
        ImageArchive.read(second, key, unpacked);
        ContentReader whole = new ContentReader(Set.of(Detail.PAGE_DIGESTS));
        for (Path file : sortedFiles(unpacked)) {
            try (InputStream content = Files.newInputStream(file)) {
                whole.entry(file.getFileName().toString(), Files.size(file), content);
            }
        }
        Side resolved = Side.of(later);
        ImageDifference same = ImageDifference.between(Side.of(whole), resolved);
        assertTrue(same.memory().stream().allMatch(m -> m.changed() == 0), same::toString);
        ImageDifference difference = ImageDifference.between(Side.of(earlier), resolved);
        long pages = difference.memory().stream()
                .mapToLong(ImageDifference.PageChange::pages)
                .sum();
        long changed = difference.memory().stream()
                .mapToLong(ImageDifference.PageChange::changed)
                .sum();
        assertTrue(pages > 6000 && changed > 0 && changed < pages / 5, difference::toString);
    }

    private static List<Path> sortedFiles(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        }
    }

    @Test
    void theSecondArchiveRefersToTheFirstAndThePreservedFilesComeBack() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path workspace =
                    Files.createDirectory(bench.work.resolve("workspace")).toRealPath();
            StageId id = StageId.create("again");
            bench.engine.start(new StageSpec(
                    id,
                    null,
                    workspace,
                    List.of("python3", "-c", SCRIPT),
                    null,
                    Connections.REFUSE,
                    List.of(workspace)));
            StageBench.until(
                    "a line",
                    SOON,
                    () -> Files.exists(workspace.resolve("log")) && StageBench.lines(workspace.resolve("log")) > 3);
            Path first = bench.archive(id);
            Path socket = workspace.resolve("socket");
            try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
                server.bind(UnixDomainSocketAddress.of(socket));
            }
            Checkpoint whole = bench.engine.suspend(id, first, bench.key).checkpoint();
            assertEquals(1, whole.skipped().size(), whole::toString);
            assertTrue(whole.skipped().get(0).contains(socket.toString()), whole::toString);

            Files.writeString(workspace.resolve("state"), "spoilt");
            Files.delete(workspace.resolve("log"));
            ResumeReport resumed = bench.engine.resume(first, bench.key);
            assertEquals(Tier.ARCHIVE, resumed.tier(), "CRIU's own files hold no preserved paths");
            assertEquals(List.of(), resumed.warnings());
            assertEquals("begun", Files.readString(workspace.resolve("state")));
            long lines = StageBench.lines(workspace.resolve("log"));
            StageBench.until("more lines", SOON, () -> StageBench.lines(workspace.resolve("log")) > lines + 3);

            Path second = first.resolveSibling("second.image");
            Checkpoint change = bench.engine
                    .suspend(id, second, bench.key, Extent.DIFFERENCE)
                    .checkpoint();
            ImageManifest sealed = ImageArchive.manifestOf(second, bench.key);
            assertEquals(
                    ImageArchive.manifestOf(first, bench.key).imageId(),
                    sealed.parent().imageId());
            assertEquals(2, sealed.suspension());
            assertFalse(sealed.host().cpuFeatures().isEmpty());
            assertEquals(List.of(Extent.FULL, Extent.DIFFERENCE), List.of(whole.extent(), change.extent()));
            assertEquals(List.of(whole.imageId(), sealed.imageId()), List.of(change.parentId(), change.imageId()));
            assertEquals(Tier.ARCHIVE, bench.engine.status(id).tier(), "CRIU's own files hold no preserved paths");
            assertSeen(sealed, change, second, bench.key);
            assertCompared(first, second, bench.key);
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
