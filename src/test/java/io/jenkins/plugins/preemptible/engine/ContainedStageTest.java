package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.contained.Bystanders;
import io.jenkins.plugins.preemptible.engine.contained.ContainerProcesses;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Stages that live inside of a real container of Docker or Podman: dumped, killed and restored there. */
@Tag("host")
class ContainedStageTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final List<String> MARKS = List.of("NAME=job", "NUMBER=1");
    private static final String COUNTING = "i=0; while true; do i=$((i+1)); echo $i >> counted; sleep 0.02; done";

    private record Contained(StageBench bench, RealContainers real, StageId id, ContainerRef container) {

        void run(String script) throws Exception {
            EnterCommand.Contained enter = (EnterCommand.Contained) bench.engine.enterCommand(id);
            List<String> command = new ArrayList<>(enter.words("", List.of("ADDED=a b", "EMPTY=")));
            // As durable-task launches: nothing waits for what stays.
            command.addAll(List.of("sh", "-c", "(" + script + ") >&- 2>&- <&- &"));
            assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor());
        }

        long counted() {
            return StageBench.lines(bench.work.resolve("counted"));
        }

        void counts() {
            long before = counted();
            StageBench.until("it counts", SOON, () -> counted() > before + 3);
        }

        void standsStill() throws InterruptedException {
            long before = counted();
            Thread.sleep(100);
            assertEquals(before, counted());
        }

        /** No number is missing and none comes twice. */
        void countedOn() throws IOException {
            List<String> lines = Files.readAllLines(bench.work.resolve("counted"));
            for (int i = 0; i < lines.size(); i++) {
                assertEquals(Integer.toString(i + 1), lines.get(i));
            }
        }

        void suspend() {
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
            bench.engine.commit(id);
        }
    }

    private interface Trial {
        void of(Contained contained) throws Exception;
    }

    private static void with(String program, Trial trial, String... options) throws Exception {
        // The containers end first: what runs in them writes into the bench's folder.
        try (StageBench bench = StageBench.openForArchives();
                RealContainers real = RealContainers.open(program)) {
            List<String> all = new ArrayList<>(List.of("-e", MARKS.get(0), "-e", MARKS.get(1)));
            all.addAll(List.of(options));
            ContainerRef container = real.run(bench.work, all.toArray(String[]::new));
            StageId id = started(bench, container);
            trial.of(new Contained(bench, real, id, container));
        }
    }

    private static StageId started(StageBench bench, ContainerRef container) {
        StageSpec spec = new StageSpec(StageId.create("test"), "test", bench.work, List.of(), null);
        return bench.engine.startIn(spec, container, MARKS).id();
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void suspendedAndResumedTwice(String program) throws Exception {
        with(program, c -> {
            c.run("echo \"$NAME,$ADDED,$EMPTY,$PWD\" > seen");
            StageBench.until("seen", SOON, () -> StageBench.lines(c.bench.work.resolve("seen")) == 1);
            assertEquals(
                    "job,a b,," + c.bench.work,
                    Files.readString(c.bench.work.resolve("seen")).trim());
            c.run(COUNTING);
            c.counts();
            assertEquals(List.of(), c.bench.engine.preflight(c.id).obstacles());
            for (int i = 0; i < 2; i++) {
                c.suspend();
                assertEquals(State.SUSPENDED, c.bench.engine.status(c.id).state());
                c.standsStill();
                assertEquals("running", c.real.status(c.container));
                assertEquals(
                        Tier.ARCHIVE,
                        c.bench
                                .engine
                                .resume(c.bench.archive(c.id), c.bench.key)
                                .tier());
                c.counts();
            }
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            c.standsStill();
            assertEquals(
                    Tier.FROZEN, c.bench.engine.resumeHere(c.id).orElseThrow().tier());
            c.counts();
            c.countedOn();
            c.run("echo again > again");
            StageBench.until("again", SOON, () -> StageBench.lines(c.bench.work.resolve("again")) == 1);
            c.bench.engine.kill(c.id);
            c.standsStill();
            assertEquals("running", c.real.status(c.container));
        });
    }

    /** Another process of the container could write into what CRIU puts into the stage's. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void othersInTheContainerStandStillWhileItIsDumped(String program) throws Exception {
        with(program, c -> {
            c.real.exec(c.container, "while true; do echo line >> others; sleep 0.01; done");
            Path others = c.bench.work.resolve("others");
            StageBench.until("others", SOON, () -> StageBench.lines(others) > 3);
            c.run(COUNTING);
            c.counts();
            Freezer stage = FreezerKind.below(c.id, first(c).first().pid()).get(0);
            long before;
            try (Bystanders held = Bystanders.hold(c.id, first(c), stage)) {
                before = StageBench.lines(others);
                Thread.sleep(200);
                assertEquals(before, StageBench.lines(others));
                c.counts();
            }
            StageBench.until("others", SOON, () -> StageBench.lines(others) > before + 3);
            // A dump whose caller died has left them so.
            Bystanders.hold(c.id, first(c), stage);
            c.suspend();
            long left = StageBench.lines(others);
            StageBench.until("others", SOON, () -> StageBench.lines(others) > left + 3);
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
            c.countedOn();
        });
    }

    /** Another container with the same process ids is in no group of the stage's: its processes would run beside a dump. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void processesOfAnotherContainerRunBesideNoDump(String program) throws Exception {
        with(program, c -> {
            c.run(COUNTING);
            c.counts();
            ContainerRef beside = c.real.run(c.bench.work, "--pid", "container:" + c.container.id());
            EngineException refusal = assertThrows(EngineException.class, () -> started(c.bench, c.container));
            assertEquals(FailureReason.CONTAINER_NOT_ENTERED, refusal.reason());
            assertTrue(refusal.getMessage().contains("share its process ids"), refusal::getMessage);
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            SuspendFailedException failure = assertThrows(
                    SuspendFailedException.class,
                    () -> c.bench.engine.dump(c.id, c.bench.archive(c.id), c.bench.key, IfDumpFails.THAW));
            assertTrue(failure.detail().contains("cannot be held still: cat"), failure::detail);
            c.counts();
            c.real.remove(beside.id());
            c.suspend();
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
        });
    }

    /** What waits for the stage's end could be taken for a process of the container, with all rights on the host. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void nothingOfTheHostWaitsAmongTheContainersProcesses(String program) throws Exception {
        with(program, c -> {
            nothingOfTheHost(c);
            c.suspend();
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            nothingOfTheHost(c);
        });
    }

    private static void nothingOfTheHost(Contained c) throws Exception {
        // Longer than the start of what waits.
        Thread.sleep(500);
        assertEquals(
                List.of(),
                new ContainerProcesses(c.container.id())
                        .strangers(first(c).first().pid()));
        long waits = Proc.stat(((EnterCommand.Contained) c.bench.engine.enterCommand(c.id))
                        .init()
                        .pid())
                .orElseThrow()
                .ppid();
        assertTrue(Proc.commandLine(waits).contains("preemptible-restored"), () -> Proc.commandLine(waits));
        assertEquals(List.of("0000000000000020"), Proc.statusWords(waits, "CapBnd"));
        assertEquals(List.of("0000000000000020"), Proc.statusWords(waits, "CapPrm"));
    }

    private static StageContainer first(Contained c) {
        long pid = Proc.all().stream()
                .filter(p -> Proc.commandLine(p.pid()).equals("cat"))
                .filter(p -> Proc.innerPid(p.pid()) == 1)
                .filter(p -> Proc.lines(Path.of("/proc", Long.toString(p.pid()), "cgroup")).stream()
                        .anyMatch(l -> l.contains(c.container.id())))
                .findFirst()
                .orElseThrow()
                .pid();
        return new StageContainer(c.container, HostProcess.of(pid).orElseThrow());
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void aContainerThatEndedCannotBeResumedIn(String program) throws Exception {
        with(program, c -> {
            c.run(COUNTING);
            c.counts();
            c.suspend();
            c.real.remove(c.container.id());
            assertEquals(
                    FailureReason.CONTAINER_GONE,
                    assertThrows(
                                    ResumeFailedException.class,
                                    () -> c.bench.engine.resume(c.bench.archive(c.id), c.bench.key))
                            .reason());
            assertEquals(State.SUSPENDED, c.bench.engine.status(c.id).state());
            c.bench.engine.kill(c.id);
            c.bench.engine.forget(c.id);
        });
    }

    /** By a user of Docker, not by the stage. With control groups of version 1 nothing frozen can end by itself. */
    @ParameterizedTest
    @EnumSource(
            value = FreezerKind.class,
            names = {"CGROUP_V1", "CGROUP_V2"})
    void aContainerIsRemovedWhileItsStageIsFrozen(FreezerKind kind) throws Exception {
        try (RealContainers real = RealContainers.open("docker");
                StageBench bench = StageBench.open(kind, null)) {
            ContainerRef container = real.run(bench.work, "-e", MARKS.get(0), "-e", MARKS.get(1));
            Contained c = new Contained(bench, real, started(bench, container), container);
            c.run(COUNTING);
            c.counts();
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            c.standsStill();
            Thread remover = new Thread(() -> real.remove(container.id()));
            remover.start();
            StageBench.until("ended", SOON, () -> c.bench.engine.status(c.id).state() == State.FAILED);
            remover.join();
            assertFalse(c.real.exists(c.container));
        }
    }

    /** A large tree takes some time to end. It is thawed for that, and must not count as one that runs again. */
    @Test
    void whatEndsWithItsContainerIsNotThawed() throws Exception {
        // Skips the test where the host does not have it.
        StageBench.openWith(FreezerKind.CGROUP_V1).close();
        try (RealContainers real = RealContainers.open("docker");
                StageBench bench = StageBench.openWith(FreezerKind.CGROUP_V2)) {
            ContainerRef container = real.run(bench.work, "-e", MARKS.get(0), "-e", MARKS.get(1));
            Contained c = new Contained(bench, real, started(bench, container), container);
            c.run(COUNTING);
            c.counts();
            StageContainer first = first(c);
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            Freezer other = FreezerKind.create(StageId.create("slow"), FreezerKind.CGROUP_V1);
            long init = c.bench.engine.status(c.id).initPid();
            Files.writeString(other.joinFile().orElseThrow(), Long.toString(init));
            other.freeze(null, SOON);
            Thread remover = new Thread(() -> real.remove(container.id()));
            remover.start();
            try {
                StageBench.until("the container ends", SOON, () -> !first.runs());
                for (int time = 0; time < 3; time++) {
                    assertEquals(State.SUSPENDING, c.bench.engine.status(c.id).state());
                }
            } finally {
                other.thaw(null);
            }
            StageBench.until("ended", SOON, () -> c.bench.engine.status(c.id).state() == State.FAILED);
            remover.join();
            other.remove();
        }
    }

    /** CRIU resolves paths from the host's root: a link of the container's would lead to a file of the host. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void aLinkWhereSomethingIsMountedIsNotFollowed(String program) throws Exception {
        with(program, c -> {
            c.run(COUNTING);
            c.counts();
            c.suspend();
            assertTrue(c.real.answer(c.container, "sh", "-c", "busybox mv /var /old && busybox ln -s /old /var")
                    .ok());
            ResumeFailedException refusal = assertThrows(
                    ResumeFailedException.class, () -> c.bench.engine.resume(c.bench.archive(c.id), c.bench.key));
            assertTrue(refusal.criuLines().toString().contains("symbolic links"), refusal::toString);
            assertEquals(State.SUSPENDED, c.bench.engine.status(c.id).state());
            assertTrue(c.real.answer(c.container, "sh", "-c", "rm /var && busybox mv /old /var")
                    .ok());
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
            c.countedOn();
        });
    }

    /** Neither can be held still for the other. */
    @ParameterizedTest
    @ValueSource(strings = {"docker"})
    void twoStagesInOneContainerAreNotDumped(String program) throws Exception {
        with(program, c -> {
            c.run(COUNTING);
            c.counts();
            StageId second = started(c.bench, c.container);
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            assertThrows(
                    SuspendFailedException.class,
                    () -> c.bench.engine.dump(c.id, c.bench.archive(c.id), c.bench.key, IfDumpFails.THAW));
            c.counts();
            c.bench.engine.kill(second);
            c.suspend();
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
        });
    }

    /** Nothing of it is left to be seen. A container that is entered is one of whose programs this is told. */
    @ParameterizedTest
    @ValueSource(strings = {"docker", "podman"})
    void whatHasRunInTheContainerMeanwhileIsTold(String program) throws Exception {
        with(program, c -> {
            c.run(COUNTING);
            c.counts();
            assertTrue(c.real.answer(c.container, "true").ok());
            Freezer stage = FreezerKind.below(c.id, first(c).first().pid()).get(0);
            try (Bystanders held = Bystanders.hold(c.id, first(c), stage)) {
                held.requireNone(first(c), stage);
                ContainerRef other = c.real.run(c.bench.work);
                assertTrue(c.real.answer(other, "true").ok());
                held.requireNone(first(c), stage);
                assertTrue(c.real.answer(c.container, "true").ok());
                IOException refusal = assertThrows(IOException.class, () -> held.requireNone(first(c), stage));
                assertTrue(refusal.getMessage().contains("and has ended again"), refusal::getMessage);
            }
            c.suspend();
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
            c.countedOn();
        });
    }

    /** A user of the daemon has started it. It is in no group that stands still. */
    @ParameterizedTest
    @CsvSource({"sleep 1000, stage: sleep", "true, and has ended again"})
    void somethingIsStartedInTheContainerWhileItIsDumped(String command, String told) throws Exception {
        withStarting("dump", command, (c, during) -> {
            c.run(COUNTING);
            c.counts();
            Files.writeString(during, c.container.id());
            c.bench.engine.freeze(c.id, new FreezeRequest(DumpGuard.NONE, 0));
            SuspendFailedException refusal = assertThrows(
                    SuspendFailedException.class,
                    () -> c.bench.engine.dump(c.id, c.bench.archive(c.id), c.bench.key, IfDumpFails.THAW));
            assertTrue(refusal.detail().contains("while CRIU worked on the stage"), refusal::detail);
            assertTrue(refusal.detail().contains(told), refusal::detail);
            c.counts();
            Files.delete(during);
            c.suspend();
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
            c.countedOn();
        });
    }

    /** It is known before anything of the stage runs. */
    @ParameterizedTest
    @CsvSource({"sleep 1000, stage: sleep", "true, and has ended again"})
    void somethingIsStartedInTheContainerWhileItIsRestored(String command, String told) throws Exception {
        withStarting("restore", command, (c, during) -> {
            c.run("i=0; while true; do i=$((i+1)); echo $i >> counted; done");
            c.counts();
            c.suspend();
            long before = c.counted();
            Files.writeString(during, c.container.id());
            RuntimeException refusal = assertThrows(
                    RuntimeException.class, () -> c.bench.engine.resume(c.bench.archive(c.id), c.bench.key));
            StringWriter words = new StringWriter();
            refusal.printStackTrace(new PrintWriter(words));
            assertTrue(words.toString().contains("while CRIU worked on the stage"), words::toString);
            assertTrue(words.toString().contains(told), words::toString);
            assertEquals(before, c.counted());
            assertEquals(State.SUSPENDED, c.bench.engine.status(c.id).state());
            Files.delete(during);
            c.bench.engine.resume(c.bench.archive(c.id), c.bench.key);
            c.counts();
            c.countedOn();
        });
    }

    private interface StartingTrial {
        /** @param during holds the id of the container as long as something is to be started there */
        void of(Contained contained, Path during) throws Exception;
    }

    /** With a CRIU that starts something in the container by Docker just before it does what it is asked for. */
    private static void withStarting(String verb, String command, StartingTrial trial) throws Exception {
        Path criu = new CriuSearch().usable().map(Criu::program).orElse(null);
        assumeTrue(criu != null, "this host has no CRIU that works");
        Path folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-criu");
        Path starting = folder.resolve("criu");
        Path during = folder.resolve("container");
        Files.writeString(starting, """
                #!/bin/sh
                case " $* " in
                  *' %1$s '*) [ ! -e '%2$s' ] || { docker exec -d $(cat '%2$s') %3$s; sleep 0.5; } >&2 ;;
                esac
                exec '%4$s' "$@"
                """.formatted(verb, during, command, criu));
        assertTrue(starting.toFile().setExecutable(true));
        try (RealContainers real = RealContainers.open("docker");
                StageBench bench = StageBench.openWith(new CriuSearch(List.of(starting)))) {
            ContainerRef container = real.run(bench.work, "-e", MARKS.get(0), "-e", MARKS.get(1));
            trial.of(new Contained(bench, real, started(bench, container), container), during);
        } finally {
            StageBench.delete(folder);
        }
    }
}
