package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A stage in a container may do what {@code docker exec} may do there, and nothing else: some hundred attempts end in the same way,
 * and the kernel tells the same rights, limits, mounts, groups and variables. The same again after a restore.
 */
@Tag("host")
class ContainedRightsTest {

    private static final List<String> MARKS = List.of("NAME=job");
    private static final int LEAST_ATTEMPTS = 95;
    private static final Path SOURCE =
            Path.of("src/test/resources/io/jenkins/plugins/preemptible/engine/container/attempts.c");
    private static final String RIGHTS = "(Uid|Gid|Groups|Cap\\w+|NoNewPrivs|Seccomp|Seccomp_filters|Umask):.*";

    private static Path compiled(StageBench bench) {
        assumeTrue(HostTool.find("gcc").isPresent(), "gcc is not installed");
        Path program = bench.work.resolve("attempts");
        HostTool.Answer answer =
                HostTool.run(120, List.of("gcc", "-O1", "-static", "-o", program.toString(), SOURCE.toString()));
        assertTrue(answer.ok(), answer::text);
        return program;
    }

    /** What it printed, in parts, without what differs between two processes of the same rights. */
    private static Map<String, Object> parts(String printed) {
        Map<String, Object> parts = new LinkedHashMap<>();
        for (String part : printed.split("(?m)^== ")) {
            String name =
                    parts.isEmpty() ? "attempts" : part.lines().findFirst().orElseThrow();
            List<String> lines = part.lines().skip(parts.isEmpty() ? 0 : 1).toList();
            parts.put(
                    name,
                    switch (name) {
                        case "/proc/self/status" ->
                            lines.stream().filter(line -> line.matches(RIGHTS)).toList();
                        case "/proc/self/mountinfo" ->
                            new TreeSet<>(lines.stream()
                                    .map(ContainedRightsTest::mount)
                                    .toList());
                        case "/proc/self/cgroup" ->
                            lines.stream()
                                    .map(line -> line.replaceAll("(?<=[^:])/preemptible-[^/]*$", "")
                                            .replaceAll("/preemptible-[^/]*$", "/"))
                                    .toList();
                        case "environ" -> new TreeSet<>(lines);
                        default -> lines;
                    });
        }
        return parts;
    }

    private static String mount(String line) {
        String[] sides = line.split(" - ");
        String[] left = sides[0].split(" ");
        return String.join(" ", left[4], left[3], left[5], sides[1].replace("devpts preemptible", "devpts devpts"));
    }

    private static Map<String, Object> inStage(StageBench bench, StageId id, Path program) throws Exception {
        EnterCommand.Contained enter = (EnterCommand.Contained) bench.engine.enterCommand(id);
        List<String> command = new ArrayList<>(enter.words("", List.of()));
        command.add(program.toString());
        HostTool.Answer answer = HostTool.run(60, command);
        assertTrue(answer.ok(), answer::text);
        return parts(answer.text());
    }

    private static StageId start(StageBench bench, ContainerRef container) {
        StageSpec spec = new StageSpec(StageId.create("test"), "test", bench.work, List.of(), null);
        return bench.engine.startIn(spec, container, MARKS).id();
    }

    private interface Trial {
        void of(StageBench bench, ContainerRef container, RealContainers real) throws Exception;
    }

    private static void with(String words, Trial trial) throws Exception {
        List<String> all = Arrays.asList(words.split(" "));
        try (RealContainers real = RealContainers.open(all.get(0));
                StageBench bench = StageBench.openForArchives()) {
            List<String> options = new ArrayList<>(List.of("-e", MARKS.get(0)));
            options.addAll(all.subList(1, all.size()));
            trial.of(bench, real.run(bench.work, options.toArray(String[]::new)), real);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "docker",
                "podman",
                "docker -u 1000:1000 --group-add 4000",
                "docker --cap-drop ALL",
                "docker -u 1000:1000 --security-opt no-new-privileges",
                "docker --security-opt seccomp=unconfined --cgroupns private",
                "docker --cap-add NET_ADMIN --ulimit nproc=500:600 --oom-score-adj 100 --read-only --pids-limit 200 -m 256m",
                "docker --security-opt systempaths=unconfined --device /dev/fuse",
                "docker --no-healthcheck"
            })
    void theSameAsWithTheContainersProgram(String words) throws Exception {
        with(words, (bench, container, real) -> {
            Path program = compiled(bench);
            HostTool.Answer answer = real.answer(container, program.toString());
            Map<String, Object> wanted = parts(answer.text());
            assertTrue(((List<?>) wanted.get("attempts")).size() >= LEAST_ATTEMPTS, answer::text);
            assertEquals(7, wanted.size(), answer::text);
            StageId id = start(bench, container);
            assertEquals(wanted, inStage(bench, id, program));
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            dumped(bench, id);
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(wanted, inStage(bench, id, program));
        });
    }

    private static void dumped(StageBench bench, StageId id) {
        try {
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
        } catch (SuspendFailedException e) {
            assumeTrue(e.reason() != FailureReason.OTHER_USER, "this host's root lacks CAP_SYS_RESOURCE");
            throw e;
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "docker --cap-add SYS_PTRACE",
                "docker --cap-add SYS_ADMIN",
                "docker --pid host",
                "docker -v /etc:/vol:ro -v /tmp:/vol/ssl",
                "docker --health-cmd id",
                "podman --health-cmd id"
            })
    void aContainerFromWhichTheAgentCouldBeReachedIsNotEntered(String words) throws Exception {
        with(words, (bench, container, real) -> {
            EngineException refusal = assertThrows(EngineException.class, () -> start(bench, container));
            assertEquals(FailureReason.CONTAINER_NOT_ENTERED, refusal.reason(), refusal::detail);
            assertEquals(List.of(), bench.engine.list());
            assertEquals("running", real.status(container));
        });
    }

    /** Whatever id a stage names. */
    @ParameterizedTest
    @ValueSource(strings = {"docker"})
    void aContainerOfAnotherBuildIsNotEntered(String program) throws Exception {
        with(program, (bench, container, real) -> {
            StageSpec spec = new StageSpec(StageId.create("test"), "test", bench.work, List.of(), null);
            EngineException refusal = assertThrows(
                    EngineException.class, () -> bench.engine.startIn(spec, container, List.of("NAME=other")));
            assertEquals(FailureReason.CONTAINER_NOT_ENTERED, refusal.reason());
            assertTrue(refusal.detail().contains("not started by the build"), refusal::detail);
        });
    }
}
