package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Kind;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Parent;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Images that were sealed with the right key by somebody who means harm. */
class CraftedArchiveTest {

    private static final ImageKey KEY = ImageKey.generate();
    private static final EntryInfo A = CraftedArchive.info("a.img", "12345");
    private static final EntryInfo B = CraftedArchive.info("b.img", "12345");

    @TempDir
    Path folder;

    private Path archive;
    private Path target;

    @BeforeEach
    void names() {
        archive = folder.resolve("stage.image");
        target = folder.resolve("target");
    }

    private CraftedArchive crafted() {
        return new CraftedArchive(archive, KEY);
    }

    private void assertRefused(Reason... reasons) throws IOException {
        byte[] before = Files.readAllBytes(archive);
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
        assertTrue(List.of(reasons).contains(e.reason()), e.getMessage());
        assertThrows(ImageException.class, () -> ImageArchive.inspect(archive, KEY));
        assertFalse(Files.exists(target));
        assertArrayEquals(before, Files.readAllBytes(archive));
        assertFalse(Files.exists(folder.resolve("evil")));
    }

    @Test
    void aWellMadeOneIsRead() throws Exception {
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A, B).file("a.img", "12345").file("b.img", "12345").seal(2, 10);
        }
        assertEquals(10, ImageArchive.read(archive, KEY, target).imageBytes());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/etc/cron.d/evil",
                "../evil",
                "..",
                "dir/file",
                "a/../../evil",
                ".hidden",
                "",
                "back\\slash",
                "new\nline",
                "tab\tname",
                "manifest.json",
                "seal.json",
                "references.bin",
                "preserved",
                "preserved/0",
                "umlaut-ü"
            })
    void anUnsafeNameIsRefused(String name) throws Exception {
        try (CraftedArchive crafted = crafted()) {
            EntryInfo bad = new EntryInfo(name, 5, A.sha256(), 0, 5);
            crafted.manifest(A, bad).file("a.img", "12345").file(name, "12345").seal(2, 10);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }

    @ParameterizedTest
    @CsvSource({
        "symlink,50",
        "hard link,49",
        "character device,51",
        "block device,52",
        "folder,53",
        "fifo,54",
        "old sparse,83"
    })
    void whatIsNoPlainFileIsRefused(String what, byte type) throws Exception {
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(CraftedArchive.info("a.img", ""))
                    .special("a.img", type, "/etc/passwd")
                    .seal(1, 0);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }

    @Test
    void entriesTwiceInAnotherOrderMissingAndAdditionalAreRefused() throws Exception {
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A, A).file("a.img", "12345").file("a.img", "12345").seal(2, 10);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A, B).file("b.img", "12345").file("a.img", "12345").seal(2, 10);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A, B).file("a.img", "12345").seal(2, 10);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).file("a.img", "12345").file("b.img", "12345").seal(2, 10);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).file("a.img", "12345").seal(1, 5).file("b.img", "");
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).file("a.img", "12345");
        }
        assertRefused(Reason.TRUNCATED);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).file("a.img", "12345").seal(2, 5);
        }
        assertRefused(Reason.TRUNCATED);
        try (CraftedArchive crafted = crafted()) {
            crafted.file("a.img", "12345").seal(1, 5);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(new EntryInfo[0]).seal(0, 0);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }

    @Test
    void otherContentThanPromisedIsRefused() throws Exception {
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).file("a.img", "12346").seal(1, 5);
        }
        assertRefused(Reason.BAD_CONTENT);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).file("a.img", "123456").seal(1, 6);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }

    @Test
    void anotherManifestThanTheSealedOneIsRefused() throws Exception {
        byte[] manifest = ArchiveFormat.json().writeValueAsBytes(CraftedArchive.saying(null, A));
        byte[] other = new String(manifest, StandardCharsets.UTF_8)
                .replace("\"processes\":1", "\"processes\":2")
                .getBytes(StandardCharsets.UTF_8);
        try (CraftedArchive crafted = crafted()) {
            crafted.raw(ArchiveFormat.MANIFEST, other).file("a.img", "12345");
            crafted.raw(
                    ArchiveFormat.SEAL,
                    ArchiveFormat.json()
                            .writeValueAsBytes(new ArchiveFormat.Seal(
                                    CraftedArchive.ID,
                                    1,
                                    5,
                                    ArchiveFormat.hex(BlockHash.sha256().digest(manifest)))));
        }
        assertRefused(Reason.TRUNCATED);
    }

    @Test
    void paxGnuAndSparseTricksAreRefused() throws Exception {
        for (Map<String, String> pax : List.of(
                Map.of("path", "../evil"),
                Map.of("size", "99999999999"),
                Map.of("GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.realsize", "1000000000000"),
                Map.of("linkpath", "/etc/passwd"),
                Map.of("comment", "x"))) {
            StringBuilder records = new StringBuilder();
            for (Map.Entry<String, String> each : pax.entrySet()) {
                String body = " " + each.getKey() + "=" + each.getValue() + "\n";
                records.append(body.length() + 2).append(body);
            }
            for (byte type : new byte[] {'x', 'L', 'K', 'X'}) {
                TarArchiveEntry extension = new TarArchiveEntry("a.img", type, true);
                extension.setSize(records.length());
                try (CraftedArchive crafted = crafted()) {
                    crafted.manifest(A).entry(extension, records.toString().getBytes());
                    crafted.file("a.img", "12345").seal(1, 5);
                }
                assertRefused(Reason.UNSAFE_ENTRY);
            }
        }
    }

    @Test
    void headersThatAreNearlyRightAreRefused() throws Exception {
        List<TarArchiveEntry> nearly = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            nearly.add(CraftedArchive.plain("a.img", 5));
        }
        nearly.get(0).setMode(04755);
        nearly.get(1).setIds(1000, 0);
        nearly.get(2).setModTime(1000L);
        nearly.get(3).setUserName("root");
        nearly.get(4).setLinkName("/etc/passwd");
        for (TarArchiveEntry each : nearly) {
            try (CraftedArchive crafted = crafted()) {
                crafted.manifest(A).entry(each, "12345".getBytes()).seal(1, 5);
            }
            assertRefused(Reason.UNSAFE_ENTRY);
        }
    }

    @Test
    void hugeSizesAreRefusedBeforeTheyCost() throws Exception {
        for (long size : new long[] {Long.MAX_VALUE, -1, 1L << 50}) {
            try (CraftedArchive crafted = crafted()) {
                crafted.manifest(new EntryInfo("a.img", size, A.sha256(), 0, size))
                        .file("a.img", "12345")
                        .seal(1, 5);
            }
            assertRefused(Reason.UNSAFE_ENTRY, Reason.NO_SPACE);
        }
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(
                    new EntryInfo("a.img", Long.MAX_VALUE, A.sha256(), 0, Long.MAX_VALUE),
                    new EntryInfo("b.img", Long.MAX_VALUE, A.sha256(), 0, Long.MAX_VALUE));
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }

    @Test
    void bombsAreRefused() throws Exception {
        byte[] zeros = new byte[16 << 20];
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(A).raw("a.img", zeros).seal(1, zeros.length);
        }
        assertTrue(Files.size(archive) < 20_000);
        assertRefused(Reason.UNSAFE_ENTRY);
        byte[] tar;
        try (CraftedArchive crafted = new CraftedArchive(folder.resolve("other"), KEY)) {
            crafted.manifest(A).file("a.img", "12345").seal(1, 5);
            tar = concat(crafted.blocks());
        }
        Files.write(archive, CraftedArchive.seal(KEY, CraftedArchive.zstd(Arrays.copyOf(tar, 16 << 20))));
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.raw(ArchiveFormat.MANIFEST, new byte[ArchiveFormat.LARGEST_JSON + 1]);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest("[".repeat(1_000_000).getBytes());
        }
        assertRefused(Reason.WRONG_KEY_OR_TAMPERED);
        Files.write(archive, CraftedArchive.seal(KEY, "no zstd at all, but long enough to be looked at".getBytes()));
        assertRefused(Reason.WRONG_KEY_OR_TAMPERED);
    }

    private static byte[] concat(List<byte[]> blocks) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] each : blocks) {
            all.write(each);
        }
        return all.toByteArray();
    }

    static Stream<int[]> badRuns() {
        return Stream.of(
                new int[] {0, 1},
                new int[] {-1, 1},
                new int[] {1, -1},
                new int[] {2, 1},
                new int[] {1, 0},
                new int[] {Integer.MAX_VALUE, 1},
                new int[] {1, Integer.MAX_VALUE});
    }

    @ParameterizedTest
    @MethodSource("badRuns")
    void referencesThatAWriterWouldNotMakeAreRefused(int[] run) throws Exception {
        ByteArrayOutputStream references = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(references);
        for (int each : run) {
            out.writeInt(each);
        }
        Path parent = folder.resolve("full.image");
        try (CraftedArchive full = new CraftedArchive(parent, KEY)) {
            full.manifest(A).file("a.img", "12345").seal(1, 5);
        }
        try (CraftedArchive crafted = crafted()) {
            Parent named = new Parent("f".repeat(32), "full.image");
            crafted.manifest(CraftedArchive.saying(named, new EntryInfo("a.img", 5, A.sha256(), 1, 0)))
                    .raw(ArchiveFormat.REFERENCES, references.toByteArray())
                    .file("a.img", "")
                    .seal(2, 8);
        }
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(archive, KEY, target));
        assertTrue(List.of(Reason.UNSAFE_ENTRY, Reason.PARENT_UNUSABLE).contains(e.reason()), e.getMessage());
        assertFalse(Files.exists(target));
    }

    @ParameterizedTest
    @ValueSource(strings = {"../full.image", "/etc/passwd", "..", ".", "", "a/b"})
    void aParentElsewhereIsRefused(String file) throws Exception {
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(CraftedArchive.saying(new Parent("f".repeat(32), file), A))
                    .raw(ArchiveFormat.REFERENCES, new byte[0])
                    .file("a.img", "12345")
                    .seal(2, 5);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }

    private static PreservedFile file(String path, Kind kind, String link) {
        return new PreservedFile(0, path, kind, 0644, 0, 0, 0, 0, link);
    }

    static Stream<List<Object>> badPreserved() {
        PreservedFile root = file("", Kind.FOLDER, null);
        return Stream.of(
                List.of("/w", root, file("../evil", Kind.SYMLINK, "x")),
                List.of("/w", root, file("a/../../evil", Kind.SYMLINK, "x")),
                List.of("/w", root, file("/etc/evil", Kind.SYMLINK, "x")),
                List.of("/w", root, file("a//b", Kind.SYMLINK, "x")),
                List.of("/w", root, file("below/file", Kind.SYMLINK, "x")),
                List.of("/w", root, file("link", Kind.SYMLINK, "/etc"), file("link/evil", Kind.SYMLINK, "x")),
                List.of("/w", root, file("a", Kind.SYMLINK, "x"), file("a", Kind.FOLDER, null)),
                List.of("/w", root, file("a", Kind.SYMLINK, null)),
                List.of("/w", root, file("a", Kind.SYMLINK, "x\0y")),
                List.of("/w", root, file("a", Kind.HARDLINK, "0")),
                List.of("/w", root, file("a", Kind.HARDLINK, "7")),
                List.of("/w", root, file("a", Kind.HARDLINK, "/etc/passwd")),
                List.of("/w", root, file("a", Kind.FILE, null)),
                List.of("/w", root, new PreservedFile(1, "a", Kind.FIFO, 0, 0, 0, 0, 0, null)),
                List.of("/w", root, new PreservedFile(0, "a", Kind.FIFO, 0100000, 0, 0, 0, 0, null)),
                List.of("/w", root, new PreservedFile(0, "a", Kind.FIFO, 0, 0, 0, 0, -1, null)),
                List.of("/w", file("a", Kind.FIFO, null)),
                List.of("/", root),
                List.of("w", root),
                List.of("/w/../etc", root),
                List.of("/w/", root),
                List.of("//w", root));
    }

    @ParameterizedTest
    @MethodSource("badPreserved")
    void unsafePreservedPathsAreRefused(List<Object> bad) throws Exception {
        List<PreservedFile> files =
                bad.stream().skip(1).map(PreservedFile.class::cast).toList();
        try (CraftedArchive crafted = crafted()) {
            crafted.manifest(CraftedArchive.saying(null, List.of((String) bad.get(0)), files, A))
                    .file("a.img", "12345")
                    .seal(1, 5);
        }
        assertRefused(Reason.UNSAFE_ENTRY);
    }
}
