package io.jenkins.plugins.preemptible.overview;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.ExtensionList;
import hudson.model.AdministrativeMonitor;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.htmlunit.html.HtmlPage;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What administrators are told of on their own page, in a browser with scripts: it shows the monitors. */
@WithJenkins
class MonitorsTest {

    private static final String NAME = "<b>fuzz</b>";

    private static JenkinsRule j;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) {
        j = rule;
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    private static boolean shown(Class<? extends AdministrativeMonitor> monitor) {
        return ExtensionList.lookupSingleton(monitor).isActivated();
    }

    private static String managePage() throws Exception {
        HtmlPage page = j.createWebClient().goTo("manage/");
        return page.asNormalizedText();
    }

    @Test
    void agentsThatCannotSuspendAreToldOfWhileNoneCan() throws Exception {
        HowSuspended.opened("", false, null, "CRIU is <b>missing</b>");
        assertTrue(shown(NoCapableAgentMonitor.class));
        assertThat(managePage(), containsString("No agent can suspend preemptible stages."));
        assertThat(managePage(), containsString("CRIU is <b>missing</b>"));
        HowSuspended.opened("", true, null, null);
        assertFalse(shown(NoCapableAgentMonitor.class));
    }

    @Test
    void stagesThatNeedADecisionAreToldOf() throws Exception {
        assertFalse(shown(UndecidedStagesMonitor.class));
        // Of a build that runs: LostStages drops the others.
        WorkflowJob job = j.createProject(WorkflowJob.class, "long");
        job.setDefinition(new CpsFlowDefinition("sleep 3600", true));
        WorkflowRun run = job.scheduleBuild2(0).waitForStart();
        StageRecord stage = Pretended.suspendedFor(run.getExternalizableId(), null, null, "Because.");
        StageRegistry.get().add(Pretended.notResumed(stage, NAME));
        assertTrue(shown(UndecidedStagesMonitor.class));
        assertThat(managePage(), containsString("could not be resumed three times. " + NAME));
        StageRegistry.get().ended(stage.id());
        StageRegistry.get().cleaned(stage.id());
        assertFalse(shown(UndecidedStagesMonitor.class));
        run.doStop();
        j.waitForCompletion(run);
    }

    /** The script of the lists has nothing to do on the page, and finds nothing on others. */
    @Test
    void theScriptOfTheListsFailsOnNoPage() throws Exception {
        List<JenkinsRule.WebClient> clients = new ArrayList<>();
        for (String page : new String[] {"preemptible/", "preemptible/agents", "computer/(built-in)/preemptible/"}) {
            JenkinsRule.WebClient client = j.createWebClient();
            clients.add(client);
            HtmlPage shown = client.goTo(page);
            assertTrue(shown.querySelectorAll("script[src$='live.js']").size() == 1, page);
            shown.querySelectorAll("[data-preemptible-live]")
                    .forEach(part -> part.getParentNode().removeChild(part));
        }
        // The script looks every five seconds, on all pages at once.
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(6);
        for (JenkinsRule.WebClient client : clients) {
            client.waitForBackgroundJavaScript(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
        }
    }
}
