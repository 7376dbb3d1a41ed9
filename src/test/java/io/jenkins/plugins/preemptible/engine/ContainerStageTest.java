package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.cli.Preempt;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.container.StageContainers;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stages whose steps run in a real container of Docker or Podman, frozen with it. */
@Tag("host")
class ContainerStageTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final FreezeRequest NOT_ALLOWED = new FreezeRequest(DumpGuard.NONE, 0);
    private static final FreezeRequest ALLOWED = NOT_ALLOWED.orFrozenOnly(1L << 40);

    /** With what is special in templates and in shells, and beyond ASCII. */
    private static final List<String> MARKS = List.of("NAME=a/b c\"{{.Id}}'\u00fc\ud83d\ude00\\", "NUMBER=1");

    /** By a file: the arguments of a program depend on the locale of this process. */
    private static String[] started(StageBench bench) throws IOException {
        return new String[] {
            "--env-file", Files.write(bench.folder.resolve("variables"), MARKS).toString()
        };
    }

    private record Contained(StageBench bench, RealContainers real, StageId id, ContainerRef container) {

        Path lines(String name) {
            return bench.work.resolve(name);
        }

        void count(String name) {
            real.exec(container, "while true; do echo line >> " + name + "; sleep 0.02; done");
            grows(name);
        }

        void grows(String name) {
            long before = StageBench.lines(lines(name));
            StageBench.until(name + " grows", SOON, () -> StageBench.lines(lines(name)) > before + 3);
        }

        boolean runs(String name) {
            return Proc.all().stream()
                    .anyMatch(p -> !p.zombie()
                            && Proc.commandLine(p.pid()).contains("echo line >> " + name)
                            && Proc.lines(Path.of("/proc", Long.toString(p.pid()), "cgroup")).stream()
                                    .anyMatch(l -> l.contains(container.id())));
        }

        void told() {
            bench.engine.tellContainers(id, List.of(container), MARKS);
        }
    }

    private interface Trial {
        void of(Contained contained) throws Exception;
    }

    /** @param around whether the container is there before the stage */
    private static void with(String program, boolean around, Trial trial) throws Exception {
        // The containers end first: what runs in them writes into the bench's folder.
        try (StageBench bench = StageBench.open();
                RealContainers real = RealContainers.open(program)) {
            ContainerRef before = around ? real.run(bench.work, started(bench)) : null;
            if (around) {
                real.exec(before, "set -e; while true; do echo line >> older; sleep 0.02; done");
                StageBench.until("older", SOON, () -> StageBench.lines(bench.work.resolve("older")) > 0);
            }
            StageId id = bench.script("sleep 1000").id();
            trial.of(new Contained(bench, real, id, around ? before : real.run(bench.work, started(bench))));
        }
    }

    private static FailureReason refused(Contained c, FreezeRequest request) {
        FailureReason reason = assertThrows(SuspendFailedException.class, () -> c.bench.engine.freeze(c.id, request))
                .reason();
        assertEquals(State.RUNNING, c.bench.engine.status(c.id).state());
        assertEquals("running", c.real.status(c.container));
        return reason;
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void frozenHeldAndResumed(String program) throws Exception {
        with(program, false, c -> {
            Engine engine = c.bench.engine;
            c.count("counted");
            c.told();
            assertEquals(
                    List.of(FailureReason.CONTAINER),
                    engine.preflight(c.id).ties().stream().map(o -> o.reason()).toList());
            assertTrue(engine.containedBytes(c.id) > 0);
            assertEquals(FailureReason.CONTAINER, refused(c, NOT_ALLOWED));
            assertEquals(FailureReason.FROZEN_SHARE, refused(c, NOT_ALLOWED.orFrozenOnly(1)));
            Frozen frozen = engine.freeze(c.id, ALLOWED);
            assertTrue(frozen.memoryOnly());
            assertTrue(frozen.ties().get(0).contains(c.container.id().substring(0, 12)), frozen::toString);
            assertTrue(frozen.processes() >= 4, frozen::toString);
            assertEquals("paused", c.real.status(c.container));
            long stands = StageBench.lines(c.lines("counted"));
            engine.freeze(c.id, FreezeRequest.ofSuspended());
            assertEquals(
                    FailureReason.CONTAINER,
                    assertThrows(
                                    EngineException.class,
                                    () -> engine.dump(
                                            c.id, c.bench.archive(c.id), c.bench.key, IfDumpFails.STAY_FROZEN))
                            .reason());
            assertEquals(State.SUSPENDING, engine.status(c.id).state());
            assertEquals(stands, StageBench.lines(c.lines("counted")));
            assertEquals(Tier.FROZEN, engine.resumeHere(c.id).orElseThrow().tier());
            assertEquals("running", c.real.status(c.container));
            c.grows("counted");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    @Tag("slow")
    void anObjectionLetsItRun(String program) throws Exception {
        with(program, false, c -> {
            c.told();
            DumpGuard objects = id -> {
                assertEquals("paused", c.real.status(c.container));
                return Optional.of("a step has ended");
            };
            assertEquals(FailureReason.OBJECTION, refused(c, new FreezeRequest(objects, 0).orFrozenOnly(1L << 40)));
            c.bench.engine.freeze(c.id, ALLOWED);
            c.bench.engine.thaw(c.id);
            assertEquals("running", c.real.status(c.container));
        });
    }

    /** What the stage started ends without running again; what was there before runs on. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    @Tag("slow")
    void killedInAContainerThatWasThereBefore(String program) throws Exception {
        with(program, true, c -> {
            c.count("counted");
            c.told();
            c.bench.engine.freeze(c.id, ALLOWED);
            long stands = StageBench.lines(c.lines("counted"));
            c.bench.engine.kill(c.id);
            assertEquals("running", c.real.status(c.container));
            assertFalse(c.runs("counted"));
            assertEquals(stands, StageBench.lines(c.lines("counted")));
            c.grows("older");
            c.bench.engine.forget(c.id);
            assertEquals(List.of(), c.bench.engine.containersOf(c.id));
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void killedInAContainerOfItsOwn(String program) throws Exception {
        with(program, false, c -> {
            c.count("counted");
            c.told();
            c.bench.engine.freeze(c.id, ALLOWED);
            c.bench.engine.kill(c.id);
            assertFalse(c.runs("counted"));
            assertFalse(c.real.exists(c.container));
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    @Tag("slow")
    void aStepThatIsAbortedInIt(String program) throws Exception {
        with(program, true, c -> {
            c.count("counted");
            c.told();
            c.bench.engine.freeze(c.id, ALLOWED);
            c.bench.engine.killInContainer(c.id, c.container);
            assertFalse(c.runs("counted"));
            assertEquals("running", c.real.status(c.container));
            assertEquals(State.SUSPENDING, c.bench.engine.status(c.id).state());
            assertEquals(List.of(), c.bench.engine.containersOf(c.id));
            c.bench.engine.thaw(c.id);
            c.grows("older");
        });
    }

    /** A stage can name any id; only what its own build has started is touched. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    @Tag("slow")
    void oneOfAnotherBuildIsNeverTouched(String program) throws Exception {
        with(program, false, c -> {
            Path other = Files.createDirectory(c.bench.folder.resolve("work2"));
            ContainerRef foreign = c.real.run(other, "-e", "NAME=another", "-e", MARKS.get(1));
            c.bench.engine.tellContainers(c.id, List.of(c.container, foreign), MARKS);
            assertEquals(FailureReason.CONTAINER_UNREACHABLE, refused(c, ALLOWED));
            assertEquals(List.of(), c.bench.engine.preflight(c.id).ties());
            c.real.exec(foreign, "while true; do echo line >> foreign; sleep 0.02; done");
            StageContainers told = new StageContainers(c.bench.folder.resolve("home"));
            assertThrows(IOException.class, () -> told.pause(c.id, true));
            c.bench.engine.status(c.id);
            assertFalse(told.paused(c.id));
            assertThrows(EngineException.class, () -> c.bench.engine.killInContainer(c.id, foreign));
            assertEquals("running", c.real.status(foreign));
            long before = StageBench.lines(other.resolve("foreign"));
            StageBench.until("foreign runs", SOON, () -> StageBench.lines(other.resolve("foreign")) > before);
            ContainerRef unknown = new ContainerRef(program, "0123456789ab");
            c.bench.engine.tellContainers(c.id, List.of(unknown), MARKS);
            assertEquals(FailureReason.CONTAINER_UNREACHABLE, refused(c, ALLOWED));
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void oneThatIsGoneDoesNotHinderTheResume(String program) throws Exception {
        with(program, false, c -> {
            c.told();
            c.bench.engine.freeze(c.id, ALLOWED);
            c.real.remove(c.container.id());
            ResumeReport report = c.bench.engine.resumeHere(c.id).orElseThrow();
            assertTrue(report.warnings().get(0).contains("is gone"), report::toString);
            assertEquals(State.RUNNING, c.bench.engine.status(c.id).state());
        });
    }

    /** A process died after it had paused the container, and before the tree was frozen or after it ran again. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    @Tag("slow")
    void whatACutOffStepLeftPausedRunsAgain(String program) throws Exception {
        with(program, false, c -> {
            c.told();
            new StageContainers(c.bench.folder.resolve("home")).pause(c.id, false);
            assertEquals("paused", c.real.status(c.container));
            assertEquals(State.RUNNING, c.bench.engine.status(c.id).state());
            assertEquals("running", c.real.status(c.container));
        });
    }

    /** Such as /dev/shm: no process has them mapped, and the host has no room for them elsewhere. */
    @ParameterizedTest
    @ValueSource(strings = {"docker"})
    void filesInItsMemoryCountForTheShare(String program) throws Exception {
        with(program, false, c -> {
            c.told();
            assertTrue(c.bench.engine.containedBytes(c.id) < 50_000_000);
            assertTrue(c.real.answer(c.container, "sh", "-c", "busybox head -c 60000000 /dev/zero > /dev/shm/large")
                    .ok());
            assertTrue(c.bench.engine.containedBytes(c.id) > 60_000_000);
            assertEquals(FailureReason.FROZEN_SHARE, refused(c, NOT_ALLOWED.orFrozenOnly(50L << 20)));
            Frozen frozen = c.bench.engine.freeze(c.id, ALLOWED);
            assertTrue(frozen.residentBytes() > 60_000_000, frozen::toString);
            c.bench.engine.resumeHere(c.id);
        });
    }

    /** A call of the command line that reaches no daemon of Docker. */
    private static HostTool.Answer withoutDaemon(Contained c, String... words) {
        List<String> command = new ArrayList<>(List.of(
                "env",
                "PREEMPTIBLE_HOME=" + c.bench.folder.resolve("home"),
                "DOCKER_HOST=unix:///nonexistent/docker.sock"));
        command.addAll(JavaCommand.words("-cp", System.getProperty("java.class.path"), Preempt.class.getName()));
        command.addAll(List.of(words));
        return HostTool.run(60, command);
    }

    /** Nobody else knows that the container has to run again. */
    @ParameterizedTest
    @ValueSource(strings = {"docker"})
    void killedWhileTheDaemonIsAway(String program) throws Exception {
        with(program, true, c -> {
            c.told();
            c.count("counted");
            c.bench.engine.freeze(c.id, ALLOWED);
            assertTrue(!withoutDaemon(c, "kill", c.id.value()).ok());
            assertEquals(State.KILLED, c.bench.engine.status(c.id).state());
            for (String verb : List.of("clean", "forget")) {
                String[] words = verb.equals("clean") ? new String[] {verb} : new String[] {verb, c.id.value()};
                HostTool.Answer call = withoutDaemon(c, words);
                assertEquals("paused", c.real.status(c.container), call::toString);
                assertEquals(1, c.bench.engine.list().size(), call::toString);
                assertEquals(
                        List.of(c.container),
                        c.bench.engine.pausedContainers(c.id).containers(),
                        call::toString);
            }
            assertTrue(c.bench.engine.pausedContainers(c.id).reachable());
            assertEquals(1, c.bench.engine.clean(true, null).size());
            assertEquals(1, c.bench.engine.clean(false, null).size());
            assertEquals("running", c.real.status(c.container));
            assertFalse(c.runs("counted"));
            c.grows("older");
            assertEquals(List.of(), c.bench.engine.list());
            assertFalse(Files.exists(c.bench.folder.resolve("home/containers/" + c.id + ".json")));
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker"})
    void whatAStageThatIsNoMoreHasLeftPausedRunsAgain(String program) throws Exception {
        with(program, true, c -> {
            c.told();
            c.count("counted");
            StageContainers notes = new StageContainers(c.bench.folder.resolve("home"));
            long init = c.bench.engine.status(c.id).initPid();
            notes.pause(c.id, false);
            LibC.kill(init, LibC.SIGKILL);
            StageFolder.delete(c.bench.folder.resolve("home/stages/" + c.id));
            withoutDaemon(c, "clean");
            assertEquals("paused", c.real.status(c.container));
            c.bench.engine.clean(false, null);
            assertEquals("running", c.real.status(c.container));
            assertFalse(c.runs("counted"));
            c.grows("older");
            assertEquals(List.of(), notes.of(c.id));
        });
    }
}
