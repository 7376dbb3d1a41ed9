package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Node;
import hudson.slaves.DumbSlave;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import java.time.Duration;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A suspended stage's agent gets another name: on its configuration page, or as it is removed and added again. */
@Tag("acceptance")
@Tag("slow")
class RenamedAgentTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("move.LeftAgent.delayMillis", 500)
            .with("lost.LostAgents.awayMillis", 3000)
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lifecycle.RemovedAgent.graceMillis", 10_000);

    private void rename(String from, String to) throws Exception {
        Node before = j.jenkins.getNode(from);
        DumbSlave now = new DumbSlave(to, hosts.root(), hosts.launcher(from));
        now.setNumExecutors(1);
        now.setLabelString(Rig.LABEL);
        now.setRetentionStrategy(RetentionStrategy.NOOP);
        assertTrue(j.jenkins.getNodesObject().replaceNode(before, now));
        j.waitOnline(now);
    }

    private void resume() {
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-resume")
                        .invokeWithArgs("low", "1")
                        .returnCode());
    }

    private void followsItsAgent() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        rename("A", "A2");
        assertEquals("A2", record().node());
        resume();
        Rig.awaitLog(stage, "Resumed on A2");
        assertEquals(0, record().moves());
        ends(stage);
    }

    private void ends(WorkflowRun stage) throws Exception {
        Rig.awaitCounting(stage);
        enough("A");
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
    }

    @Test
    void aStageThatNeedsItsAgentFollowsIt() throws Exception {
        PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(0);
        followsItsAgent();
    }

    @Test
    void aStageThatIsStoredFollowsItsAgent() throws Exception {
        followsItsAgent();
    }

    /** Begins a stage, removes its agent and connects that one's host by the name A2. */
    private WorkflowRun isOnA2(String body) throws Exception {
        WorkflowRun stage = begin(body);
        suspend(stage, 1);
        Node before = j.jenkins.getNode("A");
        before.toComputer().disconnect(null).get();
        j.jenkins.removeNode(before);
        Rig.awaitLog(stage, "The agent 'A' was removed from Jenkins. This stage is resumed on another agent that fits");
        hosts.connect("A2", "A");
        resume();
        return stage;
    }

    /** It is no other agent that has its folder. */
    @Test
    void aStoredStageGoesOnOnItsHostUnderTheAgentsNewName() throws Exception {
        WorkflowRun stage = isOnA2(counter());
        awaitMoved(stage, "A", "A2");
        assertEquals(1, hosts.stages("A"));
        ends(stage);
    }

    /** The stage may run there: nobody else gets it, nor its workspace. */
    @Test
    void itsHostIsWaitedForOnceItWasAskedByTheNewName() throws Exception {
        WorkflowRun stage = isOnA2(largeCounter());
        // By what the host itself has noted.
        Engine engine = Engine.open(hosts.folder("A").resolve("preemptible"));
        await("A2 restores")
                .atMost(LONG)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> engine.list().stream()
                        .anyMatch(known -> known.state() == State.RESUMING || known.state() == State.RUNNING));
        hosts.kill("A");
        awaitOffline("A2");
        await("the restore has ended")
                .atMost(LONG)
                .until(() -> Rig.log(stage).matches("(?s).*(Resume postponed|Not moved|Moved from A).*"));
        assumeTrue(!Rig.log(stage).contains("Moved from A"), "A2 had answered before its process was ended");
        assertEquals("A2", record().restoringOn(), Rig.log(stage));
        reconnect("A2");
        awaitMoved(stage, "A", "A2");
        ends(stage);
    }
}
