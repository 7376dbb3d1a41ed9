package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.PluginWrapper;
import hudson.cli.CLICommandInvoker;
import hudson.model.Result;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.graph.FlowGraphWalker;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.RealJenkinsExtension;

/** The plugin is switched off and disabled while a stage is suspended: its build ends well, and loads without the plugin. */
@Tag("acceptance")
class DisabledPluginTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @RegisterExtension
    private final RealJenkinsExtension controller = new RealJenkinsExtension();

    @BeforeAll
    static void assumptions() throws Exception {
        Rig.assumeSuspendable();
    }

    @Test
    void buildsLoadWithoutThePlugin() throws Throwable {
        controller.then(j -> {
            WorkflowJob job = j.createProject(WorkflowJob.class, "low");
            job.setDefinition(new CpsFlowDefinition(
                    "preemptible(label: 'built-in') { sh '''set +x; i=0; while [ ! -e enough ]; do i=$((i+1));"
                            + " echo count-$i; sleep 0.1; done''' }",
                    true));
            WorkflowRun run = job.scheduleBuild2(0).waitForStart();
            awaitLog(run, "count-3\n");
            command(j, "preemptible-suspend", "low", "1");
            awaitLog(run, "is free after");
            command(j, "preemptible-switch-off");
            awaitLog(run, "Resumed on");
            j.jenkins.getWorkspaceFor(job).child("enough").touch(0);
            j.assertBuildStatusSuccess(j.waitForCompletion(run));
            j.jenkins.getPluginManager().getPlugin("preemptible").disable();
        });
        controller.then(j -> {
            PluginWrapper plugin = j.jenkins.getPluginManager().getPlugin("preemptible");
            assertTrue(plugin == null || !plugin.isActive());
            WorkflowJob job = j.jenkins.getItemByFullName("low", WorkflowJob.class);
            WorkflowRun run = job.getBuildByNumber(1);
            assertEquals(Result.SUCCESS, run.getResult());
            assertFalse(run.isBuilding());
            List<FlowNode> nodes = new ArrayList<>();
            new FlowGraphWalker(run.getExecution()).forEach(nodes::add);
            assertTrue(nodes.size() >= 5, nodes::toString);
            assertThat(JenkinsRule.getLog(run), not(containsString("Failed to load")));
            assertEquals(200, j.createWebClient().getPage(run).getWebResponse().getStatusCode());
            job.setDefinition(new CpsFlowDefinition("node('built-in') { sh 'true' }", true));
            j.buildAndAssertSuccess(job);
        });
    }

    private static void command(JenkinsRule j, String name, String... arguments) {
        CLICommandInvoker.Result result = new CLICommandInvoker(j, name).invokeWithArgs(arguments);
        assertEquals(0, result.returnCode(), result.stderr());
    }

    private static void awaitLog(WorkflowRun run, String text) {
        await(text).atMost(PATIENCE).until(() -> JenkinsRule.getLog(run).contains(text));
    }
}
