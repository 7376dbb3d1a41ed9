package io.jenkins.plugins.preemptible.overview;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.lessThan;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Item;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.history.SuspensionHistoryAction;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.net.URL;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import jenkins.model.Jenkins;
import net.sf.json.JSONObject;
import org.htmlunit.WebRequest;
import org.htmlunit.html.HtmlElement;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlPage;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The page of all stages, in a browser without scripts. One Pipeline runs all along; what happens to it is told. */
@WithJenkins
class OverviewTest {

    /** What it would do as a stage's name if the page did not escape it. */
    private static final String NAME = "<b onclick=alert(1)>tests</b>";

    private static JenkinsRule j;
    private static WorkflowRun run;
    private static DumbSlave agent;

    @BeforeAll
    static void aStageRuns(JenkinsRule jenkins) throws Exception {
        j = jenkins;
        agent = j.createOnlineSlave();
        WorkflowJob job = j.createProject(WorkflowJob.class, "job");
        job.setDefinition(new CpsFlowDefinition(
                "preemptible(label: '" + agent.getNodeName() + "', name: '" + NAME + "') { sleep 3600 }", true));
        run = job.scheduleBuild2(0).waitForStart();
        j.waitForMessage("Sleeping for", run);
        StageRegistry.get().update(stage().id(), s -> s.opened(Pretended.enter(s.id()), null));
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin")
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("reader")
                .grant(Jenkins.READ)
                .everywhere()
                .to("stranger")
                .grant(Jenkins.READ, Item.READ, PreemptiblePermissions.SUSPEND)
                .everywhere()
                .to("suspender"));
    }

    @AfterAll
    static void theStageEnds() throws Exception {
        run.doStop();
        j.waitForCompletion(run);
        await().atMost(Duration.ofMinutes(3))
                .until(() -> StageRegistry.get().all().isEmpty());
        j.after();
    }

    private static StageRecord stage() {
        return StageRegistry.get().all().iterator().next();
    }

    private static JenkinsRule.WebClient browser(String user) {
        JenkinsRule.WebClient client = j.createWebClient().withThrowExceptionOnFailingStatusCode(false);
        client.getOptions().setJavaScriptEnabled(false);
        return client.withBasicCredentials(user);
    }

    private static HtmlPage page(String user, String address) throws Exception {
        return browser(user).goTo(address);
    }

    private static String text(String user, String address) throws Exception {
        return page(user, address).asNormalizedText();
    }

    @Test
    void aStageIsListedForThoseWhoMayReadItsJob() throws Exception {
        for (String user : List.of("reader", "suspender", "admin")) {
            assertThat(text(user, "preemptible/running"), containsString(NAME));
            assertThat(text(user, "preemptible/running"), containsString("Running (1)"));
        }
        assertThat(text("stranger", "preemptible/running"), not(containsString("tests")));
        assertThat(text("stranger", "preemptible/running"), containsString("Running (0)"));
        assertThat(text("stranger", "preemptible/running"), containsString("No preemptible stage runs."));
        assertThat(text("reader", "preemptible/"), containsString("No stage is suspended."));
        WebRequest unknown = new WebRequest(new URL(j.getURL(), "preemptible/running"));
        assertEquals(
                403,
                j.createWebClient()
                        .withThrowExceptionOnFailingStatusCode(false)
                        .loadWebResponse(unknown)
                        .getStatusCode());
    }

    @Test
    void aSuspendedStageIsListedWithAgentAndReason() throws Exception {
        StageRegistry.get().update(stage().id(), s -> Pretended.suspend(s, System.currentTimeMillis() - 120_000));
        try {
            String shown = text("reader", "preemptible/");
            assertThat(shown, containsString(NAME));
            assertThat(shown, containsString("2 min"));
            assertThat(shown, containsString(agent.getNodeName()));
            assertThat(text("reader", ""), containsString("Suspended stages (1)"));
            assertThat(text("stranger", ""), not(containsString("Suspended stages")));
            assertThat(text("reader", "computer/"), containsString("suspended stages: 1"));
            assertThat(text("admin", "manage/"), containsString("Preemptible stages"));
        } finally {
            StageRegistry.get().update(stage().id(), s -> Pretended.goOn(s, System.currentTimeMillis()));
        }
    }

    @Test
    void everyListIsSortedByEachOfItsColumns() throws Exception {
        for (Lists list : Lists.values()) {
            HtmlPage shown = page("admin", "preemptible/" + list.id());
            assertEquals(200, shown.getWebResponse().getStatusCode(), list.id());
            shown.getAnchors().stream()
                    .map(anchor -> anchor.getHrefAttribute())
                    .filter(href -> href.startsWith("?sort="))
                    .forEach(href -> {
                        for (String order : List.of(href, href.replace("order=asc", "order=desc"))) {
                            try {
                                HtmlPage sorted = page("admin", "preemptible/" + list.id() + order);
                                assertEquals(200, sorted.getWebResponse().getStatusCode(), order);
                                assertEquals(
                                        1,
                                        sorted.querySelectorAll("th[aria-sort$=ending]")
                                                .size(),
                                        order);
                            } catch (Exception x) {
                                throw new AssertionError(order, x);
                            }
                        }
                    });
        }
        assertThat(text("admin", "preemptible/statistics"), containsString("Last 7 days"));
    }

    @Test
    void aWrongAddressIsRefused() throws Exception {
        for (String wrong : List.of("?sort=nothing", "?order=up", "?from=-1", "?count=0", "?count=x", "?count=501")) {
            assertEquals(
                    400,
                    page("admin", "preemptible/running" + wrong)
                            .getWebResponse()
                            .getStatusCode(),
                    wrong);
        }
    }

    @Test
    void whatIsAskedForIsDoneAfterAConfirmation() throws Exception {
        assertEquals(List.of(), links("reader"));
        assertEquals(List.of("Suspend"), links("suspender"));
        assertEquals(List.of("Suspend", "Never preempt"), links("admin"));
        JenkinsRule.WebClient client = browser("suspender");
        HtmlPage asked =
                client.goTo("preemptible/running").getAnchorByText("Suspend").click();
        assertThat(asked.asNormalizedText(), containsString("Suspend stage “" + NAME + "” of job #1?"));
        assertFalse(stage().byHand(), "it was asked for only");
        HtmlPage after = pressed(asked);
        assertEquals(200, after.getWebResponse().getStatusCode());
        assertTrue(stage().byHand());
        StageRegistry.get().update(stage().id(), StageRecord::notByHand);
    }

    /** Its stage was suspended for a build, say, and not manually: what is to be taken back is the move. */
    @Test
    void aMoveIsTakenBackInTheList() throws Exception {
        PreemptibleConfiguration.get().setMoveStages(true);
        StageRegistry.get().update(stage().id(), s -> Pretended.suspend(s, System.currentTimeMillis()));
        try {
            assertEquals(List.of("Keep suspended"), links("suspender", "preemptible/"));
            StageRegistry.get().update(stage().id(), StageChanges.moveTo(agent.getNodeName()));
            assertEquals(List.of("Resume", "Keep suspended"), links("suspender", "preemptible/"));
        } finally {
            StageRegistry.get().update(stage().id(), StageChanges.moveTo(null));
            StageRegistry.get().update(stage().id(), s -> Pretended.goOn(s, System.currentTimeMillis()));
            PreemptibleConfiguration.get().setMoveStages(false);
        }
    }

    private static List<String> links(String user) throws Exception {
        return links(user, "preemptible/running");
    }

    private static List<String> links(String user, String list) throws Exception {
        return page(user, list).querySelectorAll(".preemptible-steps a").stream()
                .map(link -> link.asNormalizedText())
                .toList();
    }

    @Test
    void anAgentIsDrainedAfterAConfirmation() throws Exception {
        assertEquals(
                0,
                page("suspender", "preemptible/agents")
                        .querySelectorAll(".preemptible-steps a")
                        .size());
        String asking = "preemptible/confirm?verb=drain&agent=" + agent.getNodeName();
        assertThat(text("admin", asking), containsString("Drain " + agent.getNodeName() + "?"));
        assertFalse(DrainedAgents.get().contains(agent.getNodeName()), "it was asked for only");
        assertEquals(403, confirmed("suspender", asking).getWebResponse().getStatusCode());
        assertFalse(DrainedAgents.get().contains(agent.getNodeName()), "it was not for them");
        assertThat(confirmed("admin", asking).asNormalizedText(), containsString("drained by admin"));
        assertTrue(DrainedAgents.get().contains(agent.getNodeName()));
        HtmlPage asked = browser("admin")
                .goTo("preemptible/agents")
                .getAnchorByText("Undo the drain")
                .click();
        pressed(asked);
        assertFalse(DrainedAgents.get().contains(agent.getNodeName()));
        assertThat(text("admin", "preemptible/confirm?verb=drain&agent=none"), containsString("There is no such"));
        assertThat(
                text("admin", "preemptible/confirm?verb=hold&agent=" + agent.getNodeName()), containsString("no such"));
        assertThat(
                text("admin", "preemptible/confirm?verb=drain&agent="),
                containsString("Drain " + j.jenkins.toComputer().getDisplayName() + "?"));
    }

    private static HtmlPage confirmed(String user, String address) throws Exception {
        return pressed(page(user, address));
    }

    private static HtmlPage pressed(HtmlPage asked) throws Exception {
        HtmlForm form = asked.getForms().stream()
                .filter(one -> one.getActionAttribute().endsWith("carry-out"))
                .findFirst()
                .orElseThrow();
        HtmlElement button = form.querySelector("button");
        return button.click();
    }

    @Test
    void usersAreNotAskedAboutStagesThatTheyMayNotSee() throws Exception {
        String confirm = "preemptible/confirm?verb=suspend&stage=" + stage().id();
        assertThat(text("reader", confirm), containsString("Suspend stage"));
        assertThat(text("stranger", confirm), containsString("There is no such stage"));
        assertThat(text("admin", "preemptible/confirm?verb=explode&stage=" + stage().id()), containsString("no such"));
        assertThat(text("admin", "preemptible/confirm"), containsString("There is no such stage"));
    }

    @Test
    void aBuildKeepsItsSuspensions() throws Exception {
        long now = System.currentTimeMillis();
        StageListener.fire(listener -> listener.onSuspended(new StageSuspended(
                stage().ref(),
                now - 9_000,
                now - 5_000,
                31,
                Reason.HIGHER_PRIORITY_WAITS.name(),
                "Because.",
                "secret #1",
                "no-such-job",
                3,
                1 << 20,
                false)));
        StageListener.fire(
                listener -> listener.onSealed(new StageSealed(stage().ref(), now - 4_000, 100, 200, 1 << 20, 1 << 19)));
        StageListener.fire(
                listener -> listener.onResumed(new StageResumed(stage().ref(), now - 1_000, 40, 4_000, "LOCAL_IMAGE")));
        StageListener.fire(listener -> listener.onRefused(new StageRefused(
                stage().ref(), now, StageRefused.Phase.SUSPEND, "<script>", "A reason that only an agent knows.")));
        StageListener.fire(listener -> listener.onRefused(new StageRefused(
                stage().ref(), now, StageRefused.Phase.MOVE, MoveObstacle.OTHER_KERNEL.name(), "Its sentence.")));
        StageListener.fire(listener -> listener.onEnded(new StageEnded(stage().ref(), now, false)));
        JSONObject json = JSONObject.fromObject(browser("reader")
                .goTo(
                        run.getUrl() + "api/json?tree=actions[count,withoutExecutorMillis,stages[name,suspensions[*]]]",
                        "application/json")
                .getWebResponse()
                .getContentAsString());
        JSONObject history = json.getJSONArray("actions").stream()
                .map(JSONObject.class::cast)
                .filter(action -> action.optString("_class").equals(SuspensionHistoryAction.class.getName()))
                .findFirst()
                .orElseThrow();
        assertEquals(1, history.getInt("count"));
        assertEquals(4_000, history.getInt("withoutExecutorMillis"));
        JSONObject one = history.getJSONArray("stages")
                .getJSONObject(0)
                .getJSONArray("suspensions")
                .getJSONObject(0);
        assertEquals(31, one.getInt("tookMillis"));
        assertEquals("LOCAL_IMAGE", one.getString("tier"));
        assertThat(one.getString("preemptor"), not(containsString("secret")));
        String shown = text("reader", run.getUrl() + "preemptible/");
        assertThat(shown, containsString(Reason.HIGHER_PRIORITY_WAITS.sentence()));
        assertThat(shown, containsString("the image that was kept on the agent, in 40 ms"));
        assertThat(shown, not(containsString("secret")));
        assertTrue(page("reader", run.getUrl() + "preemptible/")
                        .querySelectorAll("svg rect")
                        .size()
                > 5);
        assertThat(text("reader", run.getUrl()), containsString("Suspended once"));
        String statistics = text("reader", "preemptible/statistics");
        assertThat(statistics, containsString("suspend: other"));
        assertThat(statistics, containsString("move: The agents' kernels are different releases"));
        assertThat(statistics, not(containsString("script")));
        JSONObject today = JSONObject.fromObject(browser("reader")
                        .goTo("preemptible/api/json?tree=statistics[suspensions,sealed,resumed]", "application/json")
                        .getWebResponse()
                        .getContentAsString())
                .getJSONArray("statistics")
                .getJSONObject(0);
        assertEquals(1, today.getInt("suspensions"));
        assertEquals(1, today.getInt("sealed"));
        assertThat(
                Files.readString(run.getRootDir().toPath().resolve("build.xml")),
                containsString(SuspensionHistoryAction.class.getName()));
    }

    @Test
    void theAgentsPageShowsWhoHadItsExecutors() throws Exception {
        HtmlPage shown = page("reader", agent.toComputer().getUrl() + "preemptible/");
        assertThat(shown.asNormalizedText(), containsString("Executor 1"));
        assertThat(shown.querySelectorAll("svg.preemptible-timeline rect").size(), not(0));
        assertThat(text("stranger", agent.toComputer().getUrl() + "preemptible/"), not(containsString("part of job")));
    }

    /** Whatever this machine can: no stage has to begin before it is known. */
    @Test
    void anAgentTellsWhatItCanWhenItConnects() throws Exception {
        String idle = j.createOnlineSlave().getNodeName();
        await().atMost(Duration.ofMinutes(2)).until(() -> HowSuspended.on(idle).way() != HowSuspended.Way.UNKNOWN);
        assertThat(text("reader", "preemptible/agents"), containsString(idle));
    }

    private static void pretend(int stages) {
        for (int i = 0; i < stages; i++) {
            StageRecord one = Pretended.suspendedFor(run.getExternalizableId(), "x", "no-such-job", "Because.");
            StageRegistry.get().add(Pretended.withId(one, UUID.randomUUID().toString()));
        }
    }

    private static void forget() {
        StageRegistry.get().all().stream()
                .map(StageRecord::id)
                .filter(id -> !id.equals(stageOfTheRun()))
                .toList()
                .forEach(id -> {
                    StageRegistry.get().ended(id);
                    StageRegistry.get().cleaned(id);
                });
    }

    @Test
    void manyStagesAreCutIntoPages() throws Exception {
        try {
            pretend(150);
            HtmlPage first = page("reader", "preemptible/?count=100");
            assertThat(first.asNormalizedText(), containsString("1 to 100 of 150"));
            assertEquals(100, first.querySelectorAll("tbody tr").size());
            HtmlPage next = first.getAnchorByText("Next").click();
            assertThat(next.asNormalizedText(), containsString("101 to 150 of 150"));
            assertThat(first.getWebResponse().getContentLength(), lessThan(400_000L));
        } finally {
            forget();
        }
    }

    private static String stageOfTheRun() {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.name().equals(NAME))
                .findFirst()
                .orElseThrow()
                .id();
    }
}
