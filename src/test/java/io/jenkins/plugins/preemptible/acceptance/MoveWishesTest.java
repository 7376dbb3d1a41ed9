package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.FilePath;
import hudson.cli.CLICommandInvoker;
import hudson.model.Messages;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.CauseOfBlockage;
import hudson.slaves.DumbSlave;
import hudson.slaves.NodeProperty;
import hudson.slaves.NodePropertyDescriptor;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.history.AgentTimelines;
import io.jenkins.plugins.preemptible.history.Timeline;
import io.jenkins.plugins.preemptible.history.Timeline.Kind;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.TestExtension;

/** Moves that users ask for while something stands in the way, on a real controller with two agents. */
@Tag("acceptance")
class MoveWishesTest extends MovedStages {

    private static final String DELAY = "io.jenkins.plugins.preemptible.move.LeftAgent.delayMillis";

    private String before;

    /** Longer than any of these tests: what is due to be cleaned is not clean yet. */
    @BeforeEach
    void late() {
        before = System.setProperty(DELAY, "600000");
    }

    @AfterEach
    void asBefore() {
        if (before == null) {
            System.clearProperty(DELAY);
        } else {
            System.setProperty(DELAY, before);
        }
    }

    @Test
    @Tag("slow")
    void aMoveToAnAgentThatCannotHaveTheStageAnyMoreIsCancelled() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        DumbSlave agent = hosts.connect("B");
        rig.occupy("B");
        move("B");
        agent.setLabelString("other");
        agent.save();
        j.jenkins.updateNode(agent);
        Rig.awaitLog(stage, "Move to B cancelled: that agent does not have this stage's label any more.");
        assertNull(record().moveTo());
        agent.setLabelString(Rig.LABEL);
        agent.save();
        j.jenkins.updateNode(agent);
        move("B");
        j.jenkins.removeNode(agent);
        Rig.awaitLog(stage, "Move to B cancelled: that agent was removed from Jenkins.");
        assertNull(record().moveTo());
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    /** With an executor to it where it is, and without one where it was. */
    @Tag("slow")
    @Test
    void aStageThatHasMovedIsShownOnItsNewAgent() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitMoved(stage, "A", "B");
        Rig.awaitLog(stage, "Resumed on B");
        await("the timelines").atMost(LONG).untilAsserted(() -> {
            assertEquals(List.of(Kind.RUNNING), shown("B"));
            assertEquals(Kind.RUNNING, shown("A").get(0));
            assertNotEquals(Kind.RUNNING, shown("A").get(shown("A").size() - 1));
        });
        endsOn("B", stage);
    }

    /** The bars of the one stage that an agent has, or had. */
    private static List<Kind> shown(String agent) {
        List<List<Kind>> stages = AgentTimelines.get().of(agent).getRows().stream()
                .map(row -> row.bars().stream().map(Timeline.Bar::kind).toList())
                .filter(kinds -> !kinds.contains(Kind.OTHER))
                .toList();
        assertEquals(1, stages.size(), agent);
        return stages.get(0);
    }

    /** Jenkins' leases go with the agent: another build would get the workspace. */
    @Test
    @Tag("slow")
    void anAgentThatIsAddedAgainKeepsTheWorkspaceOfItsStage() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        Node before = j.jenkins.getNode("A");
        before.toComputer().disconnect(null).get();
        j.jenkins.removeNode(before);
        DumbSlave again = hosts.connect("A");
        FilePath workspace = again.createPath(record().workspace());
        WorkspaceList.Lease another = again.toComputer().getWorkspaceList().allocate(workspace);
        assertNotEquals(workspace, another.path);
        another.release();
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    /** Job Restrictions or a missing permission forbid it, for instance. Root on that agent may not have the stage's key. */
    @Test
    @Tag("slow")
    void anAgentOnWhichTheBuildMayNotRunGetsNothingOfTheStage() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        DumbSlave agent = hosts.connect("B");
        agent.getNodeProperties().add(new Closed());
        move("B");
        Rig.awaitLog(stage, "Move to B cancelled: Jenkins does not let this build run on that agent.");
        assertNull(record().moveTo());
        assertEquals(0, hosts.stages("B"));
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    /** Of an agent that takes no builds but others'. */
    public static final class Closed extends NodeProperty<Node> {
        @Override
        public CauseOfBlockage canTake(Queue.BuildableItem item) {
            return CauseOfBlockage.fromMessage(Messages._Queue_Unknown());
        }

        /** Needed by Jenkins to save the agent. */
        @TestExtension
        public static final class DescriptorImpl extends NodePropertyDescriptor {}
    }

    /** What is to be cleaned on A is its own: nothing stands against the move back. */
    @Test
    @Tag("slow")
    void aStageComesBackBeforeItsOldAgentIsCleaned() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitMoved(stage, "A", "B");
        Rig.awaitCounting(stage);
        assertEquals(1, hosts.stages("A"), "it is not cleaned yet");
        suspend(stage, 2);
        move("A");
        awaitMoved(stage, "B", "A");
        assertThat(Rig.log(stage), not(containsString("Not moved")));
        endsOn("A", stage);
        awaitClean("A");
        awaitClean("B");
    }
}
