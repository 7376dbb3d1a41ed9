package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.net.URL;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A stage whose build ends without it, and what anybody may ask of the executor that it holds. */
@WithJenkins
@Tag("acceptance")
class DeadBuildTest extends OneAgent {

    @Tag("slow")
    @Test
    void aBuildThatIsKilledHardGivesItsExecutorBack() throws Exception {
        WorkflowJob job = rig.pipeline("killed", 5, Rig.own(Rig.endless()));
        WorkflowRun run = Rig.start(job);
        Rig.awaitLog(run, "count-3\n");
        run.doKill();
        j.waitForCompletion(run);
        await("the executor is free")
                .atMost(Rig.PATIENCE)
                .until(() ->
                        agent.toComputer().isIdle() && StageRegistry.get().all().isEmpty());
    }

    @Test
    void theAgentsRestDataNamesTheBuildOnItsExecutor() throws Exception {
        WorkflowJob job = rig.pipeline("shown", 5, Rig.own(Rig.endless()));
        WorkflowRun run = Rig.start(job);
        Rig.awaitLog(run, "count-3\n");
        JenkinsRule.WebClient web = j.createWebClient();
        for (int depth = 1; depth < 5; depth++) {
            WebRequest request =
                    new WebRequest(new URL(j.getURL(), "computer/worker/api/json?depth=" + depth), HttpMethod.GET);
            assertEquals(200, web.getPage(request).getWebResponse().getStatusCode());
        }
        // All who may read the build may read this, and it is not known who is looking.
        assertFalse(run.getExecution().getCurrentExecutions(true).get().stream()
                .anyMatch(step -> step.getStatus() != null && step.getStatus().contains("suspended for")));
        Rig.enough(run);
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
    }
}
