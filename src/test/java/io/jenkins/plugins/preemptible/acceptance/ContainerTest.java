package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Stages whose steps run in a real container that the Docker Pipeline plugin starts: frozen with it. */
@WithJenkins
@Tag("acceptance")
class ContainerTest extends OneAgent {

    /** With this right the agent does not enter a container, so that it can be frozen only. */
    private static final String ARGS = "--network none --cap-add SYS_PTRACE";

    private static final String INSIDE = "docker.image('" + RealContainers.IMAGE + "').inside('" + ARGS + "')";

    /** Where the container stands. */
    enum Place {
        AROUND {
            @Override
            String script(String shell) {
                return "node('" + Rig.LABEL + "') { " + INSIDE + " { preemptible { " + sh(shell)
                        + " }\n sh 'echo after it' } }";
            }
        },
        INSIDE_NESTED {
            @Override
            String script(String shell) {
                return "node('" + Rig.LABEL + "') { preemptible { " + INSIDE + " { " + sh(shell)
                        + " }\n sh 'echo after it' } }";
            }
        },
        INSIDE_OWN {
            @Override
            String script(String shell) {
                return "preemptible(label: '" + Rig.LABEL + "') { " + INSIDE + " { " + sh(shell)
                        + " }\n sh 'echo after it' }";
            }
        },
        DECLARATIVE {
            @Override
            String script(String shell) {
                return "pipeline { agent { docker { image '" + RealContainers.IMAGE
                        + "'; args '" + ARGS + "'; label '"
                        + Rig.LABEL + "' } }\n stages { stage('one') { steps { preemptible { " + sh(shell)
                        + " }\n sh 'echo after it' } } } }";
            }
        };

        abstract String script(String shell);

        private static String sh(String shell) {
            return "sh '''set +x\n" + shell + "\n'''";
        }
    }

    private WorkflowJob low;
    private WorkflowRun victim;
    private RealContainers real;

    @Override
    void assumptions() throws Exception {
        super.assumptions();
        real = RealContainers.open("docker");
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

    private ContainerRef start(Place place) throws Exception {
        low = rig.pipeline("low", 5, place.script(Rig.endless()));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        StageRecord stage = Rig.awaitState(StageState.RUNNING);
        return stage.containers().all().get(0);
    }

    private FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        Rig.awaitState(StageState.SUSPENDED);
        return high.getLastBuild();
    }

    /** How far the suspended stage has counted, which its build log may not show yet. */
    private static long written() throws IOException {
        List<String> folders = Rig.awaitState(StageState.SUSPENDED).controlFolders();
        try (Stream<String> lines = Files.lines(Path.of(folders.get(folders.size() - 1), "jenkins-log.txt"))) {
            return lines.filter(line -> line.startsWith("count-")).count();
        }
    }

    private static void ends(FreeStyleBuild preemptor) throws Exception {
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    private void isGone(ContainerRef container) {
        await(container.shown() + " is gone").atMost(Rig.PATIENCE).until(() -> !real.exists(container));
    }

    @ParameterizedTest
    @EnumSource(Place.class)
    void preemptedAndResumedTwice(Place place) throws Exception {
        ContainerRef container = start(place);
        for (int i = 1; i <= 2; i++) {
            FreeStyleBuild preemptor = preempt("high" + i);
            Rig.awaitLog(victim, "stay there, at most until", i);
            assertEquals("paused", real.status(container));
            ends(preemptor);
            Rig.awaitLog(victim, InMemoryOnlyTest.FROM_FROZEN, i);
            assertEquals("running", real.status(container));
            Rig.awaitCounting(victim);
        }
        assertThat(Rig.log(victim), containsString(container.shown()));
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("after it"));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
        isGone(container);
    }

    @ParameterizedTest
    @Tag("slow")
    @EnumSource(Place.class)
    void abortWhileItIsPausedLeavesNothing(Place place) throws Exception {
        ContainerRef container = start(place);
        FreeStyleBuild preemptor = preempt("high");
        long written = written();
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        assertEquals(written, Rig.counts(victim).size(), "nothing of it ran any more");
        assertThat(Rig.log(victim), not(containsString("after it")));
        Rig.assertNothingLeft(agent, low);
        isGone(container);
        assertTrue(preemptor.isBuilding());
        ends(preemptor);
    }

    @ParameterizedTest
    @Tag("slow")
    @EnumSource(Place.class)
    void abortWhileItRuns(Place place) throws Exception {
        ContainerRef container = start(place);
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
        isGone(container);
    }

    /** Its Pipeline is told nothing any more: no step of it stops the container. */
    @Tag("slow")
    @ParameterizedTest
    @EnumSource(
            value = Place.class,
            names = {"INSIDE_NESTED", "INSIDE_OWN"})
    void killedHardWhileItIsPaused(Place place) throws Exception {
        ContainerRef container = start(place);
        FreeStyleBuild preemptor = preempt("high");
        victim.doKill();
        j.waitForCompletion(victim);
        Rig.assertNothingLeft(agent, low);
        isGone(container);
        ends(preemptor);
    }

    @Tag("slow")
    @Test
    void itsTimeIsOver() throws Exception {
        FrozenOnlyTest.freezeOnly(30);
        ContainerRef container = start(Place.INSIDE_OWN);
        WorkflowRun preemptor = Rig.start(rig.pipeline("high", 1, Rig.own(Rig.endless())));
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, "Resumed on worker");
        assertEquals("running", real.status(container));
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.awaitLog(preemptor, "Resumed on worker");
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    void withoutFreezeOnlyItIsNoVictimAndItsLogSaysWhy() throws Exception {
        PreemptibleConfiguration.get().setUndumpable("wait");
        ContainerRef container = start(Place.INSIDE_OWN);
        Rig.awaitLog(victim, "This stage cannot be suspended. Steps of the stage run in a container");
        FreeStyleProject high = rig.freestyle("high", 1, "true");
        high.scheduleBuild2(0);
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        assertEquals("running", real.status(container));
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        await("it runs").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        j.assertBuildStatusSuccess(j.waitForCompletion(high.getLastBuild()));
    }

    /** What follows the container in the stage can be dumped again. */
    @Test
    void afterTheContainerTheStageIsAsAnyOther() throws Exception {
        low = rig.pipeline(
                "low",
                5,
                "preemptible(label: '" + Rig.LABEL + "') { " + INSIDE + " { sh 'true' }\n sh '''set +x\n"
                        + Rig.endless() + "\n''' }");
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        assertEquals(0, Rig.awaitState(StageState.RUNNING).containers().all().size());
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitSealed(victim, 1);
        ends(preemptor);
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    void withAnExecutorOfItsOwnItMustNotStandInAContainer() throws Exception {
        low = rig.pipeline(
                "low",
                5,
                "node('" + Rig.LABEL + "') { " + INSIDE + " { preemptible(label: '" + Rig.LABEL
                        + "') { sh 'true' } } }");
        victim = Rig.start(low);
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("inside a container block"));
        assertEquals(0, StageRegistry.get().all().size());
    }
}
