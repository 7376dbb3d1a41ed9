package io.jenkins.plugins.preemptible.engine.image;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ImageArchiveTest {

    private static final ImageKey KEY = ImageKey.generate();

    @TempDir
    Path folder;

    private Path images;
    private Path archive;
    private Path target;

    @BeforeEach
    void someImage() throws IOException {
        images = Files.createDirectory(folder.resolve("images"));
        archive = folder.resolve("stage.image");
        target = folder.resolve("target");
        Random random = new Random(1);
        byte[] pages = new byte[3_000_000];
        random.nextBytes(pages);
        Files.write(images.resolve("pages-1.img"), pages);
        Files.writeString(images.resolve("core-1.img"), "registers");
        Files.createFile(images.resolve("empty.img"));
    }

    private static ImageManifest manifest() {
        return new ImageManifest(
                0,
                "afl-1234",
                "AFL",
                "2026-11-21T12:00:00Z",
                "4.2.1",
                "6.18",
                "x86_64",
                2,
                0,
                List.of(new ImageManifest.ProcessInfo(1, 0, "init", ""), new ImageManifest.ProcessInfo(
                        7, 1, "afl-fuzz", "afl-fuzz -i in -o out")));
    }

    private ImageArchive.Written write() throws ImageException {
        return ImageArchive.write(images, archive, KEY, manifest());
    }

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

    /** It is refused for this reason, nothing is unpacked, and the archive stays as it is. */
    private void assertRefused(Reason reason, ImageKey key) throws IOException {
        byte[] before = Files.exists(archive) ? Files.readAllBytes(archive) : null;
        for (Executable use : List.<Executable>of(
                () -> ImageArchive.inspect(archive, key), () -> ImageArchive.read(archive, key, target))) {
            ImageException e = assertThrows(ImageException.class, use);
            assertEquals(reason, e.reason(), e.getMessage());
            assertTrue(e.getMessage().contains(archive.toString()), e.getMessage());
            assertTrue(e.getMessage().contains(reason.remedy()), e.getMessage());
        }
        assertFalse(Files.exists(target));
        if (before != null) {
            assertArrayEquals(before, Files.readAllBytes(archive));
        }
    }

    private void assertOnlyFile(Path dir, Path... expected) throws IOException {
        try (Stream<Path> files = Files.list(dir)) {
            assertEquals(Stream.of(expected).sorted().toList(), files.sorted().toList());
        }
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
        assertEquals(List.of("core-1.img", "empty.img", "pages-1.img"), read.entries().stream().map(ImageManifest.EntryInfo::name).toList());
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
                archive, KEY, (name, bytes, content) -> seen.put(name, content.readNBytes(name.startsWith("p") ? 5 : 99)));
        assertEquals(3, inspection.entries().size());
        assertEquals(List.of("core-1.img", "empty.img", "pages-1.img"), List.copyOf(seen.keySet()));
        assertArrayEquals("registers".getBytes(), seen.get("core-1.img"));
        assertArrayEquals(
                java.util.Arrays.copyOf(content(images).get("pages-1.img"), 5), seen.get("pages-1.img"));
        assertOnlyFile(folder, archive, images);
    }

    @Test
    void aSinkThatFailsIsToldApartFromABadImage() throws IOException {
        write();
        ImageException e = assertThrows(
                ImageException.class, () -> ImageArchive.inspect(archive, KEY, (name, bytes, content) -> {
                    throw new IOException("no such message type");
                }));
        assertEquals(Reason.INPUT_OUTPUT, e.reason());
        assertTrue(e.getMessage().contains("core-1.img") && e.getMessage().contains("no such message"), e.getMessage());
    }

    @Test
    void aLargeImageWithHolesIsReadBackAndStaysSmall() throws IOException {
        byte[] mark = "here".getBytes();
        try (RandomAccessFile file = new RandomAccessFile(images.resolve("pages-2.img").toFile(), "rw")) {
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

    @Test
    void everyCutIsSeen() throws IOException {
        write();
        byte[] whole = Files.readAllBytes(archive);
        int segment = 1 << 20;
        int[] lengths = {
            0, 1, 7, 8, 9, 10, 11, 25, 26, 27, 40, 60, 1000, segment - 1, segment, segment + 1, segment + 10,
            2 * segment, whole.length / 2, whole.length - 1000, whole.length - 17, whole.length - 16,
            whole.length - 15, whole.length - 8, whole.length - 1
        };
        for (int length : lengths) {
            Files.write(archive, java.util.Arrays.copyOf(whole, length));
            assertRefused(Reason.TRUNCATED, KEY);
        }
    }

    @Test
    void aCutStreamUnderAGoodTailIsSeenByItsSealing() throws IOException {
        write();
        byte[] whole = Files.readAllBytes(archive);
        for (int cut : new int[] {1, 17, 1 << 20, whole.length - 26, whole.length - 100}) {
            byte[] forged = java.util.Arrays.copyOf(whole, whole.length - cut);
            System.arraycopy(
                    ArchiveFormat.tail(forged.length),
                    0,
                    forged,
                    forged.length - ArchiveFormat.TAIL_BYTES,
                    ArchiveFormat.TAIL_BYTES);
            Files.write(archive, forged);
            if (forged.length >= 26) {
                assertRefused(Reason.WRONG_KEY_OR_TAMPERED, KEY);
            }
        }
    }

    @Test
    void everyChangeIsSeen() throws IOException {
        Files.write(images.resolve("pages-1.img"), new byte[400_000]);
        byte[] noise = new byte[20_000];
        new Random(2).nextBytes(noise);
        Files.write(images.resolve("pages-2.img"), noise);
        write();
        byte[] whole = Files.readAllBytes(archive);
        Random random = new Random(3);
        for (int i = 0; i < 500; i++) {
            byte[] changed = mutated(whole, random);
            Files.write(archive, changed);
            ImageException e = assertThrows(
                    ImageException.class, () -> ImageArchive.read(archive, KEY, target), "mutation " + i);
            assertTrue(
                    List.of(
                                    Reason.NOT_AN_IMAGE,
                                    Reason.OTHER_VERSION,
                                    Reason.TRUNCATED,
                                    Reason.WRONG_KEY_OR_TAMPERED)
                            .contains(e.reason()),
                    "mutation " + i + ": " + e);
            assertFalse(Files.exists(target), "mutation " + i);
            assertArrayEquals(changed, Files.readAllBytes(archive));
        }
    }

    private static byte[] mutated(byte[] whole, Random random) {
        while (true) {
            byte[] changed = whole.clone();
            int at = random.nextInt(whole.length);
            int length = Math.min(1 + random.nextInt(64), whole.length - at);
            switch (random.nextInt(6)) {
                case 0 -> changed[at] ^= (byte) (1 << random.nextInt(8));
                case 1 -> changed[random.nextInt(64)] ^= (byte) (1 << random.nextInt(8));
                case 2 -> changed[whole.length - 1 - random.nextInt(64)] ^= (byte) (1 << random.nextInt(8));
                case 3 -> java.util.Arrays.fill(changed, at, at + length, (byte) 0);
                case 4 -> System.arraycopy(whole, random.nextInt(whole.length - length), changed, at, length);
                default -> {
                    changed = java.util.Arrays.copyOf(whole, whole.length + length);
                    System.arraycopy(whole, at, changed, whole.length, length);
                }
            }
            if (!java.util.Arrays.equals(changed, whole)) {
                return changed;
            }
        }
    }

    @Test
    void swappedSegmentsAreSeen() throws IOException {
        write();
        byte[] whole = Files.readAllBytes(archive);
        int segment = 1 << 20;
        int start = ArchiveFormat.HEAD_BYTES;
        byte[] swapped = whole.clone();
        System.arraycopy(whole, start + segment, swapped, start + 2 * segment - segment / 2, segment / 2);
        Files.write(archive, swapped);
        assertRefused(Reason.WRONG_KEY_OR_TAMPERED, KEY);
    }

    @Test
    void anotherKeyDoesNotOpenIt() throws IOException {
        write();
        assertRefused(Reason.WRONG_KEY_OR_TAMPERED, ImageKey.generate());
    }

    @Test
    void anotherVersionIsRefusedByItsNumber() throws IOException {
        write();
        byte[] bytes = Files.readAllBytes(archive);
        bytes[9] = 1;
        Files.write(archive, bytes);
        assertRefused(Reason.OTHER_VERSION, KEY);
        String message = assertThrows(ImageException.class, () -> ImageArchive.inspect(archive, KEY))
                .getMessage();
        assertTrue(message.contains("it has 1, known is 2"), message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"hello", "a text file that is longer than head and tail of an image", "\n\n\n\n\n\n"})
    void aFileThatIsNoImageIsRefused(String text) throws IOException {
        Files.writeString(archive, text);
        assertRefused(Reason.NOT_AN_IMAGE, KEY);
    }

    @Test
    void aMissingFileAndAFolderAreRefused() throws IOException {
        assertRefused(Reason.MISSING, KEY);
        archive = Files.createDirectory(folder.resolve("dir"));
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.inspect(archive, KEY));
        assertEquals(Reason.NOT_AN_IMAGE, e.reason());
    }

    @Test
    void aFolderThatIsNotEmptyIsNeitherFilledNorEmptied() throws IOException {
        write();
        Files.createDirectory(target);
        Path mine = Files.writeString(target.resolve("mine"), "mine");
        ImageException e =
                assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
        assertEquals(Reason.TARGET_IN_USE, e.reason());
        assertOnlyFile(target, mine);
    }

    @Test
    void anEmptyFolderThatWasThereIsLeftEmptyOnFailure() throws IOException {
        write();
        Files.createDirectory(target);
        assertThrows(ImageException.class, () -> ImageArchive.read(archive, ImageKey.generate(), target));
        byte[] bytes = Files.readAllBytes(archive);
        bytes[bytes.length - 20] ^= 1;
        Files.write(archive, bytes);
        assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
        assertOnlyFile(target);
    }

    @Test
    void anImageThatPromisesMoreThanTheDiskHasIsRefusedAtOnce() throws Exception {
        try (CraftedArchive crafted = new CraftedArchive(archive, KEY)) {
            crafted.manifest(new ImageManifest.EntryInfo("a.img", Long.MAX_VALUE, "0".repeat(64), 0, Long.MAX_VALUE));
        }
        ImageException e =
                assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
        assertEquals(Reason.NO_SPACE, e.reason());
        assertFalse(Files.exists(target));
    }

    @Test
    void aFullDiskIsNamedAndNothingIsLeftOnIt() throws Exception {
        try (SmallDisk disk = SmallDisk.mount(folder.resolve("disk"), 1)) {
            archive = disk.folder().resolve("stage.image");
            ImageException e = assertThrows(ImageException.class, this::write);
            assertEquals(Reason.NO_SPACE, e.reason(), e.getMessage());
            assertTrue(e.getMessage().contains(archive.toString()), e.getMessage());
            assertOnlyFile(disk.folder());

            archive = folder.resolve("stage.image");
            write();
            Path small = disk.folder().resolve("into");
            assertEquals(
                    Reason.NO_SPACE,
                    assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, small))
                            .reason());
            assertOnlyFile(disk.folder());
        }
    }

    @Test
    void aDiskThatFillsUpWhileUnpackingIsNamedToo() throws Exception {
        write();
        try (SmallDisk disk = SmallDisk.mount(folder.resolve("disk"), 4)) {
            Path into = disk.folder().resolve("into");
            try (UnpackTarget unpack = UnpackTarget.in(into)) {
                Unpacking unpacking = new Unpacking(ReadRequest.of(archive, KEY), unpack);
                ImageException e = assertThrows(
                        ImageException.class,
                        () -> new ArchiveReader(ReadRequest.of(archive, KEY)).read(fillingFirst(unpacking, disk)));
                assertEquals(Reason.NO_SPACE, e.reason(), e.getMessage());
            }
            assertOnlyFile(disk.folder(), disk.folder().resolve("somebody-elses"));
        }
    }

    private static ArchiveReader.Receiver fillingFirst(Unpacking unpacking, SmallDisk disk) {
        return new ArchiveReader.Receiver() {
            @Override
            public void begin(ImageManifest manifest, List<BlockRuns> references) throws IOException {
                unpacking.begin(manifest, references);
                Files.write(disk.folder().resolve("somebody-elses"), new byte[3_500_000]);
            }

            @Override
            public void entry(int number, ImageManifest.EntryInfo entry, EntryContent content) throws IOException {
                unpacking.entry(number, entry, content);
            }
        };
    }

    /** A tmpfs of a few megabytes. */
    private record SmallDisk(Path folder) implements AutoCloseable {

        static SmallDisk mount(Path folder, int megabytes) throws Exception {
            assumeTrue(
                    "root".equals(System.getProperty("user.name")),
                    "a small file system can be mounted by root only, so a full disk cannot be tried");
            Files.createDirectory(folder);
            int status = run("mount", "-t", "tmpfs", "-o", "size=" + megabytes + "m", "tmpfs", folder.toString());
            assumeTrue(status == 0, "this machine does not let root mount a tmpfs, so a full disk cannot be tried");
            return new SmallDisk(folder);
        }

        @Override
        public void close() throws Exception {
            assertEquals(0, run("umount", folder.toString()));
        }

        private static int run(String... command) throws Exception {
            return new ProcessBuilder(command).inheritIO().start().waitFor();
        }
    }
}
