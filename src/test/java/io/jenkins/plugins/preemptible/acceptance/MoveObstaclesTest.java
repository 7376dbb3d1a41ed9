package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import hudson.slaves.DumbSlave;
import hudson.slaves.OfflineCause;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.acceptance.faults.FullDisk;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.htmlunit.html.DomNode;
import org.jenkinsci.plugins.durabletask.executors.OnceRetentionStrategy;
import org.jenkinsci.plugins.workflow.flow.FlowDurabilityHint;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.job.properties.DurabilityHintJobProperty;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.TestExtension;

/** What keeps a suspended stage off another agent, as a real controller finds it, and what becomes of the stage then. */
@Tag("acceptance")
class MoveObstaclesTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            // In tests Pipeline's steps wait for an agent for fifteen seconds only.
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lost.LostAgents.awayMillis", 3000);

    @AfterEach
    void asBefore() {
        DurableTaskStep.USE_WATCHING = false;
        KeepsOff.agent = null;
        KeepsOff.queuedOnly = false;
    }

    /** Of another plugin, such as one that throttles. */
    @TestExtension
    public static final class KeepsOff extends QueueTaskDispatcher {
        private static volatile String agent;
        /** It changes its mind once the stage is in the queue. */
        private static volatile boolean queuedOnly;

        @Override
        public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
            boolean is = node.getNodeName().equals(agent)
                    && (!queuedOnly || Queue.getInstance().contains(item.task));
            return is ? CauseOfBlockage.fromMessage(hudson.model.Messages._Queue_Unknown()) : null;
        }
    }

    /** The answer to a wish once both agents are described. */
    private void refuses(String agent, MoveObstacle why) {
        String begin = sentence(why);
        await(begin).atMost(LONG).until(() -> asked(agent).contains(begin));
    }

    private void resumesOnItsOwn(WorkflowRun stage) throws Exception {
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    /** A stage that gave way to an item that goes on until {@link #ends}. */
    private WorkflowRun preempted(FreeStyleProject high) throws Exception {
        WorkflowRun stage = begin(counter());
        high.setAssignedLabel(Label.get("A"));
        high.scheduleBuild2(0);
        Rig.awaitSealed(stage, 1);
        return stage;
    }

    private void ends(FreeStyleProject high) throws Exception {
        Files.createFile(hosts.workspace("A", high.getName()).resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(high.getLastBuild()));
    }

    @Test
    void anotherPluginKeepsItOffThatAgent() throws Exception {
        KeepsOff.agent = "B";
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun stage = preempted(high);
        hosts.connect("B");
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        assertEquals(0, hosts.stages("B"), "nothing of it is there, the key least of all");
        ends(high);
        Rig.awaitLog(stage, "Resumed on A");
        assertThat(Rig.log(stage), not(containsString("Moved from")));
        endsOn("A", stage);
    }

    @Test
    @Tag("slow")
    void anotherPluginKeepsItOffOnceItIsInTheQueue() throws Exception {
        KeepsOff.queuedOnly = true;
        KeepsOff.agent = "B";
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun stage = preempted(high);
        hosts.connect("B");
        await("it is in the queue, for B")
                .atMost(LONG)
                .until(() -> List.of(Queue.getInstance().getItems()).stream()
                        .anyMatch(item -> Label.get("B").equals(item.getAssignedLabel())));
        ends(high);
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    /** A wish that waits is shown with its agent, wherever the stage is. */
    @Test
    void whatIsWishedAndCannotBeIsTold() throws Exception {
        WorkflowRun stage = begin(counter());
        hosts.connect("B");
        suspend(stage, 1);
        new CLICommandInvoker(j, "preemptible-drain").invokeWithArgs("B");
        await("refused").atMost(LONG).until(() -> asked("B").contains("The agent is being drained"));
        new CLICommandInvoker(j, "preemptible-drain").invokeWithArgs("B", "--undo");
        rig.occupy("B");
        assertThat(asked("B"), containsString("is resumed on B as soon as an executor is idle there"));
        String id = StageRegistry.get().all().iterator().next().id();
        await("the right reason").atMost(LONG).until(() -> {
            Action decided = LastDecision.get().of(id);
            return decided != null && decided.reason() == Reason.NO_IDLE_EXECUTOR;
        });
        try (JenkinsRule.WebClient web = j.createWebClient()) {
            assertThat(
                    web.getPage(stage).asNormalizedText(),
                    containsString("It is resumed on B as soon as it can go there"));
            assertThat(
                    web.goTo("preemptible/suspended").asNormalizedText(),
                    containsString("To be resumed on B. No executor that the stage may use is idle."));
        }
        Files.createFile(hosts.workspace("B", "busy").resolve("enough"));
        Rig.awaitLog(stage, "Moved from A to B");
        endsOn("B", stage);
    }

    @Test
    @Tag("slow")
    void itsStoredWorkspaceHasNoRoomThere() throws Exception {
        WorkflowRun stage = begin("sh 'head -c 90000000 /dev/urandom > big'\n" + counter());
        suspend(stage, 1);
        try (FullDisk disk = diskOfB("60m")) {
            hosts.connect("B");
            refuses("B", MoveObstacle.DISK_FULL);
            resumesOnItsOwn(stage);
        }
    }

    /** Such steps end by a word of their agent to the controller that has begun them. */
    @Tag("slow")
    @Test
    void stepsThatTheirAgentWatches() throws Exception {
        DurableTaskStep.USE_WATCHING = true;
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        assertThat(Rig.log(stage), containsString(MoveObstacle.WATCHED_STEPS.sentence()));
        hosts.connect("B");
        refuses("B", MoveObstacle.WATCHED_STEPS);
        assertThat(Rig.log(stage), not(containsString("Move to B requested")));
        resumesOnItsOwn(stage);
    }

    /** It would be one of the old agent for ever. */
    @Test
    void aFolderOfTheAgentInAVariable() throws Exception {
        WorkflowRun stage = begin("def kept = getContext(hudson.FilePath)\n" + counter());
        suspend(stage, 1);
        String begin = "The Pipeline keeps a folder of the agent, in a variable or for a block of a plugin (";
        assertThat(Rig.log(stage), containsString("The workspace is not stored with the image. " + begin));
        hosts.connect("B");
        refuses("B", MoveObstacle.CAPTURED_FILE_PATH);
        assertThat(asked("B"), containsString("cannot be resumed on B. " + begin));
        assertThat(Rig.log(stage), not(containsString("Move to B requested")));
        resumesOnItsOwn(stage);
    }

    /** As of a plugin that has lost a class, or of a list of lists that is too deep: an error, where Pipeline saves nothing. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Tag("slow")
    void aProgramThatCannotBeSearched(boolean tooDeep) throws Exception {
        hosts.connect("A");
        WorkflowJob job = rig.pipeline(
                "low",
                5,
                "preemptible(label: '" + Rig.LABEL + "') {\ndef kept = new " + Unwritable.class.getName() + "("
                        + tooDeep + ")\n" + counter() + "\n}");
        job.addProperty(new DurabilityHintJobProperty(FlowDurabilityHint.PERFORMANCE_OPTIMIZED));
        WorkflowRun stage = Rig.start(job);
        Rig.awaitLog(stage, "count-3\n");
        suspend(stage, 1);
        String begin = "The Pipeline keeps a folder of the agent, in a variable or for a block of a plugin"
                + " (its program cannot be searched: java.lang."
                + (tooDeep ? "StackOverflowError" : "NoClassDefFoundError");
        assertThat(Rig.log(stage), containsString("The workspace is not stored with the image. " + begin));
        hosts.connect("B");
        refuses("B", MoveObstacle.CAPTURED_FILE_PATH);
        assertThat(asked("B"), containsString("cannot be resumed on B. " + begin));
        resumesOnItsOwn(stage);
    }

    /** Running or suspended, it is not promised what cannot be. */
    @Test
    void aWorkspaceOfItsOwnInsideOfTheStage() throws Exception {
        WorkflowRun stage = begin("ws('elsewhere') {\n" + counter() + "\n}");
        hosts.connect("B");
        refuses("B", MoveObstacle.INSIDE_WS);
        Rig.awaitAnotherLook();
        assertEquals(StageState.RUNNING, record().state());
        suspend(stage, 1);
        refuses("B", MoveObstacle.INSIDE_WS);
        assertThat(Rig.log(stage), not(containsString("Move to B requested")));
        stage.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
    }

    /** Its own agent has failed at it, again and again: it waits for people, or for an agent that fits. */
    @Tag("slow")
    @Test
    void anotherAgentTakesWhatItsOwnCannotResume() throws Exception {
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun stage = preempted(high);
        Pretended.undecided(record().id(), "Its agent cannot.");
        ends(high);
        Rig.awaitAnotherLook();
        assertTrue(record().suspended(), "its own agent is idle, and is not asked");
        hosts.connect("B");
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        awaitClean("A");
    }

    /** Such a move is taken back as any other one; the stage waits for people again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Tag("slow")
    void aMoveOfAStageThatItsOwnAgentCannotResumeIsTakenBack(boolean suspendedManually) throws Exception {
        hosts.connect("B");
        rig.occupy("B");
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun stage = preempted(high);
        Pretended.undecided(record().id(), "Its agent cannot.");
        if (suspendedManually) {
            new CLICommandInvoker(j, "preemptible-suspend").invokeWithArgs("low", "1");
        }
        move("B");
        CLICommandInvoker.Result back = new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        assertEquals(0, back.returnCode(), back.stderr());
        assertThat(back.stdout(), containsString("to B is taken back: nothing of the stage was changed."));
        assertThat(back.stdout(), not(containsString("is resumed as soon as")));
        assertNull(record().moveTo());
        assertEquals("Its agent cannot.", record().whyNotResumed());
        ends(high);
        Rig.awaitAnotherLook();
        assertEquals(StageState.SUSPENDED, record().state(), "its own agent is idle, and is not asked");
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("--again", "low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    @Test
    @Tag("slow")
    void anAgentThatMightBeTakenAwayWithIt() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        CloudAgent agent = new OwnWayAgent("B", hosts);
        j.jenkins.addNode(agent);
        j.waitOnline(agent);
        refuses("B", MoveObstacle.NOT_KEPT);
        resumesOnItsOwn(stage);
    }

    /** Its retention strategy cannot be replaced. */
    private static final class OwnWayAgent extends CloudAgent {
        private static final long serialVersionUID = 1L;

        OwnWayAgent(String name, TwoHosts hosts) throws Exception {
            super(name, hosts.root(), hosts.launcher(name), new OnceRetentionStrategy(10));
        }

        @Override
        public RetentionStrategy<?> getRetentionStrategy() {
            return super.getRetentionStrategy();
        }
    }

    /** Its own agent is away, and another one does not fit: the log and the build's page say why. */
    @Test
    void whyAnAgentDoesNotFitIsTold() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        Path elsewhere = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-other");
        try {
            DumbSlave agent = new DumbSlave("B", elsewhere.toString(), hosts.launcher("B"));
            agent.setLabelString(Rig.LABEL);
            j.jenkins.addNode(agent);
            j.waitOnline(agent);
            new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
            j.jenkins
                    .getNode("A")
                    .toComputer()
                    .disconnect(new OfflineCause.ByCLI("gone"))
                    .get();
            Rig.awaitLog(stage, "Not resumed on B: The agents have different root folders (");
            Rig.awaitAnotherLook();
            assertEquals(1, Rig.log(stage).split("Not resumed on B", -1).length - 1);
            try (JenkinsRule.WebClient web = j.createWebClient()) {
                DomNode told = web.getPage(stage).querySelector(".preemptible-unfit[open]");
                assertThat(
                        told.asNormalizedText(), containsString("B: not now. The agents have different root folders"));
                assertNull(moveForm(stage), "a list in which nothing can be chosen");
            }
            hosts.connectAgain("A");
            Rig.awaitLog(stage, "Resumed on A");
            endsOn("A", stage);
        } finally {
            HostTool.run(10, List.of("rm", "-rf", "--one-file-system", elsewhere.toString()));
        }
    }
}
