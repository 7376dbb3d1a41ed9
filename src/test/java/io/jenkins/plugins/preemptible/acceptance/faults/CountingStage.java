package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.acceptance.HostProcesses;
import io.jenkins.plugins.preemptible.engine.Engine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A stage that counts, on the host and in the log of its build; what it leaves behind when it has ended. */
record CountingStage(FaultRig rig, String job, int number, AgentProcess agent, Path workspace, String stageId) {

    private static final Pattern COUNT = Pattern.compile("^(?:\\[\\w+] )?count-(\\d+)$", Pattern.MULTILINE);

    /** The numbers in the file of its workspace, empty as long as there is none. */
    List<Integer> counted() throws IOException {
        Path counted = workspace.resolve("counted");
        return Files.exists(counted)
                ? Files.readAllLines(counted).stream().map(Integer::valueOf).toList()
                : List.of();
    }

    /** The numbers in the log of its build. */
    List<Integer> console() throws IOException {
        Path log = rig.jenkinsHome()
                .resolve("jobs")
                .resolve(job)
                .resolve("builds")
                .resolve(Integer.toString(number))
                .resolve("log");
        return COUNT.matcher(Files.readString(log, StandardCharsets.UTF_8))
                .results()
                .map(line -> Integer.valueOf(line.group(1)))
                .toList();
    }

    void awaitNothingLeft() {
        await("nothing of " + this + " is left")
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
                    assertEquals(
                            List.of(),
                            Engine.open(agent.folder().resolve("preemptible")).list().stream()
                                    .filter(id -> id.toString().contains(stageId))
                                    .toList(),
                            "the engine's stages");
                    try (Stream<String> mounts = Files.lines(Path.of("/proc/self/mountinfo"))) {
                        assertEquals(
                                List.of(),
                                mounts.filter(line -> line.contains(stageId)).toList(),
                                "mounts");
                    }
                    assertTrue(rig.stage(stageId).isEmpty(), "the controller's record");
                    assertEquals("[]", rig.ask(FaultJobs::artifacts, job, number), "artifacts");
                });
    }

    @Override
    public String toString() {
        return job + " #" + number + " (" + stageId + ")";
    }
}
