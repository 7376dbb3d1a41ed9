package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Stages that cannot be dumped, frozen in memory where the request allows it. */
@Tag("host")
class FrozenOnlyStageTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final FreezeRequest NOT_ALLOWED = new FreezeRequest(DumpGuard.NONE, 0);
    private static final FreezeRequest ALLOWED = NOT_ALLOWED.orFrozenOnly(1L << 40);
    private static final int LINES = 60;
    private static final String COUNTS =
            "i=0; while [ $i -lt " + LINES + " ]; do i=$((i+1)); echo line $i; sleep 0.02; done";

    private static void grows(StageBench bench, StageId id) throws Exception {
        long before = 0;
        StageBench.until(
                "output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > before + 3);
    }

    private static SuspendFailedException refused(StageBench bench, StageId id, FreezeRequest request) {
        SuspendFailedException refused =
                assertThrows(SuspendFailedException.class, () -> bench.engine.freeze(id, request));
        assertEquals(State.RUNNING, bench.engine.status(id).state());
        return refused;
    }

    /** Frozen, frozen again after a restart of the controller, and thawed. */
    private static Frozen standsStill(StageBench bench, StageId id) throws Exception {
        Frozen frozen = bench.engine.freeze(id, ALLOWED);
        assertTrue(frozen.memoryOnly());
        assertEquals(Handover.AT_FREEZE, frozen.handover());
        long stands = StageBench.lines(bench.engine.status(id).output());
        assertEquals(State.SUSPENDING, bench.engine.status(id).state());
        bench.engine.freeze(id, FreezeRequest.ofSuspended());
        assertEquals(stands, StageBench.lines(bench.engine.status(id).output()));
        assertEquals(Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
        return frozen;
    }

    @Test
    void underStrace() throws Exception {
        assumeTrue(HostTool.find("strace").isPresent(), "strace is not installed");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("exec strace -f -o /dev/null /bin/sh -c '" + COUNTS + "; exit 7'")
                    .id();
            grows(bench, id);
            assertEquals(FailureReason.TRACED, refused(bench, id, NOT_ALLOWED).reason());
            assertEquals(
                    FailureReason.FROZEN_SHARE,
                    refused(bench, id, NOT_ALLOWED.orFrozenOnly(1)).reason());
            Frozen frozen = standsStill(bench, id);
            assertTrue(frozen.ties().get(0).startsWith(FailureReason.TRACED.sentence()), frozen::toString);
            assertTrue(frozen.ties().get(0).contains("strace"), frozen::toString);
            assertEquals(7, bench.engine.await(id));
            assertEquals(
                    IntStream.rangeClosed(1, LINES).mapToObj(i -> "line " + i).toList(), bench.output(id));
        }
    }

    @Test
    void withAConnectionToTheOutside() throws Exception {
        assumeTrue(HostTool.find("bash").isPresent(), "bash is not installed");
        try (StageBench bench = StageBench.open();
                ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            StageId id = bench.script("exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + server.getLocalPort()
                            + "; while read -r line <&3; do echo got $line >&3; echo $line; done'")
                    .id();
            try (Socket peer = server.accept();
                    BufferedReader answers = new BufferedReader(new InputStreamReader(peer.getInputStream()))) {
                peer.setSoTimeout((int) SOON.toMillis());
                peer.getOutputStream().write("before\n".getBytes());
                assertEquals("got before", answers.readLine());
                StageBench.until(
                        "it reads",
                        SOON,
                        () -> bench.engine.preflight(id).obstacles().stream()
                                .anyMatch(obstacle -> obstacle.reason() == FailureReason.CONNECTED_TCP));
                assertEquals(
                        FailureReason.CONNECTED_TCP,
                        refused(bench, id, NOT_ALLOWED).reason());
                Frozen frozen = bench.engine.freeze(id, ALLOWED);
                assertTrue(frozen.ties().get(0).contains("127.0.0.1:" + server.getLocalPort()), frozen::toString);
                peer.getOutputStream().write("meanwhile\n".getBytes());
                assertEquals(List.of("before"), bench.output(id));
                bench.engine.thaw(id);
                assertEquals("got meanwhile", answers.readLine());
            }
            assertEquals(0, bench.engine.await(id), "the stage lives until its peer goes");
        }
    }

    /** As an emulator has it. */
    @Test
    void withAnOpenDevice() throws Exception {
        Path device = Stream.of("/dev/kvm", "/dev/fuse", "/dev/net/tun")
                .map(Path::of)
                .filter(Files::isReadable)
                .findFirst()
                .orElse(null);
        assumeTrue(device != null, "there is no device that CRIU refuses");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("exec 3<> " + device + "; " + COUNTS + "; exit 7")
                    .id();
            grows(bench, id);
            String refused = refused(bench, id, NOT_ALLOWED).reason().name();
            assertTrue(refused.endsWith("DEVICE"), refused);
            Frozen frozen = standsStill(bench, id);
            assertTrue(frozen.ties().get(0).contains(device.toString()), frozen::toString);
            assertEquals(7, bench.engine.await(id));
            assertEquals(
                    IntStream.rangeClosed(1, LINES).mapToObj(i -> "line " + i).toList(), bench.output(id));
        }
    }

    /** A file there is no process's memory, and stays in the host's as long as the stage stands still. */
    @Test
    void filesInATmpfsOfItsOwnCountForTheShare() throws Exception {
        assumeTrue(HostTool.find("strace").isPresent(), "strace is not installed");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("mkdir 'own files' && mount -t tmpfs -o size=100m preemptible 'own files'"
                            + " && head -c 60m /dev/zero > 'own files/large'"
                            + " && exec strace -f -o /dev/null /bin/sh -c 'while :; do echo line; sleep 0.02; done'")
                    .id();
            grows(bench, id);
            StageBench.until(
                    "traced",
                    SOON,
                    () -> bench.engine.preflight(id).ties().stream()
                            .anyMatch(tie -> tie.reason() == FailureReason.TRACED));
            assertEquals(
                    FailureReason.FROZEN_SHARE,
                    refused(bench, id, NOT_ALLOWED.orFrozenOnly(50L << 20)).reason());
            Frozen frozen = standsStill(bench, id);
            assertTrue(frozen.residentBytes() > 60L << 20, frozen::toString);
        }
    }

    @Test
    void killedWhileItIsFrozen() throws Exception {
        assumeTrue(HostTool.find("strace").isPresent(), "strace is not installed");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(
                            "exec strace -f -o /dev/null /bin/sh -c 'echo up; echo up; echo up; echo up; echo up; sleep 1000'")
                    .id();
            grows(bench, id);
            bench.engine.freeze(id, ALLOWED);
            bench.engine.kill(id);
            assertEquals(State.KILLED, bench.engine.status(id).state());
        }
    }

    @Test
    void whatCanBeDumpedIsAsEver() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(COUNTS).id();
            grows(bench, id);
            Frozen frozen = bench.engine.freeze(id, ALLOWED);
            assertFalse(frozen.memoryOnly());
            assertEquals(List.of(), frozen.ties());
            bench.engine.thaw(id);
            assertEquals(0, bench.engine.await(id));
        }
    }
}
