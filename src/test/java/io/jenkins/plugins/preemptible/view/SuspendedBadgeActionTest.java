package io.jenkins.plugins.preemptible.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Run;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.htmlunit.html.DomElement;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class SuspendedBadgeActionTest {

    private static JenkinsRule jenkins;
    private WorkflowRun build;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) {
        jenkins = rule;
    }

    @AfterAll
    static void stop() throws Exception {
        jenkins.after();
    }

    @BeforeEach
    void aBuildRuns() throws Exception {
        WorkflowJob project = jenkins.createProject(WorkflowJob.class, "fuzzing");
        project.setDefinition(new CpsFlowDefinition("sleep 600", true));
        build = project.scheduleBuild2(0).waitForStart();
    }

    @AfterEach
    void itEnds() throws Exception {
        build.doStop();
        jenkins.waitForCompletion(build);
        build.getParent().delete();
        known().clear();
    }

    @Test
    void aBuildWithoutSuspendedStagesHasNoBadge() throws Exception {
        assertEquals(List.of(), build.getActions(SuspendedBadgeAction.class));
        assertEquals(0, badges().size());
    }

    @Test
    void theBadgeSaysWhichStageForWhomAndHowLarge() throws Exception {
        suspended(
                new SuspendedStages.View("fuzz", "deploy #12", System.currentTimeMillis() - 65_000, false, 52_428_800));

        List<DomElement> badges = badges();

        assertEquals(1, badges.size());
        String tooltip = badges.get(0).getAttribute("tooltip");
        assertTrue(tooltip.startsWith("Stage \u201cfuzz\u201d has been suspended for 1 min "), tooltip);
        assertTrue(tooltip.contains("in favour of deploy #12."), tooltip);
        assertTrue(tooltip.endsWith("Its image has 50.00 MiB."), tooltip);
    }

    @Test
    void everySuspendedStageHasItsLine() {
        long now = System.currentTimeMillis();
        suspended(
                new SuspendedStages.View("a", null, now, true, 0),
                new SuspendedStages.View("b", "x #1", now, false, 0));

        String tooltip = build.getAction(SuspendedBadgeAction.class).getTooltip();

        assertEquals(2, tooltip.lines().count(), tooltip);
        String frozen =
                "Stage \u201ca\u201d has been suspended for [^,]*\\. Its processes are frozen in the agent\u2019s memory .*";
        assertTrue(tooltip.lines().findFirst().orElseThrow().matches(frozen), tooltip);
    }

    @Test
    void theBadgeSaysWhoWantsItSuspended() {
        suspended(
                new SuspendedStages.View("a", "x #1", 1, true, 0, true, "ada"),
                new SuspendedStages.View("b", null, 1, false, 0, true, null));

        List<String> lines = build.getAction(SuspendedBadgeAction.class).getSentences();

        assertTrue(
                lines.get(0)
                        .contains("in favour of x #1. It was suspended by ada and stays suspended until someone"
                                + " resumes it. Its processes are frozen"),
                lines.get(0));
        assertTrue(
                lines.get(1).endsWith(" It was suspended manually and stays suspended until someone resumes it."),
                lines.get(1));
    }

    @Test
    void theBadgeSaysWhereItIsToGo() {
        suspended(new SuspendedStages.View(
                "a", null, 1, false, false, 0, true, "ada", false, null, 0, 0, "other-agent", false, 0));

        String line = build.getAction(SuspendedBadgeAction.class).getSentences().get(0);

        assertTrue(
                line.endsWith("It was suspended by ada. It is resumed on other-agent as soon as it can go there:"
                        + " a user has asked for that."),
                line);
    }

    @Test
    void theBadgeSaysThatItsAgentIsNotNeeded() {
        suspended(new SuspendedStages.View(
                "a", null, 1, false, false, 2048, false, null, false, null, 0, 0, null, true, 0));

        String line = build.getAction(SuspendedBadgeAction.class).getSentences().get(0);

        assertTrue(
                line.endsWith(
                        "Its image has 2.00 KiB and its workspace is stored with it: it can be resumed without its"
                                + " agent."),
                line);
    }

    @Test
    void theBadgeSaysThatWorkIsRepeated() {
        long tenMinutesAgo = System.currentTimeMillis() - 600_000;
        suspended(new SuspendedStages.View(
                "a", null, 1, false, false, 2048, false, null, false, null, 0, 0, null, true, tenMinutesAgo));

        String line = build.getAction(SuspendedBadgeAction.class).getSentences().get(0);

        assertTrue(
                line.contains("It lost its processes and goes back to its checkpoint of 10 min ago: what it did since"
                        + " then is repeated."),
                line);
    }

    @Test
    void theBuildsOwnPageSaysItToo() throws Exception {
        suspended(new SuspendedStages.View("fuzz", "deploy #12", System.currentTimeMillis(), false, 1024));
        String page = jenkins.createWebClient().getPage(build).asNormalizedText();
        assertTrue(page.contains("Stage \u201cfuzz\u201d has been suspended for"), page);
    }

    @Test
    void namesAreShownAsTextAndNeverRun() throws Exception {
        suspended(new SuspendedStages.View("<b id='broken'>\"x\" onload='y'", "<script>z</script>", 1, false, 0));

        JenkinsRule.WebClient client = jenkins.createWebClient();
        assertEquals(null, client.getPage(build).getElementById("broken"));
        String history = client.getPage(build.getParent()).getWebResponse().getContentAsString();
        assertFalse(history.contains("<script>z"), history);
        assertFalse(history.contains("<b id='broken'"), history);
        assertEquals(1, badges().size());
    }

    @Test
    void theBadgeGoesWhenTheStageGoesOn() throws Exception {
        suspended(new SuspendedStages.View("fuzz", null, 1, false, 0));
        assertEquals(1, badges().size());
        known().clear();
        assertEquals(0, badges().size());
    }

    @Test
    void theBuildsOwnPageTellsOfRunningStages() throws Exception {
        SuspendedStages running = new SuspendedStages() {
            @Override
            public List<View> of(Run<?, ?> run) {
                return List.of();
            }

            @Override
            public List<Running> runningOf(Run<?, ?> run) {
                return List.of(
                        new Running("a", "It is <b>traced</b>.", null, null, 0),
                        new Running("c", null, "It has <b>a connection</b>.", null, 0),
                        new Running("b", null, null, "the image that was kept", System.currentTimeMillis() - 65_000));
            }
        };
        jenkins.jenkins.getExtensionList(SuspendedStages.class).add(running);
        try {
            String page = jenkins.createWebClient().getPage(build).asNormalizedText();
            assertTrue(
                    page.contains("Stage \u201ca\u201d runs and cannot be suspended now. It is <b>traced</b>."), page);
            assertTrue(
                    page.contains(
                            "Stage \u201cc\u201d runs and can only be frozen for a time. It has <b>a connection</b>."),
                    page);
            assertTrue(page.contains("Stage \u201cb\u201d has been running again for 1 min "), page);
            assertTrue(page.contains("resumed from the image that was kept."), page);
            assertEquals(0, badges().size());
        } finally {
            jenkins.jenkins.getExtensionList(SuspendedStages.class).remove(running);
        }
    }

    private void suspended(SuspendedStages.View... stages) {
        known().put(build.getExternalizableId(), List.of(stages));
    }

    private static Map<String, List<SuspendedStages.View>> known() {
        return jenkins.jenkins.getExtensionList(SuspendedStages.class).get(Known.class).stages;
    }

    /** What the list of builds on the job's page shows for the build. */
    private List<DomElement> badges() throws Exception {
        return jenkins.createWebClient().getPage(build.getParent()).getElementsByTagName("svg").stream()
                .filter(icon -> icon.getAttribute("tooltip").contains("suspended"))
                .toList();
    }

    /** Stands for the plugin's own registry of stages. */
    @TestExtension
    public static final class Known implements SuspendedStages {

        private final Map<String, List<View>> stages = new ConcurrentHashMap<>();

        @Override
        public List<View> of(Run<?, ?> run) {
            return stages.getOrDefault(run.getExternalizableId(), List.of());
        }
    }
}
