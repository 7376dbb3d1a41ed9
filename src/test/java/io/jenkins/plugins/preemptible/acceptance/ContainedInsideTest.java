package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import hudson.slaves.JNLPLauncher;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Stages with a container block of the Docker Pipeline plugin inside: dumped, killed and restored in that container. */
@WithJenkins
@Tag("acceptance")
class ContainedInsideTest extends OneAgent {

    private static final String INSIDE = "docker.image('" + RealContainers.IMAGE + "').inside('--network none')";

    /** What stands around the container. */
    enum Form {
        NESTED {
            @Override
            String script(String body) {
                return "node('" + Rig.LABEL + "') { preemptible { " + body + " } }";
            }
        },
        OWN {
            @Override
            String script(String body) {
                return "preemptible(label: '" + Rig.LABEL + "') { " + body + " }";
            }
        },
        DECLARATIVE {
            @Override
            String script(String body) {
                return "pipeline { agent none\n stages { stage('one') { agent { preemptible { label '" + Rig.LABEL
                        + "' } }\n steps { script { " + body + " } } } } }";
            }
        };

        abstract String script(String body);
    }

    static String block(String shell) {
        return INSIDE + " { withEnv(['VALUE=a b']) { sh '''set +x\necho value=$VALUE\n" + shell + "\n''' } }";
    }

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
        PreemptibleConfiguration.get().setMoveStages(false);
        if (real != null) {
            real.close();
        }
    }

    private ContainerRef start(Form form, String body) throws Exception {
        low = rig.pipeline("low", 5, form.script(body));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        StageRecord stage = Rig.awaitState(StageState.RUNNING);
        assertThat(Rig.log(victim), containsString("value=a b"));
        assertNotNull(stage.contained(), Rig.log(victim));
        return stage.contained().container();
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

    /** And once more after the block, as a stage of the host. */
    @ParameterizedTest
    @EnumSource(Form.class)
    void preemptedAndRestoredTwice(Form form) throws Exception {
        ContainerRef container = start(
                form,
                block(Rig.endless()) + "\n sh '''set +x\nrm enough; i=0\n"
                        + "while [ ! -e enough ]; do i=$((i+1)); echo host-$i; sleep 0.1; done\n'''\n"
                        + "sh 'echo after it'");
        for (int i = 1; i <= 2; i++) {
            FreeStyleBuild preemptor = preempt("high" + i);
            Rig.awaitSealed(victim, i);
            assertEquals("running", real.status(container));
            assertMoveIsRefused();
            ends(preemptor);
            Rig.awaitLog(victim, "from the image that was kept on the agent", i);
            Rig.awaitCounting(victim);
        }
        Rig.enough(victim);
        Rig.awaitLog(victim, "host-3\n");
        isGone(container);
        assertNull(Rig.awaitState(StageState.RUNNING).contained());
        FreeStyleBuild preemptor = preempt("high3");
        Rig.awaitSealed(victim, 3);
        ends(preemptor);
        Rig.awaitLog(victim, "from the image that was kept on the agent", 3);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("after it"));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }

    private static void assertMoveIsRefused() throws Exception {
        PreemptibleConfiguration.get().setMoveStages(true);
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        DumbSlave other = new DumbSlave("other", "/nowhere", new JNLPLauncher());
        other.setLabelString(Rig.LABEL);
        j.jenkins.addNode(other);
        MoveObstacle why =
                MoveTargets.obstacle(stage, LiveStage.find(stage.id()), other).obstacle();
        PreemptibleConfiguration.get().setMoveStages(false);
        j.jenkins.removeNode(other);
        assertEquals(stage.form() == StageRecord.Form.OWN ? MoveObstacle.IN_CONTAINER : MoveObstacle.NESTED_FORM, why);
    }

    @ParameterizedTest
    @Tag("slow")
    @CsvSource({"NESTED,running", "NESTED,frozen", "NESTED,sealed", "OWN,running", "OWN,frozen", "OWN,sealed"})
    void aborted(Form form, String when) throws Exception {
        ContainerRef container = start(form, block(Rig.endless()) + "\n sh 'echo after it'");
        FreeStyleBuild preemptor = when.equals("running") ? null : preempt("high");
        if (when.equals("sealed")) {
            Rig.awaitSealed(victim, 1);
        }
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        assertThat(Rig.log(victim), not(containsString("after it")));
        Rig.assertNothingLeft(agent, low);
        isGone(container);
        if (preemptor != null) {
            assertTrue(preemptor.isBuilding());
            ends(preemptor);
        }
    }

    /** Its Pipeline is told nothing any more: no step of it stops the container. */
    @Test
    @Tag("slow")
    void killedHardWhileItIsSealed() throws Exception {
        ContainerRef container = start(Form.OWN, block(Rig.endless()));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitSealed(victim, 1);
        victim.doKill();
        j.waitForCompletion(victim);
        Rig.assertNothingLeft(agent, low);
        isGone(container);
        ends(preemptor);
    }

    /** Two images of two moments would not fit each other. */
    @Tag("slow")
    @Test
    void besideABackgroundProcessOfTheHostItIsFrozenOnlyAndItsLogSaysWhy() throws Exception {
        low = rig.pipeline("low", 5, Form.OWN.script("sh 'sleep 1000 > /dev/null 2>&1 &'\n" + block(Rig.endless())));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "This stage cannot be suspended. Steps of the stage run in a container");
        assertThat(Rig.log(victim), containsString("and outside of it sleep"));
        FrozenOnlyTest.freezeOnly(600);
        try {
            FreeStyleBuild preemptor = preempt("high");
            Rig.awaitLog(victim, "stay there, at most until");
            ContainerRef container =
                    Rig.awaitState(StageState.SUSPENDED).contained().container();
            assertEquals("paused", real.status(container));
            ends(preemptor);
            Rig.awaitLog(victim, InMemoryOnlyTest.FROM_FROZEN);
            Rig.awaitCounting(victim);
            assertEquals("running", real.status(container));
            preemptor = preempt("high2");
            victim.getExecutor().interrupt();
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
            ends(preemptor);
            Rig.assertNothingLeft(agent, low);
            isGone(container);
        } finally {
            PreemptibleConfiguration.get().setUndumpable("wait");
        }
    }

    @ParameterizedTest
    @Tag("slow")
    @ValueSource(strings = {"frozen", "sealed"})
    void itsContainerIsRemovedMeanwhile(String when) throws Exception {
        ContainerRef container = start(Form.OWN, block(Rig.endless()));
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

    /** Steps that go by the agent's own process are none of the container's. */
    @Test
    void twoBlocksAndOtherStepsInThem() throws Exception {
        low = rig.pipeline(
                "low",
                5,
                Form.OWN.script(INSIDE + " { sh 'echo first > file'\n echo 'read ' + readFile('file').trim()\n"
                        + " writeFile file: 'file', text: 'second'\n sh 'cat file' }\n"
                        + "sh 'rm file; echo third > file'\n" + block("cat file; " + Rig.endless())));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        String log = Rig.log(victim);
        assertThat(log, containsString("read first\n"));
        assertThat(log, containsString("second"));
        assertThat(log, containsString("third\n"));
        assertThat(log, not(containsString("does not start a stage inside")));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitSealed(victim, 1);
        ends(preemptor);
        Rig.awaitCounting(victim);
        Path file = Rig.workspace(victim).orElseThrow().resolve("file");
        assertEquals("third", Files.readString(file).trim());
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
    }
}
