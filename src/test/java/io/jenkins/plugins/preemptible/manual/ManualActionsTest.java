package io.jenkins.plugins.preemptible.manual;

import static io.jenkins.plugins.preemptible.manual.Requests.answers;
import static io.jenkins.plugins.preemptible.manual.Requests.only;
import static io.jenkins.plugins.preemptible.manual.Requests.told;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.anyOf;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.endsWith;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.startsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.model.Item;
import hudson.security.Permission;
import hudson.security.PermissionScope;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import jenkins.model.Jenkins;
import net.sf.json.JSONObject;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.WebResponse;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlPage;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * Who may do what manually, how it answers, and what programs can read. One Pipeline runs all along, in a stage that
 * never is suspended: it sleeps, which is no process.
 */
@WithJenkins
class ManualActionsTest {

    private static final String[] USERS = {"reader", "owner", "stranger", "suspender", "manager", "admin"};
    /** For whom the verbs of stages are. "stranger" has the same right as "owner", and has started nothing. */
    private static final List<String> MAY_SUSPEND = List.of("owner", "suspender", "manager", "admin");

    private static final List<String> MAY_MANAGE = List.of("manager", "admin");

    private static JenkinsRule j;
    private static Requests web;
    private static WorkflowRun run;
    private static DumbSlave agent;

    @BeforeAll
    static void aStageRuns(JenkinsRule jenkins) throws Exception {
        j = jenkins;
        web = new Requests(j);
        agent = j.createOnlineSlave();
        WorkflowJob job = j.createProject(WorkflowJob.class, "job");
        job.setDefinition(new CpsFlowDefinition(
                "preemptible(label: '" + agent.getNodeName() + "', name: 'tests') { sleep 3600 }", true));
        run = job.scheduleBuild2(0, new CauseAction(new Cause.UserIdCause("owner")))
                .waitForStart();
        j.waitForMessage("Sleeping for", run);
        // Whatever this machine can do: a record as of one that can suspend.
        StageRegistry.get().update(stage().id(), s -> s.opened(Pretended.enter(s.id()), null));
        WorkflowJob ended = j.createProject(WorkflowJob.class, "ended");
        ended.setDefinition(new CpsFlowDefinition("", true));
        j.buildAndAssertSuccess(ended);
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("reader", "owner", "stranger", "suspender", "manager")
                .grant(Jenkins.READ)
                .everywhere()
                .to("blind")
                .grant(PreemptiblePermissions.SUSPEND_OWN)
                .everywhere()
                .to("owner", "stranger")
                .grant(PreemptiblePermissions.SUSPEND)
                .onItems(job)
                .to("suspender")
                .grant(PreemptiblePermissions.MANAGE)
                .everywhere()
                .to("manager")
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin"));
    }

    @AfterEach
    void asBefore() throws Exception {
        StageRegistry.get().update(stage().id(), StageRecord::notByHand);
        run.removeActions(NeverPreemptAction.class);
        DrainedAgents.get().undo(agent.getNodeName());
    }

    @AfterAll
    static void end() throws Exception {
        run.doStop();
        j.waitForCompletion(run);
        await().atMost(Duration.ofMinutes(3))
                .until(() -> StageRegistry.get().all().isEmpty());
        j.after();
    }

    private static StageRecord stage() {
        return await("the stage")
                .atMost(Duration.ofMinutes(3))
                .until(() -> StageRegistry.get().all().stream().findFirst().orElse(null), found -> found != null);
    }

    @Test
    void permissionsAreInTheMatrixAndImplyEachOther() {
        assertEquals("Preemptible", PreemptiblePermissions.GROUP.getId());
        Map<String, Permission> impliedBy = Map.of(
                "Manage", Jenkins.ADMINISTER,
                "Suspend", PreemptiblePermissions.MANAGE,
                "SuspendOwn", PreemptiblePermissions.SUSPEND);
        assertEquals(impliedBy.size(), PreemptiblePermissions.GROUP.size());
        for (Permission permission : PreemptiblePermissions.GROUP) {
            assertEquals(impliedBy.get(permission.name), permission.impliedBy, permission.name);
            assertEquals(permission, Permission.fromId(permission.getId()));
            assertEquals(!permission.name.equals("Manage"), permission.isContainedBy(PermissionScope.ITEM_GROUP));
            assertFalse(permission.description.toString().isBlank());
        }
    }

    /** What a user is told who may not suspend that build. */
    private static String missing(String user) {
        return user.equals("stranger")
                ? "stranger may suspend and resume stages only of builds that they started, and another user started this one"
                : "is missing the Preemptible/Suspend permission";
    }

    @Test
    void usersMaySuspendWhatTheirPermissionsCover() throws Exception {
        for (String user : USERS) {
            boolean may = MAY_SUSPEND.contains(user);
            answers(
                    may ? 200 : 403,
                    may ? "the build log tells when it is" : missing(user) + ": nothing was done",
                    web.post(user, onBuild("suspend?stage=tests")));
            assertEquals(may, stage().byHand(), user);
            answers(may ? 200 : 403, may ? "keeps running" : missing(user), web.post(user, onBuild("resume")));
            assertFalse(stage().byHand(), user);
            assertEquals(
                    may ? 0 : 6,
                    web.command("suspend", user, "job", "1", "tests").returnCode(),
                    user);
            assertEquals(may, stage().byHand(), user);
            assertEquals(may ? 0 : 6, web.command("resume", user, "job", "1").returnCode(), user);
            assertFalse(stage().byHand(), user);
        }
        assertThat(JenkinsRule.getLog(run), containsString("[preemptible] Suspended by owner."));
        assertThat(JenkinsRule.getLog(run), containsString("[preemptible] Resume requested by suspender."));
    }

    @Test
    void aStageIsMeantByItsNameOrItsIdOrWithAllOthers() throws Exception {
        for (String verb : new String[] {"suspend", "suspend?stage=tests", "suspend?stage=" + stage().id()}) {
            WebResponse suspended = web.post("suspender", onBuild(verb));
            answers(200, "the build log tells when it is", suspended);
            JSONObject json = JSONObject.fromObject(suspended.getContentAsString());
            assertEquals(
                    stage().id(),
                    only(json.getJSONArray("stages"), "stage", "tests").getString("id"));
            assertTrue(stage().byHand(), verb);
            answers(200, "keeps running", web.post("suspender", onBuild("resume")));
        }
    }

    @Test
    void exemptionsAreForThoseWhoManage() throws Exception {
        for (String user : USERS) {
            boolean may = MAY_MANAGE.contains(user);
            answers(
                    may ? 200 : 403,
                    may ? "no longer suspended for others" : "Preemptible",
                    web.post(user, onBuild("never")));
            assertEquals(may, NeverPreemptAction.holds(run.getExternalizableId()), user);
            answers(may ? 200 : 403, may ? "again" : "Preemptible/Manage", web.post(user, onBuild("preempt-again")));
            assertFalse(NeverPreemptAction.of(run), user);
            assertEquals(may ? 0 : 6, web.command("never", user, "job", "1").returnCode(), user);
            assertEquals(may, NeverPreemptAction.of(run), user);
            assertEquals(
                    may ? 0 : 6,
                    web.command("never", user, "job", "1", "--undo").returnCode(),
                    user);
            assertFalse(NeverPreemptAction.of(run), user);
        }
        answers(409, "is not exempt", web.post("admin", onBuild("preempt-again")));
    }

    @Test
    void drainsAreForThoseWhoManage() throws Exception {
        String node = agent.getNodeName();
        for (String user : USERS) {
            boolean may = MAY_MANAGE.contains(user);
            answers(may ? 200 : 403, may ? "is being drained" : "Preemptible/Manage", web.post(user, onAgent("drain")));
            assertEquals(may, DrainedAgents.get().contains(node), user);
            assertEquals(may, new DrainedAgents().contains(node), user + ", as it is saved");
            answers(
                    may ? 200 : 403,
                    may ? "no longer being drained" : "Preemptible",
                    web.post(user, onAgent("undrain")));
            assertFalse(DrainedAgents.get().contains(node), user);
            assertEquals(may ? 0 : 6, web.command("drain", user, node).returnCode(), user);
            assertEquals(may, DrainedAgents.get().contains(node), user);
            assertEquals(may ? 0 : 6, web.command("drain", user, node, "--undo").returnCode(), user);
            assertFalse(new DrainedAgents().contains(node), user);
        }
        answers(409, "is not being drained", web.post("admin", onAgent("undrain")));
    }

    @Test
    void evacuationsAreForThoseWhoManageAndSavedWithTheDrain() throws Exception {
        String node = agent.getNodeName();
        String address = agent.toComputer().getUrl() + "preemptible/";
        answers(409, "Drain the agent instead", web.post("manager", onAgent("evacuate")));
        assertFalse(DrainedAgents.get().contains(node));
        assertThat(web.page("manager", address).asNormalizedText(), not(containsString("Evacuate this agent")));
        PreemptibleConfiguration.get().setMoveStages(true);
        try {
            for (String user : USERS) {
                boolean may = MAY_MANAGE.contains(user);
                HtmlPage page = web.page(user, address);
                assertEquals(may, page.asNormalizedText().contains("Evacuate this agent"), user);
                // An agent that is drained already can be evacuated.
                web.post(user, onAgent("drain"));
                assertFalse(DrainedAgents.get().evacuates(node), user);
                answers(
                        may ? 200 : 403,
                        may ? "is being evacuated" : "Preemptible/Manage",
                        web.post(user, onAgent("evacuate")));
                assertEquals(may, DrainedAgents.get().evacuates(node), user);
                assertEquals(may, new DrainedAgents().evacuates(node), user + ", as it is saved");
                web.post(user, onAgent("drain"));
                assertEquals(may, DrainedAgents.get().evacuates(node), user + ", a drain is less");
                page = web.page(user, address);
                assertEquals(may, page.asNormalizedText().contains(user + " has been evacuating this agent"), user);
                assertFalse(page.asNormalizedText().contains("Evacuate this agent"), user);
                web.post(user, onAgent("undrain"));
                assertFalse(new DrainedAgents().evacuates(node), user);
                assertEquals(may ? 0 : 6, web.command("evacuate", user, node).returnCode(), user);
                assertEquals(may, DrainedAgents.get().evacuates(node), user);
                assertEquals(
                        may ? 0 : 6, web.command("drain", user, node, "--undo").returnCode(), user);
                assertFalse(DrainedAgents.get().contains(node), user);
            }
        } finally {
            PreemptibleConfiguration.get().setMoveStages(false);
        }
    }

    @Test
    void theSwitchIsForAdministrators() throws Exception {
        for (String user : USERS) {
            boolean may = user.equals("admin");
            try {
                answers(
                        may ? 200 : 403,
                        may ? "Preemptible stages that run: 1." : "Overall/Administer",
                        web.post(user, "preemptible/switch-off"));
                assertEquals(!may, PreemptibleConfiguration.get().isEnabled(), user);
                if (may) {
                    answers(409, "is switched off", web.post(user, onBuild("suspend")));
                    assertFalse(stage().byHand());
                }
                answers(may ? 200 : 403, may ? "Switched on" : "Overall", web.post(user, "preemptible/switch-on"));
                assertTrue(PreemptibleConfiguration.get().isEnabled(), user);
                assertEquals(may ? 0 : 6, web.command("switch-off", user).returnCode(), user);
                assertEquals(!may, PreemptibleConfiguration.get().isEnabled(), user);
                assertEquals(
                        may ? 0 : 6, web.command("switch-off", user, "--undo").returnCode(), user);
            } finally {
                PreemptibleConfiguration.get().setEnabled(true);
            }
        }
        assertEquals(405, web.get("admin", "preemptible/switch-off").getStatusCode());
        assertTrue(PreemptibleConfiguration.get().isEnabled());
    }

    /** The verbs for a stage that could not be resumed, with one that has no such trouble. */
    @Test
    void whoMayDecideAboutAFailedResume() throws Exception {
        for (String user : USERS) {
            boolean may = MAY_SUSPEND.contains(user);
            answers(
                    may ? 409 : 403,
                    may ? "has not failed three times" : missing(user),
                    web.post(user, onBuild("again")));
            boolean mayEnd = user.equals("admin");
            answers(
                    mayEnd ? 409 : 403,
                    mayEnd ? "has not failed three times" : "is missing",
                    web.post(user, onBuild("give-up")));
            assertEquals(
                    mayEnd ? 4 : 6, web.command("give-up", user, "job", "1").returnCode(), user);
        }
    }

    @Test
    void anonymousMayNothing() throws Exception {
        for (String verb : new String[] {"suspend", "resume", "never", "preempt-again"}) {
            assertEquals(403, web.post(null, onBuild(verb)).getStatusCode(), verb);
        }
        for (String verb : new String[] {"drain", "undrain", "evacuate"}) {
            assertEquals(403, web.post(null, onAgent(verb)).getStatusCode(), verb);
        }
        assertEquals(403, web.get(null, "preemptible/api/json").getStatusCode());
        assertFalse(stage().byHand());
        assertFalse(DrainedAgents.get().contains(agent.getNodeName()));
    }

    @Test
    void nothingIsDoneByGetOrWithoutACrumb() throws Exception {
        for (String address : new String[] {
            onBuild("suspend"),
            onBuild("resume"),
            onBuild("never"),
            onBuild("preempt-again"),
            onAgent("drain"),
            onAgent("undrain"),
            onAgent("evacuate")
        }) {
            WebResponse refused = web.get("admin", address);
            answers(405, "needs POST, and this was GET: nothing was done", refused);
            assertEquals("POST", refused.getResponseHeaderValue("Allow"));
            WebRequest bare = new WebRequest(new URL(j.getURL(), address), HttpMethod.POST);
            assertEquals(403, web.client("admin").loadWebResponse(bare).getStatusCode(), address);
        }
        assertFalse(stage().byHand());
        assertFalse(NeverPreemptAction.of(run));
        assertFalse(DrainedAgents.get().contains(agent.getNodeName()));
    }

    @Test
    void theStateIsReadInPages() throws Exception {
        JSONObject whole = web.state("reader");
        int total = whole.getInt("runningTotal");
        assertEquals(total, whole.getJSONArray("running").size());
        JSONObject none = JSONObject.fromObject(
                web.get("reader", "preemptible/api/json?from=0&count=0").getContentAsString());
        assertEquals(0, none.getJSONArray("running").size());
        assertEquals(total, none.getInt("runningTotal"));
        JSONObject behind = JSONObject.fromObject(
                web.get("reader", "preemptible/api/json?from=" + total).getContentAsString());
        assertEquals(0, behind.getJSONArray("running").size());
        for (String wrong : new String[] {"count=2001", "count=-1", "count=all", "from=-1"}) {
            assertEquals(400, web.get("reader", "preemptible/api/json?" + wrong).getStatusCode(), wrong);
        }
    }

    @Test
    void whatIsNotThereIsToldAsSuch() throws Exception {
        answers(
                404,
                "no running or suspended preemptible stage \u201cother\u201d",
                web.post("admin", onBuild("suspend?stage=other")));
        answers(400, "is empty", web.post("admin", onBuild("suspend?stage=")));
        answers(409, "is not suspended", web.post("admin", onBuild("resume")));
        answers(
                404,
                "no \u201cexplode\u201d here: nothing was done. There are these: suspend, resume, move, again, give-up, never",
                web.post("admin", onBuild("explode")));
        answers(404, "There are these: drain, undrain, evacuate.", web.get("reader", onAgent("drain/twice")));
        answers(
                404,
                "There are these: suspended, running, waiting, agents, statistics,",
                web.get("reader", "preemptible/state"));
        answers(409, "check that it is the right build", web.post("admin", "job/ended/1/preemptible/suspend"));
        answers(409, "nothing left to exempt", web.post("admin", "job/ended/1/preemptible/never"));
        assertEquals(404, web.post("admin", "job/job/2/preemptible/suspend").getStatusCode());
        assertEquals(404, web.post("blind", onBuild("suspend")).getStatusCode(), "as if there were no such job");
        assertEquals(404, web.post("admin", "computer/other/preemptible/drain").getStatusCode());

        told(3, "no build 2", web.command("suspend", "admin", "job", "2"));
        told(3, "No such job 'nosuch'", web.command("suspend", "admin", "nosuch", "1"));
        told(3, "No such job 'job'", web.command("never", "blind", "job", "1"));
        told(3, "no running or suspended preemptible stage", web.command("resume", "admin", "job", "1", "other"));
        told(4, "is not suspended", web.command("resume", "admin", "job", "1"));
        told(3, "no agent", web.command("drain", "admin", "other"));
        told(3, "no agent", web.command("evacuate", "admin", "other"));
        told(6, "Preemptible/Manage", web.command("drain", "reader", "other"));
    }

    /** Somebody's script may have put anything there. */
    @Test
    void aLongWordIsNotEchoedWhole() throws Exception {
        String word = "x".repeat(5_000);
        String cut = "\u201c" + "x".repeat(99) + "\u2026\u201d";
        answers(404, "There is no agent " + cut, web.post("admin", onBuild("move?to=" + word)));
        answers(404, "preemptible stage " + cut, web.post("admin", onBuild("suspend?stage=" + word)));
        answers(404, "There is no " + cut, web.post("admin", onBuild(word.substring(0, 1_000))));
        told(3, "There is no agent " + cut, web.command("drain", "admin", word));
        told(3, "There is no agent " + cut, web.command("move", "admin", "job", "1", "--to", word));
        told(3, "preemptible stage " + cut, web.command("resume", "admin", "job", "1", word));
    }

    @Test
    void whatCannotBeSavedIsNotDone() throws Exception {
        Path inTheWay = j.jenkins.getRootDir().toPath().resolve("preemptible-drained.xml");
        Files.deleteIfExists(inTheWay);
        Files.createDirectories(inTheWay.resolve("full"));
        try {
            answers(500, "cannot save which agents are drained", web.post("manager", onAgent("drain")));
            assertFalse(DrainedAgents.get().contains(agent.getNodeName()));
        } finally {
            Files.delete(inTheWay.resolve("full"));
            Files.delete(inTheWay);
        }
    }

    @Test
    void aStageThatCannotBeSuspendedSaysWhy() throws Exception {
        StageRegistry.get().update(stage().id(), s -> s.opened(null, "CRIU was not found."));
        try {
            WebResponse refused = web.post("owner", onBuild("suspend"));
            answers(409, "cannot be suspended. CRIU was not found.", refused);
            JSONObject one =
                    only(JSONObject.fromObject(refused.getContentAsString()).getJSONArray("stages"), "stage", "tests");
            assertFalse(one.getBoolean("ok"));
            assertFalse(stage().byHand());
            answers(200, "run to their end: 1.", web.post("manager", onAgent("drain")));
        } finally {
            StageRegistry.get().update(stage().id(), s -> s.opened(Pretended.enter(s.id()), null));
        }
    }

    @Test
    void theBuildsPageHasAButtonForWhatOneMayDo() throws Exception {
        assertEquals(List.of(), buttons("reader"));
        assertEquals(List.of("suspend"), buttons("owner"));
        assertEquals(List.of("suspend", "never"), buttons("manager"));
        web.press("owner", run.getUrl(), "suspend");
        assertTrue(stage().byHand());
        web.press("manager", run.getUrl(), "never");
        assertTrue(NeverPreemptAction.of(run));
        assertThat(web.page("reader", run.getUrl()).asNormalizedText(), containsString("never suspended for others"));
        assertThat(
                web.page("reader", run.getUrl()).asNormalizedText(),
                containsString("will be suspended as soon as possible"));
        assertEquals(List.of("resume", "preempt-again"), buttons("manager"));
        web.press("manager", run.getUrl(), "preempt-again");
        assertFalse(NeverPreemptAction.of(run));
        web.press("owner", run.getUrl(), "resume");
        assertFalse(stage().byHand());
    }

    /** Its stage was suspended for a build, say, and not manually. */
    @Test
    void aManualMoveIsTakenBackByTheButton() throws Exception {
        // An agent that Jenkins knows: a wish for another one is cancelled at the next look at the queue.
        PreemptibleConfiguration.get().setMoveStages(true);
        try {
            StageRegistry.get().update(stage().id(), StageChanges.moveTo(agent.getNodeName()));
            assertEquals(List.of("resume", "suspend"), buttons("owner"));
            assertThat(
                    web.page("owner", run.getUrl()).asNormalizedText(),
                    containsString("Take back the move of stage “tests” to " + agent.getNodeName()));
            web.press("owner", run.getUrl(), "resume");
            assertNull(stage().moveTo());
            assertEquals(List.of("suspend"), buttons("owner"));
        } finally {
            PreemptibleConfiguration.get().setMoveStages(false);
        }
    }

    @Test
    void aMoveIsNotTakenBackOnceTheAgentWasAsked() throws Exception {
        StageRegistry.get()
                .update(
                        stage().id(),
                        StageChanges.moveTo("elsewhere").andThen(StageChanges.restoringOn(agent.getNodeName())));
        try {
            answers(409, "was asked to restore it and has not answered", web.post("owner", onBuild("resume")));
            assertEquals("elsewhere", stage().moveTo(), "nothing has changed");
        } finally {
            StageRegistry.get().update(stage().id(), StageChanges.restoringOn(null));
        }
    }

    /** The verbs of the forms on the build's page. */
    private static List<String> buttons(String user) throws Exception {
        return web.page(user, run.getUrl()).getForms().stream()
                .map(HtmlForm::getActionAttribute)
                .filter(action -> action.contains("/preemptible/"))
                .map(action -> action.substring(action.lastIndexOf('/') + 1))
                .toList();
    }

    /** What a browser shows after it has sent that for a button. */
    private static HtmlPage pressed(JenkinsRule.WebClient browser, String address) throws Exception {
        WebRequest request = new WebRequest(new URL(j.getURL(), address), HttpMethod.POST);
        request.setAdditionalHeader("Accept", "text/html,*/*;q=0.8");
        return browser.getPage(browser.addCrumb(request));
    }

    private static List<String> answered(HtmlPage page) {
        return page.querySelectorAll(".jenkins-alert[role]").stream()
                .map(alert -> alert.asNormalizedText())
                .toList();
    }

    @Test
    void aBrowserIsShownTheAnswerOnceWhereTheButtonWas() throws Exception {
        JenkinsRule.WebClient browser = web.browser("owner");
        HtmlPage refused = pressed(browser, onBuild("resume"));
        assertThat(refused.getUrl().toString(), endsWith(run.getUrl() + "#preemptible-answer"));
        assertEquals(List.of("Stage “tests” is not suspended."), answered(refused));
        assertEquals(
                answered(refused).get(0),
                refused.getElementById("preemptible-answer").asNormalizedText());
        assertEquals(List.of(), answered(browser.goTo(run.getUrl())));
        LiveStage.find(stage().id()).objection().over();
        List<String> done = answered(pressed(browser, onBuild("suspend")));
        assertThat(done.toString(), startsWith("[Stage “tests” is being suspended"));
        assertEquals(List.of(), answered(browser.goTo(run.getUrl())));
    }

    @Test
    void anAnswerIsShownToNobodyElse() throws Exception {
        JenkinsRule.WebClient owner = web.browser("owner");
        WebRequest request = new WebRequest(new URL(j.getURL(), onBuild("resume")), HttpMethod.POST);
        request.setAdditionalHeader("Accept", "text/html,*/*;q=0.8");
        owner.getOptions().setRedirectEnabled(false);
        assertEquals(302, owner.loadWebResponse(owner.addCrumb(request)).getStatusCode());
        assertEquals(List.of(), answered(web.page("manager", run.getUrl())));
        assertEquals(List.of(), answered(owner.goTo(agent.toComputer().getUrl() + "preemptible/")), "another page");
        assertEquals(1, answered(owner.goTo(run.getUrl())).size());
    }

    /** Of another tab of the same browser, which is open and would not show it. */
    @Test
    void aPageThatRefreshesItselfTakesNoAnswer() throws Exception {
        String page = agent.toComputer().getUrl() + "preemptible/";
        JenkinsRule.WebClient browser = web.browser("manager");
        WebRequest request = new WebRequest(new URL(j.getURL(), page + "undrain"), HttpMethod.POST);
        request.setAdditionalHeader("Accept", "text/html,*/*;q=0.8");
        browser.getOptions().setRedirectEnabled(false);
        assertEquals(302, browser.loadWebResponse(browser.addCrumb(request)).getStatusCode());
        WebRequest anew = new WebRequest(new URL(j.getURL(), page));
        anew.setAdditionalHeader("X-Preemptible-Anew", "1");
        assertEquals(List.of(), answered(browser.getPage(anew)));
        assertEquals(1, answered(browser.goTo(page)).size());
    }

    @Test
    void anAddressThatIsNoneIsAnsweredOnCoresOwnPage() throws Exception {
        HtmlPage page = pressed(web.browser("owner"), onBuild("explode"));
        assertEquals(400, page.getWebResponse().getStatusCode());
        assertThat(page.asNormalizedText(), containsString("There is no “explode” here"));
    }

    @Test
    void whatTheAgentRefusesIsAnswered() throws Exception {
        LiveStage live = LiveStage.find(stage().id());
        live.objection().over();
        live.refused("A connection <b>leaves</b> the stage.", 60_000);
        try {
            assertThat(
                    web.page("owner", run.getUrl()).asNormalizedText(),
                    containsString("runs and cannot be suspended now. A connection <b>leaves</b> the stage."));
            answers(
                    200,
                    "This stands against it: A connection <b>leaves</b> the stage.",
                    web.post("owner", onBuild("suspend")));
        } finally {
            live.notRefused();
        }
    }

    @Test
    void whatWasAskedForIsSaved() throws Exception {
        web.post("manager", onBuild("suspend"));
        web.post("manager", onBuild("never"));
        Path home = j.jenkins.getRootDir().toPath();
        Path file = home.resolve("preemptible-stages").resolve(stage().id() + ".xml");
        assertThat(Files.readString(file), containsString("<byHand>true</byHand>"));
        assertEquals("manager", stage().byHandUser());
        assertThat(
                Files.readString(run.getRootDir().toPath().resolve("build.xml")),
                containsString(NeverPreemptAction.class.getName()));
    }

    @Test
    void theAgentsPageDrains() throws Exception {
        String address = agent.toComputer().getUrl() + "preemptible/";
        assertThat(web.page("manager", address).asNormalizedText(), containsString("job #1"));
        web.press("manager", address, "drain");
        assertTrue(DrainedAgents.get().contains(agent.getNodeName()));
        HtmlPage page = web.page("manager", address);
        assertThat(page.asNormalizedText(), containsString("manager has been draining this agent"));
        web.press("manager", address, "undrain");
        assertFalse(DrainedAgents.get().contains(agent.getNodeName()));
        assertThat(
                web.page("manager", agent.toComputer().getUrl()).asNormalizedText(),
                containsString("Preemptible stages"));

        HtmlPage blind = web.page("blind", address);
        assertThat(blind.asNormalizedText(), containsString("a build that you may not see"));
        assertFalse(blind.asNormalizedText().contains("job #1"));
        assertTrue(blind.getForms().stream()
                .noneMatch(form -> form.getActionAttribute().contains("drain")));
    }

    @Test
    void programsReadTheWholeState() throws Exception {
        web.post("manager", onBuild("never"));
        web.post("manager", onAgent("drain"));
        WorkflowJob other = j.createProject(WorkflowJob.class, "other");
        other.setDefinition(new CpsFlowDefinition("node('" + agent.getNodeName() + "') {}", true));
        WorkflowRun waiting = other.scheduleBuild2(0).waitForStart();
        // What was decided is there after the next look.
        JSONObject item = await("a decision about the item")
                .atMost(Duration.ofMinutes(3))
                .until(
                        () -> web.state("reader").getJSONArray("waiting").stream()
                                .map(JSONObject.class::cast)
                                .filter(one ->
                                        one.get("decision") instanceof JSONObject decision && !decision.isNullObject())
                                .findFirst()
                                .orElse(null),
                        found -> found != null);
        assertThat(item.getString("name"), containsString("other #1"));
        assertEquals("Wait", item.getJSONObject("decision").getString("action"));
        assertEquals("AGENT_NOT_ACCEPTING", item.getJSONObject("decision").getString("reason"));
        assertThat(item.getJSONObject("decision").getString("sentence"), containsString("No fitting agent"));
        assertTrue(item.getInt("priority") > 0);

        JSONObject state = web.state("reader");
        assertTrue(state.getJSONObject("limits").getBoolean("enabled"));
        JSONObject drained = only(state.getJSONArray("agents"), "name", agent.getNodeName());
        assertTrue(drained.getBoolean("drained"));
        assertEquals("manager", drained.getString("drainedBy"));
        assertEquals(1, drained.getInt("executors"));
        assertEquals(0, drained.getInt("idle"));
        JSONObject running = state.getJSONArray("running").getJSONObject(0);
        assertEquals("tests", running.getString("stage"));
        assertEquals("RUNNING", running.getString("state"));
        assertEquals(agent.getNodeName(), running.getString("node"));
        assertTrue(running.getBoolean("neverPreempt"));
        // A suspension may have been tried lately.
        assertThat(running.getString("whyNotPreemptible"), anyOf(equalTo("null"), containsString("step 'sleep'")));
        assertEquals(0, state.getJSONArray("suspended").size());

        JSONObject seenByTheBlind = web.state("blind");
        assertEquals(0, seenByTheBlind.getJSONArray("running").size());
        assertEquals(0, seenByTheBlind.getJSONArray("waiting").size());
        assertThat(
                web.get("reader", "preemptible/api/xml?tree=running[stage]").getContentAsString(),
                containsString("<stage>tests</stage>"));
        web.post("manager", onAgent("undrain"));
        waiting.doStop();
        j.waitForCompletion(waiting);
    }

    private static String onBuild(String verb) {
        return run.getUrl() + "preemptible/" + verb;
    }

    private static String onAgent(String verb) {
        return agent.toComputer().getUrl() + "preemptible/" + verb;
    }
}
