package io.jenkins.plugins.preemptible.config;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.model.FreeStyleProject;
import hudson.model.Queue;
import hudson.model.Run;
import hudson.triggers.TimerTrigger;
import java.util.Arrays;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockFolder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Whose real builds and real items of the queue are. */
@WithJenkins
class OwnersTest {

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
    void aBuildThatSomebodyStarted() throws Exception {
        Run<?, ?> build = build("by-hand", new TimerTrigger.TimerTriggerCause(), new Cause.UserIdCause("ada"));

        assertEquals("user:ada", new Owners(OwnerBy.USER).ofRun(build));
        assertEquals("folder:all/team", new Owners(OwnerBy.FOLDER).ofRun(build));
        assertEquals("job:all/team/by-hand", new Owners(OwnerBy.JOB).ofRun(build));
    }

    @Test
    void aBuildWhoseFirstUpstreamBuildSomebodyStarted() throws Exception {
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

    private static Run<?, ?> build(String name, Cause... causes) throws Exception {
        FreeStyleProject job = team.createProject(FreeStyleProject.class, name);
        return jenkins.assertBuildStatusSuccess(
                job.scheduleBuild2(0, (Cause) null, new CauseAction(causes)));
    }
}
