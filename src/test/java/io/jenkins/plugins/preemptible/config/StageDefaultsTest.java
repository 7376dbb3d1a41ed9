package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.cloudbees.hudson.plugins.folder.Folder;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.config.DefaultsInOrder.Asked;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.htmlunit.FailingHttpStatusCodeException;
import org.htmlunit.HttpMethod;
import org.htmlunit.WebRequest;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlSelect;
import org.htmlunit.util.NameValuePair;
import org.jenkinsci.plugins.structs.describable.DescribableModel;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The defaults of jobs, folders and the system configuration: their order, pages, and use by stages. */
@WithJenkins
class StageDefaultsTest {

    private static JenkinsRule j;
    private Folder team;
    private Folder inner;
    private WorkflowJob job;

    @BeforeAll
    static void start(JenkinsRule rule) throws Exception {
        j = rule;
        // Where sandboxes would be: stages then run without one, and nothing of them outlives the test.
        Files.createFile(j.jenkins.getRootDir().toPath().resolve("preemptible"));
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    @BeforeEach
    void folders() throws Exception {
        PreemptibleConfiguration.get().setStageDefaults(null);
        team = j.createProject(Folder.class, "team" + j.jenkins.getItems().size());
        inner = team.createProject(Folder.class, "inner");
        job = inner.createProject(WorkflowJob.class, "job");
    }

    private static <T> T with(Class<T> kind, Map<String, ?> settings) throws Exception {
        return new DescribableModel<>(kind).instantiate(settings);
    }

    @Test
    void eachSettingIsTakenFromTheFirstThatHasIt() throws Exception {
        StageDefaults global =
                with(StageDefaults.class, Map.of("priority", 1, "timeSliceMinutes", 1, "tcp", "refuse", "rerun", true));
        PreemptibleConfiguration.get().setStageDefaults(global);
        assertEquals(asked(1, "the system configuration"), priority(null));
        team.addProperty(with(FolderDefaults.class, Map.of("priority", 2, "timeSliceMinutes", 2, "tcp", "close")));
        assertEquals(asked(2, "the folder '" + team.getFullName() + "'"), priority(null));
        inner.addProperty(with(FolderDefaults.class, Map.of("priority", 3, "timeSliceMinutes", 3)));
        assertEquals(asked(3, "the folder '" + inner.getFullName() + "'"), priority(null));
        job.addProperty(with(JobDefaults.class, Map.of("priority", 4, "name", "fuzz")));
        assertEquals(asked(4, "the job '" + job.getFullName() + "'"), priority(null));
        assertEquals(new Asked<>(5, "the Jenkinsfile", false), priority(5));
        j.jenkins.reload();
        job = j.jenkins.getItemByFullName(job.getFullName(), WorkflowJob.class);
        assertEquals(asked(4, "the job '" + job.getFullName() + "'"), priority(null));
        DefaultsInOrder defaults = DefaultsInOrder.of(job);
        assertEquals(3, defaults.asked(null, StageDefaults::getTimeSliceMinutes).value());
        assertEquals("close", defaults.asked(null, StageDefaults::getTcp).value());
        assertEquals(true, defaults.asked(null, StageDefaults::getRerun).value());
        assertEquals(false, defaults.asked(false, StageDefaults::getRerun).value());
        assertEquals("fuzz", defaults.name());
    }

    private Asked<Integer> priority(Integer said) {
        return DefaultsInOrder.of(job).asked(said, StageDefaults::getPriority);
    }

    private static Asked<Integer> asked(int priority, String where) {
        return new Asked<>(priority, "the defaults of " + where, true);
    }

    @Test
    void stagesTakeThemAndTheirOwnWordsCountMore() throws Exception {
        inner.addProperty(with(FolderDefaults.class, Map.of("timeSliceMinutes", 7, "rerun", true)));
        WorkflowRun run = built(
                "properties([preemptibleDefaults(priority: 4, name: 'fuzz')])\n"
                        + "preemptible(label: 'built-in') { " + said("first") + " }\n"
                        + "preemptible(label: 'built-in', priority: 5, timeSliceMinutes: 6, rerun: false, name: 'own') { "
                        + said("second") + " }",
                Result.SUCCESS);

        j.assertLogContains("first 4 420000 true fuzz", run);
        j.assertLogContains("second 5 360000 false own", run);
    }

    @Test
    void aDeclarativePipelineSetsThemInItsOptions() throws Exception {
        WorkflowRun run = built(
                "pipeline {\n agent { preemptible { label 'built-in' } }\n"
                        + " options { preemptibleDefaults(priority: 4, rerun: true, name: 'fuzz') }\n"
                        + " stages { stage('s') { steps { script { " + said("first") + " } } } }\n}",
                Result.SUCCESS);

        j.assertLogContains("first 4 0 true fuzz", run);
    }

    private static String said(String mark) {
        String stage = "io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry.get().all().get(0)";
        return "def s = " + stage + "; def line = '" + mark
                + " ' + s.priority() + ' ' + s.timeSliceMillis() + ' ' + s.rerun() + ' ' + s.name(); s = null; echo line";
    }

    private WorkflowRun built(String script, Result result) throws Exception {
        job.setDefinition(new CpsFlowDefinition(script, false));
        return j.buildAndAssertStatus(result, job);
    }

    @Test
    void aDefaultGetsNoMoreThanAStepThatSaysTheSame() throws Exception {
        team.addProperty(with(FolderDefaults.class, Map.of("priority", 1)));
        WorkflowRun run = built("preemptible(label: 'built-in') { " + said("first") + " }", Result.SUCCESS);

        j.assertLogContains("first 3 ", run);
        j.assertLogContains("This stage asks for priority 1 and gets 3", run);
        j.assertLogContains("It asks by the defaults of the folder '" + team.getFullName() + "'.", run);
    }

    /** It was set where there were more priorities, or written into the XML. */
    @Test
    void aBadDefaultIsRefusedWhenItIsUsed() throws Exception {
        team.addProperty(with(FolderDefaults.class, Map.of("priority", 9)));
        j.assertLogContains(
                "preemptible: priority is 9, expected is 1 (highest) to 5 (lowest). Correct it in the defaults of the folder '"
                        + team.getFullName() + "'.",
                built("preemptible(label: 'built-in') { echo 'not reached' }", Result.FAILURE));
        job.addProperty(with(JobDefaults.class, Map.of("priority", 3, "timeSliceMinutes", 5, "tcp", "close")));
        Path xml = job.getConfigFile().getFile().toPath();
        for (String[] bad : new String[][] {
            {
                "<timeSliceMinutes>5<",
                "<timeSliceMinutes>0<",
                "timeSliceMinutes is 0, expected is 1 to 10080. Correct it in"
            },
            {"<tcp>close<", "<tcp>keep<", "tcp is 'keep', expected is 'refuse' or 'close'. Correct it in"}
        }) {
            String saved = Files.readString(xml, StandardCharsets.UTF_8);
            assertTrue(saved.contains(bad[0]), saved);
            Files.writeString(xml, saved.replace(bad[0], bad[1]), StandardCharsets.UTF_8);
            job.doReload();
            j.assertLogContains(
                    bad[2] + " the defaults of the job '" + job.getFullName() + "'",
                    j.buildAndAssertStatus(Result.FAILURE, job));
            Files.writeString(xml, saved, StandardCharsets.UTF_8);
            job.doReload();
        }
    }

    @Test
    void theJobsPageSetsChangesAndRemovesThem() throws Exception {
        HtmlForm form = page(job.getUrl() + "configure");
        form.getInputsByName("specified").stream()
                .filter(box ->
                        box.getEnclosingElement("div").asNormalizedText().contains("Defaults for preemptible stages"))
                .findFirst()
                .orElseThrow()
                .setChecked(true);
        form.getInputByName("_.priority").setValue("4");
        choose(form, "rerun", "false");
        choose(form, "tcp", "close");
        j.submit(form);
        JobDefaults set = job.getProperty(JobDefaults.class);
        assertEquals(List.of(4, false, "close"), List.of(set.getPriority(), set.getRerun(), set.getTcp()));
        assertNull(set.getTimeSliceMinutes());

        form = page(job.getUrl() + "configure");
        assertEquals("4", form.getInputByName("_.priority").getValue());
        form.getInputByName("_.priority").setValue("");
        j.submit(form);
        set = job.getProperty(JobDefaults.class);
        assertNull(set.getPriority());
        assertEquals(List.of(false, "close"), List.of(set.getRerun(), set.getTcp()), "what is not touched stays");

        refused(
                job.getUrl() + "configure",
                "Default priority of preemptible stages is 1001, but must be a whole number from 1 to 1000.");
    }

    @Test
    void theFoldersPageSetsChangesAndRemovesThem() throws Exception {
        HtmlForm form = page(team.getUrl() + "configure");
        form.getInputByName("_.timeSliceMinutes").setValue("30");
        choose(form, "rerun", "true");
        j.submit(form);
        FolderDefaults set = team.getProperties().get(FolderDefaults.class);
        assertEquals(List.of(30, true), List.of(set.getTimeSliceMinutes(), set.getRerun()));
        assertNull(set.getPriority());

        refused(
                team.getUrl() + "configure",
                "Default priority of preemptible stages is 1001, but must be a whole number from 1 to 1000.");

        form = page(team.getUrl() + "configure");
        form.getInputByName("_.timeSliceMinutes").setValue("");
        choose(form, "rerun", "");
        j.submit(form);
        assertNull(team.getProperties().get(FolderDefaults.class), "nothing is set any more");
    }

    private static HtmlForm page(String path) throws Exception {
        JenkinsRule.WebClient client = j.createWebClient();
        HtmlForm form = client.goTo(path).getFormByName("config");
        // Choices are filled in by the page's script.
        client.waitForBackgroundJavaScript(10_000);
        return form;
    }

    private static void choose(HtmlForm form, String field, String word) {
        HtmlSelect select = form.getSelectByName("_." + field);
        select.setSelectedAttribute(select.getOptionByValue(word), true);
    }

    private static void refused(String path, String sentence) throws Exception {
        HtmlForm form = page(path);
        form.getInputByName("_.priority").setValue("1001");
        FailingHttpStatusCodeException refused =
                assertThrows(FailingHttpStatusCodeException.class, () -> j.submit(form));
        assertEquals(400, refused.getStatusCode());
        assertTrue(
                refused.getResponse().getContentAsString().contains(sentence),
                refused.getResponse()::getContentAsString);
    }

    @Test
    void theSystemConfigurationSetsAndRemovesThem() throws Exception {
        HtmlForm form = page("configure");
        form.getInputByName("_.stageDefaults").setChecked(true);
        choose(form, "tcp", "close");
        j.submit(form);
        StageDefaults set = PreemptibleConfiguration.get().getStageDefaults();
        assertEquals("close", set.getTcp());
        assertNull(set.getRerun());
        form = page("configure");
        assertEquals(
                "close",
                form.getSelectByName("_.tcp").getSelectedOptions().get(0).getValueAttribute());
        form.getInputByName("_.stageDefaults").setChecked(false);
        j.submit(form);
        assertNull(PreemptibleConfiguration.get().getStageDefaults());
    }

    @Test
    void theSnippetGeneratorWritesThemIntoTheProperties() throws Exception {
        String step = "org.jenkinsci.plugins.workflow.multibranch.JobPropertyStep";
        WebRequest sent = new WebRequest(new URL(j.getURL(), "pipeline-syntax/generateSnippet"), HttpMethod.POST);
        sent.setRequestParameters(
                List.of(
                        new NameValuePair(
                                "json",
                                "{'stapler-class':'" + step + "','$class':'" + step + "','propertiesMap':{'"
                                        + JobDefaults.class.getName().replace('.', '-')
                                        + "':{'specified':true,'priority':'4','timeSliceMinutes':'','tcp':'','rerun':'','name':''}}}")));
        JenkinsRule.WebClient client = j.createWebClient();
        client.addCrumb(sent);
        String snippet = client.getPage(sent).getWebResponse().getContentAsString();
        assertEquals("properties([preemptibleDefaults(priority: 4)])", snippet.trim());
        JobDefaults.DescriptorImpl jobs = j.jenkins.getDescriptorByType(JobDefaults.DescriptorImpl.class);
        assertTrue(jobs.isApplicable(WorkflowJob.class));
        assertFalse(jobs.isApplicable(FreeStyleProject.class), "only Pipelines have such stages");
    }

    @Test
    void areCheckedWhileTypingAndHaveHelp() throws Exception {
        StageDefaults.DescriptorImpl page = j.jenkins.getDescriptorByType(StageDefaults.DescriptorImpl.class);
        for (String value : new String[] {"", "3", "5"}) {
            assertEquals(FormValidation.Kind.OK, page.doCheckPriority(job, value).kind, value);
        }
        for (String value : new String[] {"0", "6", "x"}) {
            assertEquals(FormValidation.Kind.ERROR, page.doCheckPriority(team, value).kind, value);
        }
        assertEquals(FormValidation.Kind.WARNING, page.doCheckPriority(null, "2").kind);
        for (String value : new String[] {"", "1", "10080"}) {
            assertEquals(FormValidation.Kind.OK, page.doCheckTimeSliceMinutes(job, value).kind, value);
        }
        for (String value : new String[] {"0", "10081", "x"}) {
            assertEquals(FormValidation.Kind.ERROR, page.doCheckTimeSliceMinutes(job, value).kind, value);
        }
        for (String field : List.of("priority", "timeSliceMinutes", "tcp", "rerun")) {
            assertHelp(page.getDescriptorUrl() + "/help/" + field);
        }
        assertHelp(j.jenkins.getDescriptorOrDie(JobDefaults.class).getDescriptorUrl() + "/help/name");
        assertHelp(j.jenkins.getDescriptorOrDie(JobDefaults.class).getDescriptorUrl() + "/help");
    }

    private static void assertHelp(String path) throws Exception {
        assertTrue(
                j.createWebClient()
                        .goTo(path)
                        .getWebResponse()
                        .getContentAsString()
                        .contains("<p>"),
                path);
    }
}
