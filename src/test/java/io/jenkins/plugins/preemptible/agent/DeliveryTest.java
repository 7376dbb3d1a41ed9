package io.jenkins.plugins.preemptible.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.FilePath;
import hudson.remoting.Channel;
import hudson.remoting.ChannelBuilder;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are brought to an agent, here the other end of a channel in this process. */
class DeliveryTest {

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private volatile boolean cut;
    private Channel agent;
    private Socket near;
    private Socket far;

    @TempDir
    Path folder;

    @BeforeEach
    void connect() throws Exception {
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            near = new Socket(listening.getInetAddress(), listening.getLocalPort());
            far = listening.accept();
        }
        Future<Channel> other = threads.submit(() -> new ChannelBuilder("agent", threads)
                .withMode(Channel.Mode.BINARY)
                .build(far.getInputStream(), new BufferedOutputStream(far.getOutputStream())));
        agent = new ChannelBuilder("controller", threads)
                .withMode(Channel.Mode.BINARY)
                .build(near.getInputStream(), new BufferedOutputStream(new Cuttable(near.getOutputStream())));
        other.get();
    }

    @AfterEach
    void end() throws IOException {
        near.close();
        far.close();
        threads.shutdownNow();
    }

    /** Loses what is written, as a link that is cut. */
    private final class Cuttable extends FilterOutputStream {
        Cuttable(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            if (!cut) {
                out.write(bytes, offset, length);
            }
        }
    }

    private FilePath to(String name) {
        return new FilePath(agent, folder.resolve(name).toString());
    }

    @Test
    void arrivesWhole() throws Exception {
        byte[] bytes = new byte[9_000_001];
        new Random(1).nextBytes(bytes);
        Files.writeString(Files.createDirectory(folder.resolve("there")).resolve("file"), "of earlier");
        Delivery.bring(new ByteArrayInputStream(bytes), to("there/file"), () -> true);
        assertArrayEquals(bytes, Files.readAllBytes(folder.resolve("there/file")));
        Delivery.bring(InputStream.nullInputStream(), to("none"), () -> true);
        assertEquals(0, Files.size(folder.resolve("none")));
    }

    /** What it would take from the builds there is given back. */
    @Test
    void nothingIsLeftOnADiskThatIsFull() throws Exception {
        Path disk = Files.createDirectory(folder.resolve("disk"));
        HostTool.Answer mounted =
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=4m", "none", disk.toString()));
        assumeTrue(mounted.ok(), () -> "no tmpfs can be mounted: " + mounted.text());
        try {
            InputStream large = new ByteArrayInputStream(new byte[30_000_000]);
            IOException why = assertThrows(
                    Delivery.NoRoomException.class, () -> Delivery.bring(large, to("disk/image.preempt"), () -> true));
            assertEquals(
                    "the agent's disk has no room for image.preempt. Make room below its root folder",
                    why.getMessage());
            assertFalse(Files.exists(disk.resolve("image.preempt")));
        } finally {
            HostTool.run(10, List.of("umount", "--lazy", disk.toString()));
        }
    }

    /** As one whose link is cut in the midst, until its connection is found to be dead. */
    @Test
    void anAgentThatGoesAwayMeanwhileIsNotWaitedFor() {
        InputStream endless = new InputStream() {
            @Override
            public int read() {
                return 1;
            }

            @Override
            public int read(byte[] into, int offset, int length) {
                if (!cut) {
                    cut = true;
                    CompletableFuture.delayedExecutor(500, TimeUnit.MILLISECONDS)
                            .execute(() -> agent.terminate(new IOException("it is dead")));
                }
                return length;
            }
        };
        assertTimeoutPreemptively(
                Duration.ofSeconds(30),
                () -> assertThrows(IOException.class, () -> Delivery.bring(endless, to("file"), () -> true)));
    }
}
