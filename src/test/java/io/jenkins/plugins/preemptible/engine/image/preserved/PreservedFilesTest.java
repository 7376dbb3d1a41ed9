package io.jenkins.plugins.preemptible.engine.image.preserved;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.CraftedArchive;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PreservedFilesTest {

    private static final ImageKey KEY = ImageKey.generate();

    @TempDir
    Path folder;

    private Path images;
    private Path workspace;
    private Path archive;
    private Path target;

    @BeforeEach
    void aWorkspace() throws Exception {
        folder = folder.toRealPath();
        images = Files.createDirectory(folder.resolve("images"));
        Files.writeString(images.resolve("core-1.img"), "registers");
        archive = folder.resolve("stage.image");
        target = folder.resolve("target");
        workspace = Files.createDirectory(folder.resolve("workspace"));
        Path src = Files.createDirectories(workspace.resolve("src/deep er"));
        byte[] noise = new byte[3_000_001];
        new Random(3).nextBytes(noise);
        Files.write(src.resolve("noise"), noise);
        Files.writeString(workspace.resolve("empty"), "");
        Files.writeString(src.resolve("run.sh"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(src.resolve("run.sh"), PosixFilePermissions.fromString("rwxr-x--x"));
        Files.createLink(workspace.resolve("another-name"), src.resolve("run.sh"));
        Files.createSymbolicLink(workspace.resolve("link"), Path.of("src/deep er/run.sh"));
        Files.createSymbolicLink(workspace.resolve("out"), Path.of("no such/file"));
        Files.createDirectory(
                workspace.resolve("locked"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("r-xr-xr-x")));
        assertEquals(
                0,
                new ProcessBuilder("mkfifo", workspace.resolve("fifo").toString())
                        .start()
                        .waitFor());
        try (RandomAccessFile sparse =
                new RandomAccessFile(workspace.resolve("sparse").toFile(), "rw")) {
            sparse.setLength(40L << 20);
            sparse.seek(20L << 20);
            sparse.write(1);
        }
        Files.setLastModifiedTime(src.resolve("noise"), FileTime.from(Instant.parse("2020-02-29T12:34:56.123456789Z")));
        touch("2001-01-01T01:01:01.123456789Z", workspace.resolve("link"), workspace.resolve("fifo"));
        touch("1960-01-01T01:01:01.25Z", workspace.resolve("empty"), workspace.resolve("out"));
        touch("2400-01-01T00:00:00.5Z", workspace.resolve("locked"));
        Files.setLastModifiedTime(src, FileTime.from(Instant.parse("2019-01-01T00:00:00Z")));
    }

    /** Java sets no time of a link, and none before 1970 with a fraction. */
    private static void touch(String time, Path... files) throws Exception {
        List<String> command = new ArrayList<>(List.of("touch", "-h", "-d", time));
        Stream.of(files).map(Path::toString).forEach(command::add);
        assertEquals(0, new ProcessBuilder(command).start().waitFor());
    }

    @Test
    void aLinkAndAFifoThatAreThereGetTheirTimesBack() throws Exception {
        TreeMap<String, String> before = seen(workspace);
        write(workspace);
        touch("2011-11-11T11:11:11Z", workspace.resolve("link"), workspace.resolve("fifo"), workspace.resolve("empty"));
        read().putBack(null);
        assertEquals(before, seen(workspace));
    }

    private ImageArchive.Written write(Path... preserved) throws ImageException {
        return ImageArchive.write(
                WriteRequest.of(images, archive, KEY, manifest()).preserving(List.of(preserved)));
    }

    private static ImageManifest manifest() {
        return new ImageManifest(0, "s-1", null, null, null, null, null, 1, 0, List.of());
    }

    private PreservedFiles read() throws ImageException {
        return ImageArchive.read(ReadRequest.of(archive, KEY), target).preserved();
    }

    /** Everything that can be seen of a tree. */
    private static TreeMap<String, String> seen(Path root) throws IOException {
        TreeMap<String, String> seen = new TreeMap<>();
        try (Stream<Path> all = Files.walk(root)) {
            for (Path each : all.toList()) {
                var is = Files.readAttributes(
                        each, "unix:mode,uid,gid,nlink,lastModifiedTime", LinkOption.NOFOLLOW_LINKS);
                boolean link = Files.isSymbolicLink(each);
                boolean file = Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS);
                seen.put(
                        root.relativize(each).toString(),
                        is.get("mode") + " " + is.get("uid") + " " + is.get("gid")
                                + (Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS) ? "" : " " + is.get("nlink"))
                                + (link ? " " + Files.readSymbolicLink(each) : "")
                                + " " + is.get("lastModifiedTime")
                                + (file ? " " + CraftedArchive.digest(Files.readAllBytes(each)) : ""));
            }
        }
        return seen;
    }

    private static void delete(Path root) throws IOException {
        try (Stream<Path> all = Files.walk(root)) {
            for (Path each : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }

    @Test
    void aTreeThatIsGoneComesBackAsItWas() throws IOException {
        TreeMap<String, String> before = seen(workspace);
        ImageArchive.Written written = write(workspace);
        assertEquals(List.of(), written.skipped());
        delete(workspace);
        PreservedFiles preserved = read();
        assertEquals(List.of(workspace.toString()), preserved.roots());
        assertEquals(before.size(), preserved.putBack(List.of(workspace)));
        assertEquals(before, seen(workspace));
    }

    @Test
    void holesStayHoles() throws IOException, InterruptedException {
        write(workspace);
        delete(workspace);
        read().putBack(null);
        Process du = new ProcessBuilder("du", "-k", workspace.resolve("sparse").toString()).start();
        String kilobytes = new String(du.getInputStream().readAllBytes()).split("\\s")[0];
        assertEquals(0, du.waitFor());
        assertTrue(Integer.parseInt(kilobytes) < 1024, kilobytes + " KB of 40 MB");
        assertEquals(40L << 20, Files.size(workspace.resolve("sparse")));
    }

    @Test
    void anUnchangedTreeIsLeftAloneAndKeepsItsInodes() throws IOException {
        write(workspace);
        Object inode = Files.getAttribute(workspace.resolve("src/deep er/noise"), "unix:ino");
        TreeMap<String, String> before = seen(workspace);
        read().putBack(List.of(workspace));
        assertEquals(before, seen(workspace));
        assertEquals(inode, Files.getAttribute(workspace.resolve("src/deep er/noise"), "unix:ino"));
    }

    @Test
    void whatDiffersIsPutBackAndWhatIsNewIsLeftAlone() throws IOException {
        TreeMap<String, String> before = seen(workspace);
        write(workspace);
        Files.writeString(workspace.resolve("src/deep er/noise"), "overwritten");
        Files.setPosixFilePermissions(workspace.resolve("empty"), PosixFilePermissions.fromString("rwxrwxrwx"));
        Files.delete(workspace.resolve("link"));
        Files.writeString(workspace.resolve("link"), "a file now");
        Files.delete(workspace.resolve("fifo"));
        Files.createSymbolicLink(workspace.resolve("fifo"), Path.of("/etc/passwd"));
        Files.writeString(workspace.resolve("new"), "new");
        read().putBack(List.of(workspace));
        assertEquals("new", Files.readString(workspace.resolve("new")));
        Files.delete(workspace.resolve("new"));
        Files.setLastModifiedTime(workspace, FileTime.fromMillis(0));
        TreeMap<String, String> after = seen(workspace);
        before.remove("");
        after.remove("");
        assertEquals(before, after);
    }

    @Test
    void ownersComeBack() throws IOException {
        assumeTrue("root".equals(System.getProperty("user.name")), "only root can give files to others");
        Path file = workspace.resolve("empty");
        Files.setAttribute(file, "unix:uid", 1234);
        Files.setAttribute(file, "unix:gid", 2345);
        Files.setAttribute(file, "unix:mode", 04755);
        Files.setAttribute(workspace.resolve("link"), "unix:uid", 77, LinkOption.NOFOLLOW_LINKS);
        TreeMap<String, String> before = seen(workspace);
        write(workspace);
        delete(workspace);
        read().putBack(null);
        assertEquals(before, seen(workspace));
    }

    @Test
    void filesByThemselvesAndMissingPathsAreAllowed() throws IOException {
        Path one = Files.writeString(folder.resolve("one"), "1");
        ImageArchive.Written written = write(one, folder.resolve("gone"), workspace.resolve("src"));
        assertEquals(List.of(folder.resolve("gone").toString()), written.skipped());
        Files.delete(one);
        delete(workspace);
        read().putBack(List.of(one, workspace.resolve("src")));
        assertEquals("1", Files.readString(one));
        assertTrue(Files.exists(workspace.resolve("src/deep er/noise")));
        assertFalse(Files.exists(workspace.resolve("empty")));
    }

    @Test
    void theArchiveAndTheImageInsideOfAPreservedPathAreLeftOut() throws IOException {
        archive = workspace.resolve("stage.image");
        Path inside = Files.createDirectory(workspace.resolve("images"));
        Files.writeString(inside.resolve("core-1.img"), "registers");
        images = inside;
        write(workspace);
        write(workspace);
        ImageManifest sealed = ImageArchive.manifestOf(archive, KEY);
        assertTrue(sealed.preserved().stream().noneMatch(f -> f.path().startsWith("images")), sealed.toString());
        assertTrue(sealed.preserved().stream().noneMatch(f -> f.path().startsWith("stage.image")), sealed.toString());
    }

    @Test
    void pathsThatCannotBePreservedAreRefusedAndNothingIsWritten() {
        for (List<Path> bad : List.of(
                List.of(Path.of("relative")),
                List.of(Path.of("/")),
                List.of(workspace, workspace.resolve("src")),
                List.of(workspace.resolve("src"), workspace),
                List.of(workspace, workspace))) {
            ImageException e = assertThrows(
                    ImageException.class,
                    () -> ImageArchive.write(
                            WriteRequest.of(images, archive, KEY, manifest()).preserving(bad)));
            assertEquals(Reason.UNSAFE_ENTRY, e.reason(), e.getMessage());
            assertFalse(Files.exists(archive));
        }
    }

    @Test
    void aFileThatChangesWhileItIsPackedStopsThePacking() throws IOException {
        int[] asked = new int[1];
        ImageException e = assertThrows(
                ImageException.class,
                () -> ImageArchive.write(WriteRequest.of(images, archive, KEY, manifest())
                        .preserving(List.of(workspace))
                        .unless(() -> {
                            if (asked[0]++ == 3) {
                                append(workspace.resolve("src/deep er/noise"));
                            }
                            return false;
                        })));
        assertEquals(Reason.CHANGED_MEANWHILE, e.reason(), e.getMessage());
        assertFalse(Files.exists(archive));
    }

    private static void append(Path file) {
        try {
            Files.writeString(file, "more", java.nio.file.StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void aPathThatTheCallerDoesNotKnowIsRefusedBeforeAnythingIsWritten() throws IOException {
        write(workspace);
        delete(workspace);
        PreservedFiles preserved = read();
        ImageException e =
                assertThrows(ImageException.class, () -> preserved.putBack(List.of(folder.resolve("elsewhere"))));
        assertEquals(Reason.UNSAFE_ENTRY, e.reason());
        assertFalse(Files.exists(workspace));
    }

    @Test
    void aLinkInTheWayLeadsNowhere() throws IOException {
        write(workspace);
        delete(workspace);
        PreservedFiles preserved = read();
        Path precious = Files.createDirectory(folder.resolve("precious"));

        Files.createSymbolicLink(workspace, precious);
        preserved.putBack(null);
        assertTrue(Files.isDirectory(workspace, LinkOption.NOFOLLOW_LINKS), "the link itself is replaced");
        assertEquals(0, precious.toFile().list().length);

        delete(workspace.resolve("src"));
        Files.createSymbolicLink(workspace.resolve("src"), precious);
        preserved.putBack(null);
        assertEquals(0, precious.toFile().list().length);
        assertTrue(Files.exists(workspace.resolve("src/deep er/noise")));

        delete(workspace);
        Path moved = folder.resolve("moved");
        Files.move(images, moved);
        Files.createSymbolicLink(images, precious);
        ImageManifest sealed = ImageArchive.manifestOf(archive, KEY);
        ImageManifest under = sealed.sealed(
                sealed.imageId(),
                null,
                sealed.entries(),
                List.of(images.resolve("ws").toString()),
                sealed.preserved());
        ImageException e = assertThrows(ImageException.class, () -> new PreservedFiles(under, target).putBack(null));
        assertEquals(Reason.UNSAFE_ENTRY, e.reason(), e.getMessage());
        assertEquals(0, precious.toFile().list().length);
    }

    @Test
    void aFolderWithContentIsNotRemovedForAFile() throws IOException {
        write(workspace);
        Files.delete(workspace.resolve("empty"));
        Files.createDirectories(workspace.resolve("empty/with"));
        PreservedFiles preserved = read();
        ImageException e = assertThrows(ImageException.class, () -> preserved.putBack(null));
        assertEquals(Reason.TARGET_IN_USE, e.reason(), e.getMessage());
        assertTrue(Files.exists(workspace.resolve("empty/with")));
    }

    @Test
    void unchangedFilesAreReferencesInADifference() throws IOException {
        Path index = folder.resolve("pages.index");
        ImageArchive.write(WriteRequest.of(images, archive, KEY, manifest())
                .preserving(List.of(workspace))
                .indexed(index));
        Path second = folder.resolve("second.image");
        Files.writeString(workspace.resolve("src/deep er/run.sh"), "#!/bin/bash\n");
        Files.setLastModifiedTime(workspace, FileTime.fromMillis(1_000_000));
        TreeMap<String, String> before = seen(workspace);
        ImageArchive.Written written = ImageArchive.write(WriteRequest.of(images, second, KEY, manifest())
                .preserving(List.of(workspace))
                .against(index, archive));
        assertTrue(written.difference());
        assertTrue(written.storedBytes() < 100, written.toString());
        delete(workspace);
        ImageArchive.read(ReadRequest.of(second, KEY), target).preserved().putBack(null);
        assertEquals(before, seen(workspace));
    }

    @Test
    void nothingOutsideTheTargetIsWrittenByReading() throws IOException {
        write(workspace);
        TreeMap<String, String> before = seen(workspace);
        byte[] bytes = Files.readAllBytes(archive);
        read();
        assertEquals(before, seen(workspace));
        assertArrayEquals(bytes, Files.readAllBytes(archive));
    }
}
