package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is written is what is read back, and a failed write leaves what was there. */
class ImageArchiveTest extends ImageCase {

    private static Map<String, byte[]> content(Path dir) throws IOException {
        Map<String, byte[]> content = new TreeMap<>();
        try (Stream<Path> files = Files.list(dir)) {
            for (Path file : files.toList()) {
                content.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return content;
    }

    private static void assertSameFiles(Path expected, Path found) throws IOException {
        Map<String, byte[]> one = content(expected);
        Map<String, byte[]> other = content(found);
        assertEquals(one.keySet(), other.keySet());
        one.forEach((name, bytes) -> assertArrayEquals(bytes, other.get(name), name));
    }

    @Test
    void whatIsWrittenIsReadBack() throws IOException {
        ImageArchive.Written written = write();
        assertEquals(3_000_009, written.imageBytes());
        assertEquals(Files.size(archive), written.archiveBytes());
        ImageManifest read = ImageArchive.read(archive, KEY, target);
        assertEquals(3_000_009, read.imageBytes());
        assertEquals(written.imageId(), read.imageId());
        assertEquals(manifest().tree(), read.tree());
        assertEquals(
                List.of("core-1.img", "empty.img", "pages-1.img"),
                read.entries().stream().map(ImageManifest.EntryInfo::name).toList());
        assertFalse(written.difference());
        assertSameFiles(images, target);
        assertOnlyFile(folder, archive, images, target);
    }

    @Test
    void archiveAndUnpackedFilesAreTheirOwnersOnly() throws IOException {
        write();
        ImageArchive.read(archive, KEY, target);
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(archive)));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(target)));
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(target.resolve("core-1.img"))));
    }

    /** For a trial on another host; pstree-1.img is behind pages-1.img by its name. */
    @Test
    void whatLiesBeforeTheMemoryIsReadFromABeginning() throws IOException {
        Files.writeString(images.resolve("pstree-1.img"), "tree");
        write();
        byte[] whole = Files.readAllBytes(archive);
        Path cut = folder.resolve("cut");
        Files.write(cut, java.util.Arrays.copyOf(whole, 1 << 20));
        assertThrows(ImageException.class, () -> ImageArchive.readBeginning(ReadRequest.of(cut, KEY), target));
        assertFalse(Files.exists(target));
        // The first mebibyte can be authenticated with one more byte of the next.
        for (int bytes : new int[] {(1 << 20) + 100_000, whole.length}) {
            Files.write(cut, java.util.Arrays.copyOf(whole, bytes));
            assertTrue(
                    ImageArchive.readBeginning(ReadRequest.of(cut, KEY), target).isPresent());
            assertEquals(
                    java.util.Set.of("core-1.img", "empty.img", "pstree-1.img"),
                    content(target).keySet());
            assertEquals("afl-1234", ImageArchive.manifestOfBeginning(cut, KEY).stageId());
            StageFolder.delete(target);
        }
    }

    /** Less than one segment of the encryption: all of it, with its tail. */
    @Test
    void aSmallImageIsItsOwnBeginning() throws IOException {
        Files.writeString(images.resolve("pages-1.img"), "few");
        write();
        assertTrue(
                ImageArchive.readBeginning(ReadRequest.of(archive, KEY), target).isPresent());
        assertEquals(
                java.util.Set.of("core-1.img", "empty.img"), content(target).keySet());
    }

    @Test
    void theContentIsNotReadableInTheArchive() throws IOException {
        Files.writeString(images.resolve("files.img"), "the-password-of-the-stage".repeat(3));
        write();
        String raw = Files.readString(archive, java.nio.charset.StandardCharsets.ISO_8859_1);
        assertFalse(raw.contains("the-password") || raw.contains("afl-1234") || raw.contains("core-1.img"));
    }

    @Test
    void anInspectionNamesEverythingAndWritesNothing() throws IOException {
        write();
        ImageInspection inspection = ImageArchive.inspect(archive, KEY);
        assertEquals("afl-1234", inspection.manifest().stageId());
        assertEquals(Files.size(archive), inspection.archiveBytes());
        assertEquals(
                List.of(
                        new ImageInspection.Entry("core-1.img", 9),
                        new ImageInspection.Entry("empty.img", 0),
                        new ImageInspection.Entry("pages-1.img", 3_000_000)),
                inspection.entries());
        assertEquals(inspection.manifest(), ImageArchive.manifestOf(archive, KEY));
        assertOnlyFile(folder, archive, images);
    }

    @Test
    void aSinkSeesTheFilesItAsksForAndNothingIsWritten() throws IOException {
        write();
        Map<String, byte[]> seen = new TreeMap<>();
        ImageInspection inspection = ImageArchive.inspect(
                archive,
                KEY,
                (name, bytes, content) -> seen.put(name, content.readNBytes(name.startsWith("p") ? 5 : 99)));
        assertEquals(3, inspection.entries().size());
        assertEquals(List.of("core-1.img", "empty.img", "pages-1.img"), List.copyOf(seen.keySet()));
        assertArrayEquals("registers".getBytes(), seen.get("core-1.img"));
        assertArrayEquals(java.util.Arrays.copyOf(content(images).get("pages-1.img"), 5), seen.get("pages-1.img"));
        assertOnlyFile(folder, archive, images);
    }

    @Test
    void aSinkThatFailsIsToldApartFromABadImage() throws IOException {
        write();
        ImageException e = assertThrows(
                ImageException.class,
                () -> ImageArchive.inspect(archive, KEY, (name, bytes, content) -> {
                    throw new IOException("no such message type");
                }));
        assertEquals(Reason.INPUT_OUTPUT, e.reason());
        assertTrue(e.getMessage().contains("core-1.img") && e.getMessage().contains("no such message"), e.getMessage());
    }

    @Test
    void aLargeImageWithHolesIsReadBackAndStaysSmall() throws IOException {
        byte[] mark = "here".getBytes();
        try (RandomAccessFile file =
                new RandomAccessFile(images.resolve("pages-2.img").toFile(), "rw")) {
            file.setLength(64L << 20);
            for (long at : new long[] {0, 1 << 20, (33L << 20) + 7, (64L << 20) - 4}) {
                file.seek(at);
                file.write(mark);
            }
        }
        ImageArchive.Written written = write();
        assertTrue(written.archiveBytes() < 3_200_000, written.toString());
        ImageArchive.read(archive, KEY, target);
        assertEquals(-1, Files.mismatch(images.resolve("pages-2.img"), target.resolve("pages-2.img")));
    }

    @Test
    void aNewArchiveReplacesAnOlderOne() throws IOException {
        write();
        Files.writeString(images.resolve("core-1.img"), "later");
        write();
        ImageArchive.read(archive, KEY, target);
        assertSameFiles(images, target);
        assertOnlyFile(folder, archive, images, target);
    }

    @Test
    void whatACrashLeftUnderThePartialNameIsReplaced() throws IOException {
        Files.writeString(folder.resolve("stage.image.partial"), "half an image");
        write();
        assertOnlyFile(folder, archive, images);
        ImageArchive.inspect(archive, KEY);
    }

    @Test
    void aLinkUnderThePartialNameIsNotWrittenThrough() throws IOException {
        Path precious = Files.writeString(folder.resolve("precious"), "precious");
        Files.createSymbolicLink(folder.resolve("stage.image.partial"), precious);
        write();
        assertEquals("precious", Files.readString(precious));
    }

    @Test
    void aFailedWriteLeavesTheOlderArchiveAndNothingElse() throws IOException {
        write();
        byte[] before = Files.readAllBytes(archive);
        Files.createSymbolicLink(images.resolve("parent"), folder);
        ImageException e = assertThrows(ImageException.class, this::write);
        assertEquals(Reason.UNSAFE_ENTRY, e.reason());
        assertArrayEquals(before, Files.readAllBytes(archive));
        assertOnlyFile(folder, archive, images);
    }

    @Test
    void anEmptyFolderAFolderAsTargetAndAMissingFolderAreRefused() throws IOException {
        Path empty = Files.createDirectory(folder.resolve("empty"));
        assertEquals(
                Reason.UNSAFE_ENTRY,
                assertThrows(ImageException.class, () -> ImageArchive.write(empty, archive, KEY, manifest()))
                        .reason());
        assertEquals(
                Reason.TARGET_IN_USE,
                assertThrows(ImageException.class, () -> ImageArchive.write(images, empty, KEY, manifest()))
                        .reason());
        Path nowhere = folder.resolve("nowhere").resolve("x");
        String message = assertThrows(ImageException.class, () -> ImageArchive.write(images, nowhere, KEY, manifest()))
                .getMessage();
        assertTrue(message.contains("its folder does not exist"), message);
    }
}
