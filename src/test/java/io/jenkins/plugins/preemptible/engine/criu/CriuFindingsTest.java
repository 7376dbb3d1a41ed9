package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CriuFindingsTest {

    @TempDir
    Path shared;

    @Test
    void theFolderIsTheOwnersOnlyAndStays() throws Exception {
        Path folder = shared.resolve("findings");
        assertEquals(Optional.of(folder), CriuFindings.own(folder));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
        Path kept = Files.createFile(folder.resolve("criu.kdat"));
        assertEquals(Optional.of(folder), CriuFindings.own(folder));
        assertTrue(Files.exists(kept));
    }

    @Test
    void neitherALinkNorAFolderThatOthersMayWriteToIsTaken() throws Exception {
        Path other = Files.createDirectory(shared.resolve("other"));
        Path link = Files.createSymbolicLink(shared.resolve("link"), other);
        assertEquals(Optional.empty(), CriuFindings.own(link));
        Files.setPosixFilePermissions(other, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertEquals(Optional.empty(), CriuFindings.own(other));
    }

    @Test
    void anotherUsersFolderIsNotTaken() throws Exception {
        assumeTrue(HostProcess.isRoot(), "only root gives folders away");
        Path folder = shared.resolve("findings");
        CriuFindings.own(folder).orElseThrow();
        Files.setAttribute(folder, "unix:uid", 65534, LinkOption.NOFOLLOW_LINKS);
        assertEquals(Optional.empty(), CriuFindings.own(folder));
    }

    /** No other CRIU would keep anything beside it. */
    @Test
    void whatAKilledCriuHasLeftIsRemovedOnceNoneCanBeAtIt() throws Exception {
        Path folder = CriuFindings.own(shared.resolve("findings")).orElseThrow();
        Path unfinished = Files.createFile(folder.resolve("criu.kdat.tmp"));
        CriuFindings.own(folder);
        assertTrue(Files.exists(unfinished), "one may be writing it");
        Files.setLastModifiedTime(unfinished, FileTime.from(Instant.now().minus(Duration.ofMinutes(2))));
        CriuFindings.own(folder);
        assertFalse(Files.exists(unfinished));
    }

    @Test
    void onlyTheProgramItselfSeesTheFolder() {
        List<String> command = new ArrayList<>(CriuFindings.prefix(shared));
        assumeTrue(!command.isEmpty(), "not needed on this host");
        command.addAll(List.of("stat", "-c", "%a", "/run"));
        assertEquals("700", HostTool.run(10, command).firstLine());
        assertFalse(HostTool.run(10, List.of("stat", "-c", "%a", "/run"))
                .firstLine()
                .equals("700"));
    }

    @Test
    void nothingIsHiddenThatCriuNeeds() {
        assertEquals(Optional.empty(), CriuFindings.folder(Path.of("/run/agent/preemptible"), List.of()));
        assertEquals(Optional.empty(), CriuFindings.folder(shared, List.of("/mnt", "/run/gone")));
    }
}
