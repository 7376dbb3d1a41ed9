package io.jenkins.plugins.preemptible.engine.move;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.SPARSE;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LuggageTest {

    private static final StageId ID = StageId.create("test");
    private static final ImageKey KEY = ImageKey.generate();

    @TempDir
    Path folder;

    private Path workspace;
    private Path temporary;
    private Path archive;
    private Path scratch;
    private byte[] noise;

    @BeforeEach
    void aWorkspace() throws Exception {
        folder = folder.toRealPath();
        workspace = Files.createDirectories(folder.resolve("agent/workspace/a job"));
        temporary = Files.createDirectory(folder.resolve("agent/workspace/a job@tmp"));
        Path control = Files.createDirectory(temporary.resolve("durable-1"));
        archive = folder.resolve("luggage");
        scratch = folder.resolve("scratch");
        noise = new byte[3_000_001];
        new Random(3).nextBytes(noise);
        Files.write(control.resolve("jenkins-log.txt"), noise);
        Path script = Files.writeString(control.resolve("script.sh"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-x--x"));
        Files.setLastModifiedTime(script, FileTime.fromMillis(1_000_000_000_123L));
        Files.createSymbolicLink(workspace.resolve("out"), Path.of("/etc/no such file"));
        Files.createLink(workspace.resolve("second name"), Files.writeString(workspace.resolve("first name"), "x"));
        Files.createDirectory(workspace.resolve("empty"));
    }

    private List<Path> folders() {
        return List.of(workspace, temporary);
    }

    private Luggage.Packed pack() throws IOException {
        return Luggage.pack(ID, folders(), archive, KEY);
    }

    /** As on the other agent, which has the same paths. */
    private void there() throws IOException {
        StageFolder.delete(folder.resolve("agent"));
    }

    private Path home() {
        return folder.resolve("home");
    }

    private void unpack() throws IOException {
        Luggage.unpack(home(), ID, folders(), archive, KEY, scratch);
    }

    private void assertWhole() throws IOException {
        Path control = temporary.resolve("durable-1");
        assertArrayEquals(noise, Files.readAllBytes(control.resolve("jenkins-log.txt")));
        Path script = control.resolve("script.sh");
        assertEquals("rwxr-x--x", PosixFilePermissions.toString(Files.getPosixFilePermissions(script)));
        assertEquals(1_000_000_000_123L, Files.getLastModifiedTime(script).toMillis());
        assertEquals(Path.of("/etc/no such file"), Files.readSymbolicLink(workspace.resolve("out")));
        assertTrue(Files.isSameFile(workspace.resolve("first name"), workspace.resolve("second name")));
        assertTrue(Files.isDirectory(workspace.resolve("empty")));
    }

    private List<String> beside() throws IOException {
        try (var all = Files.list(workspace.getParent())) {
            return all.map(p -> p.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void everythingArrivesOnAnAgentThatHadNothing() throws Exception {
        Luggage.Packed packed = pack();
        assertEquals(Files.size(archive), packed.archiveBytes());
        assertTrue(packed.contentBytes() > noise.length);
        there();
        unpack();
        assertWhole();
        assertEquals(List.of("a job", "a job@tmp"), beside());
        assertFalse(Files.exists(scratch));
    }

    /** What a hole costs is reading: the limit counts a sparse file's length, the disks only its data. */
    @Test
    void theHolesOfASparseFileArriveAsHoles() throws Exception {
        assumeTrue(HostTool.find("stat").isPresent(), "stat is needed");
        long length = 64L << 20;
        Path sparse = workspace.resolve("disk image");
        try (FileChannel file = FileChannel.open(sparse, CREATE_NEW, WRITE, SPARSE)) {
            file.write(ByteBuffer.wrap(noise, 0, 100_000), 20 << 20);
            file.write(ByteBuffer.wrap(new byte[] {1}), length - 1);
        }
        assumeTrue(allocated(sparse) < 1 << 20, "this file system has no sparse files");
        assertEquals(
                MoveObstacle.WORKSPACE_TOO_LARGE,
                assertThrows(
                                MoveRefusedException.class,
                                () -> Luggage.pack(ID, folders(), MoveExcludes.NONE, archive, KEY, length))
                        .misfit()
                        .obstacle());
        Luggage.Packed packed = pack();
        assertTrue(packed.contentBytes() > length, "counted by its length");
        assertTrue(packed.archiveBytes() < 2 * noise.length, packed.archiveBytes() + " bytes are stored");
        there();
        unpack();
        assertWhole();
        assertEquals(length, Files.size(sparse));
        assertTrue(allocated(sparse) < 1 << 20, "its holes take room: " + allocated(sparse));
        try (FileChannel file = FileChannel.open(sparse)) {
            ByteBuffer data = ByteBuffer.allocate(100_000);
            file.read(data, 20 << 20);
            assertArrayEquals(Arrays.copyOf(noise, 100_000), data.array());
        }
    }

    private static long allocated(Path file) throws Exception {
        Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
        return 512 * Long.parseLong(new String(stat.getInputStream().readAllBytes()).trim());
    }

    /** An access list for the user 65534 to read and write, and a capability to open raw sockets, as the kernel has them. */
    @Test
    void extendedAttributesAndAccessListsArrive() throws Exception {
        assumeTrue(HostProcess.isRoot() && HostTool.find("python3").isPresent(), "root and python3 are needed");
        assertEquals("", attributes(true), "this file system has no extended attributes");
        String before = attributes(false);
        assertTrue(before.contains("user.note") && before.contains("posix_acl_default"), before);
        pack();
        there();
        unpack();
        assertWhole();
        assertEquals(before, attributes(false));
    }

    private String attributes(boolean set) {
        String python = """
                import os, struct, sys
                file, folder = sys.argv[1] + '/first name', sys.argv[1] + '/empty'
                entry = lambda tag, perm, who: struct.pack('<HHI', tag, perm, who)
                none = 0xffffffff
                acl = struct.pack('<I', 2) + entry(1, 6, none) + entry(2, 6, 65534) + entry(4, 4, none)
                acl += entry(16, 6, none) + entry(32, 0, none)
                if sys.argv[2] == 'true':
                    os.setxattr(file, 'user.note', bytes(range(256)))
                    os.setxattr(file, 'system.posix_acl_access', acl)
                    os.setxattr(file, 'security.capability', struct.pack('<IIIII', 0x02000001, 1 << 13, 0, 0, 0))
                    os.setxattr(folder, 'system.posix_acl_default', acl)
                    os.setxattr(folder, 'user.folder', b'')
                else:
                    for each in (file, folder):
                        print(each, os.stat(each).st_mode)
                        for name in sorted(os.listxattr(each)): print(name, os.getxattr(each, name))
                """;
        return HostTool.run(30, List.of("python3", "-c", python, workspace.toString(), Boolean.toString(set)))
                .text();
    }

    @Test
    void whatWasThereBeforeIsGone() throws Exception {
        pack();
        there();
        Files.createDirectories(workspace.resolve("of another build/deep"));
        Files.createDirectories(temporary);
        Files.writeString(temporary.resolve("stale"), "");
        unpack();
        assertWhole();
        assertFalse(Files.exists(workspace.resolve("of another build")));
        assertFalse(Files.exists(temporary.resolve("stale")));
        await().untilAsserted(() -> assertEquals(List.of("a job", "a job@tmp"), beside()));
    }

    /** The process that was to delete it was killed. */
    @Test
    void whatAnEarlierProcessDidNotDeleteIsGone() throws Exception {
        pack();
        there();
        Path left = Files.createDirectories(
                workspace.resolveSibling(".preemptible-aside-" + ID + "-0123456789abcdef-a job/gone-/deep"));
        Files.setPosixFilePermissions(left.getParent().getParent(), PosixFilePermissions.fromString("rwx------"));
        unpack();
        assertWhole();
        assertEquals(List.of("a job", "a job@tmp"), beside());
    }

    @Test
    void whatWasThereComesBackWhenItFails() throws Exception {
        pack();
        there();
        Files.createDirectories(workspace);
        Files.writeString(workspace.resolve("mine"), "mine");
        List<Path> other = List.of(workspace, folder.resolve("agent/workspace/other"));
        assertThrows(IOException.class, () -> Luggage.unpack(home(), ID, other, archive, KEY, scratch));
        assertEquals("mine", Files.readString(workspace.resolve("mine")));
        assertEquals(List.of("a job"), beside());
        assertThrows(
                ImageException.class,
                () -> Luggage.unpack(home(), ID, folders(), archive, ImageKey.generate(), scratch));
        assertThrows(
                ImageException.class,
                () -> Luggage.unpack(home(), StageId.create("other"), folders(), archive, KEY, scratch));
        byte[] cut = Files.readAllBytes(archive);
        Files.write(archive, java.util.Arrays.copyOf(cut, cut.length / 2));
        assertThrows(ImageException.class, this::unpack);
        assertEquals("mine", Files.readString(workspace.resolve("mine")));
        assertFalse(Files.exists(scratch));
    }

    /** It has room for the archive, and none for what is in it. */
    @Test
    void aFullDiskRefusesTheMove() throws Exception {
        pack();
        there();
        Path disk = Files.createDirectories(folder.resolve("agent"));
        assumeTrue(
                HostProcess.isRoot()
                        && HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=1m", "full", disk.toString()))
                                .ok(),
                "a small disk cannot be mounted");
        try {
            Files.createDirectories(workspace);
            Files.writeString(workspace.resolve("mine"), "mine");
            MoveRefusedException refused = assertThrows(
                    MoveRefusedException.class,
                    () -> Luggage.unpack(home(), ID, folders(), archive, KEY, disk.resolve("scratch")));
            assertEquals(MoveObstacle.DISK_FULL, refused.misfit().obstacle());
            assertEquals("mine", Files.readString(workspace.resolve("mine")));
            assertEquals(List.of("a job"), beside());
            assertFalse(Files.exists(disk.resolve("scratch")));
        } finally {
            HostTool.run(10, List.of("umount", disk.toString()));
        }
    }

    /** The folders are made on it, of what was unpacked elsewhere. */
    @Test
    void aDiskThatIsFullOnlyThereRefusesTheMove() throws Exception {
        pack();
        there();
        Path disk = Files.createDirectories(folder.resolve("agent"));
        assumeTrue(
                HostProcess.isRoot()
                        && HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=1m", "full", disk.toString()))
                                .ok(),
                "a small disk cannot be mounted");
        try {
            Files.createDirectories(workspace);
            Files.writeString(workspace.resolve("mine"), "mine");
            MoveRefusedException refused = assertThrows(MoveRefusedException.class, this::unpack);
            assertEquals(MoveObstacle.DISK_FULL, refused.misfit().obstacle());
            assertEquals("mine", Files.readString(workspace.resolve("mine")));
            assertEquals(List.of("a job"), beside());
        } finally {
            HostTool.run(10, List.of("umount", disk.toString()));
        }
    }

    @Test
    void aLinkOnTheWayIsNotFollowed() throws Exception {
        pack();
        there();
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        Files.createSymbolicLink(folder.resolve("agent"), elsewhere);
        Files.createDirectory(elsewhere.resolve("workspace"));
        assertThrows(IOException.class, this::unpack);
        assertFalse(Files.exists(elsewhere.resolve("workspace/a job"), LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void socketsStayAndAreNoReason() throws Exception {
        Path at = Path.of("/var/tmp").resolve(ID.value() + ".socket");
        try (ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.bind(UnixDomainSocketAddress.of(at));
            Files.move(at, workspace.resolve("socket"));
            pack();
        } finally {
            Files.deleteIfExists(at);
        }
        there();
        unpack();
        assertWhole();
        assertFalse(Files.exists(workspace.resolve("socket"), LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void aDeviceRefusesTheMove() throws Exception {
        boolean made = new ProcessBuilder("mknod", workspace.resolve("zero").toString(), "c", "1", "5")
                        .start()
                        .waitFor()
                == 0;
        assumeTrue(made, "this user may not make devices");
        MoveRefusedException refused = assertThrows(MoveRefusedException.class, this::pack);
        assertEquals(MoveObstacle.UNPACKABLE, refused.misfit().obstacle());
        assertTrue(refused.getMessage().contains("zero"), refused::getMessage);
        assertFalse(Files.exists(archive));
    }

    /** What it leads to would be lost: running processes are in there, by another path. */
    @Test
    void aWorkspaceThatIsALinkRefusesTheMove() throws Exception {
        for (Path each : folders()) {
            Path real = folder.resolve("real");
            Files.move(each, real);
            Files.createSymbolicLink(each, real);
            MoveRefusedException refused = assertThrows(MoveRefusedException.class, this::pack);
            assertEquals(MoveObstacle.UNPACKABLE, refused.misfit().obstacle());
            assertTrue(refused.getMessage().contains("link to " + real), refused::getMessage);
            assertFalse(Files.exists(archive));
            Files.delete(each);
            Files.move(real, each);
        }
        pack();
    }

    /** The log has three million bytes, and others have a few. */
    @Test
    void whatIsTooLargeIsNotPacked() throws Exception {
        MoveRefusedException refused = assertThrows(
                MoveRefusedException.class,
                () -> Luggage.pack(ID, folders(), MoveExcludes.NONE, archive, KEY, noise.length));
        assertEquals(MoveObstacle.WORKSPACE_TOO_LARGE, refused.misfit().obstacle());
        assertFalse(Files.exists(archive));
        Luggage.Packed packed = Luggage.pack(ID, folders(), MoveExcludes.NONE, archive, KEY, noise.length + 1000);
        assertTrue(packed.contentBytes() <= noise.length + 1000);
    }

    @Test
    void whatIsExcludedStaysBehindAndDoesNotCount() throws Exception {
        Path cache = Files.createDirectories(workspace.resolve("part/target/cache/deep"));
        Files.write(cache.resolve("large"), noise);
        Files.writeString(workspace.resolve("part/target/kept"), "");
        Files.write(workspace.resolve("disk.iso"), noise);
        MoveExcludes excludes = MoveExcludes.parse("**/target/cache/**\n*.iso");
        Luggage.pack(ID, folders(), excludes, archive, KEY, noise.length + 1000);
        there();
        unpack();
        assertWhole();
        assertTrue(Files.exists(workspace.resolve("part/target/kept")));
        assertFalse(Files.exists(workspace.resolve("part/target/cache")));
        assertFalse(Files.exists(workspace.resolve("disk.iso")));
    }

    @Test
    void aFileThatChangesMeanwhileRefusesTheMove() throws Exception {
        Path busy = Files.write(workspace.resolve("busy"), noise);
        AtomicBoolean done = new AtomicBoolean();
        Thread writer = new Thread(() -> {
            byte value = 0;
            while (!done.get()) {
                try {
                    Files.write(busy, new byte[] {value++}, java.nio.file.StandardOpenOption.APPEND);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            }
        });
        writer.start();
        try {
            MoveRefusedException refused = assertThrows(MoveRefusedException.class, this::pack);
            assertEquals(MoveObstacle.CHANGED_MEANWHILE, refused.misfit().obstacle());
            assertFalse(Files.exists(archive));
        } finally {
            done.set(true);
            writer.join();
        }
    }

    /** Repeats until the archive's partial file is there: the scan is over by then. */
    private MoveRefusedException refusedWhen(Change change) throws Exception {
        // Packed last, and for long: the change comes after the turn of what is before it.
        Path large = workspace.resolve("zzz");
        try (var out = Files.newOutputStream(large)) {
            for (int i = 0; i < 20; i++) {
                new Random(i).nextBytes(noise);
                out.write(noise);
            }
        }
        Path partial = archive.resolveSibling(archive.getFileName() + ".partial");
        AtomicBoolean done = new AtomicBoolean();
        Thread other = new Thread(() -> {
            try {
                while (!done.get() && !(Files.exists(partial) && Files.size(partial) > 0)) {
                    Thread.onSpinWait();
                }
                change.make();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        other.start();
        try {
            MoveRefusedException refused = assertThrows(MoveRefusedException.class, this::pack);
            assertFalse(Files.exists(archive));
            return refused;
        } finally {
            done.set(true);
            other.join();
        }
    }

    private interface Change {
        void make() throws IOException;
    }

    @Test
    void aFileThatChangesAfterItsTurnRefusesTheMove() throws Exception {
        Path early = workspace.resolve("first name");
        MoveRefusedException refused = refusedWhen(() -> Files.writeString(early, "y"));
        assertEquals(MoveObstacle.CHANGED_MEANWHILE, refused.misfit().obstacle());
        assertTrue(refused.getMessage().contains("name"), refused::getMessage);
    }

    @Test
    void aNewFileRefusesTheMove() throws Exception {
        MoveRefusedException refused = refusedWhen(() -> Files.writeString(workspace.resolve("empty/new"), ""));
        assertEquals(MoveObstacle.CHANGED_MEANWHILE, refused.misfit().obstacle());
        assertTrue(refused.getMessage().contains("empty"), refused::getMessage);
    }

    @Test
    void aFileThatIsRemovedRefusesTheMove() throws Exception {
        MoveRefusedException refused = refusedWhen(() -> Files.delete(workspace.resolve("out")));
        assertEquals(MoveObstacle.CHANGED_MEANWHILE, refused.misfit().obstacle());
    }

    /** As the controller does once a minute. */
    @Test
    void aStepsLogThatIsTouchedIsNoReason() throws Exception {
        Path log = temporary.resolve("durable-1/jenkins-log.txt");
        AtomicBoolean done = new AtomicBoolean();
        AtomicBoolean failed = new AtomicBoolean();
        Path partial = archive.resolveSibling(archive.getFileName() + ".partial");
        Thread other = new Thread(() -> {
            // Not in its own turn: packing is tried again then.
            while (!done.get() && !Files.exists(partial)) {
                Thread.onSpinWait();
            }
            try {
                Files.setLastModifiedTime(log, FileTime.fromMillis(System.currentTimeMillis()));
            } catch (IOException e) {
                failed.set(true);
            }
        });
        Files.move(log, temporary.resolve("durable-1/aside"));
        Files.createFile(log);
        other.start();
        try {
            pack();
        } finally {
            done.set(true);
            other.join();
        }
        assertFalse(failed.get());
    }
}
