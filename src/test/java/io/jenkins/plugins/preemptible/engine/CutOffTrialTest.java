package io.jenkins.plugins.preemptible.engine;

import static io.jenkins.plugins.preemptible.engine.TrialSteps.SOON;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.TICKS;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.folder;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.groupsOf;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.left;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.passes;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.runsOn;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.start;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import io.jenkins.plugins.preemptible.engine.trial.RunningTrial;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Trials that are killed or cut off leave nothing, and nothing is lost; with real CRIU. */
@Tag("host")
class CutOffTrialTest {

    @Test
    void aStageThatIsKilledDuringItsTrialEnds() throws Exception {
        try (StageBench bench = StageBench.open()) {
            for (int i = 0; i < 4; i++) {
                StageId id = start(bench, "/bin/sh", "-c", TICKS);
                String before = left(bench, id).replaceAll("group of [^,]*,", "");
                bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
                CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
                StageBench.until(
                        "the trial",
                        SOON,
                        () -> dump.isDone()
                                || Files.exists(folder(bench, id).trial().resolve("words")));
                Thread.sleep(i * 20);
                bench.engine.kill(id);
                assertThrows(
                        Exception.class,
                        () -> dump.orTimeout(60, TimeUnit.SECONDS).join());
                assertEquals(State.KILLED, bench.engine.status(id).state());
                assertEquals(before, left(bench, id).replaceAll("group of [^,]*,", ""));
                assertEquals(0, groupsOf(id));
                assertFalse(Files.exists(folder(bench, id).images()));
            }
        }
    }

    // Its image is all that is left of it, and serves.
    @Test
    void aStageThatSomebodyElseKillsDuringItsTrialIsSuspended() throws Exception {
        try (StageBench bench = StageBench.open()) {
            for (int i = 0; i < 4; i++) {
                StageId id = start(bench, "/bin/sh", "-c", TICKS);
                String before = left(bench, id).replaceAll("group of [^,]*,", "");
                long init = bench.engine.status(id).initPid();
                bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
                CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
                StageBench.until(
                        "the trial",
                        SOON,
                        () -> dump.isDone()
                                || Files.exists(folder(bench, id).trial().resolve("words")));
                Thread.sleep(i * 20);
                LibC.kill(init, LibC.SIGKILL);
                assertEquals(
                        TrialVerdict.PASSED,
                        dump.orTimeout(60, TimeUnit.SECONDS).join().trial().verdict());
                assertEquals(before, left(bench, id).replaceAll("group of [^,]*,", ""));
                StageBench.until(
                        "suspended", SOON, () -> bench.engine.status(id).state() == State.SUSPENDED);
                bench.engine.resume(bench.archive(id), bench.key);
                runsOn(bench, id);
            }
        }
    }

    @Test
    void aTrialWhoseCriuIsKilledIsNoLoss() throws Exception {
        killedAtRandom(Integer.getInteger("preemptible.rounds", 10));
    }

    @Test
    @Tag("soak")
    void aHundredTrialsWhoseCriuIsKilledAreNoLoss() throws Exception {
        killedAtRandom(100);
    }

    private static void killedAtRandom(int rounds) throws Exception {
        Random random = new Random(7);
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            String before = left(bench, id);
            int notTried = 0;
            for (int i = 0; i < rounds; i++) {
                bench.engine.freeze(id, FreezeRequest.ofSuspended());
                CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
                Path noted = folder(bench, id).trial().resolve("words");
                StageBench.until("the trial", SOON, () -> dump.isDone() || Files.exists(noted));
                Thread.sleep(random.nextInt(200));
                pids(folder(bench, id)).stream()
                        .filter(p -> random.nextInt(3) > 0)
                        .forEach(p -> LibC.kill(p, LibC.SIGKILL));
                Checkpoint checkpoint = dump.orTimeout(60, TimeUnit.SECONDS).join();
                notTried += checkpoint.trial().verdict() == TrialVerdict.NOT_TRIED ? 1 : 0;
                assertEquals(before, left(bench, id), "round " + i + ", " + checkpoint.trial());
            }
            System.out.println(notTried + " of " + rounds + " trials were killed");
            bench.engine.thaw(id);
            runsOn(bench, id);
            List<String> lines = bench.output(id);
            for (int i = 0; i < lines.size(); i++) {
                assertEquals("line " + (i + 1), lines.get(i));
            }
        }
    }

    /** The processes of a trial that is under way. */
    private static List<Long> pids(StageFolder stage) {
        try {
            return FreezerKind.at(Files.readString(stage.trial().resolve("group")))
                    .pids(null);
        } catch (IOException | RuntimeException e) {
            return List.of();
        }
    }

    @Test
    @Tag("soak")
    void aThousandTrialsLeaveNothing() throws Exception {
        int rounds = Integer.getInteger("preemptible.rounds", 1000);
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            passes(bench, id);
            StageFolder stage = folder(bench, id);
            StageJson record = new StageFolder(stage.images()).read().orElseThrow();
            ImageTrial.Subject subject = new ImageTrial.Subject(
                    id,
                    stage.images(),
                    stage.trial(),
                    stage.logs(),
                    stage.tools(),
                    new CriuSearch().usable().orElseThrow().program(),
                    record.options(),
                    record.mounts(),
                    null);
            String before = left(bench, id);
            int threads = Thread.activeCount();
            long open = descriptors();
            List<Long> millis = new ArrayList<>();
            for (int i = 0; i < rounds; i++) {
                try (RunningTrial trial = RunningTrial.begin(subject, () -> false)) {
                    TrialResult result = trial.result();
                    assertEquals(TrialVerdict.PASSED, result.verdict(), "round " + i + ": " + result);
                    millis.add(result.millis());
                }
                if (i % 50 == 0) {
                    assertEquals(before, left(bench, id), "round " + i);
                    assertTrue(Thread.activeCount() <= threads + 1, "threads in round " + i);
                    assertTrue(descriptors() <= open + 5, "descriptors in round " + i);
                }
            }
            System.out.println(rounds + " trials, median "
                    + millis.stream().sorted().toList().get(rounds / 2) + " ms");
            assertEquals(before, left(bench, id));
            bench.engine.thaw(id);
            runsOn(bench, id);
        }
    }

    private static long descriptors() throws IOException {
        try (var open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }
}
