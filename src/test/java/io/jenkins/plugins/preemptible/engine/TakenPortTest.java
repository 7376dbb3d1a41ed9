package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Somebody took a suspended stage's port: the resume says so in words, and works when the port is free again. */
@Tag("host")
class TakenPortTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private static String script(boolean connected) {
        return "import os, socket, time\n"
                + "server = socket.socket()\n"
                + "server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                + "server.bind(('127.0.0.1', 0))\n"
                + "server.listen(5)\n"
                + (connected
                        ? "client = socket.create_connection(server.getsockname())\n"
                                + "accepted = server.accept()[0]\n"
                                + "server.close()\n"
                                + "port = client.getsockname()[1]\n"
                        : "port = server.getsockname()[1]\n")
                + "open('next', 'w').write(str(port))\n"
                + "os.rename('next', 'port')\n"
                + "while not os.path.exists('stop'): time.sleep(0.02)\n"
                + (connected
                        ? "client.sendall(b'x')\nassert accepted.recv(1) == b'x'\n"
                        : "socket.create_connection(server.getsockname())\nserver.accept()\n");
    }

    private static int suspended(StageBench bench, StageId id) throws Exception {
        Path file = bench.work.resolve("port");
        StageBench.until("it has its port", SOON, () -> Files.exists(file));
        bench.engine.suspend(id, bench.archive(id), bench.key);
        return Integer.parseInt(Files.readString(file));
    }

    private static void resumed(StageBench bench, StageId id) throws Exception {
        bench.engine.resume(bench.archive(id), bench.key);
        Files.createFile(bench.work.resolve("stop"));
        assertEquals(0, bench.engine.await(id));
    }

    @Test
    void anotherOneListensThere() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start("python3", "-c", script(false)).id();
            int port = suspended(bench, id);
            try (ServerSocket other = new ServerSocket(port, 5, InetAddress.getByName("127.0.0.1"))) {
                ResumeFailedException failed = assertThrows(
                        ResumeFailedException.class, () -> bench.engine.resume(bench.archive(id), bench.key));
                assertEquals(
                        FailureReason.ADDRESS_TAKEN,
                        failed.reason(),
                        () -> failed.criuLines().toString());
                assertTrue(failed.getMessage().contains("is taken on this host"), failed::getMessage);
                assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            }
            resumed(bench, id);
        }
    }

    @Test
    void aConnectionDoesNotNeedItsPortForItself() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        StageBench.assumeConnections();
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start("python3", "-c", script(true)).id();
            int port = suspended(bench, id);
            try (ServerSocket other = new ServerSocket(port, 5, InetAddress.getByName("127.0.0.1"))) {
                resumed(bench, id);
            }
        }
    }
}
