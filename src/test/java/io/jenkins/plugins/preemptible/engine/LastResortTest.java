package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A stage whose frozen processes, or whose files on the host, are no longer whole. */
@Tag("host")
class LastResortTest {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final String TICKS = "while :; do echo tick; sleep 0.05; done";

    private static void killSleeper(StageBench bench, StageId id) {
        long sleeper = Proc.tree(bench.engine.status(id).initPid()).stream()
                .filter(s -> Proc.commandLine(s.pid()).contains("1000"))
                .filter(s -> s.comm().equals("sleep"))
                .findFirst()
                .orElseThrow()
                .pid();
        LibC.kill(sleeper, LibC.SIGKILL);
        StageBench.until("it to be killed", SOON, () -> Proc.killed(sleeper));
    }

    /** Of a stage that is not sealed anywhere else, these files are all there is. */
    @Test
    void withoutAnArchiveTheReasonIsToldAndTheImageIsKept() throws Exception {
        try (StageBench bench = StageBench.open()) {
            Path open = bench.folder.resolve("open");
            StageId id = bench.script("exec 5> '" + open + "'; " + TICKS).id();
            bench.dump(id, DumpGuard.NONE);
            bench.engine.commit(id);
            Path moved = Files.move(open, bench.folder.resolve("moved"));
            assertEquals(Optional.empty(), bench.engine.resumeHere(id), "the archive may do better");
            for (int i = 0; i < 2; i++) {
                EngineException e =
                        assertThrows(EngineException.class, () -> bench.engine.resumeHere(id, LastResort.NONE));
                assertEquals(FailureReason.PATH_MISSING, e.reason());
                assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            }
            Files.move(moved, open);
            assertEquals(
                    Tier.LOCAL_IMAGE,
                    bench.engine.resumeHere(id, LastResort.NONE).orElseThrow().tier());
            TrialSteps.runsOn(bench, id);
        }
    }

    /** It was not forced to disk, so that a crash may leave it empty. */
    @Test
    void anUnreadableRecordBesideTheFilesLeavesTheArchive() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Files.write(TrialSteps.folder(bench, id).images().resolve("stage.json"), new byte[0]);
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            assertEquals(Tier.ARCHIVE, bench.engine.status(id).tier());
            assertEquals(Optional.empty(), bench.engine.resumeHere(id));
            assertEquals(Optional.empty(), bench.engine.resumeHere(id, LastResort.NONE));
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            TrialSteps.runsOn(bench, id);
        }
    }

    /** As by a shortage of memory, which takes the largest process. */
    @Test
    void aTreeThatHasLostAProcessSinceItsDumpComesFromItsImage() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("sleep 1000 & child=$!; echo $child > child; " + TICKS
                            + " & wait $child; echo the child has ended")
                    .id();
            TrialSteps.runsOn(bench, id);
            bench.dump(id, DumpGuard.NONE);
            killSleeper(bench, id);
            EngineException e = assertThrows(EngineException.class, () -> bench.engine.thaw(id));
            assertEquals(FailureReason.NO_CHECKPOINT, e.reason());
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            assertTrue(Files.exists(bench.archive(id)));
            assertEquals(
                    Tier.LOCAL_IMAGE,
                    bench.engine.resumeHere(id, LastResort.NONE).orElseThrow().tier());
            TrialSteps.runsOn(bench, id);
            assertFalse(bench.output(id).contains("the child has ended"));
        }
    }

    @Test
    void aResumeOfSuchATreeNeedsNoThawBefore() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("sleep 1000 & " + TICKS).id();
            TrialSteps.runsOn(bench, id);
            bench.dump(id, DumpGuard.NONE);
            killSleeper(bench, id);
            assertEquals(
                    Tier.LOCAL_IMAGE, bench.engine.resumeHere(id).orElseThrow().tier());
            TrialSteps.runsOn(bench, id);
        }
    }

    /** The archive's key may be given up already: what is left runs. */
    @Test
    void whereOnlyTheArchiveHasTheProcessTheRestRuns() throws Exception {
        try (StageBench bench = StageBench.openForArchives()) {
            StageId id = bench.script("sleep 1000 & " + TICKS).id();
            TrialSteps.runsOn(bench, id);
            bench.dump(id, DumpGuard.NONE);
            killSleeper(bench, id);
            ResumeReport report = bench.engine.resumeHere(id).orElseThrow();
            assertEquals(Tier.FROZEN, report.tier());
            assertTrue(report.warnings().get(0).startsWith("a process of it was killed"), report::toString);
            TrialSteps.runsOn(bench, id);
        }
    }

    /** It was one when it was dumped, too. */
    @Test
    void aZombieIsNoLostProcess() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start(
                            "python3",
                            "-c",
                            "import os,time\nif os.fork() == 0: os._exit(3)\nwhile True: print('tick', flush=True); time.sleep(.05)")
                    .id();
            TrialSteps.runsOn(bench, id);
            bench.dump(id, DumpGuard.NONE);
            assertEquals(Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
            TrialSteps.runsOn(bench, id);
        }
    }
}
