package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** As many rounds as {@code -Dpreemptible.faults} says, drawn from {@code -Dpreemptible.seed}. */
@Tag("soak")
class RandomFaultsTest {

    private static final int ROUNDS = Integer.getInteger("preemptible.faults", 0);
    private static final long SEED = Long.getLong("preemptible.seed", 1);
    /** Null after a lost round, which may have left anything. */
    private FaultRig rig;

    @Test
    void nothingIsLost() throws Throwable {
        assumeTrue(ROUNDS > 0, "is run by: ./preempt soak --faults N --seed S");
        Path folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-faults");
        HostReport report = Engine.open(folder.resolve("check")).check();
        assumeTrue(report.ok(), () -> "this host cannot suspend stages: " + report.missing());
        FaultFigures figures = new FaultFigures(SEED);
        List<String> lost = new ArrayList<>();
        try {
            for (int i = 1; i <= ROUNDS; i++) {
                FaultRound round = FaultRound.of(SEED, i);
                if (round.fault().changesClock() && !ControllerProcess.canSetClock()) {
                    System.out.println(
                            "not run: " + round + ": libfaketime is not installed (Debian package libfaketime)");
                    continue;
                }
                if (rig == null) {
                    rig = new FaultRig(Files.createDirectory(folder.resolve("rig-" + i)));
                }
                long began = System.nanoTime();
                RoundRun run = new RoundRun(rig, round);
                try {
                    RoundRun.Seen seen = run.run();
                    figures.add(round, run.stateAtFault(), seen, null, Duration.ofNanos(System.nanoTime() - began));
                } catch (Exception | AssertionError x) {
                    figures.add(
                            round, run.stateAtFault(), null, x.toString(), Duration.ofNanos(System.nanoTime() - began));
                    lost.add(round + ": " + x);
                    keepLogs(round);
                    close();
                }
            }
        } finally {
            close();
            StageFolder.delete(folder);
        }
        assertEquals(List.of(), lost);
    }

    private void close() throws IOException, InterruptedException {
        FaultRig closed = rig;
        rig = null;
        if (closed != null) {
            closed.close();
        }
    }

    private void keepLogs(FaultRound round) throws IOException {
        KeptLogs.keep(
                Path.of("target", "faults", SEED + "-" + round.number()),
                rig.controller.jenkinsHome(),
                FaultRig.AGENTS.stream()
                        .map(agent -> rig.folder.resolve(agent + ".log"))
                        .toList());
    }
}
