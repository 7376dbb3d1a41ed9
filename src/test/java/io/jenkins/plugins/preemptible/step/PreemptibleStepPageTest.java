package io.jenkins.plugins.preemptible.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.cloudbees.hudson.plugins.folder.Folder;
import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.model.Item;
import hudson.model.User;
import hudson.security.ACL;
import hudson.security.ACLContext;
import hudson.security.AuthorizationStrategy;
import hudson.security.SecurityRealm;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.config.FolderBestPriority;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.declarative.PreemptibleAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.net.URL;
import java.nio.file.Files;
import java.util.List;
import jenkins.advancedqueue.PrioritySorterConfiguration;
import jenkins.advancedqueue.sorter.SorterStrategy;
import jenkins.advancedqueue.sorter.strategy.AbsoluteStrategy;
import jenkins.model.Jenkins;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.html.HtmlInput;
import org.htmlunit.html.HtmlOption;
import org.htmlunit.html.HtmlPage;
import org.htmlunit.html.HtmlSelect;
import org.htmlunit.util.NameValuePair;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;
import org.springframework.security.access.AccessDeniedException;

/** The step's fields: in Jenkins' snippet generator, which draws its form and reads it, and in a build. */
@WithJenkins
class PreemptibleStepPageTest {

    private static final List<String> FIELDS = List.of("label", "priority", "timeSliceMinutes", "tcp", "rerun", "name");

    private static JenkinsRule jenkins;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) {
        jenkins = rule;
    }

    @AfterAll
    static void stop() throws Exception {
        jenkins.after();
    }

    @Test
    void theFormHasEveryField() throws Exception {
        JenkinsRule.WebClient client = jenkins.createWebClient();
        HtmlPage page = client.goTo("pipeline-syntax/");
        HtmlSelect steps = (HtmlSelect) page.getElementsByTagName("select").get(0);
        HtmlOption ours = steps.getOptions().stream()
                .filter(option -> option.getText().startsWith("preemptible:"))
                .findFirst()
                .orElseThrow();

        steps.setSelectedAttribute(ours, true);
        client.waitForBackgroundJavaScript(10_000);

        for (String field : FIELDS) {
            assertFalse(page.getElementsByName("_." + field).isEmpty(), field + " in " + page.asNormalizedText());
        }
        type((HtmlInput) page.getElementsByName("_.priority").get(0), "9");
        client.waitForBackgroundJavaScript(10_000);
        assertTrue(page.asNormalizedText().contains(LOWEST_IS_5), page.asNormalizedText());
    }

    private static final String LOWEST_IS_5 =
            "Priority is \u201c9\u201d, but must be a whole number from 1, the highest, to 5, the lowest.";

    private static void type(HtmlInput field, String text) throws Exception {
        field.setValue(text);
        field.fireEvent("input");
        field.fireEvent("change");
        field.blur();
    }

    @Test
    void theDirectiveGeneratorHasTheAgentWithItsFieldsChecksAndHelp() throws Exception {
        jenkins.createProject(WorkflowJob.class, "directives");
        JenkinsRule.WebClient client = jenkins.createWebClient();
        HtmlPage page = client.goTo("job/directives/directive-generator/");
        HtmlOption directive = option(page, "agent: ");
        ((HtmlSelect) directive.getEnclosingSelect()).setSelectedAttribute(directive, true);
        client.waitForBackgroundJavaScript(10_000);
        HtmlOption ours = option(page, "preemptible: ");
        ((HtmlSelect) ours.getEnclosingSelect()).setSelectedAttribute(ours, true);
        client.waitForBackgroundJavaScript(10_000);

        for (String field : FIELDS) {
            assertFalse(page.getElementsByName("_." + field).isEmpty(), field + " in " + page.asNormalizedText());
        }
        type((HtmlInput) page.getElementsByName("_.priority").get(0), "9");
        client.waitForBackgroundJavaScript(10_000);
        assertTrue(page.asNormalizedText().contains(LOWEST_IS_5), page.asNormalizedText());
        String agent =
                jenkins.jenkins.getDescriptorOrDie(PreemptibleAgent.class).getDescriptorUrl();
        assertTrue(help(agent + "/help").contains("preemptible {"));
    }

    private static HtmlOption option(HtmlPage page, String begin) {
        return page.getElementsByTagName("option").stream()
                .map(HtmlOption.class::cast)
                .filter(option -> option.getText().startsWith(begin))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no option " + begin + " in " + page.asNormalizedText()));
    }

    @Test
    void theDirectiveGeneratorWritesTheAgent() throws Exception {
        assertEquals(
                "agent { preemptible { label 'linux' priority 4 rerun false } }",
                directive("'label':'linux','priority':'4','timeSliceMinutes':'','tcp':'','rerun':'false','name':''"));
        assertEquals(
                "agent { preemptible true }",
                directive("'label':'','priority':'','timeSliceMinutes':'','tcp':'','rerun':'','name':''"));
    }

    private static String directive(String fields) throws Exception {
        WorkflowJob job = jenkins.jenkins.getItemByFullName("writes", WorkflowJob.class);
        if (job == null) {
            jenkins.createProject(WorkflowJob.class, "writes");
        }
        String agent = PreemptibleAgent.class.getName();
        String directive = "org.jenkinsci.plugins.pipeline.modeldefinition.generator.AgentDirective";
        return generated(
                "job/writes/directive-generator/generateDirective",
                "{'stapler-class':'" + directive + "','$class':'" + directive + "','agent':{'stapler-class':'" + agent
                        + "','$class':'" + agent + "'," + fields + "}}");
    }

    @Test
    void fieldsLeftEmptyAreLeftOut() throws Exception {
        assertEquals(
                "preemptible { // some block }",
                snippet("'label':'','priority':'','timeSliceMinutes':'','tcp':'','rerun':'','name':''"));
    }

    /** They say something where a default says otherwise. */
    @Test
    void whatWouldCountWithoutDefaultsIsGivenToo() throws Exception {
        assertEquals(
                "preemptible(rerun: false, tcp: 'refuse') { // some block }",
                snippet("'label':'','priority':'','timeSliceMinutes':'','tcp':'refuse','rerun':'false','name':''"));
    }

    @Test
    void fieldsFilledInAreGiven() throws Exception {
        assertEquals(
                "preemptible(label: 'linux && criu', name: 'fuzz', priority: 4, rerun: true, tcp: 'close', timeSliceMinutes: 30) { // some block }",
                snippet("'label':'linux && criu','priority':'4','timeSliceMinutes':'30','tcp':'close','rerun':'true',"
                        + "'name':'fuzz'"));
    }

    @Test
    void thePriorityIsCheckedWhileTyping() throws Exception {
        PreemptibleStep.DescriptorImpl page = jenkins.jenkins.getDescriptorByType(PreemptibleStep.DescriptorImpl.class);
        for (String value : new String[] {"", "3", "5"}) {
            assertEquals(FormValidation.Kind.OK, page.doCheckPriority(null, value).kind, value);
        }
        for (String value : new String[] {"0", "6", "9", "x"}) {
            FormValidation answer = page.doCheckPriority(null, value);
            assertEquals(FormValidation.Kind.ERROR, answer.kind, value);
            assertEquals(
                    "Priority is \u201c" + value
                            + "\u201d, but must be a whole number from 1, the highest, to 5, the lowest.",
                    answer.getMessage());
        }
        SorterStrategy nine = new AbsoluteStrategy(9, 5);
        SorterStrategy before = PrioritySorterConfiguration.get().getStrategy();
        PrioritySorterConfiguration.get().setStrategy(nine);
        try {
            assertEquals(FormValidation.Kind.OK, page.doCheckPriority(null, "9").kind);
            assertEquals(FormValidation.Kind.ERROR, page.doCheckPriority(null, "10").kind);
            assertEquals(FormValidation.Kind.WARNING, page.doCheckPriority(null, "4").kind, "ordinary items have 5");
        } finally {
            PrioritySorterConfiguration.get().setStrategy(before);
        }
        Folder folder = jenkins.createProject(Folder.class, "folder");
        WorkflowJob job = folder.createProject(WorkflowJob.class, "job");
        FormValidation better = page.doCheckPriority(job, "2");
        assertEquals(FormValidation.Kind.WARNING, better.kind);
        assertTrue(
                better.getMessage().contains("the global configuration lets no step ask for better than 3"),
                better::getMessage);
        folder.addProperty(new FolderBestPriority(2));
        assertEquals(FormValidation.Kind.OK, page.doCheckPriority(job, "2").kind);
        assertEquals(FormValidation.Kind.OK, page.doCheckPriority(folder, "2").kind);
        assertTrue(page.doCheckPriority(job, "1").getMessage().contains("folder"));
    }

    @Test
    void theOtherFieldsAreCheckedWhileTyping() throws Exception {
        PreemptibleStep.DescriptorImpl page = jenkins.jenkins.getDescriptorByType(PreemptibleStep.DescriptorImpl.class);
        for (String value : new String[] {"", "1", "10080"}) {
            assertEquals(FormValidation.Kind.OK, page.doCheckTimeSliceMinutes(null, value).kind, value);
        }
        for (String value : new String[] {"0", "10081", "x"}) {
            FormValidation answer = page.doCheckTimeSliceMinutes(null, value);
            assertEquals(FormValidation.Kind.ERROR, answer.kind, value);
            assertEquals(
                    "Time slice of the stage is " + (value.equals("x") ? "\u201cx\u201d" : value)
                            + ", but must be a whole number from 1 to 10080.",
                    answer.getMessage());
        }
        for (String value : new String[] {"4", "1441", "x"}) {
            assertEquals(FormValidation.Kind.ERROR, page.doCheckCheckpointEvery(null, value).kind, value);
        }
        assertEquals(FormValidation.Kind.OK, page.doCheckCheckpointEvery(null, "").kind);
        assertEquals(FormValidation.Kind.WARNING, page.doCheckCheckpointEvery(null, "5").kind, "moves are not allowed");
        PreemptibleConfiguration.get().setMoveStages(true);
        assertEquals(FormValidation.Kind.OK, page.doCheckCheckpointEvery(null, "1440").kind);
        PreemptibleConfiguration.get().setMoveStages(false);
        assertEquals(FormValidation.Kind.OK, page.doCheckLabel(null, "").kind);
        assertEquals(FormValidation.Kind.OK, page.doCheckLabel(null, "built-in").kind);
        assertEquals(FormValidation.Kind.WARNING, page.doCheckLabel(null, "nobody-has-it").kind);
        assertEquals(FormValidation.Kind.ERROR, page.doCheckLabel(null, "a && ").kind);
        assertTrue(page.doAutoCompleteLabel(null, "buil").getValues().contains("built-in"));
        assertEquals(FormValidation.Kind.OK, page.doCheckName(null, "caf\u00e9 \ud83d\ude80").kind);
        FormValidation odd = page.doCheckName(null, "a\u0007b");
        assertEquals(FormValidation.Kind.WARNING, odd.kind);
        assertFalse(odd.renderHtml().contains("\u0007"), odd::renderHtml);
        ActiveTimeout.DescriptorImpl limit = jenkins.jenkins.getDescriptorByType(ActiveTimeout.DescriptorImpl.class);
        assertEquals(FormValidation.Kind.OK, limit.doCheckTime(null, "30").kind);
        for (String value : new String[] {"", "0", "-1", "1.5", "9999999999"}) {
            assertEquals(FormValidation.Kind.ERROR, limit.doCheckTime(null, value).kind, value);
        }
        assertTrue(help(limit.getDescriptorUrl() + "/help/time").contains("<p>"));
        assertTrue(help(limit.getDescriptorUrl() + "/help/unit").contains("<p>"));
        String base = jenkins.jenkins.getDescriptorOrDie(PreemptibleStep.class).getDescriptorUrl();
        assertTrue(help(base + "/help/activeTimeout").contains("<p>"));
    }

    @Test
    void onlyReadersOfTheItemAreAnsweredAndOnlyByPost() throws Exception {
        WorkflowJob job = jenkins.createProject(WorkflowJob.class, "closed");
        jenkins.jenkins.setSecurityRealm(jenkins.createDummySecurityRealm());
        jenkins.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ)
                .everywhere()
                .to("stranger")
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("reader"));
        try {
            String step = "job/closed/"
                    + jenkins.jenkins.getDescriptorOrDie(PreemptibleStep.class).getDescriptorUrl();
            String limit = "job/closed/"
                    + jenkins.jenkins.getDescriptorOrDie(ActiveTimeout.class).getDescriptorUrl();
            for (String check : List.of(
                    step + "/checkTimeSliceMinutes",
                    step + "/checkLabel",
                    step + "/autoCompleteLabel",
                    step + "/checkName",
                    limit + "/checkTime")) {
                assertEquals(200, status("reader", check, HttpMethod.POST), check);
                assertEquals(404, status("stranger", check, HttpMethod.POST), check);
                assertEquals(404, status("reader", check, HttpMethod.GET), check);
            }
            PreemptibleStep.DescriptorImpl page =
                    jenkins.jenkins.getDescriptorByType(PreemptibleStep.DescriptorImpl.class);
            try (ACLContext stranger =
                    ACL.as2(User.getOrCreateByIdOrFullName("stranger").impersonate2())) {
                assertThrows(AccessDeniedException.class, () -> page.doCheckTimeSliceMinutes(job, "1"));
                assertThrows(AccessDeniedException.class, () -> page.doCheckLabel(job, "x"));
                assertThrows(AccessDeniedException.class, () -> page.doAutoCompleteLabel(job, "x"));
                assertThrows(AccessDeniedException.class, () -> page.doCheckName(job, "x"));
            }
        } finally {
            jenkins.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
            jenkins.jenkins.setSecurityRealm(SecurityRealm.NO_AUTHENTICATION);
        }
    }

    private static int status(String user, String path, HttpMethod method) throws Exception {
        JenkinsRule.WebClient client = jenkins.createWebClient()
                .withThrowExceptionOnFailingStatusCode(false)
                .withBasicApiToken(user);
        WebRequest request = new WebRequest(new URL(jenkins.getURL(), path + "?value=1"), method);
        return client.getPage(request).getWebResponse().getStatusCode();
    }

    @Test
    void everyFieldAndTheStepHaveHelp() throws Exception {
        String descriptor =
                jenkins.jenkins.getDescriptorOrDie(PreemptibleStep.class).getDescriptorUrl();
        for (String field : FIELDS) {
            assertTrue(help(descriptor + "/help/" + field).contains("<p>"), field);
        }
        assertTrue(help(descriptor + "/help").contains("preemptible(label: 'linux', priority: 4)"));
    }

    @Test
    void whatTheStepAsksForIsKeptWithTheStageAndALongerSliceIsNamedInTheLog() throws Exception {
        // Where its sandbox would be: the stage then runs without one, and nothing of it outlives the test.
        Files.createFile(jenkins.jenkins.getRootDir().toPath().resolve("preemptible"));
        PreemptibleConfiguration.get().setTimeSliceMinutes(30);
        WorkflowJob job = jenkins.createProject(WorkflowJob.class, "asks");
        String stage = StageRegistry.class.getName() + ".get().all().get(0)";
        job.setDefinition(new CpsFlowDefinition(
                "preemptible(label: 'built-in', timeSliceMinutes: 60, rerun: true) { echo 'rerun ' + " + stage
                        + ".rerun() + ', owner ' + " + stage + ".owner() }\n"
                        + "preemptible(label: 'built-in', timeSliceMinutes: 20) { echo 'rerun ' + " + stage
                        + ".rerun() }",
                false));

        WorkflowRun build =
                jenkins.assertBuildStatusSuccess(job.scheduleBuild2(0, new CauseAction(new Cause.UserIdCause("ada"))));

        jenkins.assertLogContains("rerun true, owner user:ada", build);
        jenkins.assertLogContains("rerun false", build);
        jenkins.assertLogContains(
                "This stage asks for a time slice of 60 min, but for its priority 3 on "
                        + jenkins.jenkins.getDisplayName() + " the system configuration allows 30 min at most",
                build);
        jenkins.assertLogNotContains("a time slice of 20 min", build);
    }

    private static String help(String path) throws Exception {
        return jenkins.createWebClient().goTo(path).getWebResponse().getContentAsString();
    }

    /** What the generator writes for these fields, on one line. */
    private static String snippet(String fields) throws Exception {
        String step = PreemptibleStep.class.getName();
        return generated(
                "pipeline-syntax/generateSnippet",
                "{'stapler-class':'" + step + "','$class':'" + step + "'," + fields + "}");
    }

    private static String generated(String path, String json) throws Exception {
        JenkinsRule.WebClient client = jenkins.createWebClient();
        WebRequest request = new WebRequest(new URL(jenkins.getURL(), path), HttpMethod.POST);
        request.setRequestParameters(List.of(new NameValuePair("json", json)));
        client.addCrumb(request);
        return client.getPage(request)
                .getWebResponse()
                .getContentAsString()
                .trim()
                .replaceAll("\\s+", " ");
    }
}
