package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is no whole image of this key is refused with a reason, and nothing of it is left. */
class ImageRefusalTest extends ImageCase {

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

    @Test
    void everyCutIsSeen() throws IOException {
        write();
        byte[] whole = Files.readAllBytes(archive);
        int segment = 1 << 20;
        int[] lengths = {
            0,
            1,
            7,
            8,
            9,
            10,
            11,
            25,
            26,
            27,
            40,
            60,
            1000,
            segment - 1,
            segment,
            segment + 1,
            segment + 10,
            2 * segment,
            whole.length / 2,
            whole.length - 1000,
            whole.length - 17,
            whole.length - 16,
            whole.length - 15,
            whole.length - 8,
            whole.length - 1
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
            ImageException e =
                    assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target), "mutation " + i);
            assertTrue(
                    List.of(Reason.NOT_AN_IMAGE, Reason.OTHER_VERSION, Reason.TRUNCATED, Reason.WRONG_KEY_OR_TAMPERED)
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
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
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
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
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
