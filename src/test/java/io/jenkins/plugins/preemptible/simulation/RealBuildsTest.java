package io.jenkins.plugins.preemptible.simulation;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.model.FreeStyleProject;
import hudson.model.Queue;
import hudson.model.Run;
import hudson.triggers.TimerTrigger;
import io.jenkins.plugins.preemptible.config.OwnerBy;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.htmlunit.html.HtmlElement;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlFormUtil;
import org.htmlunit.html.HtmlPage;
import org.jenkinsci.plugins.workflow.actions.TimingAction;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.graph.BlockEndNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.graphanalysis.DepthFirstScanner;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockFolder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Whose real builds and items of the queue are, what is read of builds that have ended, and limits tried on them. */
@WithJenkins
class RealBuildsTest {

    private static JenkinsRule jenkins;
    private static MockFolder team;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) throws Exception {
        jenkins = rule;
        team = rule.createFolder("all").createProject(MockFolder.class, "team");
    }

    @AfterAll
    static void stop() throws Exception {
        jenkins.after();
    }

    @Test
    void aBuildThatAUserStarted() throws Exception {
        Run<?, ?> build = build("by-hand", new TimerTrigger.TimerTriggerCause(), new Cause.UserIdCause("ada"));

        assertEquals("user:ada", new Owners(OwnerBy.USER).ofRun(build));
        assertEquals("folder:all/team", new Owners(OwnerBy.FOLDER).ofRun(build));
        assertEquals("job:all/team/by-hand", new Owners(OwnerBy.JOB).ofRun(build));
    }

    @Test
    void aBuildWhoseFirstUpstreamBuildAUserStarted() throws Exception {
        Run<?, ?> first = build("first", new Cause.UserIdCause("grace"));
        Run<?, ?> second = build("second", new Cause.UpstreamCause(first));
        Run<?, ?> third = build("third", new Cause.UpstreamCause(second));

        assertEquals("user:grace", new Owners(OwnerBy.USER).ofRun(third));
        assertEquals("job:all/team/third", new Owners(OwnerBy.JOB).ofRun(third));
    }

    @Test
    void aBuildThatNobodyIsKnownToHaveStartedIsItsJobs() throws Exception {
        Run<?, ?> timed = build("timed", new TimerTrigger.TimerTriggerCause());
        Run<?, ?> downstream = build("downstream", new Cause.UpstreamCause(timed));
        Run<?, ?> anonymous = build("anonymous", new Cause.UserIdCause(null));

        assertEquals("job:all/team/timed", new Owners(OwnerBy.USER).ofRun(timed));
        assertEquals("job:all/team/downstream", new Owners(OwnerBy.USER).ofRun(downstream));
        assertEquals("job:all/team/anonymous", new Owners(OwnerBy.USER).ofRun(anonymous));
    }

    @Test
    void aJobOutsideOfFoldersAndAnItemThatIsNoBuildYet() throws Exception {
        FreeStyleProject job = jenkins.createFreeStyleProject("alone");
        job.setAssignedLabel(jenkins.jenkins.getLabel("nowhere"));
        job.scheduleBuild2(0, new Cause.UserIdCause("ada"));
        Queue.Item item = await().until(job::getQueueItem, queued -> queued instanceof Queue.BuildableItem);

        assertEquals("user:ada", new Owners(OwnerBy.USER).ofItem(item));
        assertEquals("folder:", new Owners(OwnerBy.FOLDER).ofItem(item));
        assertEquals("job:alone", new Owners(OwnerBy.JOB).ofItem(item));
        jenkins.jenkins.getQueue().cancel(item);
    }

    @Test
    void aBlockOfAPipelineHasTheOwnerOfItsBuild() throws Exception {
        WorkflowJob job = team.createProject(WorkflowJob.class, "pipeline");
        job.setDefinition(new CpsFlowDefinition("node('nowhere') { }", true));
        WorkflowRun build = job.scheduleBuild2(0, new CauseAction(new Cause.UserIdCause("ada")))
                .waitForStart();
        Queue.Item item = await().until(
                        () -> Arrays.stream(jenkins.jenkins.getQueue().getItems())
                                .filter(queued -> queued.task.getOwnerExecutable() == build)
                                .findFirst()
                                .orElse(null),
                        queued -> queued != null);

        assertEquals("user:ada", new Owners(OwnerBy.USER).ofItem(item));
        assertEquals("folder:all/team", new Owners(OwnerBy.FOLDER).ofItem(item));
        assertEquals("job:all/team/pipeline", new Owners(OwnerBy.JOB).ofItem(item));
        build.doStop();
        jenkins.waitForCompletion(build);
    }

    @Test
    void thePagesChoiceCounts() {
        PreemptibleConfiguration.get().setOwnerBy("folder");
        assertEquals(new Owners(OwnerBy.FOLDER), Owners.get());
    }

    @Test
    void whatHeldAnExecutorIsReadOfFinishedBuilds() throws Exception {
        long begin = System.currentTimeMillis();
        finishedBuilds();

        FinishedBuilds all = FinishedBuilds.read(begin, 10, new Owners(OwnerBy.JOB), () -> false);

        assertEquals(2, all.builds());
        assertFalse(all.cut());
        assertEquals(
                Set.of(
                        "plain,,false,job:plain",
                        "pipeline,built-in,false,job:pipeline",
                        "pipeline,built-in,true,job:pipeline"),
                all.jobs().stream()
                        .map(job -> job.name().replaceAll("-[0-9]*/.*", "") + "," + job.label() + ","
                                + job.preemptible() + "," + job.owner().replaceAll("-[0-9]*$", ""))
                        .collect(Collectors.toSet()));
        for (PastJob job : all.jobs()) {
            assertTrue(
                    begin - 1 <= job.queuedMillis() && job.endedMillis() <= System.currentTimeMillis(), job::toString);
        }
        assertTrue(FinishedBuilds.read(begin, 1, new Owners(OwnerBy.JOB), () -> false)
                .cut());
        assertTrue(FinishedBuilds.read(begin, 10, new Owners(OwnerBy.JOB), () -> true)
                .cut());
    }

    /** As after a restart of the controller. */
    @Test
    void whatHeldAnExecutorIsReadOfBuildsThatAreNotInMemory() throws Exception {
        long begin = System.currentTimeMillis();
        finishedBuilds();
        jenkins.jenkins
                .allItems(WorkflowJob.class)
                .forEach(job -> job.getLazyBuildMixIn()._getRuns().purgeCache());

        FinishedBuilds all = FinishedBuilds.read(begin, 10, new Owners(OwnerBy.JOB), () -> false);

        assertEquals(2, all.builds());
        assertEquals(3, all.jobs().size(), () -> all.jobs().toString());
    }

    @Test
    void limitsAreTriedOnThisControllersBuilds() throws Exception {
        finishedBuilds();
        Limits before = PreemptibleConfiguration.get().limits();
        HtmlPage page = jenkins.createWebClient().goTo("configure");
        HtmlForm form = page.getFormByName("config");
        form.getInputByName("_.exemptSeconds").setValue("30");

        String answer = tried(page, form);
        assertTrue(answer.contains("Show its progress and result"), answer);
        String result = result().asNormalizedText();

        assertTrue(result.contains("suspend (ours)"), result);
        assertTrue(result.contains("first come, first served"), result);
        assertTrue(result.contains("as recorded"), result);
        assertTrue(result.contains("Shortest undisturbed run\t0\t30"), result);
        assertEquals(before, PreemptibleConfiguration.get().limits(), "nothing is saved");

        form.getInputByName("_.exemptSeconds").setValue("86401");
        answer = tried(page, form);

        assertTrue(
                answer.contains("Shortest undisturbed run is 86401, but must be a whole number from 0 to 86400."),
                answer);
    }

    /** The list of other time slices and the undisturbed hours too, which are no single fields. */
    @Test
    void whatIsOnThePageIsTriedNotWhatIsSaved() throws Exception {
        List<WorkflowRun> builds = longStages();
        HtmlPage page = jenkins.createWebClient().goTo("configure");
        HtmlForm form = page.getFormByName("config");
        tried(page, form);
        assertEquals(0, suspensions(), "three stages of equal priority on two executors, and no time slice");

        HtmlFormUtil.getButtonByCaption(form, "Add a time slice").click();
        page.getWebClient().waitForBackgroundJavaScript(60_000);
        form.getInputByName("_.minutes").setValue("5");
        tried(page, form);
        assertTrue(suspensions() > 0, "they take turns");
        assertEquals(List.of(), PreemptibleConfiguration.get().getSliceRules(), "nothing is saved");

        form.getInputByName("_.minutes").setValue("-5");
        String answer = tried(page, form);
        assertTrue(answer.contains("Time slice of a rule is -5, but must be a whole number"), answer);

        form.getInputByName("_.minutes").setValue("5");
        jenkins.submit(form);
        assertEquals(1, PreemptibleConfiguration.get().getSliceRules().size());
        page = jenkins.createWebClient().goTo("configure");
        form = page.getFormByName("config");
        form.getInputByName("_.undisturbedHours").click();
        form.getInputByName("_.from").setValue("00:00");
        form.getInputByName("_.to").setValue("00:00");
        form.getInputByName("_.longMinutes").setValue("0");
        tried(page, form);
        assertEquals(0, suspensions(), "all stages run undisturbed, the whole day");
        assertNull(PreemptibleConfiguration.get().getUndisturbedHours());

        PreemptibleConfiguration.get().setSliceRules(null);
        builds.get(0).getParent().delete();
    }

    /** What the newest simulation says of ours. */
    private static int suspensions() throws Exception {
        return result().querySelectorAll("table tr").stream()
                .map(row -> row.querySelectorAll("th, td"))
                .filter(cells ->
                        cells.size() == 6 && cells.get(0).getTextContent().equals("suspend (ours)"))
                .mapToInt(cells -> Integer.parseInt(cells.get(3).getTextContent()))
                .findFirst()
                .orElseThrow();
    }

    /** The page of the newest simulation, once it has ended. */
    private static HtmlPage result() throws Exception {
        SettingsSimulation newest = Simulations.get().all().get(0);
        await().until(() -> !newest.isRunning());
        return jenkins.createWebClient().goTo(newest.getUrl());
    }

    private static String tried(HtmlPage page, HtmlForm form) throws Exception {
        HtmlElement button = form.querySelector("button[data-validate-button-method='try']");
        button.click();
        page.getWebClient().waitForBackgroundJavaScript(60_000);
        HtmlElement container = (HtmlElement) button.getParentNode();
        return container.getTextContent();
    }

    /** Three that began at about the same time, and which Jenkins takes to have run for half an hour each. */
    private static List<WorkflowRun> longStages() throws Exception {
        withoutSandboxes();
        WorkflowJob job = jenkins.createProject(WorkflowJob.class, "long");
        job.setDefinition(new CpsFlowDefinition("preemptible(label: 'built-in', priority: 4) { }", true));
        // Kept, or they could be loaded anew.
        List<WorkflowRun> builds = new ArrayList<>();
        Field start = TimingAction.class.getDeclaredField("startTime");
        start.setAccessible(true);
        for (int number = 1; number <= 3; number++) {
            WorkflowRun build = jenkins.buildAndAssertSuccess(job);
            builds.add(build);
            for (FlowNode node : new DepthFirstScanner().allNodes(build.getExecution())) {
                if (node instanceof BlockEndNode) {
                    TimingAction timing = node.getPersistentAction(TimingAction.class);
                    start.setLong(timing, timing.getStartTime() + TimeUnit.MINUTES.toMillis(30));
                }
            }
        }
        return builds;
    }

    private static void withoutSandboxes() throws Exception {
        // Where a stage's sandbox would be: the stage then runs without one, and nothing of it outlives the test.
        Path sandboxes = jenkins.jenkins.getRootDir().toPath().resolve("preemptible");
        if (!Files.exists(sandboxes)) {
            Files.createFile(sandboxes);
        }
    }

    /** One of each kind; of the Pipeline two blocks have an executor. */
    private static void finishedBuilds() throws Exception {
        withoutSandboxes();
        long number = System.nanoTime();
        jenkins.buildAndAssertSuccess(jenkins.createFreeStyleProject("plain-" + number));
        WorkflowJob pipeline = jenkins.createProject(WorkflowJob.class, "pipeline-" + number);
        pipeline.setDefinition(new CpsFlowDefinition(
                "node('built-in') { echo 'one' }\npreemptible(label: 'built-in', priority: 4) { echo 'two' }", true));
        jenkins.buildAndAssertSuccess(pipeline);
    }

    private static Run<?, ?> build(String name, Cause... causes) throws Exception {
        FreeStyleProject job = team.createProject(FreeStyleProject.class, name);
        return jenkins.assertBuildStatusSuccess(job.scheduleBuild2(0, (Cause) null, new CauseAction(causes)));
    }
}
