package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Real stages, dumped and restored by a real CRIU. */
@Tag("host")
class SuspendAndResumeTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private static String counter(int to) {
        return "i=0; while [ $i -lt " + to + " ]; do i=$((i+1)); echo line $i; sleep 0.02; done; exit 7";
    }

    private static List<String> counted(int to) {
        return IntStream.rangeClosed(1, to).mapToObj(i -> "line " + i).toList();
    }

    @ParameterizedTest
    @EnumSource(
            value = FreezerKind.class,
            names = {"CGROUP_V2", "CGROUP_V1", "SIGNALS"})
    void aStageGoesOnWhereItWas(FreezerKind kind) throws Exception {
        try (StageBench bench = StageBench.openWith(kind)) {
            StageId id = bench.script(counter(100)).id();
            StageBench.until(
                    "some output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 5);
            SuspendReport suspended = bench.engine.suspend(id, bench.archive(id), bench.key);
            long lines = bench.output(id).size();
            StageStatus status = bench.engine.status(id);
            assertEquals(State.SUSPENDED, status.state());
            assertEquals(bench.archive(id), status.archive());
            assertEquals(0, status.initPid());
            assertTrue(suspended.checkpoint().processes() >= 2, suspended::toString);
            assertTrue(Files.size(bench.archive(id)) == suspended.checkpoint().archiveBytes(), suspended::toString);
            Thread.sleep(100);
            assertEquals(lines, bench.output(id).size(), "a suspended stage must not write");
            ResumeReport resumed = bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(id, resumed.id());
            assertEquals(suspended.checkpoint().processes(), resumed.processes(), "sleeps that ended meanwhile too");
            assertEquals(Tier.LOCAL_IMAGE, resumed.tier());
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertEquals(7, bench.engine.await(id));
            assertEquals(counted(100), bench.output(id));
            assertEquals(1, bench.engine.status(id).suspensions());
        }
    }

    @Test
    void twentyCyclesLoseAndLeakNothing() throws Exception {
        try (StageBench bench = StageBench.open()) {
            // It counts until it is told that the cycles are through.
            StageId id = bench.script(
                            "sleep 1000 & i=0; while [ ! -e enough ]; do i=$((i+1)); echo line $i; sleep 0.02;"
                                    + " done; kill $!; exit 7")
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 2);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            Leftovers before = Leftovers.now(bench.folder, id);
            for (int i = 0; i < 19; i++) {
                long lines = bench.output(id).size();
                bench.engine.suspend(id, bench.archive(id), bench.key);
                bench.engine.resume(bench.archive(id), bench.key);
                StageBench.until(
                        "more output",
                        SOON,
                        () -> StageBench.lines(bench.engine.status(id).output()) > lines + 3);
            }
            assertEquals(before, Leftovers.now(bench.folder, id));
            Files.createFile(bench.work.resolve("enough"));
            assertEquals(7, bench.engine.await(id));
            List<String> output = bench.output(id);
            assertEquals(counted(output.size()), output);
            assertEquals(20, bench.engine.status(id).suspensions());
        }
    }

    /** What 19 cycles must not make more of. Processes are counted by kind, since sleeps come and go. */
    private record Leftovers(List<String> processes, List<String> groups, List<String> mounts, List<String> files) {
        static Leftovers now(Path folder, StageId id) throws IOException {
            // A resume does not wait for that.
            Path stage = folder.resolve("home/stages").resolve(id.value());
            StageBench.until(
                    "old images to be deleted",
                    SOON,
                    () -> Stream.of(stage.toFile().list()).noneMatch(name -> name.startsWith("images.old")));
            StageBench.until(
                    "one process to wait for the stage",
                    SOON,
                    () -> Proc.tree(ProcessHandle.current().pid()).stream()
                            .filter(s -> Proc.arguments(s.pid()).contains("preemptible-restored"))
                            .map(Proc.Stat::state)
                            .toList()
                            .equals(List.of('S')));
            for (int look = 0; look < 20; look++) {
                try {
                    return seen(folder, id);
                } catch (UncheckedIOException e) {
                    // A group of another stage went away while the groups were looked at.
                    Thread.yield();
                }
            }
            throw new IOException("the groups of this host do not stand still");
        }

        private static Leftovers seen(Path folder, StageId id) throws IOException {
            List<String> processes = new ArrayList<>();
            // Other stages of this host come and go: what counts is below this JVM.
            for (Proc.Stat s : Proc.tree(ProcessHandle.current().pid())) {
                boolean waits = Proc.arguments(s.pid()).contains("preemptible-restored");
                if (s.zombie() || waits || s.comm().equals("criu") || s.comm().equals("unshare")) {
                    // A short-lived zombie is no leak: only those that stay count.
                    if (!s.zombie() || staysZombie(s)) {
                        processes.add(s.comm() + s.state());
                    }
                }
            }
            processes.sort(null);
            try (var files = Files.walk(folder);
                    var groups = Files.walk(Path.of("/sys/fs/cgroup"))) {
                return new Leftovers(
                        processes,
                        groups.filter(p -> p.getFileName().toString().startsWith("preemptible-" + id + "-"))
                                // Each resume has a group of its own, with a random end of its name.
                                .map(p -> p.toString().replaceFirst("-[0-9a-f]{16}$", ""))
                                .sorted()
                                .toList(),
                        MountsSeen.now(folder),
                        files.map(Path::toString).sorted().toList());
            }
        }

        private static boolean staysZombie(Proc.Stat s) {
            try {
                Thread.sleep(500);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Proc.stat(s.pid())
                    .filter(n -> n.zombie() && n.startTicks() == s.startTicks())
                    .isPresent();
        }
    }

    @Test
    void memoryProcessesAndOpenFilesComeBack() throws Exception {
        try (StageBench bench = StageBench.open()) {
            // A pipe between two processes, a deleted file, a lock, shared memory and a signal handler.
            String text = "exec 5>gone; rm gone; trap 'echo trapped' USR1; echo kept >&5;"
                    + " (flock 8; touch locked; sleep 3; echo unlocked) 8>lockfile &"
                    + " while [ ! -e go ]; do sleep 0.05; done | cat;"
                    + " kill -USR1 $$; cat /proc/self/fd/5 2>/dev/null; readlink /proc/$$/exe >/dev/null && echo proc;"
                    + " wait; echo done";
            StageId id = bench.script(text).id();
            StageBench.until("the lock", SOON, () -> Files.exists(bench.work.resolve("locked")));
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            Files.createFile(bench.work.resolve("go"));
            assertEquals(0, bench.engine.await(id));
            List<String> output = bench.output(id);
            assertTrue(output.containsAll(List.of("trapped", "proc", "unlocked", "done")), output::toString);
        }
    }

    @Test
    void initStaysForTheLastProcessAndReapsOrphans() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageStatus started =
                    bench.script("for i in 1 2 3 4 5; do (sleep 0.1 & ) ; done; (sleep 2; echo late) & exit 3");
            StageId id = started.id();
            Thread.sleep(1200);
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertFalse(Proc.tree(started.initPid()).stream().anyMatch(Proc.Stat::zombie), "orphans are reaped");
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(3, bench.engine.await(id));
            assertEquals(List.of("late"), bench.output(id));
        }
    }

    @Test
    void signalsBecomeExitCodes() throws Exception {
        try (StageBench bench = StageBench.open()) {
            assertEquals(
                    128 + 15, bench.engine.await(bench.script("kill -TERM $$").id()));
            assertEquals(127, bench.engine.await(bench.start("/does/not/exist").id()));
            assertEquals(127, bench.engine.await(bench.start("exit").id()), "a word of the shell is no command");
        }
    }

    @Test
    void theStageSeesItsOwnProcessIds() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("tr '\\0' ' ' < /proc/1/cmdline; echo; ulimit -S -n")
                    .id();
            assertEquals(0, bench.engine.await(id));
            List<String> output = bench.output(id);
            assertTrue(String.join("\n", output).contains("preemptible-init"), output::toString);
            assertTrue(Integer.parseInt(output.get(output.size() - 1)) <= 1024, output::toString);
        }
    }

    @Test
    void aDumpedStageCanGoOnInstead() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageStatus started = bench.script(counter(60));
            StageId id = started.id();
            bench.dump(id, DumpGuard.NONE);
            assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            long lines = bench.output(id).size();
            Thread.sleep(100);
            assertEquals(lines, bench.output(id).size(), "it stays frozen until commit or thaw");
            bench.engine.thaw(id);
            assertEquals(started.initPid(), bench.engine.status(id).initPid());
            assertFalse(Files.exists(bench.archive(id)), "the image is discarded");
            assertEquals(7, bench.engine.await(id));
            assertEquals(counted(60), bench.output(id));
        }
    }

    @Test
    void killEndsAStageInEveryState() throws Exception {
        try (StageBench bench = StageBench.open()) {
            for (String when : List.of("running", "frozen", "suspended", "resumed")) {
                StageStatus started = bench.script("sleep 1000 & sleep 1000");
                StageId id = started.id();
                HostProcess init = HostProcess.of(started.initPid()).orElseThrow();
                if (when.equals("frozen")) {
                    bench.dump(id, DumpGuard.NONE);
                } else if (!when.equals("running")) {
                    bench.engine.suspend(id, bench.archive(id), bench.key);
                }
                if (when.equals("resumed")) {
                    bench.engine.resume(bench.archive(id), bench.key);
                    init = HostProcess.of(bench.engine.status(id).initPid()).orElseThrow();
                }
                long begun = System.nanoTime();
                bench.engine.kill(id);
                assertTrue(System.nanoTime() - begun < Duration.ofSeconds(5).toNanos(), when);
                assertFalse(init.alive(), when);
                assertEquals(State.KILLED, bench.engine.status(id).state(), when);
                assertEquals(137, bench.engine.await(id), when);
                bench.engine.forget(id);
                assertEquals(List.of(), bench.engine.list(), when);
                try (var groups = Files.walk(Path.of("/sys/fs/cgroup"))) {
                    assertNull(
                            groups.filter(p -> p.getFileName().toString().startsWith("preemptible-" + id + "-"))
                                    .findAny()
                                    .orElse(null),
                            when);
                }
            }
        }
    }

    @Test
    void killDoesNotWaitForADumpOrAResume() throws Exception {
        try (StageBench bench = StageBench.open()) {
            for (boolean resuming : List.of(false, true)) {
                StageId id = bench.start(
                                "bash",
                                "-c",
                                "x=$(head -c 60000000 /dev/urandom | base64 -w 0); touch ready" + resuming
                                        + "; sleep 1000")
                        .id();
                StageBench.until("the memory", SOON, () -> Files.exists(bench.work.resolve("ready" + resuming)));
                if (resuming) {
                    bench.engine.suspend(id, bench.archive(id), bench.key);
                }
                CompletableFuture<EngineException> other = CompletableFuture.supplyAsync(() -> {
                    try {
                        if (resuming) {
                            bench.engine.resume(bench.archive(id), bench.key);
                        } else {
                            bench.engine.suspend(id, bench.archive(id), bench.key);
                        }
                        return null;
                    } catch (EngineException e) {
                        return e;
                    }
                });
                StageBench.until(
                        "the other to begin",
                        SOON,
                        () -> other.isDone()
                                || bench.engine.status(id).state() == (resuming ? State.RESUMING : State.SUSPENDING));
                bench.engine.kill(id);
                other.get(30, TimeUnit.SECONDS);
                assertEquals(State.KILLED, bench.engine.status(id).state());
                bench.engine.forget(id);
                try (var groups = Files.walk(Path.of("/sys/fs/cgroup"))) {
                    assertFalse(groups.anyMatch(p -> p.getFileName().toString().startsWith("preemptible-" + id + "-")));
                }
                assertFalse(Proc.tree(1).stream()
                        .anyMatch(s -> Proc.commandLine(s.pid()).contains(id.value())));
            }
        }
    }

    @Test
    void theEnvironmentIsTheGivenOne() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.engine
                    .start(new StageSpec(
                            StageId.create("test"),
                            "test",
                            bench.work,
                            List.of("/bin/sh", "-c", "echo \"$GIVEN|$HOME|$(pwd)\""),
                            Map.of("GIVEN", "a b")))
                    .id();
            assertEquals(0, bench.engine.await(id));
            assertEquals(List.of("a b||" + bench.work.toRealPath()), bench.output(id));
        }
    }

    @Test
    void aflGoesOnWithBothInstances() throws Exception {
        assumeTrue(HostTool.find("afl-fuzz").isPresent(), "afl++ is not installed");
        assumeTrue(HostTool.find("afl-cc").isPresent(), "afl++'s compiler is not installed");
        try (StageBench bench = StageBench.open()) {
            Files.writeString(
                    bench.work.resolve("t.c"),
                    "#include <unistd.h>\n#include <stdlib.h>\nint main(void){"
                            + "char b[8]={0};read(0,b,8);if(b[0]=='F'&&b[1]=='U'&&b[2]=='Z'&&b[3]=='Q')abort();return b[0]>9;}\n");
            Files.createDirectory(bench.work.resolve("in"));
            Files.writeString(bench.work.resolve("in/seed"), "hello");
            HostTool.Answer built = HostTool.run(
                    60,
                    List.of(
                            "afl-cc",
                            "-o",
                            bench.work.resolve("t").toString(),
                            bench.work.resolve("t.c").toString()));
            assumeTrue(built.ok(), () -> "afl-cc does not compile here: " + built.text());
            String text = "export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1"
                    + " AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1;"
                    + " afl-fuzz -i in -o out -M a -V 12 ./t >a.log 2>&1 & a=$!;"
                    + " afl-fuzz -i in -o out -S b -V 12 ./t >b.log 2>&1 & b=$!;"
                    + " wait $a; x=$?; wait $b; echo ended $x $?";
            StageId id = bench.script(text).id();
            for (String instance : List.of("a", "b")) {
                StageBench.until(
                        "instance " + instance,
                        Duration.ofSeconds(40),
                        () -> Files.exists(bench.work.resolve("out/" + instance + "/fuzzer_stats")));
            }
            bench.engine.suspend(id, bench.archive(id), bench.key);
            ResumeReport resumed = bench.engine.resume(bench.archive(id), bench.key);
            assertTrue(resumed.processes() >= 5, resumed::toString);
            assertEquals(0, bench.engine.await(id));
            assertEquals(List.of("ended 0 0"), bench.output(id));
        }
    }
}
