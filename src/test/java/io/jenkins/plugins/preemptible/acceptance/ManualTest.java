package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.ExtensionList;
import hudson.cli.CLICommandInvoker;
import hudson.model.Items;
import hudson.model.Queue;
import hudson.slaves.DumbSlave;
import hudson.slaves.JNLPLauncher;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.stage.CurrentObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.MissingBuilds;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import io.jenkins.plugins.preemptible.queue.Preemption;
import io.jenkins.plugins.preemptible.step.StageTask;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import io.jenkins.plugins.preemptible.view.SuspendedStageAction;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.commons.io.FileUtils;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.MockFolder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What users ask for, and what they move, rename or delete meanwhile, with real processes. */
@WithJenkins
@Tag("acceptance")
class ManualTest extends OneAgent {

    @AfterEach
    void works() {
        // Fails when nobody drains the agent, which is well.
        new CLICommandInvoker(j, "preemptible-drain").invokeWithArgs("worker", "--undo");
    }

    @Test
    void aStageStaysSuspendedUntilSomeoneResumesIt() throws Exception {
        stays(Rig.own(Rig.endless()));
    }

    @Test
    void aNestedStageStaysSuspendedUntilSomeoneResumesIt() throws Exception {
        stays(Rig.nested(Rig.endless(), "echo 'after'"));
    }

    private void stays(String script) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, script);
        WorkflowJob other = rig.pipeline("other", 5, Rig.preemptor());
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        String shown = onTheExecutor();
        command("preemptible-suspend", "low", "1");
        Rig.awaitState(StageState.SUSPENDED);
        // Of the same priority, and without a time slice: only the stage's own executor can be what it gets.
        j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(other)));
        await("the executor is free, and a look at the queue came after that")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 1 && decided(Reason.SUSPENDED_BY_HAND));
        assertEquals(StageState.SUSPENDED, Rig.awaitState(StageState.SUSPENDED).state());
        assertThat(Rig.log(stage), not(containsString("Resumed on")));
        SuspendedStageAction told = told();
        assertTrue(told.isByHand());
        assertThat(
                stage.getAction(SuspendedBadgeAction.class).getTooltip(),
                containsString("It was suspended by " + told.getByHandUser() + " and stays"));
        command("preemptible-resume", "low", "1");
        Rig.awaitLog(stage, "Resumed on worker");
        Rig.awaitCounting(stage);
        assertEquals(shown, onTheExecutor(), "as before, and not that it is resumed");
        Rig.enough(stage);
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        assertThat(Rig.log(stage), containsString(Reason.ASKED_BY_HAND.sentence()));
        Rig.assertNothingLeft(agent, low);
    }

    /** Its next step could not be started in a suspended stage. */
    @Tag("slow")
    @Test
    void aStepBesideShThatKeepsItFromBeingSuspendedIsNamed() throws Exception {
        WorkflowJob low = rig.pipeline(
                "low",
                5,
                "preemptible(label: 'linux') { parallel(a: { sh '" + Rig.endless() + "' }, b: { sleep 25 }) }");
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        WorkflowRun preemptor = Rig.start(high);
        await("the item waits for that reason").atMost(Rig.PATIENCE).until(() -> decided(Reason.OTHER_STEP_RUNS));
        command("preemptible-suspend", "low", "1");
        Rig.awaitLog(stage, "Not suspended yet. The step 'sleep' waits in it");
        assertThat(
                String.valueOf(CurrentObstacle.whyNot(Rig.awaitState(StageState.RUNNING))),
                containsString("The step 'sleep' waits in it"));
        Rig.awaitState(StageState.SUSPENDED);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        command("preemptible-resume", "low", "1");
        Rig.awaitLog(stage, "Resumed on worker");
        Rig.enough(stage);
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        assertEquals(1, Rig.log(stage).split("Not suspended yet", -1).length - 1);
        Rig.assertNothingLeft(agent, low);
    }

    /** What the list of executors says. */
    private String onTheExecutor() {
        return agent.toComputer()
                .getExecutors()
                .get(0)
                .getCurrentExecutable()
                .getParent()
                .getFullDisplayName();
    }

    @Test
    void anExemptBuildIsNotPreempted() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun exempt = Rig.start(low);
        Rig.awaitLog(exempt, "count-3\n");
        command("preemptible-never", "low", "1");
        WorkflowRun preemptor = Rig.start(high);
        await("the item waits for that reason").atMost(Rig.PATIENCE).until(() -> decided(Reason.NEVER_PREEMPT));
        assertEquals(StageState.RUNNING, Rig.awaitState(StageState.RUNNING).state());
        command("preemptible-never", "low", "1", "--undo");
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(exempt, "Resumed on worker");
        Rig.awaitCounting(exempt);
        Rig.enough(exempt);
        j.assertBuildStatusSuccess(j.waitForCompletion(exempt));
        assertThat(Rig.log(exempt), containsString("Suspending this stage for"));
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    void aDrainedAgentTakesNothing() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        command("preemptible-drain", "worker");
        StageRecord suspended = Rig.awaitState(StageState.SUSPENDED);
        assertEquals(Reason.AGENT_IS_DRAINED.sentence(), suspended.reason());
        await().atMost(Rig.PATIENCE).until(() -> told() != null && !told().isByHand());
        command("preemptible-suspend", "low", "1");
        await("what programs read says that it stays suspended")
                .atMost(Rig.PATIENCE)
                .until(() -> told().isByHand());
        command("preemptible-resume", "low", "1");
        await("and that it does not").atMost(Rig.PATIENCE).until(() -> !told().isByHand());
        WorkflowRun waiting = Rig.start(high);
        await("the executor is idle, and nobody gets it")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 1
                        && decided(Reason.AGENT_NOT_ACCEPTING)
                        && decided(Reason.OWN_AGENT_DRAINED));
        assertTrue(waiting.isBuilding());
        assertEquals(StageState.SUSPENDED, Rig.awaitState(StageState.SUSPENDED).state());
        command("preemptible-drain", "worker", "--undo");
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        runsToItsEnd(stage);
    }

    @Test
    void stagesFollowAJobThatIsMoved() throws Exception {
        // Of a name of its own: Pipeline may still write where the build was, and the next job would find that.
        WorkflowJob low = rig.pipeline("moves", 5, Rig.own(Rig.endless()));
        WorkflowJob later = rig.pipeline("later", 5, Rig.own("echo done"));
        MockFolder folder = j.createFolder("folder");
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        command("preemptible-never", "moves", "1");
        command("preemptible-suspend", "moves", "1");
        Rig.awaitState(StageState.SUSPENDED);
        command("preemptible-drain", "worker");
        WorkflowRun waiting = Rig.start(later);
        StageTask item = await("a stage that has not begun")
                .atMost(Rig.PATIENCE)
                .until(
                        () -> Arrays.stream(Queue.getInstance().getItems())
                                .filter(one -> one.task instanceof StageTask task && !task.resumes())
                                .map(one -> (StageTask) one.task)
                                .findFirst()
                                .orElse(null),
                        found -> found != null);

        Items.move(low, folder);
        Items.move(later, folder);

        StageRecord moved = Rig.awaitState(StageState.SUSPENDED);
        assertEquals("folder/moves", moved.job());
        Path records = j.jenkins.getRootDir().toPath().resolve("preemptible-stages");
        assertThat(
                Files.readString(records.resolve(moved.id() + ".xml")),
                containsString("<runId>folder/moves#1</runId>"));
        assertTrue(NeverPreemptAction.holds(Rig.awaitState(StageState.SUSPENDED).runId()));
        assertThat(
                stage.getAction(SuspendedBadgeAction.class).getTooltip(),
                containsString("stays suspended until someone"));
        assertEquals(waiting, item.ownerRun());
        command("preemptible-drain", "worker", "--undo");
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        command("preemptible-resume", "folder/moves", "1");
        runsToItsEnd(stage);
    }

    /** Before the plugin is disabled: every suspended stage is resumed, and none is suspended again. */
    @Test
    void switchedOffEveryStageIsResumed() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        command("preemptible-suspend", "low", "1");
        Rig.awaitState(StageState.SUSPENDED);
        try {
            CLICommandInvoker.Result off = new CLICommandInvoker(j, "preemptible-switch-off").invoke();
            assertThat(off.stdout(), containsString("Stages still suspended: 1; they are resumed"));
            Rig.awaitLog(stage, "Resumed on worker");
            Rig.awaitCounting(stage);
            CLICommandInvoker.Result suspend =
                    new CLICommandInvoker(j, "preemptible-suspend").invokeWithArgs("low", "1");
            assertEquals(4, suspend.returnCode());
            assertThat(suspend.stderr(), containsString("is switched off"));
            command("preemptible-drain", "worker");
            Preemption.soon(0);
            Rig.awaitCounting(stage);
            assertEquals(1, Rig.log(stage).split("Suspending this stage", -1).length - 1);
        } finally {
            command("preemptible-switch-off", "--undo");
        }
        // It is wanted suspended still, by the drain and by the user who asked for it.
        Rig.awaitState(StageState.SUSPENDED);
        command("preemptible-drain", "worker", "--undo");
        command("preemptible-resume", "low", "1");
        Rig.awaitLog(stage, "Resumed on worker", 2);
        Rig.awaitCounting(stage);
        Rig.enough(stage);
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
    }

    @Test
    void theKeyOfAKeptImageGoesWithABuildThatIsRemovedFromTheDisk() throws Exception {
        WorkflowJob job = rig.pipeline("removed", 3, "echo 'done'");
        WorkflowRun run = j.buildAndAssertSuccess(job);
        Pretended.endedUnrestored("removed-kept", run.getExternalizableId());
        ExtensionList.lookupSingleton(MissingBuilds.class).run();
        assertNotNull(StageRegistry.get().keptKey("removed-kept"));
        FileUtils.deleteDirectory(run.getRootDir());
        ExtensionList.lookupSingleton(MissingBuilds.class).run();
        assertNull(StageRegistry.get().keptKey("removed-kept"));
    }

    @Test
    void theKeyOfAKeptImageFollowsItsJobAndGoesWithIt() throws Exception {
        WorkflowJob job = j.createFolder("folder").createProject(WorkflowJob.class, "job");
        Pretended.endedUnrestored("kept", "folder/job#1");
        Items.move(job, j.jenkins);
        assertNotNull(StageRegistry.get().keptKey("kept"));
        job.delete();
        assertNull(StageRegistry.get().keptKey("kept"));
    }

    @Test
    void whatWasMeasuredOnAnAgentFollowsItsNameAndGoesWithIt() throws Exception {
        DumbSlave before = new DumbSlave("before", "/nowhere", new JNLPLauncher());
        DumbSlave after = new DumbSlave("after", "/nowhere", new JNLPLauncher());
        j.jenkins.addNode(before);
        Pretended.measured("before", 5);
        j.jenkins.getNodesObject().replaceNode(before, after);
        assertEquals(5, Measured.of("after").freeBytes());
        assertEquals(-1, Measured.of("before").freeBytes());
        j.jenkins.removeNode(after);
        assertEquals(-1, Measured.of("after").freeBytes());
    }

    private static void runsToItsEnd(WorkflowRun stage) throws Exception {
        Rig.awaitLog(stage, "Resumed on worker");
        Rig.awaitCounting(stage);
        Rig.enough(stage);
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        Rig.assertNothingLeft(agent, stage.getParent());
    }

    /** What programs read of the only stage while it is suspended. */
    private static SuspendedStageAction told() throws Exception {
        StageRecord stage = StageRegistry.get().all().iterator().next();
        return LiveStage.find(stage.id()).context().get(FlowNode.class).getPersistentAction(SuspendedStageAction.class);
    }

    /** Items and suspended stages of which nobody takes care since their agent does not. */
    private static boolean decided(Reason reason) {
        return LastDecision.get().actions().stream().anyMatch(action -> action.reason() == reason);
    }

    private static void command(String name, String... arguments) {
        CLICommandInvoker.Result result = new CLICommandInvoker(j, name).invokeWithArgs(arguments);
        assertEquals(0, result.returnCode(), result.stderr());
    }
}
