package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * As many rounds as {@code -Dpreemptible.moves} says, drawn from {@code -Dpreemptible.seed}, in as many streams side by side as
 * {@code -Dpreemptible.streams} says; with {@code -Dpreemptible.moments} only those of them that have such a moment. Each stream has a controller and agents of its own, for all its rounds until one is lost.
 */
@Tag("soak")
class RandomMovesTest {

    private static final int ROUNDS = Integer.getInteger("preemptible.moves", 0);
    private static final int STREAMS = Integer.getInteger("preemptible.streams", 1);
    private static final long SEED = Long.getLong("preemptible.seed", 1);
    /** Names of {@link MoveMoment}; none = all. */
    private static final List<String> MOMENTS = Stream.of(
                    System.getProperty("preemptible.moments", "").split(","))
            .filter(name -> !name.isEmpty())
            .toList();

    private final AtomicInteger next = new AtomicInteger(Integer.getInteger("preemptible.first", 1));
    private final MoveFigures figures = new MoveFigures(SEED);
    private final ConcurrentLinkedQueue<String> lost = new ConcurrentLinkedQueue<>();

    @Test
    void whatWasSealedIsNotLost() throws Throwable {
        assumeTrue(ROUNDS > 0, "is run by: ./preempt soak --moves N --streams K --seed S");
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "mount namespaces are needed");
        Path folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-moves");
        HostReport report = Engine.open(folder.resolve("check")).check();
        assumeTrue(report.ok(), () -> "this host cannot suspend stages: " + report.missing());
        ExecutorService streams = Executors.newFixedThreadPool(STREAMS);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 1; i <= STREAMS; i++) {
                String name = "stream-" + i;
                running.add(streams.submit(() -> {
                    stream(name, folder);
                    return null;
                }));
            }
            for (Future<?> stream : running) {
                stream.get();
            }
        } finally {
            streams.shutdownNow();
            StageFolder.delete(folder);
        }
        assertEquals(List.of(), List.copyOf(lost));
    }

    private void stream(String name, Path folder) throws Exception {
        MoveRig rig = null;
        try {
            for (int i = next.getAndIncrement(); i <= ROUNDS; i = next.getAndIncrement()) {
                MoveMoment moment = MoveRound.of(SEED, i).moment();
                if (!MOMENTS.isEmpty() && !MOMENTS.contains(moment.name())) {
                    continue;
                }
                if (rig == null) {
                    String each = name + "-" + i;
                    rig = rig(each, Files.createDirectory(folder.resolve(each)));
                }
                if (!isWhole(rig, MoveRound.of(SEED, i))) {
                    rig.close();
                    rig = null;
                }
            }
        } finally {
            if (rig != null) {
                rig.close();
            }
        }
    }

    private static MoveRig rig(String name, Path folder) throws Exception {
        try {
            return new MoveRig(name, folder);
        } catch (Exception x) {
            throw x;
        } catch (Throwable x) {
            throw new AssertionError(x);
        }
    }

    private boolean isWhole(MoveRig rig, MoveRound round) throws Exception {
        System.out.println("begins: " + round);
        long began = System.nanoTime();
        MoveRun run = new MoveRun(rig, round);
        MoveVerdict verdict;
        try {
            verdict = run.run();
        } catch (Throwable x) {
            x.printStackTrace();
            verdict = MoveVerdict.lost(x.toString());
        }
        figures.add(round, run, verdict, Duration.ofNanos(System.nanoTime() - began));
        if (verdict.kind() != MoveVerdict.Kind.LOST) {
            return true;
        }
        lost.add(round + ": " + verdict);
        List<Path> logs = MoveRig.AGENTS.stream().map(rig::log).toList();
        KeptLogs.keep(Path.of("target", "moves", SEED + "-" + round.number()), rig.controller.jenkinsHome(), logs);
        return false;
    }
}
