package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A stage whose executor is somebody else's already is held, whatever stands against its image. */
@Tag("host")
class MustNotRunTest {

    private static final Duration SOON = Duration.ofSeconds(30);

    /** With a connection to the outside it cannot be dumped: it stands still all the same, and goes on when it may. */
    @Test
    void whatCannotBeDumpedIsHeld() throws Exception {
        assumeTrue(HostTool.find("bash").isPresent(), "bash is not installed (Debian package bash)");
        try (StageBench bench = StageBench.open();
                ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            StageId id = bench.start(
                            "bash",
                            "-c",
                            "exec 3<>/dev/tcp/127.0.0.1/" + server.getLocalPort()
                                    + "; while true; do echo line; sleep 0.02; done")
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 3);
            assertThrows(SuspendFailedException.class, () -> bench.engine.freeze(id, FreezeRequest.plain()));
            for (int i = 0; i < 2; i++) {
                bench.engine.freeze(id, FreezeRequest.ofSuspended());
                SuspendFailedException refused = assertThrows(
                        SuspendFailedException.class,
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
                assertEquals(FailureReason.CONNECTED_TCP, refused.reason());
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            }
            long before = bench.output(id).size();
            assertThrows(SuspendFailedException.class, () -> bench.engine.freeze(id, FreezeRequest.plain()));
            bench.engine.freeze(id, FreezeRequest.ofSuspended());
            assertEquals(Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
            StageBench.until(
                    "more output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > before);
        }
    }

    /** A dump that came to its end, and of which nobody knows, is made anew; nothing of the stage runs in between. */
    @Test
    void aDumpWhoseAnswerWasLostIsMadeAnew() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; sleep 0.02; done; exit 7")
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 3);
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
            long before = bench.output(id).size();
            bench.engine.freeze(id, FreezeRequest.ofSuspended());
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
            assertEquals(before, bench.output(id).size());
            bench.engine.commit(id);
            assertTrue(bench.engine.resumeHere(id).isPresent());
            assertEquals(7, bench.engine.await(id));
            assertEquals(IntStream.rangeClosed(1, 60).mapToObj(i -> "line " + i).toList(), bench.output(id));
        }
    }
}
