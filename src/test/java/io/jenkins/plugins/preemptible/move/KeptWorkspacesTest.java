package io.jenkins.plugins.preemptible.move;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.FilePath;
import hudson.model.Computer;
import hudson.slaves.DumbSlave;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class KeptWorkspacesTest {

    private static final String ID = "preemptible-12345678";
    private static final String WORKSPACE = "/var/tmp/no-such-workspace/low";

    private static StageRecord awaitedOn(String agent) {
        StageRegistry.get()
                .add(StageRecord.running(ID, StageRecord.Form.OWN, "low#1", "preemptible", "A", WORKSPACE, null, 5, 0));
        return StageRegistry.get().update(ID, StageChanges.restoringOn(agent));
    }

    private static String free(Computer computer, DumbSlave agent) throws Exception {
        try (WorkspaceList.Lease lease = computer.getWorkspaceList().allocate(agent.createPath(WORKSPACE))) {
            return lease.path.getRemote();
        }
    }

    /** As after a restart of the controller: nothing is kept in memory. */
    @Test
    void anAgentThatMayRunTheStageGivesItsWorkspaceToNoBuild(JenkinsRule j) throws Exception {
        StageRecord stage = awaitedOn("B");
        DumbSlave agent = j.createSlave("B", null, null);
        j.waitOnline(agent);
        Computer computer = agent.toComputer();
        assertNotEquals(WORKSPACE, free(computer, agent));
        FilePath before = agent.createPath(WORKSPACE);
        agent.toComputer().disconnect(null).get();
        computer.connect(true).get();
        j.waitOnline(agent);
        FilePath workspace = agent.createPath(WORKSPACE);
        assertNotEquals(before, workspace, "another connection");
        assertNotEquals(WORKSPACE, free(computer, agent));
        WorkspaceList.Lease lease = KeptWorkspaces.take(stage, computer, workspace);
        assertTrue(ExactLease.isOf(workspace, lease));
        assertEquals(workspace, lease.path, "by the connection of now");
        lease.release();
        assertEquals(WORKSPACE, free(computer, agent));
    }

    @Test
    void aStageThatHasEndedKeepsNone(JenkinsRule j) throws Exception {
        StageRecord stage = awaitedOn("B");
        DumbSlave agent = j.createSlave("B", null, null);
        j.waitOnline(agent);
        assertNotEquals(WORKSPACE, free(agent.toComputer(), agent));
        StageRegistry.get().ended(ID);
        StageListener.fire(listener -> listener.onEnded(new StageEnded(stage.ref(), 0, true)));
        assertEquals(WORKSPACE, free(agent.toComputer(), agent));
        StageRegistry.get().cleaned(ID);
    }
}
