package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A process of a stage in a control group of another hierarchy, such as one that limits how many processes there are. */
@Tag("host")
class ControlGroupTest {

    private static final Path PIDS = Path.of("/sys/fs/cgroup/pids");
    private static final Duration SOON = Duration.ofSeconds(30);

    private final Path group =
            PIDS.resolve("preemptible-limits-" + ProcessHandle.current().pid());

    /** For the tests whose stage joins a group that is not its own. */
    private void makeGroup() throws IOException {
        assumeTrue(Files.isWritable(PIDS.resolve("tasks")), "this host has no pids controller of version 1");
        Files.createDirectory(group);
    }

    @AfterEach
    void remove() throws IOException {
        Files.deleteIfExists(group);
    }

    private StageId start(StageBench bench) throws IOException {
        StageId id = bench.script("(echo 0 > " + group + "/tasks; : > ready; exec sleep 1000) & wait")
                .id();
        StageBench.until("it to be in its group", SOON, () -> Files.exists(bench.work.resolve("ready")));
        return id;
    }

    private static List<String> members(Path group) throws IOException {
        return Files.readAllLines(group.resolve("tasks"));
    }

    @Test
    void theProcessIsInItsGroupAgain() throws Exception {
        makeGroup();
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            for (int cycle = 0; cycle < 2; cycle++) {
                bench.engine.suspend(id, bench.archive(id), bench.key);
                assertEquals(List.of(), members(group));
                assertEquals(
                        List.of(),
                        bench.engine.resume(bench.archive(id), bench.key).warnings());
                assertEquals(1, members(group).size());
                long member = Long.parseLong(members(group).get(0));
                assertEquals(List.of("sleep", "1000"), Proc.arguments(member));
                assertTrue(Proc.tree(bench.engine.status(id).initPid()).size() > 2, "the others are not in it");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = FreezerKind.class,
            names = {"CGROUP_V2", "CGROUP_V1"})
    void aGroupThatTheStageMadeBelowItsOwnGoesWithIt(FreezerKind freezer) throws Exception {
        try (StageBench bench = StageBench.openWith(freezer)) {
            StageId id = bench.script("sleep 1000").id();
            Path own = FreezerKind.left(id, freezer).get(0).cgroup().orElseThrow();
            Files.createDirectory(own.resolve("inner"));
            bench.engine.suspend(id, bench.archive(id), bench.key);
            assertFalse(Files.exists(own));
            bench.engine.resume(bench.archive(id), bench.key);
            own = FreezerKind.left(id, freezer).get(0).cgroup().orElseThrow();
            Files.createDirectories(own.resolve("inner/most"));
            bench.engine.kill(id);
            assertFalse(Files.exists(own));
        }
    }

    @Test
    void aGroupThatIsGoneIsTold() throws Exception {
        makeGroup();
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Files.delete(group);
            List<String> warnings =
                    bench.engine.resume(bench.archive(id), bench.key).warnings();
            assertEquals(1, warnings.size(), warnings::toString);
            assertTrue(
                    warnings.get(0).contains("sleep") && warnings.get(0).contains("pids:/" + group.getFileName()),
                    warnings::toString);
        }
    }
}
