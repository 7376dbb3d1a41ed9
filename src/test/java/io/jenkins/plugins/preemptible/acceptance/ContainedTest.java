package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Stages inside of a container block of the Docker Pipeline plugin: dumped, killed and restored in that container. */
@WithJenkins
@Tag("acceptance")
class ContainedTest extends OneAgent {

    private static final String AFTER = "sh 'echo after $VALUE'";

    private WorkflowJob low;
    private WorkflowRun victim;
    private RealContainers real;

    @Override
    void assumptions() throws Exception {
        super.assumptions();
        real = RealContainers.open("docker");
    }

    @AfterEach
    void close() {
        if (real != null) {
            real.close();
        }
    }

    private static String scripted(String body) {
        return "node('" + Rig.LABEL + "') { docker.image('" + RealContainers.IMAGE + "').inside('--network none') {"
                + " withEnv(['VALUE=a b']) { preemptible { " + body + " } } } }";
    }

    private static String declarative(String body) {
        return "pipeline { agent { docker { image '" + RealContainers.IMAGE + "'; args '--network none'; label '"
                + Rig.LABEL + "' } }\n environment { VALUE = 'a b' }\n stages { stage('one') { steps { preemptible { "
                + body + " } } } } }";
    }

    private static String shell() {
        return "sh '''set +x\necho value=$VALUE\n" + Rig.endless() + "\n'''\n" + AFTER;
    }

    private ContainerRef start(String script) throws Exception {
        low = rig.pipeline("low", 5, script);
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        StageRecord stage = Rig.awaitState(StageState.RUNNING);
        assertThat(Rig.log(victim), containsString("value=a b"));
        assertTrue(stage.enterCommand() instanceof EnterCommand.Contained, stage::toString);
        return ((EnterCommand.Contained) stage.enterCommand()).container();
    }

    private FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        Rig.awaitState(StageState.SUSPENDED);
        return high.getLastBuild();
    }

    private static void ends(FreeStyleBuild preemptor) throws Exception {
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    private void isGone(ContainerRef container) {
        await(container.shown() + " is gone").atMost(Rig.PATIENCE).until(() -> !real.exists(container));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void preemptedAndRestoredTwice(boolean scripted) throws Exception {
        ContainerRef container = start(scripted ? scripted(shell()) : declarative(shell()));
        for (int i = 1; i <= 2; i++) {
            FreeStyleBuild preemptor = preempt("high" + i);
            Rig.awaitSealed(victim, i);
            assertEquals("running", real.status(container));
            ends(preemptor);
            Rig.awaitLog(victim, "from the image that was kept on the agent", i);
            Rig.awaitCounting(victim);
        }
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("after a b"));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
        isGone(container);
    }

    @ParameterizedTest
    @ValueSource(strings = {"running", "frozen", "sealed"})
    void aborted(String when) throws Exception {
        ContainerRef container = start(scripted(shell()));
        FreeStyleBuild preemptor = when.equals("running") ? null : preempt("high");
        if (when.equals("sealed")) {
            Rig.awaitSealed(victim, 1);
        }
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        assertThat(Rig.log(victim), not(containsString("after a b")));
        Rig.assertNothingLeft(agent, low);
        isGone(container);
        if (preemptor != null) {
            assertTrue(preemptor.isBuilding());
            ends(preemptor);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"frozen", "sealed"})
    void itsContainerIsRemovedMeanwhile(String when) throws Exception {
        ContainerRef container = start(scripted(shell()));
        FreeStyleBuild preemptor = preempt("high");
        if (when.equals("sealed")) {
            Rig.awaitSealed(victim, 1);
        }
        real.remove(container.id());
        ends(preemptor);
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(victim));
        if (when.equals("sealed")) {
            assertThat(Rig.log(victim), containsString("The container in which the stage lived has ended"));
        }
        Rig.assertNothingLeft(agent, low);
    }

    /** The agent's own Perl enters the container, as root. */
    @Test
    void theVariablesOfAStepAreNotThoseOfTheAgentsPrograms() throws Exception {
        Path own = Files.createTempDirectory(Path.of("/tmp"), "preemptible-perl");
        try {
            Path loaded = own.resolve("loaded");
            Files.writeString(own.resolve("strict.pm"), "open(my $f, '>', '" + loaded + "'); package strict; 1;");
            low = rig.pipeline(
                    "low",
                    5,
                    "node('" + Rig.LABEL + "') { docker.image('" + RealContainers.IMAGE
                            + "').inside('--network none') { withEnv(['PERL5LIB=" + own
                            + "', 'OTHER=a b']) { preemptible { sh 'echo \"seen=$PERL5LIB,$OTHER,$BUILD_NUMBER\"' } } } }");
            victim = Rig.start(low);
            j.assertBuildStatusSuccess(j.waitForCompletion(victim));
            assertThat(Rig.log(victim), containsString("seen=" + own + ",a b,1\n"));
            assertThat(Rig.log(victim), not(containsString("can be frozen but not dumped")));
            assertFalse(Files.exists(loaded), "the agent's Perl has loaded what a build names");
        } finally {
            StageFolder.delete(own);
        }
    }

    /** What the agent does not enter is frozen only, and its log says why. */
    @Test
    void theLogSaysWhyAContainerIsNotEntered() throws Exception {
        low = rig.pipeline(
                "low",
                5,
                "node('" + Rig.LABEL + "') { docker.image('" + RealContainers.IMAGE
                        + "').inside('--network none --cap-add SYS_PTRACE') { preemptible { sh 'echo runs' } } }");
        victim = Rig.start(low);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("may have the capability SYS_PTRACE"));
        Rig.assertNothingLeft(agent, low);
    }
}
