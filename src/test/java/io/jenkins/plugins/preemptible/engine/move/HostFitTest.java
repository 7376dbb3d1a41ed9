package io.jenkins.plugins.preemptible.engine.move;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostFitTest {

    private static final StageNeeds NEEDS = new StageNeeds(100 << 20, 200 << 20, Map.of("/bin/sh", "ab12"));
    private static final HostTraits OWN = host("one");

    @TempDir
    Path folder;

    private static HostTraits host(String token) {
        return new HostTraits(
                "/home/agent",
                token,
                true,
                "model",
                List.of("fpu", "avx2"),
                "6.1.0",
                "x86_64",
                "4.2.1",
                List.of("/", "/home"),
                1L << 30,
                1L << 30,
                Map.of("/bin/sh", "ab12"));
    }

    private static List<MoveObstacle> found(HostTraits own, HostTraits other, StageNeeds needs) {
        return HostFit.misfits(own, other, needs).stream().map(Misfit::obstacle).toList();
    }

    @Test
    void anEqualHostFits() {
        assertEquals(List.of(), HostFit.misfits(OWN, host("two"), NEEDS));
    }

    @Test
    void aHostWhoseAgentIsUnknownFitsByAnotherName() {
        assertEquals(List.of(), found(OWN.ofNoAgent(), OWN, NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_KERNEL),
                found(
                        OWN.ofNoAgent(),
                        with(OWN, OWN.folder(), true, OWN.cpuFeatures(), "6.2.0", "x86_64", "4.2.1"),
                        NEEDS));
    }

    @Test
    void eachDifferenceHasItsOwnConstant() {
        HostTraits h = host("two");
        assertEquals(List.of(MoveObstacle.SAME_FOLDER), found(OWN, OWN, NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_FOLDER),
                found(OWN, with(h, "/srv/agent", true, h.cpuFeatures(), "6.1.0", "x86_64", "4.2.1"), NEEDS));
        assertEquals(
                List.of(MoveObstacle.NOT_ROOT),
                found(OWN, with(h, h.folder(), false, h.cpuFeatures(), "6.1.0", "x86_64", "4.2.1"), NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_PROCESSOR),
                found(OWN, with(h, h.folder(), true, List.of("fpu"), "6.1.0", "x86_64", "4.2.1"), NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_KERNEL),
                found(OWN, with(h, h.folder(), true, h.cpuFeatures(), "6.2.0", "x86_64", "4.2.1"), NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_ARCHITECTURE),
                found(OWN, with(h, h.folder(), true, h.cpuFeatures(), "6.1.0", "aarch64", "4.2.1"), NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_CRIU),
                found(OWN, with(h, h.folder(), true, h.cpuFeatures(), "6.1.0", "x86_64", "4.1"), NEEDS));
        assertEquals(
                List.of(MoveObstacle.NO_CRIU),
                found(OWN, with(h, h.folder(), true, h.cpuFeatures(), "6.1.0", "x86_64", ""), NEEDS));
        assertEquals(
                List.of(MoveObstacle.OTHER_FILES),
                found(OWN, h, new StageNeeds(0, 0, Map.of("/bin/sh", "cd34", "/lib/no", "1"))));
        assertEquals(
                List.of(new Misfit(MoveObstacle.OTHER_FILES, "/bin/sh (could not be read)")),
                HostFit.misfits(OWN, h, new StageNeeds(0, 0, Map.of("/bin/sh", ""))));
        assertEquals(List.of(MoveObstacle.MEMORY_SHORT), found(OWN, h, new StageNeeds(2L << 30, -1, Map.of())));
        assertEquals(List.of(MoveObstacle.DISK_FULL), found(OWN, h, new StageNeeds(-1, 2L << 30, Map.of())));
    }

    @Test
    void theSameIdHasTheSameNameOrNone() {
        Map<String, String> own = Map.of("1000", "jenkins", "1001", "");
        StageNeeds needs = new StageNeeds(0, 0, Map.of(), own);
        assertEquals(List.of(), found(OWN, withUsers(own), needs));
        assertEquals(
                List.of(new Misfit(MoveObstacle.OTHER_USERS, "1000 is jenkins and alice, 1001 is nobody's and bob")),
                HostFit.misfits(OWN, withUsers(Map.of("1000", "alice", "1001", "bob")), needs));
        assertEquals(List.of(MoveObstacle.OTHER_USERS), found(OWN, withUsers(Map.of("1000", "", "1001", "")), needs));
        // Not found out there, or not known of a stage that was sealed before.
        assertEquals(List.of(), found(OWN, host("two"), needs));
        assertEquals(List.of(), found(OWN, withUsers(own), new StageNeeds(0, 0, Map.of())));
    }

    /** In records of stages, which other versions have written or will read. */
    @Test
    void aFieldThatIsMissingOrUnknownIsNoMatter() throws Exception {
        ObjectMapper json = new ObjectMapper();
        String old = json.writeValueAsString(OWN);
        assertFalse(old.contains("users"), old);
        assertEquals(OWN, json.readValue(old, HostTraits.class));
        assertEquals(OWN, json.readValue(old.replaceFirst("\\{", "{\"later\":[1],"), HostTraits.class));
        HostTraits asked = withUsers(Map.of("7", "lp"));
        assertEquals(asked, json.readValue(json.writeValueAsString(asked), HostTraits.class));
        HostFingerprint image = ArchiveFormat.json().readValue("{\"kernel\":\"6.1.0\"}", HostFingerprint.class);
        assertEquals(Map.of(), image.users());
        assertEquals(
                Map.of("7", "lp"),
                ArchiveFormat.json()
                        .readValue("{\"users\":{\"7\":\"lp\"}}", HostFingerprint.class)
                        .users());
    }

    private static HostTraits withUsers(Map<String, String> users) {
        HostTraits h = host("two");
        return new HostTraits(
                h.folder(),
                h.token(),
                true,
                "",
                h.cpuFeatures(),
                h.kernel(),
                h.arch(),
                h.criu(),
                h.mounts(),
                h.freeMemoryBytes(),
                h.freeDiskBytes(),
                h.buildIds(),
                users);
    }

    private static HostTraits with(
            HostTraits h, String root, boolean isRoot, List<String> features, String kernel, String arch, String criu) {
        return new HostTraits(
                root,
                h.token(),
                isRoot,
                "another model",
                features,
                kernel,
                arch,
                criu,
                h.mounts(),
                h.freeMemoryBytes(),
                h.freeDiskBytes(),
                h.buildIds());
    }

    @Test
    void aMountThatOnlyTheOtherHasDoesNotFit() {
        HostTraits other = new HostTraits(
                "/home/agent",
                "two",
                true,
                "",
                OWN.cpuFeatures(),
                "6.1.0",
                "x86_64",
                "4.2.1",
                List.of("/", "/home/agent"),
                1L << 30,
                1L << 30,
                OWN.buildIds());
        assertEquals(List.of(MoveObstacle.OTHER_MOUNTS), found(OWN, other, NEEDS));
        assertEquals(
                List.of(),
                found(other, host("one"), NEEDS).stream()
                        .filter(o -> o != MoveObstacle.OTHER_MOUNTS)
                        .toList());
    }

    /** Of which nothing is known, nothing is trusted. */
    @Test
    void anEmptyAnswerFitsNothing() {
        HostTraits nothing = new HostTraits(null, null, false, null, null, null, null, null, null, -5, -5, null);
        assertTrue(found(OWN, nothing, NEEDS)
                .containsAll(List.of(
                        MoveObstacle.OTHER_FOLDER,
                        MoveObstacle.NOT_ROOT,
                        MoveObstacle.NO_CRIU,
                        MoveObstacle.OTHER_KERNEL,
                        MoveObstacle.MEMORY_SHORT)));
        assertTrue(found(nothing, OWN, NEEDS).contains(MoveObstacle.SAME_FOLDER));
        assertEquals(0, nothing.freeDiskBytes());
    }

    @Test
    void theSentenceHasWhatWasFound() {
        assertEquals(
                "The agents' kernels are different releases (6.1.0 and 6.2.0).",
                new Misfit(MoveObstacle.OTHER_KERNEL, "6.1.0 and 6.2.0").sentence());
        assertTrue(
                Arrays.stream(MoveObstacle.values()).allMatch(o -> o.sentence().endsWith(".")));
    }

    @Test
    void twoPathsOfOneFolderAreToldByItsToken() throws Exception {
        Path home = folder.resolve("agent/preemptible");
        HostTraits first = HostTraits.read(home, null, List.of("/bin/sh", "/no/such/file"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("agent"));
        HostTraits second = HostTraits.read(link.resolve("preemptible"), null, List.of());
        HostTraits other = HostTraits.read(folder.resolve("other/preemptible"), null, List.of());
        assertEquals(first.token(), second.token());
        assertNotEquals(first.token(), other.token());
        assertFalse(first.token().isEmpty());
        assertTrue(found(first, second, NEEDS).contains(MoveObstacle.SAME_FOLDER));
        assertFalse(found(first, other, NEEDS).contains(MoveObstacle.SAME_FOLDER));
        assertEquals(folder.resolve("agent").toString(), first.folder());
        assertTrue(first.mounts().contains("/"));
        assertTrue(first.freeDiskBytes() > 0 && first.freeMemoryBytes() > 0);
        assertEquals("", first.criu(), "no images are made there");
        assertEquals(
                "", HostTraits.read(home, new CriuSearch(List.of()), List.of()).criu());
    }

    @Test
    void onlyMountsOnTheWayCount() {
        List<String> info = List.of(
                "1 0 8:1 / / rw - ext4 /dev/a rw",
                "2 1 8:2 / /home rw - ext4 /dev/b rw",
                "3 1 8:2 / /home/agent/x rw - ext4 /dev/b rw",
                "4 1 8:2 / /homes rw - ext4 /dev/b rw");
        assertEquals(List.of("/", "/home"), HostTraits.mountsAbove(Path.of("/home/agent"), info));
    }
}
