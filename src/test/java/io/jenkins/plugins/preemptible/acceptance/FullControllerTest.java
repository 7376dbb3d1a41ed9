package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.ExtensionList;
import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.security.AuthorizationStrategy;
import hudson.security.SecurityRealm;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.image.DiskFloorMonitor;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.util.List;
import jenkins.model.Jenkins;
import org.htmlunit.html.HtmlPage;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The controller's disk has less free than its floor: no image is stored, no stage is lost, and people are told. */
@WithJenkins
@Tag("acceptance")
class FullControllerTest extends OneAgent {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.Sealing.retryMillis", 500);

    private final DiskFloorMonitor monitor = ExtensionList.lookupSingleton(DiskFloorMonitor.class);
    private final PreemptibleConfiguration configuration = PreemptibleConfiguration.get();

    @BeforeEach
    void full() {
        configuration.setMemoryFloorMegabytes(0);
        // More than any disk has.
        configuration.setDiskFloorMegabytes(1_048_576);
        configuration.setDiskFloorPercent(99);
    }

    @AfterEach
    void roomAgain() throws Exception {
        room();
        monitor.disable(false);
        j.jenkins.setSecurityRealm(SecurityRealm.NO_AUTHENTICATION);
        j.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
    }

    private void room() {
        configuration.setDiskFloorMegabytes(0);
        configuration.setDiskFloorPercent(0);
    }

    @Test
    void aStageStaysFrozenAndIsSealedWhenThereIsRoomAgain() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        FreeStyleBuild preemptor = high.scheduleBuild2(0).waitForStart();
        Rig.awaitLog(victim, "No image is stored yet. The controller's disk has ");
        Thread.sleep(2_000);
        assertEquals(1, Rig.log(victim).split("No image is stored yet", -1).length - 1, "said once");
        assertThat(Rig.log(victim), not(containsString("Image sealed")));
        assertEquals(List.of(), victim.getArtifacts());
        assertTrue(Rig.awaitState(StageState.SUSPENDED).frozen());
        assertTrue(preemptor.isBuilding(), "the preemptor has the executor");

        room();
        Rig.awaitSealed(victim, 1);
        assertEquals(1, victim.getArtifacts().size());
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        endsWell(victim, low);
    }

    @Test
    void aStageThatWouldHaveToBeStoredFirstRunsOnAndTheDecisionKnowsWhy() throws Exception {
        configuration.setMemoryFloorMegabytes(1_048_576);
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        FreeStyleProject high = rig.freestyle("high", 1, "echo served");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        Pretended.measured("worker", 1_000_000);
        high.scheduleBuild2(0);
        await("the decision says why")
                .atMost(Rig.PATIENCE)
                .until(() -> LastDecision.get().actions().stream()
                        .anyMatch(action -> action.reason() == Reason.NO_ROOM_FOR_IMAGE));
        assertThat(Rig.log(victim), not(containsString("Suspending")));

        // No limit applies to a manual suspension, but the disk's room does.
        new CLICommandInvoker(j, "preemptible-suspend").invokeWithArgs("low", "1");
        Rig.awaitLog(
                victim, "Not suspended, since its image would have to be stored first. The controller's disk has ");
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitCounting(victim);
        assertEquals(StageState.RUNNING, Rig.awaitState(StageState.RUNNING).state());
        assertEquals(List.of(), victim.getArtifacts());
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        await("high is served").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        j.assertBuildStatusSuccess(j.waitForCompletion(high.getLastBuild()));
        assertThat(Rig.log(victim), not(containsString("Executor worker #0 goes to")));
    }

    @Test
    @Tag("slow")
    void administratorsAreToldAndMayDismissThat() throws Exception {
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin")
                .grant(Jenkins.READ, Jenkins.MANAGE)
                .everywhere()
                .to("other"));
        assertTrue(monitor.isActivated());
        String told = "kept free of images.";
        assertTrue(manage("admin").asNormalizedText().contains(told));
        assertFalse(manage("other").asNormalizedText().contains(told));
        room();
        assertFalse(monitor.isActivated());
        assertFalse(manage("admin").asNormalizedText().contains(told));

        full();
        HtmlPage page = manage("admin");
        j.submit(page.getFormByName(monitor.id));
        assertFalse(manage("admin").asNormalizedText().contains(told), "after it was dismissed");
        configuration.setEnabled(false);
        try {
            assertFalse(monitor.isActivated(), "while preemption is switched off");
        } finally {
            configuration.setEnabled(true);
        }
    }

    private HtmlPage manage(String user) throws Exception {
        JenkinsRule.WebClient client = j.createWebClient().withThrowExceptionOnFailingStatusCode(false);
        return client.login(user).goTo("manage/");
    }

    private void endsWell(WorkflowRun victim, WorkflowJob low) throws Exception {
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }
}
