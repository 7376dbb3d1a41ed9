package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TarOptionsTest {

    private static final FileTime TIME = FileTime.from(Instant.ofEpochSecond(1_700_000_000, 987_654_321));

    @TempDir
    Path folder;

    private Path data;
    private Path archive;

    @BeforeEach
    void data() throws IOException {
        Path tar = HostTool.find("tar").orElse(null);
        assumeTrue(tar != null && TarOptions.knows(tar), "a GNU tar with --xattrs is needed");
        data = Files.writeString(Files.createDirectory(folder.resolve("data")).resolve("file"), "content");
        archive = folder.resolve("made.tar.gz");
        assumeTrue(
                Files.getFileStore(data).supportsFileAttributeView(UserDefinedFileAttributeView.class),
                "a file system with extended attributes is needed");
        attributes().write("k", ByteBuffer.wrap("v".getBytes()));
        Files.setLastModifiedTime(data, TIME);
    }

    private UserDefinedFileAttributeView attributes() {
        return Files.getFileAttributeView(data, UserDefinedFileAttributeView.class);
    }

    private void tar(Map<String, String> environment, String... words) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), said);
    }

    // As CRIU's tmpfs_dump and tmpfs_restore call it.
    private void create(Map<String, String> environment) throws Exception {
        tar(
                environment,
                "tar",
                "--create",
                "--gzip",
                "--no-unquote",
                "--no-wildcards",
                "--one-file-system",
                "--check-links",
                "--preserve-permissions",
                "--sparse",
                "--numeric-owner",
                "--file",
                archive.toString(),
                "--directory",
                data.getParent().toString(),
                ".");
        Files.delete(data);
    }

    private void extract(Map<String, String> environment) throws Exception {
        tar(
                environment,
                "tar",
                "--extract",
                "--gzip",
                "--no-unquote",
                "--no-wildcards",
                "--file",
                archive.toString(),
                "--directory",
                data.getParent().toString());
    }

    private static Map<String, String> forDump() {
        Map<String, String> environment = new HashMap<>();
        TarOptions.useForDump(environment);
        return environment;
    }

    private static Map<String, String> forRestore() {
        Map<String, String> environment = new HashMap<>(Map.of(TarOptions.VARIABLE, "--exclude=file"));
        TarOptions.useForRestore(environment);
        return environment;
    }

    @Test
    void timesAndAttributesComeBack() throws Exception {
        create(forDump());
        extract(forRestore());
        assertEquals("content", Files.readString(data));
        assertEquals(TIME, Files.getLastModifiedTime(data));
        assertEquals(List.of("k"), attributes().list());
    }

    @Test
    void anArchiveOfTheOldFormatIsUnpacked() throws Exception {
        create(Map.of());
        extract(forRestore());
        assertEquals("content", Files.readString(data));
        assertEquals(
                TIME.toInstant().getEpochSecond(),
                Files.getLastModifiedTime(data).toInstant().getEpochSecond());
    }

    @Test
    void anotherTarIsLeftAlone() throws Exception {
        Path other = Files.writeString(folder.resolve("tar"), "#!/bin/sh\necho 'bsdtar 3.6'\n");
        Files.setPosixFilePermissions(other, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertFalse(TarOptions.knows(other));
        Files.writeString(other, "#!/bin/sh\necho 'tar (GNU tar) 1.26'\necho 'unrecognized option' >&2\nexit 2\n");
        assertFalse(TarOptions.knows(other));
    }
}
