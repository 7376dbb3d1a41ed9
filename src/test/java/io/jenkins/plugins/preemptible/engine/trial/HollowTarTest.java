package io.jenkins.plugins.preemptible.engine.trial;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What GNU tar makes of a hollow tar, against what it makes of the whole one. */
class HollowTarTest {

    @TempDir
    Path folder;

    private static void tar(String... words) {
        List<String> command = new java.util.ArrayList<>(List.of("tar"));
        command.addAll(List.of(words));
        HostTool.Answer answer = HostTool.run(60, command);
        assertTrue(answer.ok(), answer::text);
    }

    private static Map<String, String> seen(Path root, TimeUnit precision) throws Exception {
        Map<String, String> seen = new TreeMap<>();
        try (var all = Files.walk(root)) {
            for (Path each : all.toList()) {
                Map<String, Object> told =
                        Files.readAttributes(each, "unix:mode,nlink,size,lastModifiedTime", LinkOption.NOFOLLOW_LINKS);
                told = new TreeMap<>(told);
                told.put("lastModifiedTime", ((FileTime) told.get("lastModifiedTime")).to(precision));
                if (Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS)) {
                    told = Map.of("mode", told.get("mode"));
                }
                seen.put(root.relativize(each).toString(), told.toString());
            }
        }
        return seen;
    }

    // GNU tar's own format knows whole seconds.
    @ParameterizedTest
    @CsvSource({"gnu, SECONDS", "posix, NANOSECONDS"})
    void filesKeepSizesModesTimesAndLinksAndLoseTheirContent(String format, TimeUnit precision) throws Exception {
        assumeTrue(HostTool.find("tar").isPresent(), "tar is not installed");
        Path from = Files.createDirectory(folder.resolve("from"));
        byte[] random = new byte[3_000_000];
        new Random(1).nextBytes(random);
        Files.write(from.resolve("large"), random);
        Files.setPosixFilePermissions(from.resolve("large"), PosixFilePermissions.fromString("rw-r-----"));
        Files.createLink(from.resolve("name"), from.resolve("large"));
        Files.createSymbolicLink(from.resolve("link"), Path.of("large"));
        Path program = Files.write(from.resolve("program"), random);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.writeString(from.resolve("small"), "small");
        Path deep = Files.createDirectories(from.resolve("n".repeat(120)).resolve("m".repeat(120)));
        Files.write(deep.resolve("large"), random);
        try (RandomAccessFile sparse =
                new RandomAccessFile(from.resolve("sparse").toFile(), "rw")) {
            // More pieces than one header has room for, and a hole at the end.
            for (int i = 0; i < 40; i++) {
                sparse.seek(i * 1_000_000L);
                sparse.write(random, 0, 10_000);
            }
            sparse.setLength(1L << 30);
        }
        Path whole = folder.resolve("whole.tar");
        tar(
                "--create",
                "--format=" + format,
                "--no-unquote",
                "--no-wildcards",
                "--one-file-system",
                "--check-links",
                "--preserve-permissions",
                "--sparse",
                "--numeric-owner",
                "--file",
                whole.toString(),
                "--directory",
                from.toString(),
                ".");
        Path hollow = folder.resolve("hollow.tar");
        assertTrue(HollowTar.make(whole, hollow));
        assertTrue(
                Files.size(hollow) < 3_200_000,
                () -> "the program alone is left, not " + hollow.toFile().length());
        Path to = Files.createDirectory(folder.resolve("to"));
        tar("--extract", "--no-unquote", "--no-wildcards", "--file", hollow.toString(), "--directory", to.toString());
        assertEquals(seen(from, precision), seen(to, precision));
        assertArrayEquals(random, Files.readAllBytes(to.resolve("program")));
        assertEquals("small", Files.readString(to.resolve("small")));
        assertArrayEquals(new byte[random.length], Files.readAllBytes(to.resolve("large")));
    }

    @Test
    void whatIsNoTarOfThatKindIsLeftAlone() throws Exception {
        Path hollow = folder.resolve("hollow");
        for (byte[] content :
                List.of(new byte[0], new byte[100], "not a tar".repeat(1000).getBytes())) {
            Path other = Files.write(folder.resolve("other"), content);
            assertFalse(HollowTar.make(other, hollow));
            assertFalse(Files.exists(hollow));
        }
    }
}
