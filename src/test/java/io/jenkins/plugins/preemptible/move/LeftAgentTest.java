package io.jenkins.plugins.preemptible.move;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Computer;
import hudson.slaves.DumbSlave;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The process of agent B was killed while it unpacked the workspace of a stage, which is still on agent A. */
@WithJenkins
class LeftAgentTest {

    private static final String ID = "preemptible-12345678";
    private static final Duration LONG = Duration.ofMinutes(2);

    static {
        System.setProperty(LeftAgent.class.getName() + ".delayMillis", "500");
    }

    @TempDir
    Path root;

    private Path workspace;
    private Path temporary;

    @BeforeEach
    void halfUnpacked() throws Exception {
        workspace = root.resolve("low");
        temporary = root.resolve("low@tmp");
        Files.createDirectories(workspace.resolve("half made"));
        Files.createDirectories(temporary.resolve("a secret"));
        Files.createDirectories(
                root.resolve(".preemptible-aside-" + ID + "-low").resolve("old"));
        Files.createFile(root.resolve(".preemptible-nothing-" + ID + "-low@tmp"));
    }

    private void stageOnA() {
        StageRegistry.get()
                .add(StageRecord.running(
                        ID, StageRecord.Form.OWN, "low#1", "preemptible", "A", workspace.toString(), null, 5, 0));
        StageRegistry.get().update(ID, LeftAgents.holds("B", List.of(temporary.toString())));
    }

    private void awaitClean() {
        await("B is clean")
                .atMost(LONG)
                .until(() -> LeftAgents.of(StageRegistry.get().find(ID)).isEmpty());
    }

    private void assertOldIsBack() throws Exception {
        assertTrue(Files.exists(workspace.resolve("old")));
        assertFalse(Files.exists(workspace.resolve("half made")));
        try (var all = Files.list(root)) {
            assertEquals(List.of(workspace), all.toList());
        }
    }

    @Test
    void theOldWorkspaceComesBackWhenTheAgentIsBack(JenkinsRule j) throws Exception {
        stageOnA();
        j.waitOnline(j.createSlave("B", null, null));
        awaitClean();
        assertOldIsBack();
    }

    /** What that build makes of it is its own. */
    @Test
    void theWorkspaceOfABuildIsLeftAlone(JenkinsRule j) throws Exception {
        DumbSlave agent = j.createSlave("B", null, null);
        j.waitOnline(agent);
        WorkspaceList list = agent.toComputer().getWorkspaceList();
        WorkspaceList.Lease lease = list.allocate(agent.createPath(workspace.toString()));
        stageOnA();
        Path exchange = Files.createDirectories(Path.of(agent.getRemoteFS(), "preemptible", "exchange", ID));
        LeftAgent.schedule(ID, "B", 0);
        await("it was tried").atMost(LONG).until(() -> !Files.exists(exchange));
        assertFalse(LeftAgents.of(StageRegistry.get().find(ID)).isEmpty());
        assertTrue(Files.exists(workspace.resolve("half made")) && Files.exists(temporary.resolve("a secret")));
        lease.release();
        awaitClean();
        assertOldIsBack();
    }

    /** As after a restart of the controller: no build may get what is half unpacked. */
    @Test
    void noBuildGetsItBeforeItIsClean(JenkinsRule j) throws Exception {
        stageOnA();
        StageRegistry.get().update(ID, Pretended::resume);
        DumbSlave agent = j.createSlave("B", null, null);
        j.waitOnline(agent);
        Computer computer = agent.toComputer();
        assertNotEquals(workspace.toString(), free(computer, agent));
        StageRegistry.get().update(ID, stage -> Pretended.goOn(stage, 0));
        awaitClean();
        assertOldIsBack();
        await("it is free").atMost(LONG).until(() -> workspace.toString().equals(free(computer, agent)));
    }

    private String free(Computer computer, DumbSlave agent) throws Exception {
        try (WorkspaceList.Lease lease = computer.getWorkspaceList().allocate(agent.createPath(workspace.toString()))) {
            return lease.path.getRemote();
        }
    }
}
