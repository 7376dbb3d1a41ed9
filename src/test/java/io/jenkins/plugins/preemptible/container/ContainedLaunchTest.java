package io.jenkins.plugins.preemptible.container;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import hudson.Launcher;
import hudson.Proc;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.LogRecorder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A kill that comes while a stage in a container is just being restored. */
@WithJenkins
class ContainedLaunchTest {

    private static final String ID = StageId.create("test").value();
    private static final ContainerRef CONTAINER = new ContainerRef("docker", "0123456789abcdef");
    private static final Duration SOON = Duration.ofSeconds(30);

    private final LogRecorder log =
            new LogRecorder().record(StageThreads.class, Level.WARNING).capture(10);
    private final Launched launched = new Launched();
    private LiveStage live;

    /** Launches nothing, and says that each command has ended so. */
    private static final class Launched extends Launcher.DecoratedLauncher {
        private final List<List<String>> commands = new CopyOnWriteArrayList<>();
        private volatile int code;

        Launched() {
            super(new Launcher.DummyLauncher(TaskListener.NULL));
        }

        @Override
        public Proc launch(ProcStarter starter) {
            commands.add(List.copyOf(starter.cmds()));
            return new Ended(code);
        }
    }

    private static final class Ended extends Proc {
        private final int code;

        Ended(int code) {
            this.code = code;
        }

        @Override
        public boolean isAlive() {
            return false;
        }

        @Override
        public void kill() {
            // There is none.
        }

        @Override
        public int join() {
            return code;
        }

        @Override
        public InputStream getStdout() {
            return InputStream.nullInputStream();
        }

        @Override
        public InputStream getStderr() {
            return InputStream.nullInputStream();
        }

        @Override
        public OutputStream getStdin() {
            return OutputStream.nullOutputStream();
        }
    }

    private static EnterCommand enter(long pid) {
        return new EnterCommand.Contained(
                ID,
                CONTAINER,
                new HostProcess(pid, 4711, "01234567-89ab-cdef-0123-456789abcdef"),
                List.of("/sys/fs/cgroup/docker/preemptible-" + ID + "/cgroup.procs"),
                "/home/agent/preemptible/stages/" + ID + "/rights",
                "/usr/bin/perl",
                "amd64");
    }

    /** The kill of one of two steps comes while the stage is being restored, which it was suspended before. */
    @BeforeEach
    void killWhileItIsRestored(JenkinsRule jenkins) throws Exception {
        StageRecord stage = Pretended.running(ID, "ada", 1_000);
        stage.opened(enter(2_000_001), null);
        stage.launched("/home/agent/workspace/one@tmp/durable-1", 10);
        stage.launched("/home/agent/workspace/two@tmp/durable-2", 10);
        Pretended.suspend(stage, 2_000);
        Pretended.resume(stage);
        StageRegistry.get().add(stage);
        live = StagesInMemory.live(ID, StageClock.SYSTEM);
        Launcher.ProcStarter kill = launched.launch().cmds("docker", "exec", CONTAINER.id(), "ps", "-A");
        ContainerCommand command = ContainerCommand.of(kill.cmds());
        assertInstanceOf(NoProcess.class, new ContainedLaunch(ID, launched, command).launch(kill));
        assertEquals(List.of(), launched.commands);
    }

    @AfterEach
    void forget() {
        live.forget();
    }

    private void resumed(EnterCommand enter) {
        StageRegistry.get().update(ID, stage -> {
            stage.opened(enter, null);
            Pretended.goOn(stage, 3_000);
        });
        live.carryOutKill();
    }

    @Test
    void isCarriedOutByTheCommandOfAfterTheResume() {
        resumed(enter(2_000_002));
        await().atMost(SOON).until(() -> !launched.commands.isEmpty());
        List<String> words = launched.commands.get(0);
        assertThat(words.toString(), containsString("2000002"));
        assertThat(words.toString(), not(containsString("2000001")));
        assertEquals("sh", words.get(words.size() - 3));
    }

    @Test
    void saysThatNothingWasKilled() {
        launched.code = 125;
        resumed(enter(2_000_002));
        await().atMost(SOON)
                .until(() -> log.getRecords().stream()
                        .anyMatch(record -> String.valueOf(record.getThrown()).contains("has ended with 125")));
    }

    @Test
    void findsNothingToKillWhereTheStageLivesThereNoMore() throws Exception {
        resumed(null);
        Thread.sleep(500);
        assertEquals(List.of(), launched.commands);
    }
}
