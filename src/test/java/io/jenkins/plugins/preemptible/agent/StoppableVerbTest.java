package io.jenkins.plugins.preemptible.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import hudson.FilePath;
import hudson.model.Slave;
import hudson.remoting.VirtualChannel;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import jenkins.MasterToSlaveFileCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.InboundAgentExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Calls that are not waited for to their end, to a real agent over a WebSocket. */
@WithJenkins
class StoppableVerbTest {

    /** Of several frames. */
    private static final int LONG_ANSWER = 250_000;

    @RegisterExtension
    private final InboundAgentExtension agents = new InboundAgentExtension();

    @TempDir
    Path temp;

    private FilePath folder;

    @BeforeEach
    void agent(JenkinsRule j) throws Exception {
        Slave agent = agents.createAgent(
                j,
                InboundAgentExtension.Options.newBuilder()
                        .name("worker")
                        .webSocket()
                        .build());
        folder = new FilePath(Objects.requireNonNull(agent.getChannel()), temp.toString());
    }

    @Test
    void whatIsStoppedTakesNoOtherAnswerAlong() throws Exception {
        for (int round = 0; round < 5; round++) {
            Path begun = temp.resolve("begun-" + round);
            Awaited<byte[]> late = Limited.askLong(folder, byte[].class, new Busy(begun.toString(), true));
            until(begun);
            late.giveUp();
            allAreAnswered();
        }
    }

    @Test
    void whatIsReadAheadInVainTakesNoOtherAnswerAlong() throws Exception {
        for (int round = 0; round < 50; round++) {
            Awaited<Long> waitedFor = Limited.askLong(folder, Long.class, new Echo(round));
            Awaited<byte[]> ahead = Limited.ask(folder, byte[].class, new Busy(null, false));
            Awaited<byte[]> further = Limited.ask(folder, byte[].class, new Busy(null, false));
            ahead.giveUp();
            further.giveUp();
            assertEquals((long) round, (long) assertTimeoutPreemptively(Duration.ofSeconds(30), waitedFor::get));
        }
        allAreAnswered();
    }

    @Test
    void aLongVerbEndsWhenNobodyWaitsForItAnyMore() throws Exception {
        Path begun = temp.resolve("begun");
        Awaited<byte[]> sleeping = Limited.askLong(folder, byte[].class, new Sleep(begun.toString()));
        until(begun);
        sleeping.giveUp();
        until(temp.resolve("begun.stopped"));
        allAreAnswered();
    }

    private void allAreAnswered() throws Exception {
        for (long n = 0; n < 10; n++) {
            assertEquals(
                    n,
                    Limited.act(folder, Long.class, new Echo(n), TimeUnit.SECONDS.toMillis(20)),
                    "an answer was lost");
        }
    }

    private static void until(Path there) {
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> Files.exists(there));
    }

    private static final class Echo extends MasterToSlaveFileCallable<Long> {
        private static final long serialVersionUID = 1L;
        private final long number;

        Echo(long number) {
            this.number = number;
        }

        @Override
        public Long invoke(File folder, VirtualChannel channel) {
            return number;
        }
    }

    /** Computes until it is interrupted, and does not take that flag away. */
    private static final class Busy extends MasterToSlaveFileCallable<byte[]> {
        private static final long serialVersionUID = 1L;
        private final String begun;
        private final boolean untilInterrupted;

        Busy(String begun, boolean untilInterrupted) {
            this.begun = begun;
            this.untilInterrupted = untilInterrupted;
        }

        @Override
        public byte[] invoke(File folder, VirtualChannel channel) throws IOException {
            if (begun != null) {
                Files.createFile(Path.of(begun));
            }
            while (untilInterrupted && !Thread.currentThread().isInterrupted()) {
                Thread.onSpinWait();
            }
            return new byte[LONG_ANSWER];
        }
    }

    private static final class Sleep extends MasterToSlaveFileCallable<byte[]> {
        private static final long serialVersionUID = 1L;
        private final String begun;

        Sleep(String begun) {
            this.begun = begun;
        }

        @Override
        public byte[] invoke(File folder, VirtualChannel channel) throws IOException {
            Files.createFile(Path.of(begun));
            try {
                Thread.sleep(TimeUnit.HOURS.toMillis(1));
            } catch (InterruptedException x) {
                Files.createFile(Path.of(begun + ".stopped"));
            }
            return new byte[0];
        }
    }
}
