package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.EnvVars;
import hudson.ExtensionList;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import io.jenkins.plugins.preemptible.agent.PausedOnAgent;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.lifecycle.Ending;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.LogRecorder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The end of a stage whose container is paused, while the daemon on its agent does not answer: nobody else lets it run again. */
@WithJenkins
@Tag("acceptance")
class AwayDaemonTest extends OneAgent {

    private static final Path SOCKET = Path.of("/var/run/docker.sock");
    /** More than the controller tries to clean up what an agent fails to. */
    private static final int MANY = 30;

    private static Path folder;
    private RealContainers real;

    @Override
    void assumptions() throws Exception {
        super.assumptions();
        real = RealContainers.open("docker");
        assumeTrue(Files.exists(SOCKET), "the daemon listens elsewhere");
    }

    /** The agent alone reaches the daemon by a link. */
    @Override
    EnvVars agentEnvironment() {
        try {
            // A stage has a /tmp of its own.
            folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-daemon");
            Files.createSymbolicLink(link(), SOCKET);
        } catch (IOException x) {
            throw new AssertionError(x);
        }
        return new EnvVars("DOCKER_HOST", "unix://" + link());
    }

    private static Path link() {
        return folder.resolve("docker.sock");
    }

    @BeforeEach
    void freezeOnly() {
        FrozenOnlyTest.freezeOnly(600);
    }

    @AfterEach
    void defaults() {
        PreemptibleConfiguration.get().setUndumpable("wait");
        PreemptibleConfiguration.get().setFrozenOnlyPercent(25);
        if (real != null) {
            real.close();
        }
    }

    @AfterAll
    static void removeLink() throws Exception {
        if (folder != null) {
            StageFolder.delete(folder);
        }
    }

    private static void cleanAgain() {
        ExtensionList.lookupSingleton(Ending.Leftovers.class).run();
    }

    @Test
    void itsContainerRunsAgainWhenTheDaemonAnswers() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, ContainerTest.Place.INSIDE_OWN.script(Rig.endless()));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        ContainerRef container =
                Rig.awaitState(StageState.RUNNING).containers().all().get(0);
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await("high has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        FreeStyleBuild preemptor = high.getLastBuild();
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        assertEquals(new PausedContainers(List.of(container), true), PausedOnAgent.of(agent, stage.id()));
        try (LogRecorder log = new LogRecorder()
                .record(Logger.getLogger(Ending.class.getName()), Level.WARNING)
                .capture(100)) {
            Files.delete(link());
            victim.doKill();
            j.waitForCompletion(victim);
            await("it is said")
                    .atMost(Rig.PATIENCE)
                    .until(() ->
                            String.join("\n", log.getMessages()).contains("cannot let run again what may be paused"));
            assertEquals(new PausedContainers(List.of(container), false), PausedOnAgent.of(agent, stage.id()));
            for (int time = 0; time < MANY; time++) {
                cleanAgain();
                Thread.sleep(500);
            }
            String said = String.join("\n", log.getMessages());
            assertThat(said, containsString("on the agent 'worker' until that is to be reached: " + container.shown()));
            assertThat(said, not(containsString("gave up")));
            assertEquals(1, log.getMessages().size(), said);
            assertEquals("paused", real.status(container));
            assertEquals(1, StageRegistry.get().leftovers().size());
            Files.createSymbolicLink(link(), SOCKET);
            cleanAgain();
            await(container.shown() + " is gone").atMost(Rig.PATIENCE).until(() -> !real.exists(container));
        }
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.assertNothingLeft(agent, low);
    }
}
