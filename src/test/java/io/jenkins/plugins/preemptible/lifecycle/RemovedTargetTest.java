package io.jenkins.plugins.preemptible.lifecycle;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.slaves.DumbSlave;
import hudson.slaves.JNLPLauncher;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class RemovedTargetTest {

    private static final String GRACE = RemovedAgent.class.getName() + ".graceMillis";
    private static final String ID = "preemptible-12345678";

    @BeforeEach
    void shortGrace() {
        System.setProperty(GRACE, "4000");
    }

    @AfterEach
    void forget() {
        System.clearProperty(GRACE);
        LiveStage live = LiveStage.find(ID);
        if (live != null) {
            live.forget();
        }
    }

    /** Of a build that runs: every ten seconds, stages of others are dropped. */
    private static void askedOnB(JenkinsRule j) throws Exception {
        WorkflowJob job = j.createProject(WorkflowJob.class, "low");
        job.setDefinition(new CpsFlowDefinition("sleep 3600", true));
        j.waitForMessage("Sleeping for", job.scheduleBuild2(0).waitForStart());
        StageRegistry.get()
                .add(StageRecord.running(ID, StageRecord.Form.OWN, "low#1", "preemptible", "A", "/w/low", null, 5, 0));
        StageRegistry.get().update(ID, StageChanges.restoringOn("B", "token of B"));
    }

    private static StageRecord stage() {
        return StageRegistry.get().find(ID);
    }

    private static void added(JenkinsRule j) throws Exception {
        j.jenkins.addNode(new DumbSlave("B", "/w", new JNLPLauncher()));
    }

    private static void removed(JenkinsRule j) throws Exception {
        j.jenkins.removeNode(j.jenkins.getNode("B"));
    }

    private static void isTakenBack() {
        await("it is taken back").atMost(Duration.ofSeconds(60)).until(() -> stage().restoringOn() == null);
        assertEquals(List.of("token of B"), stage().leftHosts());
    }

    @Test
    void aSecondRemovalGivesTheWholeTimeAgain(JenkinsRule j) throws Exception {
        added(j);
        askedOnB(j);
        StagesInMemory.live(ID, StageClock.SYSTEM);
        removed(j);
        added(j);
        TimeUnit.MILLISECONDS.sleep(2500);
        removed(j);
        long removed = System.nanoTime();
        isTakenBack();
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - removed);
        assertTrue(millis >= 4000, millis + " ms after the second removal");
    }

    /** After a restart, for instance. */
    @Test
    void aStageWhoseBuildIsLoadedLateIsTakenBackThen(JenkinsRule j) throws Exception {
        askedOnB(j);
        // Longer than the agent is waited for, and until that begins.
        TimeUnit.SECONDS.sleep(10);
        assertEquals("B", stage().restoringOn());
        StagesInMemory.live(ID, StageClock.SYSTEM);
        isTakenBack();
    }
}
