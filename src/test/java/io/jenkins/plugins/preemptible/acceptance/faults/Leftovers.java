package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.acceptance.HostProcesses;
import io.jenkins.plugins.preemptible.engine.Engine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a stage leaves behind when its build has ended: nothing.
 *
 * @param workspace by the path that its processes know
 * @param agents root folders of all agents on which it may have been, by the paths that this process knows
 */
record Leftovers(
        ControllerProcess controller, String job, int number, String stageId, Path workspace, List<Path> agents) {

    void awaitNone() {
        await("nothing of " + job + " #" + number + " (" + stageId + ") is left")
                .atMost(Duration.ofMinutes(2))
                .pollInterval(Duration.ofMillis(500))
                .untilAsserted(() -> {
                    // CRIU's own tests, where they run beside, copy all groups of the host there.
                    List<String> groups = HostProcesses.controlGroups(stageId).stream()
                            .filter(group -> !group.contains("/newroot/"))
                            .toList();
                    assertEquals(List.of(), groups, "control groups");
                    assertEquals(List.of(), HostProcesses.mentioning(stageId), "processes");
                    assertEquals(
                            List.of(), HostProcesses.mentioning(workspace.toString()), "processes in the workspace");
                    for (Path agent : agents) {
                        assertEquals(
                                List.of(),
                                Engine.open(agent.resolve("preemptible")).list().stream()
                                        .filter(id -> id.toString().contains(stageId))
                                        .toList(),
                                "the engine's stages");
                    }
                    try (Stream<String> mounts = Files.lines(Path.of("/proc/self/mountinfo"))) {
                        assertEquals(
                                List.of(),
                                mounts.filter(line -> line.contains(stageId)).toList(),
                                "mounts");
                    }
                    assertTrue(controller.stage(stageId).isEmpty(), "the controller's record");
                    assertEquals("[]", controller.ask(FaultJobs::artifacts, job, number), "artifacts");
                });
    }
}
