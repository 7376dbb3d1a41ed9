package io.jenkins.plugins.preemptible.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.Launcher;
import hudson.Proc;
import hudson.model.TaskListener;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What the agent's own programs get that are in front of a step's command. */
@WithJenkins
class SandboxDecoratorTest {

    private static final String ID = StageId.create("test").value();
    private static final String CONTAINER = "0123456789abcdef";
    private static final String STEP = "/home/agent/workspace/one@tmp/durable-0123abcd/script.sh";
    private static final String VARIABLE = "PERL5LIB=/home/agent/workspace/one";

    /** Launches nothing. */
    private static final class Launched extends Launcher.DecoratedLauncher {
        private ProcStarter last;

        Launched() {
            super(new Launcher.DummyLauncher(TaskListener.NULL));
        }

        @Override
        public Proc launch(ProcStarter starter) throws IOException {
            last = starter;
            throw new IOException("not launched");
        }
    }

    private static Launcher.ProcStarter launched(EnterCommand enter, String... command) throws Exception {
        StageRecord stage = Pretended.running(ID, "ada", 1_000);
        stage.opened(enter, null);
        StageRegistry.get().add(stage);
        Launched launched = new Launched();
        Launcher launcher =
                new SandboxDecorator(ID).decorate(launched, new DumbSlave(stage.node(), "/home/agent", null));
        assertThrows(
                IOException.class,
                () -> launcher.launch().cmds(command).envs(VARIABLE).start());
        return launched.last;
    }

    @Test
    void inAContainerTheyGetNothingOfAStep(JenkinsRule jenkins) throws Exception {
        EnterCommand enter = new EnterCommand.Contained(
                ID,
                new ContainerRef("docker", CONTAINER),
                new HostProcess(2_000_001, 4711, "01234567-89ab-cdef-0123-456789abcdef"),
                List.of("/sys/fs/cgroup/docker/preemptible-" + ID + "/cgroup.procs"),
                "/home/agent/preemptible/stages/" + ID + "/rights",
                "/usr/bin/perl",
                "amd64");
        Launcher.ProcStarter starter =
                launched(enter, "docker", "exec", "--env", VARIABLE, CONTAINER, "sh", "-c", STEP);
        assertEquals(List.of(), List.of(starter.envs()));
        List<String> words = starter.cmds();
        assertEquals(List.of("/usr/bin/env", "-i"), words.subList(0, 2));
        assertTrue(words.indexOf("enter") < words.indexOf(VARIABLE), "it is not among the words of the stage");
        assertEquals(List.of("1", VARIABLE, "sh", "-c", STEP), words.subList(words.size() - 5, words.size()));
    }

    @Test
    void onTheHostTheStepHasNoOthers(JenkinsRule jenkins) throws Exception {
        EnterCommand enter = new EnterCommand.Direct(ID, 2_000_001, "", "/usr/bin/nsenter", "/usr/bin/setsid");
        assertEquals(
                List.of(VARIABLE), List.of(launched(enter, "sh", "-c", STEP).envs()));
    }
}
