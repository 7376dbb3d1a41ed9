package io.jenkins.plugins.preemptible.engine.freeze;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class FreezerKindTest {

    private static final String NAME = "preemptible-s1";
    private static final List<String> HYBRID = List.of(
            "23 27 0:22 / /sys rw,relatime - sysfs sysfs rw",
            "37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer",
            "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw");

    private static String location(FreezerKind kind, List<String> mounts, String... own) {
        return kind.of(NAME, mounts, List.of(own)).map(Freezer::location).orElse("none");
    }

    @Test
    void aStagesGroupIsInsideTheCallersOwn() {
        assertEquals(
                "v2:/sys/fs/cgroup/unified/preemptible-s1",
                location(FreezerKind.CGROUP_V2, HYBRID, "6:freezer:/", "0::/"));
        assertEquals(
                "v2:/sys/fs/cgroup/unified/system.slice/agent.service/preemptible-s1",
                location(FreezerKind.CGROUP_V2, HYBRID, "0::/system.slice/agent.service"));
        assertEquals(
                "v1:/sys/fs/cgroup/freezer/agents/preemptible-s1",
                location(FreezerKind.CGROUP_V1, HYBRID, "6:freezer:/agents", "0::/"));
        assertEquals("signals:", location(FreezerKind.SIGNALS, List.of()));
    }

    @Test
    void aContainersMountIsRelativeToItsRoot() {
        List<String> mounts = List.of("30 20 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw");
        assertEquals("v2:/sys/fs/cgroup/preemptible-s1", location(FreezerKind.CGROUP_V2, mounts, "0::/docker/abc"));
        assertEquals("v2:/sys/fs/cgroup/x/preemptible-s1", location(FreezerKind.CGROUP_V2, mounts, "0::/docker/abc/x"));
        List<String> own = List.of("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw");
        assertEquals("v2:/sys/fs/cgroup/preemptible-s1", location(FreezerKind.CGROUP_V2, own, "0::/../../other"));
    }

    @Test
    void withoutAHierarchyThereIsNone() {
        assertEquals("none", location(FreezerKind.CGROUP_V1, List.of(HYBRID.get(0)), "0::/"));
        assertEquals("none", location(FreezerKind.CGROUP_V2, HYBRID, "6:freezer:/"));
    }

    @Test
    void twoStagesOfOneIdNeverShareAGroup() throws Exception {
        assumeTrue(HostProcess.isRoot(), "only root makes control groups");
        StageId id = StageId.create("group");
        Freezer one = FreezerKind.create(id, null);
        Freezer other = FreezerKind.create(id, null);
        try {
            assertNotEquals(one.location(), other.location());
            assertEquals(
                    Set.of(one.location(), other.location()),
                    FreezerKind.left(id, null).stream().map(Freezer::location).collect(Collectors.toSet()));
            assertThrows(IOException.class, () -> FreezerKind.at(one.location()).create(), "it is there already");
        } finally {
            one.remove();
            other.remove();
        }
        assertTrue(FreezerKind.left(id, null).isEmpty());
    }

    @Test
    void aLocationIsReadAgain() {
        assertEquals("v1:/a/b", FreezerKind.at("v1:/a/b").location());
        assertTrue(FreezerKind.at("signals:").cgroup().isEmpty());
        assertThrows(IllegalArgumentException.class, () -> FreezerKind.at("v9:/a"));
    }
}
