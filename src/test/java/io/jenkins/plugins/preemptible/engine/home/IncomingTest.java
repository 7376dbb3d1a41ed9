package io.jenkins.plugins.preemptible.engine.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IncomingTest {

    private static final Path MEMORY = Path.of("/dev/shm");
    private static final long SMALL = 1 << 20;

    @TempDir
    private Path home;

    private static void assumeRoom() throws Exception {
        assumeTrue(
                Files.isDirectory(MEMORY)
                        && Files.getFileStore(MEMORY).type().equals("tmpfs")
                        && Files.getFileStore(MEMORY).getUsableSpace() > 4 * SMALL
                        && HostMemory.now().availableBytes() > FreezeRequest.DEFAULT_MEMORY_FLOOR + 4 * SMALL,
                "this host has no memory to spare");
    }

    private static void assertOwnersOnly(Path folder) throws Exception {
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
    }

    @Test
    void whatFitsTwiceIsUnpackedInMemory() throws Exception {
        assumeRoom();
        Path folder = new Incoming(home, true).folder(SMALL);
        try {
            assertEquals(MEMORY, folder.getParent());
            assertOwnersOnly(folder);
        } finally {
            StageFolder.delete(folder);
        }
    }

    @Test
    void whatDoesNotFitIsUnpackedOnDisk() throws Exception {
        Path folder = new Incoming(home, true).folder(Long.MAX_VALUE / 4);
        assertEquals(home.resolve("incoming"), folder.getParent());
        assertOwnersOnly(folder);
        assertOwnersOnly(folder.getParent());
        assertEquals(
                home.resolve("incoming"),
                new Incoming(home, false).folder(SMALL).getParent());
    }

    @Test
    void oneOfItsFoldersIsRemovedAndNothingElse() throws Exception {
        Incoming incoming = new Incoming(home, false);
        Path own = incoming.folder(SMALL);
        Files.writeString(own.resolve("pages-1.img"), "memory");
        Path other = Files.createDirectory(home.resolve("incoming/other"));
        Path elsewhere = Files.createDirectory(home.resolve(own.getFileName().toString()));
        Path link = Files.createSymbolicLink(home.resolve("incoming/image-link"), elsewhere);
        for (Path each : new Path[] {own, own, other, elsewhere, link, home}) {
            incoming.remove(each.toString());
        }
        assertFalse(Files.exists(own));
        assertTrue(Files.exists(other) && Files.exists(elsewhere) && Files.isSymbolicLink(link));
    }

    @Test
    void whatTheDeadLeftInMemoryIsRemovedAndNothingElse() throws Exception {
        assumeRoom();
        Incoming incoming = new Incoming(home, true);
        Path own = incoming.folder(SMALL);
        String[] name = own.getFileName().toString().split("-");
        Path left = Files.createDirectory(MEMORY.resolve(name[0] + "-999999999-1-" + name[3]));
        Path elsewhere = Files.createDirectory(MEMORY.resolve("preemptible_image_1-999999999-1-" + name[3]));
        try {
            Files.writeString(left.resolve("pages-1.img"), "memory");
            incoming.sweep();
            assertFalse(Files.exists(left));
            assertTrue(Files.exists(own));
            assertTrue(Files.exists(elsewhere), "of another PID namespace");
        } finally {
            StageFolder.delete(own);
            StageFolder.delete(left);
            StageFolder.delete(elsewhere);
        }
    }
}
