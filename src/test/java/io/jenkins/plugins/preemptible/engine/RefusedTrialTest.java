package io.jenkins.plugins.preemptible.engine;

import static io.jenkins.plugins.preemptible.engine.TrialSteps.TICKS;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.dumped;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.folder;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.left;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.program;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.runsOn;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.start;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.trial.RunningTrial;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is not killed since its trial failed or was not through in time, and what is not tried at all, with real CRIU. */
@Tag("host")
class RefusedTrialTest {

    @Test
    void aPacketSocketIsNotTriedAndSuspendedAllTheSame() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(
                    bench.work.resolve("script.py"),
                    "import socket, time\n"
                            + "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)\n"
                            + "while True: time.sleep(0.02); print('tick', flush=True)\n");
            StageId id = start(bench, "python3", script.toString());
            Checkpoint checkpoint = dumped(bench, id);
            assertEquals(TrialVerdict.NOT_TRIED, checkpoint.trial().verdict());
            bench.engine.commit(id);
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
        }
    }

    // An overlay over an overlay is as deep as the kernel allows: a third one, the trial's, cannot be mounted over it.
    @Test
    void withoutAnOverlayTheImageIsNotTriedAndTheLogSaysWhy() throws Exception {
        Path outside = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible trial ");
        Path deep = outside.resolve("deep");
        List<String> said = new CopyOnWriteArrayList<>();
        Handler handler = hearing(said);
        Logger log = Logger.getLogger(RunningTrial.class.getName());
        log.addHandler(handler);
        try {
            HostTool.Answer mounted = HostTool.run(
                    10,
                    List.of(
                            "/bin/sh",
                            "-c",
                            "cd \"$1\" && mkdir a b c once deep"
                                    + " && mount -t overlay -o lowerdir=a:b preemptible-test once"
                                    + " && mount -t overlay -o lowerdir=once:c preemptible-test deep",
                            "mounts",
                            outside.toString()));
            assumeTrue(mounted.ok(), () -> "no overlays can be mounted: " + mounted.text());
            try (StageBench bench = StageBench.open()) {
                StageId id = start(bench, "/bin/sh", "-c", "cd '" + deep + "'; " + TICKS);
                Checkpoint checkpoint = dumped(bench, id);
                assertEquals(TrialVerdict.NOT_TRIED, checkpoint.trial().verdict(), () -> "" + checkpoint.trial());
                String why = "no overlay can be mounted over " + deep;
                assertTrue(checkpoint.trial().why().contains(why), checkpoint.trial()::why);
                assertTrue(
                        said.stream().anyMatch(l -> l.contains("An image was not tried") && l.contains(why)),
                        said::toString);
                bench.engine.commit(id);
                assertEquals(State.SUSPENDED, bench.engine.status(id).state());
                bench.engine.resume(bench.archive(id), bench.key);
                runsOn(bench, id);
            }
        } finally {
            log.removeHandler(handler);
            HostTool.run(10, List.of("umount", deep.toString()));
            HostTool.run(10, List.of("umount", outside.resolve("once").toString()));
            StageBench.delete(outside);
        }
    }

    private static Handler hearing(List<String> said) {
        return new Handler() {
            @Override
            public void publish(LogRecord each) {
                said.add(new SimpleFormatter().formatMessage(each));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }

    @Test
    void aTrialThatIsNotThroughInTimeLeavesTheStageInMemory() throws Exception {
        Path outside = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible trial ");
        try (StageBench bench = StageBench.openWith(
                program(outside, "[ \"$1\" = restore ] && exec sleep 600\nexec \"$criu\" \"$@\""))) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            String before = left(bench, id);
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            SuspendFailedException e = assertThrows(
                    SuspendFailedException.class,
                    () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
            assertEquals(FailureReason.TRIAL_TIMEOUT, e.reason(), e::toString);
            assertTrue(e.reason().passing());
            assertFalse(Files.exists(bench.archive(id)));
            assertEquals(before, left(bench, id));
            assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            assertEquals(Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
            runsOn(bench, id);
        } finally {
            StageBench.delete(outside);
        }
    }

    /** Dumps with the real criu, and empties a file that the stage has open before anything is restored. */
    private static CriuSearch spoiling(Path file, Path folder) throws IOException {
        return program(folder, "[ \"$1\" = restore ] && : > '" + file + "'\nexec \"$criu\" \"$@\"");
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBeRestoredStaysFrozenAndGoesOnFromMemory(IfDumpFails ifFails) throws Exception {
        Path outside = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible trial ");
        Path file = Files.writeString(outside.resolve("open"), "content");
        try (StageBench bench = StageBench.openWith(spoiling(file, outside))) {
            StageId id = start(bench, "/bin/sh", "-c", "exec 5<'" + file + "'; " + TICKS);
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            long init = bench.engine.status(id).initPid();
            SuspendFailedException e = assertThrows(
                    SuspendFailedException.class, () -> bench.engine.dump(id, bench.archive(id), bench.key, ifFails));
            assertEquals(FailureReason.NOT_RESTORABLE, e.reason(), e::toString);
            assertTrue(e.criuLines().stream().anyMatch(l -> l.contains("bad size")), () -> "" + e.criuLines());
            assertTrue(e.getMessage().contains(FailureReason.PATH_MISSING.sentence()), e::getMessage);
            assertFalse(Files.exists(bench.archive(id)));
            assertFalse(Files.exists(folder(bench, id).images()));
            if (ifFails == IfDumpFails.STAY_FROZEN) {
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
                assertEquals(
                        Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
            }
            assertEquals(init, bench.engine.status(id).initPid());
            runsOn(bench, id);
        } finally {
            StageBench.delete(outside);
        }
    }
}
