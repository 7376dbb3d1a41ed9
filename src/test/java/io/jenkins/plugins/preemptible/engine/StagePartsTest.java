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
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stages of the host whose steps run in a real container for a time: only their part in it is dumped and restored. */
@Tag("host")
class StagePartsTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final List<String> MARKS = List.of("NAME=job", "NUMBER=1");
    private static final FreezeRequest FREEZE = new FreezeRequest(DumpGuard.NONE, 0);

    private record Parted(StageBench bench, RealContainers real, StageId id, ContainerRef container) {

        Engine engine() {
            return bench.engine;
        }

        ContainerRef another() {
            return real.run(bench.work, "-e", MARKS.get(0), "-e", MARKS.get(1));
        }

        void enter() {
            assertTrue(engine().enterContainer(id, container, MARKS) instanceof EnterCommand.Contained);
        }

        void inContainer(String script) throws Exception {
            launch(((EnterCommand.Contained) engine().containedCommand(id).orElseThrow()).words("", List.of()), script);
        }

        void onHost(String script) throws Exception {
            launch(engine().enterCommand(id).words(), script);
        }

        // As durable-task launches: nothing waits for what stays.
        private void launch(List<String> enter, String script) throws Exception {
            List<String> command = new ArrayList<>(enter);
            command.addAll(List.of("sh", "-c", "(" + script + ") >&- 2>&- <&- &"));
            assertEquals(
                    0,
                    new ProcessBuilder(command)
                            .directory(bench.work.toFile())
                            .inheritIO()
                            .start()
                            .waitFor());
        }

        static String counting(String file) {
            return "i=0; while true; do i=$((i+1)); echo $i >> " + file + "; sleep 0.02; done";
        }

        Path file(String name) {
            return bench.work.resolve(name);
        }

        void counts(String name) {
            long before = StageBench.lines(file(name));
            StageBench.until(name + " counts", SOON, () -> StageBench.lines(file(name)) > before + 3);
        }

        void standsStill(String name) throws InterruptedException {
            long before = StageBench.lines(file(name));
            Thread.sleep(100);
            assertEquals(before, StageBench.lines(file(name)));
        }

        /** No number is missing and none comes twice. */
        void countedOn(String name) throws IOException {
            List<String> lines = Files.readAllLines(file(name));
            for (int i = 0; i < lines.size(); i++) {
                assertEquals(Integer.toString(i + 1), lines.get(i));
            }
        }

        void suspend() {
            Frozen frozen = engine().freeze(id, FREEZE);
            assertEquals(id, frozen.id());
            assertEquals(List.of(), frozen.ties());
            assertEquals(State.SUSPENDING, engine().status(id).state());
            assertEquals(
                    id,
                    engine().dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN)
                            .id());
            engine().commit(id);
            assertEquals(State.SUSPENDED, engine().status(id).state());
        }

        void resume() {
            assertEquals(id, engine().resume(bench.archive(id), bench.key).id());
            assertEquals(State.RUNNING, engine().status(id).state());
        }

        List<String> obstacles() {
            return engine().preflight(id).obstacles().stream()
                    .map(Obstacle::sentence)
                    .toList();
        }

        void awaitFirst(String obstacle) {
            StageBench.until(
                    obstacle,
                    SOON,
                    () -> obstacles().stream()
                            .findFirst()
                            .filter(first -> first.contains(obstacle))
                            .isPresent());
        }

        void awaitNone() {
            StageBench.until("no obstacle", SOON, () -> obstacles().isEmpty());
        }
    }

    private interface Trial {
        void of(Parted parted) throws Exception;
    }

    private static void with(String program, Trial trial, String... options) throws Exception {
        try (RealContainers real = RealContainers.open(program);
                StageBench bench = StageBench.openForArchives()) {
            List<String> all = new ArrayList<>(List.of("-e", MARKS.get(0), "-e", MARKS.get(1)));
            all.addAll(List.of(options));
            StageId id = bench.start().id();
            trial.of(new Parted(bench, real, id, real.run(bench.work, all.toArray(String[]::new))));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void itsPartInTheContainerIsSuspendedAndTheHostsAfterIt(String program) throws Exception {
        with(program, p -> {
            p.enter();
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            assertEquals(List.of(), p.obstacles());
            for (int i = 0; i < 2; i++) {
                p.suspend();
                p.standsStill("inside");
                assertEquals("running", p.real.status(p.container));
                assertEquals(
                        List.of(p.id),
                        p.engine().list().stream().map(s -> s.id()).toList());
                p.resume();
                p.counts("inside");
            }
            p.engine().freeze(p.id, FREEZE);
            p.standsStill("inside");
            assertEquals(Tier.FROZEN, p.engine().resumeHere(p.id).orElseThrow().tier());
            p.counts("inside");
            p.countedOn("inside");
            p.engine().leaveContainer(p.id);
            p.standsStill("inside");
            assertTrue(p.engine().containedCommand(p.id).isEmpty());
            assertEquals("running", p.real.status(p.container));
            p.onHost(Parted.counting("outside"));
            p.counts("outside");
            p.suspend();
            p.standsStill("outside");
            p.resume();
            p.counts("outside");
            p.countedOn("outside");
        });
    }

    /** Between two steps of the block, and beside one that runs outside of it. */
    @Test
    void whileNothingRunsInTheContainerTheHostsPartIsSuspended() throws Exception {
        with("docker", p -> {
            p.enter();
            p.onHost(Parted.counting("outside"));
            p.counts("outside");
            assertEquals(List.of(), p.obstacles());
            p.suspend();
            p.standsStill("outside");
            p.resume();
            p.counts("outside");
            p.countedOn("outside");
            p.inContainer("echo entered > entered");
            StageBench.until("entered", SOON, () -> Files.exists(p.file("entered")));
        });
    }

    @Tag("slow")
    @Test
    void withProcessesInBothPartsItIsFrozenOnly() throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.onHost(Parted.counting("outside"));
            p.counts("inside");
            p.counts("outside");
            p.awaitFirst(p.container.shown() + ", and outside of it ");
            SuspendFailedException refusal =
                    assertThrows(SuspendFailedException.class, () -> p.engine().freeze(p.id, FREEZE));
            assertEquals(FailureReason.CONTAINER, refusal.reason());
            assertTrue(refusal.getMessage().contains("outside of it "), refusal::getMessage);
            p.counts("inside");
            for (int i = 0; i < 2; i++) {
                Frozen frozen = p.engine().freeze(p.id, FREEZE.orFrozenOnly(1L << 40));
                assertTrue(frozen.memoryOnly());
                assertFalse(frozen.ties().isEmpty());
                p.standsStill("inside");
                p.standsStill("outside");
                assertEquals("paused", p.real.status(p.container));
                assertEquals(
                        Tier.FROZEN, p.engine().resumeHere(p.id).orElseThrow().tier());
                p.counts("inside");
                p.counts("outside");
            }
            p.onHost("(sleep 0.5; kill -9 -1) &");
            p.awaitNone();
            p.suspend();
            p.standsStill("inside");
            p.resume();
            p.counts("inside");
            p.countedOn("inside");
        });
    }

    /** As Durable Task leaves a shell for up to three seconds. */
    @Test
    void whatAStepLeavesForAMomentIsWaitedFor() throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            p.onHost("sleep 2");
            p.suspend();
            p.standsStill("inside");
            p.resume();
            p.counts("inside");
        });
    }

    /** Launched before the freeze, it comes late: nothing of the stage may run while it has no executor. */
    @Test
    void whatComesLateOnTheHostStopsTheCommit() throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            p.engine().freeze(p.id, FREEZE);
            p.engine().dump(p.id, p.bench.archive(p.id), p.bench.key, IfDumpFails.STAY_FROZEN);
            p.onHost(Parted.counting("outside"));
            p.counts("outside");
            assertEquals(
                    FailureReason.ENTERING,
                    assertThrows(SuspendFailedException.class, () -> p.engine().commit(p.id))
                            .reason());
            p.counts("inside");
            assertEquals(State.RUNNING, p.engine().status(p.id).state());
        });
    }

    @Test
    void aSecondContainerIsEnteredWhenNothingRunsInTheFirst() throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            ContainerRef second = p.another();
            EngineException refusal =
                    assertThrows(EngineException.class, () -> p.engine().enterContainer(p.id, second, MARKS));
            assertEquals(FailureReason.CONTAINER_NOT_ENTERED, refusal.reason());
            p.counts("inside");
            // A step runs there as without us.
            p.engine().tellContainers(p.id, List.of(second), MARKS);
            p.awaitFirst("outside of it " + second.shown());
            p.engine().tellContainers(p.id, List.of(), MARKS);
            assertEquals(List.of(), p.obstacles());
            p.inContainer("(sleep 0.5; kill -9 -1) &");
            StageBench.until("entered", SOON, () -> {
                try {
                    p.engine().enterContainer(p.id, second, MARKS);
                    return true;
                } catch (EngineException e) {
                    return false;
                }
            });
            p.inContainer(Parted.counting("second"));
            p.counts("second");
            p.suspend();
            p.standsStill("second");
            p.resume();
            p.counts("second");
            p.countedOn("second");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"running", "frozen", "suspended", "frozen with both"})
    void killedWithItsPart(String when) throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            if (when.equals("frozen")) {
                p.engine().freeze(p.id, FREEZE);
            } else if (when.equals("suspended")) {
                p.suspend();
            } else if (when.equals("frozen with both")) {
                p.onHost(Parted.counting("outside"));
                p.counts("outside");
                p.engine().freeze(p.id, FREEZE.orFrozenOnly(1L << 40));
            }
            p.engine().kill(p.id);
            p.standsStill("inside");
            p.standsStill("outside");
            p.engine().forget(p.id);
            assertEquals(List.of(), p.engine().list());
            try (var left = Files.list(p.bench.folder.resolve("home/stages"))) {
                assertEquals(List.of(), left.toList());
            }
            // One that is younger than its stage is removed with it where no step can do that any more.
            assertEquals(when.equals("running"), p.real.exists(p.container));
        });
    }

    /** The block ends while its stage has no executor: a build that is aborted. */
    @ParameterizedTest
    @ValueSource(strings = {"frozen", "suspended", "frozen with both"})
    void leftWhileItIsSuspended(String when) throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            if (when.equals("frozen with both")) {
                p.onHost(Parted.counting("outside"));
                p.counts("outside");
                p.engine().freeze(p.id, FREEZE.orFrozenOnly(1L << 40));
            } else if (when.equals("frozen")) {
                p.engine().freeze(p.id, FREEZE);
            } else {
                p.suspend();
            }
            p.engine().leaveContainer(p.id);
            p.standsStill("inside");
            p.standsStill("outside");
            assertEquals("running", p.real.status(p.container));
            p.real.remove(p.container.id());
            p.engine().kill(p.id);
            p.engine().forget(p.id);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void itsContainerEndsMeanwhile(boolean sealed) throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            if (sealed) {
                p.suspend();
                p.real.remove(p.container.id());
                assertEquals(
                        FailureReason.CONTAINER_GONE,
                        assertThrows(
                                        ResumeFailedException.class,
                                        () -> p.engine().resume(p.bench.archive(p.id), p.bench.key))
                                .reason());
                assertEquals(State.SUSPENDED, p.engine().status(p.id).state());
            } else {
                p.real.remove(p.container.id());
                StageBench.until(
                        "the part has ended",
                        SOON,
                        () -> p.engine().containedCommand(p.id).isEmpty());
                p.onHost(Parted.counting("outside"));
                p.counts("outside");
                p.suspend();
                p.resume();
                p.counts("outside");
            }
            p.engine().kill(p.id);
            p.engine().forget(p.id);
        });
    }

    /** It ends then as one that lives in the container, in place of waiting for its step. */
    @Test
    void itsContainerEndsWhileItIsFrozen() throws Exception {
        with("docker", p -> {
            p.enter();
            p.inContainer(Parted.counting("inside"));
            p.counts("inside");
            p.engine().freeze(p.id, FREEZE);
            assertTrue(p.engine().resumeHere(p.id).isPresent());
            assertEquals(State.RUNNING, p.engine().status(p.id).state());
            p.counts("inside");
            p.engine().freeze(p.id, FREEZE);
            Thread remover = new Thread(() -> p.real.remove(p.container.id()));
            remover.start();
            StageBench.until("ended", SOON, () -> p.engine().status(p.id).state() == State.FAILED);
            remover.join();
            p.engine().kill(p.id);
            p.engine().forget(p.id);
            assertEquals(List.of(), p.engine().list());
        });
    }

    /** The stage is as before then. */
    @Test
    void aContainerThatIsNotEntered() throws Exception {
        with(
                "docker",
                p -> {
                    EngineException refusal = assertThrows(EngineException.class, p::enter);
                    assertEquals(FailureReason.CONTAINER_NOT_ENTERED, refusal.reason());
                    ContainerRef others = p.real.run(p.bench.work);
                    assertTrue(
                            assertThrows(EngineException.class, () -> p.engine().enterContainer(p.id, others, MARKS))
                                    .getMessage()
                                    .contains("not started by the build"));
                    assertTrue(p.engine().containedCommand(p.id).isEmpty());
                    p.onHost(Parted.counting("outside"));
                    p.counts("outside");
                    p.suspend();
                    p.resume();
                    p.counts("outside");
                },
                "--cap-add",
                "SYS_PTRACE");
    }

    /** Its steps run in the other one as without us. */
    @Test
    void aStageThatLivesInAContainerEntersNoOther() throws Exception {
        try (RealContainers real = RealContainers.open("docker");
                StageBench bench = StageBench.openForArchives()) {
            ContainerRef own = real.run(bench.work, "-e", MARKS.get(0), "-e", MARKS.get(1));
            StageSpec spec = new StageSpec(StageId.create("test"), "test", bench.work, List.of(), null);
            Parted p = new Parted(
                    bench, real, bench.engine.startIn(spec, own, MARKS).id(), own);
            ContainerRef other = p.another();
            EngineException refusal =
                    assertThrows(EngineException.class, () -> p.engine().enterContainer(p.id, other, MARKS));
            assertEquals(FailureReason.CONTAINER_NOT_ENTERED, refusal.reason());
            assertTrue(
                    refusal.getMessage().contains(other.shown() + ": the stage lives in another container"),
                    refusal::getMessage);
            assertTrue(p.engine().containedCommand(p.id).isEmpty());
            EnterCommand.Contained enter = (EnterCommand.Contained) p.engine().enterCommand(p.id);
            p.launch(enter.words("", List.of()), Parted.counting("inside"));
            p.counts("inside");
            p.suspend();
            p.standsStill("inside");
            p.resume();
            p.counts("inside");
            p.countedOn("inside");
            p.engine().kill(p.id);
            p.engine().forget(p.id);
            assertTrue(real.exists(other));
        }
    }

    /** It would have the host's part only. After the block one is made again. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void noCheckpointIsMadeWhileItHasAPart(boolean stepsRunInside) throws Exception {
        with("docker", p -> {
            p.enter();
            if (stepsRunInside) {
                p.inContainer(Parted.counting("inside"));
                p.counts("inside");
            }
            p.onHost(Parted.counting("outside"));
            p.counts("outside");
            Path image = p.bench.folder.resolve("live.image");
            LiveRequest request =
                    LiveRequest.of(image, p.bench.folder.resolve("live.luggage"), p.bench.key, List.of(p.bench.work));
            SuspendFailedException refusal =
                    assertThrows(SuspendFailedException.class, () -> p.engine().checkpoint(p.id, request));
            assertEquals(FailureReason.CONTAINER, refusal.reason());
            assertTrue(refusal.getMessage().contains(p.container.shown()), refusal::getMessage);
            assertFalse(Files.exists(image));
            p.counts("outside");
            if (stepsRunInside) {
                p.counts("inside");
            }
            p.engine().leaveContainer(p.id);
            p.engine().checkpoint(p.id, request);
            assertTrue(Files.exists(image));
            p.counts("outside");
            p.countedOn("outside");
        });
    }
}
