package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Item;
import hudson.model.Run;
import hudson.model.User;
import hudson.security.ACL;
import hudson.security.ACLContext;
import hudson.security.AuthorizationStrategy;
import hudson.security.SecurityRealm;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Two jobs, each with readers of its own: neither's build log names the other one's builds. */
@WithJenkins
@Tag("acceptance")
class NamesInLogsTest extends OneAgent {

    @BeforeEach
    void eachHasItsReaders() {
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ)
                .everywhere()
                .to("victims", "urgent", "both")
                .grant(Item.READ)
                .onPaths("quietlow")
                .to("victims", "both")
                .grant(Item.READ)
                .onPaths("secrethigh")
                .to("urgent", "both"));
    }

    @AfterEach
    void open() {
        j.jenkins.setSecurityRealm(SecurityRealm.NO_AUTHENTICATION);
        j.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
    }

    @Test
    void aPipelinesLogDoesNotNameAndItsPageDoesForThoseWhoMayRead() throws Exception {
        WorkflowJob low = rig.pipeline("quietlow", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("secrethigh", 1, "node('linux') { sh '" + Rig.untilEnough() + "' }");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        WorkflowRun preemptor = Rig.start(high);
        Rig.awaitLog(victim, "has the executor");
        Rig.awaitSealed(victim, 1);
        assertEquals(true, tooltip(victim, "both").contains("secrethigh"));
        assertEquals(false, tooltip(victim, "victims").contains("secrethigh"));
        agent.getWorkspaceFor(high).child("enough").touch(0);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(preemptor, "Preempted a running stage on worker");
        goesOn(victim);
        isNeutral(victim, preemptor);
    }

    @Test
    void aFreestyleBuildsLogDoesNotNameEither() throws Exception {
        WorkflowJob low = rig.pipeline("quietlow", 5, Rig.own(Rig.endless()));
        FreeStyleProject high = rig.freestyle("secrethigh", 1, "sleep 1");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        FreeStyleBuild preemptor = high.scheduleBuild2(0).get();
        assertThat(Rig.log(preemptor), containsString("[preemptible] Preempted a running stage on worker"));
        goesOn(victim);
        isNeutral(victim, preemptor);
    }

    private static String tooltip(Run<?, ?> run, String user) {
        try (ACLContext as = ACL.as2(User.getById(user, true).impersonate2())) {
            return run.getAction(SuspendedBadgeAction.class).getTooltip();
        }
    }

    private void goesOn(WorkflowRun victim) throws Exception {
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
    }

    private static void isNeutral(Run<?, ?> victim, Run<?, ?> preemptor) throws Exception {
        String log = Rig.log(victim);
        assertThat(log, containsString("Suspending this stage for a build of higher priority: "));
        assertThat(log, containsString("Executor worker #0 goes to a build of higher priority"));
        assertThat(log, containsString("A build of higher priority has the executor"));
        assertThat(log, not(containsString("secrethigh")));
        assertThat(Rig.log(preemptor), not(containsString("quietlow")));
    }
}
