package io.jenkins.plugins.preemptible.engine.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RootsOwnTest {

    @Test
    void whatIsBelowSomebodysFolderIsNotRootsAlone() throws Exception {
        assumeTrue(HostProcess.isRoot(), "only root makes files of root's");
        assertTrue(RootsOwn.whole(Path.of("/bin").toRealPath()));
        assertFalse(RootsOwn.above(Path.of("/tmp/x")), "everybody may write to /tmp, sticky or not");
        assertFalse(RootsOwn.above(Path.of("/usr/../tmp/x")));
        Path folder = Files.createTempDirectory(Path.of("/var/lib"), "preemptible-test");
        Path file = Files.createFile(folder.resolve("file"));
        try {
            assertTrue(RootsOwn.whole(file));
            assertEquals(Optional.empty(), RootsOwn.changeableIn(folder));
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw----"));
            assertFalse(RootsOwn.whole(file));
            assertEquals(Optional.of(file), RootsOwn.changeableIn(folder));
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
            Files.setAttribute(folder, "unix:uid", 65534);
            assertFalse(RootsOwn.whole(file));
            assertTrue(RootsOwn.above(folder));
            assertFalse(RootsOwn.above(folder.resolve("gone/deeper")));
        } finally {
            Files.delete(file);
            Files.delete(folder);
        }
    }
}
