package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.EntrySink;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockIndex;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DifferenceImageTest {

    private static final ImageKey KEY = ImageKey.generate();
    private static final int PAGE = 4096;
    private static final int PAGES = 2000;

    @TempDir
    Path folder;

    private final Random random = new Random(5);
    private Path images;
    private Path full;
    private Path second;
    private Path index;
    private Path target;

    @BeforeEach
    void aFullImage() throws IOException {
        images = Files.createDirectory(folder.resolve("images"));
        full = folder.resolve("first.image");
        second = folder.resolve("second.image");
        index = folder.resolve("pages.index");
        target = folder.resolve("target");
        Files.write(images.resolve("pages-1.img"), randomBytes(PAGES * PAGE));
        Files.write(images.resolve("pages-2.img"), randomBytes(10 * PAGE + 77));
        Files.write(images.resolve("core-1.img"), randomBytes(700));
        ImageArchive.Written written = write(full, null);
        assertFalse(written.difference());
        assertTrue(Files.exists(index));
    }

    private byte[] randomBytes(int size) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        return bytes;
    }

    private ImageArchive.Written write(Path archive, Path parent) throws ImageException {
        WriteRequest request = WriteRequest.of(images, archive, KEY, manifest());
        return ImageArchive.write(parent == null ? request.indexed(index) : request.against(index, parent));
    }

    private static ImageManifest manifest() {
        return new ImageManifest(0, "s-1", null, null, null, null, null, 1, 0, List.of());
    }

    private void change(String file, int page, int pages) throws IOException {
        byte[] bytes = Files.readAllBytes(images.resolve(file));
        byte[] other = randomBytes(pages * PAGE);
        System.arraycopy(other, 0, bytes, page * PAGE, other.length);
        Files.write(images.resolve(file), bytes);
    }

    private void assertReadBack(Path archive) throws IOException {
        ImageManifest manifest = ImageArchive.read(archive, KEY, target);
        for (ImageManifest.EntryInfo entry : manifest.entries()) {
            assertArrayEquals(
                    Files.readAllBytes(images.resolve(entry.name())),
                    Files.readAllBytes(target.resolve(entry.name())),
                    entry.name());
        }
        try (Stream<Path> there = Files.list(target);
                Stream<Path> wanted = Files.list(images)) {
            assertEquals(wanted.count(), there.count());
        }
    }

    private void assertRefused(Reason reason, ReadRequest request) {
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(request, target));
        assertEquals(reason, e.reason(), e.getMessage());
        assertTrue(e.getMessage().contains(second.toString()), e.getMessage());
        assertFalse(Files.exists(target));
    }

    @Test
    void aTwentiethOfChangedPagesMakesASmallDifferenceThatIsReadBack() throws IOException {
        for (int i = 0; i < 20; i++) {
            change("pages-1.img", i * 97, 5);
        }
        ImageArchive.Written written = write(second, full);
        assertTrue(written.difference());
        assertEquals(100 * PAGE + 700, written.storedBytes());
        assertTrue(written.archiveBytes() * 10 < Files.size(full), written.toString());
        assertReadBack(second);
        ImageManifest sealed = ImageArchive.manifestOf(second, KEY);
        assertEquals(
                ImageArchive.manifestOf(full, KEY).imageId(), sealed.parent().imageId());
        assertEquals("first.image", sealed.parent().file());
    }

    @Test
    void anImageWithoutAnyChangeHoldsNoPages() throws IOException {
        ImageArchive.Written written = write(second, full);
        assertEquals(700, written.storedBytes(), "what describes the processes is whole");
        assertReadBack(second);
    }

    @Test
    void pagesThatMovedAreFoundAndShortEndsAreKept() throws IOException {
        byte[] pages = Files.readAllBytes(images.resolve("pages-1.img"));
        byte[] moved = new byte[pages.length + 3 * PAGE + 5];
        System.arraycopy(pages, 1000 * PAGE, moved, 0, 1000 * PAGE);
        System.arraycopy(pages, 0, moved, 1001 * PAGE, 1000 * PAGE);
        System.arraycopy(pages, 7 * PAGE, moved, 2002 * PAGE, PAGE + 5);
        Files.write(images.resolve("pages-1.img"), moved);
        byte[] small = Files.readAllBytes(images.resolve("pages-2.img"));
        Files.write(images.resolve("pages-2.img"), Arrays.copyOfRange(small, 3 * PAGE, small.length));
        Files.write(images.resolve("pages-3.img"), small);
        ImageArchive.Written written = write(second, full);
        assertTrue(written.difference());
        assertTrue(written.storedBytes() <= 5 * PAGE, written.toString());
        assertReadBack(second);
    }

    @Test
    void aSecondDifferenceRefersToTheFullImageToo() throws IOException {
        change("pages-1.img", 3, 20);
        Path between = folder.resolve("between.image");
        assertTrue(write(between, full).difference());
        change("pages-1.img", 500, 20);
        assertTrue(write(second, full).difference());
        Files.delete(between);
        assertReadBack(second);
    }

    @Test
    void whenMostChangedAFullImageIsWrittenAndTheNextRefersToThatOne() throws IOException {
        change("pages-1.img", 0, 1500);
        ImageArchive.Written written = write(second, full);
        assertFalse(written.difference());
        Files.delete(full);
        change("pages-1.img", 0, 1);
        Path third = folder.resolve("third.image");
        assertTrue(write(third, second).difference());
        assertReadBack(third);
    }

    @Test
    void withoutAUsableParentOrIndexAFullImageIsWritten() throws IOException {
        assertFalse(write(second, folder.resolve("gone.image")).difference());
        assertFalse(write(full, full).difference(), "it would replace what it refers to");
        Files.write(index, new byte[100]);
        assertFalse(write(second, full).difference());
        ImageKey other = ImageKey.generate();
        assertFalse(ImageArchive.write(
                        WriteRequest.of(images, second, other, manifest()).against(index, full))
                .difference());
        assertFalse(ImageArchive.write(WriteRequest.of(
                                images,
                                second,
                                KEY,
                                new ImageManifest(0, "other", null, null, null, null, null, 1, 0, List.of()))
                        .against(index, full))
                .difference());
        assertReadBack(full);
    }

    @Test
    void theIndexKnowsWhereItsImageIs() throws IOException {
        change("pages-1.img", 3, 20);
        assertTrue(ImageArchive.write(
                        WriteRequest.of(images, second, KEY, manifest()).against(index, null))
                .difference());
        assertReadBack(second);
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere")).resolve("third.image");
        assertFalse(ImageArchive.write(
                        WriteRequest.of(images, elsewhere, KEY, manifest()).against(index, null))
                .difference());
    }

    @Test
    void aDifferenceIsNoParent() throws IOException {
        change("pages-1.img", 0, 1);
        write(second, full);
        assertFalse(write(folder.resolve("third.image"), second).difference());
    }

    @Test
    void aMissingAWrongATamperedAndACutParentAreRefusedEachWithItsReason() throws IOException {
        change("pages-1.img", 0, 1);
        write(second, full);
        byte[] whole = Files.readAllBytes(full);
        Path elsewhere = folder.resolve("elsewhere.image");
        Files.move(full, elsewhere);
        ReadRequest request = ReadRequest.of(second, KEY);
        assertRefused(Reason.PARENT_MISSING, request);

        Path old = folder.resolve("old.image");
        ImageArchive.write(images, old, KEY, manifest());
        assertRefused(Reason.PARENT_UNUSABLE, request.withParent(old));
        assertRefused(Reason.PARENT_UNUSABLE, request.withParent(second));
        ImageArchive.write(images, old, ImageKey.generate(), manifest());
        assertRefused(Reason.PARENT_UNUSABLE, request.withParent(old));

        byte[] changed = whole.clone();
        changed[whole.length / 2] ^= 1;
        Files.write(old, changed);
        assertRefused(Reason.PARENT_UNUSABLE, request.withParent(old));
        Files.write(old, Arrays.copyOf(whole, whole.length - 1_000_000));
        assertRefused(Reason.PARENT_UNUSABLE, request.withParent(old));

        assertArrayEquals(whole, Files.readAllBytes(elsewhere));
        assertEquals(
                "s-1",
                ImageArchive.read(request.withParent(elsewhere), target)
                        .manifest()
                        .stageId());
    }

    @Test
    void aParentWhosePagesAreOthersUnderTheRightIdIsFoundOutByTheDigests() throws Exception {
        change("pages-1.img", 0, 1);
        write(second, full);
        ImageManifest parent = ImageArchive.manifestOf(full, KEY);
        try (CraftedArchive crafted = new CraftedArchive(full, KEY)) {
            crafted.manifest(parent);
            for (ImageManifest.EntryInfo entry : parent.entries()) {
                crafted.raw(entry.name(), randomBytes((int) entry.bytes()));
            }
            crafted.raw(
                    ArchiveFormat.SEAL,
                    ArchiveFormat.json()
                            .writeValueAsBytes(new ArchiveFormat.Seal(
                                    parent.imageId(),
                                    parent.entries().size(),
                                    parent.storedBytes(),
                                    ArchiveFormat.hex(BlockHash.sha256()
                                            .digest(ArchiveFormat.json().writeValueAsBytes(parent))))));
        }
        assertRefused(Reason.BAD_CONTENT, ReadRequest.of(second, KEY));
    }

    @Test
    void anIndexThatLiesCostsTheDifferenceButNothingGetsThrough() throws Exception {
        Path other = Files.createDirectory(folder.resolve("other"));
        Files.write(other.resolve("pages-1.img"), randomBytes(PAGES * PAGE));
        String id = ImageArchive.manifestOf(full, KEY).imageId();
        byte[] pages = Files.readAllBytes(images.resolve("pages-1.img"));
        byte[] foreign = Files.readAllBytes(other.resolve("pages-1.img"));
        try (BlockIndex.Writer forged = new BlockIndex.Writer(index, KEY, id, full)) {
            forged.add(BlockHash.leaves(new byte[700], 700));
            forged.add(BlockHash.leaves(foreign, foreign.length));
            forged.keep();
        }
        System.arraycopy(foreign, 0, pages, 0, foreign.length);
        Files.write(images.resolve("pages-1.img"), pages);
        assertTrue(write(second, full).difference());
        assertRefused(Reason.BAD_CONTENT, ReadRequest.of(second, KEY));
    }

    @Test
    void aSinkIsToldOfFilesThatArePartlyInTheParent() throws IOException {
        change("pages-1.img", 0, 2);
        Files.writeString(images.resolve("core-1.img"), "other registers");
        write(second, full);
        StringBuilder seen = new StringBuilder();
        ImageInspection inspection = ImageArchive.inspect(second, KEY, new EntrySink() {
            @Override
            public void entry(String name, long bytes, java.io.InputStream content) throws IOException {
                seen.append(name)
                        .append('=')
                        .append(new String(content.readAllBytes()))
                        .append(' ');
            }

            @Override
            public void reference(String name, long bytes, long stored) {
                seen.append(name).append(':').append(stored).append(' ');
            }
        });
        assertEquals("core-1.img=other registers pages-1.img:" + 2 * PAGE + " pages-2.img:0 ", seen.toString());
        assertEquals(2 * PAGE, inspection.entries().get(1).stored());
        assertTrue(inspection.manifest().isDifference());
    }

    @Test
    void theDigestsOfAllBlocksAreFoundAlsoOfThoseInTheParent() throws IOException {
        byte[] pages = Files.readAllBytes(images.resolve("pages-1.img"));
        System.arraycopy(pages, 0, pages, 500 * PAGE, 300 * PAGE);
        Files.write(images.resolve("pages-1.img"), pages);
        change("pages-1.img", 7, 3);
        change("pages-1.img", 1999, 1);
        assertTrue(write(second, full).difference());
        Set<String> names = Set.of("pages-1.img", "pages-2.img", "core-1.img", "not-there.img");
        Map<String, long[]> digests = ImageArchive.blockDigests(ReadRequest.of(second, KEY), names);
        assertEquals(Set.of("pages-1.img", "pages-2.img", "core-1.img"), digests.keySet());
        for (String name : digests.keySet()) {
            byte[] content = Files.readAllBytes(images.resolve(name));
            ByteBuffer leaves = ByteBuffer.wrap(BlockHash.leaves(content, content.length));
            long[] expected = new long[2 * leaves.capacity() / BlockHash.DIGEST];
            for (int i = 0; i < expected.length; i++) {
                expected[i] = leaves.getLong(i / 2 * BlockHash.DIGEST + i % 2 * Long.BYTES);
            }
            assertArrayEquals(expected, digests.get(name), name);
        }
        assertEquals(
                2,
                ImageArchive.blockDigests(ReadRequest.of(full, KEY), Set.of("core-1.img"))
                        .get("core-1.img")
                        .length);

        assertDigestsRefused(Reason.PARENT_UNUSABLE, ReadRequest.of(second, KEY).withParent(second));
        byte[] whole = Files.readAllBytes(full);
        Files.write(full, Arrays.copyOf(whole, whole.length - 1));
        assertDigestsRefused(Reason.PARENT_UNUSABLE, ReadRequest.of(second, KEY));
        Files.delete(full);
        assertDigestsRefused(Reason.PARENT_MISSING, ReadRequest.of(second, KEY));
    }

    private static void assertDigestsRefused(Reason reason, ReadRequest request) {
        ImageException e =
                assertThrows(ImageException.class, () -> ImageArchive.blockDigests(request, Set.of("pages-1.img")));
        assertEquals(reason, e.reason(), e.getMessage());
    }

    @Test
    void aCancelledPackingStopsAtOnceAndLeavesNothing() throws IOException {
        byte[] before = Files.readAllBytes(index);
        int[] asked = new int[1];
        ImageException e = assertThrows(
                ImageException.class,
                () -> ImageArchive.write(WriteRequest.of(images, second, KEY, manifest())
                        .against(index, full)
                        .unless(() -> ++asked[0] > 5)));
        assertEquals(Reason.CANCELLED, e.reason());
        assertEquals(6, asked[0]);
        assertArrayEquals(before, Files.readAllBytes(index));
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(full, images, index), left.sorted().toList());
        }
        write(second, null);
        assertRefused(Reason.CANCELLED, ReadRequest.of(second, KEY).unless(() -> true));
    }

    @Test
    void anImageThatIsNotTheExpectedOneIsRefusedBeforeItIsUnpacked() throws IOException {
        ImageArchive.Written written =
                ImageArchive.write(images, second, KEY, manifest().with(3, null));
        ReadRequest request = ReadRequest.of(second, KEY);
        assertRefused(Reason.REPLAYED, request.expecting("s-2", 0, null));
        assertRefused(Reason.REPLAYED, request.expecting("s-1", 4, null));
        assertRefused(Reason.REPLAYED, request.expecting("s-1", 3, "0".repeat(32)));
        assertEquals(
                3,
                ImageArchive.read(request.expecting("s-1", 3, written.imageId()), target)
                        .manifest()
                        .suspension());
    }
}
